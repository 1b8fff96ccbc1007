"""What an offload plan says about RAM that is too small: who is read again, what a flag helps and what it costs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from .budget import budget
from .disk import disk_bytes, disk_times
from .offload_types import Machine, Placement
from .planning_words import gibs

CACHE_NONE = "--cache-none"
#: ComfyUI PR#7509; Kijai on ComfyUI-KJNodes #372: "every workflow has to start from the beginning on each queue".
CACHE_NONE_COST = (
    "It lets go of a model once its nodes are done. The price: every queue loads every file and runs every node again, "
    "the text encoding too."
)
_MAPPED = (
    "{waiting} of weights are more than the {room} of RAM for models, so what RAM cannot hold of {names} is read from "
    "disk as it is needed. ComfyUI has such files mapped and gives up its own copies of idle models by itself: no flag "
    "is needed."
)
_EACH_STEP = (
    "Each step of {name} reads {size} from disk: {times}. The low end is what RAM cannot hold, the high end all that "
    "is streamed, where nothing stays in RAM until its next turn."
)
_OVERFULL = "{waiting} would wait in {room} of RAM, which has no place for {names}: the system may end ComfyUI."
_SWAP = "Swap could take the {short} that are missing, and is slower than the file itself."
_NO_ROOM = "Nothing of the card is left for models and their work."
_TILES = "Neither block swap nor offloading lowers what the VAE needs: decode in tiles, as VAE Decode (Safe) does."


def notices(placements: Sequence[Placement], machine: Machine) -> Iterator[str]:
    """The sentences, what weighs most first."""
    room = max(0, machine.ram_bytes)
    over = [one for one in placements if one.park == "disk" and not one.part.mapped]
    if over:
        waiting = sum(one.committed_bytes for one in placements)
        yield _OVERFULL.format(waiting=gibs(waiting), room=gibs(room), names=_names(over))
        if machine.swap_bytes >= waiting - room:
            yield _SWAP.format(short=gibs(waiting - room))
    again = [one for one in placements if one.park == "disk" and one.part.mapped]
    if again:
        waiting = sum(one.part.stage.weights_bytes for one in placements if one.force_offload)
        yield _MAPPED.format(waiting=gibs(waiting), room=gibs(room), names=_names(again))
    for one in placements:
        if one.disk_bytes is not None:
            size = one.disk_bytes
            yield _EACH_STEP.format(name=one.part.stage.part, size=disk_bytes(size), times=disk_times(size))
    if not machine.gpu_room_bytes:
        yield _NO_ROOM
        return
    vaes = (one.part.stage for one in placements if one.part.role == "vae")
    if any(budget(stage, machine.gpu_room_bytes).verdict in ("may not fit", "does not fit") for stage in vaes):
        yield _TILES


def flags(placements: Sequence[Placement], machine: Machine) -> tuple[str, ...]:
    """For ComfyUI's start line: ``--cache-none`` where it helps, which is seldom.

    Not for mapped files: ComfyUI 0.30.0 drops its pinned copies by the RAM that is available (ensure_pin_budget in
    comfy/model_management.py) and sweeps its cache after each node only with its usual cache (execution.py), which the
    flag turns off. Not for a single model, which nothing else can make room for, nor where the largest alone is more
    than the machine has.
    """
    over = any(one.park == "disk" and not one.part.mapped for one in placements)
    sizes = [size for one in placements if (size := one.committed_bytes)]
    alone = max(sizes, default=0) <= max(machine.ram_bytes, machine.gpu_room_bytes)
    return (CACHE_NONE,) if over and len(sizes) > 1 and alone else ()


def _names(placements: Sequence[Placement]) -> str:
    names = list(dict.fromkeys(one.part.stage.part for one in placements))
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
