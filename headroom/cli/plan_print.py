"""A plan as sections for a terminal of 96 columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ..core.largest import MOST_FRAMES, MOST_SIDE, Largest
from ..core.offload import OffloadPlan
from ..core.plan import Ask, Plan, Switch, part_names
from ..core.plan_tiers import Tier, claim_about
from ..core.plan_words import (
    assumptions,
    card_words,
    choice_words,
    loader_words,
    run_words,
    seconds,
    stage_verdict,
    swap_verdict,
    swap_words,
)
from ..core.planning_words import gibs, span
from ..core.units import gib
from .tables import paragraph, shortened, table

NAME = 44
VERDICTS = {
    "resident": "fits: everything that runs stays on the card while it runs",
    "streams": "fits: weights are streamed",
    "may not fit": "may not fit: the high end of the estimate is more than the card has",
    "does not fit": "does not fit: even the low end of the estimate is more than the card has",
    "unknown": "n/a: the work of a stage is not known",
}


def plan_lines(plan: Plan, steps: int | None) -> Iterator[str]:
    """All sections."""
    ask = plan.ask
    name = ask.models.diffusion[0].identity.name
    yield f"{name}: {run_words(ask)}"
    yield f"Card: {card_words(ask)}" + ("" if ask.ram_bytes is None else f", RAM: {gibs(ask.ram_bytes)}")
    yield f"Verdict: {VERDICTS[plan.outcome.verdict]}"
    yield ""
    yield from model_lines(ask)
    yield ""
    yield from stage_lines(plan)
    yield from _whole_sampling(plan, steps)
    yield ""
    yield from _swap(plan)
    yield ""
    yield from _ram(plan)
    yield ""
    yield from _largest(plan.largest, ask)
    yield from _choices(plan)
    yield ""
    yield from _assumed(ask)


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
    for role, one in plan.stages:
        stage = one.stage
        swap = next(swaps, None) if role == "diffusion" else None
        verdict = stage_verdict(one, role == "diffusion") if swap is None else swap_verdict(swap)
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


def _whole_sampling(plan: Plan, steps: int | None) -> Iterator[str]:
    """What all steps together copy."""
    found = plan.outcome
    if steps is None or found.copied_bytes is None or found.copy_seconds is None or not found.copied_bytes[1]:
        return
    low, high = (size * steps for size in found.copied_bytes)
    first, last = (time * steps for time in found.copy_seconds)
    yield f"  All {steps} steps copy {span(low, high)} GiB, about {seconds(first, last)}."


def _swap(plan: Plan) -> Iterator[str]:
    yield "Block swap"
    if not plan.swaps:
        for text in loader_words(plan):
            yield from paragraph(text)
        return
    for model, swap in zip(plan.ask.models.diffusion, plan.swaps, strict=True):
        if len(plan.swaps) > 1:
            yield f"  {shortened(model.name, 80)}"
        for text in swap_words(swap):
            yield from paragraph(text)
    if any(model.gguf for model in plan.ask.models.diffusion):
        yield from paragraph("GGUF: wrappers unpack blocks as they swap them, so these figures are less sure.")
    if any(role == "vae" and one.verdict in ("may not fit", "does not fit") for role, one in plan.stages):
        yield from paragraph("No block swap lowers what the decode needs.")


def _ram(plan: Plan) -> Iterator[str]:
    yield "Between the stages"
    if plan.offload is None:
        yield "  n/a: say the machine's memory, --ram 32GiB"
        return
    rows = [("  model", "GiB", "runs on", "waits in")]
    for one in plan.offload.placements:
        if one.part.stage.weights_bytes:
            waits = "the card" if one.park == "gpu" else one.park
            rows.append((f"  {one.part.stage.name}", gib(one.part.stage.weights_bytes), one.run_on, waits))
    yield from table(rows, right=(1,), indent="")
    for one in plan.offload.placements:
        if one.run_on != "gpu":
            yield from paragraph(f"{one.part.stage.name} on the {one.run_on}: {one.reason}.")
    yield f"  RAM: {gibs(plan.offload.ram_bytes)} of the {gibs(plan.offload.machine.ram_bytes)} that models can have"
    if plan.swap_short_bytes:
        yield from paragraph(
            f"The swapped blocks are {gibs(plan.swap_short_bytes)} more than that: swap fewer, or take smaller files."
        )
    if plan.switch is not None:
        yield from switch_lines(plan.switch)
    yield from _advice(plan.offload)


def switch_lines(switch: Switch) -> Iterator[str]:
    """What RAM has to hold when one model follows the other."""
    encoders = f" and {gibs(switch.encoders_bytes)} of text encoders" if switch.encoders_bytes else ""
    verdict = (
        "it fits"
        if switch.fits
        else "TOO MUCH. ComfyUI may be killed there; --cache-none lets go of the first model (ComfyUI-KJNodes #632)"
    )
    yield from paragraph(
        f"Switch from the first model to the second: {gibs(switch.models_bytes)} of both models{encoders} at once, "
        f"and models can have {gibs(switch.room_bytes)} of the RAM: {verdict}."
    )


def _advice(offload: OffloadPlan) -> Iterator[str]:
    for text in offload.notices:
        yield from paragraph(text)
    if offload.flags:
        yield from paragraph(f"Start ComfyUI with {' '.join(offload.flags)}.")


def _largest(most: Largest, ask: Ask) -> Iterator[str]:
    yield f"Largest that surely fits: {largest_words(most, ask)}"


def largest_words(most: Largest, ask: Ask) -> str:
    """``1280x720 with 81 frames, or 832x480 with 121 frames``."""
    if most.size is None and most.frames is None:
        return "none, or not known"
    frames = f" with {ask.run.frames} frames" if ask.run.frames > 1 else ""
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


def _assumed(ask: Ask, one_card: bool = True) -> Iterator[str]:
    yield "Taken for granted"
    yield from paragraph(" ".join(assumptions(ask, one_card)))


def tier_lines(tiers: Sequence[Tier], ask: Ask) -> Iterator[str]:
    """Several cards side by side."""
    yield f"{ask.models.diffusion[0].identity.name}: {run_words(ask)}"
    yield ""
    yield from model_lines(ask)
    yield ""
    rows: list[list[str]] = [["Card", *(card_words(tier.plan.ask) for tier in tiers)]]
    rows.append(["  usable", *(gibs(tier.plan.ask.card.room_bytes) for tier in tiers)])
    rows.append(["  verdict", *(_plain(tier.plan.outcome.verdict) for tier in tiers)])
    rows.append(["  streams per step, GiB", *(_copied(tier) for tier in tiers)])
    rows.append(["  which takes about", *(_time(tier) for tier in tiers)])
    rows.append([f"  largest at {_frames(ask)}", *(_size(tier.plan.largest) for tier in tiers)])
    if ask.run.frames > 1:
        rows.append([f"  frames at {ask.run.width}x{ask.run.height}", *(_count(tier.plan.largest) for tier in tiers)])
    rows.append(["  take", *(tier.take.format if tier.take else "none" for tier in tiers)])
    rows.append(["  with it", *(_plain(tier.take_outcome.verdict) if tier.take_outcome else "" for tier in tiers)])
    yield from table(rows)
    yield from _tier_notes(tiers, ask)
    switch = tiers[0].plan.switch
    if switch is not None:
        yield ""
        yield from (line.removeprefix("  ") for line in switch_lines(switch))
    yield ""
    yield from _assumed(ask, one_card=False)


def _tier_notes(tiers: Sequence[Tier], ask: Ask) -> Iterator[str]:
    yield ""
    yield from paragraph("take: of what is there, the largest that stays on the card, else what streams least.", "", "")
    for one in ask.variants:
        yield from paragraph(f"{one.format}: {' and '.join(one.names)}, {gibs(one.largest_bytes)}", "  ", "      ")
    about = claim_about(ask)
    if about and any(tier.claim for tier in tiers):
        said = "; ".join(f"{card_words(tier.plan.ask)}: {tier.claim}" for tier in tiers if tier.claim)
        yield from paragraph(f"A guide claims for {about}, without a measurement: {said}.", "", "")


def _plain(verdict: str) -> str:
    return "n/a" if verdict == "unknown" else verdict


def _copied(tier: Tier) -> str:
    found = tier.plan.outcome
    if found.copied_bytes is None:
        return "n/a"
    return span(*found.copied_bytes) if found.copied_bytes[1] else "none"


def _time(tier: Tier) -> str:
    found = tier.plan.outcome
    if found.copied_bytes is None or found.copy_seconds is None:
        return "n/a"
    return seconds(*found.copy_seconds) if found.copied_bytes[1] else ""


def _frames(ask: Ask) -> str:
    return f"{ask.run.frames} frames" if ask.run.frames > 1 else "1 picture"


def _size(most: Largest) -> str:
    if most.size is None:
        return "none"
    return f"{most.size[0]}x{most.size[1]}{'+' if max(most.size) >= MOST_SIDE else ''}"


def _count(most: Largest) -> str:
    return "none" if most.frames is None else str(most.frames)
