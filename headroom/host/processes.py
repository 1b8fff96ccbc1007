"""ComfyUI processes on this machine: by psutil where it is there, else by Linux's /proc.

Two on one card each think that all of it is theirs.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

KEEP_SECONDS = 60.0
"""A walk over all processes costs tens of milliseconds."""


@dataclass(frozen=True)
class ComfyProcess:
    """One ComfyUI."""

    pid: int
    words: Sequence[str]
    """Its command line."""
    folder: Path
    """Where its main.py lies."""


@dataclass(frozen=True)
class _Listed:
    """A process that runs a script called main.py, as the system lists it."""

    pid: int
    parent: int
    words: Sequence[str]
    cwd: str | None


class Processes:
    """Counts the others now and then."""

    def __init__(self) -> None:
        self._counted_at = float("-inf")
        self._count: int | None = None

    def others(self, running: bool | None) -> int | None:
        """How many there are beside this one; what was counted last while a prompt runs. None where nobody may look."""
        if not running and time.monotonic() - self._counted_at >= KEEP_SECONDS:
            self._counted_at = time.monotonic()
            try:
                self._count = len(comfyuis(leave_out=_family()))
            except Exception:
                self._count = None
        return self._count


def comfyuis(root: Path = Path("/"), leave_out: frozenset[int] = frozenset()) -> tuple[ComfyProcess, ...]:
    """Every ComfyUI that runs here, by process id.

    Args:
        leave_out: ids of processes that are not looked at.

    Raises:
        OSError: there is neither psutil nor a /proc.
    """
    found = {
        one.pid: (one, folder)
        for one in _listed(root)
        if one.pid not in leave_out and (folder := _folder_of(one)) is not None
    }
    # On Windows a virtual environment's python.exe starts the real one with the same words: that is one ComfyUI.
    first = [ComfyProcess(one.pid, one.words, folder) for one, folder in found.values() if one.parent not in found]
    return tuple(sorted(first, key=lambda one: one.pid))


def is_comfyui(folder: Path) -> bool:
    """It has ComfyUI's files."""
    return (folder / "main.py").is_file() and (folder / "comfyui_version.py").is_file()


def _family() -> frozenset[int]:
    """This process, those that it came from and those that came from it."""
    import psutil

    me = psutil.Process()
    return frozenset((me.pid, *(one.pid for one in me.parents()), *(one.pid for one in me.children(recursive=True))))


def _listed(root: Path) -> Iterator[_Listed]:
    try:
        import psutil
    except ImportError:
        yield from _from_proc(root)
        return
    for process in psutil.process_iter(["cmdline"]):
        words = process.info["cmdline"]
        if not words or _script(words) is None:
            continue
        try:
            folder = process.cwd()
        except (psutil.Error, OSError):
            folder = None
        yield _Listed(process.pid, _parent(process), words, folder)


def _parent(process: Any) -> int:
    """0 where it is gone; asked of few, since on Windows each such question lists all processes."""
    import psutil

    try:
        return process.ppid() or 0
    except (psutil.Error, OSError):
        return 0


def _from_proc(root: Path) -> Iterator[_Listed]:
    """Raises OSError where there is no /proc."""
    for entry in (root / "proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            words = (entry / "cmdline").read_bytes().decode("utf-8", "replace").split("\0")[:-1]
            parent = int((entry / "stat").read_text("utf-8", "replace").rpartition(")")[2].split()[1])
        except (OSError, ValueError, IndexError):
            continue
        try:
            folder = os.readlink(entry / "cwd")
        except OSError:
            folder = None
        yield _Listed(int(entry.name), parent, words, folder)


def _script(words: Sequence[str]) -> str | None:
    return next((word for word in words[1:] if os.path.basename(word.replace("\\", "/")) == "main.py"), None)


def _folder_of(process: _Listed) -> Path | None:
    """The folder of the ComfyUI that a process runs; None where it is another program, or nobody may look."""
    script = _script(process.words)
    if script is None or (process.cwd is None and not os.path.isabs(script)):
        return None
    folder = Path(process.cwd or "", script).parent
    return folder if is_comfyui(folder) else None
