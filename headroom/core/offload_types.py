"""What an offload plan is made of: the machine, the models of a run, and where each of them goes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from .budget import Role, Stage

Park = Literal["gpu", "other gpu", "RAM, pinned", "RAM", "disk"]
MAIN_DEVICE, OFFLOAD_DEVICE = "main_device", "offload_device"
"""The two words of the Wan wrapper's ``load_device``."""


@dataclass(frozen=True)
class OtherGpu:
    """A second card and what ComfyUI can have of it."""

    index: int
    room_bytes: int


@dataclass(frozen=True)
class Machine:
    """The room of a machine, in bytes."""

    gpu_room_bytes: int
    """What ComfyUI can have of the card that it runs on."""
    ram_bytes: int
    """What models can have of the RAM: what is available, and what this process's models hold already."""
    pin_bytes: int = 0
    """The most that the host pins; 0 where it pins nothing."""
    swap_bytes: int = 0
    others: Sequence[OtherGpu] = ()


@dataclass(frozen=True)
class Part:
    """One model of the run."""

    role: Role
    stage: Stage
    """Its weights and its work."""
    mapped: bool = False
    """Its weights in RAM are a mapped file, which the system drops and reads again; see ``ram_room``."""


@dataclass(frozen=True)
class Placement:
    """Where one model goes."""

    part: Part
    run_on: str
    """``gpu``, ``gpu 1``, ``cpu``."""
    park: Park
    """Where its weights are while another stage runs; ``disk``: RAM cannot hold it beside the others."""
    streamed_bytes: int
    """Weights that do not fit beside its work, at the high end."""
    reason: str
    disk_bytes: tuple[int, int] | None = None
    """Of a mapped model, what a sampling step reads from disk, since RAM cannot hold all that is streamed: all but what
    RAM holds at best; at worst all of it, where a page is dropped before its turn comes again."""

    @property
    def load_device(self) -> str:
        """The Wan wrapper's ``load_device``: straight to the card only what is then there in full."""
        fits = self.run_on.startswith("gpu") and not self.streamed_bytes
        return MAIN_DEVICE if fits else OFFLOAD_DEVICE

    @property
    def force_offload(self) -> bool:
        """The Wan wrapper's ``force_offload``: whether it has to leave the card after its stage."""
        return self.park not in ("gpu", "other gpu")

    @property
    def committed_bytes(self) -> int:
        """RAM that it has to have while it waits; 0 for what is mapped or stays on a card."""
        return self.part.stage.weights_bytes if self.force_offload and not self.part.mapped else 0
