"""Rows of data for models that are no diffusion models: a signature, a name, and a few lengths."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from .identity import Identity, Kind, Latent, StackFound, Value
from .index import Header
from .reading import Dim, Fact, Signature


@dataclass(frozen=True)
class LatentShape:
    """The latent of a VAE: its channels, fixed or read, and how much smaller it is."""

    channels: int | Dim
    dims: int
    spatial: int
    """Pixels per latent element along one side; 1 for sound."""
    temporal: float = 1
    """Frames, or samples of sound, per latent element."""
    times: int = 1
    """Channels of the latent per channel that was read."""

    def latent(self, header: Header) -> Latent | None:
        """The latent of a header; None where its channels cannot be read."""
        channels = self.channels.read(header) if isinstance(self.channels, Dim) else self.channels
        if not isinstance(channels, int):
            return None
        return Latent("", channels * self.times, self.dims, self.spatial, self.temporal)


@dataclass(frozen=True)
class Row:
    """One kind of file."""

    id: str
    name: str
    sign: Signature
    source: str
    family: str | None = None
    """The host's name for it; None where the host has none."""
    shape: LatentShape | None = None
    facts: Mapping[str, Fact] = field(default_factory=dict)
    stacks: tuple[str, ...] = ()
    hidden: str = ""
    fits: tuple[str, ...] = ()
    """Families that it is for, by the host's class names."""
    style: str = "comfy"
    undetermined: str = ""


def identify_row(kind: Kind, rows: Sequence[Row], header: Header) -> Identity | None:
    """The first row that fits a header."""
    row = next((row for row in rows if row.sign.fits(header)), None)
    if row is None:
        return None
    sizes: dict[str, Value] = {name: fact.read(header) for name, fact in row.facts.items()}
    stacks = ((stem, header.count(stem)) for stem in row.stacks)
    width = sizes.get(row.hidden)
    return Identity(
        kind=kind,
        status="known",
        name=row.name,
        row=row.id,
        family=row.family,
        style=row.style,
        prefix=header.prefix,
        stacks=tuple(StackFound(header.prefix + stem, count, "main") for stem, count in stacks if count),
        sizes=sizes,
        hidden_size=width if isinstance(width, int) else None,
        latent=row.shape.latent(header) if row.shape else None,
        undetermined=row.undetermined,
        fits=row.fits,
    )
