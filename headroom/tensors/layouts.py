"""What a LATENT is made of: one tensor of a known layout, or several in a nested audio-video latent.

ComfyUI's layouts (0.30.0): images [B, C, H, W] (audio too, where the dict says so: ACE-Step), video [B, C, T, H, W],
audio and 3-D shapes [B, C, L]. A nested latent holds a video first and its audio second; of it only ``is_nested``,
``unbind()`` and building the same type from a list are used, since it has neither ``clone`` nor ``dim``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from ..core.errors import LatentError, UnknownLayout
from ..core.latent import Kind

_KNOWN = (
    "[batch, channels, height, width] for images, [batch, channels, frames, height, width] for video and "
    "[batch, channels, length] for audio"
)


@dataclass(frozen=True)
class Stream:
    """One tensor of a LATENT, at least 3-D, batch first."""

    index: int
    kind: Kind
    tensor: torch.Tensor


@dataclass(frozen=True)
class Layout:
    """A LATENT's ``samples`` and the tensors in it."""

    samples: Any
    nested: bool
    streams: Sequence[Stream]

    def rebuilt(self, tensors: Sequence[torch.Tensor]) -> Any:
        """``samples`` of the same type around other tensors, one per stream."""
        return type(self.samples)(list(tensors)) if self.nested else tensors[0]


def read(latent: Any) -> Layout:
    """The layout of a LATENT dict.

    Raises:
        LatentError: it is no dict, has no ``samples``, or those are no tensor.
        UnknownLayout: the number of dimensions is none that ComfyUI uses.
    """
    samples = _samples_of(latent)
    if not getattr(samples, "is_nested", False):
        return Layout(samples, False, (Stream(0, _kind(samples, latent.get("type")), samples),))
    # torch's own nested tensors cannot be rebuilt from a list and never occur in ComfyUI.
    if isinstance(samples, torch.Tensor):
        raise UnknownLayout("`samples` is a torch.nested tensor, which ComfyUI does not use. Pad it to a plain tensor.")
    parts = tuple(samples.unbind())
    if not parts or not all(isinstance(part, torch.Tensor) for part in parts):
        raise LatentError("`samples` is a nested latent without tensors in it. Update the node that made it.")
    # LTX-2 and MiniMax H3: video, then audio as [B, C, L], [B, C, L, F] or [B, C, 2, L]. Others (TripoSplat) are named
    # by their index alone.
    with_video = parts[0].ndim == 5
    streams = []
    for index, part in enumerate(parts):
        kind = _kind(part, "part", f"Stream {index} of `samples`")
        streams.append(Stream(index, "audio" if with_video and part.ndim < 5 else kind, part))
    return Layout(samples, True, tuple(streams))


def mask_parts(latent: Mapping[str, Any]) -> tuple[torch.Tensor, ...]:
    """The tensors of the latent's ``noise_mask``: none, one, or one per stream of a nested latent."""
    mask: Any = latent.get("noise_mask")
    if getattr(mask, "is_nested", False) and not isinstance(mask, torch.Tensor):
        return tuple(part for part in mask.unbind() if isinstance(part, torch.Tensor))
    return (mask,) if isinstance(mask, torch.Tensor) else ()


def _samples_of(latent: Any) -> Any:
    if not isinstance(latent, Mapping):
        raise LatentError(f"`samples` is a {type(latent).__name__}, not a LATENT. Connect a LATENT output to it.")
    if "samples" not in latent:
        keys = ", ".join(map(str, latent)) or "none"
        raise LatentError(f'The LATENT has no "samples" (its keys: {keys}). Update the node that made it.')
    samples = latent["samples"]
    if isinstance(samples, torch.Tensor) or getattr(samples, "is_nested", False):
        return samples
    raise LatentError(
        f'"samples" in the LATENT is a {type(samples).__name__}, not a tensor. Update the node that made it.'
    )


def _kind(t: torch.Tensor, said: Any, what: str = "The latent") -> Kind:
    if t.ndim == 5:
        # One frame is an image: Qwen-Image latents are [1, 16, 1, H, W] (ComfyUI #9218).
        return "image" if t.shape[2] == 1 else "video"
    if t.ndim == 4:
        return "audio" if said == "audio" else "image"
    if t.ndim == 3:
        return "audio" if said in {None, "audio"} else "tokens"
    raise UnknownLayout(
        f"{what} has the shape {list(t.shape)}, {t.ndim}-D; ComfyUI uses {_KNOWN}. Connect the output that goes into a "
        "VAE decode."
    )
