"""The RAM's part of a plan for programs; see ``plan_json``."""

from __future__ import annotations

from typing import Any

from ..disk import DISKS
from ..offload import OffloadPlan, Placement
from ..ram_room import Switch
from .ask import Ask
from .ram import FINDINGS, RamPlan


def ram_json(ram: RamPlan) -> dict[str, Any]:
    """The verdict on the RAM, and what a step reads from disk; null where it reads nothing."""
    size = ram.read_in_a_step
    return {
        "verdict": ram.verdict,
        "finding": ram.verdict in FINDINGS,
        "reason": _plain(ram.reason),
        "room_bytes": ram.room_bytes,
        "committed_bytes": ram.committed_bytes,
        "disk_low_bytes": None if size is None else size[0],
        "disk_high_bytes": None if size is None else size[1],
        "disk_seconds": None
        if size is None
        else [
            {
                "disk": disk.id,
                "bytes_per_second": int(disk.bytes_per_second),
                "low_seconds": disk.seconds(size[0]),
                "high_seconds": disk.seconds(size[1]),
            }
            for disk in DISKS
        ],
    }


def offload_json(plan: OffloadPlan) -> dict[str, Any]:
    """Where everything runs and waits."""
    return {
        "ram_room_bytes": plan.machine.ram_bytes,
        "pin_bytes": plan.machine.pin_bytes,
        "ram_bytes": plan.ram_bytes,
        "placements": [_placement(one) for one in plan.placements],
        "notices": [_plain(text) for text in plan.notices],
        "flags": list(plan.flags),
    }


def _placement(one: Placement) -> dict[str, Any]:
    """Where one model runs and waits."""
    return {
        "role": one.part.role,
        "file": one.part.stage.part or None,
        "weights_bytes": one.part.stage.weights_bytes,
        "mapped": one.part.mapped,
        "run_on": one.run_on,
        "park": one.park,
        "load_device": one.load_device,
        "force_offload": one.force_offload,
        "reason": one.reason,
    }


def switch_json(switch: Switch, ask: Ask) -> dict[str, Any]:
    """The switch between two models."""
    first, second = ask.models.diffusion[:2]
    return {
        "first": first.name,
        "second": second.name,
        "models_bytes": switch.models_bytes,
        "encoders_bytes": switch.encoders_bytes,
        "mapped_bytes": switch.mapped_bytes,
        "need_bytes": switch.need_bytes,
        "room_bytes": switch.room_bytes,
        "fits": switch.fits,
    }


def _plain(text: str) -> str:
    return text.replace("\u00a0", " ")
