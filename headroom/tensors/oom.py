"""Whether an exception means out-of-memory, on every backend that torch has."""

from __future__ import annotations

import torch

from ..core.oom import is_oom_text

_OOM_ERROR_CODE = 2
"""cudaErrorMemoryAllocation, hipErrorOutOfMemory."""


def is_out_of_memory(error: BaseException) -> bool:
    """True for an allocation failure; False for everything else, a dead CUDA context included.

    An AcceleratorError is one only with code 2 or its own "out of memory" text: after any other the context cannot be
    used, and trying again would hide the fault.
    """
    if isinstance(error, (torch.OutOfMemoryError, MemoryError)):
        return True
    accelerator_error = getattr(torch, "AcceleratorError", None)
    if accelerator_error is not None and isinstance(error, accelerator_error):
        code = getattr(error, "error_code", None)
        return code == _OOM_ERROR_CODE or "out of memory" in str(error).lower()
    return isinstance(error, RuntimeError) and is_oom_text(str(error))
