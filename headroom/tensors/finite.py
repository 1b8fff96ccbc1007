"""Is a tensor free of NaN and Inf? A scan that costs one pass over memory, and exact counts once it is not.

A good tensor costs one ``sum`` and one wait for the device. Any NaN or Inf makes the sum non-finite, so nothing is
missed; a sum that overflows by itself only sends the tensor on to an exact look at its extremes. No function here
makes a temporary of the input's size.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import torch

from ..core.latent import Counts

#: Elements looked at in one go where a mask or a wider copy is needed: 4 Mi elements are 16 MiB in fp32.
CHUNK = 2**22
#: Packed formats without any code for NaN or Inf.
_ALWAYS_FINITE = frozenset({"float4_e2m1fn_x2"})


@dataclass(frozen=True)
class Scan:
    """The verdict, and the extremes where the scan had to look for them (None on the cheap path)."""

    finite: bool
    low: float | None = None
    high: float | None = None


def is_finite(t: torch.Tensor) -> bool:
    """True when no element is NaN or Inf, in any shape, dtype and device; empty and integer tensors are finite."""
    return scan(t).finite


def scan(t: torch.Tensor, huge: float = math.inf) -> Scan:
    """``is_finite`` that also looks at the extremes where the sum alone reaches the magnitude ``huge``.

    So a value of that size is noticed without a second pass over a normal tensor, unless others cancel it out.
    """
    if _cannot_be_bad(t):
        return Scan(finite=True)
    t = _real(t)
    if _has_no_arithmetic(t):
        return Scan(finite=all(is_finite(chunk.float()) for chunk in chunks(t)))
    # One pass and one wait. NaN fails every comparison.
    if abs(t.sum().item()) < huge:
        return Scan(finite=True)
    # The sum overflows by itself among large values: in fp16 already for a bright 512x512 image.
    low, high = _extremes(t)
    return Scan(math.isfinite(low) and math.isfinite(high), low, high)


def bad_indices(t: torch.Tensor, dim: int = 0) -> list[int]:
    """Positions along ``dim`` (batch items, frames) that hold at least one NaN or Inf, in ascending order.

    Args:
        t: at least one dimension; the others may be empty.

    Raises:
        IndexError: ``dim`` is none of the tensor's dimensions.
    """
    length = t.shape[dim]
    if _cannot_be_bad(t):
        return []
    if t.is_complex() or _has_no_arithmetic(t):
        return [index for index in range(length) if not is_finite(t.select(dim, index))]
    rows = t.detach().movedim(dim, 0)
    if rows.ndim == 1:
        rows = rows.unsqueeze(-1)
    others = tuple(range(1, rows.ndim))
    # Extremes are exact and, unlike isfinite(t).all(), need no mask of the tensor's size.
    good = torch.isfinite(rows.amin(others)) & torch.isfinite(rows.amax(others))
    return [index for index, fine in enumerate(good.tolist()) if not fine]


def count(t: torch.Tensor) -> Counts:
    """Exact counts and the finite range. Several passes in chunks: for a tensor that is known to be bad."""
    t = _real(t)
    nan = pos_inf = neg_inf = 0
    low, high = math.inf, -math.inf
    for chunk in () if _is_packed(t) else chunks(t):
        values = chunk if chunk.is_floating_point() and not _has_no_arithmetic(chunk) else chunk.float()
        finite = torch.isfinite(values)
        nan += int(torch.isnan(values).sum())
        pos_inf += int(torch.isposinf(values).sum())
        neg_inf += int(torch.isneginf(values).sum())
        low = min(low, values.masked_fill(~finite, math.inf).amin().item())
        high = max(high, values.masked_fill(~finite, -math.inf).amax().item())
    some = low <= high
    # Adding zero turns -0.0 into 0.0.
    return Counts(t.numel(), nan, pos_inf, neg_inf, low + 0.0 if some else None, high + 0.0 if some else None)


def chunks(t: torch.Tensor, limit: int = CHUNK) -> Iterator[torch.Tensor]:
    """Views that cover ``t`` once, each of at most ``limit`` elements; works on views that cannot be flattened."""
    if t.numel() == 0:
        return
    if t.numel() <= limit:
        yield t
        return
    longest = max(range(t.ndim), key=lambda d: t.shape[d])
    for part in t.chunk(math.ceil(t.numel() / limit), longest):
        yield from chunks(part, limit)


def _cannot_be_bad(t: torch.Tensor) -> bool:
    return t.numel() == 0 or _is_packed(t) or not (t.is_floating_point() or t.is_complex())


def _is_packed(t: torch.Tensor) -> bool:
    return str(t.dtype).removeprefix("torch.") in _ALWAYS_FINITE


def _real(t: torch.Tensor) -> torch.Tensor:
    """``t`` without autograd; a complex tensor as its real and imaginary parts."""
    t = t.detach()
    return torch.view_as_real(t.resolve_conj()) if t.is_complex() else t


def _has_no_arithmetic(t: torch.Tensor) -> bool:
    """fp8: torch has neither ``sum`` nor ``amin`` for it, only conversion."""
    return t.is_floating_point() and t.element_size() == 1


def _extremes(t: torch.Tensor) -> tuple[float, float]:
    """Smallest and largest element of a tensor with at least one; NaN where there is any."""
    # A dense tensor that was only permuted (movedim, channels_last) is contiguous in its own order of strides.
    order = sorted(range(t.ndim), key=lambda d: t.stride(d), reverse=True)
    dense = t.permute(order)
    if dense.is_contiguous() and t.device.type in {"cpu", "cuda"}:
        low, high = torch.aminmax(dense)
        return low.item(), high.item()
    # On a sliced view aminmax is 10 times slower than the pair, and other devices may lack it.
    return t.amin().item(), t.amax().item()
