"""The Image Guard's report, made from what the check found and what was done about it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from . import image_words as words
from .causes import Cause
from .choices import BLOCK, REPLACE
from .image import Bad, MediaCheck
from .latent_report import MOST_CAUSES, MOST_CELLS, MOST_ROWS, Run
from .latent_words import LONGEST_LIST
from .ranges import compact
from .report import Block, Cells, Level, Report, Row, Table, Text
from .units import duration


@dataclass(frozen=True)
class Action:
    """What the user asked for, and how many values were replaced."""

    mode: str
    oddities: str
    replaced: int = 0


def image_report(check: MediaCheck, action: Action, causes: Sequence[Cause], run: Run) -> Report:
    """The whole report; ``causes`` are the likely ones, best first, and empty where nothing is bad."""
    level, title, blocks = _finite(check) if check.finite else _bad(check, action, causes)
    source = f", from {run.source}" if run.source else ""
    return Report(
        level=level,
        title=title,
        figure=duration(run.seconds),
        blocks=(*blocks, Text(words.made_of(check) + source, muted=True)),
        facts=_facts(check, action, causes, run),
        made_at=run.made_at,
    )


def odd_error(check: MediaCheck) -> str:
    """The message where something odd stops the run: the title, the first place, and why it may be."""
    lines = words.odd_lines(check)
    return ". ".join([words.odd_part(check), *lines[:1], words.WHY[words.worst(check.odd)]])


def _finite(check: MediaCheck) -> tuple[Level, str, list[Block]]:
    if check.items == 0:
        return "info", f"Empty: there is no {words.NOUNS[check.medium]} to check", []
    if not check.odd:
        return "ok", "Clean", []
    kind = words.worst(check.odd)
    lines = words.odd_lines(check)
    blocks: list[Block] = [Text(line) for line in lines[:MOST_ROWS]]
    if len(lines) > MOST_ROWS:
        blocks.append(Text(f"and {len(lines) - MOST_ROWS} more", muted=True))
    blocks.append(Text(words.WHY[kind]))
    return words.KINDS[kind][0], words.odd_part(check), blocks


def _bad(check: MediaCheck, action: Action, causes: Sequence[Cause]) -> tuple[Level, str, list[Block]]:
    blocks: list[Block] = []
    if 1 < check.items <= MOST_CELLS:
        blocks.append(Cells(check.items, check.bad_items))
    elif len(compact(check.bad_items)) > LONGEST_LIST:
        blocks.append(Text(f"Bad {words.NOUNS[check.medium]}s: {compact(check.bad_items)}"))
    rows = [_row(check, bad) for bad in check.bad[:MOST_ROWS]]
    blocks.append(Table((words.capital(words.NOUNS[check.medium]), "NaN", "Inf"), rows))
    if len(check.bad) > MOST_ROWS:
        blocks.append(Text(f"and {len(check.bad) - MOST_ROWS} more", muted=True))
    for position, cause in enumerate(causes[:MOST_CAUSES]):
        blocks.append(Text(cause.text, lead="Or" if position else "Likely"))
    return "error", words.bad_part(check) + _tail(action), blocks


def _row(check: MediaCheck, bad: Bad) -> Row:
    places = [words.area(area, "bad", check.shape) for area in bad.areas[: words.MOST_PLACES]]
    if len(bad.areas) > words.MOST_PLACES:
        places.append(f"and {len(bad.areas) - words.MOST_PLACES} more")
    if bad.spans:
        places.append(words.spans(bad.spans))
    part = bad.counts.nan / bad.counts.total
    nan = words.share(part) if part >= 0.001 else f"{bad.counts.nan:,}"
    return Row((str(bad.item), nan, f"{bad.counts.inf:,}"), note="; ".join(places))


def _tail(action: Action) -> str:
    if action.mode == REPLACE:
        return f"; {action.replaced:,} value{'' if action.replaced == 1 else 's'} set to 0"
    return "; branch blocked" if action.mode == BLOCK else ""


def _facts(check: MediaCheck, action: Action, causes: Sequence[Cause], run: Run) -> dict[str, Any]:
    bad = [{"item": one.item, **_places(one), **one.counts.as_json()} for one in check.bad]
    odd = [
        {"item": one.item, "kind": one.kind, "values": list(one.values), "zero_share": one.share, **_places(one)}
        for one in check.odd
    ]
    return {
        "medium": check.medium,
        "finite": check.finite,
        "shape": list(check.shape),
        "dtype": check.dtype,
        "device": check.device,
        "sample_rate": check.sample_rate,
        "items": check.items,
        "bad_items": list(check.bad_items),
        "bad": bad,
        "odd": odd,
        "mode": action.mode,
        "oddities": action.oddities,
        "done": "pass" if check.finite else action.mode,
        "replaced_values": action.replaced,
        "causes": [cause.as_json() for cause in causes],
        "source": run.source or None,
        "seconds": run.seconds,
    }


def _places(one: Any) -> dict[str, Any]:
    return {
        "areas": [asdict(area) for area in one.areas],
        "spans": [asdict(span) for span in one.spans],
    }
