"""Sizes and models as they are typed: ``12GiB``, ``QwenImage=20GiB``, a file."""

from __future__ import annotations

import argparse
import math
import os
import re

from ..core.errors import ModelFileError
from ..core.planned import Given, planned
from ..core.presets import matching
from ..core.readings import WorkflowModel
from ..core.units import GIB
from .examples import component_named, hint

_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*(?:(t|g|m)(?:i?b)?)?", re.IGNORECASE)
_FACTOR = {"t": 1024 * GIB, "g": GIB, "m": GIB // 1024}
#: More than this without a unit is MiB, as nvidia-smi shows it: no card and hardly a machine has as many GiB.
MOST_WITHOUT_UNIT = 1024
MOST_COUNT = 999_999
MOST_PIXELS = 99_999
#: What a person writes -> how readings.py names the kind.
KINDS = {
    **dict.fromkeys(("diffusion", "unet", "model"), "diffusion"),
    **dict.fromkeys(("text-encoder", "te", "clip"), "text encoder"),
    "vae": "vae",
}


def size(text: str) -> int:
    """Bytes; a bare number is GiB, and "GB" means GiB, as on the box of a card.

    Raises:
        argparse.ArgumentTypeError: the text is no size.
    """
    found = _SIZE.fullmatch(text.strip())
    value = float(found[1]) * _FACTOR[(found[2] or "g").lower()] if found else math.nan
    if not value > 0:
        raise argparse.ArgumentTypeError(f"{text!r} is no size: write 12GiB, 12 or 12288MiB")
    if found and not found[2] and value > MOST_WITHOUT_UNIT * GIB:
        raise argparse.ArgumentTypeError(
            f"{text!r} without a unit is GiB: did you mean {text.strip()}MiB? If not, write {text.strip()}GiB"
        )
    return int(value)


def pixels(text: str) -> tuple[int, int]:
    """Width and height: ``832x480``, ``832*480`` or with the sign for times.

    Raises:
        argparse.ArgumentTypeError: the text is no such pair.
    """
    found = re.fullmatch(r"(\d{1,9})\s*[xX*\u00d7]\s*(\d{1,9})", text.strip())
    sides = (int(found[1]), int(found[2])) if found else (0, 0)
    if max(sides) > MOST_PIXELS:
        raise argparse.ArgumentTypeError(f"{text!r} is too large: a side has {MOST_PIXELS} pixels at most")
    if not all(sides):
        raise argparse.ArgumentTypeError(f"{text!r} is no size in pixels: write 832x480")
    return sides


def whole(text: str) -> int:
    """A whole number from 0 on.

    Raises:
        argparse.ArgumentTypeError: the text is none.
    """
    if not re.fullmatch(r"\d+", text):
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number from 0 on")
    if len(text) > 6:
        raise argparse.ArgumentTypeError(f"{text!r} is too large: {MOST_COUNT} is the most")
    return int(text)


def count(text: str) -> int:
    """A whole number from 1 on.

    Raises:
        argparse.ArgumentTypeError: the text is none.
    """
    number = whole(text)
    if not number:
        raise argparse.ArgumentTypeError("it has to be at least 1")
    return number


def model(text: str) -> Given:
    """A model of a run: a file, a well-known model or a size, with a kind or a family before ``=``.

    Raises:
        argparse.ArgumentTypeError: it is none of these, or the file cannot be read.
    """
    name, equals, rest = text.partition("=")
    if equals and os.path.exists(text):
        name, equals, rest = "", "", text
    what = rest if equals else text
    kind = KINDS.get(name.lower()) if equals else None
    family = name if equals and kind is None else None
    if matching(what) is None and not os.path.exists(what):
        return Given((WorkflowModel(kind or "diffusion", family, _size_of(what)),))
    try:
        found = component_named(what)
    except ModelFileError as error:
        raise argparse.ArgumentTypeError(str(error)) from error
    return Given(planned(found, kind, family), found)


def _size_of(text: str) -> int:
    if _SIZE.fullmatch(text.strip()):
        return size(text)
    raise argparse.ArgumentTypeError(
        f"{text!r} is no file that is here, no example and no size like 12GiB. {hint(text)}"
    )
