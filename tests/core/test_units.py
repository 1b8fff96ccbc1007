"""Numbers as text: one decimal, no-break space before the unit, typographic minus, unknown is "n/a"."""

from __future__ import annotations

import math

import pytest

from headroom.core import units

GIB = 1024**3


@pytest.mark.parametrize(
    ("size_bytes", "text"),
    [
        (None, "n/a"),
        (0, "0.0"),
        (GIB, "1.0"),
        (5 * GIB + GIB // 4, "5.2"),
        (-GIB // 2, "\u22120.5"),
        (1024**2, "<0.1"),
        (16 * GIB, "16.0"),
    ],
)
def test_gib_is_a_bare_number(size_bytes: int | None, text: str) -> None:
    assert units.gib(size_bytes) == text


@pytest.mark.parametrize(
    ("size_bytes", "text"),
    [
        (None, "n/a"),
        (0, "0\u00a0bytes"),
        (1023, "1023\u00a0bytes"),
        (1024, "1.0\u00a0KiB"),
        (1536 * 1024, "1.5\u00a0MiB"),
        (GIB - 1, "1024.0\u00a0MiB"),
        (-3 * GIB, "\u22123.0\u00a0GiB"),
    ],
)
def test_a_size_has_the_unit_that_reads_best(size_bytes: int | None, text: str) -> None:
    assert units.size(size_bytes) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.0004, "0.4\u00a0ms"),
        (0.9, "900.0\u00a0ms"),
        (1, "1.0\u00a0s"),
        (119.9, "119.9\u00a0s"),
        (120, "2.0\u00a0min"),
        (7200, "2.0\u00a0h"),
    ],
)
def test_a_time_has_the_unit_that_reads_best(seconds: float, text: str) -> None:
    assert units.duration(seconds) == text


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0.0, "0"),
        (-0.0, "0"),
        (4.27, "4.27"),
        (-3.914, "\u22123.91"),
        (0.005, "5.00e\u221203"),
        (999.99, "999.99"),
        (65504.0, "65,504"),
        (-65504.0, "\u221265,504"),
        (3e38, "3.00e+38"),
        (-1e6, "\u22121.00e+06"),
        (math.nan, "NaN"),
        (math.inf, "Inf"),
        (-math.inf, "\u2212Inf"),
    ],
)
def test_a_value_is_plain_grouped_or_with_an_exponent(number: float, text: str) -> None:
    assert units.value(number) == text


def test_decimals_can_be_chosen() -> None:
    assert units.number(-1.255, 0) == "\u22121"
    assert units.gib(GIB // 50, 2) == "0.02"
    assert units.with_unit("4.0", "GiB") == "4.0\u00a0GiB"
