"""A plan for programs: plain JSON values, sizes in bytes, null for what is not known. The names are an interface."""

from __future__ import annotations

from typing import Any

from ..budget import StageBudget
from ..component import Component
from ..largest import Largest
from ..swap import SwapPlan
from .ask import Ask, part_names
from .assumptions import assumptions
from .choices import Choice, Variant
from .ram import RamPlan
from .ram_as_json import offload_json, ram_json, switch_json
from .stages import Outcome
from .tiers import Tier, ram_told
from .whole import Plan


def plan_json(plan: Plan) -> dict[str, Any]:
    """The whole plan."""
    return {
        **ask_json(plan.ask, ram=plan.ram),
        "verdict": plan.outcome.verdict,
        "ram": None if plan.ram is None else ram_json(plan.ram),
        "finding": plan.found,
        "stages": [stage_json(role, one, plan.timed(place)) for place, (role, one) in enumerate(plan.stages)],
        "swap": [swap_json(one, plan.copies_from_ram) for one in plan.swaps],
        "swap_short_bytes": 0 if plan.ram is None else plan.ram.swap_short_bytes,
        "offload": None if plan.ram is None else offload_json(plan.ram.offload),
        "switch": None if plan.ram is None or plan.ram.switch is None else switch_json(plan.ram.switch, plan.ask),
        "largest": largest_json(plan.largest),
        "choices": [choice_json(one) for one in plan.choices],
    }


def tiers_json(tiers: tuple[Tier, ...], ask: Ask) -> dict[str, Any]:
    """Several sizes of card side by side."""
    return {**ask_json(ask, one_card=False, ram=ram_told(tiers)), "tiers": [tier_json(one) for one in tiers]}


def tier_json(tier: Tier) -> dict[str, Any]:
    """One size of card."""
    return {
        "card": card_json(tier.plan.ask),
        **outcome_json(tier.plan.outcome, tier.plan.copies_from_ram),
        "ram": None if tier.plan.ram is None else ram_json(tier.plan.ram),
        "finding": tier.found,
        "largest": largest_json(tier.plan.largest),
        "take": None if tier.take is None else variant_json(tier.take),
        "take_outcome": None if tier.take_outcome is None else outcome_json(tier.take_outcome),
        "take_largest": None if tier.take_largest is None else largest_json(tier.take_largest),
        "claim": tier.claim or None,
    }


def ask_json(ask: Ask, one_card: bool = True, ram: RamPlan | None = None) -> dict[str, Any]:
    """What was asked for, and what was taken for granted."""
    run = ask.run
    return {
        "run": {"width": run.width, "height": run.height, "frames": run.frames, "batch": run.batch, "cfg": run.cfg},
        "card": card_json(ask) if one_card else None,
        "ram_bytes": ask.ram_bytes,
        "loader": ask.loader,
        "link": {"generation": ask.link.generation, "width": ask.link.width, "assumed": ask.link.assumed},
        "models": [{"use": use, **component_json(one)} for use, one in part_names(ask.models)],
        "variants": [variant_json(one) for one in ask.variants],
        "assumptions": [text.replace("\u00a0", " ") for text in assumptions(ask, one_card, ram)],
    }


def card_json(ask: Ask) -> dict[str, Any]:
    """The card: what it is called, what of it can be had, what a run gets."""
    card = ask.card
    return {
        "stated_bytes": card.stated_bytes,
        "offered_bytes": card.offered_bytes,
        "kept_bytes": card.kept_bytes,
        "room_bytes": card.room_bytes,
        "dynamic_vram": card.streams_by_page,
    }


def component_json(one: Component) -> dict[str, Any]:
    """One file."""
    return {
        "file": one.name,
        "name": one.identity.name,
        "family": one.identity.family,
        "format": one.format,
        "weights_bytes": one.weights_bytes,
        "file_bytes": one.file_bytes,
        "blocks": len(one.main_blocks),
        "vace_blocks": len(one.vace_blocks),
        "faults": [{"id": fault.id, "text": fault.text.replace("\u00a0", " ")} for fault in one.faults],
    }


def variant_json(one: Variant) -> dict[str, Any]:
    """A quantisation that is there."""
    return {
        "files": list(one.names),
        "format": one.format,
        "weights_bytes": [each.weights_bytes for each in one.models],
    }


def stage_json(role: str, one: StageBudget, timed: bool = True) -> dict[str, Any]:
    """One stage; no seconds where RAM cannot hold what is copied: see ``ram``."""
    stage = one.stage
    return {
        "name": stage.name,
        "role": role,
        "file": stage.part or None,
        "weights_bytes": stage.weights_bytes,
        "work_low_bytes": stage.low_bytes,
        "work_high_bytes": stage.high_bytes,
        "reserved_by_host_bytes": stage.reserved_bytes,
        "passes_per_step": stage.passes,
        "verdict": one.verdict,
        **_pair("streamed", "bytes", one.streamed_bytes),
        **_pair("copied", "bytes", one.copied_bytes),
        **_pair("copy", "seconds", one.copy_seconds if timed else None),
        "source": stage.source,
        "note": stage.note,
    }


def outcome_json(found: Outcome, timed: bool = True) -> dict[str, Any]:
    """A run in short; ``timed`` as for ``stage_json``."""
    time = _pair("copy", "seconds", found.copy_seconds if timed else None)
    return {"verdict": found.verdict, **_pair("copied", "bytes", found.copied_bytes), **time}


def swap_json(plan: SwapPlan, timed: bool = True) -> dict[str, Any]:
    """One model's block swap; ``timed`` as for ``stage_json``."""
    return {
        "blocks": plan.blocks,
        "blocks_to_swap": plan.blocks_to_swap,
        "blocks_resident": plan.blocks_resident,
        "vace_blocks_to_swap": plan.vace_blocks_to_swap,
        "prefetch_blocks": plan.prefetch_blocks,
        "weights_bytes": plan.weights_bytes,
        "swapped_bytes": plan.swapped_bytes,
        "low_bytes": plan.low_bytes,
        "high_bytes": plan.high_bytes,
        "copied_bytes": plan.copied_bytes,
        "copy_seconds": plan.copy_seconds if timed else None,
        "verdict": plan.verdict,
        "notices": list(plan.notices),
    }


def largest_json(most: Largest) -> dict[str, Any]:
    """The largest run."""
    width, height = most.size or (None, None)
    return {"frames": most.frames, "width": width, "height": height}


def choice_json(choice: Choice) -> dict[str, Any]:
    """One change and what comes of it."""
    run = choice.run
    return {
        "id": choice.id,
        "files": list(choice.files),
        "format": choice.format or None,
        "run": {"width": run.width, "height": run.height, "frames": run.frames, "batch": run.batch, "cfg": run.cfg},
        "note": choice.note,
        **outcome_json(choice.after),
    }


def _pair(name: str, unit: str, values: tuple[float, float] | None) -> dict[str, float | None]:
    """``name_low_unit`` and ``name_high_unit``."""
    low, high = values or (None, None)
    return {f"{name}_low_{unit}": low, f"{name}_high_{unit}": high}
