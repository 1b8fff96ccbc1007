"""A whole plan: the files of a run on a stated machine, and all that the other modules say about it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from .budget import StageBudget
from .component import Component
from .flags.ram import PIN_SHARE, PIN_SHARE_WINDOWS
from .largest import Largest, largest
from .link import ASSUMED, Link
from .needs import Models, Run
from .offload import Machine, OffloadPlan, Part, Role, plan_offload
from .plan_card import Card
from .plan_choices import Choice, Variant, choose
from .plan_stages import COMFYUI, Outcome, Setup, outcome, setup_budgets, setup_stages, swap_plans
from .room import BESIDE_MODELS_BYTES
from .swap import SwapPlan


@dataclass(frozen=True)
class Ask:
    """What is asked for."""

    models: Models
    run: Run
    card: Card
    ram_bytes: int | None = None
    """The machine's; None where it is not said."""
    loader: str = COMFYUI
    """One of ``plan_stages.LOADERS``."""
    link: Link = ASSUMED
    blocks: int | None = None
    prefetch: int = 0
    variants: Sequence[Variant] = ()
    """Quantisations that are there, the one asked for among them; from ``plan_choices.variants_of``."""

    @property
    def setup(self) -> Setup:
        """The machine and the loader, for the stages."""
        return Setup(self.card.room_bytes, self.loader, self.link, self.prefetch, self.blocks)


@dataclass(frozen=True)
class Switch:
    """The moment at which one diffusion model takes the place of another: both are in RAM then.

    ComfyUI-KJNodes #632: 10 GB that wait and 28 GB that load end ComfyUI at 32 GB.
    """

    first: str
    second: str
    models_bytes: int
    """Both models."""
    encoders_bytes: int
    """Text encoders, which stay in RAM too."""
    room_bytes: int
    """What models can have of the RAM."""

    @property
    def need_bytes(self) -> int:
        """All of it together."""
        return self.models_bytes + self.encoders_bytes

    @property
    def fits(self) -> bool:
        """Whether the RAM holds it."""
        return self.need_bytes <= self.room_bytes


@dataclass(frozen=True)
class Plan:
    """The answer."""

    ask: Ask
    stages: tuple[tuple[Role, StageBudget], ...]
    swaps: tuple[SwapPlan, ...]
    """One per diffusion model with a wrapper's loader; empty with ComfyUI's own, which streams by itself."""
    offload: OffloadPlan | None
    """None where the RAM is not said."""
    switch: Switch | None
    """None with one diffusion model, or where the RAM is not said."""
    largest: Largest
    choices: tuple[Choice, ...]

    @property
    def outcome(self) -> Outcome:
        """The worst verdict and the most that a step copies."""
        return outcome(self.stages, self.swaps)

    @property
    def swap_short_bytes(self) -> int:
        """RAM that is missing for the blocks of the model that swaps most; 0 where there is enough or none is said."""
        room = None if self.offload is None else self.offload.machine.ram_bytes
        most = max((swap.swapped_bytes for swap in self.swaps), default=0)
        return 0 if room is None else max(0, most - room)

    @property
    def found(self) -> bool:
        """Whether there is something to do about it: it may not fit, RAM is short, a file is broken."""
        return (
            self.outcome.verdict in ("may not fit", "does not fit")
            or any(plan.notices for plan in self.swaps)
            or bool(self.offload and self.offload.flags)
            or bool(self.switch and not self.switch.fits)
            or bool(self.swap_short_bytes)
            or any(model.broken for _, model in part_names(self.ask.models))
        )


def make_plan(ask: Ask) -> Plan:
    """The plan for what is asked for."""
    setup = ask.setup
    most = largest(ask.models, ask.run, setup.room_bytes, _stages_under(setup))
    machine = _machine(ask)
    parts = [Part(role, stage) for role, stage in setup_stages(ask.models, ask.run, setup)]
    return Plan(
        ask=ask,
        stages=setup_budgets(ask.models, ask.run, setup),
        swaps=swap_plans(ask.models, ask.run, setup),
        offload=None if machine is None else plan_offload(parts, machine),
        switch=_switch(ask, machine),
        largest=most,
        choices=choose(ask.models, ask.run, setup, ask.variants, most),
    )


def _stages_under(setup: Setup):
    """Stages for the search of the largest run: the loader's, for the room that the search gives."""
    return lambda models, run, room_bytes: setup_stages(models, run, replace(setup, room_bytes=room_bytes))


def _machine(ask: Ask) -> Machine | None:
    if ask.ram_bytes is None:
        return None
    share = PIN_SHARE_WINDOWS if ask.card.windows else PIN_SHARE
    return Machine(
        gpu_room_bytes=ask.card.room_bytes,
        ram_bytes=max(0, ask.ram_bytes - BESIDE_MODELS_BYTES),
        pin_bytes=int(ask.ram_bytes * share),
    )


def _switch(ask: Ask, machine: Machine | None) -> Switch | None:
    if machine is None or len(ask.models.diffusion) < 2:
        return None
    first, second = ask.models.diffusion[:2]
    return Switch(
        first.name,
        second.name,
        first.weights_bytes + second.weights_bytes,
        sum(one.weights_bytes for one in ask.models.encoders),
        machine.ram_bytes,
    )


def part_names(models: Models) -> list[tuple[str, Component]]:
    """Every file of a run with what it is used as."""
    found = [("model", one) for one in models.diffusion]
    found += [("text encoder", one) for one in models.encoders]
    found += [("VAE", models.vae)] if models.vae is not None else []
    return found + [("LoRA", one) for one in models.loras]
