"""Which part of a latent is bad, and what it is made of, in words."""

from __future__ import annotations

from collections.abc import Sequence

from .latent import BadItem, LatentCheck, StreamCheck
from .ranges import compact, named

#: Longer lists of items do not fit a title; the report then lists them below.
LONGEST_LIST = 40


def part(check: LatentCheck) -> str:
    """The bad part and how it is bad: "Items 1 and 3 of 4 are NaN", "Frame 7 of 21 holds NaN and Inf"."""
    bad = [stream for stream in check.streams if stream.bad]
    kind = kinds_of_bad(check)
    if check.items > 1:
        where = f" in {streams(bad)}" if check.nested and len(bad) < len(check.streams) else ""
        indices, whole = check.bad_items, all(_is_whole(item) for stream in bad for item in stream.bad)
        return f"{_subject('item', indices, check.items)} {_verb(len(indices), whole)} {kind}{where}"
    if check.nested:
        whole = all(_is_whole(stream.bad[0]) for stream in bad)
        frames = "" if len(bad) > 1 else _frames_of_one(bad[0])
        return f"{_capital(streams(bad))} {_verb(len(bad), whole)} {kind}{frames}"
    item = bad[0].bad[0]
    if bad[0].kind == "video":
        whole = item.counts.nan * bad[0].frames == item.counts.total * len(item.frames)
        subject = _subject("frame", item.frames, bad[0].frames)
        return f"{subject} {_verb(len(item.frames), whole)} {kind}"
    return f"The latent {_verb(1, _is_whole(item))} {kind}"


def kinds_of_bad(check: LatentCheck) -> str:
    """NaN, Inf, or both."""
    counts = check.counts
    if counts.nan and counts.inf:
        return "NaN and Inf"
    return "NaN" if counts.nan else "Inf"


def streams(some: Sequence[StreamCheck]) -> str:
    """Streams by index and name: "stream 1 (audio)", "streams 0 (video) and 1 (audio)"."""
    names = [stream_name(stream) for stream in some]
    return f"stream{'s' if len(names) > 1 else ''} {' and '.join(names)}"


def stream_name(stream: StreamCheck) -> str:
    """A stream's index, with what it is where that is known: "1 (audio)"."""
    return str(stream.index) if stream.kind == "tokens" else f"{stream.index} ({stream.kind})"


def frames(item: BadItem, total: int) -> str:
    """The bad frames of a video: "frames 1-20 of 21", "all 21 frames"; empty where there is no time axis."""
    if not item.frames:
        return ""
    return f"all {total} frames" if len(item.frames) == total else named("frame", item.frames, total)


def listing(indices: Sequence[int]) -> str:
    """Indices alone: "0 and 2", "0, 2, 5-9"."""
    return f"{indices[0]} and {indices[1]}" if len(indices) == 2 else compact(indices)


def made_of(stream: StreamCheck, nested: bool) -> str:
    """Shape, dtype and device on one line: "1 item, 16 ch, 21 frames, 60×104, fp16, cuda:0"."""
    items = f"{stream.items} item{'' if stream.items == 1 else 's'}"
    spatial = stream.shape[3:] if len(stream.shape) == 5 else stream.shape[2:]
    size = f"{spatial[0]} long" if len(spatial) == 1 else "×".join(map(str, spatial))
    time = [f"{stream.frames} frames"] if stream.kind == "video" else []
    words = [items, f"{stream.shape[1]} ch", *time, size, stream.dtype, stream.device]
    return (f"stream {stream_name(stream)}: " if nested else "") + ", ".join(words)


def _subject(noun: str, indices: Sequence[int], total: int) -> str:
    if len(indices) == total and total > 1:
        return f"All {total} {noun}s"
    if len(compact(indices)) > LONGEST_LIST:
        return f"{len(indices)} of {total} {noun}s"
    return _capital(named(noun, indices, total))


def _verb(number: int, whole: bool) -> str:
    """Bad through and through, or here and there."""
    if whole:
        return "is" if number == 1 else "are"
    return "holds" if number == 1 else "hold"


def _is_whole(item: BadItem) -> bool:
    return item.counts.nan == item.counts.total


def _frames_of_one(stream: StreamCheck) -> str:
    item = stream.bad[0]
    return f" in {frames(item, stream.frames)}" if 0 < len(item.frames) < stream.frames else ""


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
