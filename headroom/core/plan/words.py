"""What a plan says in sentences: the verdicts, the changes, what was taken for granted."""

from __future__ import annotations

import math

from ..budget import StageBudget
from ..offload_notices import CACHE_NONE_COST
from ..planning_words import gibs, seconds, span
from ..static_load import LEAST_FREE_BYTES
from ..swap import SwapPlan
from ..units import GIB, gib, number, with_unit
from .ask import Ask
from .choices import Choice
from .stages import Outcome
from .whole import Plan

CHOICES = {
    "blocks": "{note}",
    "prefetch": "{note}",
    "reserve": "{note}",
    "settings": "{note}",
    "batch": "Batch 1 in place of {batch}, and run it {batch} times",
    "quantisation": "Take {files} ({format}), which {are} there",
    "cfg": "cfg 1, where the model is distilled or a speed LoRA is loaded",
    "frames": "{frames} frames",
    "size": "{width}x{height}",
    "small_files": "Take {files} ({format}), which {are} there, for the RAM",
    "dynamic": "{note}",
    "cache-none": f"{{note}}. {CACHE_NONE_COST.rstrip('.')}",
    "ram": "{note}",
}
OWN_DECODE_WINDOWS = (
    "ComfyUI's VAE Decode tiles only after an out-of-memory error, which does not come on Windows: the driver moves "
    "memory to RAM and the decode crawls"
)
#: What is changed for the RAM leaves the card as it is.
FOR_RAM = ("dynamic", "cache-none", "ram")

AFTER = {
    "streams": "it streams",
    "unknown": "it may or may not fit: the work is not known",
    "may not fit": "it may fit",
    "does not fit": "it still does not fit",
}

#: Without dynamic VRAM weights are loaded before the work begins, and do not give way to it.
CROWDED = (
    "ComfyUI loads so many weights that {left} are left for the work: start it with --reserve-vram {reserve}, and it "
    "loads fewer and streams the rest."
)


def copied(low: int, high: int) -> str:
    """``5.2-6.0 GiB``, ``up to 2.4 GiB`` where it may be nothing."""
    return f"up to {gibs(high)}" if gib(low) == gib(0) else with_unit(span(low, high), "GiB")


def card_words(ask: Ask) -> str:
    """``12 GiB``, as it was stated."""
    return with_unit(number(ask.card.stated_bytes / GIB, 0 if ask.card.nominal else 2), "GiB")


def run_words(ask: Ask) -> str:
    """``832x480, 81 frames, batch 1, cfg 6``."""
    run = ask.run
    frames = f", {ask.frames} frames" if ask.frames > 1 else ""
    return f"{run.width}x{run.height}{frames}, batch {run.batch}, cfg {run.cfg:g}"


def stage_verdict(one: StageBudget, per_step: bool, timed: bool = True) -> str:
    """``streams 5.2-6.0 a step, 0.2-0.3 s``, for a table of GiB; what a step copies where it has more than one pass.

    Args:
        per_step: it is a stage of steps.
        timed: the copies come from RAM, so that the link sets their time.
    """
    if one.verdict != "streams" or one.copied_bytes is None:
        return "n/a" if one.verdict == "unknown" else one.verdict
    low, high = one.copied_bytes
    text = f"streams {span(low, high) if low else f'up to {gib(high)}'}" + (" a step" if per_step else " once")
    return f"{text}, {seconds(*one.copy_seconds)}" if one.copy_seconds and timed else text


def swap_verdict(plan: SwapPlan, timed: bool = True) -> str:
    """``swaps 12 of 40 blocks, 7.5 a step, 0.3 s``, for a table of GiB; ``timed`` as for ``stage_verdict``."""
    if plan.verdict != "swap":
        return "n/a" if plan.verdict == "unknown" else plan.verdict
    text = f"swaps {plan.blocks_swapped} of {plan.blocks} blocks, {gib(plan.copied_bytes)} a step"
    time = plan.copy_seconds if timed else None
    return text if time is None else f"{text}, {seconds(time, time)}"


def outcome_words(found: Outcome) -> str:
    """The verdict of a run in a few words."""
    if found.verdict == "resident":
        return "then all of it stays on the card"
    if found.verdict == "streams" and found.copied_bytes is not None:
        return f"then it streams {copied(*found.copied_bytes)} a step"
    return f"then {AFTER[found.verdict]}"


def choice_words(choice: Choice, plan: Plan) -> str:
    """One change and what comes of it."""
    text = CHOICES[choice.id].format(
        note=f"{choice.note[:1].upper()}{choice.note[1:]}" if choice.id == "reserve" else choice.note,
        batch=plan.ask.run.batch,
        files=" and ".join(choice.files),
        are="is" if len(choice.files) == 1 else "are",
        format=choice.format,
        frames=choice.run.frames,
        width=choice.run.width,
        height=choice.run.height,
    )
    return f"{text}." if choice.id in FOR_RAM else f"{text}: {outcome_words(choice.after)}."


def decode_words(plan: Plan) -> str:
    """How a decode that is counted in tiles comes to be in tiles; empty where it is whole.

    The host's own retry, which ``VAE.decode`` makes after an out-of-memory error (comfy/sd.py 0.30.0): 256 px for
    video, 64 latent pixels, three times over with other shapes, for pictures.
    """
    note = next((one.stage.note for role, one in plan.stages if role == "vae" and one.stage.note), "")
    latent = plan.ask.models.diffusion[0].identity.latent
    if not note or latent is None:
        return ""
    if plan.ask.card.windows:
        own = OWN_DECODE_WINDOWS
    else:
        retry = f"{64 * latent.spatial} px tiles, three times over" if latent.dims == 2 else "256 px tiles"
        own = f"ComfyUI's VAE Decode tries the whole first, and where that runs out of memory again in {retry}"
    return f"The decode is counted {note}. VAE Decode (Safe) does so by itself, VAE Decode (Tiled) as told. {own}."


def swap_words(plan: SwapPlan, timed: bool = True) -> list[str]:
    """What to set in a wrapper, and what it costs; ``timed`` as for ``stage_verdict``."""
    convention = plan.ask.convention
    lines = [f"{convention.name}: blocks_to_swap {plan.blocks_to_swap} of {plan.blocks}"]
    if plan.ask.vace_bytes:
        lines[0] += f", vace_blocks_to_swap {plan.vace_blocks_to_swap} of {len(plan.ask.vace_bytes)}"
    if convention.prefetch:
        lines[0] += f", prefetch_blocks {plan.prefetch_blocks}"
    lines[0] += f": {plan.verdict if plan.verdict != 'unknown' else 'by the weights alone, the work is not known'}."
    lines.append(
        f"{gibs(plan.weights_bytes)} of weights on the card, {gibs(plan.swapped_bytes)} in RAM; "
        f"a step copies {gibs(plan.copied_bytes)}"
        + (", both ways" if convention.copies_back and plan.copied_bytes else "")
        + (f", about {seconds(plan.copy_seconds, plan.copy_seconds)}" if plan.copy_seconds and timed else "")
        + "."
    )
    return [*lines, *plan.notices]


def loader_words(plan: Plan) -> list[str]:
    """What to set where ComfyUI's own loaders are used: nothing, and why."""
    card = plan.ask.card
    if plan.outcome.verdict == "resident":
        return ["Set nothing: all weights of each stage stay on the card."]
    if plan.outcome.verdict == "unknown":
        return ["n/a: the work of a stage is not known. ComfyUI's own loaders have no setting for it."]
    if plan.settings_are_at_fault:
        return ["Set nothing: what was stated leaves too little of the card; see what to change."]
    sampling = [one for role, one in plan.stages if role == "diffusion"]
    if plan.outcome.verdict in ("may not fit", "does not fit"):
        crowded = next((one for one in sampling if one.crowded), None)
        if crowded is not None:
            # The work has what is reserved, and LEAST_FREE_BYTES.
            most = max(0, (crowded.stage.high_bytes or 0) - LEAST_FREE_BYTES)
            reserve = max(math.ceil(most / GIB), int((card.reserve_bytes or 0) / GIB) + 1)
            return [CROWDED.format(left=gibs(crowded.left_for_work_bytes), reserve=reserve)]
        return ["Set nothing: what does not fit is the work of a stage, and no swap of weights lowers that."]
    if card.streams_by_page:
        return [
            "Leave it to dynamic VRAM: set nothing. It keeps what fits on the card and streams the rest by itself; a "
            "swap node beside it only takes room from it."
        ]
    left = max((one.left_for_work_bytes or 0 for one in sampling if one.verdict == "streams"), default=0)
    kept = f" It keeps {gibs(left)} free for the work, by its own formula for one prompt." if left else ""
    return [f"Set nothing: ComfyUI loads a part of the weights and streams the rest.{kept}"]
