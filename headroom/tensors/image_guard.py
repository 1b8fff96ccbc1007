"""What the Image Guard does with an IMAGE, MASK or AUDIO: reads its layout, checks it, and acts on a bad one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch

from ..core.choices import IGNORE, REPLACE
from ..core.image import Bad, MediaCheck, Odd
from . import audio_check, image_check
from .finite import is_finite
from .media import Media, read
from .names import dtype_name


@dataclass(frozen=True)
class Guarded:
    """The object to pass on, and what was found in the one that came in."""

    media: Any
    """The very object that came in, unless values were replaced."""
    check: MediaCheck
    replaced: int = 0


def guard(given: Any, mode: str, oddities: str) -> Guarded:
    """Checks an IMAGE, MASK or AUDIO and, where it is bad and ``mode`` says so, replaces the bad values by 0.

    Stopping and blocking are left to the caller. ``oddities`` is one of ``core.image.ODDITY_RULES``; where they are
    ignored they cost nothing.

    Raises:
        ImageError: this is no IMAGE, MASK or AUDIO.
    """
    media = read(given)
    finite = is_finite(media.tensor)
    check = MediaCheck(
        medium=media.medium,
        shape=tuple(media.tensor.shape),
        dtype=dtype_name(media.tensor.dtype),
        device=str(media.tensor.device),
        sample_rate=media.sample_rate,
        bad=() if finite else _bad(media),
        odd=_odd(media) if finite and oddities != IGNORE else (),
    )
    if finite or mode != REPLACE:
        return Guarded(given, check)
    fixed = torch.nan_to_num(media.tensor, nan=0.0, posinf=0.0, neginf=0.0)
    return Guarded(media.rebuilt(fixed), check, replaced=sum(bad.counts.bad for bad in check.bad))


def _bad(media: Media) -> tuple[Bad, ...]:
    if media.medium == "audio":
        return audio_check.bad_tracks(media.tensor, media.sample_rate)
    return image_check.bad_items(media.tensor)


def _odd(media: Media) -> tuple[Odd, ...]:
    if media.medium == "audio":
        return tuple(audio_check.odd_tracks(media.tensor, media.sample_rate))
    if media.medium == "mask":
        return tuple(image_check.odd_masks(media.tensor))
    return tuple(image_check.odd_images(media.tensor))
