"""ComfyUI processes on this machine, for a look from outside: by psutil where it is there, else by Linux's /proc."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from ...core.environment.readings import Running
from .folder import is_comfyui, version_of

DEFAULT_PORT = 8188


@dataclass(frozen=True)
class Process:
    """A process as the system lists it."""

    pid: int
    parent: int
    words: Sequence[str]
    folder: str | None


def running(looked_at: Path | None, root: Path = Path("/")) -> tuple[Running, ...] | None:
    """Every ComfyUI that runs here; None where processes cannot be listed.

    Args:
        looked_at: the ComfyUI folder that is looked at.
    """
    try:
        found = {one.pid: (one, folder) for one in _listed(root) if (folder := _comfyui_of(one)) is not None}
    except Exception:
        return None
    # On Windows a virtual environment's python.exe starts the real one with the same words: that is one ComfyUI.
    first = [(one, folder) for one, folder in found.values() if one.parent not in found]
    return tuple(
        Running(
            pid=one.pid,
            folder=folder.name,
            port=_port(one.words),
            version=version_of(folder),
            looked_at=None if looked_at is None else _same(folder, looked_at),
        )
        for one, folder in sorted(first, key=lambda pair: pair[0].pid)
    )


def _listed(root: Path) -> Iterator[Process]:
    try:
        import psutil
    except ImportError:
        yield from _from_proc(root)
        return
    for process in psutil.process_iter(["cmdline", "ppid"]):
        words = process.info["cmdline"]
        if not words or not _script(words):
            continue
        try:
            folder = process.cwd()
        except (psutil.Error, OSError):
            folder = None
        yield Process(process.pid, process.info["ppid"] or 0, words, folder)


def _from_proc(root: Path) -> Iterator[Process]:
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
        yield Process(int(entry.name), parent, words, folder)


def _script(words: Sequence[str]) -> str | None:
    return next((word for word in words[1:] if os.path.basename(word.replace("\\", "/")) == "main.py"), None)


def _comfyui_of(process: Process) -> Path | None:
    """The folder of the ComfyUI that a process runs; None where it is another program."""
    script = _script(process.words)
    if script is None or (process.folder is None and not os.path.isabs(script)):
        return None
    folder = Path(process.folder or "", script).parent
    return folder if is_comfyui(folder) else None


def _port(words: Sequence[str]) -> int:
    for word, following in zip(words, [*words[1:], ""]):
        text = following if word == "--port" else word.partition("=")[2] if word.startswith("--port=") else ""
        if text.isdigit():
            return int(text)
    return DEFAULT_PORT


def _same(one: Path, other: Path) -> bool:
    try:
        return one.resolve() == other.resolve()
    except OSError:
        return False
