"""Published peaks against Headroom's ranges, and the page that shows them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

REPO = Path(__file__).resolve().parent.parent.parent
DATA = json.loads((REPO / "tests" / "data" / "measured.json").read_text("utf-8"))
BINDING = [row for row in DATA["peaks"] if row["binding"]]


@pytest.fixture(scope="module")
def accuracy() -> ModuleType:
    """The script, as a module."""
    loader = SourceFileLoader("accuracy_script", str(REPO / "scripts" / "accuracy"))
    spec = spec_from_loader(loader.name, loader)
    assert spec is not None
    module = module_from_spec(spec)
    loader.exec_module(module)
    return module


@pytest.mark.parametrize("row", BINDING, ids=lambda row: f"{row['what']}-{row['dtype']}")
def test_what_comfyui_was_seen_to_take_lies_in_the_range(row: Mapping[str, Any], accuracy: ModuleType):
    """A range that misses it tells someone to buy a card, or lets a run die after an hour."""
    need = accuracy.need_of(row)
    assert need.low_bytes <= row["measured_bytes"] <= need.high_bytes
    assert need.high_bytes <= 1.5 * row["measured_bytes"]


def test_the_page_has_every_row_and_is_up_to_date(accuracy: ModuleType):
    assert accuracy.main(["--check"]) == 0, "run scripts/accuracy"
    page = (REPO / "docs" / "accuracy.md").read_text("utf-8")
    rows = [row["what"] for group in ("peaks", "limits", "weights", "ram", "claims") for row in DATA[group]]
    assert len(rows) == 38
    for what in rows:
        assert what in page


def test_a_row_that_misses_is_shown_as_one(accuracy: ModuleType):
    row = dict(BINDING[0], measured_bytes=2**40)
    assert accuracy.verdict(row, 1, 2) == "**outside**"
    assert accuracy.verdict(dict(row, measured_bytes=2), 1, 4) == "**too wide**"
    assert accuracy.verdict(dict(row, measured_bytes=2, binding=False), 1, 4) == "inside"
    assert accuracy.verdict(dict(row, measured_bytes=2), 1, 3) == "inside"


def test_a_stale_page_is_found(accuracy: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: Any):
    copy = tmp_path / "accuracy.md"
    monkeypatch.setattr(accuracy, "PAGE", copy)
    assert accuracy.main(["--check"]) == 1
    assert accuracy.main([]) == 0
    assert accuracy.main(["--check"]) == 0
    copy.write_text(copy.read_text("utf-8").replace("inside", "fine", 1), "utf-8")
    assert accuracy.main(["--check"]) == 1
    assert accuracy.main(["--wrong"]) == 2
    assert "scripts/accuracy" in capsys.readouterr().err
