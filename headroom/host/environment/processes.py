"""The ComfyUI processes of this machine, as ``doctor`` tells of them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ...core.environment.readings import Running
from ..processes import comfyuis
from .folder import version_of

DEFAULT_PORT = 8188


def running(looked_at: Path | None, root: Path = Path("/")) -> tuple[Running, ...] | None:
    """Every ComfyUI that runs here; None where processes cannot be listed.

    Args:
        looked_at: the ComfyUI folder that is looked at.
    """
    try:
        found = comfyuis(root)
    except Exception:
        return None
    return tuple(
        Running(
            pid=one.pid,
            folder=one.folder.name,
            port=_port(one.words),
            version=version_of(one.folder),
            looked_at=None if looked_at is None else _same(one.folder, looked_at),
        )
        for one in found
    )


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
