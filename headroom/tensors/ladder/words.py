"""The attempts in words."""

from __future__ import annotations

from collections.abc import Sequence

from ...core import oom
from ...core.ranges import named
from ...core.units import size
from ..names import dtype_name
from .attempt import Result
from .job import Job
from .options import Attempt, Words
from .rungs import Position


def how(at: Position, job: Job, items: Sequence[int]) -> str:
    """``fp16, full frame``; ``fp32, items 1 and 3, 512 px tiles, overlap 64``."""
    words = [dtype_name(at.dtype) + (" on the CPU" if at.on_cpu else "")]
    if len(items) < job.items:
        words.append(named(job.words.item, items))
    if at.space.own_tiles:
        words.append("the VAE's own tiles")
    elif at.space.tile is not None:
        words.append(at.space.tile.describe(job.kind.ratio))
    else:
        words.append("full frame, one by one" if at.space.one_by_one else "full frame")
    if at.evicted and not at.on_cpu:
        words.append("others evicted")
    return ", ".join(words)


def reason(result: Result, job: Job) -> str:
    """Why an attempt ended: ``finished``, ``NaN in items 1 and 3 of 4``, ``out of memory: asked 3.1 GiB``."""
    if result.oom_text is not None:
        return out_of_memory(result.oom_text)
    if not result.bad:
        return "finished"
    if result.bad_tiles is not None:
        return f"{result.what} in {result.bad_tiles[0]} of {result.bad_tiles[1]} tiles"
    return f"{result.what} in {named(job.words.item, result.bad, job.items) if job.items > 1 else 'the output'}"


def out_of_memory(text: str) -> str:
    """``out of memory: asked 3.1 GiB, had 1.9 GiB``, as far as the error's text says."""
    found = oom.figures(text)
    known = (("asked", found.asked_bytes), ("had", found.free_bytes))
    parts = [f"{word} {size(number)}" for word, number in known if number is not None]
    return "out of memory" + (f": {', '.join(parts)}" if parts else "")


def failure(attempts: Sequence[Attempt], result: Result, words: Words, saved: str | None, cpu_was_tried: bool) -> str:
    """The error when nothing is left to try: what happened, what to do, where the input is."""
    if result.oom_text is None:
        advice = words.damaged
    elif cpu_was_tried:
        advice = f"Close other programs or {words.noun} a smaller size."
    else:
        advice = "Set allow_cpu to always, set smallest_tile lower, or close other programs."
    tried = "; ".join(f"{attempt.how}: {attempt.reason}" for attempt in attempts)
    number = f"{len(attempts)} attempt{'s' if len(attempts) > 1 else ''}"
    return (
        f"The {words.noun} failed after {number}: {attempts[-1].reason}. {advice} "
        f"{words.rescue.format(saved=saved)} Tried: {tried}."
    )
