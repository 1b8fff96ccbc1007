"""Out-of-memory messages: which texts mean it, and what figures they carry.

Wider than the host's own test (comfy/model_management.py 0.30.0, is_oom), which knows torch.OutOfMemoryError and CUDA's
AcceleratorError only. The other texts are real: "MPS backend out of memory" arrives as a RuntimeError (ComfyUI #13976),
cuDNN and cuBLAS fail with ALLOC_FAILED, the CPU allocator with "can't allocate memory", DirectML and Level Zero with
words of their own.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from .units import GIB, KIB, MIB

_OOM_TEXTS = (
    "out of memory",
    "alloc_failed",
    "defaultcpuallocator",
    "can't allocate memory",
    "cannot allocate memory",
    "allocation on device",
    "not enough memory",
    "not enough gpu video memory",
    "out_of_device_memory",
    "out_of_host_memory",
    "invalid buffer size",
)
_UNITS = {"GiB": GIB, "GB": GIB, "MiB": MIB, "MB": MIB, "KiB": KIB, "KB": KIB, "bytes": 1}
_SIZE = r"(\d[\d.]*)\s*(GiB|GB|MiB|MB|KiB|KB|bytes)"
_ASKED = (
    re.compile(r"[Tt]ried to allocate " + _SIZE),
    re.compile(r"you tried to allocate " + _SIZE),
    re.compile(r"Invalid buffer size: " + _SIZE),
    # The allocator behind --cuda-malloc.
    re.compile(r"Requested\s*: " + _SIZE),
    # numpy, and DirectML.
    re.compile(r"[Uu]nable to allocate " + _SIZE),
    re.compile(r"allocate tensor with " + _SIZE),
)
_FREE = (
    re.compile(r"of which " + _SIZE + r" is free"),
    re.compile(_SIZE + r" free"),
    re.compile(r"Free \(according to CUDA\)\s*: " + _SIZE),
)


@dataclass(frozen=True)
class OomFigures:
    """What an out-of-memory message says; None where it does not."""

    asked_bytes: int | None = None
    free_bytes: int | None = None


def is_oom_text(text: str) -> bool:
    """Whether an error's text is one of the known out-of-memory messages of any backend."""
    lowered = text.lower()
    return any(known in lowered for known in _OOM_TEXTS)


def figures(text: str) -> OomFigures:
    """The sizes in an out-of-memory message (torch's CUDA, HIP, MPS and CPU allocators)."""
    return OomFigures(_first(_ASKED, text), _first(_FREE, text))


def _first(patterns: tuple[re.Pattern[str], ...], text: str) -> int | None:
    for pattern in patterns:
        found = pattern.search(text)
        if found:
            return int(float(found.group(1).rstrip(".")) * _UNITS[found.group(2)])
    return None
