"""What a look at an IMAGE, MASK or AUDIO found, as plain data; ``image_report`` puts it into words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from .latent import Counts

Medium = Literal["image", "mask", "audio"]
OddKind = Literal["black", "constant", "black area", "mostly black", "one colour", "mostly silent", "silent", "range"]


@dataclass(frozen=True)
class Area:
    """A rectangle of an image, in pixels from its left and upper border."""

    x: int
    y: int
    width: int
    height: int


@dataclass(frozen=True)
class Span:
    """A stretch of a track, in seconds from its start."""

    start: float
    end: float


@dataclass(frozen=True)
class Bad:
    """One image, mask or track that holds NaN or Inf, and where, as far as that can be said in a few words."""

    item: int
    counts: Counts
    areas: Sequence[Area] = ()
    """Rectangles that are bad throughout: tiles. Empty where the whole item is bad."""
    spans: Sequence[Span] = ()


@dataclass(frozen=True)
class Odd:
    """One thing about one item that is finite and rarely meant."""

    item: int
    kind: OddKind
    values: Sequence[float] = ()
    """The colour, the constant value, or the lowest and the highest value."""
    areas: Sequence[Area] = ()
    spans: Sequence[Span] = ()
    share: float | None = None
    """How much of the item is exactly 0, from 0 to 1; None where that is not the point."""


@dataclass(frozen=True)
class MediaCheck:
    """The whole IMAGE, MASK or AUDIO."""

    medium: Medium
    shape: Sequence[int]
    """Images [B, H, W, C], masks [B, H, W], tracks [B, C, T]."""
    dtype: str
    device: str
    sample_rate: int | None = None
    """Of a track; None where its maker does not tell."""
    bad: Sequence[Bad] = ()
    odd: Sequence[Odd] = ()
    """Only looked for where nothing is bad."""

    @property
    def finite(self) -> bool:
        """Nothing is NaN or Inf."""
        return not self.bad

    @property
    def items(self) -> int:
        """Images, masks or tracks in the batch."""
        return self.shape[0]

    @property
    def bad_items(self) -> tuple[int, ...]:
        """Which of them hold NaN or Inf."""
        return tuple(bad.item for bad in self.bad)
