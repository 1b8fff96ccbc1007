"""Notices that ComfyUI was killed in the middle of a prompt: a small journal that only the prompt's end removes.

Between prompts there is no file, no thread and nothing to do.
"""

from __future__ import annotations

import logging
import os
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from .own_memory import resident_bytes
from .prompt_hooks import guarded, listen

if TYPE_CHECKING:
    from ..core.readings import LastRun
    from .journal import JournalFile

MEMORY_SECONDS = 0.25


class RunMarker:
    """The journal of this process's prompts, and what the process before left."""

    name = "headroom-runmarker"

    def __init__(self, folder: Callable[[], Path], port: Callable[[], int]) -> None:
        self._folder, self._port = folder, port
        self._lock = threading.Lock()
        self._file: JournalFile | None = None
        self._last: LastRun | None = None
        self._looked = False
        self._memory: tuple[int | None, int | None] = (None, None)
        self._read_at = float("-inf")

    def last_run(self) -> LastRun | None:
        """How the last prompt ended: in this process, else in the one before on this port. None where none is known."""
        from .journal import leftover

        with self._lock:
            if not self._looked:
                self._last = leftover(self._folder(), self._port(), self._own())
                self._looked = True
            return self._last

    def begin(self) -> None:
        """A prompt begins; what an earlier process left has been read and goes."""
        from .journal import JournalFile, clear

        self.last_run()
        folder, port = self._folder(), self._port()
        clear(folder, port, self._own())
        self._file = JournalFile(folder, port)

    def node(self, label: str) -> None:
        """A node begins. Among nodes of milliseconds memory is read only now and then."""
        if self._file is None:
            return
        now = time.monotonic()
        if now - self._read_at >= MEMORY_SECONDS:
            self._memory, self._read_at = (resident_bytes(), _vram()), now
        self._file.node(label, *self._memory)

    def end(self) -> None:
        """The prompt has ended, in whatever way, and this process lives."""
        from ..core.readings import LastRun

        file, self._file = self._file, None
        with self._lock:
            self._last, self._looked = LastRun(finished=True, ended_at=time.time()), True
        if file is not None:
            file.close()

    def _own(self) -> Path | None:
        return None if self._file is None else self._file.path


def _user_folder() -> Path:
    """Where the host keeps what is not to be had over HTTP; beside the users' folders on an older one."""
    import folder_paths

    system = getattr(folder_paths, "get_system_user_directory", None)
    return Path(system("headroom") if system else os.path.join(folder_paths.get_user_directory(), "__headroom"))


def _port() -> int:
    from comfy.cli_args import args

    return int(args.port)


_marker = RunMarker(_user_folder, _port)


def last_run() -> LastRun | None:
    """How the last prompt ended; None where none is known, and without ComfyUI."""
    if "folder_paths" not in sys.modules:
        return None
    return guarded(_marker.last_run)


def register() -> None:
    """Asks the host to be told of prompts; hosts before 0.18 cannot, and have no marker."""
    if not listen(_marker):
        logging.debug("Headroom: this ComfyUI does not tell when a prompt begins")


def _vram() -> int | None:
    """What torch holds on its current device; asks nothing of a GPU that it has not opened."""
    cuda = getattr(sys.modules.get("torch"), "cuda", None)
    try:
        return int(cuda.memory_reserved()) if cuda is not None and cuda.is_initialized() else None
    except Exception:
        return None
