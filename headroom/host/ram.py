"""The system's memory: psutil's figures under the limits of a container, one failing field at a time."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from ..core.cgroup import Limits, read_limits
from ..core.readings import Ram

T = TypeVar("T")

UNLIMITED_SECONDS = 10.0
"""Between two looks for a limit where there was none; a walk through the control groups takes a millisecond."""
LEAST_SECONDS = 0.5
"""Between two looks at the CPU's times: over less the load is noise."""


def read_ram() -> Ram:
    """RAM, swap and CPU now; what cannot be read is None with a reason."""
    fields = _Fields()
    limits = fields.get("limit_source", _limits.read)
    memory = fields.get("machine_bytes", _psutil("virtual_memory"))
    swap = fields.get("swap_total_bytes", _psutil("swap_memory"))
    for missing, name in (("available_bytes", "machine_bytes"), ("swap_used_bytes", "swap_total_bytes")):
        if name in fields.reasons:
            fields.reasons[missing] = fields.reasons[name]
    total = None if memory is None else int(memory.total)
    return Ram(
        total_bytes=_smaller(total, limits and limits.limit_bytes),
        machine_bytes=total,
        available_bytes=_smaller(None if memory is None else int(memory.available), limits and limits.available_bytes),
        own_bytes=fields.get("own_bytes", _own),
        pinned_bytes=fields.get("pinned_bytes", _pinned),
        file_cache_bytes=_cache(memory, limits),
        limit_source=_source(total, limits),
        swap_total_bytes=_smaller(None if swap is None else int(swap.total), limits and limits.swap_limit_bytes),
        swap_used_bytes=_swap_used(swap, limits),
        oom_kills=oom_kills(),
        cpu_percent=fields.get("cpu_percent", _load.read),
        reasons=fields.reasons,
    )


def oom_kills(root: Path = Path("/")) -> int | None:
    """How often the kernel has killed a process for memory since it was started; None where it does not count."""
    try:
        lines = (root / "proc" / "vmstat").read_text("ascii").splitlines()
    except (OSError, ValueError):
        return None
    counts = [line.partition(" ")[2] for line in lines if line.startswith("oom_kill ")]
    return int(counts[0]) if counts and counts[0].isdigit() else None


class _Fields:
    def __init__(self) -> None:
        self.reasons: dict[str, str] = {}

    def get(self, name: str, read: Callable[[], T]) -> T | None:
        """psutil raises much: RuntimeError host_statistics64 on macOS, Windows without performance counters."""
        try:
            return read()
        except Exception as error:
            self.reasons[name] = f"{type(error).__name__}: {error}".splitlines()[0]
            return None


class _Limits:
    """The container's limits; where there are none, it looks for them only now and then."""

    def __init__(self) -> None:
        self._free_since: float | None = None

    def read(self) -> Limits | None:
        now = time.monotonic()
        if self._free_since is not None and now - self._free_since < UNLIMITED_SECONDS:
            return None
        found = read_limits()
        self._free_since = now if found is None else None
        return found


_limits = _Limits()


class _Load:
    """The CPU's load since the look before; psutil's own keeps the times for all who ask, other packs included."""

    def __init__(self) -> None:
        self._at, self._times, self._percent = 0.0, None, None

    def read(self) -> float | None:
        """None at the first look."""
        now = time.monotonic()
        if self._times is not None and now - self._at < LEAST_SECONDS:
            return self._percent
        times = _psutil("cpu_times")()
        if self._times is not None:
            total = sum(times[:8]) - sum(self._times[:8])
            idle = _idle(times) - _idle(self._times)
            self._percent = round(100 * min(1.0, max(0.0, 1 - idle / total)), 1) if total > 0 else None
        self._at, self._times = now, times
        return self._percent


_load = _Load()


def _idle(times: Any) -> float:
    return times.idle + getattr(times, "iowait", 0.0)


def _psutil(name: str) -> Callable[[], Any]:
    def read() -> Any:
        import psutil

        return getattr(psutil, name)()

    return read


def _own() -> int:
    import psutil

    return int(psutil.Process(os.getpid()).memory_info().rss)


def private_bytes() -> int | None:
    """RAM of this process that is not a mapped file's: those pages the system counts as available too.

    None where the system does not tell them apart.
    """
    import psutil

    try:
        memory = psutil.Process(os.getpid()).memory_info()
    except psutil.Error:
        return None
    shared = getattr(memory, "shared", None)
    return None if shared is None else max(0, int(memory.rss - shared))


def _pinned() -> int | None:
    """RAM that ComfyUI has pinned for its models; None without ComfyUI and on hosts that do not count it."""
    found = getattr(sys.modules.get("comfy.model_management"), "TOTAL_PINNED_MEMORY", None)
    return None if found is None else int(found)


def _smaller(size: int | None, limit: int | None) -> int | None:
    return limit if size is None else size if limit is None else min(size, limit)


def _source(total: int | None, limits: Limits | None) -> str | None:
    """A limit above the machine's RAM is none."""
    return None if limits is None or (total is not None and limits.limit_bytes >= total) else limits.source


def _cache(memory: Any, limits: Limits | None) -> int | None:
    if limits is not None and limits.file_cache_bytes is not None:
        return limits.file_cache_bytes
    found = getattr(memory, "cached", None)
    return None if found is None else int(found)


def _swap_used(swap: Any, limits: Limits | None) -> int | None:
    if limits is not None and limits.swap_used_bytes is not None:
        return limits.swap_used_bytes
    return None if swap is None else int(swap.used)
