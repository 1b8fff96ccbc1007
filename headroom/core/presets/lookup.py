"""Presets by what a person types for one, and the names that come close where it is none."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from functools import lru_cache

from ..preset_names import CALLED
from .table import PRESETS, Preset, preset_named

#: How a node's list marks what is no file of the user's; on a command line the name alone will do.
MARK = CALLED.partition("{name}")[0]
MOST_CLOSE = 6
#: How much of a name has to be alike, as difflib counts it; by trial, so that "Qwen" and "Wann 2.2 14B" find theirs.
ALIKE = 0.55


def short_name(preset: Preset) -> str:
    """The name without its mark: ``Flux.1 dev, fp8``."""
    return preset.name.removeprefix(MARK)


def matching(text: str) -> Preset | None:
    """The preset that is meant: by its whole name, whatever its capitals, blanks and commas; None where it is none."""
    return preset_named(text) or _by_key().get(_key(text))


def close_names(text: str) -> list[str]:
    """Short names of presets that come close: those that hold the text, else the most alike, the closest first."""
    wanted = _key(text)
    if not wanted:
        return []
    found = [preset for key, preset in _by_key().items() if wanted in key]
    if not found:
        # Without their formats, which would weigh as much as the names themselves.
        by_name: dict[str, list[Preset]] = {}
        for preset in PRESETS:
            by_name.setdefault(_key(short_name(preset).rpartition(",")[0]), []).append(preset)
        close = difflib.get_close_matches(wanted, by_name, MOST_CLOSE, ALIKE)
        found = [preset for key in close for preset in by_name[key]]
    return [short_name(preset) for preset in found[:MOST_CLOSE]]


@lru_cache(maxsize=1)
def _by_key() -> Mapping[str, Preset]:
    return {_key(preset.name): preset for preset in PRESETS}


def _key(text: str) -> str:
    """Letters and digits alone: ``flux.1 DEV, FP8`` as flux1devfp8."""
    return re.sub(r"[^a-z0-9]", "", text.strip().casefold().removeprefix(MARK.strip()))
