"""The system's memory without psutil, which a Python other than ComfyUI's may not have."""

from __future__ import annotations

import ctypes
import sys
from dataclasses import replace
from pathlib import Path

from ...core.cgroup import read_limits
from ...core.readings import Ram

KIB = 1024


def without_psutil(ram: Ram, root: Path = Path("/")) -> Ram:
    """The readings as they are where psutil gave them; else from the system itself, as far as that is simple."""
    if ram.machine_bytes is not None:
        return ram
    found = _windows() if sys.platform == "win32" else _linux(root)
    if found is None or found.machine_bytes is None:
        return ram
    reasons = {name: why for name, why in ram.reasons.items() if getattr(found, name, None) is None}
    limits = read_limits(root)
    if limits is None or limits.limit_bytes >= found.machine_bytes:
        return replace(found, oom_kills=ram.oom_kills, reasons=reasons)
    return replace(
        found,
        total_bytes=limits.limit_bytes,
        available_bytes=limits.available_bytes,
        limit_source=limits.source,
        oom_kills=ram.oom_kills,
        reasons=reasons,
    )


def _linux(root: Path) -> Ram | None:
    try:
        lines = (root / "proc/meminfo").read_text("ascii").splitlines()
    except (OSError, ValueError):
        return None
    sizes = {name: int(rest.split()[0]) * KIB for name, _, rest in (line.partition(":") for line in lines) if rest}
    total, swap, swap_free = sizes.get("MemTotal"), sizes.get("SwapTotal"), sizes.get("SwapFree")
    return Ram(
        total_bytes=total,
        machine_bytes=total,
        available_bytes=sizes.get("MemAvailable"),
        swap_total_bytes=swap,
        swap_used_bytes=None if swap is None or swap_free is None else swap - swap_free,
    )


class _MemoryStatus(ctypes.Structure):
    """MEMORYSTATUSEX of the Windows API."""

    _fields_ = (
        ("length", ctypes.c_uint32),
        ("load", ctypes.c_uint32),
        *((name, ctypes.c_uint64) for name in ("total", "free", "file_total", "file_free", "own", "own_free", "more")),
    )


def _windows() -> Ram | None:
    status = _MemoryStatus()
    status.length = ctypes.sizeof(status)
    kernel = getattr(ctypes, "windll", None)
    if kernel is None or not kernel.kernel32.GlobalMemoryStatusEx(ctypes.byref(status)):
        return None
    return Ram(total_bytes=status.total, machine_bytes=status.total, available_bytes=status.free)
