"""Lists of indices, written the way a person would."""

from __future__ import annotations

from collections.abc import Iterable


def compact(indices: Iterable[int]) -> str:
    """Sorted indices with runs of three or more joined: ``1, 3, 16-31``; "none" for an empty list."""
    ordered = sorted(set(indices))
    parts: list[str] = []
    start = 0
    while start < len(ordered):
        end = start
        while end + 1 < len(ordered) and ordered[end + 1] == ordered[end] + 1:
            end += 1
        if end - start >= 2:
            parts.append(f"{ordered[start]}-{ordered[end]}")
        else:
            parts.extend(str(index) for index in ordered[start : end + 1])
        start = end + 1
    return ", ".join(parts) if parts else "none"


def named(noun: str, indices: Iterable[int], total: int | None = None) -> str:
    """Indices with their noun: ``item 3``, ``items 1 and 3 of 4``, ``frames 1-20 of 21``."""
    ordered = sorted(set(indices))
    text = compact(ordered)
    if len(ordered) == 2:
        text = f"{ordered[0]} and {ordered[1]}"
    plural = noun if len(ordered) == 1 else f"{noun}s"
    return f"{plural} {text}" + (f" of {total}" if total is not None else "")
