"""Block swap: how many blocks of a model have to leave the card, and what that costs in a step.

``blocks_to_swap`` is the number of blocks that are NOT on the card: more means less VRAM and a slower step.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from .link import ASSUMED, Link
from .swap_table import WAN_WRAPPER, Convention

Verdict = Literal["resident", "swap", "may not fit", "does not fit", "unknown"]
#: One more resident block that saves less than this share of a step buys little.
LITTLE = 0.01


@dataclass(frozen=True)
class Work:
    """Working memory as a range of bytes; None where nothing is known."""

    low_bytes: int | None = None
    high_bytes: int | None = None


@dataclass(frozen=True)
class SwapAsk:
    """A model, the room it has, and how it is swapped. All sizes in bytes."""

    block_bytes: Sequence[int]
    """Every block of the main stack, in the order in which they run."""
    room_bytes: int
    """What of the card can be used for this: weights, blocks under way and working memory."""
    vace_bytes: Sequence[int] = ()
    """The blocks of VACE, which have a number of their own."""
    outside_bytes: int = 0
    """What is in no block and stays: embeddings, the last layer, refiners."""
    lora_bytes: int = 0
    """LoRA weights kept beside the model's; 0 where they are merged."""
    work: Work = Work()
    passes_per_step: int = 1
    """Forward passes: 2 where positive and negative prompt run apart, as in the Wan wrapper with cfg above 1."""
    prefetch: int = 0
    convention: Convention = WAN_WRAPPER
    link: Link = ASSUMED
    compute_seconds: float | None = None
    """A step without any swap, where it was measured."""


@dataclass(frozen=True)
class SwapPlan:
    """What to set, and what the card then holds; the parts add up to ``low_bytes`` and ``high_bytes``."""

    ask: SwapAsk
    blocks_to_swap: int
    """The setting; see ``Convention``."""
    blocks_swapped: int
    """The blocks that leave because of it."""
    vace_blocks_to_swap: int
    prefetch_blocks: int
    stay_bytes: int
    """Outside of blocks, and LoRA weights."""
    resident_bytes: int
    """Blocks that stay."""
    under_way_bytes: int
    """Room for the swapped block that runs and for those fetched ahead."""
    swapped_bytes: int
    """Blocks in RAM."""
    verdict: Verdict
    notices: tuple[str, ...] = ()

    @property
    def blocks(self) -> int:
        """Blocks of the main stack."""
        return len(self.ask.block_bytes)

    @property
    def blocks_resident(self) -> int:
        """Blocks of the main stack that stay on the card."""
        return self.blocks - self.blocks_swapped

    @property
    def weights_bytes(self) -> int:
        """Weights on the card at once."""
        return self.stay_bytes + self.resident_bytes + self.under_way_bytes

    @property
    def low_bytes(self) -> int | None:
        """The least that a step takes of the card."""
        low = self.ask.work.low_bytes
        return None if low is None else self.weights_bytes + low

    @property
    def high_bytes(self) -> int | None:
        """The most that a step takes of the card."""
        high = self.ask.work.high_bytes
        return None if high is None else self.weights_bytes + high

    @property
    def left_bytes(self) -> int | None:
        """Room that is left at the high end; negative where it is missing."""
        return None if self.high_bytes is None else self.ask.room_bytes - self.high_bytes

    @property
    def copied_bytes(self) -> int:
        """Bytes that cross the link in a step, both directions where blocks are copied back."""
        directions = 2 if self.ask.convention.copies_back else 1
        return self.swapped_bytes * self.ask.passes_per_step * directions

    @property
    def copy_seconds(self) -> float | None:
        """Time of these copies in a step."""
        return self.ask.link.seconds(self.copied_bytes)

    @property
    def step_seconds(self) -> float | None:
        """A step with the swap: copies run beside the work only where blocks are fetched ahead."""
        copies, compute = self.copy_seconds, self.ask.compute_seconds
        if copies is None or compute is None:
            return None
        return max(copies, compute) if self.hides_copies else copies + compute

    @property
    def hides_copies(self) -> bool:
        """Copies run beside the work."""
        return self.prefetch_blocks > 0


def blocks_that_fit(block_bytes: Sequence[int], room_bytes: int, end: Literal["last", "first"] = "last") -> int:
    """How many blocks stay when those at ``end`` leave until the rest is within ``room_bytes``."""
    staying = list(block_bytes) if end == "last" else list(reversed(block_bytes))
    total = fits = 0
    for size in staying:
        total += size
        if total > room_bytes:
            break
        fits += 1
    return fits


def plan_swap(ask: SwapAsk) -> SwapPlan:
    """The smallest swap with which the high end of the need fits; everything swapped where even that is too much."""
    total = len(ask.block_bytes)
    plan = _with(ask, 0, 0)
    for leaving in range(ask.convention.most(total) + 1):
        plan = _with(ask, ask.convention.setting(leaving, total), 0)
        if _within(plan, ask.room_bytes):
            return plan
    for vace in range(1, len(ask.vace_bytes) + 1):
        plan = _with(ask, ask.convention.setting(total, total), vace)
        if _within(plan, ask.room_bytes):
            return plan
    return plan


def swap_exactly(ask: SwapAsk, blocks_to_swap: int, vace_blocks_to_swap: int = 0) -> SwapPlan:
    """What a given setting does; a number beyond the model's blocks is taken as all of them, with a notice."""
    most = ask.convention.most(len(ask.block_bytes))
    vace_most = len(ask.vace_bytes)
    notices = []
    if blocks_to_swap > most:
        notices.append(_too_many(blocks_to_swap, most, len(ask.block_bytes), ask.convention))
    if vace_blocks_to_swap > vace_most:
        notices.append(f"{vace_blocks_to_swap} VACE blocks were asked for and this model has {vace_most}.")
    main = max(0, min(blocks_to_swap, ask.convention.setting(most, len(ask.block_bytes))))
    plan = _with(ask, main, max(0, min(vace_blocks_to_swap, vace_most)))
    return replace(plan, notices=(*notices, *plan.notices))


def _too_many(asked: int, most: int, total: int, convention: Convention) -> str:
    kept = f", and {convention.name} keeps one" if convention.stays else ""
    return f"{asked} blocks were asked for and this model has {total}{kept}: {most} is the most."


def _within(plan: SwapPlan, room_bytes: int) -> bool:
    """By the high end where it is known; where it is not, by the weights alone."""
    need = plan.high_bytes if plan.high_bytes is not None else plan.weights_bytes
    return need <= room_bytes


def _with(ask: SwapAsk, setting: int, vace: int) -> SwapPlan:
    """The plan that a setting makes."""
    total = len(ask.block_bytes)
    leaving = ask.convention.leaving(setting, total)
    stays, leaves = _parted(ask.block_bytes, leaving, ask.convention.end)
    vace_stays, vace_leaves = _parted(ask.vace_bytes, vace, ask.convention.end)
    gone = [*leaves, *vace_leaves]
    prefetch = min(ask.prefetch, len(gone)) if ask.convention.prefetch else 0
    plan = SwapPlan(
        ask=ask,
        blocks_to_swap=setting,
        blocks_swapped=leaving,
        vace_blocks_to_swap=vace,
        prefetch_blocks=prefetch,
        stay_bytes=ask.outside_bytes + ask.lora_bytes,
        resident_bytes=sum(stays) + sum(vace_stays),
        under_way_bytes=sum(sorted(gone, reverse=True)[: 1 + prefetch]),
        swapped_bytes=sum(gone),
        verdict="unknown",
    )
    return replace(plan, verdict=_verdict(plan))


def _parted(sizes: Sequence[int], leaving: int, end: Literal["last", "first"]) -> tuple[Sequence[int], Sequence[int]]:
    """Blocks that stay and blocks that leave."""
    if end == "first":
        return sizes[leaving:], sizes[:leaving]
    return sizes[: len(sizes) - leaving], sizes[len(sizes) - leaving :]


def _verdict(plan: SwapPlan) -> Verdict:
    low, high, room = plan.low_bytes, plan.high_bytes, plan.ask.room_bytes
    if low is None or high is None:
        return "does not fit" if plan.weights_bytes > room else "unknown"
    if low > room:
        return "does not fit"
    if high > room:
        return "may not fit"
    return "swap" if plan.blocks_swapped or plan.vace_blocks_to_swap else "resident"


def knee(ask: SwapAsk) -> int | None:
    """The fewest resident blocks beyond which none saves a hundredth of the step any more.

    None where the last block still pays, where copies do not hide behind the work (each block then saves its own
    copies, however many stay), and where no step was measured.
    """
    total = len(ask.block_bytes)
    found: int | None = None
    for leaving in range(1, total + 1):
        more, now = (_with(ask, ask.convention.setting(count, total), 0) for count in (leaving - 1, leaving))
        before, after = now.step_seconds, more.step_seconds
        if before is None or after is None or not now.hides_copies:
            return None
        if before - after >= LITTLE * before:
            break
        found = now.blocks_resident
    return found
