"""Where each model of a run should run and where it should wait, so that neither the card nor the RAM overflows.

The card: models stay on it together while every stage still fits beside them. RAM: all that waits there counts in
full, since the model that leaves is still there while the next one comes (ComfyUI-KJNodes #632: 10 GB waiting and
28 GB loading ended ComfyUI at 32 GB). What RAM cannot hold is read from its file again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from .budget import Role, Stage, budget
from .units import gib, with_unit

Park = Literal["gpu", "other gpu", "RAM, pinned", "RAM", "disk"]
MAIN_DEVICE, OFFLOAD_DEVICE = "main_device", "offload_device"
"""The two words of the Wan wrapper's ``load_device``."""
CACHE_NONE = "--cache-none"
#: Who is kept on the card first: what is small and needed at every run.
KEEP_ORDER: tuple[Role, ...] = ("vae", "diffusion", "text encoder")
#: Who gets RAM first: what is slowest to read again.
PARK_ORDER: tuple[Role, ...] = ("diffusion", "text encoder", "vae")
_OVERFULL = "{waiting} would wait in {room} of RAM, so {names} is read from its file each time."
_SWAP = "Swap could take the {short} that are missing, and is slower than the file itself."
_TILES = "Neither block swap nor offloading lowers what the VAE needs: decode in tiles, as VAE Decode (Safe) does."


@dataclass(frozen=True)
class OtherGpu:
    """A second card and what ComfyUI can have of it."""

    index: int
    room_bytes: int


@dataclass(frozen=True)
class Machine:
    """The room of a machine, in bytes."""

    gpu_room_bytes: int
    """What ComfyUI can have of the card that it runs on."""
    ram_bytes: int
    """What models can have of the RAM: what is available, and what this process's models hold already."""
    pin_bytes: int = 0
    """The most that the host pins; 0 where it pins nothing."""
    swap_bytes: int = 0
    others: Sequence[OtherGpu] = ()


@dataclass(frozen=True)
class Part:
    """One model of the run."""

    role: Role
    stage: Stage
    """Its weights and its work."""


@dataclass(frozen=True)
class Placement:
    """Where one model goes."""

    part: Part
    run_on: str
    """``gpu``, ``gpu 1``, ``cpu``."""
    park: Park
    """Where its weights are while another stage runs."""
    streamed_bytes: int
    """Weights that do not fit beside its work, at the high end."""
    reason: str

    @property
    def load_device(self) -> str:
        """The Wan wrapper's ``load_device``: straight to the card only what is then there in full."""
        fits = self.run_on.startswith("gpu") and not self.streamed_bytes
        return MAIN_DEVICE if fits else OFFLOAD_DEVICE

    @property
    def force_offload(self) -> bool:
        """The Wan wrapper's ``force_offload``: whether it has to leave the card after its stage."""
        return self.park not in ("gpu", "other gpu")


@dataclass(frozen=True)
class OffloadPlan:
    """All placements, and what they add up to."""

    placements: tuple[Placement, ...]
    machine: Machine
    notices: tuple[str, ...]
    flags: tuple[str, ...]
    """For ComfyUI's start line; mostly none."""

    def parked_bytes(self, *parks: Park) -> int:
        """Bytes that wait in these places."""
        return sum(one.part.stage.weights_bytes for one in self.placements if one.park in parks)

    @property
    def ram_bytes(self) -> int:
        """RAM that the plan takes, pinned or not."""
        return self.parked_bytes("RAM", "RAM, pinned")

    def __post_init__(self) -> None:
        if self.ram_bytes > max(0, self.machine.ram_bytes):
            raise ValueError(f"{self.ram_bytes} bytes were sent to {self.machine.ram_bytes} bytes of RAM")


def plan_offload(parts: Sequence[Part], machine: Machine) -> OffloadPlan:
    """The placement of every part, in the order given."""
    elsewhere = _on_other_gpus(parts, machine)
    main = [part for part in parts if id(part) not in elsewhere]
    kept = _kept(main, machine.gpu_room_bytes)
    waiting = [part for part in main if id(part) not in kept]
    parked = _parked(waiting, machine)
    placements = []
    for part in parts:
        if id(part) in elsewhere:
            placements.append(_on_other(part, elsewhere[id(part)]))
        else:
            placements.append(_on_main(part, parked.get(id(part), "gpu"), machine))
    return OffloadPlan(tuple(placements), machine, tuple(_notices(placements, machine)), _flags(placements))


def _work(stage: Stage) -> int:
    """The high end, or what the host reserves where no range is known."""
    return stage.high_bytes if stage.high_bytes is not None else stage.reserved_bytes or 0


def _on_other_gpus(parts: Sequence[Part], machine: Machine) -> dict[int, int]:
    """Text encoders and VAEs that do not fit beside the rest and fit on another card: id of the part -> card."""
    if len(_kept(parts, machine.gpu_room_bytes)) == len(parts):
        return {}
    room = {gpu.index: gpu.room_bytes for gpu in machine.others}
    found: dict[int, int] = {}
    for part in sorted((part for part in parts if part.role != "diffusion"), key=lambda one: -one.stage.weights_bytes):
        need = part.stage.weights_bytes + _work(part.stage)
        index = next((index for index, left in room.items() if left >= need), None)
        if index is not None:
            found[id(part)] = index
            room[index] -= part.stage.weights_bytes
    return found


def _kept(parts: Sequence[Part], room_bytes: int) -> set[int]:
    """Ids of the parts that can stay on the card while every other stage runs there too."""
    kept: list[Part] = []
    for part in sorted(parts, key=lambda one: (KEEP_ORDER.index(one.role), one.stage.weights_bytes)):
        if all(_fits_beside(other, [*kept, part], room_bytes) for other in parts):
            kept.append(part)
    return {id(part) for part in kept}


def _fits_beside(running: Part, kept: Sequence[Part], room_bytes: int) -> bool:
    """Whether a stage has its room while the kept models are on the card."""
    beside = sum(part.stage.weights_bytes for part in kept if part is not running)
    return beside + running.stage.weights_bytes + _work(running.stage) <= room_bytes


def _parked(parts: Sequence[Part], machine: Machine) -> dict[int, Park]:
    """Where the parts wait that do not stay on the card."""
    used = pinned = 0
    found: dict[int, Park] = {}
    for part in sorted(parts, key=lambda one: (PARK_ORDER.index(one.role), one.stage.weights_bytes)):
        size = part.stage.weights_bytes
        if used + size > machine.ram_bytes:
            found[id(part)] = "disk"
            continue
        used += size
        fits_pin = pinned + size <= machine.pin_bytes
        pinned += size if fits_pin else 0
        found[id(part)] = "RAM, pinned" if fits_pin else "RAM"
    return found


def _on_other(part: Part, index: int) -> Placement:
    return Placement(
        part, f"gpu {index}", "other gpu", 0, "it fits there with its work and leaves the first card alone"
    )


def _on_main(part: Part, park: Park, machine: Machine) -> Placement:
    found = budget(part.stage, machine.gpu_room_bytes)
    streamed = found.streamed_bytes[1] if found.streamed_bytes else 0
    if found.verdict == "does not fit" and part.role == "text encoder":
        return Placement(
            part, "cpu", "disk" if park == "disk" else "RAM", 0, "not even its largest layer fits the card"
        )
    if found.verdict == "does not fit":
        reason = "its work alone is more than the card has"
    elif streamed:
        reason = "its weights do not fit beside its work, so a part of them is streamed"
    elif park == "gpu":
        reason = "every other stage fits beside it"
    else:
        reason = "another stage needs its place"
    return Placement(part, "gpu", park, streamed, reason)


def _notices(placements: Sequence[Placement], machine: Machine) -> list[str]:
    found = []
    on_disk = [one.part.stage.part for one in placements if one.park == "disk"]
    room = max(0, machine.ram_bytes)
    if on_disk:
        waiting = sum(one.part.stage.weights_bytes for one in placements if one.force_offload)
        found.append(_OVERFULL.format(waiting=_gib(waiting), room=_gib(room), names=", ".join(on_disk)))
        if machine.swap_bytes >= waiting - room:
            found.append(_SWAP.format(short=_gib(waiting - room)))
    vaes = (one.part.stage for one in placements if one.part.role == "vae")
    if any(budget(stage, machine.gpu_room_bytes).verdict in ("may not fit", "does not fit") for stage in vaes):
        found.append(_TILES)
    return found


def _gib(size_bytes: int) -> str:
    return with_unit(gib(size_bytes), "GiB")


def _flags(placements: Sequence[Placement]) -> tuple[str, ...]:
    return (CACHE_NONE,) if any(one.park == "disk" for one in placements) else ()
