"""What VAE Decode (Safe) says: every attempt with its reason, its time and its peak."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from ...core.causes import Cause
from ...core.ranges import named
from ...core.report import Block, Level, Report, Row, Table, Text
from ...core.units import GIB, duration, gib, number
from ...core.vae import Peak
from .options import Attempt, Decoded

MOST_CAUSES = 2


def decode_report(decoded: Decoded, peak: Peak, causes: Sequence[Cause] = ()) -> Report:
    """The report of a decode that finished."""
    attempts = decoded.attempts
    level, title = _headline(decoded)
    saved = [Text(f"The latent is saved as `{decoded.saved_latent}`.")] if decoded.saved_latent else []
    single = len(attempts) == 1
    blocks: list[Block] = [Text(_in_one_line(attempts[0], peak), muted=True)] if single else [_table(attempts)]
    blocks += [Text(notice) for notice in decoded.notices]
    return Report(
        level="info" if decoded.notices and level == "ok" else level,
        title=title,
        figure=duration(sum(attempt.seconds for attempt in attempts)),
        blocks=(*blocks, *_likely(causes), *saved),
        facts=_facts(attempts, causes, decoded, peak),
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


def failed_report(text: str, attempts: Sequence[Attempt] = (), causes: Sequence[Cause] = ()) -> Report:
    """The report of a decode that did not succeed, or was refused before any attempt."""
    title = f"Failed: {attempts[-1].reason}" if attempts else "Not decoded"
    blocks: list[Block] = [_table(attempts)] if attempts else []
    told, _, _ = text.partition(" Tried: ")
    return Report(
        level="error",
        title=title,
        blocks=(*blocks, Text(told), *_likely(causes)),
        facts=_facts(attempts, causes),
        made_at=time.time(),
    )


def _headline(decoded: Decoded) -> tuple[Level, str]:
    first, last = decoded.attempts[0], decoded.attempts[-1]
    if decoded.approximate:
        return "info", "Decoded in tiles: approximate"
    if len(decoded.attempts) == 1:
        return "ok", "Decoded as it is" if "full frame" in first.how else f"Decoded with {first.how}"
    if last.device == "cpu" and first.device != "cpu":
        return "info", "Decoded on the CPU"
    if last.dtype != first.dtype:
        some = f"{named('item', last.items)} " if len(last.items) < len(first.items) else ""
        return "ok", f"Decoded; {some}in {last.dtype}" if some else f"Decoded in {last.dtype}"
    return "ok", "Decoded after memory was made free"


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


def _facts(
    attempts: Sequence[Attempt], causes: Sequence[Cause] = (), decoded: Decoded | None = None, peak: Peak | None = None
) -> dict[str, Any]:
    facts: dict[str, Any] = {
        "finished": decoded is not None,
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
    if decoded is not None:
        facts |= {
            "approximate": decoded.approximate,
            "notices": list(decoded.notices),
            "saved_latent": decoded.saved_latent,
        }
    if peak is not None:
        facts |= {
            "reserved_by_host_bytes": peak.reserved_by_host_bytes,
            "peak_low_bytes": peak.low_bytes,
            "peak_high_bytes": peak.high_bytes,
            "peak_source": peak.source,
        }
    return facts
