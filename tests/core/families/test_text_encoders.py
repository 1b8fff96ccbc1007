"""Text encoders: the host's own classes on the meta device, and its ``detect_te_model`` as the oracle."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from headroom.core.families import ARCHITECTURES, controlnets, identify, others, text_encoders, vaes
from headroom.core.families.index import Header, Index
from headroom.core.tensorinfo import TensorInfo

DATA = Path(__file__).resolve().parent.parent.parent / "data" / "families"
CASES = json.loads((DATA / "text_encoders.json").read_text("utf-8"))["text_encoders"]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_headroom_names_what_the_host_names(case: Mapping[str, Any], encoder_names: Any, to_header: Any):
    import comfy.sd

    names = encoder_names(case)
    assert comfy.sd.detect_te_model(names).name == case["te_model"]

    identity = identify(to_header(names))

    assert (identity.kind, identity.status) == ("text encoder", "known")
    assert (identity.row, identity.family) == (case["row"], case["te_model"])
    assert identity.size_bytes == sum(tensor.nbytes for tensor in names.values())


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_one_row_claims_a_text_encoder(case: Mapping[str, Any], encoder_names: Any, to_header: Any):
    header = Header(Index(to_header(encoder_names(case))))
    assert [row.id for row in text_encoders.ROWS if row.sign.fits(header)] == [case["row"]]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_the_layers_are_counted_and_the_width_is_read(case: Mapping[str, Any], encoder_names: Any, to_header: Any):
    tensors = to_header(encoder_names(case))
    identity = identify(tensors)
    assert identity.stacks[0].count == identity.sizes["layers"] > 5
    if identity.hidden_size is not None:
        assert any(identity.hidden_size in tensor.shape for tensor in tensors.values())


def test_every_text_encoder_of_the_host_has_a_row(oracle: ModuleType):
    """Fails by name when a newer host gains one."""
    import comfy.sd

    known = {row.family for row in text_encoders.ROWS}
    assert {model.name for model in comfy.sd.TEModel} - known == set()


def test_published_sizes(encoder_names: Any, to_header: Any):
    """Weights as ComfyUI logs them (measured.md): SDXL's two text encoders 1560.80 MiB in fp16, Wan's 6419 with every
    matrix but the token embedding in fp8."""
    made = {
        case["id"]: to_header(encoder_names(case)) for case in CASES if case["id"] in {"CLIP_L", "CLIP_G", "umt5-xxl"}
    }
    clips = sum(identify(made[name]).size_bytes for name in ("CLIP_L", "CLIP_G"))
    assert clips / 2**20 == pytest.approx(1560.80, abs=0.05)
    wan = sum(
        tensor.elements if len(tensor.shape) == 2 and name != "shared.weight" else tensor.size_bytes
        for name, tensor in made["umt5-xxl"].items()
    )
    assert wan / 2**20 == pytest.approx(6419, abs=0.6)


def info(name: str, *shape: int) -> TensorInfo:
    """A tensor in fp16."""
    size = 2
    for length in shape:
        size *= length
    return TensorInfo(name, "F16", shape, size)


def header(*tensors: TensorInfo) -> dict[str, TensorInfo]:
    """A header of some tensors."""
    return {tensor.name: tensor for tensor in tensors}


#: Rows without a class to build: names as their files have them.
BY_HAND = {
    "GPT_OSS_20B": [("layers.0.self_attn.sinks", 64), ("layers.0.mlp.experts.gate_up_proj.weight", 32, 5760, 2880)],
    "CLIP_G/open_clip": [
        ("token_embedding.weight", 49408, 8),
        ("transformer.resblocks.30.mlp.c_fc.weight", 5120, 1280),
    ],
    "CLIP_H/open_clip": [
        ("token_embedding.weight", 49408, 8),
        ("transformer.resblocks.22.mlp.c_fc.weight", 4096, 1024),
    ],
    "CLIP_L/open_clip": [("token_embedding.weight", 49408, 8), ("transformer.resblocks.0.mlp.c_fc.weight", 3072, 768)],
    "umt5-xxl/wrapper": [
        ("token_embedding.weight", 256384, 4096),
        ("blocks.0.pos_embedding.embedding.weight", 32, 64),
        ("blocks.0.ffn.gate.0.weight", 10240, 4096),
    ],
    "LLAMA3_8/other": [("model.layers.0.post_attention_layernorm.weight", 2048)],
    "LLAMA3_8/normed": [
        ("model.layers.0.post_attention_layernorm.weight", 896),
        ("model.layers.0.self_attn.q_norm.weight", 128),
    ],
    "umt5-xxl/gguf": [("enc.blk.0.ffn_gate.weight", 10240, 4096), ("enc.blk.1.attn_rel_b.weight", 32, 64)],
    "T5_XXL/gguf": [("enc.blk.0.ffn_gate.weight", 10240, 4096)],
    "QWEN25_7B/gguf": [("blk.0.ffn_norm.weight", 3584), ("blk.0.attn_k.bias", 512)],
    "QWEN25_3B/gguf": [("blk.0.ffn_norm.weight", 2048), ("blk.0.attn_k.bias", 256)],
    **{
        f"{id_}/gguf": [("blk.0.ffn_norm.weight", width), ("blk.0.attn_q_norm.weight", 128)]
        for id_, width in (("QWEN3_06B", 1024), ("QWEN3_2B", 2048), ("QWEN3_4B", 2560), ("QWEN3_8B", 4096))
    },
    "GEMMA_3_12B/gguf": [
        ("blk.0.post_ffw_norm.weight", 3840),
        ("blk.0.attn_q_norm.weight", 256),
        ("blk.47.attn_q_norm.weight", 256),
    ],
    "GEMMA_3_4B/gguf": [("blk.0.post_ffw_norm.weight", 2560), ("blk.0.attn_q_norm.weight", 256)],
    "GEMMA_2_2B/gguf": [("blk.0.post_ffw_norm.weight", 2304), ("blk.0.ffn_norm.weight", 2304)],
    "MISTRAL3_24B/gguf": [("blk.0.ffn_norm.weight", 5120)],
    "MINISTRAL_3_3B/gguf": [("blk.0.ffn_norm.weight", 3072)],
    "LLAMA3_8/gguf": [("blk.0.ffn_norm.weight", 4096)],
}


@pytest.mark.parametrize("row", BY_HAND)
def test_a_row_without_a_class_to_build(row: str):
    tensors = header(*(info(*each) for each in BY_HAND[row]))
    identity = identify(tensors)
    assert (identity.kind, identity.row, identity.status) == ("text encoder", row, "known")
    seen = Header(Index(tensors))
    assert [each.id for each in text_encoders.ROWS if each.sign.fits(seen)] == [row]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_no_row_of_another_kind_claims_it(case: Mapping[str, Any], encoder_names: Any, to_header: Any):
    index = Index(to_header(encoder_names(case)))
    for prefix in ("", "model."):
        seen = Header(index, prefix)
        rows = (*ARCHITECTURES, *vaes.ROWS, *others.UPSCALERS, *controlnets.ROWS)
        assert [row.id for row in rows if row.sign.fits(seen)] == []


def test_every_row_is_reached():
    assert {row.id for row in text_encoders.ROWS} == {case["row"] for case in CASES} | BY_HAND.keys()


def test_what_the_host_converts_first_is_named_like_the_result(oracle: ModuleType):
    """OpenCLIP's names: the host turns them into its own before it looks."""
    import comfy.sd
    import comfy.utils
    import torch

    for layers, expected in ((12, "CLIP_L"), (24, "CLIP_H"), (32, "CLIP_G")):
        names = {f"transformer.resblocks.{n}.mlp.c_fc.weight": torch.empty(32, 8, device="meta") for n in range(layers)}
        converted = comfy.utils.clip_text_transformers_convert(dict(names), "", "")
        assert comfy.sd.detect_te_model(converted).name == expected
        names["token_embedding.weight"] = None
        identity = identify(header(*(info(name, 32, 8) for name in names)))
        assert identity.family == expected
        assert identity.stacks[0].count == layers
