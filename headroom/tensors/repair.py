"""What can be done about a bad latent: drop the bad batch items, or replace the bad values. Never touches the input."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch

from .finite import bad_indices, count
from .layouts import Layout


def replace(layout: Layout) -> tuple[Any, int]:
    """New ``samples`` with the bad values replaced, and how many were.

    NaN becomes the mean of the finite values of its batch item's channel, +Inf and -Inf the item's largest finite
    magnitude with their sign; 0 where the channel or the item has no finite value. dtype, layout and type stay.
    """
    replaced = [replace_values(stream.tensor) for stream in layout.streams]
    return layout.rebuilt([tensor for tensor, _ in replaced]), sum(changed for _, changed in replaced)


def replace_values(t: torch.Tensor) -> tuple[torch.Tensor, int]:
    """A clone of a tensor [B, C, ...] without NaN and Inf, and how many values were replaced."""
    out = t.clone()
    changed = 0
    for item in bad_indices(t):
        counts = count(t[item])
        changed += counts.bad
        for channel in bad_indices(t[item]):
            values = out[item, channel]
            wide = values if values.dtype in {torch.float32, torch.float64} else values.float()
            filled = torch.nan_to_num(wide, _finite_mean(wide), counts.largest, -counts.largest)
            values.copy_(filled)
    return out, changed


def _finite_mean(values: torch.Tensor) -> float:
    """Mean of the finite values, 0 where there is none; ``values`` are fp32 or fp64."""
    finite = torch.isfinite(values)
    number = int(finite.sum())
    if number == 0:
        return 0.0
    # The sum of values near 3e38 would be Inf: they are made smaller first, by a power of two, which is exact.
    scale = 2.0 ** number.bit_length()
    mean = (values.masked_fill(~finite, 0) / scale).sum().item() * (scale / number)
    limit = torch.finfo(values.dtype).max
    return min(max(mean, -limit), limit)


def drop(latent: Mapping[str, Any], layout: Layout, keep: Sequence[int]) -> dict[str, Any]:
    """The LATENT with only the batch items ``keep``, in every stream; frames are never dropped.

    ``noise_mask`` and ``batch_index`` are cut along where they are given per item; a mask or a stream that all items
    share stays.
    """
    items = max(stream.tensor.shape[0] for stream in layout.streams)
    tensors = [_kept(stream.tensor, keep, items) for stream in layout.streams]
    out = {**latent, "samples": layout.rebuilt(tensors)}
    if "noise_mask" in latent:
        out["noise_mask"] = _kept_mask(latent["noise_mask"], layout, keep)
    index = latent.get("batch_index")
    if isinstance(index, Sequence) and len(index) == items:
        out["batch_index"] = [index[item] for item in keep]
    return out


def _kept(t: torch.Tensor, keep: Sequence[int], items: int) -> torch.Tensor:
    return t[list(keep)] if t.shape[0] == items else t


def _kept_mask(mask: Any, layout: Layout, keep: Sequence[int]) -> Any:
    if isinstance(mask, torch.Tensor):
        return _kept_mask_part(mask, layout.streams[0].tensor.ndim, keep)
    if not getattr(mask, "is_nested", False):
        return mask
    parts = list(mask.unbind())
    for index, stream in enumerate(layout.streams[: len(parts)]):
        parts[index] = _kept_mask_part(parts[index], stream.tensor.ndim, keep)
    return type(mask)(parts)


def _kept_mask_part(mask: torch.Tensor, latent_ndim: int, keep: Sequence[int]) -> torch.Tensor:
    # As comfy.utils.reshape_mask (0.30.0) reads it: for a video a mask below 5-D has its frames first and is shared;
    # fewer masks than items are repeated in turn.
    per_item = mask.ndim >= (5 if latent_ndim == 5 else 3)
    if not per_item or mask.shape[0] <= 1:
        return mask
    return mask[[item % mask.shape[0] for item in keep]]
