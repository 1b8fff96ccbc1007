"""The form of a row of ``activation_rows``: what lives at one moment of a pass, in widths of the model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Phase:
    """Live values per token at one moment, in widths of the model."""

    picture: float
    """For a token of the latent, or of a reference."""
    text: float = 0.0
    """For a token of the text."""
    feed_forward: float = 0.0
    """For a token of the latent, in widths of the feed-forward, where that is read from the file."""


def same(widths: float) -> Phase:
    """Text and picture in one sequence."""
    return Phase(widths, widths)


@dataclass(frozen=True)
class PeakRow:
    """One or more families whose blocks are alike."""

    families: tuple[str, ...]
    patch: tuple[int, int, int] | str
    """Latent elements per token in frames, height and width; or the fact of the file that has it."""
    low: tuple[Phase, ...]
    """The largest of them is the peak."""
    high: tuple[Phase, ...]
    what: str
    """What lives then."""
    text_tokens: int = 0
    """The usual number; 0 where the text is only looked at by cross-attention."""
    when: Mapping[str, Any] = field(default_factory=dict)
    """Facts of the file that it holds for."""
    head_width: int = 128
    per_token: int = 1
    """Latent elements of the level where the attention's scores are largest."""
    waste: float = 1.2
    """What the allocator's rounding and the kernels take beside live tensors, on top of ``high``."""

    def fits(self, family: str, sizes: Mapping[str, Any]) -> bool:
        """Whether a file is of it."""
        return family in self.families and all(sizes.get(key) == value for key, value in self.when.items())


FULL = (1, 1, 1)
TWO = (1, 2, 2)
