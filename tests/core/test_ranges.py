"""Lists of indices as a person writes them."""

from __future__ import annotations

import pytest

from headroom.core.ranges import compact, named


@pytest.mark.parametrize(
    ("indices", "text"),
    [
        ([], "none"),
        ([7], "7"),
        ([1, 3], "1, 3"),
        ([0, 1], "0, 1"),
        ([0, 1, 2], "0-2"),
        ([1, 3, *range(16, 32)], "1, 3, 16-31"),
        ([31, 16, 3, 1, 17], "1, 3, 16, 17, 31"),
        ([5, 5, 5], "5"),
        ([0, 1, 2, 4, 5, 6, 9], "0-2, 4-6, 9"),
        (range(1, 21), "1-20"),
    ],
)
def test_runs_of_three_or_more_are_joined(indices: list[int], text: str) -> None:
    assert compact(indices) == text


@pytest.mark.parametrize(
    ("noun", "indices", "total", "text"),
    [
        ("item", [3], None, "item 3"),
        ("item", [3], 4, "item 3 of 4"),
        ("item", [1, 3], 4, "items 1 and 3 of 4"),
        ("item", [3, 1], None, "items 1 and 3"),
        ("frame", range(1, 21), 21, "frames 1-20 of 21"),
        ("frame", [2, 4, 6], 8, "frames 2, 4, 6 of 8"),
    ],
)
def test_a_noun_agrees_with_its_indices(noun: str, indices: list[int], total: int | None, text: str) -> None:
    assert named(noun, indices, total) == text
