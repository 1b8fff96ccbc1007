"""One report, three forms: JSON for the widget and programs, lines of text, and the host's ``ui`` value."""

from __future__ import annotations

import json

from headroom.core.report import Cells, Report, Row, Table, Text

REPORT = Report(
    level="error",
    title="Items 1 and 3 of 4 are NaN; kept 0 and 2",
    figure="0.4\u00a0ms",
    blocks=(
        Cells(4, (1, 3)),
        Table(("Item", "NaN", "Inf"), (Row(("1", "100.0\u00a0%", "0")), Row(("3", "n/a", "8"), note="frame 2"))),
        Text("fp16 overflow. Try `--bf16-unet`.", lead="Likely"),
        Text("4 ch, 128×128", muted=True),
    ),
    facts={"bad_items": [1, 3]},
    made_at=1700000000.5,
)


def test_json_has_every_block_under_the_names_of_the_widget() -> None:
    assert REPORT.as_json() == {
        "level": "error",
        "title": "Items 1 and 3 of 4 are NaN; kept 0 and 2",
        "figure": "0.4\u00a0ms",
        "blocks": [
            {"kind": "cells", "count": 4, "bad": [1, 3]},
            {
                "kind": "table",
                "columns": ["Item", "NaN", "Inf"],
                "rows": [
                    {"cells": ["1", "100.0\u00a0%", "0"], "note": "", "done": False},
                    {"cells": ["3", "n/a", "8"], "note": "frame 2", "done": False},
                ],
                "numbered": False,
            },
            {"kind": "text", "text": "fp16 overflow. Try `--bf16-unet`.", "muted": False, "lead": "Likely"},
            {"kind": "text", "text": "4 ch, 128×128", "muted": True, "lead": ""},
        ],
        "facts": {"bad_items": [1, 3]},
        "made_at": 1700000000.5,
    }
    assert json.loads(json.dumps(REPORT.as_json())) == REPORT.as_json()


def test_text_leaves_out_cells_and_figures_that_are_unknown() -> None:
    assert REPORT.as_text().split("\n") == [
        "Items 1 and 3 of 4 are NaN; kept 0 and 2 (0.4\u00a0ms)",
        "1 (NaN 100.0\u00a0%; Inf 0)",
        "3 (Inf 8): frame 2",
        "Likely: fp16 overflow. Try `--bf16-unet`.",
        "4 ch, 128×128",
    ]


def test_a_numbered_table_counts_its_rows() -> None:
    attempts = Table(("Attempt", "Time, s"), (Row(("bf16", "0.8"), "out of memory"), Row(("fp32", ""))), numbered=True)
    assert attempts.as_lines() == ["1. bf16 (time 0.8\u00a0s): out of memory", "2. fp32"]


def test_without_a_figure_the_title_stands_alone() -> None:
    assert Report(level="ok", title="Clean").as_text() == "Clean"


def test_the_hosts_ui_value_is_a_list_under_each_key() -> None:
    assert REPORT.as_ui() == {"headroom": [REPORT.as_json()], "text": [REPORT.as_text()]}
