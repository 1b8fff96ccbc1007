"""The stages of a run under a loader: ComfyUI streams what does not fit, the wrappers swap blocks that are told."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ..budget import ORDER, Stage, StageBudget, Verdict, budget
from ..component import Component
from ..link import ASSUMED, Link
from ..needs import Models, Run, sampling_stage, stages
from ..offload import Role
from ..static_load import StaticLoader
from ..swap import SwapAsk, SwapPlan, Work, plan_swap, swap_exactly
from ..swap_table import CONVENTIONS, Convention

#: ComfyUI's own loaders; the others are the conventions of the wrappers.
COMFYUI = "comfyui"
LOADERS = (COMFYUI, *(row.id for row in CONVENTIONS))


@dataclass(frozen=True)
class Setup:
    """How a run is done: by which loader, over which link, on a card with how much room."""

    room_bytes: int
    loader: str = COMFYUI
    link: Link = ASSUMED
    prefetch: int = 0
    blocks: int | None = None
    """Blocks to swap, where they are asked for; None for the fewest that fit."""
    static: StaticLoader | None = None
    """How ComfyUI's own loader does it where dynamic VRAM is off."""

    @property
    def convention(self) -> Convention | None:
        """How the loader swaps; None for ComfyUI's own."""
        return next((row for row in CONVENTIONS if row.id == self.loader), None)


def run_with(run: Run, setup: Setup) -> Run:
    """The run as the loader does it.

    Wrappers send prompt and negative prompt through the model one after another, and WanVideoWrapper's decode collects
    its frames on the card.
    """
    if setup.convention is None:
        return replace(run, static=setup.static)
    return replace(run, together=False, static=None, joined_on_device=setup.convention.id.startswith("wan"))


def setup_stages(models: Models, run: Run, setup: Setup) -> list[tuple[Role, Stage]]:
    """The stages in the order in which they run."""
    run = run_with(run, setup)
    found = stages(models, run, setup.room_bytes)
    if setup.convention is None:
        return found
    swapped = iter(swap_asks(models, run, setup))
    return [
        (role, _swapping(stage, next(swapped), setup.blocks) if role == "diffusion" else stage) for role, stage in found
    ]


def _swapping(stage: Stage, ask: SwapAsk, blocks: int | None) -> Stage:
    """A sampling stage whose weights leave by blocks: what is on the card when those have left that may.

    These are all that can, or the number that was asked for: a larger run would swap no more than that.
    """
    most = (len(ask.block_bytes), len(ask.vace_bytes)) if blocks is None else (blocks,)
    gone = swap_exactly(ask, *most)
    return replace(stage, least_weights_bytes=min(stage.weights_bytes, gone.weights_bytes))


def setup_budgets(models: Models, run: Run, setup: Setup) -> tuple[tuple[Role, StageBudget], ...]:
    """What each stage does on the card."""
    found = setup_stages(models, run, setup)
    return tuple((role, budget(stage, setup.room_bytes, setup.link)) for role, stage in found)


def swap_asks(models: Models, run: Run, setup: Setup) -> list[SwapAsk]:
    """The question of a block swap for every diffusion model; none for ComfyUI's own loader."""
    convention = setup.convention
    if convention is None:
        return []
    return [_ask(model, models, run, setup, convention) for model in models.diffusion]


def _ask(model: Component, models: Models, run: Run, setup: Setup, convention: Convention) -> SwapAsk:
    stage = sampling_stage(model, run_with(run, setup))
    return SwapAsk(
        block_bytes=model.main_blocks,
        room_bytes=setup.room_bytes,
        vace_bytes=model.vace_blocks,
        outside_bytes=model.outside_bytes,
        lora_bytes=models.lora_bytes,
        work=Work(stage.low_bytes, stage.high_bytes),
        passes_per_step=stage.passes,
        prefetch=setup.prefetch,
        convention=convention,
        link=setup.link,
    )


def swap_plans(models: Models, run: Run, setup: Setup) -> tuple[SwapPlan, ...]:
    """The swap of every diffusion model, by the number that was asked for or the fewest blocks that fit."""
    asks = swap_asks(models, run, setup)
    if setup.blocks is not None:
        return tuple(swap_exactly(ask, setup.blocks) for ask in asks)
    return tuple(plan_swap(ask) for ask in asks)


@dataclass(frozen=True)
class Outcome:
    """A run in short, to compare it with another."""

    verdict: Verdict
    copied_bytes: tuple[int, int] | None
    """What crosses the link in a sampling step, of the model for which it is most."""
    copy_seconds: tuple[float, float] | None


def outcome(budgets: Sequence[tuple[Role, StageBudget]], swaps: Sequence[SwapPlan] = ()) -> Outcome:
    """The worst verdict, and the most that a step of sampling copies; text encoding and decode have no steps.

    Args:
        budgets: of all stages.
        swaps: with a wrapper's loader one per diffusion model; it then has the last word on sampling.
    """
    verdict: Verdict = "resident"
    alone: list[Verdict] = [one.verdict for role, one in budgets if not (swaps and role == "diffusion")]
    for one in (*alone, *map(_streaming, swaps)):
        verdict = one if ORDER.index(one) > ORDER.index(verdict) else verdict
    if swaps:
        most = max(swaps, key=lambda one: one.copied_bytes)
        time = most.copy_seconds
        return Outcome(verdict, (most.copied_bytes, most.copied_bytes), None if time is None else (time, time))
    steps = [one for role, one in budgets if role == "diffusion"]
    if not steps or any(one.copied_bytes is None for one in steps):
        return Outcome(verdict, None, None)
    worst = max(steps, key=lambda one: one.copied_bytes or (0, 0))
    return Outcome(verdict, worst.copied_bytes, worst.copy_seconds)


def _streaming(plan: SwapPlan) -> Verdict:
    """A swap's verdict in the words of a stage's."""
    return "streams" if plan.verdict == "swap" else plan.verdict


def judge(models: Models, run: Run, setup: Setup) -> Outcome:
    """A run in short."""
    return outcome(setup_budgets(models, run, setup), swap_plans(models, run, setup))
