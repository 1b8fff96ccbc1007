"""The same run on cards of several sizes, side by side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ..largest import Largest
from ..units import GIB
from .ask import Ask
from .choices import Variant, best_variant
from .ram import RamPlan
from .stages import Outcome
from .whole import Plan, make_plan

TIERS_GIB = (8, 12, 16, 24)
#: What guides on the web say, by architecture and size of the card in GiB. Claims: nobody shows a measurement.
CLAIMS: dict[str, tuple[str, dict[int, str]]] = {
    "wan": (
        "Wan 2.7",
        {
            8: "stills at most",
            12: "GGUF, stills",
            16: "GGUF with offload, video slow",
            24: "full precision, 720p",
        },
    )
}


@dataclass(frozen=True)
class Tier:
    """A size of card: the run on it as asked for, and the quantisation to take there."""

    plan: Plan
    take: Variant | None
    """The largest that stays on the card, else the one that streams least; None where none fits."""
    take_outcome: Outcome | None
    take_largest: Largest | None
    claim: str
    """What a guide claims for this size; empty where none does."""

    @property
    def found(self) -> bool:
        """Whether this card is no answer: nothing that is there fits it, or the RAM beside it is short."""
        nothing = self.take is None and self.plan.outcome.verdict != "unknown"
        return nothing or self.plan.ram_found

    @property
    def card_bytes(self) -> int:
        """The card, as stated."""
        return self.plan.ask.card.stated_bytes


def make_tiers(ask: Ask, sizes: Sequence[int]) -> tuple[Tier, ...]:
    """The plan for every size of card in ``sizes``, in bytes."""
    return tuple(_tier(replace(ask, card=replace(ask.card, stated_bytes=size))) for size in sizes)


def _tier(ask: Ask) -> Tier:
    plan = make_plan(ask)
    best = best_variant(ask.models, ask.run, ask.setup, ask.variants)
    most = None
    if best is not None:
        models = replace(ask.models, diffusion=best[0].models)
        own = best[0].models == tuple(ask.models.diffusion)
        most = plan.largest if own else make_plan(replace(ask, models=models, variants=())).largest
    claims = CLAIMS.get(ask.models.diffusion[0].identity.architecture, ("", {}))[1]
    claim = claims.get(ask.card.stated_bytes // GIB, "") if ask.card.nominal else ""
    return Tier(plan, best[0] if best else None, best[1] if best else None, most, claim)


def ram_told(tiers: Sequence[Tier]) -> RamPlan | None:
    """The RAM of the card of which most is to be said: one whose copies do not come from RAM, else the first."""
    return next((tier.plan for tier in tiers if not tier.plan.copies_from_ram), tiers[0].plan).ram


def claim_about(ask: Ask) -> str:
    """Which model the guides' claims are about; empty where there are none for this family."""
    return CLAIMS.get(ask.models.diffusion[0].identity.architecture, ("", {}))[0]
