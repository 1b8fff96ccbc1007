"""The report of the Offload Advisor."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from .budget import StageBudget, Verdict, worst
from .budget_report import stage_facts
from .offload import OffloadPlan, Placement
from .offload_notices import CACHE_NONE_COST
from .planning_words import LEVELS, NA, gibs, no_room_title, stage_words
from .report import Block, Report, Row, Table, Text
from .room import Room
from .units import gib

DYNAMIC = "Dynamic VRAM does this by itself for ComfyUI's own loaders; the settings are for wrappers that have them."
PARKS = {"gpu": "GPU", "disk": "its file"}


@dataclass(frozen=True)
class OffloadResult:
    """What the node found."""

    room: Room
    plan: OffloadPlan | None
    """None where there is no card to plan for."""
    stages: Sequence[StageBudget]
    notes: Sequence[str] = ()

    @property
    def verdict(self) -> Verdict:
        """Of the worst stage."""
        return worst(self.stages)

    @property
    def first(self) -> Placement | None:
        """The placement of the diffusion model: its settings are the node's outputs."""
        placements = () if self.plan is None else self.plan.placements
        return next((one for one in placements if one.part.role == "diffusion"), None)

    @property
    def launch_line(self) -> str:
        """Flags to add to ComfyUI's start line; empty where none helps."""
        return "" if self.plan is None else " ".join(self.plan.flags)


def offload_report(result: OffloadResult, made_at: float) -> Report:
    """The whole report."""
    facts = _facts(result)
    if result.plan is None:
        return Report("info", no_room_title(result.room), "", [Text(result.room.why_not)], facts, made_at)
    rows = [_row(one) for one in result.plan.placements]
    blocks: list[Block] = []
    if result.launch_line:
        blocks.append(Text(f"Start ComfyUI with `{result.launch_line}`. {CACHE_NONE_COST}", lead="Fix"))
    blocks += [Text(text) for text in (*result.plan.notices, *result.notes)]
    blocks.append(Table(("Model", "Weights, GiB", "Runs on", "Waits in"), rows))
    waits, room = gibs(result.plan.ram_bytes), gibs(result.room.ram_bytes)
    blocks.append(Text(f"RAM that waits: {waits} of {room} for models{_rest(result.plan)}."))
    if result.room.dynamic:
        blocks.append(Text(DYNAMIC))
    tight = [one for one in result.stages if one.verdict in ("streams", "may not fit", "does not fit", "unknown")]
    # What comes from disk is told above, with a disk's times; the time over the link would be a claim of RAM.
    disk = {one.part.stage.name for one in result.plan.placements if not result.plan.timed(one)}
    blocks += [Text(f"{one.stage.name}: {stage_words(one)}.") for one in tight if one.stage.name not in disk]
    return Report(_level(result), _title(result), result.room.card, blocks, facts, made_at)


def _rest(plan: OffloadPlan) -> str:
    mapped = any(one.park == "disk" and one.part.mapped for one in plan.placements)
    return "; mapped files take the rest, as far as it goes" if mapped else ""


def _level(result: OffloadResult) -> Any:
    level = LEVELS[result.verdict]
    short = result.plan is not None and (result.plan.short or any(one.disk_bytes for one in result.plan.placements))
    return "warn" if level == "ok" and short else level


def _title(result: OffloadResult) -> str:
    plan = result.plan
    if plan is None:
        return ""
    if plan.short:
        return "RAM cannot hold all models that have to wait"
    if any(one.disk_bytes for one in plan.placements):
        return "Weights come from disk in each step"
    if result.verdict in ("may not fit", "does not fit"):
        stage = next(one for one in result.stages if one.verdict == result.verdict)
        return f"{stage.stage.name} {result.verdict}"
    if any(one.park == "disk" for one in plan.placements):
        return "RAM holds a part of the models; the rest is read from disk again"
    models = [one for one in plan.placements if one.part.stage.part]
    leaving = sum(1 for one in models if one.force_offload)
    if not leaving:
        return "Everything stays on the card" + (", as far as is known" if result.verdict == "unknown" else "")
    return f"{leaving} of {len(models)} models leave the card between their turns"


def _row(one: Placement) -> Row:
    where = one.run_on.upper()
    parks = where if one.park == "other gpu" else PARKS.get(one.park, one.park)
    parks = f"{parks}, and RAM in part" if one.park == "disk" and one.part.mapped else parks
    streamed = f": up to {gibs(one.streamed_bytes)}" if one.streamed_bytes else ""
    stage = one.part.stage
    if not stage.part:
        return Row((f"{stage.name}, no file given", NA, where, NA), note="only its work is counted")
    # One checkpoint can be three rows, and one file two models: the stage tells them apart.
    label = f"{stage.name}: {stage.part}"
    return Row((label, gib(stage.weights_bytes), where, parks), note=f"{one.reason}{streamed}")


def _facts(result: OffloadResult) -> dict[str, Any]:
    placements = () if result.plan is None else result.plan.placements
    return {
        "card": result.room.card,
        "room_bytes": result.room.room_bytes,
        "ram_for_models_bytes": result.room.ram_bytes,
        "ram_bytes": None if result.plan is None else result.plan.ram_bytes,
        "pinned_bytes": None if result.plan is None else result.plan.parked_bytes("RAM, pinned"),
        "launch_line": result.launch_line,
        "placements": [
            {
                "part": one.part.stage.part,
                "role": one.part.role,
                "weights_bytes": one.part.stage.weights_bytes if one.part.stage.part else None,
                "run_on": one.run_on,
                "park": one.park,
                "mapped": one.part.mapped,
                "disk_bytes_per_step": None if one.disk_bytes is None else list(one.disk_bytes),
                "streamed_bytes": one.streamed_bytes,
                "load_device": one.load_device,
                "force_offload": one.force_offload,
                "reason": one.reason,
            }
            for one in placements
        ],
        "stages": [stage_facts(one) for one in result.stages],
    }
