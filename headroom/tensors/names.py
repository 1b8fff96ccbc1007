"""The names that users know for torch's dtypes."""

from __future__ import annotations

import torch

DTYPE_NAMES = {torch.float16: "fp16", torch.bfloat16: "bf16", torch.float32: "fp32", torch.float64: "fp64"}


def dtype_name(dtype: torch.dtype) -> str:
    """fp16, bf16, fp32, fp64, else torch's own name (``float8_e4m3fn``)."""
    return DTYPE_NAMES.get(dtype, str(dtype).removeprefix("torch."))
