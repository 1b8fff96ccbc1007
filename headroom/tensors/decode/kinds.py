"""The VAE and the latent of a decode: do they fit together, and in which layout."""

from __future__ import annotations

from typing import Any

import torch

from ...core.errors import LatentError, UnknownLayout, WrongVae
from ..ladder.kinds import VaeKind, read_kind

_REFUSAL = "The vae input is a {name}, which makes no images. Use the decode node of its own kind."


def kind_of(vae: Any) -> VaeKind:
    """The VAE's kind.

    Raises:
        VaeWithoutWeights: the loader found no VAE in the file.
        WrongVae: it makes no images (audio, 3-D shapes).
    """
    return read_kind(vae, getattr(vae, "upscale_ratio", 8), _REFUSAL)


def fitted(samples: torch.Tensor, kind: VaeKind) -> tuple[torch.Tensor, list[str]]:
    """The latent in the layout that this VAE decodes, [B, C, H, W] or [B, C, T, H, W], and what was done to it.

    Raises:
        UnknownLayout: neither an image nor a video latent.
        WrongVae: another number of channels.
        LatentError: nothing in it.
    """
    shape = tuple(samples.shape)
    if samples.ndim not in (4, 5):
        raise UnknownLayout(
            f"The samples input has shape {list(shape)}; an image latent has 4 dimensions [B, C, H, W], a video latent "
            "5 [B, C, T, H, W]. Connect the latent of an image or video model."
        )
    if samples.numel() == 0:
        raise LatentError(f"The samples input is empty (shape {list(shape)}): there is nothing to decode.")
    if shape[1] != kind.channels:
        raise WrongVae(
            f"The samples input has {shape[1]} channels, this VAE ({kind.name}) takes {kind.channels}. "
            "Load the VAE that belongs to the model that made the latent."
        )
    if kind.dims == 2 and samples.ndim == 5:
        notice = f"Video latent with {shape[2]} frames into an image VAE: only the first frame is decoded"
        return samples[:, :, 0], [notice] if shape[2] > 1 else []
    if kind.dims == 3 and samples.ndim == 4:
        return samples.unsqueeze(2), ["Image latent into a video VAE: decoded as single frames"]
    return samples, []
