"""What a node says after it ran: one structure, shown on the node, printed as text and kept as JSON.

A report is a headline, a figure beside it and a list of blocks. ``js/report.mjs`` draws exactly these kinds of block;
a new kind is added in both places. In every text, words between backticks are the machine's own (flags, file names).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from .units import with_unit

Level = Literal["ok", "info", "warn", "error"]


@dataclass(frozen=True)
class Text:
    """A line of text; ``muted`` for what is only background, ``lead`` for a bold word in front ("Likely")."""

    text: str
    muted: bool = False
    lead: str = ""

    def as_json(self) -> dict[str, Any]:
        """The block as ``js/report.mjs`` takes it."""
        return {"kind": "text", "text": self.text, "muted": self.muted, "lead": self.lead}

    def as_lines(self) -> list[str]:
        """The block as plain text."""
        return [f"{self.lead}: {self.text}" if self.lead else self.text]


@dataclass(frozen=True)
class Cells:
    """One cell per batch item, the bad ones marked; only for up to 32 items, else a Text names them."""

    count: int
    bad: Sequence[int]

    def as_json(self) -> dict[str, Any]:
        """The block as ``js/report.mjs`` takes it."""
        return {"kind": "cells", "count": self.count, "bad": list(self.bad)}

    def as_lines(self) -> list[str]:
        """Nothing: the headline already names the items."""
        return []


@dataclass(frozen=True)
class Row:
    """A table row; ``note`` is a second line under it, ``done`` marks the note as the good end."""

    cells: Sequence[str]
    note: str = ""
    done: bool = False


@dataclass(frozen=True)
class Table:
    """A small table. Columns after the first are right-aligned figures; ``numbered`` counts the rows from 1."""

    columns: Sequence[str]
    rows: Sequence[Row]
    numbered: bool = False

    def as_json(self) -> dict[str, Any]:
        """The block as ``js/report.mjs`` takes it."""
        rows = [{"cells": list(row.cells), "note": row.note, "done": row.done} for row in self.rows]
        return {"kind": "table", "columns": list(self.columns), "rows": rows, "numbered": self.numbered}

    def as_lines(self) -> list[str]:
        """One line per row: the first cell, then "column value" for each figure that is there."""
        lines = []
        for position, row in enumerate(self.rows, 1):
            figures = [
                _figure(column, cell)
                for column, cell in zip(self.columns[1:], row.cells[1:], strict=True)
                if cell and cell != "n/a"
            ]
            number = f"{position}. " if self.numbered else ""
            head = f"{number}{row.cells[0]}" + (f" ({'; '.join(figures)})" if figures else "")
            lines.append(f"{head}: {row.note}" if row.note else head)
        return lines


def _figure(column: str, cell: str) -> str:
    """A table cell in running text; a column's unit stands behind a comma: "Time, s" and "0.8" give "time 0.8 s"."""
    name, _, unit = column.partition(", ")
    return with_unit(f"{name.lower()} {cell}", unit) if unit else f"{name} {cell}"


Block = Text | Cells | Table


@dataclass(frozen=True)
class Report:
    """The whole report of one run of one node."""

    level: Level
    title: str
    """One sentence without a full stop: what happened, with its number."""
    figure: str = ""
    """Shown at the right of the title: a time, mostly."""
    blocks: Sequence[Block] = ()
    facts: Mapping[str, Any] = field(default_factory=dict)
    """The same facts for programs: plain JSON values, sizes in bytes, times in seconds."""
    made_at: float = 0.0
    """Unix time of the run, so that a report that comes from the host's cache shows its age."""

    def as_json(self) -> dict[str, Any]:
        """The report as ``js/report.mjs`` and API users take it."""
        return {
            "level": self.level,
            "title": self.title,
            "figure": self.figure,
            "blocks": [block.as_json() for block in self.blocks],
            "facts": dict(self.facts),
            "made_at": self.made_at,
        }

    def as_text(self) -> str:
        """The report as plain lines, for the text output and the log."""
        lines = [f"{self.title} ({self.figure})" if self.figure else self.title]
        for block in self.blocks:
            lines.extend(block.as_lines())
        return "\n".join(lines)

    def as_ui(self) -> dict[str, list[Any]]:
        """The value for ``io.NodeOutput(ui=...)``; the host wants a list under each key."""
        return {"headroom": [self.as_json()], "text": [self.as_text()]}
