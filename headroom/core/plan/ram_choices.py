"""What to change where it is the RAM that is short: smaller files that are there, a flag, more RAM."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

from ..largest import FITS
from ..planning_words import gibs
from ..ram_room import BESIDE_MODELS_BYTES
from ..units import GIB
from .ask import Ask
from .choices import Choice
from .ram import FINDINGS, RamPlan, plan_ram
from .stages import judge, swap_plans

_DYNAMIC = (
    "Leave dynamic VRAM on: .safetensors files are then mapped, and the system drops from RAM and reads again what it "
    "has to"
)


def ram_choices(ask: Ask, ram: RamPlan | None, chosen: Sequence[Choice]) -> Iterator[Choice]:
    """The changes that help the RAM, the cheapest first.

    Args:
        chosen: what is proposed for the card already; no file is proposed twice.
    """
    if ram is None or ram.verdict not in FINDINGS:
        return
    now = judge(ask.models, ask.run, ask.setup)
    if _dynamic_helps(ask):
        yield Choice("dynamic", ask.run, (), "", now, _DYNAMIC)
    yield from _smaller_files(ask, chosen)
    for flag in ram.offload.flags:
        yield Choice(flag.removeprefix("--"), ask.run, (), "", now, f"Start ComfyUI with {flag}")
    enough = math.ceil((ram.enough_bytes + BESIDE_MODELS_BYTES) / GIB) * GIB
    then = "then no step reads from disk" if ram.verdict != "short" else "then RAM holds what has to be there at once"
    yield Choice("ram", ask.run, (), "", now, f"{gibs(enough)} of RAM in place of {gibs(ask.ram_bytes)}: {then}")


def _dynamic_helps(ask: Ask) -> bool:
    """Whether dynamic VRAM was turned off and the RAM would do with it; not on cards that have none by default."""
    dynamic = replace(ask, card=replace(ask.card, dynamic=True))
    found = plan_ram(dynamic, ()) if dynamic.maps else None
    return found is not None and found.verdict not in FINDINGS


def _smaller_files(ask: Ask, chosen: Sequence[Choice]) -> Iterator[Choice]:
    """The largest quantisation that is there, fits the card and is no finding for the RAM."""
    for one in sorted(ask.variants, key=lambda one: -one.largest_bytes):
        smaller = replace(ask, models=replace(ask.models, diffusion=one.models))
        after = judge(smaller.models, ask.run, ask.setup)
        found = plan_ram(smaller, swap_plans(smaller.models, ask.run, ask.setup))
        if found is not None and found.verdict not in FINDINGS and after.verdict in FITS:
            if not any(choice.files == one.names for choice in chosen):
                yield Choice("small_files", ask.run, one.names, one.format, after)
            return
