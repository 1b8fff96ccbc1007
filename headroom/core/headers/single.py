"""One file: finds out what it is and has it read."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace

from ..tensorinfo import ModelFile
from . import gguf, oldtorch, safetensors, sniff, ziptorch
from .faults import Faults
from .limits import LIMITS, Limits
from .source import Source, opened

READERS: dict[str, Callable[[Source, Faults, Limits], ModelFile]] = {
    "safetensors": safetensors.read,
    "gguf": gguf.read,
    "zip": ziptorch.read,
    "pickle": oldtorch.read,
}


def read_header(path: str | os.PathLike[str], limits: Limits = LIMITS) -> ModelFile:
    """What one file says about its tensors; a shard alone, without the others.

    A file without faults has the right size and a sound header. Whether its data are right, no header tells.

    Raises:
        ModelFileError: there is no such file, or it may not be read.
    """
    with opened(path) as source:
        return read_source(source, limits)


def read_source(source: Source, limits: Limits = LIMITS) -> ModelFile:
    """The same for a file that is open."""
    faults = Faults(source.name)
    head = source.read(0, sniff.HEAD_BYTES)
    kind = sniff.kind(head, source.name)
    if kind in READERS:
        model = READERS[kind](source, faults, limits)
        sniff.name_renamed(kind, source.name, faults)
    else:
        sniff.name_it(kind, head, source.size, faults)
        model = ModelFile(source.name, "unknown", {}, header_bytes=source.size, file_bytes=source.size)
    return replace(model, faults=tuple(faults.found), files={source.name: source.size})
