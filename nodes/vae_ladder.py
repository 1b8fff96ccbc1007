"""The ladder's options, which VAE Decode (Safe) and VAE Encode (Safe) share."""

from __future__ import annotations

from typing import Any

from comfy_api.latest import io

from ..headroom.core.choices import AUTO, CPU_RULES, IMAGES_ONLY, PRECISIONS, STARTS


def ladder_inputs() -> list[Any]:
    """All optional, so that a prompt made for the stock node is valid as it is."""
    return [
        io.Combo.Input(
            "start",
            options=list(STARTS),
            default=AUTO,
            optional=True,
            tooltip="auto: the full frame, unless it cannot fit. Whatever the start, less memory is tried next.",
        ),
        io.Int.Input(
            "smallest_tile",
            default=256,
            min=64,
            max=2048,
            step=64,
            optional=True,
            tooltip="Tiles never get smaller than this, in pixels. Smaller tiles need less memory and show more seams.",
        ),
        io.Combo.Input(
            "precision",
            options=list(PRECISIONS),
            default=AUTO,
            optional=True,
            tooltip="auto: the VAE's own, wider only for what comes out NaN. The others are the least that is used.",
        ),
        io.Combo.Input(
            "allow_cpu",
            options=list(CPU_RULES),
            default=IMAGES_ONLY,
            optional=True,
            tooltip="The last resort when nothing fits on the GPU. For a video it can take hours.",
        ),
    ]
