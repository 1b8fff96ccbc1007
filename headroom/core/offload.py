"""Where each model of a run should run and where it should wait, so that neither the card nor the RAM overflows.

The card: models stay on it together while every stage still fits beside them. RAM: all that waits there counts in
full, since the model that leaves is still there while the next one comes (ComfyUI #10771). What RAM cannot hold has its
file: mapped weights are read from it again, others have to be let go of first; ``ram_room`` says which is which.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from .budget import Role, Stage, budget
from .component import Component
from .offload_notices import flags, notices
from .offload_types import Machine, Park, Part, Placement

#: Who is kept on the card first: what is small and needed at every run.
KEEP_ORDER: tuple[Role, ...] = ("vae", "diffusion", "text encoder")
#: Who gets RAM first: what is slowest to read again.
PARK_ORDER: tuple[Role, ...] = ("diffusion", "text encoder", "vae")


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

    @property
    def short(self) -> bool:
        """Whether RAM cannot hold what has to be there: something waits on disk and is no mapped file."""
        return any(one.park == "disk" and not one.part.mapped for one in self.placements)

    def timed(self, one: Placement) -> bool:
        """Whether RAM holds all that is copied of a model, so that the link sets the time."""
        return one.disk_bytes is None and (one.part.mapped or one.part.stage.weights_bytes <= self.machine.ram_bytes)

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
    return OffloadPlan(tuple(placements), machine, tuple(notices(placements, machine)), flags(placements, machine))


def parts_of(stages: Sequence[tuple[Role, Stage]], files: Collection[Component], maps: bool) -> list[Part]:
    """The stages as what a plan places.

    Args:
        files: of the run, by whose names the stages' weights are known.
        maps: the loader is ComfyUI's own and dynamic VRAM is on, so that .safetensors files are mapped.
    """
    mapped = {file.name for file in files if file.mapped} if maps else set()
    return [Part(role, stage, stage.part in mapped) for role, stage in stages]


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
    # What cannot be dropped comes first: a mapped file takes the RAM that is left.
    for part in sorted(parts, key=lambda one: (one.mapped, PARK_ORDER.index(one.role), one.stage.weights_bytes)):
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
    return Placement(part, "gpu", park, streamed, reason, _read_in_a_step(part, found.streamed_bytes, machine))


def _read_in_a_step(part: Part, streamed: tuple[int, int] | None, machine: Machine) -> tuple[int, int] | None:
    """What a step of a mapped model reads from disk; None where RAM holds all that is streamed.

    While a model samples it can have all the RAM that models have: idle ones are dropped for it.
    """
    if part.role != "diffusion" or not part.mapped or streamed is None:
        return None
    room, passes = max(0, machine.ram_bytes), part.stage.passes
    return None if streamed[1] <= room else (max(0, streamed[0] - room) * passes, streamed[1] * passes)
