"""A file's names, indexed once: which paths there are, which are numbered, and what shape a weight really has."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import cached_property, lru_cache
from typing import Any

from ..tensorinfo import TensorInfo

#: Formats that keep two values in one byte, so that the last length in the file is half of the weight's.
#: comfy/quant_ops.py 0.30.0 and the layouts of comfy-kitchen 0.2.26.
TWO_PER_BYTE = frozenset({"nvfp4", "convrot_w4a4"})
DIGITS = "0123456789"
#: Digits in the number of a block; a longer row of them is part of a name.
LONGEST_NUMBER = 6
_NUMBER = re.compile(r"(?<=\.)\d+(?=\.)")
_CHOICE = re.compile(r"\{([^}]*)\}")


@lru_cache(maxsize=4096)
def expand(name: str) -> tuple[str, ...]:
    """``a.{weight,scale}`` as the names that it stands for."""
    found = _CHOICE.search(name)
    if found is None:
        return (name,)
    start, end = name[: found.start()], name[found.end() :]
    return tuple(full for choice in found.group(1).split(",") for full in expand(start + choice + end))


class Index:
    """All names of a file; reads nothing but names, shapes and the texts that go with them."""

    def __init__(
        self,
        tensors: Mapping[str, TensorInfo],
        metadata: Mapping[str, str] | None = None,
        notes: Mapping[str, str] | None = None,
    ) -> None:
        self.tensors = tensors
        self.metadata = metadata or {}
        self.notes = notes or {}
        self.paths: set[str] = set()
        """Every beginning of a name that ends before a dot."""
        self.numbers: dict[str, set[int]] = {}
        """``blocks.`` -> the numbers that follow it in some path."""
        for name in tensors:
            self._add(name)

    def _add(self, name: str) -> None:
        end = name.rfind(".")
        while end > 0:
            path = name[:end]
            if path in self.paths:
                return
            self.paths.add(path)
            if path[-1] in DIGITS:
                stem = path.rstrip(DIGITS)
                if len(path) - len(stem) <= LONGEST_NUMBER:
                    self.numbers.setdefault(stem, set()).add(int(path[len(stem) :]))
            end = path.rfind(".")

    @cached_property
    def numberless(self) -> frozenset[str]:
        """Names with ``#`` for every number between dots; for files that nothing fits at first sight."""
        return frozenset(_NUMBER.sub("#", name) for name in self.tensors)

    @cached_property
    def _formats(self) -> Mapping[str, str]:
        """Layer -> its format, from the metadata ``_quantization_metadata`` (QUANTIZATION.md of ComfyUI)."""
        layers = json_object(self.metadata.get("_quantization_metadata")).get("layers")
        if not isinstance(layers, dict):
            return {}
        return {name: str(made.get("format")) for name, made in layers.items() if isinstance(made, dict)}

    def shape(self, name: str) -> tuple[int, ...] | None:
        """A tensor's shape as the model has it; None where it is not there or cannot be told."""
        tensor = self.tensors.get(name)
        if tensor is None:
            return None
        if tensor.dtype not in {"U8", "I8"} or not name.endswith("weight"):
            return tensor.shape
        return self._unpacked(name, tensor)

    def _unpacked(self, name: str, tensor: TensorInfo) -> tuple[int, ...] | None:
        for suffix in ("nf4", "fp4"):
            note = self.notes.get(f"{name}.quant_state.bitsandbytes__{suffix}")
            if note is not None:
                shape = json_object(note).get("shape")
                return tuple(shape) if isinstance(shape, list) and all(isinstance(n, int) for n in shape) else None
        layer = name.rpartition(".")[0]
        told = json_object(self.notes.get(f"{layer}.comfy_quant")).get("format") or self._formats.get(layer)
        packed = told in TWO_PER_BYTE or (not told and tensor.dtype == "U8" and f"{name}_scale_2" in self.tensors)
        if packed and tensor.shape:
            return (*tensor.shape[:-1], tensor.shape[-1] * 2)
        return tensor.shape


class Header:
    """An index seen from below one prefix."""

    def __init__(self, index: Index, prefix: str = "") -> None:
        self.index = index
        self.prefix = prefix

    def has(self, name: str) -> bool:
        """Whether a tensor of that name is there; ``{a,b}`` stands for either."""
        return self.find(name) is not None

    def find(self, name: str) -> str | None:
        """The first of a name's spellings that is there, without the prefix."""
        for spelling in expand(name):
            if self.prefix + spelling in self.index.tensors:
                return spelling
        return None

    def below(self, path: str) -> bool:
        """Whether there is a tensor of that name, or one whose name goes on after it with a dot."""
        full = self.prefix + path
        return full in self.index.paths or full in self.index.tensors

    def shape(self, name: str) -> tuple[int, ...] | None:
        """The shape, as the model has it, of the first spelling that is there."""
        found = self.find(name)
        return None if found is None else self.index.shape(self.prefix + found)

    def length(self, name: str, axis: int) -> int | None:
        """One length of a shape; None where the tensor or the axis is not there."""
        shape = self.shape(name)
        if shape is None or not -len(shape) <= axis < len(shape):
            return None
        return shape[axis]

    def numbers(self, stem: str) -> set[int]:
        """The numbers that follow a stem."""
        return self.index.numbers.get(self.prefix + stem, set())

    def count(self, stem: str) -> int:
        """Blocks of a stem from 0 up to the first gap, which is how the host counts."""
        numbers = self.numbers(stem)
        count = 0
        while count in numbers:
            count += 1
        return count


def json_object(text: str | None) -> dict[str, Any]:
    """A JSON object, empty for anything else."""
    if not text:
        return {}
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}
