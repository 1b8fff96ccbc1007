"""Settings that a person stated and that stand in the way: block swap, prefetch, reserve; each tried without it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from ..largest import FITS
from ..needs import Models, Run
from ..planning_words import gibs
from .card import Card
from .stages import Outcome, Setup, judge, swap_plans


@dataclass(frozen=True)
class Setting:
    """What was stated, and the setup without it."""

    id: str
    """``blocks``, ``prefetch``, ``reserve``; ``settings`` for all that were stated."""
    words: str
    """What to set in its place; for ``blocks`` the number, which the run decides, comes in front."""
    setup: Setup


def settings_of(card: Card, setup: Setup) -> tuple[Setting, ...]:
    """Everything that was stated, one by one, and all of it together last."""
    found: list[Setting] = []
    free = setup
    if setup.blocks is not None:
        free = replace(free, blocks=None)
        found.append(Setting("blocks", f"in place of {setup.blocks}", replace(setup, blocks=None)))
    if setup.prefetch:
        free = replace(free, prefetch=0)
        found.append(Setting("prefetch", f"prefetch_blocks 0 in place of {setup.prefetch}", replace(setup, prefetch=0)))
    usual = replace(card, reserve_bytes=None)
    if usual.room_bytes > setup.room_bytes:
        free = replace(free, room_bytes=usual.room_bytes)
        words = f"without --reserve {gibs(card.reserve_bytes)}, so that ComfyUI keeps free what it does by itself"
        found.append(Setting("reserve", words, replace(setup, room_bytes=usual.room_bytes)))
    if len(found) > 1:
        found.append(Setting("settings", ", ".join(one.words for one in found if one.id != "blocks"), free))
    return tuple(found)


def tried(
    models: Models, run: Run, setup: Setup, settings: Sequence[Setting]
) -> Iterator[tuple[Setting, Outcome, str]]:
    """What each setting would come to, with the words for it; all together only where no single one makes it fit."""
    fit = False
    for one in settings:
        if one.id == "settings" and fit:
            return
        after = judge(models, run, one.setup)
        fit = fit or after.verdict in FITS
        yield one, after, _words(models, run, setup, one)


def _words(models: Models, run: Run, setup: Setup, one: Setting) -> str:
    """``blocks_to_swap 22 in place of 10``; of two models that swap differently both numbers."""
    if one.setup.convention is None or one.setup.blocks is not None:
        return one.words
    numbers = dict.fromkeys(str(plan.blocks_to_swap) for plan in swap_plans(models, run, one.setup))
    blocks = f"blocks_to_swap {' and '.join(numbers)}"
    if one.id == "blocks":
        return f"{blocks} {one.words}"
    instead = f" in place of {setup.blocks}" if setup.blocks is not None else ""
    return ", ".join(text for text in (f"{blocks}{instead}", one.words) if text)
