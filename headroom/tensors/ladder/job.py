"""The seam between the ladder and its two directions: one decode or one encode, as the ladder sees it."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import torch

from ...core.errors import LadderFailed
from ...core.tiles import Tile
from ...core.vae import Peak, PeakRow, peak_in
from .kinds import VaeKind, reserved_by_host
from .options import LadderHost, Words
from .watch import WatchedModule


class Job(ABC):
    """One input for one VAE. Tiles and areas are in latent elements, whichever side of the VAE they are cut on.

    The methods that take a ``private`` VAE call the host on it, as the stock node would, for some of the items.
    """

    words: ClassVar[Words]
    error: ClassVar[type[LadderFailed]]
    """What is raised when every rung failed."""
    retry_methods: ClassVar[tuple[str, ...]]
    """What the host's method calls after it swallowed an out-of-memory error (comfy/sd.py 0.30.0)."""
    formula: ClassVar[str]
    """The VAE's attribute that holds the host's memory formula."""
    rows: ClassVar[Sequence[PeakRow]]
    judges_result: ClassVar[bool]
    """Whether what the host hands back is judged too, beside what the module returned."""

    def __init__(self, vae: Any, kind: VaeKind, latent_shape: Sequence[int]) -> None:
        """``latent_shape`` is [items, channels, height, width] or [items, channels, frames, height, width]."""
        self.vae, self.kind = vae, kind
        self.latent_shape = tuple(latent_shape)

    @property
    def items(self) -> int:
        """What can be done one by one: the batch."""
        return self.latent_shape[0]

    @property
    def frames(self) -> int:
        """Latent frames; 1 for images."""
        return self.latent_shape[2] if len(self.latent_shape) == 5 else 1

    @property
    def area(self) -> int:
        """Latent elements of one item, frames included."""
        return math.prod(self.latent_shape[2:])

    # ---- what the host does ----

    @abstractmethod
    def watch(self, private: Any, watched: WatchedModule, judge: Callable[[torch.Tensor], None]) -> None:
        """Has ``judge`` called with each batch chunk, in order and before anything can hide a bad value in it."""

    @abstractmethod
    def whole(self, private: Any, items: Sequence[int]) -> torch.Tensor:
        """Whole frames, in the host's batches."""

    @abstractmethod
    def own_tiles(self, private: Any, items: Sequence[int]) -> torch.Tensor:
        """The tiles of a VAE that tiles by itself."""

    @abstractmethod
    def tiled(self, private: Any, item: int, tile: Tile) -> torch.Tensor:
        """The blend of one item's tiles, without the VAE's last step, so that blends can be added up."""

    @abstractmethod
    def finished(self, blend: torch.Tensor) -> torch.Tensor:
        """The blend after the VAE's last step, in the layout of ``whole``."""

    # ---- around it ----

    @abstractmethod
    def piece(self, tile: Tile | None) -> tuple[int, ...]:
        """The shape of what the module is given at once: a tile, or one whole item."""

    @abstractmethod
    def corner(self) -> Job | None:
        """A small piece of a video to measure the time with; None for images, which need no forecast."""

    @abstractmethod
    def rescue(self, host: LadderHost) -> str | None:
        """Saves the input, if it cost a run to make, and names the file."""

    def reserved(self, dtype: torch.dtype, tile: Tile | None = None) -> int | None:
        """The host's formula on a tile or on one whole item."""
        return reserved_by_host(getattr(self.vae, self.formula, None), self.piece(tile), dtype)

    def peak(self, dtype: torch.dtype, tile: Tile | None = None) -> Peak:
        """The range of bytes that a tile or one whole item takes."""
        reserved = self.reserved(dtype, tile)
        if self.kind.streams:
            return Peak(reserved, None, None, "unknown: this VAE streams, the formula does not say what it needs")
        frames = min(tile.frames or self.frames, self.frames) if tile is not None else self.frames
        kind = self.kind
        return peak_in(self.rows, kind.name, dims=kind.dims, ratio=kind.ratio, frames=frames, reserved_bytes=reserved)
