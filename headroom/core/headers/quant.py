"""How the weights of a model are packed, layer by layer, and how many parameters they stand for.

A layer is everything under one name: weight, bias, scales. Formats of ComfyUI: QUANTIZATION.md, ``QUANT_ALGOS`` in
comfy/quant_ops.py and ``_load_quantized_module`` in comfy/ops.py of 0.30.0; the older ``scaled_fp8``:
``convert_old_quants`` in comfy/utils.py. What is not recognised keeps its bytes and has no number of parameters.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from ..tensorinfo import ModelFile, TensorInfo
from .quant_formats import NO_PARAMETERS, UNRECOGNISED, Packed, recognise
from .quant_marks import Marks

#: Names that have dots of their own: bitsandbytes puts them under the weight.
BELOW_WEIGHT = re.compile(r"(.*?)\.?(weight\.(?:absmax|quant_map|nested_absmax|nested_quant_map|quant_state\..+))")


@dataclass(frozen=True)
class Layer:
    """All tensors under one name."""

    name: str
    """Up to the last dot; "" for tensors that have none."""
    format: str
    """A key of ``quant_formats.WORDS``, or the dtype of its weight where that is not quantised (``BF16``, ``Q4_K``)."""
    parameters: int | None
    """Of weight and bias; a packed 4-bit weight has two per byte, scales have none. None if it is not recognised."""
    size_bytes: int
    note: str = ""
    """What is odd: a scale that is missing, a format that is not known."""


@dataclass(frozen=True)
class FormatTotal:
    """All layers of one format."""

    format: str
    layers: int
    parameters: int | None
    """None if any layer's are unknown."""
    size_bytes: int


@dataclass(frozen=True)
class Quantisation:
    """A model by layers and by formats; both add up to all bytes of its tensors."""

    layers: tuple[Layer, ...]
    formats: tuple[FormatTotal, ...]
    """Largest first."""

    @property
    def parameters(self) -> int | None:
        """Of all layers; None if any layer's are unknown."""
        return _sum([layer.parameters for layer in self.layers])

    @property
    def size_bytes(self) -> int:
        """Bytes of all layers."""
        return sum(layer.size_bytes for layer in self.layers)

    @property
    def unrecognised_bytes(self) -> int:
        """Bytes of the layers that were not recognised."""
        return sum(layer.size_bytes for layer in self.layers if layer.parameters is None)


def quantisation(model: ModelFile) -> Quantisation:
    """How each layer of a model is packed."""
    marks = Marks.of(model)
    layers = tuple(_layer(name, parts, marks) for name, parts in _modules(model.tensors).items())
    assert sum(layer.size_bytes for layer in layers) == model.data_bytes, "a tensor is in no layer or in two"
    totals = {name: [layer for layer in layers if layer.format == name] for name in {layer.format for layer in layers}}
    formats = [
        FormatTotal(name, len(some), _sum([x.parameters for x in some]), sum(x.size_bytes for x in some))
        for name, some in totals.items()
    ]
    return Quantisation(layers, tuple(sorted(formats, key=lambda total: (-total.size_bytes, total.format))))


def _sum(numbers: list[int | None]) -> int | None:
    known = [number for number in numbers if number is not None]
    return sum(known) if len(known) == len(numbers) else None


def _modules(tensors: Mapping[str, TensorInfo]) -> dict[str, dict[str, TensorInfo]]:
    """The tensors by layer and by their name in it, in the file's order."""
    modules: dict[str, dict[str, TensorInfo]] = {}
    for name, tensor in tensors.items():
        below = BELOW_WEIGHT.fullmatch(name) if ".absmax" in name or ".quant_" in name or ".nested_" in name else None
        module, _, own = name.rpartition(".")
        if below:
            module, own = below[1], below[2]
        modules.setdefault(module, {})[own] = tensor
    return modules


def _layer(name: str, parts: dict[str, TensorInfo], marks: Marks) -> Layer:
    """One layer: its main tensor decides the format, the others add their parameters."""
    size_bytes = sum(tensor.size_bytes for tensor in parts.values())
    rest = {own: tensor for own, tensor in parts.items() if own not in NO_PARAMETERS and not own.startswith("weight.")}
    if not rest:
        return Layer(name, _largest(parts).dtype, 0, size_bytes)
    own = next((key for key in ("weight", "qweight") if key in rest), None)
    main = rest.pop(own) if own else _largest(rest)
    if own is None:
        rest = {key: tensor for key, tensor in rest.items() if tensor is not main}
    packed = recognise(main, own or "", parts, marks.of_layer(name), marks.shape(f"{name}.{own}"))
    rest = {key: tensor for key, tensor in rest.items() if key not in packed.beside}
    others = [_parameters(tensor, packed) for tensor in rest.values()]
    return Layer(name, packed.format, _sum([packed.parameters, *others]), size_bytes, packed.note)


def _largest(parts: Mapping[str, TensorInfo]) -> TensorInfo:
    return max(parts.values(), key=lambda tensor: tensor.size_bytes)


def _parameters(tensor: TensorInfo, packed: Packed) -> int | None:
    """Parameters of a tensor beside the weight: its elements, where they can be known."""
    alone = recognise(tensor, "", {}, None, None)
    return None if packed.format == UNRECOGNISED else alone.parameters
