"""What sort of VAE it is, read from the attributes that comfy.sd.VAE (0.30.0) sets in its constructor."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from ...core.errors import VaeWithoutWeights, WrongVae

#: Modules that carry frames over from the chunk before (causal in time): cutting them in time gives blinking
#: (ComfyUI #7116), and the memory of most of them does not grow with the frames.
CAUSAL_IN_TIME = frozenset({"WanVAE", "AutoencoderKLCogVideoX", "CausalContinuousVideoTokenizer", "TAEHV"})


@dataclass(frozen=True)
class VaeKind:
    """The facts about a VAE that decide how it is used."""

    name: str
    """Class name of the module."""
    dims: int
    """2 for images, 3 for video."""
    ratio: int
    """Pixels per latent element along one side."""
    channels: int
    """Channels of its latents."""
    own_tiling: bool
    """It tiles by itself, by design: its tiling is never overridden (Wan2GP #2367)."""
    streams: bool
    """It works frame by frame, so the host's estimate says nothing about its peak."""
    causal: bool


def read_kind(vae: Any, ratio: Any, refusal: str) -> VaeKind:
    """The VAE's kind.

    Args:
        vae: the host's VAE object.
        ratio: its ``upscale_ratio`` or ``downscale_ratio``: a number, or one per dimension with time first.
        refusal: what a VAE for other things than images is told, with ``{name}`` for the class of its module.

    Raises:
        VaeWithoutWeights: the loader found no VAE in the file.
        WrongVae: it is not for images (audio, 3-D shapes).
    """
    module = getattr(vae, "first_stage_model", None)
    if module is None:
        raise VaeWithoutWeights(
            "The vae input holds no VAE weights: the checkpoint or file has none. Load one with Load VAE."
        )
    name = type(module).__name__
    dims = int(getattr(vae, "latent_dim", 2))
    is_audio = getattr(vae, "extra_1d_channel", None) is not None or getattr(vae, "output_channels", 3) == 2
    if dims not in (2, 3) or is_audio:
        raise WrongVae(refusal.format(name=name))
    return VaeKind(
        name=name,
        dims=dims,
        ratio=_along_one_side(ratio),
        channels=int(vae.latent_channels),
        own_tiling=bool(getattr(vae, "handles_tiling", False)),
        streams=bool(getattr(module, "comfy_has_chunked_io", False)),
        causal=name in CAUSAL_IN_TIME,
    )


def _along_one_side(ratio: Any) -> int:
    if isinstance(ratio, (tuple, list)):
        ratio = ratio[-1]
    return int(ratio) if isinstance(ratio, (int, float)) and ratio >= 1 else 8


def reserved_by_host(formula: Callable[..., Any] | None, shape: Sequence[int], dtype: torch.dtype) -> int | None:
    """The host's formula on one item of this shape, None where it gives no number."""
    if formula is None:
        return None
    try:
        return int(formula((1, *shape[1:]), dtype))
    except (RuntimeError, IndexError, TypeError, ValueError, OverflowError):
        return None  # Some VAEs refuse generic use there; the attempt will say why.
