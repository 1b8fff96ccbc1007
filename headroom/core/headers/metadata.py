"""Metadata values that are worth keeping: texts of bounded length."""

from __future__ import annotations

from collections.abc import Iterable

from .faults import Faults
from .limits import Limits


def kept(values: Iterable[tuple[str, str]], faults: Faults, limits: Limits) -> dict[str, str]:
    """The values up to the limits, in their order; what is left out is named in a notice."""
    result: dict[str, str] = {}
    dropped: list[str] = []
    total = 0
    for key, value in values:
        # Characters stand for bytes here: the bound is about memory, not about the file.
        size = len(key) + len(value)
        if size > limits.metadata_value_bytes or total + size > limits.metadata_bytes:
            dropped.append(key)
            continue
        total += size
        result[storable(key)] = storable(value)
    faults.add_names("metadata-dropped", dropped)
    return result


def storable(text: str) -> str:
    """The text without lone surrogates, which JSON can spell but which cannot be written anywhere."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")
