"""Quantised files: packed weights have other shapes than the model, and scales stand beside them."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from headroom.core.families import identify
from headroom.core.families.index import Index, expand, json_object
from headroom.core.tensorinfo import TensorInfo

Header = dict[str, TensorInfo]


@pytest.fixture
def header_of(all_cases: Any, build: Any) -> Callable[[str], Header]:
    """A copy of the header of a case."""
    return lambda name: dict(build(next(case for case in all_cases if case.name == name)).tensors)


def layers(tensors: Header) -> list[str]:
    """All weights that quantisers pack: matrices."""
    return [name for name, tensor in tensors.items() if name.endswith(".weight") and len(tensor.shape) == 2]


def nvfp4(tensors: Header, names: list[str]) -> Header:
    """Weights in nvfp4 as QUANTIZATION.md describes it: two values in a byte, scales for groups of 16."""
    out = dict(tensors)
    for name in names:
        rows, columns = tensors[name].shape
        out[name] = TensorInfo(name, "U8", (rows, columns // 2), rows * columns // 2)
        out[f"{name}_scale"] = TensorInfo(f"{name}_scale", "F8_E4M3", (rows, columns // 16), rows * columns // 16)
        out[f"{name}_scale_2"] = TensorInfo(f"{name}_scale_2", "F32", (), 4)
    return out


def fp8(tensors: Header, names: list[str], scale: str) -> Header:
    """Weights in fp8 with one scale each."""
    out = dict(tensors)
    for name in names:
        out[name] = replace(tensors[name], dtype="F8_E4M3", size_bytes=tensors[name].elements)
        beside = f"{name.removesuffix('.weight')}.{scale}"
        out[beside] = TensorInfo(beside, "F32", (), 4)
    return out


CASES = ["Flux-dev", "WAN21_T2V-14b", "QwenImage-qwen-image", "ZImage-turbo-6b", "LTXV-13b", "LTXAV-19b", "Flux2-dev"]


@pytest.mark.parametrize("name", CASES)
def test_nvfp4_everywhere_changes_nothing_but_the_bytes(name: str, header_of: Callable[[str], Header]):
    """Every matrix is packed here, also those that the sizes are read from."""
    plain = header_of(name)
    packed = nvfp4(plain, layers(plain))
    before, after = identify(plain), identify(packed)
    assert (after.family, after.status, after.faults) == (before.family, "known", ())
    assert (after.sizes, after.memory_factor) == (before.sizes, before.memory_factor)
    assert after.stacks == before.stacks
    assert after.size_bytes == sum(tensor.size_bytes for tensor in packed.values())
    assert after.size_bytes < 0.6 * before.size_bytes


def test_the_host_reads_the_packed_length_and_headroom_the_true_one(
    header_of: Callable[[str], Header], oracle: Any, all_cases: Any, build: Any
):
    """A difference on purpose: comfy/model_detection.py 0.30.0 takes lengths as they are stored. For an LTX-Video whose
    attention is packed it so gets half of the memory factor, unless the file's metadata say better."""
    import torch

    made = build(next(case for case in all_cases if case.name == "LTXV-13b"))
    key = "transformer_blocks.0.attn2.to_k.weight"
    names = dict(made.names)
    names[key] = torch.empty((4096, 2048), dtype=torch.uint8, device="meta")
    host = oracle.model_config_from_unet(names, "")
    tensors = nvfp4(header_of("LTXV-13b"), [key])
    identity = identify(tensors)
    assert identity.memory_factor == 11.0 == 2 * host.memory_usage_factor

    config = {"config": json.dumps({"transformer": {"cross_attention_dim": 4096}})}
    host = oracle.model_config_from_unet(names, "", metadata=config)
    assert identify(tensors, config).memory_factor == host.memory_usage_factor == 11.0


@pytest.mark.parametrize("scale", ["weight_scale", "scale_weight"])
@pytest.mark.parametrize("name", ["Flux-dev", "WAN21_T2V-14b", "HunyuanVideo-hyvideo-t-2-cfgdistill"])
def test_scaled_fp8_of_both_kinds(name: str, scale: str, header_of: Callable[[str], Header]):
    plain = header_of(name)
    # The first and last blocks stay as they are, as quantisers do it.
    packed = fp8(plain, layers(plain)[20:-20], scale)
    if scale == "scale_weight":
        packed["scaled_fp8"] = TensorInfo("scaled_fp8", "F8_E4M3", (2,), 2)
    identity = identify(packed)
    assert (identity.status, identity.family) == ("known", identify(plain).family)
    assert identity.faults == ()
    assert identity.sizes == identify(plain).sizes


def test_the_format_is_taken_from_the_notes_and_from_the_metadata():
    """convrot_w4a4 is packed in signed bytes, like int8 which is not packed: only the text beside them tells."""
    tensors = {"a.weight": TensorInfo("a.weight", "I8", (64, 32), 2048)}
    assert Index(tensors).shape("a.weight") == (64, 32)
    assert Index(tensors, notes={"a.comfy_quant": '{"format": "convrot_w4a4"}'}).shape("a.weight") == (64, 64)
    assert Index(tensors, notes={"a.comfy_quant": '{"format": "int8_tensorwise"}'}).shape("a.weight") == (64, 32)
    told = json.dumps({"layers": {"a": {"format": "nvfp4"}}})
    assert Index(tensors, {"_quantization_metadata": told}).shape("a.weight") == (64, 64)


def test_bitsandbytes_says_the_shape_in_its_notes():
    tensors = {"a.weight": TensorInfo("a.weight", "U8", (1024, 1), 1024)}
    note = {"a.weight.quant_state.bitsandbytes__nf4": '{"shape": [64, 32]}'}
    assert Index(tensors, notes=note).shape("a.weight") == (64, 32)
    broken = {"a.weight.quant_state.bitsandbytes__nf4": "{"}
    assert Index(tensors, notes=broken).shape("a.weight") is None


def test_bytes_that_are_no_weights_are_not_packed():
    tensors = {
        "scaled_fp8": TensorInfo("scaled_fp8", "U8", (4, 8), 32),
        "a.weight": TensorInfo("a.weight", "U8", (4, 8), 32),
        "b.weight": TensorInfo("b.weight", "U8", (), 1),
        "b.weight_scale_2": TensorInfo("b.weight_scale_2", "F32", (), 4),
    }
    index = Index(tensors)
    assert index.shape("scaled_fp8") == (4, 8)
    assert index.shape("a.weight") == (4, 8)
    assert index.shape("b.weight") == ()
    assert index.shape("c.weight") is None


def test_gguf_types_are_only_labels(header_of: Callable[[str], Header]):
    """A GGUF file's shapes are the model's own; its bytes are what they are."""
    plain = header_of("WAN21_T2V-14b")
    packed = {
        name: replace(tensor, dtype="Q4_K", size_bytes=tensor.elements * 144 // 256)
        if name in layers(plain)
        else tensor
        for name, tensor in plain.items()
    }
    identity = identify(packed)
    assert (identity.family, identity.status) == ("WAN21_T2V", "known")
    assert identity.size_bytes == sum(tensor.size_bytes for tensor in packed.values())


def test_spellings():
    assert expand("a") == ("a",)
    assert expand("a.{weight,scale}") == ("a.weight", "a.scale")
    assert expand("{a.,}b.{c,d}") == ("a.b.c", "a.b.d", "b.c", "b.d")


@pytest.mark.parametrize("text", [None, "", "3", "[1]", "{", "nul", '"a"'])
def test_json_that_is_no_object_is_empty(text: str | None):
    assert json_object(text) == {}
