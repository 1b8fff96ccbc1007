"""What to change so that a run fits, or streams less, the cheapest first: only what helps, judged by the same sums."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from ..budget import ORDER
from ..component import Component
from ..largest import FITS, Largest
from ..needs import Models, Run
from .settings import Setting, tried
from .stages import Outcome, Setup, judge

#: A change that leaves more than this share of the copies is not worth a word.
WORTH = 0.7


@dataclass(frozen=True)
class Variant:
    """The diffusion models of a run in one quantisation, as files that are there."""

    models: tuple[Component, ...]

    @property
    def format(self) -> str:
        """What most of their bytes are stored in."""
        return " and ".join(dict.fromkeys(model.format for model in self.models))

    @property
    def names(self) -> tuple[str, ...]:
        """The files' names."""
        return tuple(model.name for model in self.models)

    @property
    def largest_bytes(self) -> int:
        """Weights of the largest of them: they take turns on the card."""
        return max(model.weights_bytes for model in self.models)


@dataclass(frozen=True)
class Choice:
    """One change, and what the run is with it."""

    id: str
    """``blocks``, ``prefetch``, ``reserve``, ``settings``, ``batch``, ``quantisation``, ``cfg``, ``frames``, ``size``;
    for the RAM ``dynamic``, ``small_files``, ``cache-none``, ``ram``."""
    run: Run
    files: tuple[str, ...]
    """Of a quantisation: the files to load instead."""
    format: str
    after: Outcome
    note: str = ""
    """Of a setting, or of the RAM: what to do."""


def variants_of(models: Sequence[Component], others: Sequence[Sequence[Component]]) -> tuple[Variant, ...]:
    """Every quantisation in which all models of a run are there, the largest first; the run's own is one of them.

    Args:
        models: the diffusion models of the run.
        others: for each of them its siblings.
    """
    own = Variant(tuple(models))
    by_format = [{one.format: one for one in some} for some in others]
    common = [name for name in (by_format[0] if by_format else {}) if all(name in some for some in by_format)]
    found = [own, *(Variant(tuple(some[name] for some in by_format)) for name in common)]
    return tuple(sorted(found, key=lambda variant: -variant.largest_bytes))


def choose(
    models: Models,
    run: Run,
    setup: Setup,
    variants: Sequence[Variant],
    most: Largest,
    settings: Sequence[Setting] = (),
) -> tuple[Choice, ...]:
    """The changes that help, in the order of what they cost: nothing, time, quality, the picture itself."""
    now = judge(models, run, setup)
    if now.verdict == "resident":
        return ()
    free = tuple(
        Choice(one.id, run, (), "", after, words)
        for one, after, words in tried(models, run, setup, settings)
        if better(after, now)
    )
    found = (*free, *_that_help(models, run, setup, variants, now))
    if now.verdict in FITS or any(one.after.verdict in FITS for one in free):
        return found
    return (*found, *_smaller_runs(models, run, setup, most))


def _that_help(models: Models, run: Run, setup: Setup, variants: Sequence[Variant], now: Outcome) -> Iterator[Choice]:
    if run.batch > 1:
        single = replace(run, batch=1)
        after = judge(models, single, setup)
        if better(after, now):
            yield Choice("batch", single, (), "", after)
    best = best_variant(models, run, setup, [one for one in variants if one.models != tuple(models.diffusion)])
    if best is not None and better(best[1], now):
        yield Choice("quantisation", run, best[0].names, best[0].format, best[1])
    if run.cfg > 1:
        alone = replace(run, cfg=1.0)
        after = judge(models, alone, setup)
        if better(after, now):
            yield Choice("cfg", alone, (), "", after)


def _smaller_runs(models: Models, run: Run, setup: Setup, most: Largest) -> Iterator[Choice]:
    """Fewer frames or pixels, where nothing that is free makes the run fit."""
    if most.frames is not None and most.frames < run.frames:
        shorter = replace(run, frames=most.frames)
        yield Choice("frames", shorter, (), "", judge(models, shorter, setup))
    if most.size is not None and most.size[0] * most.size[1] < run.width * run.height:
        smaller = replace(run, width=most.size[0], height=most.size[1])
        yield Choice("size", smaller, (), "", judge(models, smaller, setup))


def better(after: Outcome, now: Outcome) -> bool:
    """Whether the verdict is a better one, or a run that fits anyhow copies clearly less in a step."""
    if after.verdict != now.verdict or now.verdict not in FITS:
        return ORDER.index(after.verdict) < ORDER.index(now.verdict)
    if after.copied_bytes is None or now.copied_bytes is None:
        return False
    return after.copied_bytes[1] <= WORTH * now.copied_bytes[1] and now.copied_bytes[1] > 0


def best_variant(models: Models, run: Run, setup: Setup, variants: Sequence[Variant]) -> tuple[Variant, Outcome] | None:
    """The largest quantisation that stays on the card as a whole, else the one that streams least.

    None where none fits.
    """
    judged = [
        (one, judge(replace(models, diffusion=one.models), run, setup))
        for one in sorted(variants, key=lambda one: -one.largest_bytes)
    ]
    resident = next((pair for pair in judged if pair[1].verdict == "resident"), None)
    if resident is not None:
        return resident
    fitting = [pair for pair in judged if pair[1].verdict in FITS]
    # Two that stream equally much: the larger one, which comes first.
    return min(fitting, key=lambda pair: (pair[1].copied_bytes or (0, 0))[1], default=None)
