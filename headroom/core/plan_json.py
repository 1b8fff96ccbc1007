"""A plan for programs: plain JSON values, sizes in bytes, null for what is not known. The names are an interface."""

from __future__ import annotations

from typing import Any

from .budget import StageBudget
from .component import Component
from .largest import Largest
from .offload import OffloadPlan, Placement
from .plan import Ask, Plan, Switch, part_names
from .plan_choices import Choice, Variant
from .plan_stages import Outcome
from .plan_tiers import Tier
from .plan_words import assumptions
from .swap import SwapPlan


def plan_json(plan: Plan) -> dict[str, Any]:
    """The whole plan."""
    return {
        **ask_json(plan.ask),
        "verdict": plan.outcome.verdict,
        "finding": plan.found,
        "stages": [stage_json(role, one) for role, one in plan.stages],
        "swap": [swap_json(one) for one in plan.swaps],
        "swap_short_bytes": plan.swap_short_bytes,
        "offload": None if plan.offload is None else offload_json(plan.offload),
        "switch": None if plan.switch is None else switch_json(plan.switch),
        "largest": largest_json(plan.largest),
        "choices": [choice_json(one) for one in plan.choices],
    }


def tiers_json(tiers: tuple[Tier, ...], ask: Ask) -> dict[str, Any]:
    """Several sizes of card side by side."""
    return {**ask_json(ask, one_card=False), "tiers": [tier_json(one) for one in tiers]}


def tier_json(tier: Tier) -> dict[str, Any]:
    """One size of card."""
    return {
        "card": card_json(tier.plan.ask),
        **outcome_json(tier.plan.outcome),
        "largest": largest_json(tier.plan.largest),
        "take": None if tier.take is None else variant_json(tier.take),
        "take_outcome": None if tier.take_outcome is None else outcome_json(tier.take_outcome),
        "take_largest": None if tier.take_largest is None else largest_json(tier.take_largest),
        "claim": tier.claim or None,
    }


def ask_json(ask: Ask, one_card: bool = True) -> dict[str, Any]:
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
        "assumptions": [text.replace("\u00a0", " ") for text in assumptions(ask, one_card)],
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


def stage_json(role: str, one: StageBudget) -> dict[str, Any]:
    """One stage."""
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
        **_pair("copy", "seconds", one.copy_seconds),
        "source": stage.source,
        "note": stage.note,
    }


def outcome_json(found: Outcome) -> dict[str, Any]:
    """A run in short."""
    copied, time = _pair("copied", "bytes", found.copied_bytes), _pair("copy", "seconds", found.copy_seconds)
    return {"verdict": found.verdict, **copied, **time}


def swap_json(plan: SwapPlan) -> dict[str, Any]:
    """One model's block swap."""
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
        "copy_seconds": plan.copy_seconds,
        "verdict": plan.verdict,
        "notices": list(plan.notices),
    }


def offload_json(plan: OffloadPlan) -> dict[str, Any]:
    """Where everything runs and waits."""
    return {
        "ram_room_bytes": plan.machine.ram_bytes,
        "pin_bytes": plan.machine.pin_bytes,
        "ram_bytes": plan.ram_bytes,
        "placements": [placement_json(one) for one in plan.placements],
        "notices": [text.replace("\u00a0", " ") for text in plan.notices],
        "flags": list(plan.flags),
    }


def placement_json(one: Placement) -> dict[str, Any]:
    """Where one model runs and waits."""
    return {
        "role": one.part.role,
        "file": one.part.stage.part or None,
        "weights_bytes": one.part.stage.weights_bytes,
        "run_on": one.run_on,
        "park": one.park,
        "load_device": one.load_device,
        "force_offload": one.force_offload,
        "reason": one.reason,
    }


def switch_json(switch: Switch) -> dict[str, Any]:
    """The switch between two models."""
    return {
        "first": switch.first,
        "second": switch.second,
        "models_bytes": switch.models_bytes,
        "encoders_bytes": switch.encoders_bytes,
        "need_bytes": switch.need_bytes,
        "room_bytes": switch.room_bytes,
        "fits": switch.fits,
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
