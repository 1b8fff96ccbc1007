"""A whole plan: the files of a run on a stated machine, and all that the other modules say about it."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ..budget import Role, StageBudget
from ..largest import FITS, Largest, largest
from ..swap import SwapPlan
from .ask import Ask, part_names
from .choices import Choice, choose
from .ram import FINDINGS, RamPlan, plan_ram
from .ram_choices import ram_choices
from .settings import settings_of
from .stages import Outcome, Setup, outcome, setup_budgets, setup_stages, swap_plans

#: Choices that only take back what was stated.
SETTINGS = ("blocks", "prefetch", "reserve", "settings")


@dataclass(frozen=True)
class Plan:
    """The answer."""

    ask: Ask
    stages: tuple[tuple[Role, StageBudget], ...]
    swaps: tuple[SwapPlan, ...]
    """One per diffusion model with a wrapper's loader; empty with ComfyUI's own, which streams by itself."""
    ram: RamPlan | None
    """None where the RAM is not said."""
    largest: Largest
    """With the settings that were stated."""
    choices: tuple[Choice, ...]

    @property
    def outcome(self) -> Outcome:
        """The card: the worst verdict and the most that a step copies."""
        return outcome(self.stages, self.swaps)

    @property
    def copies_from_ram(self) -> bool:
        """Whether all that sampling copies comes from RAM, so that the link alone sets its time."""
        return all(self.timed(place) for place, (role, _) in enumerate(self.stages) if role == "diffusion")

    def timed(self, place: int) -> bool:
        """Whether a stage's copies come from RAM.

        Args:
            place: of the stage in ``stages``; placements have the same order.
        """
        if self.ram is None:
            return True
        one = self.ram.offload.placements[place]
        # A model that samples can have all the RAM after its first step; an encoder has one pass, from where it waits.
        return self.ram.timed(one) if one.part.role == "diffusion" else one.park != "disk"

    @property
    def settings_are_at_fault(self) -> bool:
        """Whether the run fits without a setting that was stated."""
        fits = any(one.id in SETTINGS and one.after.verdict in FITS for one in self.choices)
        return fits and self.outcome.verdict not in FITS

    @property
    def found(self) -> bool:
        """Whether there is something to do about it: it may not fit, RAM is short, a file is broken."""
        return (
            self.outcome.verdict in ("may not fit", "does not fit")
            or any(plan.notices for plan in self.swaps)
            or self.ram_found
            or any(model.broken for _, model in part_names(self.ask.models))
        )

    @property
    def ram_found(self) -> bool:
        """Whether RAM is short, or so small that every step waits for a disk."""
        return self.ram is not None and self.ram.verdict in FINDINGS


def make_plan(ask: Ask) -> Plan:
    """The plan for what is asked for."""
    setup = ask.setup
    most = largest(ask.models, ask.run, setup.room_bytes, _stages_under(setup))
    swaps = swap_plans(ask.models, ask.run, setup)
    ram = plan_ram(ask, swaps)
    choices = choose(ask.models, ask.run, setup, ask.variants, most, settings_of(ask.card, setup))
    return Plan(
        ask=ask,
        stages=setup_budgets(ask.models, ask.run, setup),
        swaps=swaps,
        ram=ram,
        largest=most,
        choices=(*choices, *ram_choices(ask, ram, choices)),
    )


def _stages_under(setup: Setup):
    """Stages for the search of the largest run: the loader's, for the room that the search gives."""
    return lambda models, run, room_bytes: setup_stages(models, run, replace(setup, room_bytes=room_bytes))
