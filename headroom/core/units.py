"""Sizes and times as text; the only Python module that turns a number of bytes into words."""

from __future__ import annotations

import math

KIB = 2**10
MIB = 2**20
GIB = 2**30

#: Between a number and its unit, so that a line never breaks there.
NO_BREAK_SPACE = "\u00a0"
MINUS = "\u2212"


def gib(size_bytes: int | None, decimals: int = 1) -> str:
    """Bytes as a bare number of GiB, "n/a" where unknown; a size below the last decimal is shown as "<0.1"."""
    if size_bytes is None:
        return "n/a"
    value = size_bytes / GIB
    smallest = 10**-decimals
    if 0 < abs(value) < smallest / 2:
        return f"<{smallest:.{decimals}f}"
    return number(value, decimals)


def number(value: float, decimals: int = 1) -> str:
    """A number with a typographic minus; infinities and NaN are named."""
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Inf" if value > 0 else f"{MINUS}Inf"
    return f"{value:.{decimals}f}".replace("-", MINUS)


def with_unit(text: str, unit: str) -> str:
    """A number and its unit, kept on one line."""
    return f"{text}{NO_BREAK_SPACE}{unit}"


def size(size_bytes: int | None) -> str:
    """Bytes with the unit that reads best (KiB, MiB, GiB), "n/a" where unknown."""
    if size_bytes is None:
        return "n/a"
    for unit, factor in (("GiB", GIB), ("MiB", MIB), ("KiB", KIB)):
        if abs(size_bytes) >= factor:
            return with_unit(number(size_bytes / factor), unit)
    return with_unit(str(size_bytes), "bytes")


def exact(size_bytes: int) -> str:
    """Bytes to the last one, thousands grouped: where a file must match to the byte."""
    return with_unit(f"{size_bytes:,}", "byte" if size_bytes == 1 else "bytes")


def duration(seconds: float) -> str:
    """A time with the unit that reads best: ms below one second, then s, min, h."""
    if seconds < 0.00005:
        return with_unit("<0.1", "ms")
    if seconds < 1:
        return with_unit(number(seconds * 1000), "ms")
    if seconds < 120:
        return with_unit(number(seconds), "s")
    if seconds < 7200:
        return with_unit(number(seconds / 60), "min")
    return with_unit(number(seconds / 3600), "h")


def value(number_: float) -> str:
    """A tensor value for a range: plain up to five digits, thousands grouped, then with an exponent."""
    if math.isnan(number_) or math.isinf(number_):
        return number(number_)
    magnitude = abs(number_)
    if number_ == 0:
        return "0"
    if magnitude >= 1e6 or magnitude < 1e-2:
        return f"{number_:.2e}".replace("-", MINUS)
    if magnitude >= 1000:
        return f"{number_:,.0f}".replace("-", MINUS)
    return number(number_, 2)
