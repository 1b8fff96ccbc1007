"""Whose the memory of a GPU is: this process's, other programs', the driver's. Arithmetic only.

What the driver cannot say per program (Windows, WSL, containers) is what the rest leaves over, and marked so.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from .readings import Program

OTHER_NAMESPACE = "the driver lists the machine's process ids, which are not those of this container"
NO_LIST = "the driver lists no processes here"
UNLISTED = "more is in use than the listed programs hold: other containers, or the machine outside of this one"
SHARED = "its memory is the machine's RAM, which no driver counts per program"

DRIVERS_SHARE = 2**30
"""More than an idle card has in use without any program: 300 to 900 MB (gpustat #141, gpu-operator #348)."""


@dataclass(frozen=True)
class Usage:
    """The parts of a GPU's memory, in bytes; ``reasons`` by the field names of ``readings.Device``."""

    own: int | None
    others: int | None
    estimated: bool | None
    programs: Sequence[Program] | None
    reasons: dict[str, str] = field(default_factory=dict)


def split(
    used: int | None,
    driver: int | None,
    own_estimate: int | None,
    processes: Sequence[Program] | None,
    own_pid: int,
    unified: bool = False,
) -> Usage:
    """Divides what is not free.

    Args:
        driver: what the driver keeps for itself, which ``used`` includes; None where it does not say.
        own_estimate: what torch and dynamic VRAM say this process holds, without the GPU context of some 300 MiB.
        processes: as the driver lists them, this process included; None where it lists none.
    """
    if unified:
        # Managed memory shows 5 of 60 GB per process (pynvml #63).
        return Usage(own_estimate, None, None, None, {"programs": SHARED, "others_bytes": SHARED})
    mine = next((one for one in processes or () if one.pid == own_pid), None)
    own = mine.used_bytes if mine is not None and mine.used_bytes is not None else own_estimate
    if processes is None:
        return _left_over(used, driver, own, None, {"programs": NO_LIST})
    if mine is None and own_estimate:
        # It holds memory and is not in the list: the ids are another namespace's, and one of them is its own.
        return _left_over(used, driver, own, None, {"programs": OTHER_NAMESPACE})
    programs = tuple(sorted((one for one in processes if one.pid != own_pid), key=_largest_first))
    if any(one.used_bytes is None for one in programs):
        return _left_over(used, driver, own, programs, {})
    listed = sum(one.used_bytes or 0 for one in programs)
    rest = _left_over(used, driver, own, programs, {"programs": UNLISTED})
    hidden = rest.others is not None and rest.others - listed > DRIVERS_SHARE
    return rest if hidden else Usage(own, listed, False, programs)


def _left_over(
    used: int | None,
    driver: int | None,
    own: int | None,
    programs: Sequence[Program] | None,
    reasons: dict[str, str],
) -> Usage:
    """Never below zero: torch's count and the driver's are not of the same moment (nvidia-docker #179)."""
    if used is None or own is None:
        why = "the memory in use is not known" if used is None else "what this process holds is not known"
        return Usage(own, None, None, programs, {**reasons, "others_bytes": why})
    return Usage(own, max(0, used - (driver or 0) - own), True, programs, reasons)


def _largest_first(program: Program) -> tuple[bool, int]:
    return program.used_bytes is None, -(program.used_bytes or 0)


def believable_free(free: int | None, total: int | None, reserved: int | None) -> bool:
    """Whether a free memory that torch tells can be true.

    On Windows ROCm tells what this process could have: all of it, also while torch holds some (unsloth #8403).
    """
    return not (free is not None and total is not None and reserved and free >= total)
