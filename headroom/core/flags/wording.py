"""Parameters as words: the names of the parameters say what they are, so that any language can do the same.

``*_bytes`` is a size, ``*_seconds`` a time, ``value`` what was given to a flag. A text that begins with two dashes is a
flag and stands between backticks, also in a list; another number has at most two decimals.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..units import GIB, duration, gib, number, with_unit
from .advice import Change


def fill(template: str, params: Mapping[str, Any]) -> str:
    """A text with its parameters in place.

    Raises:
        KeyError: the text names a parameter that is not given.
    """
    return template.format_map({name: word(name, value) for name, value in params.items()})


def word(name: str, value: Any) -> str:
    """One parameter in running text."""
    if name.endswith("_bytes"):
        return with_unit(gib(value), "GiB") if abs(value) >= GIB // 10 or value == 0 else _mib(value)
    if name.endswith("_seconds"):
        return duration(value)
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, (int, float)):
        return f"{value:g}" if name == "value" else short(value)
    if isinstance(value, str):
        return code(value) if value.startswith("--") else value
    if isinstance(value, Sequence):
        return joined([word("", item) for item in value])
    return str(value)


def _mib(value: int) -> str:
    return with_unit(number(value / 2**20, 0), "MiB")


def short(value: float) -> str:
    """A number with as few decimals as it needs, two at most: 2, 1.5, −0.25."""
    text = number(float(value), 2)
    return text.rstrip("0").rstrip(".") if "." in text else text


def code(text: str) -> str:
    """A word of the machine."""
    return f"`{text}`"


def joined(words: Sequence[str]) -> str:
    """``a``, ``a and b``, ``a, b and c``."""
    return " and ".join([", ".join(words[:-1]), words[-1]]) if len(words) > 1 else "".join(words)


def fix_sentence(removed: Sequence[str], added: Sequence[str]) -> str:
    """What the change is, as an instruction."""
    out, into = (joined([code(item) for item in items]) for items in (removed, added))
    if out and into:
        return f"Start with {into} in place of {out}."
    if into:
        return f"Start with {into}."
    return f"Start without {out}." if out else ""


def shown(change: Change) -> tuple[list[str], list[str]]:
    """A change as ``removed`` and ``added`` in an advice; a flag stands with its value."""
    added: list[str] = []
    for item in change.add:
        if item.startswith("--") or not added:
            added.append(item)
        else:
            added[-1] += f" {item}"
    return list(change.remove), added
