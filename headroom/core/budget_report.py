"""The report of the VRAM Budget node."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from .budget import Holders, StageBudget, Verdict, worst
from .planning_words import LEVELS, NA, SOURCE, gibs, no_room_title, span, stage_words
from .report import Block, Report, Row, Table, Text
from .room import Room
from .units import gib


@dataclass(frozen=True)
class BudgetResult:
    """What the node found."""

    room: Room
    holders: Holders | None
    """None without a card."""
    stages: Sequence[StageBudget]
    headroom_bytes: int | None
    at_most: bool = False
    """A need is not known, so that only the weights are counted: what is left is at most this."""
    notes: Sequence[str] = ()

    @property
    def verdict(self) -> Verdict:
        """Of the worst stage."""
        return worst(self.stages)

    @property
    def fits(self) -> bool:
        """Surely fits, streamed where that is needed."""
        return self.holders is not None and self.verdict in ("resident", "streams")


def budget_report(result: BudgetResult, made_at: float) -> Report:
    """The whole report."""
    if result.holders is None:
        return Report("info", no_room_title(result.room), NA, [Text(result.room.why_not)], _facts(result), made_at)
    blocks: list[Block] = []
    if result.stages:
        rows = [_row(one) for one in result.stages]
        blocks.append(Table(("Stage", "Weights, GiB", "Work, GiB", "Both, GiB"), rows))
    blocks.append(_card(result.holders))
    blocks += [Text(note) for note in result.notes]
    sources = dict.fromkeys(one.stage.source for one in result.stages if one.stage.source)
    blocks += [Text(SOURCE.format(source=source), muted=True) for source in sources]
    left = gibs(result.headroom_bytes)
    figure = f"at most {left}" if result.at_most and result.headroom_bytes is not None else left
    return Report(LEVELS[result.verdict], _title(result), figure, blocks, _facts(result), made_at)


def _title(result: BudgetResult) -> str:
    available = None if result.holders is None else result.holders.available_bytes
    if not result.stages:
        return f"{gibs(available)} of {result.room.card} can be had"
    worst_stage = next(one for one in result.stages if one.verdict == result.verdict)
    name = worst_stage.stage.name
    if result.verdict == "resident":
        return f"Fits: {gibs(available)} can be had"
    if result.verdict == "streams":
        return f"Fits; {name} {stage_words(worst_stage)}"
    if result.verdict == "unknown":
        return f"{name}: what it needs is not known"
    need = worst_stage.need_bytes
    wants = "" if need is None else f": needs {span(*need)} of {gibs(worst_stage.room_bytes)}"
    return f"{name} {worst_stage.verdict}{wants}"


def _row(one: StageBudget) -> Row:
    stage = one.stage
    both = NA if one.need_bytes is None else span(*one.need_bytes)
    label = f"{stage.name}: {stage.part}" if stage.part else stage.name
    return Row((label, gib(stage.weights_bytes), span(stage.low_bytes, stage.high_bytes), both), note=stage_words(one))


def _card(found: Holders) -> Table:
    parts = (
        ("Other programs and the driver", found.others_bytes),
        ("Held here", found.held_bytes),
        ("Weights that can go", found.evictable_bytes),
        ("torch's cache", found.cache_bytes),
        ("Free", found.free_bytes),
    )
    rows = [Row((name, gib(size))) for name, size in parts]
    return Table(("The card now", "GiB"), [*rows, Row(("Together", gib(found.total_bytes)))])


def _facts(result: BudgetResult) -> dict[str, Any]:
    holders = None
    if result.holders is not None:
        holders = asdict(result.holders) | {
            "available_bytes": result.holders.available_bytes,
            "held_bytes": result.holders.held_bytes,
        }
    return {
        "card": result.room.card,
        "holders": holders,
        "room_bytes": result.room.room_bytes,
        "headroom_bytes": result.headroom_bytes,
        "at_most": result.at_most,
        "fits": result.fits,
        "verdict": result.verdict if result.holders is not None else "unknown",
        "stages": [stage_facts(one) for one in result.stages],
    }


def stage_facts(one: StageBudget) -> dict[str, Any]:
    """A stage for programs: sizes in bytes, ranges as [low, high]."""
    stage = one.stage
    return {
        "name": stage.name,
        "part": stage.part,
        "verdict": one.verdict,
        "weights_bytes": stage.weights_bytes,
        "work_bytes": None if stage.low_bytes is None else [stage.low_bytes, stage.high_bytes],
        "reserved_by_host_bytes": stage.reserved_bytes,
        "need_bytes": None if one.need_bytes is None else list(one.need_bytes),
        "room_bytes": one.room_bytes,
        "streamed_bytes": None if one.streamed_bytes is None else list(one.streamed_bytes),
        "copied_bytes_per_step": None if one.copied_bytes is None else list(one.copied_bytes),
        "copy_seconds_per_step": None if one.copy_seconds is None else list(one.copy_seconds),
        "link": one.link.words,
        "source": stage.source,
        "note": stage.note,
    }
