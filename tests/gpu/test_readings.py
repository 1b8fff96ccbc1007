"""Readings of a real NVIDIA card against ``nvidia-smi``, and what a reading costs the card: nothing."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

GIB, MIB = 2**30, 2**20
CLOSE_BYTES = 64 * MIB
SCRIPT = Path(__file__).with_name("one_process.py")
FIELDS = ("index", "name", "uuid", "memory.total", "memory.used", "memory.free")


def smi(question: str) -> list[list[str]]:
    """The rows that nvidia-smi answers."""
    command = ["nvidia-smi", question, "--format=csv,noheader,nounits"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    return [[cell.strip() for cell in line.split(",")] for line in done.stdout.splitlines() if line.strip()]


def cards() -> dict[str, dict[str, Any]]:
    """Cards by their UUID, sizes in bytes."""
    found = {}
    for index, name, uuid, *sizes in smi(f"--query-gpu={','.join(FIELDS)}"):
        total, used, free = (int(size) * MIB for size in sizes)
        found[uuid] = {"index": int(index), "name": name, "total": total, "used": used, "free": free}
    return found


def listed() -> set[int]:
    """Ids of the processes that hold a context, as far as nvidia-smi tells."""
    return {int(row[0]) for row in smi("--query-compute-apps=pid") if row[0].isdigit()}


@pytest.fixture(autouse=True)
def _needs_a_card() -> None:
    if shutil.which("nvidia-smi") is None:
        pytest.skip("no NVIDIA GPU here: there is no nvidia-smi")
    import torch

    if not torch.cuda.is_available() or torch.version.hip:
        pytest.skip("torch sees no NVIDIA GPU here")


@contextlib.contextmanager
def process(mode: str, **environment: str) -> Iterator[dict[str, Any]]:
    """What the other process read; it lives until the block ends."""
    command = [sys.executable, str(SCRIPT), mode]
    kind: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, env={**os.environ, **environment}, **kind) as running:
        assert running.stdout is not None
        line = running.stdout.readline()
        assert line, f"{mode}: the process ended with {running.wait(60)}"
        yield json.loads(line)
        running.communicate("", timeout=60)


def test_name_uuid_and_memory_are_those_of_nvidia_smi():
    with process("opened") as found:
        shown = cards()
        for device in found["devices"]:
            card = shown[device["uuid"]]
            assert device["name"] == card["name"]
            assert abs(device["total_bytes"] - card["total"]) <= CLOSE_BYTES
            assert abs(device["free_bytes"] - card["free"]) <= CLOSE_BYTES
            # nvidia-smi shows what the driver keeps for itself apart; ours counts all that is not free.
            assert abs(device["used_bytes"] - (device["driver_bytes"] or 0) - card["used"]) <= CLOSE_BYTES
            assert device["used_bytes"] + device["free_bytes"] == device["total_bytes"]


def test_what_this_process_holds_is_its_own():
    with process("opened") as found:
        device = found["devices"][0]
        assert device["torch_allocated_bytes"] == found["held"] == GIB
        assert GIB <= device["torch_reserved_bytes"] <= device["own_bytes"] <= device["used_bytes"]
        assert device["torch_total_bytes"] <= device["total_bytes"]


def test_a_look_opens_no_context():
    """A context takes 300 MiB and more of the card, for good."""
    before = {uuid: card["used"] for uuid, card in cards().items()}
    with process("closed") as found:
        assert found["opened"] is False
        assert found["pid"] not in listed()
        after = {uuid: card["used"] for uuid, card in cards().items()}
        assert all(after[uuid] - before[uuid] <= CLOSE_BYTES for uuid in before)
        # It is told all the same, by the driver.
        assert {device["uuid"] for device in found["devices"]} <= set(before)
        assert all(device["total_bytes"] and device["free_bytes"] is not None for device in found["devices"])


def test_a_process_with_a_context_is_seen_by_the_check_above():
    before = {uuid: card["used"] for uuid, card in cards().items()}
    with process("opened") as found:
        assert found["opened"] is True
        after = {uuid: card["used"] for uuid, card in cards().items()}
        assert max(after[uuid] - before[uuid] for uuid in before) >= GIB
        if found["pid"] not in listed():
            pytest.skip("nvidia-smi lists no processes of this container, so the GPU check by process ids says nothing")


def test_a_real_out_of_memory_is_read_while_it_is_handled():
    with process("full") as found:
        assert found["is_oom"] is True
        assert found["asked"] == 2**44, found["text"]
        assert found["free"] is None or 0 < found["free"] < found["devices"][0]["total_bytes"]
        assert found["added"] == 0
        assert found["seconds"] < 2
        assert found["devices"][0]["torch_allocated_bytes"] == GIB


def test_the_peak_of_a_node_is_torchs():
    with process("full") as found:
        assert found["peak"] == found["of_it"] == GIB


@pytest.mark.parametrize("visible", ["", "-1"])
def test_cards_that_torch_does_not_see_are_told_as_unused(visible: str):
    with process("closed", CUDA_VISIBLE_DEVICES=visible) as found:
        assert found["unused"] == len(cards())
        assert [device["kind"] for device in found["devices"]] == ["cpu"]
