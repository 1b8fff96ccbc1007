"""What sort of VAE it is, read from the attributes that comfy.sd.VAE (0.30.0) sets in its constructor."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch

from ...core.errors import LatentError, UnknownLayout, VaeWithoutWeights, WrongVae
from ...core.vae import Peak, decode_peak

#: Decoders that carry frames over from the chunk before (causal in time): cutting them in time gives blinking
#: (ComfyUI #7116), and their memory does not grow with the frames.
CAUSAL_IN_TIME = frozenset({"WanVAE", "AutoencoderKLCogVideoX", "CausalContinuousVideoTokenizer", "TAEHV"})


@dataclass(frozen=True)
class VaeKind:
    """The facts about a VAE that decide how it is decoded."""

    name: str
    """Class name of the module."""
    dims: int
    """2 for images, 3 for video."""
    ratio: int
    """Pixels per latent element along one side."""
    channels: int
    own_tiling: bool
    """It tiles by itself, by design: its tiling is never overridden (Wan2GP #2367)."""
    streams: bool
    """It writes frame by frame into the output, so the host's estimate says nothing about its peak."""
    causal: bool


def kind_of(vae: Any) -> VaeKind:
    """The VAE's kind.

    Raises:
        VaeWithoutWeights: the loader found no VAE in the file.
        WrongVae: it makes no images (audio, 3-D shapes).
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
        raise WrongVae(f"The vae input is a {name}, which makes no images. Use the decode node of its own kind.")
    return VaeKind(
        name=name,
        dims=dims,
        ratio=_spatial_ratio(vae),
        channels=int(vae.latent_channels),
        own_tiling=bool(getattr(vae, "handles_tiling", False)),
        streams=bool(getattr(module, "comfy_has_chunked_io", False)),
        causal=name in CAUSAL_IN_TIME,
    )


def _spatial_ratio(vae: Any) -> int:
    ratio = getattr(vae, "upscale_ratio", 8)
    if isinstance(ratio, (tuple, list)):
        ratio = ratio[-1]
    return int(ratio) if isinstance(ratio, (int, float)) and ratio >= 1 else 8


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


def frames_of(samples: torch.Tensor) -> int:
    """Latent frames; 1 for an image latent."""
    return int(samples.shape[2]) if samples.ndim == 5 else 1


def reserved_by_host(vae: Any, shape: Sequence[int], dtype: torch.dtype) -> int | None:
    """The host's formula on one item of this shape, None where it gives no number."""
    formula = getattr(vae, "memory_used_decode", None)
    if formula is None:
        return None
    try:
        return int(formula((1, *shape[1:]), dtype))
    except (RuntimeError, IndexError, TypeError, ValueError, OverflowError):
        return None  # Some VAEs refuse generic decoding there; the attempt will say why.


def peak_of(vae: Any, kind: VaeKind, shape: Sequence[int], dtype: torch.dtype) -> Peak:
    """The range of bytes that decoding one item of this shape takes."""
    reserved = reserved_by_host(vae, shape, dtype)
    if kind.streams:
        return Peak(reserved, None, None, "unknown: this VAE streams, the formula does not say what it needs")
    frames = int(shape[2]) if len(shape) == 5 else 1
    return decode_peak(kind.name, dims=kind.dims, ratio=kind.ratio, frames=frames, reserved_bytes=reserved)
