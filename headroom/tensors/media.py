"""What an IMAGE, MASK or AUDIO is made of (ComfyUI 0.30.0): one tensor, with the batch in front.

Images are [B, H, W, C], masks [B, H, W] or [H, W], audio a mapping with ``waveform`` [B, C, T] and ``sample_rate``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch

from ..core.errors import ImageError
from ..core.image import Medium

_CONNECT = "Connect an IMAGE, MASK or AUDIO output to it."


@dataclass(frozen=True)
class Media:
    """The object that came in, and the tensor in it."""

    given: Any
    medium: Medium
    tensor: torch.Tensor
    """Batch first; a view of the given one."""
    sample_rate: int | None = None

    def rebuilt(self, tensor: torch.Tensor) -> Any:
        """The same kind of object around another tensor of the same shape."""
        if self.medium == "audio":
            return {**self.given, "waveform": tensor.reshape(self.given["waveform"].shape)}
        return tensor.reshape(self.given.shape)


def read(given: Any) -> Media:
    """The layout of an IMAGE, MASK or AUDIO.

    Raises:
        ImageError: it is none of them.
    """
    if isinstance(given, Mapping):
        return _audio(given)
    if not isinstance(given, torch.Tensor):
        raise ImageError(f"The input is a {type(given).__name__}, not an image, a mask or audio. {_CONNECT}")
    if given.ndim == 4:
        return Media(given, "image", given)
    if given.ndim in {2, 3}:
        return Media(given, "mask", given if given.ndim == 3 else given.unsqueeze(0))
    raise ImageError(
        f"The input has the shape {list(given.shape)}, {given.ndim}-D; images are [batch, height, width, channels] and "
        f"masks [batch, height, width]. {_CONNECT}"
    )


def _audio(given: Mapping[str, Any]) -> Media:
    waveform: Any = given.get("waveform")
    if not isinstance(waveform, torch.Tensor):
        keys = ", ".join(map(str, given)) or "none"
        kind = "a LATENT: use Latent Guard for it" if "samples" in given else f"no audio (its keys: {keys}). {_CONNECT}"
        raise ImageError(f"The input is {kind}")
    if waveform.ndim not in {2, 3}:
        raise ImageError(
            f"The waveform has the shape {list(waveform.shape)}, {waveform.ndim}-D; audio is [batch, channels, "
            "samples]. Update the node that made it."
        )
    rate: Any = given.get("sample_rate")
    known = isinstance(rate, int | float) and not isinstance(rate, bool) and rate > 0
    tensor = waveform if waveform.ndim == 3 else waveform.unsqueeze(0)
    return Media(given, "audio", tensor, int(rate) if known else None)
