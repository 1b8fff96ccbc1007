"""RAM of this process, cheap enough to be asked at every node."""

from __future__ import annotations

import functools
import os
from typing import Any


@functools.cache
def _process(pid: int) -> Any:
    import psutil

    return psutil.Process(pid)


def resident_bytes() -> int | None:
    """The resident set; None where psutil is missing or refuses. Never raises."""
    try:
        return int(_process(os.getpid()).memory_info().rss)
    except Exception:
        return None
