"""What a plan says in sentences: the verdicts, the changes, what was taken for granted."""

from __future__ import annotations

from .budget import StageBudget
from .families.identity import Latent
from .needs import compute_dtype, latent_shape
from .plan import Ask, Plan
from .plan_choices import Choice
from .plan_stages import COMFYUI, Outcome
from .planning_words import EN_DASH, gibs, span
from .room import BESIDE_MODELS_BYTES
from .swap import SwapPlan
from .units import GIB, duration, gib, number, with_unit

CHOICES = {
    "tiles": "Decode {note}: VAE Decode (Safe) does so by itself, and so does ComfyUI after it ran out of memory",
    "batch": "Batch 1 in place of {batch}, and run it {batch} times",
    "quantisation": "Take {files} ({format}), which {are} there",
    "cfg": "cfg 1, where the model is distilled or a speed LoRA is loaded",
    "frames": "{frames} frames",
    "size": "{width}x{height}",
}

AFTER = {
    "streams": "it streams",
    "unknown": "it may or may not fit: the work is not known",
    "may not fit": "it may fit",
    "does not fit": "it still does not fit",
}


def seconds(low: float, high: float) -> str:
    """``0.2-0.3 s``: a rate that is assumed makes no milliseconds."""
    if high >= 120:
        return f"{duration(low)} to {duration(high)}" if low >= 120 else f"up to {duration(high)}"
    if high < 0.05:
        return f"under {with_unit('0.1', 's')}"
    first, last = number(low), number(high)
    return with_unit(first if first == last else f"{first}{EN_DASH}{last}", "s")


def copied(low: int, high: int) -> str:
    """``5.2-6.0 GiB``, ``up to 2.4 GiB`` where it may be nothing."""
    return f"up to {gibs(high)}" if gib(low) == gib(0) else with_unit(span(low, high), "GiB")


def card_words(ask: Ask) -> str:
    """``12 GiB``, as it was stated."""
    return with_unit(number(ask.card.stated_bytes / GIB, 0 if ask.card.nominal else 2), "GiB")


def run_words(ask: Ask) -> str:
    """``832x480, 81 frames, batch 1, cfg 6``."""
    run = ask.run
    frames = f", {run.frames} frames" if run.frames > 1 else ""
    return f"{run.width}x{run.height}{frames}, batch {run.batch}, cfg {run.cfg:g}"


def stage_verdict(one: StageBudget, per_step: bool) -> str:
    """``streams 5.2-6.0 a step, 0.2-0.3 s``, for a table of GiB; what a step copies where it has more than one pass."""
    if one.verdict != "streams" or one.copied_bytes is None:
        return "n/a" if one.verdict == "unknown" else one.verdict
    low, high = one.copied_bytes
    text = f"streams {span(low, high) if low else f'up to {gib(high)}'}" + (" a step" if per_step else " once")
    return f"{text}, {seconds(*one.copy_seconds)}" if one.copy_seconds else text


def swap_verdict(plan: SwapPlan) -> str:
    """``swaps 12 of 40 blocks, 7.5 a step, 0.3 s``, for a table of GiB."""
    if plan.verdict != "swap":
        return "n/a" if plan.verdict == "unknown" else plan.verdict
    text = f"swaps {plan.blocks_swapped} of {plan.blocks} blocks, {gib(plan.copied_bytes)} a step"
    return text if plan.copy_seconds is None else f"{text}, {seconds(plan.copy_seconds, plan.copy_seconds)}"


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
        note=choice.note,
        batch=plan.ask.run.batch,
        files=" and ".join(choice.files),
        are="is" if len(choice.files) == 1 else "are",
        format=choice.format,
        frames=choice.run.frames,
        width=choice.run.width,
        height=choice.run.height,
    )
    return f"{text}." if choice.id == "tiles" else f"{text}: {outcome_words(choice.after)}."


def swap_words(plan: SwapPlan) -> list[str]:
    """What to set in a wrapper, and what it costs."""
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
        + (f", about {seconds(plan.copy_seconds, plan.copy_seconds)}" if plan.copy_seconds else "")
        + "."
    )
    return [*lines, *plan.notices]


def loader_words(plan: Plan) -> list[str]:
    """What to set where ComfyUI's own loaders are used: nothing, and why."""
    card = plan.ask.card
    if plan.outcome.verdict == "resident":
        return ["Set nothing: all weights of each stage stay on the card."]
    if plan.outcome.verdict in ("may not fit", "does not fit"):
        return ["Set nothing: what does not fit is the work of a stage, and no swap of weights lowers that."]
    if card.streams_by_page:
        return [
            "Leave it to dynamic VRAM: set nothing. It keeps what fits on the card and streams the rest by itself; a "
            "swap node beside it only takes room from it."
        ]
    reserved = max((one.stage.reserved_bytes or 0 for role, one in plan.stages if role == "diffusion"), default=0)
    kept = f" It keeps up to {gibs(reserved)} free for the work, by its own formula." if reserved else ""
    return [f"Set nothing: ComfyUI loads a part of the weights and streams the rest.{kept}"]


def assumptions(ask: Ask, one_card: bool = True) -> list[str]:
    """What was taken for granted, a sentence each.

    Args:
        one_card: False for a table of several, whose figures stand there.
    """
    model = ask.models.diffusion[0]
    found = [
        _card(ask)
        if one_card
        else "Usable is what programs can have of a card (as in ComfyUI #13598) without "
        "ComfyUI's context and what it keeps free.",
        "No other program holds memory of the card.",
    ]
    if ask.card.gpu is None:
        found.append("An NVIDIA card; say --gpu for another.")
    if ask.loader == COMFYUI and ask.card.streams_by_page:
        found.append("Dynamic VRAM is on, ComfyUI's default for NVIDIA.")
    computes = ask.run.dtype or compute_dtype(model.identity, model.format)
    found.append(f"Sampling computes in {computes}, the VAE in {ask.run.vae_dtype}.")
    found.append(f"Copies go over {ask.link.words}, from pinned memory; time that the work hides is not taken off.")
    if ask.ram_bytes is not None:
        found.append(f"System and other programs take {gibs(BESIDE_MODELS_BYTES)} of the RAM.")
    if any("fp8" in each.format for each in ask.models.diffusion):
        found.append("fp8 weights stay fp8; a loader that widens them takes two to four times as much.")
    if any(each.gguf for each in ask.models.diffusion):
        found.append("GGUF weights stay packed until they are used; less sure than the other figures.")
    latent = model.identity.latent
    if latent is not None and latent.dims == 2 and ask.run.frames > 1:
        found.append("The model makes single pictures: frames are not counted.")
    rounded = _rounded(ask, latent)
    return [*found, rounded] if rounded else found


def _card(ask: Ask) -> str:
    """What of the card a run gets."""
    card = ask.card
    if card.nominal:
        offered = f"Programs can have {gibs(card.offered_bytes)} of {card_words(ask)} (as in ComfyUI #13598)"
    else:
        offered = f"All {card_words(ask)} of the card can be had"
    kept = f"ComfyUI's context and what it keeps free take {gibs(card.kept_bytes)}"
    return f"{offered}; {kept}, which leaves {gibs(card.room_bytes)}."


def _rounded(ask: Ask, latent: Latent | None) -> str:
    """The frames that a model makes of a number that its latent does not have."""
    if latent is None or latent.dims != 3 or latent.temporal <= 1 or ask.run.frames == 1:
        return ""
    frames = int((latent_shape(latent, ask.run)[2] - 1) * latent.temporal) + 1
    return (
        "" if frames == ask.run.frames else f"{ask.run.frames} frames are counted as {frames}, the next its latent has."
    )
