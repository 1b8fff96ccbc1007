"""What a file says itself about how its layers are packed: ``comfy_quant`` tensors, header metadata, bitsandbytes."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ..tensorinfo import ModelFile
from .jsontext import JsonFault, parse
from .limits import LIMITS
from .notes import BITSANDBYTES, COMFY

METADATA = "_quantization_metadata"


@dataclass(frozen=True)
class Mark:
    """The format that a layer is said to have; "" where its mark cannot be read."""

    format: str
    rotated: bool = False
    """Whether an int8 weight was rotated first (``convrot``)."""


@dataclass(frozen=True)
class Marks:
    """The marks of a model."""

    layers: Mapping[str, Mark]
    shapes: Mapping[str, int]
    """Elements of a weight before bitsandbytes packed it, by the weight's name."""

    @staticmethod
    def of(model: ModelFile) -> Marks:
        """The marks of a model; where both are there, the tensor counts, as in the host."""
        layers: dict[str, Mark] = dict(_from_metadata(model.metadata))
        shapes: dict[str, int] = {}
        for name, text in model.notes.items():
            value = _table(text)
            if name.endswith(COMFY):
                layers[name[: -len(COMFY)]] = _mark(value)
            elif BITSANDBYTES in name:
                elements = _elements(value.get("shape"))
                if elements is not None:
                    shapes[name.partition(BITSANDBYTES)[0]] = elements
        return Marks(layers, shapes)

    def of_layer(self, name: str) -> Mark | None:
        """The mark of a layer, None where it has none."""
        return self.layers.get(name)

    def shape(self, weight: str) -> int | None:
        """Elements of a weight before it was packed, where that is noted."""
        return self.shapes.get(weight)


def _from_metadata(metadata: Mapping[str, str]) -> Iterator[tuple[str, Mark]]:
    """Marks from the header; in a diffusers folder the component stands in front of both keys."""
    for key, text in metadata.items():
        if key.endswith(METADATA):
            layers = _table(text).get("layers")
            front = key[: -len(METADATA)]
            for name, value in layers.items() if isinstance(layers, dict) else ():
                yield front + name, _mark(value)


def _table(text: str) -> dict[str, Any]:
    """A JSON table; empty where the text is none."""
    try:
        value = parse(text.encode("utf-8"), LIMITS).value
    except JsonFault:
        return {}
    return value if isinstance(value, dict) else {}


def _mark(value: Any) -> Mark:
    if not isinstance(value, dict) or not isinstance(value.get("format"), str):
        return Mark("")
    inner = value.get("params")
    rotated = value.get("convrot", inner.get("convrot") if isinstance(inner, dict) else None)
    return Mark(value["format"], bool(rotated))


def _elements(shape: Any) -> int | None:
    """Elements of a shape that can be meant."""
    if not isinstance(shape, list) or len(shape) > LIMITS.dimensions:
        return None
    if not all(type(side) is int and 0 <= side <= LIMITS.number for side in shape):
        return None
    return math.prod(shape)
