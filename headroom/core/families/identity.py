"""What a header says a file is: the result of ``identify``, and nothing that computes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Kind = Literal[
    "diffusion model",
    "checkpoint",
    "text encoder",
    "vae",
    "lora",
    "controlnet",
    "clip vision",
    "style model",
    "upscaler",
    "unknown",
]
Status = Literal["known", "broken", "unknown"]
Value = int | float | str | bool | None | tuple[int, ...]


@dataclass(frozen=True)
class Latent:
    """The shape of a latent, as the host's class of that name has it."""

    format: str
    """Class in comfy/latent_formats.py; empty for a VAE, whose numbers come from the VAE itself."""
    channels: int
    dims: int
    """1 for sound and point sets, 2 for images, 3 for video."""
    spatial: int
    """Pixels per latent element along one side."""
    temporal: float
    """Frames, or samples, per latent element."""


@dataclass(frozen=True)
class StackFound:
    """A numbered row of blocks in a file: ``blocks.0.`` to ``blocks.39.``."""

    stem: str
    """The names' beginning up to the number, prefix included: ``model.diffusion_model.blocks.``."""
    count: int
    """Blocks that are there, numbered from 0 without a gap."""
    role: str
    """``main``: what a block swap moves; ``vace``: the control blocks; ``side``: refiners, adapters and encoders that
    stay; ``repeat``: found by its numbers alone, in a file that is not known."""


@dataclass(frozen=True)
class Part:
    """One model in a file that holds several."""

    kind: str
    """A Kind, or ``other`` for what belongs to none."""
    prefix: str
    row: str
    name: str
    tensors: int
    size_bytes: int


@dataclass(frozen=True)
class Identity:
    """What a file is; None and empty mean not known, never zero."""

    kind: Kind
    status: Status
    """``broken``: keys of a family are there, but a part of it is missing; ``faults`` says which."""
    name: str
    """For people: ``Wan 2.1/2.2 14B text to video``."""
    row: str = ""
    """Id of the row of data that fits; for a diffusion model the host's class name, such as ``WAN21_T2V``."""
    architecture: str = ""
    """What several families share: ``wan``; known even where a part is missing."""
    family: str | None = None
    """The host's name: its class in supported_models, its TEModel, or its VAE's class."""
    style: str = "comfy"
    """Whose names the tensors have: ``comfy``, ``diffusers``, ``llama.cpp``, or a LoRA's trainer."""
    prefix: str = ""
    """In front of every name of the main model, as in ``model.diffusion_model.``."""
    stacks: tuple[StackFound, ...] = ()
    sizes: Mapping[str, Value] = field(default_factory=dict)
    """Lengths and switches read from shapes, by the host's names: ``dim``, ``in_channels``, ``rank``."""
    hidden_size: int | None = None
    latent: Latent | None = None
    memory_factor: float | None = None
    """The host's memory_usage_factor: MiB per 100 latent elements and byte of dtype."""
    memory_factor_fp16: float | None = None
    """The same where the model computes in fp16."""
    memory_formula: str = ""
    dtypes: tuple[str, ...] = ()
    """What the host lets the model compute in, in its order, with torch 2.7 or newer."""
    dtypes_note: str = ""
    fp16_overflow: str = ""
    """Who says that this model overflows in fp16; empty where nobody does."""
    undetermined: str = ""
    """What the header cannot tell, such as high from low noise; empty where the family is fully determined."""
    faults: tuple[str, ...] = ()
    """What is missing, one line each."""
    remarks: tuple[str, ...] = ()
    """What is odd but loads."""
    parts: tuple[Part, ...] = ()
    """Of a checkpoint: all parts; their bytes add up to size_bytes."""
    fits: tuple[str, ...] = ()
    """Of a LoRA or a ControlNet: the families that it can be for."""
    tensors: int = 0
    size_bytes: int = 0
    """All tensors of the file."""

    @property
    def determined(self) -> bool:
        """The header alone fixes the family, and nothing that matters stays open."""
        return self.status == "known" and not self.undetermined

    def stack(self, role: str) -> StackFound | None:
        """The first stack of a role."""
        return next((found for found in self.stacks if found.role == role), None)
