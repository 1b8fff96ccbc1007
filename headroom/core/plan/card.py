"""The card of a plan that is only stated, "a 12 GiB card": what a run can have of it."""

from __future__ import annotations

from dataclasses import dataclass

from ..launchline.stated import Machine
from ..room import offered_bytes, stated_room
from ..static_load import StaticLoader, static_loader
from ..units import GIB


@dataclass(frozen=True)
class Card:
    """A card and how ComfyUI is started on it."""

    stated_bytes: int
    reserve_bytes: int | None = None
    """--reserve-vram; None for what ComfyUI keeps free by itself."""
    windows: bool = False
    dynamic: bool = True
    """Dynamic VRAM is not turned off."""
    gpu: str | None = None
    """The card's name; None for NVIDIA's."""

    @property
    def nominal(self) -> bool:
        """A whole number of GiB: what stands on the box, not what a program read."""
        return self.stated_bytes % GIB == 0

    @property
    def offered_bytes(self) -> int:
        """What programs can have of it."""
        return offered_bytes(self.stated_bytes)

    @property
    def room_bytes(self) -> int:
        """What is left for weights and work together, without the process's context and what ComfyUI keeps free."""
        return stated_room(self.offered_bytes, self.windows, self.reserve_bytes)

    @property
    def kept_bytes(self) -> int:
        """What goes off for these two."""
        return self.offered_bytes - self.room_bytes

    @property
    def amd(self) -> bool:
        """Whether it is one of AMD's."""
        return self._kind == "rocm"

    @property
    def streams_by_page(self) -> bool:
        """Whether ComfyUI runs with dynamic VRAM: on by itself for NVIDIA (comfy/cli_args.py 0.30.0)."""
        return self.dynamic and self._kind == "cuda"

    @property
    def static(self) -> StaticLoader | None:
        """How ComfyUI loads weights on it without dynamic VRAM; None with it."""
        return None if self.streams_by_page else static_loader(self._kind)

    @property
    def _kind(self) -> str:
        return Machine(gpu=self.gpu).kind
