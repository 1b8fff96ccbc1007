"""Masks for inpainting, by the host's own nodes: what they do to the pixels and to the latent is done by their code."""

from __future__ import annotations

import importlib
from typing import Any

import torch


class _VaeThatKeepsPixels:
    """A VAE whose encode hands the pixels back; for everything else it is the one it was made from."""

    def __init__(self, vae: Any) -> None:
        self._vae = vae

    def __getattr__(self, name: str) -> Any:
        return getattr(self._vae, name)

    def encode(self, pixels: torch.Tensor, *_args: Any, **_kwargs: Any) -> torch.Tensor:
        """The pixels as they would be encoded."""
        return pixels


def greyed_out(
    vae: Any, pixels: torch.Tensor, mask: torch.Tensor, grow_mask_by: int
) -> tuple[torch.Tensor, torch.Tensor]:
    """What VAEEncodeForInpaint encodes (grey under the mask, cropped) and the noise mask that it gives (grown).

    Args:
        vae: the VAE that will encode; its ratio decides the crop.
        pixels: [B, H, W, C]; stay as they are.
        mask: [H, W] or [B, H, W].
        grow_mask_by: pixels.
    """
    (latent,) = _stock("VAEEncodeForInpaint").encode(_VaeThatKeepsPixels(vae), pixels, mask, grow_mask_by)
    return latent["samples"], latent["noise_mask"]


def with_noise_mask(latent: dict[str, Any], mask: torch.Tensor) -> dict[str, Any]:
    """The latent with a noise mask, as SetLatentNoiseMask gives it."""
    (masked,) = _stock("SetLatentNoiseMask").set_mask(latent, mask)
    return masked


def _stock(name: str) -> Any:
    """One of the host's nodes. Its module is called ``nodes`` like a folder of this pack, hence not by ``import``."""
    return getattr(importlib.import_module("nodes"), name)()
