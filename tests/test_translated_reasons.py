"""In Chinese no sentence of a card's block is left in English: every reason that the server gives has a translation."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
TABLE = ROOT / "js" / "strings" / "reasons.zh.mjs"
SOURCES = (
    *sorted((ROOT / "headroom" / "host" / "devices").glob("*.py")),
    *sorted((ROOT / "headroom" / "core").glob("device_*.py")),
    ROOT / "headroom" / "host" / "comfy.py",
)
#: Texts of these files that the panel does not show: part of a card's name, of an exception, and why a fact of ComfyUI
#: itself is missing.
NOT_SHOWN = {" MIG ", "NVML had stopped", " is not loaded"}


def sentences(path: Path) -> Iterator[str]:
    """Texts of three words or more that are no docstring and go to no log."""
    tree = ast.parse(path.read_text("utf-8"))
    left_out = {node.value for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and ast.unparse(node.func).startswith("logging."):
            left_out |= set(ast.walk(node))
    for node in ast.walk(tree):
        if node in left_out or not isinstance(node, ast.Constant):
            continue
        if isinstance(node.value, str) and node.value.count(" ") >= 2:
            yield node.value


def test_every_reason_is_translated() -> None:
    translated = set(re.findall(r'^  "(.+?)":', TABLE.read_text("utf-8"), re.MULTILINE))
    given = {text for path in SOURCES for text in sentences(path)} - NOT_SHOWN
    assert len(given) > 30
    assert sorted(given - translated) == []
    assert sorted(translated - given) == [], "translated, and never given"
