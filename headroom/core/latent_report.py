"""The Latent Guard's report and error text, made from what the check found and what was done about it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from . import latent_words as words
from .causes import Cause
from .choices import BLOCK, DROP, REPLACE, STOP
from .latent import Counts, LatentCheck
from .ranges import compact
from .report import Block, Cells, Level, Report, Row, Table, Text
from .units import duration, number, value, with_unit

MOST_CELLS = 32
MOST_ROWS = 8
MOST_CAUSES = 3


@dataclass(frozen=True)
class Action:
    """What was done about a bad latent; for a clean one nothing of this is said."""

    asked: str
    """The mode that the user chose."""
    done: str
    """The mode that was followed: "stop the run" instead of "drop bad items" where no item is good."""
    kept: Sequence[int] = ()
    replaced: int = 0


@dataclass(frozen=True)
class Run:
    """When and where a check ran."""

    seconds: float
    made_at: float
    source: str = ""
    """The node that the latent came from, as "KSampler #12"; empty where unknown."""


def latent_report(check: LatentCheck, action: Action, causes: Sequence[Cause], run: Run) -> Report:
    """The whole report; ``causes`` are the likely ones, best first, and empty for a clean latent."""
    level, title, blocks = _clean(check) if check.finite else _bad(check, action, causes)
    source = f", from {run.source}" if run.source else ""
    # No value range here: finding it would double the cost of a scan that found nothing.
    made_of = [words.made_of(stream, check.nested) for stream in check.streams]
    made_of[-1:] = [made_of[-1] + source]
    return Report(
        level=level,
        title=title,
        figure=duration(run.seconds),
        blocks=(*blocks, *(Text(line, muted=True) for line in made_of)),
        facts=_facts(check, action, causes, run),
        made_at=run.made_at,
    )


def error_text(report: Report, causes: Sequence[Cause]) -> str:
    """The message of the error that stops a run: the title and the first cause."""
    return f"{report.title}." + (f" Likely: {causes[0].text}" if causes else "")


def notices(check: LatentCheck) -> list[str]:
    """Ids of what is odd about the finite part: magnitude, channels, noise mask, empty."""
    found = {
        "empty": check.items == 0,
        "magnitude": any(stream.huge for stream in check.streams),
        "repeated channels": any(stream.repeated_channels for stream in check.streams),
        "noise mask": check.mask_is_bad,
    }
    return [name for name, here in found.items() if here]


def _clean(check: LatentCheck) -> tuple[Level, str, list[Block]]:
    found = notices(check)
    blocks: list[Block] = []
    level: Level = "ok"
    title = "Clean"
    if "empty" in found:
        level, title = "info", "Empty: there is no item to check"
    if "repeated channels" in found:
        level, title = "info", "Finite, but channels 0 and 1 come again as 2 and 3"
        text = "wrong weights after a model was loaded again; the picture may be bright green. Unload all models."
        blocks.append(Text(text, lead="Likely"))
    if "magnitude" in found:
        largest = max(stream.largest or 0.0 for stream in check.streams)
        level, title = "warn", f"Finite, but values reach {value(largest)}"
        blocks.append(Text("The next step may turn them into Inf, and Inf into NaN."))
    if "noise mask" in found:
        level = "warn"
        title = "Clean, but its noise_mask holds NaN or Inf" if title == "Clean" else title
        blocks.append(Text("The noise_mask holds NaN or Inf and is passed on as it is. Check the node that made it."))
    return level, title, blocks


def _bad(check: LatentCheck, action: Action, causes: Sequence[Cause]) -> tuple[Level, str, list[Block]]:
    blocks: list[Block] = []
    if 1 < check.items <= MOST_CELLS:
        blocks.append(Cells(check.items, check.bad_items))
    elif len(compact(check.bad_items)) > words.LONGEST_LIST:
        blocks.append(Text(f"Bad items: {compact(check.bad_items)}"))
    rows = _rows(check)
    blocks.append(Table(("Stream" if check.nested else "Item", "NaN", "Inf", "Finite range"), rows[:MOST_ROWS]))
    if len(rows) > MOST_ROWS:
        blocks.append(Text(f"and {len(rows) - MOST_ROWS} more", muted=True))
    for position, cause in enumerate(causes[:MOST_CAUSES]):
        blocks.append(Text(cause.text, lead="Or" if position else "Likely"))
    if check.mask_is_bad:
        blocks.append(Text("The noise_mask holds NaN or Inf too. Check the node that made it."))
    return "error", words.part(check) + _tail(action), blocks


def _tail(action: Action) -> str:
    if action.done == DROP:
        return f"; kept {words.listing(action.kept)}"
    if action.done == REPLACE:
        return f"; repaired {action.replaced:,} value{'' if action.replaced == 1 else 's'}"
    if action.done == BLOCK:
        return "; branch blocked"
    return "; no item is left to keep" if (action.asked, action.done) == (DROP, STOP) else ""


def _rows(check: LatentCheck) -> list[Row]:
    rows = []
    for stream in check.streams:
        for bad in stream.bad:
            name = words.stream_name(stream) + (f", item {bad.item}" if stream.items > 1 else "")
            counts = bad.counts
            cells = (name if check.nested else str(bad.item), _share(counts), f"{counts.inf:,}", _range(counts))
            rows.append(Row(cells, note=words.frames(bad, stream.frames)))
    return rows


def _share(counts: Counts) -> str:
    """NaN as a share; as a bare count where a share would read 0.0 %."""
    percent = 100 * counts.nan / counts.total
    return with_unit(number(percent), "%") if percent >= 0.1 else f"{counts.nan:,}"


def _range(counts: Counts) -> str:
    if counts.low is None or counts.high is None:
        return "none"
    return f"{value(counts.low)} to {value(counts.high)}"


def _facts(check: LatentCheck, action: Action, causes: Sequence[Cause], run: Run) -> dict[str, Any]:
    streams = [
        {
            "index": stream.index,
            "kind": stream.kind,
            "shape": list(stream.shape),
            "dtype": stream.dtype,
            "device": stream.device,
            "bad": [{"item": bad.item, "frames": list(bad.frames), **bad.counts.as_json()} for bad in stream.bad],
        }
        for stream in check.streams
    ]
    return {
        "finite": check.finite,
        "nested": check.nested,
        "items": check.items,
        "bad_items": list(check.bad_items),
        "streams": streams,
        "noise_mask_finite": not check.mask_is_bad,
        "notices": notices(check),
        "mode": action.asked,
        "done": "pass" if check.finite else action.done,
        "kept": list(action.kept),
        "replaced_values": action.replaced,
        "causes": [cause.as_json() for cause in causes],
        "source": run.source or None,
        "seconds": run.seconds,
    }
