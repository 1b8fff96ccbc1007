"""The RAM's part of a plan: where everything waits, the switch of models, and one verdict on all of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from ..disk import disk_bytes
from ..flags.ram import PIN_SHARE, PIN_SHARE_WINDOWS
from ..offload import Machine, OffloadPlan, Placement, parts_of, plan_offload
from ..planning_words import gibs
from ..ram_room import Held, Switch, models_room_bytes, switch
from ..swap import SwapPlan
from .ask import Ask, part_names
from .stages import setup_stages

Verdict = Literal["enough", "reads again", "reads each step", "short"]
#: What there is something to do about; files that are read once more between two stages are no fault.
FINDINGS = ("reads each step", "short")


@dataclass(frozen=True)
class RamPlan:
    """What the RAM has to hold and whether it does."""

    offload: OffloadPlan
    switch: Switch | None
    """None with one diffusion model."""
    swapped_bytes: int
    """Blocks that a wrapper keeps in RAM, of the model that swaps most."""

    @property
    def room_bytes(self) -> int:
        """What models can have of the RAM."""
        return self.offload.machine.ram_bytes

    @property
    def swap_short_bytes(self) -> int:
        """RAM that is missing for swapped blocks; 0 where there is enough."""
        return max(0, self.swapped_bytes - self.room_bytes)

    @property
    def read_in_a_step(self) -> tuple[int, int] | None:
        """What a sampling step reads from disk, of the model that reads most; None where none does."""
        sizes = [one.disk_bytes for one in self.offload.placements if one.disk_bytes is not None]
        return max(sizes, key=lambda size: size[1], default=None)

    @property
    def committed_bytes(self) -> int:
        """What has to be in RAM at once: all that waits and is no mapped file, or the blocks that are swapped."""
        waiting = sum(one.committed_bytes for one in self.offload.placements)
        return max(waiting, self.swapped_bytes, 0 if self.switch is None else self.switch.committed_bytes)

    @property
    def verdict(self) -> Verdict:
        """The worst of it."""
        on_disk = [one for one in self.offload.placements if one.park == "disk"]
        if self.committed_bytes > self.room_bytes:
            return "short"
        if self.read_in_a_step is not None:
            return "reads each step"
        return "reads again" if on_disk or (self.switch is not None and self.switch.reads_again) else "enough"

    @property
    def reason(self) -> str:
        """Why, in a sentence; for all verdicts."""
        room = f"models can have {gibs(self.room_bytes)} of the RAM"
        if self.verdict == "short":
            return f"{gibs(self.committed_bytes)} have to be in RAM at once, and {room}."
        if self.read_in_a_step is not None:
            return f"A step reads {disk_bytes(self.read_in_a_step)} from disk, since {room}."
        if self.verdict == "reads again":
            return f"Weights are read from their files again between the stages, since {room}."
        return f"All that waits has its place: {room}."

    @property
    def enough_bytes(self) -> int:
        """What models would have to have for the verdict to be no finding."""
        if self.verdict == "short":
            return self.committed_bytes
        streamed = [one.streamed_bytes for one in self.offload.placements if one.disk_bytes is not None]
        return max(streamed, default=0)

    def timed(self, one: Placement) -> bool:
        """Whether a stage's copies come from RAM, so that the link sets their time."""
        if one.part.role == "diffusion" and self.swapped_bytes:
            return not self.swap_short_bytes
        return self.offload.timed(one)


def plan_ram(ask: Ask, swaps: Sequence[SwapPlan]) -> RamPlan | None:
    """The RAM's part; None where the RAM is not said."""
    if ask.ram_bytes is None:
        return None
    share = PIN_SHARE_WINDOWS if ask.card.windows else PIN_SHARE
    machine = Machine(
        gpu_room_bytes=ask.card.room_bytes,
        ram_bytes=models_room_bytes(ask.ram_bytes),
        pin_bytes=int(ask.ram_bytes * share),
    )
    files = [one for _, one in part_names(ask.models)]
    offload = plan_offload(parts_of(setup_stages(ask.models, ask.run, ask.setup), files, ask.maps), machine)
    swapped = max((one.swapped_bytes for one in swaps), default=0)
    return RamPlan(offload, _switch(offload), swapped)


def _switch(offload: OffloadPlan) -> Switch | None:
    """The switch, with the text encoders that wait in RAM: one that RAM has no place for is not there either."""

    def held(role: str, *parks: str) -> list[Held]:
        some = [one for one in offload.placements if one.part.role == role and (not parks or one.park in parks)]
        return [Held(one.part.stage.weights_bytes, one.part.mapped) for one in some]

    return switch(held("diffusion"), held("text encoder", "RAM", "RAM, pinned"), offload.machine.ram_bytes)
