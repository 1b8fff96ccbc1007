"""The safetensors container: eight bytes of length, a JSON header, the data.

The ``safetensors`` package maps the whole file and says "incomplete metadata" for four different damages, so the header
is read here. Format: safetensors/src/tensor.rs of 0.8.0 and the README of its repository.
"""

from __future__ import annotations

from typing import Any

from .. import units
from ..tensorinfo import ModelFile
from .entries import Entries, check_layout, read_entries
from .faults import Faults
from .jsontext import JsonFault, Parsed, check_depth, parse
from .limits import LIMITS, Limits
from .metadata import kept
from .notes import read_notes
from .source import Source

#: Bytes that give the length of the header, little endian.
LENGTH_BYTES = 8
METADATA = "__metadata__"


def read(source: Source, faults: Faults, limits: Limits = LIMITS) -> ModelFile:
    """All tensors that the header names; what is wrong is added to ``faults``."""
    header_bytes, parsed = _header(source, faults, limits)
    entries, metadata, notes = Entries(), {}, {}
    if isinstance(parsed.value, dict):
        metadata = _metadata(parsed.value, faults, limits)
        faults.add_names("duplicate-names", parsed.repeated)
        entries = read_entries(parsed.value, faults, limits)
        check_layout(entries, source.size - header_bytes, header_bytes, faults)
        notes = read_notes(source, header_bytes, entries, limits)
    return ModelFile(
        source.name,
        "safetensors",
        entries.tensors,
        metadata,
        min(header_bytes, source.size),
        source.size,
        notes=notes,
    )


def _header(source: Source, faults: Faults, limits: Limits) -> tuple[int, Parsed]:
    """Bytes up to the data, and the header's value: a table of entries, or None where there is none."""
    nothing = Parsed(None)
    if source.size < LENGTH_BYTES:
        faults.add("too-short", size=units.exact(source.size))
        return source.size, nothing
    said = int.from_bytes(source.read(0, LENGTH_BYTES), "little")
    if said > limits.header_bytes:
        faults.add("header-too-large", said=units.exact(said), limit=units.exact(limits.header_bytes))
        return source.size, nothing
    data = source.read(LENGTH_BYTES, said)
    end = LENGTH_BYTES + said
    if len(data) < said:
        missing = units.exact(end - source.size)
        faults.add("header-cut", atleast="", missing=missing, size=units.exact(source.size))
        return source.size, nothing
    try:
        parsed = parse(data, limits)
        if not isinstance(parsed.value, dict):
            check_depth(parsed.value, limits.json_depth)
            raise JsonFault("bad-json", reason="it is not a table of tensors")
    except JsonFault as fault:
        faults.add(fault.fault, **fault.values)
        return end, nothing
    return end, parsed


def _metadata(header: dict[str, Any], faults: Faults, limits: Limits) -> dict[str, str]:
    """The texts under ``__metadata__``; the key is taken out of the header."""
    found = header.pop(METADATA, None)
    if found is None:
        return {}
    if not isinstance(found, dict):
        faults.add_names("bad-metadata", [METADATA])
        return {}
    faults.add_names("bad-metadata", [key for key, value in found.items() if not isinstance(value, str)])
    return kept(((key, value) for key, value in found.items() if isinstance(value, str)), faults, limits)
