"""Looks at audio: where a track is NaN or Inf, and whether it is silent or stuck at one value. Times in seconds.

A clean track costs one ``sum`` and a look at a few samples of each 50 ms.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import TypeVar

import torch

from ..core.image import Bad, Odd, Span
from .finite import bad_indices, count

#: Blocks per second in which NaN is placed, and in which a track is looked at for standing still.
BAD_BLOCKS, STILL_BLOCKS = 100, 20
#: The shortest stretch at one value other than 0 that is named: shorter ones are clipping.
LEAST_SECONDS = 1.0
#: Rests are music; a track that is exactly 0 for this share of its length is worth a notice.
MOSTLY = 0.5
_PROBES = 8

T = TypeVar("T")
_Value = tuple[float, ...]
"""What the channels of a block stand at; empty where they move."""


def bad_tracks(t: torch.Tensor, rate: int | None) -> tuple[Bad, ...]:
    """The tracks [B, C, T] that hold NaN or Inf, and when; for a tensor that is known to be bad."""
    found = []
    for item in bad_indices(t):
        counts = count(t[item])
        whole = counts.bad == counts.total
        found.append(Bad(item, counts, spans=() if whole or rate is None else _bad_spans(t[item], rate)))
    return tuple(found)


def odd_tracks(t: torch.Tensor, rate: int | None) -> Iterator[Odd]:
    """Finite tracks [B, C, T] that are silent or constant, throughout or for long; at most one thing per track.

    Without a sample rate only whole tracks are judged.
    """
    if t.numel() == 0:
        return
    block = min(t.shape[-1], max(1, rate // STILL_BLOCKS)) if rate else t.shape[-1]
    for item, track in enumerate(t):
        values = _standing(track, block)
        if not any(values):
            continue
        odd = _whole(track, item) or (_stretches(values, item, block / rate) if rate else None)
        if odd is not None:
            yield odd


def _bad_spans(track: torch.Tensor, rate: int) -> tuple[Span, ...]:
    block = max(1, rate // BAD_BLOCKS)
    bad = ~torch.isfinite(track).all(0)
    padded = torch.nn.functional.pad(bad, (0, -len(bad) % block), value=False)
    flags = padded.view(-1, block).any(1).tolist()
    # The last block may reach beyond the end.
    length = len(bad) / rate
    return tuple(Span(span.start, min(span.end, length)) for _, span in _runs(flags, block / rate))


def _standing(track: torch.Tensor, block: int) -> list[_Value]:
    """For each whole block of a track [C, T] what it stands at."""
    number = track.shape[-1] // block
    blocks = track[:, : number * block].unflatten(-1, (number, block))
    probe = blocks[..., :: max(1, block // _PROBES)]
    suspect = (probe == probe[..., :1]).all(-1).all(0).nonzero().flatten()
    values: list[_Value] = [()] * number
    if len(suspect) == 0:
        return values
    looked = blocks[:, suspect]
    still = (looked == looked[..., :1]).all(-1).all(0).tolist()
    for index, stands, value in zip(suspect.tolist(), still, looked[..., 0].T.tolist()):
        if stands:
            values[index] = tuple(value)
    return values


def _whole(track: torch.Tensor, item: int) -> Odd | None:
    low, high = track.amin(-1), track.amax(-1)
    if not torch.equal(low, high):
        return None
    # Adding zero turns -0.0 into 0.0.
    value = tuple(channel + 0.0 for channel in high.tolist())
    return Odd(item, "constant", values=value) if any(value) else Odd(item, "silent", share=1.0)


def _stretches(values: Sequence[_Value], item: int, seconds: float) -> Odd | None:
    """A track that stands at one value for long, or is exactly 0 for most of its length; ``seconds`` per block."""
    runs = list(_runs(values, seconds))
    long = [(value, span) for value, span in runs if span.end - span.start >= LEAST_SECONDS]
    stuck = [value for value, _ in long if any(value)]
    if stuck:
        return Odd(item, "constant", values=stuck[0], spans=tuple(span for value, span in long if value == stuck[0]))
    share = sum(span.end - span.start for value, span in runs if not any(value)) / (len(values) * seconds)
    if share < MOSTLY:
        return None
    return Odd(item, "mostly silent", spans=tuple(span for _, span in long), share=share)


def _runs(values: Sequence[T], seconds: float) -> Iterator[tuple[T, Span]]:
    """Neighbouring blocks with the same true value as one run."""
    position = 0
    for value, group in groupby(values):
        length = sum(1 for _ in group)
        if value:
            yield value, Span(position * seconds, (position + length) * seconds)
        position += length
