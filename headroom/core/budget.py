"""What fits: a card's memory by holder, the stages of a run, and what is left after the largest of them.

Stages run one after another and the host evicts between them, so the largest need counts and not their sum.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Literal

from .link import ASSUMED, Link
from .readings import Device
from .static_load import StaticLoad

Role = Literal["diffusion", "text encoder", "vae"]
Verdict = Literal["resident", "streams", "may not fit", "does not fit", "unknown"]
#: From the best to the worst; the worst stage is the run's verdict.
ORDER: tuple[Verdict, ...] = ("resident", "streams", "unknown", "may not fit", "does not fit")


@dataclass(frozen=True)
class Holders:
    """A card's bytes by what holds them; what a reading lacks is None, and the rest cannot be divided then."""

    total_bytes: int | None
    others_bytes: int | None
    """Other programs and the driver."""
    evictable_bytes: int
    """Weights that the next allocation can push out."""
    cache_bytes: int
    """Held by torch and not in use."""
    free_bytes: int | None

    @property
    def available_bytes(self) -> int | None:
        """What the next allocation can get: free, torch's cache and evictable weights."""
        return None if self.free_bytes is None else self.free_bytes + self.cache_bytes + self.evictable_bytes

    @property
    def held_bytes(self) -> int | None:
        """What this process holds and cannot be had: the rest."""
        if self.total_bytes is None or self.others_bytes is None or self.available_bytes is None:
            return None
        return max(0, self.total_bytes - self.others_bytes - self.available_bytes)


def holders(device: Device, evictable_bytes: int | None = None) -> Holders:
    """Who holds what of a card.

    Args:
        device: the reading.
        evictable_bytes: where more is known than the reading says: between two nodes nothing is in use.
    """
    allocated, reserved = device.torch_allocated_bytes or 0, device.torch_reserved_bytes or 0
    others = device.others_bytes
    if device.kind == "cpu" and device.used_bytes is not None and device.own_bytes is not None:
        # The RAM that ComfyUI runs in: nobody lists the other programs, and nobody has to.
        others = max(0, device.used_bytes - device.own_bytes)
    return Holders(
        total_bytes=device.total_bytes,
        others_bytes=None if others is None else others + (device.driver_bytes or 0),
        evictable_bytes=(device.evictable_bytes or 0) if evictable_bytes is None else evictable_bytes,
        cache_bytes=max(0, reserved - allocated),
        free_bytes=device.free_bytes,
    )


@dataclass(frozen=True)
class Stage:
    """One part of a run that has the card to itself: text encoding, sampling, decode."""

    name: str
    """For people: ``Sampling``, ``Decode``."""
    part: str
    """The model's name."""
    weights_bytes: int
    low_bytes: int | None
    """Working memory beside the weights; None where it is not known."""
    high_bytes: int | None
    reserved_bytes: int | None = None
    """The host's own number for it, which steers what it evicts."""
    least_weights_bytes: int = 0
    """What of the weights has to be there at once while they are streamed."""
    passes: int = 1
    """How often a step goes through all weights."""
    source: str = ""
    """Where the range comes from."""
    note: str = ""
    static: StaticLoad | None = None
    """How its weights are loaded without dynamic VRAM; None where they are streamed by page, to the work's measure."""


@dataclass(frozen=True)
class StageBudget:
    """A stage against the room it has. Sizes in bytes; ranges are (low, high)."""

    stage: Stage
    room_bytes: int
    verdict: Verdict
    streamed_bytes: tuple[int, int] | None
    """Weights that do not fit beside the work and cross the link in every pass."""
    link: Link

    @property
    def need_bytes(self) -> tuple[int, int] | None:
        """Weights and work."""
        stage = self.stage
        if stage.low_bytes is None or stage.high_bytes is None:
            return None
        return stage.weights_bytes + stage.low_bytes, stage.weights_bytes + stage.high_bytes

    @property
    def left_for_work_bytes(self) -> int | None:
        """What weights that were loaded once leave for the work; None with dynamic VRAM, where they give way to it."""
        load = self.stage.static
        return None if load is None else load.left_bytes(self.stage.weights_bytes, self.room_bytes)

    @property
    def crowded(self) -> bool:
        """It may not fit, and would with fewer weights on the card."""
        load, high = self.stage.static, self.stage.high_bytes
        short = self.verdict in ("may not fit", "does not fit")
        return short and load is not None and high is not None and load.staging_bytes + high <= self.room_bytes

    @property
    def left_bytes(self) -> int | None:
        """Room that is left with everything on the card, at the high end; negative where it is missing."""
        return None if self.need_bytes is None else self.room_bytes - self.need_bytes[1]

    @property
    def copied_bytes(self) -> tuple[int, int] | None:
        """Bytes that cross the link in a step."""
        if self.streamed_bytes is None:
            return None
        return self.streamed_bytes[0] * self.stage.passes, self.streamed_bytes[1] * self.stage.passes

    @property
    def copy_seconds(self) -> tuple[float, float] | None:
        """Time of these copies in a step, where nothing hides them."""
        if self.copied_bytes is None:
            return None
        low, high = (self.link.seconds(size) for size in self.copied_bytes)
        return None if low is None or high is None else (low, high)


def budget(
    stage: Stage, room_bytes: int, link: Link = ASSUMED, streams: bool = True, keeps: bool = True
) -> StageBudget:
    """What a stage does on a card.

    Args:
        stage: its weights and its work.
        room_bytes: what this process can have of the card: available now, or all but what others hold.
        link: over which weights are streamed.
        streams: whether the host can stream weights: with dynamic VRAM and by its partial load, not with --highvram.
        keeps: whether it keeps on the card what fits; with --novram it streams all weights in every pass.
    """
    low, high = stage.low_bytes, stage.high_bytes
    if low is None or high is None:
        fixed = stage.weights_bytes if not streams else stage.least_weights_bytes
        return StageBudget(stage, room_bytes, "does not fit" if fixed > room_bytes else "unknown", None, link)
    if stage.static is not None and streams and keeps:
        return _loaded_once(stage, stage.static, (low, high), room_bytes, link)
    least = stage.least_weights_bytes if streams else stage.weights_bytes
    most = max(0, stage.weights_bytes - least)
    streamed = tuple(
        min(max(0, stage.weights_bytes + work - room_bytes), most) if keeps else most for work in (low, high)
    )
    if least + low > room_bytes:
        verdict: Verdict = "does not fit"
    elif least + high > room_bytes:
        verdict = "may not fit"
    else:
        verdict = "streams" if streamed[1] else "resident"
    return StageBudget(stage, room_bytes, verdict, (streamed[0], streamed[1]), link)


def _loaded_once(stage: Stage, load: StaticLoad, work: tuple[int, int], room_bytes: int, link: Link) -> StageBudget:
    """Without dynamic VRAM: what streams is settled before the work begins, and gives way to none of it."""
    streamed = stage.weights_bytes - load.loaded_bytes(stage.weights_bytes, room_bytes)
    left = load.left_bytes(stage.weights_bytes, room_bytes)
    if work[0] > left:
        verdict: Verdict = "does not fit"
    elif work[1] > left:
        verdict = "may not fit"
    else:
        verdict = "streams" if streamed else "resident"
    return StageBudget(stage, room_bytes, verdict, (streamed, streamed), link)


def worst(budgets: Sequence[StageBudget]) -> Verdict:
    """The verdict on the whole run; ``resident`` for a run of nothing."""
    found: Verdict = "resident"
    for one in budgets:
        if ORDER.index(one.verdict) > ORDER.index(found):
            found = one.verdict
    return found


def beside(stages: Sequence[tuple[Role, Stage]], staying: Collection[Role]) -> list[int]:
    """For each stage the bytes of the other models that are on the card with it because their kind never leaves."""
    weights = [stage.weights_bytes if role in staying else 0 for role, stage in stages]
    return [sum(weights) - own for own in weights]


def headroom_bytes(
    available_bytes: int | None, stages: Sequence[Stage], beside_bytes: Sequence[int] = ()
) -> int | None:
    """What is left of the available memory after the largest stage, at the high end; negative where it is missing.

    With no stage it is what is available. Weights that are on the card already count as available and as needed, so
    that they cancel out. None where a reading or a need is not known.

    Args:
        beside_bytes: for each stage what stays on the card beside it; see ``beside``.
    """
    if available_bytes is None:
        return None
    others = beside_bytes or [0] * len(stages)
    needs = [
        None if stage.high_bytes is None else stage.weights_bytes + stage.high_bytes + other
        for stage, other in zip(stages, others, strict=True)
    ]
    known = [need for need in needs if need is not None]
    if len(known) < len(needs):
        return None
    return available_bytes - max(known, default=0)
