"""What VAE Decode (Safe) and VAE Encode (Safe) say: every attempt with its reason, its time and its peak."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from ...core.causes import Cause
from ...core.ranges import named
from ...core.report import Block, Level, Report, Row, Table, Text
from ...core.units import GIB, duration, gib, number
from ...core.vae import Peak
from .options import Attempt, Climbed, Words

MOST_CAUSES = 2


def finished_report(climbed: Climbed, words: Words, causes: Sequence[Cause] = ()) -> Report:
    """The report of a run that finished."""
    attempts = climbed.attempts
    level, title = _headline(climbed, words)
    saved = [Text(f"The latent is saved as `{climbed.saved_latent}`.")] if climbed.saved_latent else []
    single = len(attempts) == 1
    blocks: list[Block] = [Text(_in_one_line(attempts[0], climbed.peak), muted=True)] if single else [_table(attempts)]
    blocks += [Text(notice) for notice in climbed.notices]
    return Report(
        level="info" if climbed.notices and level == "ok" else level,
        title=title,
        figure=duration(sum(attempt.seconds for attempt in attempts)),
        blocks=(*blocks, *_likely(causes), *saved),
        facts=_facts(attempts, causes, climbed),
        made_at=time.time(),
    )


def running_report(attempts: Sequence[Attempt]) -> Report:
    """The report while the ladder goes on after a failed attempt."""
    return Report(
        level="info",
        title=f"Attempt {len(attempts)} did not do; trying the next",
        blocks=(_table(attempts),),
        facts=_facts(attempts),
        made_at=time.time(),
    )


def failed_report(text: str, words: Words, attempts: Sequence[Attempt] = (), causes: Sequence[Cause] = ()) -> Report:
    """The report of a run that did not succeed, or was refused before any attempt."""
    title = f"Failed: {attempts[-1].reason}" if attempts else f"Not {words.done.lower()}"
    blocks: list[Block] = [_table(attempts)] if attempts else []
    told, _, _ = text.partition(" Tried: ")
    return Report(
        level="error",
        title=title,
        blocks=(*blocks, Text(told), *_likely(causes)),
        facts=_facts(attempts, causes),
        made_at=time.time(),
    )


def _headline(climbed: Climbed, words: Words) -> tuple[Level, str]:
    first, last = climbed.attempts[0], climbed.attempts[-1]
    if climbed.approximate:
        return "info", f"{words.done} in tiles: approximate"
    if len(climbed.attempts) == 1:
        return "ok", f"{words.done} as it is" if "full frame" in first.how else f"{words.done} with {first.how}"
    if last.device == "cpu" and first.device != "cpu":
        return "info", f"{words.done} on the CPU"
    if last.dtype != first.dtype:
        some = f"{named(words.item, last.items)} " if len(last.items) < len(first.items) else ""
        return "ok", f"{words.done}; {some}in {last.dtype}" if some else f"{words.done} in {last.dtype}"
    return "ok", f"{words.done} after memory was made free"


def _table(attempts: Sequence[Attempt]) -> Table:
    """The attempts; the peak's column only where a peak could be measured."""
    measured = any(attempt.peak_bytes is not None for attempt in attempts)
    columns = ("Attempt", "Time, s", "Peak, GiB") if measured else ("Attempt", "Time, s")
    rows = []
    for attempt in attempts:
        figures = [number(attempt.seconds), gib(attempt.peak_bytes)][: len(columns) - 1]
        rows.append(Row((attempt.how, *figures), note=attempt.reason, done=attempt.outcome == "finished"))
    return Table(columns, rows, numbered=True)


def _in_one_line(attempt: Attempt, peak: Peak) -> str:
    words = [attempt.how]
    if attempt.peak_bytes is not None:
        words.append(f"peak {gib(attempt.peak_bytes)} GiB")
    text = ", ".join(words)
    if peak.low_bytes is not None and peak.high_bytes is not None and peak.high_bytes >= GIB // 20:
        text += f"; estimate {gib(peak.low_bytes)}–{gib(peak.high_bytes)} GiB for the full frame"
    return text


def _likely(causes: Sequence[Cause]) -> list[Text]:
    return [Text(cause.text, lead="Or" if place else "Likely") for place, cause in enumerate(causes[:MOST_CAUSES])]


def _facts(attempts: Sequence[Attempt], causes: Sequence[Cause] = (), climbed: Climbed | None = None) -> dict[str, Any]:
    facts: dict[str, Any] = {
        "finished": climbed is not None,
        "attempts": [
            {
                "how": attempt.how,
                "dtype": attempt.dtype,
                "device": attempt.device,
                "items": list(attempt.items),
                "outcome": attempt.outcome,
                "reason": attempt.reason,
                "seconds": attempt.seconds,
                "peak_bytes": attempt.peak_bytes,
            }
            for attempt in attempts
        ],
        "causes": [cause.as_json() for cause in causes],
    }
    if climbed is not None:
        facts |= {
            "approximate": climbed.approximate,
            "notices": list(climbed.notices),
            "saved_latent": climbed.saved_latent,
            "reserved_by_host_bytes": climbed.peak.reserved_by_host_bytes,
            "peak_low_bytes": climbed.peak.low_bytes,
            "peak_high_bytes": climbed.peak.high_bytes,
            "peak_source": climbed.peak.source,
        }
    return facts
