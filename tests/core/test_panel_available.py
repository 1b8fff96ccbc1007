"""What the panel calls available is what the VRAM Budget node calls its headroom: one number, made in two languages."""

from __future__ import annotations

import dataclasses
import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from panel_samples import WAN, card, gib, rtx3060, rtx4080

from headroom.core.budget import holders
from headroom.core.readings import Device

EXPORT = Path(__file__).resolve().parents[1] / "js" / "memory_export.mjs"
NO_NODE = "no Node.js here: install Node.js 20 or newer"
#: Sizes in GiB -> what can be had, by hand: free + (reserved - allocated) + evictable.
CARDS: dict[str, tuple[dict[str, Any], float]] = {
    "full of weights that can go": (rtx4080(), 1.2 + 5.5 + 8.4),
    "the second card": (rtx3060(), 5.1 + 0.1 + 6.3),
    "nothing can go": (
        card(sizes={"total": 12, "free": 2, "used": 10, "torch_allocated": 8, "torch_reserved": 8.5, "evictable": 0}),
        2 + 0.5,
    ),
    "a MIG slice of which the host does not tell what can go": (
        card(sizes={"total": 9.5, "free": 2.5, "used": 7, "own": 6, "torch_allocated": 6.1, "torch_reserved": 7}),
        2.5 + 0.9,
    ),
    "shared memory": (
        card(
            kind="mps",
            unified=True,
            sizes={"total": 36, "free": 14.2, "torch_allocated": 14.4, "torch_reserved": 15.5, "evictable": 3},
        ),
        14.2 + 1.1 + 3,
    ),
    "not opened by this process": (card(sizes={"total": 24, "free": 11.5, "used": 12.5, "own": 0}), 11.5),
    "torch's numbers of another moment": (
        card(sizes={"total": 12, "free": 3, "used": 9, "torch_allocated": 5, "torch_reserved": 4, "evictable": 1}),
        3 + 0 + 1,
    ),
}


def device(fields: dict[str, Any]) -> Device:
    known = {field.name for field in dataclasses.fields(Device)}
    return Device(**{name: value for name, value in fields.items() if name in known})


@pytest.fixture(scope="module")
def shown() -> dict[str, dict[str, Any]]:
    """How the panel divides each card."""
    node = shutil.which("node")
    if node is None:
        if os.environ.get("CI"):
            pytest.fail(NO_NODE)
        pytest.skip(NO_NODE)
    question = [{"device": fields, "models": list(WAN)} for fields, _ in CARDS.values()]
    done = subprocess.run([node, EXPORT], input=json.dumps(question), capture_output=True, encoding="utf-8", check=True)
    return dict(zip(CARDS, json.loads(done.stdout), strict=True))


@pytest.mark.parametrize("name", CARDS)
def test_panel_and_node_say_the_same_to_the_byte(shown: dict[str, dict[str, Any]], name: str) -> None:
    """A user who sees 15.1 in the panel and 13.4 at the node believes neither."""
    fields, by_hand = CARDS[name]
    assert shown[name]["available"] == holders(device(fields)).available_bytes
    assert shown[name]["available"] == pytest.approx(gib(by_hand), abs=4)


def test_a_part_that_is_not_told_makes_it_a_least(shown: dict[str, dict[str, Any]]) -> None:
    least = [name for name, division in shown.items() if division["atLeast"]]
    assert least == ["a MIG slice of which the host does not tell what can go"]
