"""What a plan takes for granted, in sentences."""

from __future__ import annotations

from ..families.identity import Latent
from ..needs import compute_dtype
from ..planning_words import gibs
from ..ram_room import BESIDE_MODELS_BYTES
from ..sampled import frames_made
from .ask import Ask
from .ram import RamPlan
from .stages import COMFYUI
from .words import card_words


def assumptions(ask: Ask, one_card: bool = True, ram: RamPlan | None = None) -> list[str]:
    """What was taken for granted, a sentence each.

    Args:
        one_card: False for a table of several, whose figures stand there.
        ram: where the weights wait; None for pinned memory, which ComfyUI and the wrappers use by default.
    """
    model = ask.models.diffusion[0]
    found = [
        _card(ask)
        if one_card
        else "Usable is what programs can have of a card (as in ComfyUI #13598) without "
        "ComfyUI's context and what it keeps free.",
        "No other program holds memory of the card.",
    ]
    kinds = {each.identity.architecture for each in ask.models.diffusion if each.identity.architecture}
    if len(kinds) > 1:
        names = " and ".join(each.identity.name for each in ask.models.diffusion)
        found.append(f"{names} are of two kinds: they are counted as two that take turns, with the first one's decode.")
    if ask.card.gpu is None:
        found.append("An NVIDIA card; say --gpu for another.")
    if ask.loader == COMFYUI and ask.card.streams_by_page:
        found.append("Dynamic VRAM is on, ComfyUI's default for NVIDIA.")
    computes = ask.run.dtype or compute_dtype(model.identity, model.format)
    found.append(f"Sampling computes in {computes}, the VAE in {ask.run.vae_dtype}.")
    found.append(f"{_copies(ask, ram)}; time that the work hides is not taken off.")
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


def _copies(ask: Ask, ram: RamPlan | None) -> str:
    """From where weights are copied, and over what."""
    placed = () if ram is None else ram.offload.placements
    parks = {one.park for one in placed if one.part.role == "diffusion" and one.streamed_bytes}
    if ram is not None and ram.read_in_a_step is not None:
        return f"What a step reads from disk comes at that disk's rate, and what RAM holds over {ask.link.words}"
    if ram is not None and not all(ram.timed(one) for one in placed if one.part.role == "diffusion"):
        return f"Copies go over {ask.link.words}, and have no time where RAM cannot hold them"
    memory = "memory that is in part not pinned, which takes longer" if "RAM" in parks else "pinned memory"
    return f"Copies go over {ask.link.words}, from {memory}"


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
    frames = frames_made(latent, ask.run.frames)
    return (
        "" if frames == ask.run.frames else f"{ask.run.frames} frames are counted as {frames}, the next its latent has."
    )
