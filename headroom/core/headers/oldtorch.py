"""Torch checkpoints from before torch 1.6: five pickles, then every storage with its length in front.

Nothing is unpickled. Format: torch/serialization.py, ``_legacy_save``: a magic number, the protocol version, facts of
the system, the checkpoint, the keys of its storages in the order of their data.
"""

from __future__ import annotations

from typing import Any

from .. import units
from ..tensorinfo import ModelFile, TensorInfo
from .checkpoint import check_names, named_views
from .faults import Faults
from .limits import LIMITS, Limits
from .pickle_ops import PickleFault
from .pickle_torch import Storage
from .pickle_walk import Walked, walk
from .source import Source
from .ziptorch import found_weights

MAGIC = 0x1950A86A20F9469CFC6C
#: The pickle of the magic number ends before.
MAGIC_BYTES = 64
PICKLES = 5
#: In front of each storage: its elements.
LENGTH_BYTES = 8
#: How much is read at first; the pickles of most checkpoints end before.
FIRST_BYTES = 2**20


def read(source: Source, faults: Faults, limits: Limits = LIMITS) -> ModelFile:
    """All weights of the checkpoint; what is wrong is added to ``faults``."""
    found: dict[str, TensorInfo] = {}
    if not _is_torchs(source.read(0, MAGIC_BYTES)):
        faults.add("other-pickle")
    else:
        faults.add("old-pickle")
        try:
            found = _tensors(source, faults, limits)
        except PickleFault as fault:
            faults.add("names-unknown", what=f"A checkpoint of {units.exact(source.size)}", reason=fault.reason)
    data_bytes = sum(tensor.size_bytes for tensor in found.values())
    return ModelFile(
        source.name,
        "pickle",
        found,
        {},
        max(0, source.size - data_bytes),
        source.size,
    )


def _is_torchs(head: bytes) -> bool:
    """Whether the first pickle is torch's magic number."""
    try:
        return walk(head).value == MAGIC
    except PickleFault:
        return False


def _tensors(source: Source, faults: Faults, limits: Limits) -> dict[str, TensorInfo]:
    """The weights by name, and a fault where the file is too short for its storages.

    Raises:
        PickleFault: the pickles cannot be followed.
    """
    walked = _pickles(source, limits)
    for each in walked:
        check_names(each.names, faults)
    storages = _storages(walked[3].value, walked[4].value, limits)
    stored = {storage.key: storage.size_bytes for storage in storages.values()}
    expected = walked[-1].end + sum(LENGTH_BYTES + size for size in stored.values())
    if expected > source.size:
        faults.add("truncated", missing=units.exact(expected - source.size), expected=units.exact(expected))
    elif expected < source.size:
        faults.add("padded", extra=units.exact(source.size - expected))
    return found_weights(walked[3].value, stored, faults, limits)


def _storages(value: Any, keys: Any, limits: Limits) -> dict[str, Storage]:
    """The storages of all tensors, those beside the weights too; the pickle must name each key.

    Raises:
        PickleFault: the list of keys does not fit the tensors.
    """
    storages = {view.storage.key: view.storage for view in named_views(value, limits).values()}
    if not isinstance(keys, list) or not all(isinstance(key, str) for key in keys) or set(keys) != set(storages):
        raise PickleFault("its list of data does not fit its tensors")
    return storages


def _pickles(source: Source, limits: Limits) -> list[Walked]:
    """Follows the pickles one after the other; reads more where they do not end."""
    size = FIRST_BYTES
    while True:
        data = source.read(0, size)
        try:
            walked: list[Walked] = []
            for _ in range(PICKLES):
                walked.append(walk(data, walked[-1].end if walked else 0, limits))
            return walked
        except PickleFault as fault:
            if not fault.cut or len(data) < size or size >= limits.pickle_bytes:
                raise
        size = min(size * 8, limits.pickle_bytes)
