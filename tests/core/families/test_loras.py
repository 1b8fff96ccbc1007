"""LoRAs: made for each of the host's models in every style of names that the host itself would load on it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import pytest

from headroom.core.families import FAMILIES, identify
from headroom.core.families.lora_rows import ROWS
from headroom.core.tensorinfo import TensorInfo

RANK = 16
#: Beginnings of names -> the style that Headroom reports.
STYLES = {
    "lora_unet_": "kohya",
    "lora_prior_unet_": "kohya",
    "lora_transformer_": "onetrainer",
    "lycoris_": "lycoris",
    "unet.base_model.model.": "peft",
    "base_model.model.": "peft",
    "transformer.": "diffusers",
    "unet.": "diffusers",
    "diffusion_model.": "comfy",
}
#: Classes that no LoRA is made for, or whose layers are told by nothing that others lack.
WITHOUT = {
    *("SAM3", "SAM31", "RT_DETR_v4", "DepthAnything3", "PiD", "PixelDiTT2I", "SeedVR2", "SD_X4Upscaler", "LotusD"),
    *("Hunyuan3Dv2", "Hunyuan3Dv2mini", "Hunyuan3Dv2_1", "TripoSplat", "StableAudio", "StableAudio3", "MiniMaxH3"),
    *("SV3D_u", "SV3D_p", "SVD_img2vid", "Stable_Zero123"),
    # Its music encoder has layers named like those of other models.
    "WAN22_WanDancer",
}
TARGETS = sorted(FAMILIES.keys() - WITHOUT)
#: Attention alone is the same in other models.
ATTENTION_NOT_TOLD = {"MageFlow", "Lens"}
#: Of Flux.2 in the host's map for both versions of Flux.
FLUX2_ONLY = ("to_qkv_mlp_proj", ".attn.to_out.weight", "ff.linear_", "ff_context.linear_")


def layers(made: Any) -> Iterator[tuple[str, list[int]]]:
    """Every name that the host's LoRA loader takes for this model, and the shape of the weight that it changes."""
    import comfy.lora

    weights = made.model.state_dict()
    done = set()
    for name, target in comfy.lora.model_lora_keys_unet(made.model, {}).items():
        key, cut = (target, None) if isinstance(target, str) else (target[0], target[1])
        style = next((start for start in STYLES if name.startswith(start)), "")
        if key not in weights or weights[key].ndim != 2 or (style, key, cut) in done:
            continue
        if made.case.cls != "Flux2" and any(part.replace(".", "_") in name.replace(".", "_") for part in FLUX2_ONLY):
            continue
        done.add((style, key, cut))
        shape = list(weights[key].shape)
        if cut is not None:
            shape[cut[0]] = cut[2]
        yield name, shape


def lora(found: Iterable[tuple[str, list[int]]], down: str = "lora_down.weight", up: str = "lora_up.weight") -> Any:
    """The header of a LoRA on some layers."""
    tensors = {}
    for name, (outs, ins) in found:
        for end, shape in ((down, (RANK, ins)), (up, (outs, RANK))):
            tensors[f"{name}.{end}"] = TensorInfo(f"{name}.{end}", "BF16", shape, 2 * shape[0] * shape[1])
    return tensors


@pytest.mark.parametrize("cls", TARGETS)
def test_a_lora_is_known_by_its_layers_in_every_style(cls: str, all_cases: Any, build: Any):
    made = build(next(case for case in all_cases if case.cls == cls))
    by_style: dict[str, list[tuple[str, list[int]]]] = {}
    for name, shape in layers(made):
        by_style.setdefault(next((start for start in STYLES if name.startswith(start)), ""), []).append((name, shape))
    assert by_style
    for start, found in by_style.items():
        identity = identify(lora(found))
        assert cls in identity.fits, (start, identity.row)
        assert (identity.kind, identity.status) == ("lora", "known")
        assert identity.style == STYLES.get(start, "plain")
        assert identity.sizes["rank"] == identity.sizes["rank_min"] == identity.sizes["rank_max"] == RANK
        attention = [(name, shape) for name, shape in found if "attn" in name or "attention" in name]
        if attention and cls not in ATTENTION_NOT_TOLD:
            assert cls in identify(lora(attention)).fits, f"attention alone, {start}"


def test_every_family_that_a_row_names_is_one():
    assert {family for row in ROWS for family in row.fits} - FAMILIES.keys() == set()


def test_the_ids_are_unique():
    assert len({row.id for row in ROWS}) == len(ROWS)


ENDS = [
    ("lora_down.weight", "lora_up.weight"),
    ("lora_A.weight", "lora_B.weight"),
    ("lora_A.default.weight", "lora_B.default.weight"),
    ("lora.down.weight", "lora.up.weight"),
    ("lora_linear_layer.down.weight", "lora_linear_layer.up.weight"),
    ("lora_A", "lora_B"),
]


@pytest.mark.parametrize(("down", "up"), ENDS)
def test_every_ending_that_the_host_knows(down: str, up: str):
    """comfy/weight_adapter/lora.py."""
    found = [(f"diffusion_model.blocks.{n}.self_attn.q", [5120, 5120]) for n in range(40)]
    identity = identify(lora(found, down, up))
    assert (identity.kind, identity.row) == ("lora", "wan-14b")
    assert identity.sizes["rank"] == RANK
    assert identity.size_bytes == 40 * 2 * RANK * 5120 * 2


def info(name: str, *shape: int) -> TensorInfo:
    """A tensor in fp16."""
    size = 2
    for length in shape:
        size *= length
    return TensorInfo(name, "F16", shape, size)


def header(*tensors: TensorInfo) -> dict[str, TensorInfo]:
    """A header of some tensors."""
    return {tensor.name: tensor for tensor in tensors}


def test_ranks_that_differ():
    """Resized LoRAs have another rank in every layer; the most common one stands for all."""
    tensors = {}
    for n, rank in enumerate((4, 8, 8, 32)):
        name = f"lora_unet_double_blocks_{n}_img_attn_qkv"
        tensors |= header(info(f"{name}.lora_down.weight", rank, 3072), info(f"{name}.lora_up.weight", 9216, rank))
    sizes = identify(tensors).sizes
    assert (sizes["rank"], sizes["rank_min"], sizes["rank_max"], sizes["layers"]) == (8, 4, 32, 1)


@pytest.mark.parametrize(
    ("end", "kind"),
    [
        ("hada_w1_a", "LoHa"),
        ("lokr_w1", "LoKr"),
        ("oft_blocks", "OFT"),
        ("a1.weight", "GLoRA"),
        ("diff", "difference"),
    ],
)
def test_adapters_without_a_rank(end: str, kind: str):
    tensors = header(
        *(info(f"lycoris_transformer_blocks_{n}_img_mlp_net_0_proj.{end}", 32, 32) for n in range(60)),
        *(info(f"lycoris_transformer_blocks_{n}_img_mlp_net_0_proj.alpha") for n in range(60)),
    )
    identity = identify(tensors)
    assert (identity.kind, identity.sizes["kind"], identity.row) == ("lora", kind, "qwen")
    assert identity.sizes["rank"] is None


def test_a_dora_is_a_lora_with_magnitudes():
    name = "diffusion_model.blocks.0.self_attn.q"
    tensors = header(
        info(f"{name}.lora_A.weight", 16, 5120),
        info(f"{name}.lora_B.weight", 5120, 16),
        info(f"{name}.dora_scale", 5120),
    )
    assert identify(tensors).sizes["kind"] == "DoRA"


def test_text_encoder_layers_are_counted_apart():
    tensors = header(
        info("lora_te1_text_model_encoder_layers_0_mlp_fc1.lora_down.weight", 8, 768),
        info("lora_te1_text_model_encoder_layers_0_mlp_fc1.lora_up.weight", 3072, 8),
        info("lora_unet_input_blocks_4_1_transformer_blocks_0_attn2_to_k.lora_down.weight", 8, 2048),
        info("lora_unet_input_blocks_4_1_transformer_blocks_0_attn2_to_k.lora_up.weight", 640, 8),
    )
    identity = identify(tensors)
    assert (identity.row, identity.style) == ("sdxl", "kohya")
    assert (identity.sizes["layers"], identity.sizes["text_encoder_layers"]) == (1, 1)


def test_a_lora_for_a_text_encoder_alone():
    tensors = header(
        info("lora_te_text_model_encoder_layers_0_mlp_fc1.lora_down.weight", 8, 768),
        info("lora_te_text_model_encoder_layers_0_mlp_fc1.lora_up.weight", 3072, 8),
    )
    identity = identify(tensors)
    assert (identity.kind, identity.status, identity.name) == ("lora", "known", "LoRA for a text encoder")


def test_a_lora_for_something_else_is_a_lora_all_the_same():
    tensors = header(info("speech.layer_3.lora_A.weight", 4, 64), info("speech.layer_3.lora_B.weight", 64, 4))
    identity = identify(tensors)
    assert (identity.kind, identity.status, identity.fits) == ("lora", "unknown", ())
    assert identity.sizes["rank"] == 4


def test_a_model_with_a_few_merged_layers_is_no_lora(all_cases: Any, build: Any):
    made = build(next(case for case in all_cases if case.cls == "WAN21_T2V"))
    tensors = made.tensors | header(info("blocks.0.self_attn.q.lora_A.weight", 16, 5120))
    assert identify(tensors).kind == "diffusion model"
