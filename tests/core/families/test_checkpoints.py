"""Files that hold several models: which, where, and that their bytes add up."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from headroom.core.blocks import split
from headroom.core.families import identify
from headroom.core.families.parts import BEGINNINGS
from headroom.core.tensorinfo import TensorInfo


def tensors(*groups: tuple[str, Mapping[str, tuple[int, ...]]]) -> dict[str, TensorInfo]:
    """A header of (beginning, name -> shape) in fp16."""
    found = {}
    for prefix, names in groups:
        for name, shape in names.items():
            size = 2
            for length in shape:
                size *= length
            found[prefix + name] = TensorInfo(prefix + name, "F16", shape, size)
    return found


KL = {
    "decoder.conv_in.weight": (512, 4, 3, 3),
    "post_quant_conv.weight": (4, 4, 1, 1),
    "encoder.down.2.downsample.conv.weight": (512, 512, 3, 3),
}
CLIP_L = {"text_model.encoder.layers.0.mlp.fc1.weight": (3072, 768)}
CLIP_G = {"transformer.resblocks.30.mlp.c_fc.weight": (5120, 1280), "token_embedding.weight": (49408, 1280)}
CLIP_H = {"transformer.resblocks.22.mlp.c_fc.weight": (4096, 1024), "token_embedding.weight": (49408, 1024)}
T5 = {"encoder.block.23.layer.1.DenseReluDense.wi_1.weight": (10240, 4096)}
QWEN = {
    "model.layers.0.post_attention_layernorm.weight": (2560,),
    "model.layers.0.self_attn.q_norm.weight": (128,),
}
VISION = {"transformer.resblocks.30.attn.in_proj_weight": (3840, 1280)}


@pytest.fixture
def model(all_cases: Any, build: Any) -> Any:
    """The diffusion model of a class under a prefix: name -> TensorInfo."""

    def named(cls: str, prefix: str = "model.diffusion_model.") -> dict[str, TensorInfo]:
        made = build(next(case for case in all_cases if case.cls == cls))
        return {
            prefix + name: TensorInfo(prefix + name, tensor.dtype, tensor.shape, tensor.size_bytes)
            for name, tensor in made.tensors.items()
        }

    return named


def parts(identity: Any) -> dict[str, tuple[str, str]]:
    """Prefix -> kind and row of every part."""
    return {part.prefix: (part.kind, part.row) for part in identity.parts}


def test_an_sdxl_checkpoint(model: Any):
    unet = model("SDXL")
    whole = unet | tensors(
        ("first_stage_model.", KL),
        ("conditioner.embedders.0.transformer.", CLIP_L),
        ("conditioner.embedders.1.model.", CLIP_G),
        ("", {"v_pred": (0,)}),
    )
    identity = identify(whole)
    assert (identity.kind, identity.status, identity.family) == ("checkpoint", "known", "SDXL")
    assert identity.name == "SDXL"
    assert parts(identity) == {
        "model.diffusion_model.": ("diffusion model", "SDXL"),
        "first_stage_model.": ("vae", "kl"),
        "conditioner.embedders.0.": ("text encoder", "CLIP_L"),
        "conditioner.embedders.1.": ("text encoder", "CLIP_G/open_clip"),
        "": ("other", ""),
    }
    assert sum(part.size_bytes for part in identity.parts) == identity.size_bytes
    assert sum(part.tensors for part in identity.parts) == identity.tensors == len(whole)

    blocks = split(whole, identity)
    assert [stack.count for stack in blocks.stacks] == [9, 3, 9]
    unet_bytes = sum(tensor.size_bytes for tensor in unet.values())
    assert sum(stack.total_bytes for stack in blocks.stacks) + blocks.outside_bytes == unet_bytes
    assert blocks.others_bytes == identity.size_bytes - unet_bytes


@pytest.mark.parametrize(
    ("cls", "beside", "expected"),
    [
        (
            "SD15",
            [("first_stage_model.", KL), ("cond_stage_model.transformer.", CLIP_L)],
            {"first_stage_model.": ("vae", "kl"), "cond_stage_model.": ("text encoder", "CLIP_L")},
        ),
        (
            "SD20",
            [
                ("first_stage_model.", KL),
                ("cond_stage_model.model.", CLIP_H),
            ],
            {"first_stage_model.": ("vae", "kl"), "cond_stage_model.": ("text encoder", "CLIP_H/open_clip")},
        ),
        (
            "Flux",
            [
                ("vae.", {**KL, "decoder.conv_in.weight": (512, 16, 3, 3)}),
                ("text_encoders.clip_l.transformer.", CLIP_L),
                ("text_encoders.t5xxl.transformer.", T5),
            ],
            {
                "vae.": ("vae", "kl"),
                "text_encoders.clip_l.": ("text encoder", "CLIP_L"),
                "text_encoders.t5xxl.": ("text encoder", "T5_XXL"),
            },
        ),
        (
            "ZImage",
            [("text_encoders.qwen3_4b.transformer.", QWEN)],
            {"text_encoders.qwen3_4b.": ("text encoder", "QWEN3_4B")},
        ),
        (
            "SD21UnclipH",
            [("embedder.model.visual.", VISION), ("first_stage_model.", KL)],
            {"embedder.model.visual.": ("clip vision", "clip-h/open_clip"), "first_stage_model.": ("vae", "kl")},
        ),
    ],
)
def test_the_parts_of_checkpoints(model: Any, cls: str, beside: Any, expected: Any):
    whole = model(cls) | tensors(*beside)
    identity = identify(whole)
    assert (identity.kind, identity.family) == ("checkpoint", cls)
    assert parts(identity) == {"model.diffusion_model.": ("diffusion model", cls), **expected}
    assert sum(part.size_bytes for part in identity.parts) == identity.size_bytes
    assert split(whole, identity).total_bytes == identity.size_bytes


def test_a_model_without_a_prefix_and_a_vae_beside_it(model: Any):
    whole = model("LTXV", "") | tensors(("vae.", {"decoder.up_blocks.0.res_blocks.0.conv1.conv.weight": (512, 512, 3)}))
    identity = identify(whole)
    assert (identity.kind, identity.family, identity.prefix) == ("checkpoint", "LTXV", "")
    assert parts(identity) == {"": ("diffusion model", "LTXV"), "vae.": ("vae", "ltx")}
    blocks = split(whole, identity)
    assert blocks.others_bytes == 512 * 512 * 3 * 2
    assert blocks.stacks[0].count == 28


def test_a_checkpoint_whose_model_is_not_known(model: Any):
    whole = tensors(("model.diffusion_model.", {f"rows.{n}.w": (4, 4) for n in range(8)}), ("first_stage_model.", KL))
    identity = identify(whole)
    assert (identity.kind, identity.status, identity.family) == ("checkpoint", "unknown", None)
    assert identity.name == "checkpoint of an unknown model"
    assert parts(identity) == {"": ("other", ""), "first_stage_model.": ("vae", "kl")}
    assert split(whole, identity).total_bytes == identity.size_bytes


def test_a_model_alone_under_a_prefix_is_no_checkpoint(model: Any):
    identity = identify(model("WAN21_T2V"))
    assert (identity.kind, identity.parts) == ("diffusion model", ())


def test_playground_s_keys_change_the_latent_format(model: Any):
    identity = identify(model("SDXL") | tensors(("", {"edm_mean": (4,), "edm_std": (4,)})))
    assert identity.latent is not None
    assert identity.latent.format == "SDXL_Playground_2_5"


def test_the_beginnings_are_those_of_the_host(oracle: Any):
    """vae_key_prefix, text_encoder_key_prefix and clip_vision_prefix of every class."""
    import comfy.supported_models

    known = {(start, kind) for start, kind, _ in BEGINNINGS}
    wanted = set()
    for cls in comfy.supported_models.models:
        wanted |= {(start, "vae") for start in cls.vae_key_prefix}
        wanted |= {(start, "text encoder") for start in cls.text_encoder_key_prefix}
        if cls.clip_vision_prefix is not None:
            wanted.add((cls.clip_vision_prefix, "clip vision"))
    # Inside the one model that Segment Anything is.
    assert wanted - known == {("detector.backbone.language_backbone.", "text encoder")}
