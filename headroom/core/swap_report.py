"""The report of the Block Swap Estimator."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from .budget import Stage, StageBudget
from .budget_report import stage_facts
from .component import Component
from .planning_words import LEVELS, NA, SOURCE, gibs, no_room_title, seconds_span, span, stage_words
from .report import Block, Report, Row, Table, Text
from .room import Room
from .swap import SwapPlan
from .units import gib

DYNAMIC = "Leave it to dynamic VRAM: set nothing"
DYNAMIC_WHY = (
    "ComfyUI's own loader keeps on the card what fits and streams the rest, layer by layer, at this very moment's free "
    "memory. A block swap beside it would only take memory away from it."
)
TITLES_WITHOUT_SWAP = {
    "unknown": "The weights fit without a swap; what a step needs is not known",
    "may not fit": "It may not fit, and swapping frees nothing",
    "does not fit": "It does not fit, and swapping frees nothing",
}
REFUSED = "This loader does not load this model"
REFUSED_WHY = "Choose the one that loads it; ComfyUI's own has no setting for blocks and needs none."
HIDDEN = "Up to {swap} blocks can be swapped without a slower step: the copies hide behind the work."
STATIC_WHY = (
    "ComfyUI's own loader loads as many weights as fit and streams the rest; it has no setting for blocks. The numbers "
    "below are for a wrapper that has one."
)


@dataclass(frozen=True)
class SwapResult:
    """What the node found."""

    model: Component
    room: Room
    plan: SwapPlan | None
    """None where there is no card to plan for."""
    own_loader: StageBudget | None
    """What ComfyUI's own loader does with the model, where that is the loader."""
    decode: StageBudget | None
    sampling: Stage
    knee: int | None = None
    notes: Sequence[str] = ()
    refused: str = ""
    """Why the tool cannot load the model; there is no plan then."""

    @property
    def leave_it(self) -> bool:
        """Nothing is to be set: dynamic VRAM does it better."""
        return self.own_loader is not None and bool(self.room.dynamic)

    @property
    def settings(self) -> tuple[int, int, int, int]:
        """blocks_to_swap, blocks_resident, vace_blocks_to_swap and prefetch_blocks."""
        total = len(self.model.main_blocks)
        if self.plan is None or self.leave_it:
            return 0, total, 0, 0
        plan = self.plan
        return plan.blocks_to_swap, plan.blocks_resident, plan.vace_blocks_to_swap, plan.prefetch_blocks


def swap_report(result: SwapResult, made_at: float) -> Report:
    """The whole report."""
    facts = _facts(result)
    if result.refused:
        return Report("info", REFUSED, NA, [Text(result.refused), Text(REFUSED_WHY)], facts, made_at)
    if result.plan is None:
        title = no_room_title(result.room)
        return Report("info", title, "", [Text(result.room.why_not), *_notes(result)], facts, made_at)
    if result.own_loader is not None and result.leave_it:
        own = result.own_loader
        blocks: list[Block] = [Text(DYNAMIC_WHY), Text(f"With it, sampling: {stage_words(own)}."), *_notes(result)]
        level = LEVELS[own.verdict]
        title = f"Sampling {own.verdict}; a block swap cannot help" if level in ("warn", "error") else DYNAMIC
        return Report(level, title, f"{len(result.model.main_blocks)} blocks", blocks, facts, made_at)
    plan = result.plan
    blocks = [_parts(plan), *([Text(STATIC_WHY)] if result.own_loader else []), *_speed(result), *_notes(result)]
    if plan.high_bytes is not None:
        blocks.append(Text(SOURCE.format(source=result.sampling.source), muted=True))
    level = LEVELS["streams" if plan.verdict == "swap" else plan.verdict]
    return Report(level, _title(plan), f"{plan.blocks_resident} of {plan.blocks} stay", blocks, facts, made_at)


def _title(plan: SwapPlan) -> str:
    if not plan.blocks:
        return "No blocks were found in this model"
    vace = f" and {plan.vace_blocks_to_swap} VACE blocks" if plan.vace_blocks_to_swap else ""
    if plan.verdict == "resident":
        return "No swap is needed: all blocks stay on the card"
    if not plan.swapped_bytes:
        return TITLES_WITHOUT_SWAP[plan.verdict]
    swap = f"Swap {plan.blocks_to_swap} of {plan.blocks} blocks{vace}"
    if plan.verdict == "does not fit":
        return f"{swap}, and it still does not fit: work and what is in no block are too large"
    if plan.verdict == "may not fit":
        return f"{swap}; it may still not fit"
    return swap


def _parts(plan: SwapPlan) -> Table:
    work = plan.ask.work
    rows = [
        Row(("Blocks that stay", gib(plan.resident_bytes))),
        Row(("Block under way" if not plan.prefetch_blocks else "Blocks under way", gib(plan.under_way_bytes))),
        Row(("Outside of blocks", gib(plan.stay_bytes))),
        Row(("Work", span(work.low_bytes, work.high_bytes))),
        Row(("Together", span(plan.low_bytes, plan.high_bytes)), note=f"of {gibs(plan.ask.room_bytes)}"),
        Row(("In RAM", gib(plan.swapped_bytes))),
    ]
    if not plan.swapped_bytes:
        del rows[5], rows[1]
    return Table(("On the card", "GiB"), rows)


def _speed(result: SwapResult) -> list[Block]:
    plan = result.plan
    if plan is None or not plan.swapped_bytes or plan.copy_seconds is None:
        return []
    ask = plan.ask
    passes = "1 pass" if ask.passes_per_step == 1 else f"{ask.passes_per_step} passes"
    ways = "there and back" if ask.convention.copies_back else "one way"
    lines: list[Block] = [
        Text(
            f"Copies {gibs(plan.copied_bytes)} in a step ({passes}, {ways}): "
            f"{seconds_span((plan.copy_seconds, plan.copy_seconds))} over {ask.link.words}."
        )
    ]
    if result.knee is not None and plan.blocks_resident > result.knee:
        lines.append(Text(HIDDEN.format(swap=plan.blocks - result.knee)))
    return lines


def _notes(result: SwapResult) -> list[Block]:
    found = [*result.notes, *(result.plan.notices if result.plan else ())]
    if result.decode is not None and result.decode.verdict in ("may not fit", "does not fit"):
        found.append("Block swap cannot lower what the VAE needs: decode in tiles, as VAE Decode (Safe) does.")
    elif result.decode is not None and result.decode.stage.note:
        found.append(f"The decode fits {result.decode.stage.note}.")
    return [Text(text) for text in found]


def _facts(result: SwapResult) -> dict[str, Any]:
    swap, resident, vace, prefetch = result.settings
    plan = result.plan
    return {
        "model": result.model.name,
        "family": result.model.identity.family,
        "format": result.model.format,
        "blocks": len(result.model.main_blocks),
        "vace_blocks": len(result.model.vace_blocks),
        "blocks_to_swap": swap,
        "blocks_resident": resident,
        "vace_blocks_to_swap": vace,
        "prefetch_blocks": prefetch,
        "leave_it_to_dynamic_vram": result.leave_it,
        "card": result.room.card,
        "room_bytes": result.room.room_bytes,
        "verdict": None if plan is None else plan.verdict,
        "resident_bytes": None if plan is None else plan.resident_bytes,
        "under_way_bytes": None if plan is None else plan.under_way_bytes,
        "outside_bytes": None if plan is None else plan.stay_bytes,
        "swapped_bytes": None if plan is None else plan.swapped_bytes,
        "need_bytes": None if plan is None or plan.low_bytes is None else [plan.low_bytes, plan.high_bytes],
        "copied_bytes_per_step": None if plan is None else plan.copied_bytes,
        "copy_seconds_per_step": None if plan is None else plan.copy_seconds,
        "knee_resident_blocks": result.knee,
        "refused": result.refused or None,
        "decode": None if result.decode is None else stage_facts(result.decode),
    }
