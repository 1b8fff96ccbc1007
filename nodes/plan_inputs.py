"""Inputs that the planning nodes share: the size of a run, and a card to plan for."""

from __future__ import annotations

from comfy_api.latest import io

from ..headroom.core.choices import NO_FILE, NONE
from ..headroom.core.preset_names import names

FIRST = "Wan 2.2 14B text to video, fp8"


def files(kind: str) -> list[str]:
    """The user's files of a kind and the presets."""
    from ..headroom.host.model_files import offered

    return offered(kind)


def model_file() -> io.Combo.Input:
    """The diffusion model by its file."""
    return io.Combo.Input(
        "model_file",
        options=[NO_FILE, *files("diffusion")],
        default=next(name for name in names("diffusion") if FIRST in name),
        tooltip="Only its header is read, nothing is loaded. The examples at the end need no file at all.",
    )


def optional_file(name: str, kind: str, tooltip: str) -> io.Combo.Input:
    """A further model of the run."""
    return io.Combo.Input(name, options=[NONE, *files(kind)], default=NONE, optional=True, tooltip=tooltip)


def size_inputs() -> list[io.Input]:
    """Width, height, frames, batch and cfg."""
    return [
        io.Int.Input("width", default=832, min=16, max=16384, step=16),
        io.Int.Input("height", default=480, min=16, max=16384, step=16),
        io.Int.Input("frames", default=81, min=1, max=100000, tooltip="1 for a picture."),
        io.Int.Input("batch", default=1, min=1, max=4096),
        io.Float.Input("cfg", default=3.5, min=1.0, max=100.0, step=0.1, tooltip="Above 1, two prompts go through."),
    ]


def vram_input() -> io.Float.Input:
    """A card that is not there."""
    return io.Float.Input(
        "vram_gib",
        default=0.0,
        min=0.0,
        max=1024.0,
        step=0.5,
        optional=True,
        tooltip="Plan for a card of this size; 0: for what this machine's card has now.",
    )
