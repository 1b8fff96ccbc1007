"""What GET requests answer, as bytes: made once per snapshot, however many browsers and tabs ask."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Mapping
from typing import Any

from ..core.flags import advise
from ..core.readings import Snapshot
from ..core.snapshot_json import snapshot_json
from . import snapshot as source

_lock = threading.Lock()
_of: Snapshot | None = None
_parts: dict[str, Any] = {}


def snapshot(with_advice: bool) -> bytes:
    """The snapshot; with what does not match in it as ``advice``, so that the panel has both in one request."""
    return _shared("both" if with_advice else "snapshot")


def advice() -> bytes:
    """The advice alone."""
    return _shared("advice")


def dumped(answer: Mapping[str, Any]) -> bytes:
    """JSON; a NaN in it would be a fault of ours, and is one for the browser."""
    return json.dumps(answer, allow_nan=False).encode()


def _shared(name: str) -> bytes:
    """One of the answers from the current snapshot; who asks while it is made waits for it."""
    global _of
    now = source.take()
    with _lock:
        if now is not _of:
            _of = now
            _parts.clear()
        if name not in _parts:
            _parts[name] = dumped(_made(name, now))
        return _parts[name]


def _made(name: str, now: Snapshot) -> Mapping[str, Any]:
    found: dict[str, Any] = {}
    if name != "advice":
        found |= snapshot_json(now, os.path.expanduser("~"))
    if name != "snapshot":
        found["advice"] = [one.as_json() for one in advise(now)]
    return found
