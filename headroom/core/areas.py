"""Finds the rectangles in a coarse grid of true and false cells: tiles of an image that came out black or NaN.

Tiles have straight edges. So what hangs together counts only where a few rectangles make it up almost to the last
cell: a night sky or a round vignette holds large rectangles too, but is not made of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations

Grid = Sequence[Sequence[bool]]

#: Most rectangles that one connected shape is made of: tiles side by side, as an L or a T.
MOST = 4
#: Share of a shape's cells that they must cover.
COVERED = 0.97


@dataclass(frozen=True)
class Box:
    """A rectangle of cells: its first column and row, and how many of each."""

    column: int
    row: int
    columns: int
    rows: int

    @property
    def cells(self) -> int:
        """How many cells it covers."""
        return self.columns * self.rows


# The frames of a video mostly share one grid.
@lru_cache(maxsize=32)
def boxes(grid: tuple[tuple[bool, ...], ...], least_side: int, least_cells: int) -> tuple[Box, ...]:
    """The rectangles of true cells with straight edges, largest first, without the bars of a letterbox.

    Args:
        grid: rows of cells, all of one length.
        least_side: fewest columns and rows of a rectangle.
        least_cells: fewest cells of a rectangle.
    """
    found = [
        box
        for shape in _shapes(grid)
        if len(shape) >= least_cells
        for box in _tiles(shape)
        if box.cells >= least_cells and min(box.columns, box.rows) >= least_side
    ]
    bars = {box for pair in combinations(found, 2) if _are_bars(*pair, len(grid[0]), len(grid)) for box in pair}
    return tuple(sorted((box for box in found if box not in bars), key=lambda box: (-box.cells, box.row, box.column)))


def _shapes(grid: Grid) -> Iterator[set[tuple[int, int]]]:
    """The true cells (row, column) that hang together by their sides."""
    left = {(y, x) for y, row in enumerate(grid) for x, cell in enumerate(row) if cell}
    while left:
        edge = [left.pop()]
        shape = set(edge)
        while edge:
            y, x = edge.pop()
            near = {(y - 1, x), (y + 1, x), (y, x - 1), (y, x + 1)} & left
            left -= near
            shape |= near
            edge.extend(near)
        yield shape


def _tiles(shape: set[tuple[int, int]]) -> list[Box]:
    """The rectangles that a shape is made of; empty where it has other edges than straight ones."""
    top, first = min(y for y, _ in shape), min(x for _, x in shape)
    bottom, last = max(y for y, _ in shape), max(x for _, x in shape)
    left = [[(y, x) in shape for x in range(first, last + 1)] for y in range(top, bottom + 1)]
    found = []
    for _ in range(MOST):
        box = _largest(left)
        found.append(Box(box.column + first, box.row + top, box.columns, box.rows))
        if sum(one.cells for one in found) >= COVERED * len(shape):
            return found
        for row in range(box.row, box.row + box.rows):
            left[row][box.column : box.column + box.columns] = [False] * box.columns
    return []


def _largest(grid: Grid) -> Box:
    """The rectangle of true cells with the most cells, by a stack of heights, in one pass over the grid."""
    best = Box(0, 0, 0, 0)
    heights = [0] * len(grid[0])
    for bottom, row in enumerate(grid):
        heights = [height + 1 if cell else 0 for height, cell in zip(heights, row)]
        open_: list[tuple[int, int]] = []
        for column, height in enumerate([*heights, 0]):
            start = column
            while open_ and open_[-1][1] > height:
                start, tall = open_.pop()
                if tall * (column - start) > best.cells:
                    best = Box(start, bottom - tall + 1, column - start, tall)
            if height and (not open_ or open_[-1][1] < height):
                open_.append((start, height))
    return best


def _are_bars(one: Box, other: Box, columns: int, rows: int) -> bool:
    """Two bars of about one size along opposite borders: a picture that does not fill its frame, and no fault."""
    first, last = sorted((one, other), key=lambda box: (box.row, box.column))
    flat = first.columns == last.columns == columns and first.row == 0 and last.row + last.rows == rows
    tall = first.rows == last.rows == rows and first.column == 0 and last.column + last.columns == columns
    return (flat and abs(first.rows - last.rows) <= 1) or (tall and abs(first.columns - last.columns) <= 1)
