"""Torch checkpoints since torch 1.6: a zip whose entry ``data.pkl`` names the tensors and ``data/N`` holds their bytes.

Nothing is unpickled. Format: torch/serialization.py, ``_save``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .. import units
from ..tensorinfo import ModelFile, TensorInfo
from .checkpoint import check_names, named_views, tensors, weights
from .faults import Faults
from .limits import LIMITS, Limits
from .pickle_ops import PickleFault
from .pickle_walk import walk
from .source import Source
from .zipdir import STORED, ZipEntry, ZipFault, read_directory, read_entry

PICKLE = "data.pkl"


@dataclass(frozen=True)
class _Archive:
    """The entries that matter, by their names without the archive's own folder."""

    pickle: ZipEntry | None
    storages: dict[str, ZipEntry]
    is_program: bool


def read(source: Source, faults: Faults, limits: Limits = LIMITS) -> ModelFile:
    """All weights of the checkpoint; what is wrong is added to ``faults``."""
    found: dict[str, TensorInfo] = {}
    try:
        entries = read_directory(source, limits)
        archive = _sorted(entries)
        _check(entries, archive, source.size, faults)
        if archive.pickle is not None:
            found = _tensors(source, archive, archive.pickle, faults, limits)
    except ZipFault as fault:
        faults.add("zip-damaged" if fault.reason else "zip-cut", reason=fault.reason)
    data_bytes = sum(tensor.size_bytes for tensor in found.values())
    return ModelFile(
        source.name,
        "pickle-zip",
        found,
        {},
        max(0, source.size - data_bytes),
        source.size,
    )


def _sorted(entries: list[ZipEntry]) -> _Archive:
    """Finds the folder of the archive: the one that has the pickle."""
    names = {entry.name: entry for entry in entries}
    pickles = [name for name in names if name == PICKLE or name.endswith(f"/{PICKLE}")]
    if not pickles:
        return _Archive(None, {}, False)
    first = min(pickles, key=len)
    folder = first[: -len(PICKLE)]
    data = f"{folder}data/"
    storages = {name[len(data) :]: entry for name, entry in names.items() if name.startswith(data) and name != data}
    is_program = any(name.startswith(f"{folder}code/") for name in names)
    return _Archive(names[first], storages, is_program)


def _check(entries: list[ZipEntry], archive: _Archive, size: int, faults: Faults) -> None:
    """Looks at the directory as a whole."""
    if archive.pickle is None:
        faults.add("no-checkpoint")
    if archive.is_program:
        faults.add("torchscript")
    said = sum(entry.stored for entry in entries)
    if said > size:
        faults.add("zip-overlap", said=units.exact(said), size=units.exact(size))
    wrong = [entry.name for entry in entries if entry.method == STORED and entry.stored != entry.size]
    if wrong:
        raise ZipFault(f"{len(wrong):,} entries have two sizes")
    packed = [entry for entry in archive.storages.values() if entry.method != STORED]
    if packed:
        stored, unpacked = sum(entry.stored for entry in packed), sum(entry.size for entry in packed)
        faults.add("compressed", stored=units.exact(stored), size=units.exact(unpacked))


def _tensors(
    source: Source, archive: _Archive, pickle: ZipEntry, faults: Faults, limits: Limits
) -> dict[str, TensorInfo]:
    """The weights by name; the bare storages where the pickle cannot be followed."""
    stored = {key: entry.size for key, entry in archive.storages.items()}
    try:
        walked = walk(read_entry(source, pickle, limits.pickle_bytes), limits=limits)
    except (PickleFault, ZipFault) as fault:
        what = f"{len(stored):,} blocks of data with {units.exact(sum(stored.values()))}"
        faults.add("names-unknown", what=what, reason=fault.reason)
        return {f"data/{key}": TensorInfo(f"data/{key}", "unknown", (), size) for key, size in stored.items()}
    check_names(walked.names, faults)
    return found_weights(walked.value, stored, faults, limits)


def found_weights(value: Any, stored: dict[str, int], faults: Faults, limits: Limits) -> dict[str, TensorInfo]:
    """The weights of a checkpoint with their bytes; what else is stored is a notice."""
    found = tensors(named_views(weights(value), limits), stored, faults)
    other = sum(stored.values()) - sum(tensor.size_bytes for tensor in found.values())
    if other > 0:
        faults.add("beside-weights", size=units.exact(other))
    return found
