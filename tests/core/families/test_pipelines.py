"""Folders of diffusers, as ``headers`` reads them: the component's folder stands in front of every name."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from headroom.core.blocks import split
from headroom.core.families import identify
from headroom.core.tensorinfo import TensorInfo


def under(folder: str, tensors: dict[str, TensorInfo]) -> dict[str, TensorInfo]:
    """The tensors of a component."""
    return {f"{folder}/{name}": replace(tensor, name=f"{folder}/{name}") for name, tensor in tensors.items()}


def small(*names: str) -> dict[str, TensorInfo]:
    """Tensors of 8 bytes."""
    return {name: TensorInfo(name, "BF16", (2, 2), 8) for name in names}


VAE = {
    "decoder.conv_in.weight": TensorInfo("decoder.conv_in.weight", "BF16", (512, 16, 3, 3), 8),
    **small("encoder.down_blocks.2.downsamplers.0.conv.weight"),
}
CLIP = small("text_model.encoder.layers.0.mlp.fc1.weight")


def test_a_pipeline_of_qwen_image(all_cases: Any, build: Any):
    """Its transformer has the same names in both styles."""
    model = build(next(case for case in all_cases if case.cls == "QwenImage")).tensors
    tensors = under("transformer", model) | under("vae", VAE) | under("text_encoder", CLIP)
    identity = identify(tensors)
    assert (identity.kind, identity.status, identity.family) == ("checkpoint", "known", "QwenImage")
    assert identity.prefix == "transformer/"
    assert [(part.kind, part.prefix, part.row) for part in identity.parts] == [
        ("diffusion model", "transformer/", "QwenImage"),
        ("vae", "vae/", "kl-plain"),
        ("text encoder", "text_encoder/", "CLIP_L"),
    ]
    assert sum(part.size_bytes for part in identity.parts) == identity.size_bytes
    assert sum(part.tensors for part in identity.parts) == identity.tensors == len(tensors)
    blocks = split(tensors, identity)
    assert [(stack.stem, stack.count) for stack in blocks.stacks] == [("transformer/transformer_blocks.", 60)]
    assert blocks.others_bytes == 24
    assert blocks.total_bytes == identity.size_bytes


def test_two_transformers(all_cases: Any, build: Any):
    """Wan 2.2 has one for high and one for low noise; the second is a part like any other."""
    model = build(next(case for case in all_cases if case.name == "WAN21_T2V-1.3b")).tensors
    tensors = under("transformer_2", model) | under("transformer", model)
    identity = identify(tensors)
    assert identity.prefix == "transformer/"
    assert [part.row for part in identity.parts] == ["WAN21_T2V", "WAN21_T2V"]
    blocks = split(tensors, identity)
    assert blocks.others_bytes * 2 == blocks.total_bytes
    assert blocks.stacks[0].count == 30


def test_metadata_and_notes_go_to_their_component(all_cases: Any, build: Any):
    made = build(next(case for case in all_cases if case.cls == "WAN21_CausalAR_T2V"))
    metadata = {f"transformer/{key}": value for key, value in made.case.metadata.items()}
    assert identify(under("transformer", made.tensors), metadata).family == "WAN21_CausalAR_T2V"
    assert identify(under("transformer", made.tensors), made.case.metadata).family == "WAN21_T2V"


def test_a_pipeline_of_something_else():
    tensors = under("speech", small("a.0.w", "a.1.w")) | under("vae", VAE)
    identity = identify(tensors)
    assert (identity.kind, identity.status, identity.name) == ("checkpoint", "unknown", "pipeline of an unknown model")
    assert [part.kind for part in identity.parts] == ["unknown", "vae"]
    blocks = split(tensors, identity)
    assert (blocks.total_bytes, blocks.others_bytes) == (32, 32)


def test_a_slash_in_one_name_makes_no_pipeline():
    tensors = small("a/b.weight", "head.modulation")
    assert identify(tensors).architecture == "wan"
