"""What a plan is asked for: the files, the run, the stated machine and the settings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..component import Component
from ..link import ASSUMED, Link
from ..needs import Models, Run
from .card import Card
from .choices import Variant
from .stages import COMFYUI, Setup


@dataclass(frozen=True)
class Ask:
    """What is asked for."""

    models: Models
    run: Run
    card: Card
    ram_bytes: int | None = None
    """The machine's; None where it is not said."""
    loader: str = COMFYUI
    """One of ``stages.LOADERS``."""
    link: Link = ASSUMED
    blocks: int | None = None
    prefetch: int = 0
    variants: Sequence[Variant] = ()
    """Quantisations that are there, the one asked for among them; from ``choices.variants_of``."""

    @property
    def setup(self) -> Setup:
        """The machine and the loader, for the stages."""
        return Setup(self.card.room_bytes, self.loader, self.link, self.prefetch, self.blocks, self.card.static)

    @property
    def frames(self) -> int:
        """The frames that are counted: 1 for a model of single pictures, however many were asked for."""
        latent = self.models.diffusion[0].identity.latent
        return 1 if latent is not None and latent.dims == 2 else self.run.frames

    @property
    def maps(self) -> bool:
        """ComfyUI's own loader maps .safetensors files; wrappers move blocks, which are copies."""
        return self.loader == COMFYUI and self.card.streams_by_page


def part_names(models: Models) -> list[tuple[str, Component]]:
    """Every file of a run with what it is used as."""
    found = [("model", one) for one in models.diffusion]
    found += [("text encoder", one) for one in models.encoders]
    found += [("VAE", models.vae)] if models.vae is not None else []
    return found + [("LoRA", one) for one in models.loras]
