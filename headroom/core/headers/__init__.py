"""From a model file's header alone: what tensors it has and what is wrong with it. No tensor is read, no pickle run.

``read`` takes what a person would call a model: a file, a shard or an index of several, a diffusers folder.
"""

from __future__ import annotations

import os

from ..tensorinfo import ModelFile
from .folder import read_folder
from .limits import LIMITS, Limits
from .shards import INDEX, read_index, read_shards, shard
from .single import read_header

__all__ = ["LIMITS", "Limits", "read", "read_header"]


def read(path: str | os.PathLike[str], limits: Limits = LIMITS) -> ModelFile:
    """The model at ``path``: all its shards for one of them or their index, all components for a diffusers folder.

    Raises:
        ModelFileError: there is no model file, or it may not be read. A file that is broken gives faults instead.
    """
    path = os.fspath(path)
    folder, name = os.path.split(path)
    if os.path.isdir(path):
        return read_folder(path, limits)
    if INDEX.fullmatch(name):
        return read_index(folder, name, limits)
    one = shard(name, limits)
    if one is not None and os.path.isfile(path):
        return read_shards(folder, one, limits)
    return read_header(path, limits)
