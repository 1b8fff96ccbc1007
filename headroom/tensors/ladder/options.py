"""What the user chose, what the ladder needs from the running ComfyUI, and what it hands back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import torch

from ...core.vae import UNKNOWN_PEAK, Peak

Outcome = Literal["finished", "out of memory", "not finite"]


@dataclass(frozen=True)
class Options:
    """The node's options."""

    start: str = "auto"
    smallest_tile_px: int = 256
    precision: str = "auto"
    allow_cpu: str = "images only"


@dataclass(frozen=True)
class Words:
    """How a direction is spoken of."""

    noun: str
    """ "decode", "encode"."""
    done: str
    """ "Decoded"."""
    going_on: str
    """ "Decoding"."""
    item: str
    """What a batch is made of: "item", "image"."""
    damaged: str
    """The advice when no precision helps."""
    rescue: str
    """What became of the input when every rung failed; ``{saved}`` is the file's name, where one is saved."""


@dataclass(frozen=True)
class Attempt:
    """One rung that was tried."""

    how: str
    """ "bf16, full frame"; "fp32, 512 px tiles, overlap 64"."""
    dtype: str
    device: str
    items: tuple[int, ...]
    outcome: Outcome
    reason: str
    seconds: float
    peak_bytes: int | None = None
    """Most that torch had allocated on the device meanwhile; None where it cannot be measured."""


@dataclass
class Climbed:
    """What came out, [items, ...] in the layout of the direction, and how."""

    out: torch.Tensor
    attempts: Sequence[Attempt]
    notices: Sequence[str] = ()
    approximate: bool = False
    """Some of it was done in tiles by a VAE that does not tile by itself."""
    saved_latent: str | None = None
    peak: Peak = UNKNOWN_PEAK
    """What one whole item was estimated to take in the VAE's own precision."""


class LadderHost(Protocol):
    """What the ladder asks of the running ComfyUI. Sizes are bytes, None where unknown."""

    @property
    def spills_silently(self) -> bool:
        """The driver moves VRAM to system memory instead of failing (NVIDIA on Windows), so no exception will come."""
        ...

    def free_bytes(self, device: torch.device) -> int | None:
        """Free memory of a device, torch's own cache included; for the CPU what the system calls available."""
        ...

    def evictable_bytes(self, vae: Any) -> int:
        """What other models hold on the VAE's device and could give back."""
        ...

    def evict_others(self, vae: Any) -> None:
        """Unloads every model but this VAE from its device and empties torch's cache."""
        ...

    def supports_bf16(self, device: torch.device) -> bool:
        """Whether the host would use bf16 on this device."""
        ...

    def widened(self, vae: Any, dtype: torch.dtype, device: torch.device) -> Any:
        """A private VAE with the same weights in a wider dtype, on the given device; the one given stays as it is."""
        ...

    def release(self, private_vae: Any) -> None:
        """Takes a private VAE out of the host's memory management."""
        ...

    def check_interrupt(self) -> None:
        """Raises the host's interrupt exception if the user asked to stop."""
        ...

    def progress_bar(self, total: int) -> Callable[[int], None]:
        """A progress bar of ``total`` steps on the node; call it with the steps done so far."""
        ...

    def start_peak(self, device: torch.device) -> None:
        """Starts measuring the peak of a device."""
        ...

    def peak_bytes(self, device: torch.device) -> int | None:
        """The peak since ``start_peak``."""
        ...

    def save_latent(self, samples: torch.Tensor) -> str:
        """Saves a latent to the output folder; returns the file's name there."""
        ...

    def log(self, text: str) -> None:
        """A line in the host's log."""
        ...
