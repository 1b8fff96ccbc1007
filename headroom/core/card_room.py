"""How much of a card a run can have: arithmetic that plans and flag rules share, so that both say the same."""

from __future__ import annotations

from .units import GIB

#: What programs see of a card that is sold with a whole number of GiB: 15.47 of 16 (ComfyUI #13598). Other cards that
#: were read lie between that and all of it.
NOMINAL_SHARE = 15.47 / 16
#: The GPU context of a process: 300 to 500 MiB, which no program can give back.
CONTEXT_BYTES = GIB * 4 // 10
MIB = 2**20


def offered_bytes(stated_bytes: int) -> int:
    """What programs can have of a card: a whole number of GiB is what stands on the box, not what a program read."""
    return int(stated_bytes * NOMINAL_SHARE) if stated_bytes % GIB == 0 else stated_bytes


def stated_room(vram_bytes: int, windows: bool = False, reserve_bytes: int | None = None) -> int:
    """What a run can have of a card of that size which nothing else uses.

    Without the context of the process and what ComfyUI keeps free (EXTRA_RESERVED_VRAM in comfy/model_management.py
    0.30.0: 400 MiB, on Windows 600, and 700 above 15 GiB).
    """
    default = (700 if vram_bytes > 15 * GIB else 600) * MIB if windows else 400 * MIB
    reserve = default if reserve_bytes is None else max(0, reserve_bytes)
    return max(0, vram_bytes - CONTEXT_BYTES - reserve)
