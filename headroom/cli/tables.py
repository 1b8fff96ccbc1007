"""Tables and paragraphs for a terminal: nothing wraps by itself, long names are cut in the middle."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

WIDTH = 96
GAP = "  "


def table(rows: Sequence[Sequence[str]], right: Sequence[int] = (), widest: int = 44, indent: str = "  ") -> list[str]:
    """Rows as lines, columns aligned.

    Args:
        rows: cells; all rows have the same number of them.
        right: columns that are aligned to the right, by number from 0.
        widest: a longer cell of the first column is cut in its middle.
    """
    cut = [[shortened(row[0], widest), *row[1:]] for row in rows]
    widths = [max(len(cell) for cell in column) for column in zip(*cut, strict=True)]
    return [
        indent
        + GAP.join(
            cell.rjust(width) if number in right else cell.ljust(width)
            for number, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in cut
    ]


def shortened(text: str, longest: int) -> str:
    """A text cut in its middle: the end of a file's name says how it is packed."""
    if len(text) <= longest:
        return text
    kept = longest - 3
    return f"{text[: kept - kept // 2]}...{text[-(kept // 2) :]}"


def paragraph(text: str, indent: str = "  ", hanging: str | None = None) -> list[str]:
    """A text in lines of at most WIDTH; a number and its unit stay together."""
    return textwrap.wrap(
        text,
        WIDTH,
        initial_indent=indent,
        subsequent_indent=indent if hanging is None else hanging,
        break_long_words=False,
        break_on_hyphens=False,
    )
