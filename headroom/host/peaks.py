"""The most that torch has had allocated on its current device, by its own counter.

The counter is the process's and not ours. It is set back only when a prompt begins: a node that measures by it sets it
back itself and reads it before it ends, so that nobody's measurement is cut. Within a prompt a node's peak is known
where the counter has risen. The pages of dynamic VRAM are not torch's and not in it.
"""

from __future__ import annotations

import sys
from typing import Any


class Peaks:
    """Reads the counter node by node; for the thread that runs the prompt."""

    def __init__(self) -> None:
        self._last: int | None = None

    def restart(self) -> None:
        """A prompt begins."""
        self._last = None
        backend = _backend()
        if backend is not None:
            backend.reset_peak_memory_stats()
            self._last = _peak(backend)

    def read(self) -> tuple[int | None, int | None]:
        """The counter now, and the peak of what ran since the last call: None where an earlier one was higher."""
        backend = _backend()
        if backend is None:
            return None, None
        peak, before = _peak(backend), self._last
        self._last = peak
        # Lower than before: a node has set it back, and what it shows since is that node's.
        return peak, None if peak == before else peak


def capacity() -> int | None:
    """All memory of torch's current device; None where no GPU is open."""
    backend = _backend()
    if backend is None:
        return None
    return int(backend.get_device_properties(backend.current_device()).total_memory)


def _backend() -> Any:
    """torch's module of a GPU that is open; looking at another one could open it."""
    torch = sys.modules.get("torch")
    for name in ("cuda", "xpu"):
        backend = getattr(torch, name, None)
        if backend is not None and getattr(backend, "is_initialized", bool)():
            return backend
    return None


def _peak(backend: Any) -> int:
    nested = getattr(backend, "memory_stats_as_nested_dict", None)
    if nested is None:
        return int(backend.max_memory_allocated())
    # What max_memory_allocated takes it from, after it has sorted some hundred figures.
    return int(nested().get("allocated_bytes", {}).get("all", {}).get("peak", 0))
