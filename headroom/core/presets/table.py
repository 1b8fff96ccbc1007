"""The presets by name, and their components."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Literal

from ..component import Component, component_of
from ..preset_names import CALLED, LISTED
from ..tensorinfo import ModelFile, TensorInfo
from .formats import FORMATS, tensor

HEADERS = Path(__file__).with_name("headers.json")
Kind = Literal["diffusion", "text encoder", "vae"]


@dataclass(frozen=True)
class Preset:
    """A model in one format."""

    name: str
    """As the nodes offer it."""
    kind: Kind
    header: str
    """Its tensors, in headers.json."""
    format: str
    """A key of FORMATS."""


PRESETS: tuple[Preset, ...] = tuple(
    Preset(CALLED.format(name=name, format=FORMATS[format_].word), kind, header, format_)
    for kind, name, header, formats in LISTED
    for format_ in formats
)


def preset_named(name: str) -> Preset | None:
    """The preset of a name that a node offers; None where it is none, such as a file."""
    return next((preset for preset in PRESETS if preset.name == name), None)


@lru_cache(maxsize=16)
def preset_component(preset: Preset) -> Component:
    """The preset as if its header had been read."""
    format_ = FORMATS[preset.format]
    tensors: dict[str, TensorInfo] = {}
    for pattern, count, shape in _headers()[preset.header]:
        names = [pattern] if count is None else [pattern.replace("#", str(number)) for number in range(count)]
        for name in names:
            tensors[name] = tensor(name, tuple(shape), count is not None, format_)
    size = sum(one.size_bytes for one in tensors.values())
    kind = "gguf" if format_.gguf else "safetensors"
    return component_of(ModelFile(preset.name, kind, tensors, file_bytes=size))


@lru_cache(maxsize=1)
def _headers() -> dict[str, list[tuple[str, int | None, list[int]]]]:
    """Tensors by header: [name, how many blocks "#" stands for or null, shape]."""
    return json.loads(HEADERS.read_text("utf-8"))
