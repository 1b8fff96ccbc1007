"""The VAE and the images of an encode: do they fit together, and in which layout."""

from __future__ import annotations

from typing import Any

import torch

from ...core.errors import ImageError
from ..ladder.kinds import VaeKind, read_kind

_REFUSAL = "The vae input is a {name}, which takes no images. Use the encode node of its own kind."


def kind_of(vae: Any) -> VaeKind:
    """The VAE's kind.

    Raises:
        VaeWithoutWeights: the loader found no VAE in the file.
        WrongVae: it takes no images (audio, 3-D shapes).
    """
    return read_kind(vae, getattr(vae, "downscale_ratio", 8), _REFUSAL)


def fitted(vae: Any, kind: VaeKind, pixels: torch.Tensor) -> torch.Tensor:
    """The images as the host crops them for this VAE: sides to a multiple of its ratio, no more channels than it takes.

    Args:
        vae: the host's VAE object; only asked, not changed.
        kind: its kind.
        pixels: [B, H, W, C].

    Raises:
        ImageError: nothing would be left, or too few channels.
    """
    height, width = pixels.shape[1:3]
    cropped = vae.vae_encode_crop_pixels(pixels)
    if cropped.numel() == 0:
        raise ImageError(
            f"The pixels input is {width}×{height}: this VAE ({kind.name}) needs {kind.ratio} pixels a side at least."
        )
    wanted = getattr(vae, "output_channels", 3)
    if cropped.shape[-1] < wanted:
        raise ImageError(
            f"The pixels input has {pixels.shape[-1]} channels, this VAE ({kind.name}) takes {wanted}. "
            "Convert the images to RGB."
        )
    return cropped
