"""Words that the three planning nodes share: ranges, verdicts, seconds."""

from __future__ import annotations

from .budget import StageBudget, Verdict
from .report import Level
from .room import NO_CARD, Room
from .units import duration, gib, number, with_unit

LEVELS: dict[Verdict, Level] = {
    "resident": "ok",
    "streams": "ok",
    "unknown": "info",
    "may not fit": "warn",
    "does not fit": "error",
}
EN_DASH = "\u2013"
NA = "n/a"
SOURCE = "Range of the work: {source}."


def gibs(size_bytes: int | None) -> str:
    """Bytes as GiB with their unit; "n/a" where unknown."""
    return NA if size_bytes is None else with_unit(gib(size_bytes), "GiB")


def no_room_title(room: Room) -> str:
    """Why there is nothing to plan for: no card, or one that does not tell what is free; or RAM that does not."""
    if room.card == NO_CARD:
        return "No card to plan for"
    return "What is free on the card is not known" if room.room_bytes is None else "What is free in RAM is not known"


def span(low: int | None, high: int | None) -> str:
    """A range of bytes as bare GiB: "2.1" with an en dash and "3.4", one number where both read the same."""
    if low is None or high is None:
        return NA
    first, last = gib(low), gib(high)
    return first if first == last else f"{first}{EN_DASH}{last}"


def seconds_span(found: tuple[float, float] | None) -> str:
    """A range of seconds."""
    if found is None:
        return NA
    first, last = (duration(seconds) for seconds in found)
    return first if first == last else f"{first} to {last}"


def seconds(low: float, high: float) -> str:
    """``0.2-0.3 s``: a rate that is assumed makes no milliseconds."""
    if high >= 120:
        return f"{duration(low)} to {duration(high)}" if low >= 1 else f"up to {duration(high)}"
    if high < 0.05:
        return f"under {with_unit('0.1', 's')}"
    first, last = number(low), number(high)
    return with_unit(first if first == last else f"{first}{EN_DASH}{last}", "s")


def stage_words(one: StageBudget) -> str:
    """What a stage does: "stays on the card", "streams 2.1-3.4 GiB per step, about 0.5 s"."""
    tiled = f", {one.stage.note}" if one.stage.note else ""
    if one.verdict == "streams" and one.streamed_bytes is not None and one.copied_bytes is not None:
        about = "" if one.copy_seconds is None else f", {seconds_span(one.copy_seconds)}"
        low, high = one.copied_bytes
        if low == 0:
            return f"streams up to {with_unit(gib(high), 'GiB')} per step{about}{tiled}"
        return f"streams {with_unit(span(low, high), 'GiB')} per step{about}{tiled}"
    if one.verdict == "resident":
        return f"fits{tiled}"
    if one.verdict == "unknown":
        return "its need is not known"
    return one.verdict + tiled
