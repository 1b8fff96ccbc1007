"""The journals of running prompts as files: written line by line, locked while their process lives.

The lock tells a running prompt from a dead one: the system releases it with the process, also across containers, where
process ids say nothing. The name has the port, so that each of several instances finds its own.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from ..core.readings import LastRun
from ..core.runmarker import ENDED, beginning, change_of_node, read_journal, unfinished
from .ram import oom_kills

MOST_BYTES = 2**20
KEEP_DAYS = 30
"""Then what an instance on another port left is forgotten."""
LOCKED_BYTE = 2**30
"""Windows lets nobody read a locked byte: one far behind the end."""


class JournalFile:
    """The journal of one prompt.

    Raises:
        OSError: it cannot be written or locked here; then there is none, rather than one that is taken for dead.
    """

    def __init__(self, folder: Path, port: int) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.path = folder / f"run-{port}-{os.getpid()}-{time.time_ns()}.jsonl"
        self._file: IO[bytes] = self.path.open("xb", buffering=0)
        try:
            _lock(self._file)
            self._first = beginning(time.time(), boot_id(), oom_kills())
            self._size = self._file.write(self._first) or 0
        except BaseException:
            self._file.close()
            self._remove()
            raise

    def node(self, name: str, ram_bytes: int | None, vram_bytes: int | None) -> None:
        """One more line; one that repeats a loop for days starts over."""
        line = change_of_node(time.time(), name, ram_bytes, vram_bytes)
        if self._size + len(line) > MOST_BYTES:
            self._file.seek(0)
            self._file.truncate()
            self._size = self._file.write(self._first) or 0
        self._size += self._file.write(line) or 0

    def close(self) -> None:
        """The prompt has ended; a file that cannot be removed (a virus scanner) says so itself."""
        with contextlib.suppress(OSError):
            self._file.write(ENDED)
        self._file.close()
        self._remove()

    def _remove(self) -> None:
        with contextlib.suppress(OSError):
            self.path.unlink()


def leftover(folder: Path, port: int, own: Path | None) -> LastRun | None:
    """The newest prompt on this port that nobody ended; None where there is none."""
    found = []
    for path in _dead(folder, f"run-{port}-*.jsonl", own):
        journal = read_journal(_content(path))
        if journal is not None and not journal.ended:
            found.append(journal)
    newest = max(found, key=lambda journal: journal.at or 0, default=None)
    return None if newest is None else unfinished(newest, boot_id(), oom_kills())


def clear(folder: Path, port: int, own: Path | None) -> None:
    """Removes what dead processes left on this port, and what is old on any."""
    for path in _dead(folder, "run-*.jsonl", own):
        with contextlib.suppress(OSError):
            if path.name.startswith(f"run-{port}-") or time.time() - path.stat().st_mtime > KEEP_DAYS * 86400:
                path.unlink()


def boot_id(root: Path = Path("/")) -> str | None:
    """Which boot of the machine this is, by Linux's word."""
    try:
        return (root / "proc" / "sys" / "kernel" / "random" / "boot_id").read_text("ascii").strip() or None
    except (OSError, ValueError):
        return None


def _dead(folder: Path, pattern: str, own: Path | None) -> Iterator[Path]:
    """Journals whose process lives no more. Never opens its own: closing it again would release its lock."""
    for path in sorted(folder.glob(pattern)):
        if path != own and not _is_held(path):
            yield path


def _is_held(path: Path) -> bool:
    """Another process holds the lock; also where that cannot be told."""
    try:
        with path.open("r+b") as file:
            _lock(file)
    except OSError:
        return True
    return False


def _content(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(2 * MOST_BYTES)
    except OSError:
        return b""


def _lock(file: Any) -> None:
    """Takes the lock, or raises OSError at once; the system releases it when the process ends or closes the file."""
    try:
        import fcntl
    except ImportError:
        _lock_windows(file)
        return
    fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _lock_windows(file: Any) -> None:
    import msvcrt

    msvcrt: Any
    place = file.tell()
    file.seek(LOCKED_BYTE)
    msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
    file.seek(place)
