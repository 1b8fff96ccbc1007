"""How a family is written as a row of data, and what follows from it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from .identity import Latent, Value
from .index import Header
from .reading import Fact, Signature, agrees


@dataclass(frozen=True)
class Memory:
    """The host's memory_usage_factor: ``base``, or ``base * sizes[per] / over``."""

    base: float
    per: str = ""
    over: float = 1.0
    fp16: float = 1.0
    """Times this where the model computes in fp16."""

    def value(self, sizes: Mapping[str, Value]) -> float | None:
        """The factor; None where the length it depends on is not known."""
        if not self.per:
            return self.base
        length = sizes.get(self.per)
        # In this order the last bit is the host's too.
        return (length / self.over) * self.base if isinstance(length, int) else None

    @property
    def formula(self) -> str:
        """The formula in words."""
        return f"{self.base:g} x {self.per} / {self.over:g}" if self.per else f"{self.base:g}"


@dataclass(frozen=True)
class Stack:
    """A numbered row of blocks that an architecture has."""

    stem: str
    role: str = "main"
    same: bool = True
    """Every block has the same tensors, so that one with fewer is damaged."""
    usual: tuple[int, ...] = ()
    """Numbers of blocks that published files have; empty where the length is free."""
    needed: bool = True
    """False where a whole file may have none."""


@dataclass(frozen=True)
class Family:
    """One class of the host's supported_models: what sets it apart within its architecture, and what it implies."""

    id: str
    name: str
    """``{size}`` stands for the architecture's word for its size."""
    latent: Latent
    memory: Memory
    dtypes: tuple[str, ...]
    when: Mapping[str, Any] = field(default_factory=dict)
    other_latents: tuple[tuple[str, Any, Latent], ...] = ()
    """(fact, what it must be, the latent format that the host then takes instead)."""
    dtypes_note: str = ""
    fp16_overflow: str = ""
    undetermined: str = ""

    def fits(self, sizes: Mapping[str, Value]) -> bool:
        """Whether facts of the architecture are of this family."""
        return all(agrees(expected, sizes.get(key)) for key, expected in self.when.items())

    def latent_for(self, sizes: Mapping[str, Value]) -> Latent:
        """The latent format that goes with the facts."""
        for key, expected, latent in self.other_latents:
            if agrees(expected, sizes.get(key)):
                return latent
        return self.latent


@dataclass(frozen=True)
class Architecture:
    """What several families share: how its files are recognised and what is read from them."""

    id: str
    name: str
    sign: Signature
    facts: Mapping[str, Fact]
    stacks: tuple[Stack, ...]
    families: tuple[Family, ...]
    source: str
    parts: tuple[str, ...] = ()
    """Beginnings of names that every whole file has."""
    traces: tuple[str, ...] = ()
    """Names of blocks, with ``#`` for every number between dots: they show a family in a file whose other half is
    missing. The first row of the table that has one of them counts."""
    remains: str = ""
    """What such a file is called where other architectures have the same blocks."""
    hidden: str = ""
    """The fact that is the width of the model."""
    size: tuple[str, Mapping[Any, str]] | None = None
    """The fact that tells the size, and its words: ("dim", {5120: "14B"})."""
    config: tuple[str, ...] = ()
    """Facts that the metadata ``config`` of a file may set, as the host lets it."""
    reader: Callable[[Header], Mapping[str, Value]] | None = None
    """Facts that need more than one look."""
    style: str = "comfy"

    @property
    def group(self) -> str:
        """The id without the style: diffusers-style rows belong to the same architecture."""
        return self.id.partition("/")[0]


def first_fit(rows: Sequence[Architecture], header: Header) -> Architecture | None:
    """The architecture of a header."""
    return next((row for row in rows if row.sign.fits(header)), None)
