"""ControlNets, style models, image encoders and upscalers: names as their files have them -> what they are."""

from __future__ import annotations

import pytest

from headroom.core.families import FAMILIES, controlnets, identify, others
from headroom.core.families.index import Header, Index
from headroom.core.tensorinfo import TensorInfo

Names = dict[str, tuple[int, ...]]


def header(names: Names) -> dict[str, TensorInfo]:
    """Names and shapes as a header in fp16."""
    found = {}
    for name, shape in names.items():
        size = 2
        for length in shape:
            size *= length
        found[name] = TensorInfo(name, "F16", shape, size)
    return found


FLUX_BLOCK = "double_blocks.0.img_attn.norm.key_norm.scale"
DEEP = "transformer_blocks.0.attn2.to_k.weight"

#: Row -> names that a file of it has, after comfy/controlnet.py.
CONTROLNETS: dict[str, Names] = {
    "hunyuan-dit": {"after_proj_list.18.bias": (1408,)},
    "control-lora": {
        "lora_controlnet": (0,),
        "input_blocks.0.0.up": (320, 8),
        "zero_convs.0.0.weight": (320, 320, 1, 1),
    },
    **{
        f"diffusers-{family}": {
            "controlnet_cond_embedding.conv_in.weight": (16, 3, 3, 3),
            "conv_in.weight": (320, 4, 3, 3),
            "down_blocks.0.resnets.0.conv1.weight": (320, 320, 3, 3),
            f"down_blocks.{block}.attentions.0.{DEEP}": (640, width),
        }
        for family, block, width in (("SD15", 0, 768), ("SD20", 0, 1024), ("SDXL", 1, 2048))
    },
    "diffusers": {
        "controlnet_cond_embedding.conv_in.weight": (16, 3, 3, 3),
        "conv_in.weight": (320, 4, 3, 3),
        "down_blocks.0.resnets.0.conv1.weight": (320, 320, 3, 3),
    },
    "flux-xlabs": {"controlnet_blocks.0.weight": (3072, 3072), FLUX_BLOCK: (128,), "img_in.weight": (3072, 64)},
    "sd3.5": {
        "controlnet_blocks.0.weight": (2432, 2432),
        "pos_embed_input.proj.weight": (2432, 16, 2, 2),
        "transformer_blocks.0.adaLN_modulation.1.bias": (14592,),
    },
    "sd3": {
        "controlnet_blocks.0.weight": (1536, 1536),
        "pos_embed_input.proj.weight": (1536, 16, 2, 2),
        "transformer_blocks.0.attn.add_q_proj.weight": (1536, 1536),
        "pos_embed.proj.weight": (1536, 16, 2, 2),
    },
    "qwen-instantx": {
        "controlnet_blocks.0.weight": (3072, 3072),
        "transformer_blocks.0.img_mlp.net.0.proj.weight": (12288, 3072),
        "controlnet_x_embedder.weight": (3072, 64),
        "txt_norm.weight": (3584,),
    },
    "flux-instantx": {
        "controlnet_blocks.0.weight": (3072, 3072),
        "controlnet_x_embedder.weight": (3072, 64),
        "x_embedder.weight": (3072, 64),
        "transformer_blocks.0.attn.norm_k.weight": (128,),
    },
    "qwen-fun": {"control_blocks.0.after_proj.weight": (3072, 3072), "control_img_in.weight": (3072, 132)},
    "flux-mistoline": {
        "controlnet_blocks.0.linear.weight": (3072, 3072),
        FLUX_BLOCK: (128,),
        "img_in.weight": (3072, 64),
    },
    **{
        f"unet-{family}": {
            f"{prefix}zero_convs.0.0.weight": (320, 320, 1, 1),
            f"{prefix}input_blocks.0.0.weight": (320, 4, 3, 3),
            f"{prefix}input_blocks.{block}.1.{DEEP}": (640, width),
        }
        for family, block, width, prefix in (
            ("SD15", 1, 768, "control_model."),
            ("SD20", 1, 1024, ""),
            ("SDXL", 4, 2048, ""),
        )
    },
    "unet": {"zero_convs.0.0.weight": (320, 320, 1, 1), "input_blocks.0.0.weight": (320, 4, 3, 3)},
    "t2i-light": {"body.0.in_conv.weight": (320, 192, 1, 1)},
    "t2i": {"conv_in.weight": (320, 192, 3, 3), "body.0.block2.weight": (320, 320, 1, 1)},
    "cascade": {"backbone.0.0.weight": (24, 3, 3, 3), "projections.0.0.weight": (1280, 1280, 1, 1)},
    "cascade-large": {"backbone.0.weight": (16384, 16, 1, 1), "backbone.10.blocks.0.weight": (1024, 1024, 3, 3)},
    "z-image-fun": {"control_all_x_embedder.2-1.weight": (3840, 132)},
    "qwen-diffsynth": {"controlnet_blocks.0.y_rms.weight": (3072,)},
    "wan-vace": {
        "vace_patch_embedding.weight": (5120, 96, 1, 2, 2),
        **{f"vace_blocks.{n}.after_proj.weight": (5120, 5120) for n in range(8)},
    },
    "wan-uni3c": {"controlnet_patch_embedding.weight": (1024, 3072, 1, 1)},
}


@pytest.mark.parametrize("row", CONTROLNETS)
def test_a_controlnet_is_no_model_though_it_uses_a_model_s_names(row: str):
    tensors = header(CONTROLNETS[row])
    identity = identify(tensors)
    assert (identity.kind, identity.status, identity.row) == ("controlnet", "known", row)
    assert identity.fits
    seen = Header(Index(tensors))
    assert [each.id for each in controlnets.ROWS if each.sign.fits(seen)] == [row]


def test_every_row_is_reached():
    assert {row.id for row in controlnets.ROWS} == CONTROLNETS.keys()


def test_every_family_that_a_row_names_is_one():
    rows = (*controlnets.ROWS, *others.STYLE)
    assert {family for row in rows for family in row.fits} - FAMILIES.keys() == set()


def test_a_vace_module_has_its_blocks_and_no_others():
    identity = identify(header(CONTROLNETS["wan-vace"]))
    assert [(stack.stem, stack.count) for stack in identity.stacks] == [("vace_blocks.", 8)]


def test_a_union_controlnet_says_how_many_modes_it_has():
    names = CONTROLNETS["flux-instantx"] | {"controlnet_mode_embedder.weight": (7, 3072)}
    assert identify(header(names)).sizes["union_modes"] == 7


@pytest.mark.parametrize(("name", "row"), [("redux_down.weight", "redux"), ("style_embedding", "t2i-style")])
def test_style_models(name: str, row: str):
    identity = identify(header({name: (12288, 1152)}))
    assert (identity.kind, identity.row) == ("style model", row)


def clip(layers: int, width: int = 1024, positions: int = 257, patch: tuple[int, ...] = (1024, 3, 14, 14)) -> Names:
    """An image encoder in transformers' names."""
    return {
        **{f"vision_model.encoder.layers.{n}.layer_norm1.weight": (width,) for n in range(layers)},
        "vision_model.embeddings.position_embedding.weight": (positions, width),
        "vision_model.embeddings.patch_embedding.weight": patch,
    }


def open_clip(layers: int) -> Names:
    """An image encoder in OpenCLIP's names."""
    return {f"visual.transformer.resblocks.{n}.attn.in_proj_weight": (3, 1) for n in range(layers)}


#: Row -> (names, blocks); after comfy/clip_vision.py.
ENCODERS: dict[str, tuple[Names, int]] = {
    "clip-g": (clip(48, 1664), 48),
    "clip-h": (clip(32, 1280), 32),
    "clip-l": (clip(24), 24),
    "clip-l-336": (clip(24, positions=577), 24),
    "clip-l-336-llava": (clip(24, positions=577) | {"multi_modal_projector.linear_1.bias": (4096,)}, 24),
    "siglip-384": (clip(27, 1152, 729), 27),
    "siglip-512": (clip(27, 1152, 1024), 27),
    "siglip2": (clip(27, 1152, 256, (1152, 768)), 27),
    "dinov2-large": ({f"encoder.layer.{n}.layer_scale2.lambda1": (1024,) for n in range(24)}, 24),
    "dinov2-giant": ({f"encoder.layer.{n}.layer_scale2.lambda1": (1536,) for n in range(40)}, 40),
    "dinov3-h": (
        {f"layer.{n}.norm1.weight": (1280,) for n in range(32)} | {"layer.0.mlp.gate_proj.weight": (5120, 1280)},
        32,
    ),
    "clip-g/open_clip": (open_clip(48), 48),
    "clip-h/open_clip": (open_clip(32), 32),
    "clip-l/open_clip": (open_clip(24), 24),
}


@pytest.mark.parametrize("row", ENCODERS)
def test_image_encoders(row: str):
    names, blocks = ENCODERS[row]
    tensors = header(names)
    identity = identify(tensors)
    assert (identity.kind, identity.row) == ("clip vision", row)
    assert identity.stacks[0].count == blocks
    seen = Header(Index(tensors))
    assert [each.id for each in others.VISION if each.sign.fits(seen)] == [row]


def test_every_image_encoder_is_reached():
    assert {row.id for row in others.VISION} == ENCODERS.keys()
