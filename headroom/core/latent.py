"""What a look at a LATENT found, as plain data: made by ``headroom/tensors``, put into words by ``latent_report``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

Kind = Literal["image", "video", "audio", "tokens"]


@dataclass(frozen=True)
class Counts:
    """What a tensor holds: how many elements, how many of them bad and in which way, and the range of the rest."""

    total: int
    nan: int
    pos_inf: int
    neg_inf: int
    low: float | None
    """Smallest finite value; None where no value is finite."""
    high: float | None

    @property
    def inf(self) -> int:
        """Elements that are +Inf or -Inf."""
        return self.pos_inf + self.neg_inf

    @property
    def bad(self) -> int:
        """Elements that are NaN or Inf."""
        return self.nan + self.inf

    @property
    def largest(self) -> float:
        """The largest finite magnitude; 0 where no value is finite."""
        return max(abs(self.low or 0.0), abs(self.high or 0.0))

    def as_json(self) -> dict[str, Any]:
        """The counts under the names of the report's facts."""
        return {
            "elements": self.total,
            "nan": self.nan,
            "pos_inf": self.pos_inf,
            "neg_inf": self.neg_inf,
            "finite_low": self.low,
            "finite_high": self.high,
        }


@dataclass(frozen=True)
class BadItem:
    """One batch item that holds NaN or Inf."""

    item: int
    counts: Counts
    frames: Sequence[int] = ()
    """The bad frames of a video; empty where there is no time axis."""


@dataclass(frozen=True)
class StreamCheck:
    """One tensor of a LATENT: the only one, or one part of a nested audio-video latent."""

    index: int
    kind: Kind
    shape: tuple[int, ...]
    """Batch first, channels second."""
    dtype: str
    device: str
    bad: Sequence[BadItem] = ()
    largest: float | None = None
    """Largest magnitude, known only where the scan had to look for it."""
    huge: bool = False
    """Finite, but so large that the next operation may overflow."""
    repeated_channels: bool = False
    """Channels 0 and 1 come again as 2 and 3."""

    @property
    def items(self) -> int:
        """Batch items."""
        return self.shape[0]

    @property
    def frames(self) -> int:
        """Latent frames; 1 for everything but video."""
        return self.shape[2] if self.kind == "video" else 1

    @property
    def bad_items(self) -> tuple[int, ...]:
        """Which batch items hold NaN or Inf."""
        return tuple(bad.item for bad in self.bad)


@dataclass(frozen=True)
class LatentCheck:
    """The whole LATENT: its streams, and its noise mask judged apart."""

    nested: bool
    streams: Sequence[StreamCheck]
    mask_is_bad: bool = False

    @property
    def finite(self) -> bool:
        """No stream holds NaN or Inf; the noise mask does not count."""
        return not any(stream.bad for stream in self.streams)

    @property
    def items(self) -> int:
        """Batch items: of the largest stream, since a stream of one may be shared by all."""
        return max((stream.items for stream in self.streams), default=0)

    @property
    def bad_items(self) -> tuple[int, ...]:
        """Batch items that are bad in any stream; all of them where a stream that all share is bad."""
        if any(stream.bad and stream.items < self.items for stream in self.streams):
            return tuple(range(self.items))
        return tuple(sorted({item for stream in self.streams for item in stream.bad_items}))

    @property
    def counts(self) -> Counts:
        """All bad items of all streams together; zeros where the latent is clean."""
        every = [bad.counts for stream in self.streams for bad in stream.bad]
        lows = [counts.low for counts in every if counts.low is not None]
        highs = [counts.high for counts in every if counts.high is not None]
        return Counts(
            total=sum(counts.total for counts in every),
            nan=sum(counts.nan for counts in every),
            pos_inf=sum(counts.pos_inf for counts in every),
            neg_inf=sum(counts.neg_inf for counts in every),
            low=min(lows, default=None),
            high=max(highs, default=None),
        )
