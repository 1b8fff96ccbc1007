"""Other ComfyUI processes on this machine: two on one card each think that all of it is theirs."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

KEEP_SECONDS = 60.0
"""A walk over all processes costs tens of milliseconds."""


class Processes:
    """Counts them now and then."""

    def __init__(self) -> None:
        self._counted_at = float("-inf")
        self._count: int | None = None

    def others(self, running: bool | None) -> int | None:
        """How many there are beside this one; what was counted last while a prompt runs. None where nobody may look."""
        if not running and time.monotonic() - self._counted_at >= KEEP_SECONDS:
            self._counted_at = time.monotonic()
            try:
                self._count = _count()
            except Exception:
                self._count = None
        return self._count


def _count() -> int:
    import psutil

    me = psutil.Process()
    family = {me.pid, *(one.pid for one in me.parents()), *(one.pid for one in me.children(recursive=True))}
    # On Windows a virtual environment's python.exe starts the real one with the same words: that is one ComfyUI.
    found = {one.pid: one.ppid() for one in _comfyuis(psutil) if one.pid not in family}
    return sum(1 for parent in found.values() if parent not in found)


def _comfyuis(psutil: Any) -> Iterator[Any]:
    for process in psutil.process_iter(["cmdline"]):
        words = process.info["cmdline"] or ()
        script = next((word for word in words[1:] if os.path.basename(word) == "main.py"), None)
        if script is None:
            continue
        try:
            folder = Path(process.cwd(), script).parent
        except psutil.Error:
            folder = Path(script).parent
        if (folder / "comfyui_version.py").is_file():
            yield process
