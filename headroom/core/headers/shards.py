"""A model in several files: ``model-00001-of-00003.safetensors`` and the like, with or without an index."""

from __future__ import annotations

import os
import re
from typing import NamedTuple

from ..errors import ModelFileError
from ..tensorinfo import ModelFile
from .faults import Faults
from .joined import Parts
from .jsontext import JsonFault, parse
from .limits import LIMITS, Limits
from .single import read_header
from .source import opened

NAME = re.compile(r"(?P<stem>.+)-(?P<number>\d{5})-of-(?P<count>\d{5})(?P<suffix>\.(?:safetensors|gguf|bin))")
#: ``model.safetensors.index.json``; diffusers puts a variant in, ``model.safetensors.index.fp16.json``.
INDEX = re.compile(r"(?P<whole>.+)\.index(?:\.[\w-]+)?\.json")


class Shard(NamedTuple):
    """A shard's file name in its parts."""

    stem: str
    number: int
    total: int
    suffix: str

    @property
    def whole(self) -> str:
        """What the model would be called in one file."""
        return self.stem + self.suffix

    def names(self) -> list[str]:
        """The names of all shards."""
        return [f"{self.stem}-{number:05}-of-{self.total:05}{self.suffix}" for number in range(1, self.total + 1)]


def shard(name: str, limits: Limits = LIMITS) -> Shard | None:
    """The name in its parts; None where it is no shard's."""
    found = NAME.fullmatch(name)
    if found is None:
        return None
    made = Shard(found["stem"], int(found["number"]), int(found["count"]), found["suffix"])
    return made if 1 <= made.number <= made.total <= limits.shards else None


def read_shards(folder: str, one: Shard, limits: Limits = LIMITS) -> ModelFile:
    """All shards of the model that ``one`` is of, compared with the index if there is one."""
    index = f"{one.whole}.index.json"
    if os.path.isfile(os.path.join(folder, index)):
        return read_index(folder, index, limits, one.names())
    parts = Parts(one.whole, Faults(one.whole))
    _read_all(folder, one.names(), parts, limits)
    return parts.joined(limits)


def read_index(folder: str, index: str, limits: Limits = LIMITS, also: list[str] | None = None) -> ModelFile:
    """All files that an index names.

    Args:
        also: files that belong to the model whatever the index says.
    """
    found = INDEX.fullmatch(index)
    parts = Parts(found["whole"] if found else index, Faults(index))
    places = _places(os.path.join(folder, index), parts.faults, limits)
    _read_all(folder, list(dict.fromkeys([*(also or []), *places.values()])), parts, limits)
    # What a missing or broken shard would have had is not named again.
    sound = {file for part in parts.models if not part.broken for file in part.files}
    names = {name for part in parts.models for name in part.tensors}
    absent = [name for name, file in places.items() if file in sound and name not in names]
    parts.faults.add_names("index-mismatch", absent)
    return parts.joined(limits)


def _read_all(folder: str, names: list[str], parts: Parts, limits: Limits) -> None:
    """Reads the files that are there; the others are a fault."""
    there = {name: os.path.isfile(os.path.join(folder, name)) for name in names}
    parts.faults.add_names("missing-shard", [name for name in names if not there[name]])
    for name in filter(there.__getitem__, names):
        try:
            parts.models.append(read_header(os.path.join(folder, name), limits))
        except ModelFileError as error:
            parts.faults.add("file-unreadable", reason=str(error).rstrip("."))


def _places(path: str, faults: Faults, limits: Limits) -> dict[str, str]:
    """Tensor name -> file name, from an index; empty where it cannot be used."""
    with opened(path) as source:
        try:
            if source.size > limits.index_bytes:
                raise JsonFault("bad-index", reason=f"it is {source.size:,} bytes long")
            value = parse(source.read(0, source.size), limits).value
            found = value.get("weight_map") if isinstance(value, dict) else None
            if not isinstance(found, dict) or not all(isinstance(file, str) for file in found.values()):
                raise JsonFault("bad-index", reason="it has no `weight_map` of texts")
            # An index comes from the net; it must not name a file anywhere else.
            if not all(is_plain(file) for file in found.values()):
                raise JsonFault("bad-index", reason="it names files outside its folder")
            if len(set(found.values())) > limits.shards:
                raise JsonFault("bad-index", reason=f"it names more than {limits.shards:,} files")
        except JsonFault as fault:
            faults.add("bad-index", reason=fault.values.get("reason", "it is not a JSON text that can be read"))
            return {}
    return found


def is_plain(name: str) -> bool:
    """Whether this is a file name and nothing more, on every system."""
    return name not in {"", ".", ".."} and not any(mark in name for mark in "/\\:\0")
