"""The ways to pack a weight that are known: by what the file says, else by the dtypes and names beside the weight."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from ..tensorinfo import TensorInfo
from .entries import BITS
from .faults import quoted
from .gguf_types import TYPES
from .quant_marks import Mark

UNRECOGNISED = "unrecognised"
#: Format -> words for people.
WORDS = {
    "fp8_e4m3": "fp8 (e4m3) without scales",
    "fp8_e5m2": "fp8 (e5m2) without scales",
    "fp8_e4m3_scaled": "fp8 (e4m3), scaled",
    "fp8_e5m2_scaled": "fp8 (e5m2), scaled",
    "mxfp8": "mxfp8",
    "nvfp4": "nvfp4",
    "int8": "int8",
    "int8_convrot": "int8, rotated",
    "convrot_w4a4": "int4, rotated",
    "bnb_int8": "bitsandbytes int8",
    "bnb_nf4": "bitsandbytes nf4",
    "bnb_fp4": "bitsandbytes fp4",
    "svdquant_w4a4": "SVDQuant 4-bit",
    UNRECOGNISED: "not recognised",
}

#: Tensors that say how to read a weight; they have bytes but no parameters.
NO_PARAMETERS = frozenset(
    {
        *("weight_scale", "weight_scale_2", "input_scale", "pre_quant_scale", "comfy_quant"),
        *("scale_weight", "scale_input", "scaled_fp8", "SCB", "weight_format"),
    }
)
#: The same beside a ``qweight``; elsewhere these are names of real weights.
BESIDE_QWEIGHT = frozenset(
    {
        *("wscales", "wzeros", "wcscales", "wtscale", "smooth", "smooth_orig", "smooth_factor"),
        *("proj_down", "proj_up", "lora_down", "lora_up", "scales", "qzeros", "g_idx"),
    }
)


class Packed(NamedTuple):
    """How a weight is packed."""

    format: str
    parameters: int | None
    note: str = ""
    beside: frozenset[str] = frozenset()
    """Further tensors of the layer that are no parameters."""


class Said(NamedTuple):
    """A format that a file can say it has."""

    format: str
    dtypes: frozenset[str]
    """In which its weight may be stored."""
    per_element: int
    """Parameters in one stored element of ``U8`` or ``I8``."""
    scales: tuple[str, ...]
    """Without these the host does not load the layer."""


#: The names in ``comfy_quant``; an fp8 weight may lie in a ``U8`` tensor.
SAID = {
    "float8_e4m3fn": Said("fp8_e4m3_scaled", frozenset({"F8_E4M3", "U8"}), 1, ()),
    "float8_e5m2": Said("fp8_e5m2_scaled", frozenset({"F8_E5M2", "U8"}), 1, ()),
    "mxfp8": Said("mxfp8", frozenset({"F8_E4M3", "U8"}), 1, ("weight_scale",)),
    "nvfp4": Said("nvfp4", frozenset({"U8", "F4"}), 2, ("weight_scale", "weight_scale_2")),
    "int8_tensorwise": Said("int8", frozenset({"I8"}), 1, ("weight_scale",)),
    "convrot_w4a4": Said("convrot_w4a4", frozenset({"I8", "U8"}), 2, ("weight_scale",)),
}
FP8 = {"F8_E4M3": "fp8_e4m3", "F8_E5M2": "fp8_e5m2"}
GGUF_NAMES = frozenset(type_.name for type_ in TYPES.values())


def recognise(
    weight: TensorInfo, own: str, parts: Mapping[str, TensorInfo], mark: Mark | None, elements: int | None
) -> Packed:
    """How a layer's main tensor is packed.

    Args:
        own: its name in the layer.
        parts: all tensors of the layer by their names in it.
        mark: what the file says.
        elements: of the weight before it was packed, where that is noted.
    """
    if mark is not None and own == "weight":
        return _as_said(weight, parts, mark)
    if own == "qweight":
        return _beside_qweight(weight, parts)
    if weight.dtype in FP8:
        return Packed(_fp8(weight, parts), weight.elements)
    if weight.dtype in {"U8", "I8"} and len(weight.shape) > 1:
        return _packed_bytes(weight, parts, elements)
    if weight.dtype in BITS or weight.dtype in GGUF_NAMES:
        return Packed(weight.dtype, weight.elements)
    return _unrecognised(f"{quoted(weight.dtype)} is not known")


def _as_said(weight: TensorInfo, parts: Mapping[str, TensorInfo], mark: Mark) -> Packed:
    """A layer with a mark: it holds where the tensors agree."""
    said = SAID.get(mark.format)
    if not mark.format:
        return _unrecognised("its mark cannot be read")
    if said is None:
        return _unrecognised(f"the format {quoted(mark.format)} is not known")
    if weight.dtype not in said.dtypes:
        return _unrecognised(f"marked {quoted(mark.format)} but stored as {quoted(weight.dtype)}")
    missing = [name for name in said.scales if name not in parts]
    note = f"without {' and '.join(missing)}: it does not load" if missing else ""
    per_element = 1 if weight.dtype == "F4" else said.per_element
    rotated = said.format == "int8" and mark.rotated
    return Packed("int8_convrot" if rotated else said.format, weight.elements * per_element, note)


def _fp8(weight: TensorInfo, parts: Mapping[str, TensorInfo]) -> str:
    """fp8 by its scales: one per tensor or row, one per 32 elements, or none."""
    scale = parts.get("weight_scale") or parts.get("scale_weight")
    if scale is None:
        return FP8[weight.dtype]
    return "mxfp8" if scale.dtype in {"F8_E8M0", "U8"} else f"{FP8[weight.dtype]}_scaled"


def _packed_bytes(weight: TensorInfo, parts: Mapping[str, TensorInfo], elements: int | None) -> Packed:
    """A table of bytes: 4-bit or 8-bit weights, told by what lies beside them."""
    if weight.dtype == "U8" and "weight.absmax" in parts:
        kind = "bnb_fp4" if "weight.quant_state.bitsandbytes__fp4" in parts else "bnb_nf4"
        return Packed(kind, weight.elements * 2 if elements is None else elements)
    if weight.dtype == "U8" and "weight_scale" in parts and "weight_scale_2" in parts:
        return Packed("nvfp4", weight.elements * 2)
    if weight.dtype == "I8" and "SCB" in parts:
        return Packed("bnb_int8", weight.elements)
    if weight.dtype == "I8" and "weight_scale" in parts:
        # A rotated 4-bit weight looks the same; only its mark tells, and ComfyUI always writes one.
        return Packed("int8", weight.elements)
    return _unrecognised(f"bytes of {quoted(weight.dtype)} without a known scale")


def _beside_qweight(weight: TensorInfo, parts: Mapping[str, TensorInfo]) -> Packed:
    """SVDQuant as Nunchaku and comfy-kitchen store it: two 4-bit values in a byte, low-rank corrections beside."""
    if weight.dtype == "I8" and "wscales" in parts and ("proj_down" in parts or "lora_down" in parts):
        return Packed("svdquant_w4a4", weight.elements * 2, beside=BESIDE_QWEIGHT)
    return _unrecognised("a packed weight of another program")._replace(beside=BESIDE_QWEIGHT)


def _unrecognised(note: str) -> Packed:
    return Packed(UNRECOGNISED, None, note)
