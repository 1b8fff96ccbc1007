"""Looks at a LATENT and says which items, frames and streams hold NaN or Inf. Changes nothing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from ..core.latent import BadItem, LatentCheck, StreamCheck
from .finite import bad_indices, count, is_finite, scan
from .layouts import Layout, Stream, mask_parts
from .names import dtype_name

#: Magnitudes from which a finite latent is worth a notice. fp16 ends at 65504, the other dtypes at 3.4e38 or beyond;
#: values of about 1e38 turned into Inf and then into NaN on their way to the VAE (rocm_lab #4).
HUGE_FP16 = 6e4
HUGE = 1e30


def check(layout: Layout, latent: Mapping[str, Any]) -> LatentCheck:
    """One pass over a clean latent (plus one over its noise mask); counts and positions only where something is bad."""
    streams = tuple(_check_stream(stream) for stream in layout.streams)
    mask_is_bad = not all(is_finite(part) for part in mask_parts(latent))
    return LatentCheck(nested=layout.nested, streams=streams, mask_is_bad=mask_is_bad)


def _check_stream(stream: Stream) -> StreamCheck:
    t = stream.tensor
    limit = HUGE_FP16 if t.dtype is torch.float16 else HUGE
    # Half the limit: one huge value and a normal rest can sum to a little less than the value.
    seen = scan(t, huge=limit / 2)
    largest = None if seen.low is None or seen.high is None else max(abs(seen.low), abs(seen.high))
    return StreamCheck(
        index=stream.index,
        kind=stream.kind,
        shape=tuple(t.shape),
        dtype=dtype_name(t.dtype),
        device=str(t.device),
        bad=() if seen.finite else tuple(_bad_item(stream, item) for item in bad_indices(t)),
        largest=largest if seen.finite else None,
        huge=seen.finite and largest is not None and largest >= limit,
        repeated_channels=seen.finite and _channels_repeat(stream),
    )


def _bad_item(stream: Stream, item: int) -> BadItem:
    values = stream.tensor[item]
    frames = tuple(bad_indices(values, dim=1)) if stream.kind == "video" else ()
    return BadItem(item=item, counts=count(values), frames=frames)


def _channels_repeat(stream: Stream) -> bool:
    """Channels read A, B, A, B: wrong weights after a reload (ComfyUI #16437), seen as a bright green picture.

    Only looked for on the CPU, where ComfyUI keeps latents between nodes: on a GPU it would cost a second wait.
    """
    t = stream.tensor
    if stream.kind != "image" or t.ndim != 4 or t.shape[1] != 4 or t.numel() == 0 or t.device.type != "cpu":
        return False
    row = t[:1, :, :1]
    if not torch.equal(row[:, :2], row[:, 2:]):
        return False
    # An empty or constant latent repeats too, and is fine.
    return torch.equal(t[:, :2], t[:, 2:]) and not torch.equal(t[:, 0], t[:, 1])
