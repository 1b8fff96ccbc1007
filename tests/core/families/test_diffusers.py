"""The same models in diffusers' names: the header that the host's own maps give, through the host's own conversion."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any

import pytest

from headroom.core.blocks import split
from headroom.core.families import ARCHITECTURES, identify
from headroom.core.families.index import Header, Index
from headroom.core.families.unet import DIFFUSERS_SHAPES

#: Class and case of the corpus -> how the host calls its map, and what the map is given.
TRANSFORMERS: dict[str, tuple[str, Callable[[Mapping[str, Any]], dict[str, int]]]] = {
    "Flux-dev": ("flux_to_diffusers", lambda c: {k: c[k] for k in ("depth", "depth_single_blocks", "hidden_size")}),
    "FluxInpaint-fill": (
        "flux_to_diffusers",
        lambda c: {k: c[k] for k in ("depth", "depth_single_blocks", "hidden_size")},
    ),
    "FluxSchnell-schnell": (
        "flux_to_diffusers",
        lambda c: {k: c[k] for k in ("depth", "depth_single_blocks", "hidden_size")},
    ),
    "LongCatImage-longcat-image": (
        "flux_to_diffusers",
        lambda c: {k: c[k] for k in ("depth", "depth_single_blocks", "hidden_size")},
    ),
    "SD3-3-medium": ("mmdit_to_diffusers", lambda c: {"depth": c["depth"], "num_blocks": c["depth"]}),
    "SD3-3.5-large": ("mmdit_to_diffusers", lambda c: {"depth": c["depth"], "num_blocks": c["depth"]}),
    "AuraFlow-0.3": ("auraflow_to_diffusers", lambda c: {k: c[k] for k in ("n_double_layers", "n_layers")}),
    "PixArtAlpha-xl-2-1024": ("pixart_to_diffusers", lambda c: {"depth": c["depth"]}),
    "PixArtSigma-xl-2-1024": ("pixart_to_diffusers", lambda c: {"depth": c["depth"]}),
    "ZImage-turbo-6b": ("z_image_to_diffusers", lambda c: {"n_layers": c["n_layers"], "dim": c["dim"]}),
}


def in_diffusers_names(names: Mapping[str, Any], table: Mapping[str, Any]) -> dict[str, Any]:
    """Tensors under the names that a map of the host reads; a part of a tensor where it cuts one into several."""
    import torch

    done: set[tuple[Any, ...]] = set()
    out = {}
    for name, target in table.items():
        to, cut = (target, None) if isinstance(target, str) else (target[0], target[1])
        if to not in names or (to, cut) in done:
            continue
        done.add((to, cut))
        shape = list(names[to].shape)
        if cut is not None:
            shape[cut[0]] = cut[2]
        out[name] = torch.empty(shape, dtype=names[to].dtype, device="meta")
    return out


@pytest.fixture(params=TRANSFORMERS)
def renamed(request: pytest.FixtureRequest, all_cases: Any, build: Any) -> tuple[str, dict[str, Any]]:
    """Class and names of a transformer in diffusers' style."""
    import comfy.utils

    case = next(case for case in all_cases if case.name == request.param)
    function, arguments = TRANSFORMERS[request.param]
    table = getattr(comfy.utils, function)(arguments(case.config))
    return case.cls, in_diffusers_names(build(case).names, table)


def test_headroom_names_what_the_host_names_after_converting(renamed: Any, oracle: ModuleType, to_header: Any):
    cls, names = renamed
    converted = oracle.convert_diffusers_mmdit(dict(names), "")
    assert type(oracle.model_config_from_unet(converted, "")).__name__ == cls

    identity = identify(to_header(names))

    assert (identity.family, identity.status, identity.style) == (cls, "known", "diffusers")
    assert identity.remarks == ()
    assert identity.size_bytes == sum(tensor.nbytes for tensor in names.values())


def test_the_facts_are_those_of_the_other_names(renamed: Any, all_cases: Any, build: Any, to_header: Any):
    """What the estimates need does not depend on the spelling."""
    cls, names = renamed
    found = identify(to_header(names))
    natives = [identify(build(case).tensors) for case in all_cases if case.cls == cls]
    native = next(one for one in natives if one.hidden_size == found.hidden_size)
    for key in ("latent", "memory_factor", "dtypes", "name", "architecture", "hidden_size"):
        assert getattr(found, key) == getattr(native, key), key
    assert [stack.count for stack in found.stacks] == [stack.count for stack in native.stacks]
    shared = found.sizes.keys() & native.sizes.keys()
    assert {key: found.sizes[key] for key in shared} == {key: native.sizes[key] for key in shared}


def test_one_row_claims_a_transformer(renamed: Any, to_header: Any):
    _, names = renamed
    header = Header(Index(to_header(names)))
    assert len([row.id for row in ARCHITECTURES if row.sign.fits(header)]) == 1


# --- UNets -----------------------------------------------------------------------------------------------------------


@pytest.fixture(params=sorted(set(DIFFUSERS_SHAPES.values())))
def unet(request: pytest.FixtureRequest, all_cases: Any, build: Any) -> tuple[str, dict[str, Any]]:
    """Class and names of a UNet in diffusers' style."""
    import comfy.utils

    case = next(case for case in all_cases if case.cls == request.param)
    # Both spellings of the extra embedding stand in the host's map, in no fixed order; a file has one.
    spelling = "class_embedding" if case.cls.startswith(("SD21", "LotusD")) else "add_embedding"
    other = {"class_embedding", "add_embedding"} - {spelling}
    table = comfy.utils.unet_to_diffusers(dict(case.config))
    table = {key: value for key, value in table.items() if not key.startswith(tuple(other))}
    made = build(case)
    names = {name.removeprefix(case.prefix): tensor for name, tensor in made.names.items()}
    return case.cls, in_diffusers_names(names, table)


def test_a_unet_of_diffusers_is_named_as_the_host_does(unet: Any, oracle: ModuleType, to_header: Any):
    cls, names = unet
    found = oracle.model_config_from_diffusers_unet(dict(names))
    assert type(found).__name__ == cls
    identity = identify(to_header(names))
    assert (identity.family, identity.status, identity.style) == (cls, "known", "diffusers")
    blocks = split(to_header(names), identity)
    assert blocks.total_bytes == sum(tensor.nbytes for tensor in names.values())
    assert [stack.stem for stack in blocks.stacks if stack.role == "main"] == ["down_blocks.", "up_blocks."]


def test_every_shape_of_a_unet_is_one_that_the_host_knows(oracle: ModuleType):
    """Built from the table: a header of few names, which is all that the host looks at."""
    import torch

    for (width, context, adm, channels, depths), cls in DIFFUSERS_SHAPES.items():
        names = tiny_unet(torch, width, context, adm, channels, depths)
        found = oracle.model_config_from_diffusers_unet(names)
        assert type(found).__name__ == cls, (width, context, adm, channels, depths)


def tiny_unet(torch: Any, width: int, context: int, adm: int | None, channels: int, depths: Any) -> dict[str, Any]:
    """The names of a diffusers UNet that say what it is."""

    def tensor(*shape: int) -> Any:
        return torch.empty(shape, device="meta")

    names = {"conv_in.weight": tensor(width, channels, 3, 3)}
    if adm is not None:
        names["add_embedding.linear_1.weight"] = tensor(width * 4, adm)
    blocks = {8: 4, 6: 3, 3: 3}[len(depths)]
    per = len(depths) // blocks
    for n, depth in enumerate(depths):
        block, layer = divmod(n, per)
        names[f"down_blocks.{block}.resnets.{layer}.conv1.weight"] = tensor(width, width)
        for k in range(depth):
            at = f"down_blocks.{block}.attentions.{layer}.transformer_blocks.{k}"
            names[f"{at}.attn2.to_k.weight"] = tensor(width, context)
    return names


def test_a_unet_of_another_shape_has_no_class(oracle: ModuleType, to_header: Any):
    """SDXL's layout with one layer more: the host says no match, and so does Headroom, but with the blocks."""
    import torch

    names = tiny_unet(torch, 320, 2048, 2816, 4, (0, 0, 2, 2, 11, 11))
    assert oracle.model_config_from_diffusers_unet(dict(names)) is None
    identity = identify(to_header(names))
    assert identity.family is None
    assert identity.status != "known"
    assert identity.architecture == "unet"


# --- kin of Flux.1 that the host cannot convert ----------------------------------------------------------------------

KIN = {
    "Flux2-dev": ("flux2", {"double_stream_modulation_img.linear.weight": (36864, 6144)}),
    "Chroma-chroma1": ("chroma", {"distilled_guidance_layer.norms.0.weight": (5120,)}),
}


@pytest.mark.parametrize("name", KIN)
def test_the_host_cannot_convert_these_and_headroom_says_what_they_are(
    name: str, all_cases: Any, build: Any, oracle: ModuleType, to_header: Any
):
    """A difference on purpose. The host takes both for Flux.1: it stops with a KeyError on Flux.2, which has no bias,
    and loses Chroma's guidance and names the rest FluxSchnell."""
    import comfy.utils
    import torch

    case = next(case for case in all_cases if case.name == name)
    architecture, more = KIN[name]
    table = comfy.utils.flux_to_diffusers({k: case.config[k] for k in ("depth", "depth_single_blocks", "hidden_size")})
    names = in_diffusers_names(build(case).names, table)
    names |= {key: torch.empty(shape, device="meta") for key, shape in more.items()}
    if name == "Flux2-dev":
        with pytest.raises(KeyError):
            oracle.convert_diffusers_mmdit(dict(names), "")
    else:
        converted = oracle.convert_diffusers_mmdit(dict(names), "")
        assert type(oracle.model_config_from_unet(converted, "")).__name__ == "FluxSchnell"

    identity = identify(to_header(names))

    assert (identity.kind, identity.status, identity.family) == ("diffusion model", "unknown", None)
    assert (identity.architecture, identity.style) == (architecture, "diffusers")
    assert identity.remarks == ("ComfyUI 0.30.0 has no class for a model of this shape",)
    assert [stack.count for stack in identity.stacks] == [case.config["depth"], case.config["depth_single_blocks"]]
