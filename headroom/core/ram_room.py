"""What models can have of the RAM, and what has to lie there at once; the one place where this is worked out.

Whether weights can be dropped from RAM depends on how they got there (ComfyUI 0.30.0): with dynamic VRAM a
.safetensors file is mapped (comfy/utils.py, load_safetensors) and its tensors are the model's own (``assign`` in
comfy/sd.py), so that the system drops them and reads them again. Everything else is a copy in the process's memory:
without dynamic VRAM, of a GGUF or .ckpt file, and in a wrapper that moves blocks between card and RAM.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .units import GIB

#: What ComfyUI, its outputs and the system take of the RAM beside the models.
BESIDE_MODELS_BYTES = 4 * GIB


def models_room_bytes(ram_bytes: int) -> int:
    """RAM that models can have of a machine's."""
    return max(0, ram_bytes - BESIDE_MODELS_BYTES)


@dataclass(frozen=True)
class Held:
    """The weights of one model as they lie in RAM."""

    size_bytes: int
    mapped: bool = False
    """A mapped file, which the system can drop: see the module."""


@dataclass(frozen=True)
class Switch:
    """The moment at which one diffusion model takes the place of another: both are in RAM then.

    Two 13.6 GB models and a text encoder of 6.4 ended ComfyUI 0.3.67 in 31 GiB (ComfyUI #10771). ComfyUI-KJNodes #632
    tells of 10 GB that waited and 28 GB that were loaded, on a card that loaded its model "partially": without dynamic
    VRAM. It names no version, and no such report is known of mapped files.
    """

    models_bytes: int
    """Both models."""
    encoders_bytes: int
    """Text encoders that wait in RAM too."""
    mapped_bytes: int
    """Of all these, what the system can drop and read again."""
    room_bytes: int
    """What models can have of the RAM."""

    def __post_init__(self) -> None:
        if self.mapped_bytes > self.need_bytes:
            raise ValueError(f"{self.mapped_bytes} of {self.need_bytes} bytes are mapped")

    @property
    def need_bytes(self) -> int:
        """All of it together."""
        return self.models_bytes + self.encoders_bytes

    @property
    def committed_bytes(self) -> int:
        """What cannot be dropped."""
        return self.need_bytes - self.mapped_bytes

    @property
    def fits(self) -> bool:
        """Whether nothing has to be killed for it: what is mapped is read again."""
        return self.committed_bytes <= self.room_bytes

    @property
    def reads_again(self) -> bool:
        """Whether the RAM cannot hold all of it, so that a part is read from its file at each switch."""
        return self.need_bytes > self.room_bytes


def switch(models: Sequence[Held], encoders: Sequence[Held], room_bytes: int) -> Switch | None:
    """The switch between the two largest diffusion models; None where there is one or none.

    Args:
        models: the diffusion models of a run.
        encoders: the text encoders that are in RAM meanwhile.
        room_bytes: what models can have of the RAM, from ``models_room_bytes`` or as it was read.
    """
    if len(models) < 2:
        return None
    both = sorted(models, key=lambda one: -one.size_bytes)[:2]
    there = [*both, *encoders]
    return Switch(
        models_bytes=sum(one.size_bytes for one in both),
        encoders_bytes=sum(one.size_bytes for one in encoders),
        mapped_bytes=sum(one.size_bytes for one in there if one.mapped),
        room_bytes=room_bytes,
    )
