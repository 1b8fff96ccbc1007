"""What Free Memory did and measured, as plain data: made by ``headroom/host``, put into words by ``free_report``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

Fate = Literal["unloaded", "parked", "gone", "kept", "still loaded", "dead"]
"""``parked``: unloaded, but this ComfyUI parks its weights on the card itself (``--highvram``, ``--gpu-only``)."""


@dataclass(frozen=True)
class DeviceMemory:
    """What this process holds on one device, and what is free there."""

    device: str
    tensors_bytes: int
    """In torch tensors, the weights of models without dynamic VRAM among them."""
    cache_bytes: int
    """Held by torch for the next tensors; given back when its cache is emptied."""
    pages_bytes: int = 0
    """Weights of models under dynamic VRAM, which torch does not count."""
    free_bytes: int | None = None
    total_bytes: int | None = None

    @property
    def held_bytes(self) -> int:
        """Everything that this process holds, without the driver's own part."""
        return self.tensors_bytes + self.cache_bytes + self.pages_bytes

    @property
    def others_bytes(self) -> int | None:
        """What other programs and the driver hold; None where the device does not tell."""
        if self.free_bytes is None or self.total_bytes is None:
            return None
        return max(0, self.total_bytes - self.free_bytes - self.held_bytes)


@dataclass(frozen=True)
class Moment:
    """All memory of this process at one time."""

    ram_bytes: int | None
    """Its resident set; None where the system does not tell."""
    devices: Sequence[DeviceMemory] = ()
    """Devices with VRAM that this process uses; empty on a machine without one."""
    unreadable: Sequence[str] = ()
    """Devices whose VRAM cannot be read here."""

    @property
    def vram_bytes(self) -> int:
        """Held on all devices together."""
        return sum(device.held_bytes for device in self.devices)


@dataclass(frozen=True)
class ModelFate:
    """What became of one model that ComfyUI had loaded."""

    name: str
    device: str
    """Where it runs."""
    fate: Fate
    size_bytes: int | None
    before_bytes: int | None
    """Of its weights on that device; None where it is dead."""
    after_bytes: int | None
    kept_by: str = ""
    """The input that it is connected to."""
    passes: bool = False
    """It goes through the node, kept or not."""
    pinned_bytes: int = 0
    """RAM that stays pinned for it."""

    @property
    def on_cpu(self) -> bool:
        """Its weights are in RAM whether it is loaded or not."""
        return self.device == "cpu"

    def as_json(self) -> dict[str, Any]:
        """The model under the names of the report's facts."""
        return {
            "name": self.name,
            "device": self.device,
            "fate": self.fate,
            "size_bytes": self.size_bytes,
            "before_bytes": self.before_bytes,
            "after_bytes": self.after_bytes,
            "kept_by": self.kept_by or None,
            "pinned_bytes": self.pinned_bytes,
        }


@dataclass(frozen=True)
class Freed:
    """One run of Free Memory."""

    choice: str
    before: Moment
    after: Moment
    models: Sequence[ModelFate] = ()
    """Empty where models were not asked for."""
    drops_outputs: bool = False
    """ComfyUI was asked to drop its cached outputs, which it does when the prompt has ended."""

    @property
    def vram_freed_bytes(self) -> int:
        """Negative where more is held than before."""
        return self.before.vram_bytes - self.after.vram_bytes

    @property
    def ram_freed_bytes(self) -> int | None:
        """Negative where this process has grown; None where either reading failed."""
        if self.before.ram_bytes is None or self.after.ram_bytes is None:
            return None
        return self.before.ram_bytes - self.after.ram_bytes
