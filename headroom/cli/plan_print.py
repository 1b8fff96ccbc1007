"""A plan as sections for a terminal of 96 columns."""

from __future__ import annotations

from collections.abc import Iterator

from ..core.largest import MOST_FRAMES, MOST_SIDE, Largest
from ..core.plan.ask import Ask, part_names
from ..core.plan.assumptions import assumptions
from ..core.plan.ram import RamPlan
from ..core.plan.ram_words import OVERFLOWS, from_disk_words
from ..core.plan.verdict import headline
from ..core.plan.whole import Plan
from ..core.plan.words import (
    card_words,
    choice_words,
    copied,
    decode_words,
    loader_words,
    run_words,
    stage_verdict,
    swap_verdict,
    swap_words,
)
from ..core.planning_words import gibs, seconds, span
from ..core.units import gib
from .plan_ram_print import ram_lines
from .tables import paragraph, shortened, table

NAME = 44


def plan_lines(plan: Plan, steps: int | None) -> Iterator[str]:
    """All sections."""
    ask = plan.ask
    name = ask.models.diffusion[0].identity.name
    yield f"{name}: {run_words(ask)}"
    yield f"Card: {card_words(ask)}" + ("" if ask.ram_bytes is None else f", RAM: {gibs(ask.ram_bytes)}")
    yield from paragraph(f"Verdict: {headline(plan)}", "", "  ")
    yield ""
    yield from model_lines(ask)
    yield ""
    yield from stage_lines(plan)
    yield from _whole_sampling(plan, steps)
    yield ""
    yield from _swap(plan)
    yield ""
    yield from ram_lines(plan)
    yield ""
    yield from _largest(plan)
    yield from _choices(plan)
    yield ""
    yield from assumed(ask, ram=plan.ram)


def model_lines(ask: Ask) -> Iterator[str]:
    """The files."""
    rows = [("Models", "", "format", "GiB")]
    for use, one in part_names(ask.models):
        size = one.part_bytes("vae") or one.weights_bytes if use == "VAE" else one.weights_bytes
        rows.append((f"  {shortened(one.name, NAME)}", use, one.format, gib(size)))
        for part in one.identity.parts:
            if part.kind != "diffusion model" and use == "model":
                rows.append((f"  and in it {part.name}", part.kind, "", gib(part.size_bytes)))
    yield from table(rows, right=(3,), widest=NAME + 2, indent="")
    for _, one in part_names(ask.models):
        for fault in one.faults:
            yield from paragraph(f"{one.name}: {fault.text}")
        if one.identity.kind == "unknown":
            yield from paragraph(f"{one.name}: not known to Headroom, so that only its bytes are.")


def stage_lines(plan: Plan) -> Iterator[str]:
    """What each stage takes of the card, and whether it fits."""
    swaps = iter(plan.swaps)
    rows = [("Stages, GiB", "weights", "work", "reserved", "verdict")]
    for place, (role, one) in enumerate(plan.stages):
        stage = one.stage
        steps, swap = role == "diffusion", next(swaps, None) if role == "diffusion" else None
        timed = plan.timed(place)
        verdict = stage_verdict(one, steps, timed) if swap is None else swap_verdict(swap, timed)
        rows.append(
            (
                f"  {stage.name}",
                gib(stage.weights_bytes) if stage.weights_bytes else "n/a",
                span(stage.low_bytes, stage.high_bytes),
                gib(stage.reserved_bytes),
                f"{verdict}, {stage.note}" if stage.note else verdict,
            )
        )
    yield from table(rows, right=(1, 2, 3), indent="")
    sources = dict.fromkeys((one.stage.name.partition(",")[0], one.stage.source) for _, one in plan.stages)
    for name, source in sources:
        yield from paragraph(f"{name}, work: {source}.", "  ", "    ")
    yield from paragraph("Reserved is what ComfyUI makes free for the work by its own formula.")
    yield from paragraph(decode_words(plan))


def _whole_sampling(plan: Plan, steps: int | None) -> Iterator[str]:
    """What all steps together copy."""
    found = plan.outcome
    if steps is None or found.copied_bytes is None:
        return
    low, high = (size * steps for size in found.copied_bytes)
    if not high:
        yield f"  All {steps} steps copy nothing: all weights of sampling stay on the card."
    elif plan.copies_from_ram and found.copy_seconds is not None:
        first, last = (time * steps for time in found.copy_seconds)
        yield f"  All {steps} steps copy {copied(low, high)}, about {seconds(first, last)}."
    else:
        yield f"  All {steps} steps copy {copied(low, high)}."
        yield from paragraph(from_disk_words(plan, steps) or OVERFLOWS)


def _swap(plan: Plan) -> Iterator[str]:
    yield "Block swap"
    if not plan.swaps:
        for text in loader_words(plan):
            yield from paragraph(text)
        return
    for model, swap in zip(plan.ask.models.diffusion, plan.swaps, strict=True):
        if len(plan.swaps) > 1:
            yield f"  {shortened(model.name, 80)}"
        for text in swap_words(swap, plan.copies_from_ram):
            yield from paragraph(text)
    if any(model.gguf for model in plan.ask.models.diffusion):
        yield from paragraph("GGUF: wrappers unpack blocks as they swap them, so these figures are less sure.")
    if any(role == "vae" and one.verdict in ("may not fit", "does not fit") for role, one in plan.stages):
        yield from paragraph("No block swap lowers what the decode needs.")


def _largest(plan: Plan) -> Iterator[str]:
    settings = " with these settings" if plan.settings_are_at_fault else ""
    yield from paragraph(f"Largest that surely fits{settings}: {largest_words(plan.largest, plan.ask)}", "", "  ")


def largest_words(most: Largest, ask: Ask) -> str:
    """``1280x720 with 81 frames, or 832x480 with 121 frames``."""
    if most.size is None and most.frames is None:
        return "none, or not known"
    frames = f" with {ask.frames} frames" if ask.frames > 1 else ""
    found = []
    if most.size is not None:
        found.append(f"{most.size[0]}x{most.size[1]}{_or_more(max(most.size) >= MOST_SIDE)}{frames}")
    if most.frames is not None:
        more = _or_more(most.frames >= MOST_FRAMES - 8)
        found.append(f"{most.frames} frames{more} at {ask.run.width}x{ask.run.height}")
    return ", or ".join(found)


def _or_more(more: bool) -> str:
    return " or more" if more else ""


def _choices(plan: Plan) -> Iterator[str]:
    if not plan.choices:
        if plan.outcome.verdict in ("may not fit", "does not fit"):
            yield ""
            yield "What to change: nothing that was tried makes it fit."
        return
    yield ""
    yield "What to change, the cheapest first"
    for number, choice in enumerate(plan.choices, 1):
        yield from paragraph(f"{number}. {choice_words(choice, plan)}", "  ", "     ")


def assumed(ask: Ask, one_card: bool = True, ram: RamPlan | None = None) -> Iterator[str]:
    """What was taken for granted."""
    yield "Taken for granted"
    yield from paragraph(" ".join(assumptions(ask, one_card, ram)))
