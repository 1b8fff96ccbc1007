"""Packed weights, layer by layer: formats, true parameter counts, and bytes that always add up."""

from __future__ import annotations

import ast
import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from fakes.model_files import HALF_BYTES, framed, gguf, tensor

from headroom.core.headers import read
from headroom.core.headers.gguf_types import TYPES
from headroom.core.headers.quant import FormatTotal, Layer, Quantisation, quantisation
from headroom.core.headers.quant_formats import SAID, UNRECOGNISED, WORDS

Shape = tuple[str, Sequence[int]]


def packed(
    folder: Path,
    tensors: Mapping[str, Shape],
    notes: Mapping[str, str] | None = None,
    metadata: Mapping[str, str] | None = None,
) -> Quantisation:
    """The layers of a file with these tensors; ``notes`` are tensors that hold a text."""
    header: dict[str, object] = {"__metadata__": dict(metadata)} if metadata else {}
    data = b""
    for name, (dtype, shape) in tensors.items():
        size = math.prod(shape) * HALF_BYTES[dtype] // 2
        header[name] = {"dtype": dtype, "shape": list(shape), "data_offsets": [len(data), len(data) + size]}
        data += bytes(size)
    for name, text in (notes or {}).items():
        raw = text.encode()
        header[name] = {"dtype": "U8", "shape": [len(raw)], "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    path = folder / "model.safetensors"
    path.write_bytes(framed(header, data))
    model = read(path)
    assert model.faults == ()
    found = quantisation(model)
    assert found.size_bytes == model.data_bytes == sum(total.size_bytes for total in found.formats)
    return found


OUT, IN = 64, 128
SCALE: Shape = ("F32", ())
MARKED = {
    "float8_e4m3fn": ({"l.weight": ("F8_E4M3", (OUT, IN)), "l.weight_scale": SCALE}, "fp8_e4m3_scaled"),
    "float8_e5m2": ({"l.weight": ("F8_E5M2", (OUT, IN)), "l.weight_scale": SCALE}, "fp8_e5m2_scaled"),
    "mxfp8": ({"l.weight": ("F8_E4M3", (OUT, IN)), "l.weight_scale": ("F8_E8M0", (128, 4))}, "mxfp8"),
    "nvfp4": (
        {
            "l.weight": ("U8", (OUT, IN // 2)),
            "l.weight_scale": ("F8_E4M3", (OUT, IN // 16)),
            "l.weight_scale_2": SCALE,
            "l.input_scale": SCALE,
        },
        "nvfp4",
    ),
    "int8_tensorwise": ({"l.weight": ("I8", (OUT, IN)), "l.weight_scale": ("F32", (OUT, 1))}, "int8"),
    "convrot_w4a4": ({"l.weight": ("I8", (OUT, IN // 2)), "l.weight_scale": ("F32", (OUT,))}, "convrot_w4a4"),
}


@pytest.mark.parametrize("by", ["tensor", "metadata"])
@pytest.mark.parametrize("said", MARKED)
def test_a_format_of_comfyui_by_its_mark(said: str, by: str, tmp_path: Path):
    """host.md section 6: a packed 4-bit weight counts as half in the host's calculate_parameters."""
    tensors, format_ = MARKED[said]
    tensors = tensors | {"l.bias": ("BF16", (OUT,))}
    mark = {"format": said}
    if by == "tensor":
        found = packed(tmp_path, tensors, {"l.comfy_quant": json.dumps(mark)})
    else:
        found = packed(tmp_path, tensors, metadata={"_quantization_metadata": json.dumps({"layers": {"l": mark}})})
    assert [layer[:3] for layer in map(as_tuple, found.layers)] == [("l", format_, OUT * IN + OUT)]
    assert found.layers[0].note == ""
    assert found.parameters == OUT * IN + OUT


def as_tuple(layer: Layer) -> tuple[str, str, int | None, int, str]:
    """A layer's fields."""
    return layer.name, layer.format, layer.parameters, layer.size_bytes, layer.note


def test_every_format_that_the_host_knows_is_known(host):
    """QUANT_ALGOS of the installed ComfyUI; a newer one that has more fails here by name."""
    names: set[str] = set()
    for node in ast.walk(ast.parse((host.path / "comfy" / "quant_ops.py").read_text("utf-8"))):
        if isinstance(node, ast.Assign):
            [target] = node.targets
            if ast.unparse(target) == "QUANT_ALGOS":
                names |= {ast.literal_eval(ast.unparse(key)) for key in getattr(node.value, "keys", [])}
            elif ast.unparse(target).startswith("QUANT_ALGOS["):
                names.add(ast.literal_eval(ast.unparse(getattr(target, "slice", target))))
    assert {"nvfp4", "mxfp8", "int8_tensorwise"} <= names
    assert names <= set(SAID)
    assert set(MARKED) == set(SAID)


UNMARKED: dict[str, tuple[dict[str, Shape], str, int | None]] = {
    "fp8 without scales": ({"l.weight": ("F8_E4M3", (OUT, IN))}, "fp8_e4m3", OUT * IN),
    "fp8 e5m2 without scales": ({"l.weight": ("F8_E5M2", (OUT, IN))}, "fp8_e5m2", OUT * IN),
    "fp8 with the older names": (
        {"l.weight": ("F8_E4M3", (OUT, IN)), "l.scale_weight": ("F32", (1,)), "l.scale_input": ("F32", (1,))},
        "fp8_e4m3_scaled",
        OUT * IN,
    ),
    "fp8 with a scale": (MARKED["float8_e4m3fn"][0], "fp8_e4m3_scaled", OUT * IN),
    "mxfp8": (MARKED["mxfp8"][0], "mxfp8", OUT * IN),
    "nvfp4": (MARKED["nvfp4"][0], "nvfp4", OUT * IN),
    "int8": (MARKED["int8_tensorwise"][0], "int8", OUT * IN),
    "bitsandbytes int8": (
        {"l.weight": ("I8", (OUT, IN)), "l.SCB": ("F32", (OUT,)), "l.weight_format": ("U8", ())},
        "bnb_int8",
        OUT * IN,
    ),
    "bitsandbytes nf4": (
        {
            "l.weight": ("U8", (OUT * IN // 2, 1)),
            "l.weight.absmax": ("U8", (OUT * IN // 64,)),
            "l.weight.quant_map": ("F32", (16,)),
            "l.weight.nested_absmax": ("F32", (2,)),
            "l.weight.nested_quant_map": ("F32", (256,)),
            "l.weight.quant_state.bitsandbytes__nf4": ("U8", (5,)),
        },
        "bnb_nf4",
        OUT * IN,
    ),
    "bitsandbytes fp4": (
        {
            "l.weight": ("U8", (OUT * IN // 2, 1)),
            "l.weight.absmax": ("F32", (OUT * IN // 64,)),
            "l.weight.quant_state.bitsandbytes__fp4": ("U8", (5,)),
        },
        "bnb_fp4",
        OUT * IN,
    ),
    "SVDQuant": (
        {
            "l.qweight": ("I8", (OUT, IN // 2)),
            "l.wscales": ("BF16", (IN // 64, OUT)),
            "l.proj_down": ("BF16", (IN, 32)),
            "l.proj_up": ("BF16", (OUT, 32)),
            "l.smooth_factor": ("BF16", (IN,)),
        },
        "svdquant_w4a4",
        OUT * IN,
    ),
    "4-bit elements of their own": ({"l.weight": ("F4", (OUT, IN))}, "F4", OUT * IN),
    "plain": ({"l.weight": ("BF16", (OUT, IN))}, "BF16", OUT * IN),
    "a scale beside a plain weight": (
        {"l.weight": ("BF16", (OUT, IN)), "l.weight_scale": SCALE},
        "BF16",
        OUT * IN,
    ),
    "no weight": ({"l.pos_embed": ("F32", (7, 3)), "l.cls_token": ("F32", (3,))}, "F32", 24),
    "whole numbers": ({"l.position_ids": ("I64", (1, 77))}, "I64", 77),
    "bytes of an unknown program": ({"l.weight": ("U8", (OUT, IN // 2))}, UNRECOGNISED, None),
    "int8 of an unknown program": ({"l.weight": ("I8", (OUT, IN)), "l.scale": SCALE}, UNRECOGNISED, None),
    "GPTQ": (
        {"l.qweight": ("I32", (IN // 8, OUT)), "l.scales": ("F16", (2, OUT)), "l.qzeros": ("I32", (2, 8))},
        UNRECOGNISED,
        None,
    ),
}


@pytest.mark.parametrize(("tensors", "format_", "parameters"), UNMARKED.values(), ids=UNMARKED.keys())
def test_a_format_by_its_dtypes_and_names(
    tensors: dict[str, Shape], format_: str, parameters: int | None, tmp_path: Path
):
    [layer] = packed(tmp_path, tensors).layers
    assert (layer.name, layer.format, layer.parameters) == ("l", format_, parameters)
    assert (layer.note != "") == (parameters is None)


def test_what_is_not_recognised_keeps_its_bytes_and_says_so(tmp_path: Path):
    found = packed(tmp_path, {"a.weight": ("U8", (3, 5)), "b.weight": ("F16", (2, 2))})
    unrecognised = found.layers[0]
    assert as_tuple(unrecognised) == ("a", UNRECOGNISED, None, 15, "bytes of `U8` without a known scale")
    assert (found.parameters, found.unrecognised_bytes, found.size_bytes) == (None, 15, 23)


@pytest.mark.parametrize(
    ("weight", "mark", "note"),
    [
        ("F16", '{"format": "nvfp4"}', "marked `nvfp4` but stored as `F16`"),
        ("U8", '{"format": "next_year"}', "the format `next_year` is not known"),
        ("U8", "{}", "its mark cannot be read"),
        ("U8", "not JSON", "its mark cannot be read"),
        ("U8", '{"format": 4}', "its mark cannot be read"),
        ("U8", "[" * 4000, "its mark cannot be read"),
    ],
)
def test_a_mark_that_cannot_hold_is_not_believed(weight: str, mark: str, note: str, tmp_path: Path):
    [layer] = packed(tmp_path, {"l.weight": (weight, (4, 8))}, {"l.comfy_quant": mark}).layers
    assert (layer.format, layer.parameters, layer.note) == (UNRECOGNISED, None, note)


def test_a_mark_that_was_cut_off_is_none(tmp_path: Path):
    """What is left of a truncated file is still told by the tensors."""
    header = {
        "l.weight": {"dtype": "F8_E4M3", "shape": [2, 4], "data_offsets": [0, 8]},
        "l.comfy_quant": {"dtype": "U8", "shape": [8], "data_offsets": [8, 16]},
    }
    path = tmp_path / "model.safetensors"
    path.write_bytes(framed(header, bytes(8) + b'{"f"'))
    model = read(path)
    assert [fault.id for fault in model.faults] == ["truncated"]
    assert quantisation(model).layers[0].format == "fp8_e4m3"


@pytest.mark.parametrize(("said", "missing"), [(name, said.scales) for name, said in SAID.items() if said.scales])
def test_a_missing_scale_is_named(said: str, missing: tuple[str, ...], tmp_path: Path):
    """The host stops with "Missing NVFP4 scales for layer" and the like (comfy/ops.py)."""
    tensors = {name: shape for name, shape in MARKED[said][0].items() if name == "l.weight"}
    [layer] = packed(tmp_path, tensors, {"l.comfy_quant": json.dumps({"format": said})}).layers
    assert layer.note == f"without {' and '.join(missing)}: it does not load"
    assert layer.parameters == OUT * IN


@pytest.mark.parametrize("mark", [{"convrot": True}, {"params": {"convrot": True, "convrot_groupsize": 256}}])
def test_a_rotated_int8_weight(mark: dict[str, object], tmp_path: Path):
    text = json.dumps({"format": "int8_tensorwise"} | mark)
    [layer] = packed(tmp_path, MARKED["int8_tensorwise"][0], {"l.comfy_quant": text}).layers
    assert (layer.format, layer.parameters) == ("int8_convrot", OUT * IN)


def test_an_fp8_weight_in_a_table_of_bytes(tmp_path: Path):
    """QUANTIZATION.md: "sometimes using a different storage datatype. E.g. uint8 container for fp8"."""
    tensors: dict[str, Shape] = {"l.weight": ("U8", (OUT, IN)), "l.weight_scale": SCALE}
    [layer] = packed(tmp_path, tensors, {"l.comfy_quant": '{"format": "float8_e4m3fn"}'}).layers
    assert (layer.format, layer.parameters) == ("fp8_e4m3_scaled", OUT * IN)


def test_bitsandbytes_notes_the_shape_that_was_packed(tmp_path: Path):
    """Two elements per byte would count one too many where the number is odd."""
    state = json.dumps({"quant_type": "nf4", "blocksize": 64, "shape": [3, 5], "dtype": "bfloat16"})
    tensors: dict[str, Shape] = {"l.weight": ("U8", (8, 1)), "l.weight.absmax": ("F32", (1,))}
    [layer] = packed(tmp_path, tensors, {"l.weight.quant_state.bitsandbytes__nf4": state}).layers
    assert (layer.format, layer.parameters) == ("bnb_nf4", 15)


def test_a_mixed_model_adds_up(tmp_path: Path):
    tensors: dict[str, Shape] = {
        "scaled_fp8": ("F8_E4M3", (2,)),
        "blocks.0.weight": ("F8_E4M3", (4, 4)),
        "blocks.0.scale_weight": ("F32", (1,)),
        "blocks.0.bias": ("BF16", (4,)),
        "blocks.1.weight": ("F8_E4M3", (4, 4)),
        "blocks.1.scale_weight": ("F32", (1,)),
        "blocks.2.weight": ("F8_E4M3", (4, 4)),
        "norm.weight": ("F32", (4,)),
    }
    found = packed(tmp_path, tensors)
    assert found.formats == (
        FormatTotal("fp8_e4m3_scaled", 2, 36, 16 + 4 + 8 + 16 + 4),
        FormatTotal("F32", 1, 4, 16),
        FormatTotal("fp8_e4m3", 1, 16, 16),
        FormatTotal("F8_E4M3", 1, 0, 2),
    )
    assert found.parameters == 56


@pytest.mark.parametrize("type_", [number for number, found in TYPES.items() if found.elements > 1])
def test_gguf_types_are_formats_with_their_true_parameters(type_: int, tmp_path: Path):
    known = TYPES[type_]
    data = bytes(3 * known.size_bytes)
    padded = data + bytes(-len(data) % 32)
    tensors = [tensor("l.weight", [known.elements, 3], type_, 0), tensor("l.bias", [3], 0, len(padded))]
    path = tmp_path / "model.gguf"
    path.write_bytes(gguf([], tensors, padded + bytes(12)))
    [layer] = quantisation(read(path)).layers
    assert as_tuple(layer) == ("l", known.name, 3 * known.elements + 3, len(data) + 12, "")


def test_a_gguf_type_that_nobody_knows(tmp_path: Path):
    path = tmp_path / "model.gguf"
    path.write_bytes(gguf([], [tensor("l.weight", [64, 3], 250, 0)], bytes(96)))
    [layer] = quantisation(read(path)).layers
    assert as_tuple(layer) == ("l", UNRECOGNISED, None, 96, "`type 250` is not known")


def test_the_component_stands_before_the_layers_of_its_metadata(tmp_path: Path):
    (tmp_path / "transformer").mkdir()
    (tmp_path / "transformer" / "config.json").write_text("{}")
    mark = json.dumps({"layers": {"l": {"format": "float8_e5m2"}}})
    header = {
        "__metadata__": {"_quantization_metadata": mark},
        "l.weight": {"dtype": "U8", "shape": [2, 2], "data_offsets": [0, 4]},
    }
    (tmp_path / "transformer" / "diffusion_pytorch_model.safetensors").write_bytes(framed(header, bytes(4)))
    [layer] = quantisation(read(tmp_path)).layers
    assert (layer.name, layer.format) == ("transformer/l", "fp8_e5m2_scaled")


def test_every_format_has_words():
    formats = {said.format for said in SAID.values()} | {case[1] for case in UNMARKED.values()}
    assert {name for name in formats if not name.isupper() and name not in ("BF16", "F32", "I64", "F4")} <= set(WORDS)
    assert {"int8_convrot", "bnb_fp4", UNRECOGNISED} <= set(WORDS)
