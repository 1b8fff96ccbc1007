"""Headroom against the host: the same header, the same answer, for every class that the host can recognise."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from headroom.core.blocks import split
from headroom.core.families import ARCHITECTURES, FAMILIES, identify
from headroom.core.families.diffusion import prefix_of
from headroom.core.families.index import Index

DATA = Path(__file__).resolve().parent.parent.parent / "data" / "families"
SHORT = {"torch.float16": "fp16", "torch.bfloat16": "bf16", "torch.float32": "fp32"}


def host_class(oracle: ModuleType, names: Any, prefix: str, metadata: Any = None) -> str | None:
    """The host's name for a header."""
    found = oracle.model_config_from_unet(dict(names), prefix, metadata=metadata)
    return None if found is None else type(found).__name__


def test_headroom_names_what_the_host_names(made: Any, oracle: ModuleType):
    case = made.case
    prefix = "" if case.prefix == "core." else case.prefix
    assert host_class(oracle, made.names, prefix, case.metadata) == case.cls

    identity = identify(made.tensors, case.metadata)

    assert (identity.family, identity.row, identity.status) == (case.cls, case.cls, "known")
    assert identity.kind == "diffusion model"
    assert identity.prefix == prefix
    assert identity.faults == identity.remarks == ()


def test_the_bytes_are_those_of_the_host_s_model(made: Any):
    tensors = made.tensors
    identity = identify(tensors, made.case.metadata)
    expected = sum(tensor.nbytes for tensor in made.names.values())
    assert identity.size_bytes == expected
    assert identity.tensors == len(tensors)
    assert split(tensors, identity).total_bytes == expected


def test_the_block_counts_are_those_of_the_host_s_model(made: Any):
    """Counted on the module itself: children of the stack that have a parameter or a buffer."""
    tensors = made.tensors
    identity = identify(tensors, made.case.metadata)
    assert identity.stacks
    for stack in identity.stacks:
        path = stack.stem[len(made.case.prefix) :]
        container = made.module.get_submodule(path[: path.rindex(".")])
        children = [child for child in container.children() if child.state_dict()]
        assert stack.count == len(children), stack.stem
    for found, stack in zip(split(tensors, identity).stacks, identity.stacks):
        assert found.count == stack.count
        assert min(found.block_bytes) > 0


def test_the_memory_factor_is_the_host_s(made: Any):
    import torch

    identity = identify(made.tensors, made.case.metadata)
    assert identity.memory_factor_fp16 == made.config.memory_usage_factor
    made.config.set_inference_dtype(torch.bfloat16, None)
    factor = made.config.memory_usage_factor
    made.config.set_inference_dtype(torch.float16, None)
    assert identity.memory_factor == factor


def test_the_latent_format_is_the_host_s(made: Any):
    identity = identify(made.tensors, made.case.metadata)
    latent, expected = identity.latent, made.config.latent_format
    assert latent is not None
    assert latent.format == type(expected).__name__
    assert latent.channels == expected.latent_channels
    assert latent.dims == expected.latent_dimensions
    assert latent.spatial == expected.spacial_downscale_ratio
    assert latent.temporal == expected.temporal_downscale_ratio


def test_the_dtypes_are_the_host_s_and_in_its_order(made: Any):
    identity = identify(made.tensors, made.case.metadata)
    assert identity.dtypes == tuple(SHORT[str(dtype)] for dtype in made.config.supported_inference_dtypes)


def test_the_width_is_one_of_the_header_s_lengths(made: Any):
    identity = identify(made.tensors, made.case.metadata)
    assert identity.hidden_size is not None
    assert any(identity.hidden_size in tensor.shape for tensor in made.tensors.values())


def test_every_prefix_of_the_host(
    first_case: Any, prefix: str, build: Callable[[Any], Any], to_header: Any, oracle: ModuleType
):
    made, start = build(first_case), len(first_case.prefix)
    renamed = {
        name if name in first_case.beside else prefix + name[start:]: tensor for name, tensor in made.names.items()
    }
    found = oracle.unet_prefix_from_state_dict(renamed)
    used = found if any(name.startswith(found) for name in renamed) else ""

    identity = identify(to_header(renamed), first_case.metadata)

    assert identity.family == host_class(oracle, renamed, used, first_case.metadata)
    assert identity.prefix == used == prefix
    assert all(stack.stem.startswith(prefix) for stack in identity.stacks)


@pytest.mark.parametrize("prefix", ["model.diffusion_model.", "model.model.", "net."])
@pytest.mark.parametrize("names", [1, 5, 6, 7])
def test_how_many_names_make_a_prefix(prefix: str, names: int, oracle: ModuleType, to_header: Any):
    import torch

    made = {f"{prefix}blocks.{n}.x": torch.empty(2, 2, device="meta") for n in range(names)}
    found = oracle.unet_prefix_from_state_dict(made)
    assert prefix_of(Index(to_header(made))) == (found if any(name.startswith(found) for name in made) else "")


#: Case -> shapes that are changed, and names that are left out (no shape): lengths that decide between classes.
NEAR = [
    ("FluxSchnell-schnell", {"txt_in.weight": (3072, 3584)}),
    ("FluxSchnell-ovis-image", {"txt_in.weight": (3072, 3584)}),
    ("LongCatImage-longcat-image", {"txt_in.weight": (3072, 4096)}),
    ("Flux-dev", {"img_in.weight": (3072, 384)}),
    ("FluxInpaint-fill", {"img_in.weight": (3072, 388)}),
    ("WAN21_I2V-14b", {"patch_embedding.weight": (5120, 20, 1, 2, 2)}),
    ("WAN21_I2V-14b", {"patch_embedding.weight": (5120, 48, 1, 2, 2)}),
    ("WAN21_Camera-14b", {"patch_embedding.weight": (5120, 36, 1, 2, 2)}),
    ("WAN21_Camera-14b", {"img_emb.proj.0.bias": None, "patch_embedding.weight": (5120, 36, 1, 2, 2)}),
    ("WAN22_WanDancer-14b", {"patch_embedding.weight": (5120, 16, 1, 2, 2)}),
    ("WAN21_T2V-14b", {"head.head.weight": (192, 5120)}),
    ("HunyuanVideo-hyvideo-t-2-cfgdistill", {"img_in.proj.weight": (3072, 33, 1, 2, 2)}),
    ("HunyuanVideo-hyvideo-t-2-cfgdistill", {"img_in.proj.weight": (3072, 34, 1, 2, 2)}),
    ("HunyuanVideo15-1.5-8.3b", {"img_in.proj.weight": (2048, 98, 1, 1, 1)}),
    ("HunyuanVideo15-1.5-8.3b", {"vision_in.proj.0.weight": (1024, 1024)}),
    ("HunyuanImage21-2.1-17b", {"img_in.proj.weight": (3584, 64, 1, 1, 1)}),
    ("SD15-1.5", {"input_blocks.0.0.weight": (320, 8, 3, 3)}),
    ("SD20-2.1", {"label_emb.0.0.weight": (1280, 4)}),
    ("SDXL-base-1.0", {"input_blocks.0.0.weight": (320, 8, 3, 3)}),
    ("SDXL-base-1.0", {"label_emb.0.0.weight": (1280, 2560)}),
    ("SVD_img2vid-svd", {"label_emb.0.0.weight": (1280, 256)}),
    ("CosmosT2V-7b", {"x_embedder.proj.1.weight": (4096, 76)}),
    ("Anima-2b", {"llm_adapter.blocks.0.cross_attn.q_proj.weight": None}),
    ("Lumina2-image-2.0-2.6b", {"cap_embedder.1.weight": (3840, 2304)}),
    ("ZImage-turbo-6b", {"cap_embedder.1.weight": (2560, 2560)}),
    ("ZImagePixelSpace-pixel-space", {"dec_net.cond_embed.weight": None}),
    ("Kandinsky5Image-image-lite-6b", {"visual_embeddings.in_layer.weight": (2560, 132)}),
    ("CogVideoX_T2V-1.5-5b", {"patch_embed.proj.weight": (3072, 256)}),
    ("CogVideoX_T2V-5b", {"patch_embed.proj.weight": (3072, 48, 2, 2)}),
    ("PixArtAlpha-xl-2-1024", {"ar_embedder.mlp.0.weight": None}),
    ("HunyuanDiT-1.2-dit-g-2", {"extra_embedder.0.weight": (5632, 3968)}),
    ("AuraFlow-0.3", {"cond_seq_linear.weight": (3072, 4096)}),
    ("SD3-3-medium", {"x_embedder.proj.weight": (1536, 4, 2, 2)}),
    ("MageFlow-mage-flow", {"proj_out.weight": (64, 3072)}),
    ("MageFlow-mage-flow", {"txt_norm.weight": (3584,)}),
    ("LTXAV-19b", {"audio_adaln_single.linear.weight": None}),
    ("StableAudio3-stable-audio-3", {"model.model.transformer.global_cond_embedder.0.weight": None}),
    ("DepthAnything3-large-mono", {"backbone.embeddings.patch_embeddings.projection.weight": (640, 3, 14, 14)}),
    ("SeedVR2-3b", {"positive_conditioning": None}),
    ("Stable_Cascade_C-full", {"clip_txt_mapper.weight": None}),
]


@pytest.mark.parametrize(("name", "changes"), NEAR, ids=lambda value: value if isinstance(value, str) else "")
def test_one_length_away_from_another_class(
    name: str, changes: Any, all_cases: Any, build: Callable[[Any], Any], to_header: Any, oracle: ModuleType
):
    """The boundaries are the host's, also where no class lies behind them. Where the host finds nothing because a part
    is missing, Headroom still names the family."""
    import torch

    made = build(next(case for case in all_cases if case.name == name))
    names = dict(made.names)
    for key, shape in changes.items():
        if shape is None:
            del names[key]
        else:
            names[key] = torch.empty(shape, dtype=torch.float16, device="meta")
    expected = host_class(oracle, names, made.case.prefix)
    identity = identify(to_header(names))
    if expected is None and identity.family is not None:
        assert identity.status == "broken"
    else:
        assert identity.family == expected


def test_no_two_architectures_claim_a_header(made: Any):
    """The order of the table then does not matter."""
    assert len([row.id for row in ARCHITECTURES if row.sign.fits(made.header)]) == 1


def test_no_two_families_of_an_architecture_claim_a_header(made: Any):
    sizes = identify(made.tensors, made.case.metadata).sizes
    row = next(row for row in ARCHITECTURES if any(family.id == made.case.cls for family in row.families))
    assert [family.id for family in row.families if family.fits(sizes)] == [made.case.cls]


#: Case -> (bytes per value, what ComfyUI logs for it in MiB, the bare parameters that the log leaves out): measured.md.
LOGGED = {
    "SDXL-base-1.0": (2, 4897.05, ()),
    "QwenImage-qwen-image": (1, 19483.95, ()),
    "LTXV-2b": (2, 3667.9, ("scale_shift_table",)),
}


@pytest.mark.parametrize("name", LOGGED)
def test_weights_are_what_comfyui_logs(name: str, all_cases: Any, build: Callable[[Any], Any]):
    width, expected, bare = LOGGED[name]
    made = build(next(case for case in all_cases if case.name == name))
    kept = sum(tensor.elements for key, tensor in made.tensors.items() if not key.endswith(bare or ("\0",)))
    assert kept * width / 2**20 == pytest.approx(expected, abs=0.05)


# --- the list of classes --------------------------------------------------------------------------------------------


def exceptions() -> dict[str, dict[str, str]]:
    """Classes that tensor names, shapes and dtypes alone do not tell."""
    listed = json.loads((DATA / "exceptions.json").read_text("utf-8"))["classes"]
    return {entry["class"]: entry for entry in listed}


#: May only shrink.
EXCEPTIONS = 3


def test_every_class_of_the_host_is_known(oracle: ModuleType, all_cases: Any):
    """Fails by name when a newer host gains a class: add a row, and a file in tests/data/families."""
    import comfy.supported_models

    host = {model.__name__ for model in comfy.supported_models.models}
    assert host - FAMILIES.keys() == set(), "classes of the host without a row"
    assert host - {case.cls for case in all_cases} == set(), "classes of the host without a header to test with"


def test_every_family_is_a_class_of_the_host(oracle: ModuleType):
    import comfy.supported_models

    assert FAMILIES.keys() - {model.__name__ for model in comfy.supported_models.models} == set()


def test_the_list_of_exceptions_only_shrinks():
    assert len(exceptions()) == EXCEPTIONS
    assert all(entry["reason"] for entry in exceptions().values())


@pytest.mark.parametrize("name", exceptions())
def test_an_exception_is_still_one(
    name: str, all_cases: Any, build: Callable[[Any], Any], to_header: Any, oracle: ModuleType
):
    """Without what the entry says is needed, the host names the class that the entry says, and so does Headroom."""
    case = next(case for case in all_cases if case.cls == name)
    made = build(case)
    names = {key: tensor for key, tensor in made.names.items() if key not in case.beside}
    assert host_class(oracle, names, case.prefix) == exceptions()[name]["without"]
    assert identify(to_header(names)).family == exceptions()[name]["without"]
