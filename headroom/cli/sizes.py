"""Sizes and models as they are typed: ``12GiB``, ``QwenImage=20GiB``, a file."""

from __future__ import annotations

import argparse
import math
import re
from pathlib import Path

from ..core.readings import WorkflowModel
from ..core.units import GIB

_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*(?:(t|g|m)(?:i?b)?)?", re.IGNORECASE)
_FACTOR = {"t": 1024 * GIB, "g": GIB, "m": GIB // 1024}
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
    return int(value)


def model(text: str) -> WorkflowModel:
    """A model: a file or a size, with a kind or a family before an equals sign.

    Raises:
        argparse.ArgumentTypeError: it is neither.
    """
    name, equals, rest = text.partition("=")
    what = rest if equals else text
    kind = KINDS.get(name.lower(), "diffusion") if equals else "diffusion"
    family = name if equals and name.lower() not in KINDS else None
    path = Path(what)
    if path.is_file():
        return WorkflowModel(kind, family, path.stat().st_size, gguf=path.suffix.lower() == ".gguf")
    try:
        return WorkflowModel(kind, family, size(what))
    except argparse.ArgumentTypeError as error:
        raise argparse.ArgumentTypeError(f"{what!r} is no file that is here, and no size like 12GiB") from error
