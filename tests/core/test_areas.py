"""Rectangles in a grid, drawn by hand: tiles are found, soft shapes and letterboxes are not."""

from __future__ import annotations

from headroom.core.areas import Box, boxes


def grid(*rows: str) -> tuple[tuple[bool, ...], ...]:
    return tuple(tuple(cell == "#" for cell in row) for row in rows)


def found(*rows: str, side: int = 2, cells: int = 4) -> list[Box]:
    return list(boxes(grid(*rows), side, cells))


def test_one_tile() -> None:
    assert found("......", "..###.", "..###.", "......") == [Box(column=2, row=1, columns=3, rows=2)]


def test_a_tile_in_the_corner_reaches_two_borders() -> None:
    assert found("....##", "....##", "......") == [Box(4, 0, 2, 2)]


def test_two_tiles_apart_come_largest_first() -> None:
    assert found("##....", "##....", "......", "...###", "...###", "...###") == [Box(3, 3, 3, 3), Box(0, 0, 2, 2)]


def test_two_tiles_that_touch_at_a_corner_are_two() -> None:
    assert found("###...", "###...", "###...", "...###", "...###", "...###") == [Box(0, 0, 3, 3), Box(3, 3, 3, 3)]


def test_three_tiles_of_four_are_two_rectangles() -> None:
    assert found("######", "######", "######", "###...", "###...", "###...") == [Box(0, 0, 6, 3), Box(0, 3, 3, 3)]


def test_all_but_a_strip_at_the_right_and_below() -> None:
    """VAE-06: deepbeepmeep/Wan2GP #2301."""
    assert found("#####.", "#####.", "#####.", "......") == [Box(0, 0, 5, 3)]


def test_everything_is_one_rectangle() -> None:
    assert found("####", "####", "####") == [Box(0, 0, 4, 3)]


def test_nothing() -> None:
    assert found("....", "....", "....") == []


def test_a_ragged_edge_is_no_tile() -> None:
    """A night sky above a skyline."""
    sky = ["##########"] * 4 + ["###.####.#", "##...###..", "#.....#..."]
    assert found(*sky, "..........") == []


def test_a_cross_of_tiles_is_three_rectangles() -> None:
    rows = ["..##.."] * 2 + ["######"] * 2 + ["..##.."] * 2
    assert [box.cells for box in found(*rows)] == [12, 4, 4]


def test_a_round_shape_has_no_straight_edges() -> None:
    assert found(
        "...####...",
        ".########.",
        ".########.",
        "##########",
        "##########",
        ".########.",
        ".########.",
        "...####...",
    ) == []  # fmt: skip


def test_a_rectangle_must_be_wide_and_large_enough() -> None:
    assert found("........", "########", "........") == []
    assert found("......", ".##...", ".##...", "......", cells=5) == []
    assert found("......", ".##...", ".##...", "......", cells=4) == [Box(1, 1, 2, 2)]


def test_the_bars_of_a_letterbox_are_left_out() -> None:
    assert found("######", "######", "......", "......", "######", "######") == []
    assert found("##..##", "##..##", "##..##") == []


def test_bars_may_differ_by_one_row_but_not_by_more() -> None:
    assert found("######", "######", "######", "......", "......", "######", "######") == []
    assert found("####", "####", "####", "####", "....", "####", "####") == [Box(0, 0, 4, 4), Box(0, 5, 4, 2)]


def test_a_tile_between_the_bars_is_found() -> None:
    rows = ["########"] * 3 + ["........", "..##....", "..##....", "........"] + ["########"] * 3
    assert found(*rows) == [Box(2, 4, 2, 2)]


def test_one_bar_is_a_row_of_tiles() -> None:
    """C#9871: a whole row of tiles can fail."""
    assert found("######", "######", "......", "......") == [Box(0, 0, 6, 2)]
