"""VAEs: the host's own classes on the meta device, and its ``VAE`` as the oracle."""

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
CASES = json.loads((DATA / "vaes.json").read_text("utf-8"))["vaes"]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_headroom_names_what_the_host_names(case: Mapping[str, Any], vae_names: Any, valueless: Any, to_header: Any):
    import comfy.sd
    import torch

    names = vae_names(case)
    with valueless(), torch.device("meta"):
        vae = comfy.sd.VAE(sd=dict(names), device=torch.device("cpu"), dtype=torch.float32)

    identity = identify(to_header(names))

    assert (identity.kind, identity.status, identity.row) == ("vae", "known", case["row"])
    assert identity.family == type(vae.first_stage_model).__name__
    latent = identity.latent
    assert latent is not None
    assert (latent.channels, latent.dims) == (vae.latent_channels, vae.latent_dim)
    if vae.downscale_index_formula is not None:
        assert (latent.temporal, latent.spatial, latent.spatial) == vae.downscale_index_formula
    elif latent.temporal != 1:  # sound: the ratio counts samples
        assert latent.temporal == pytest.approx(vae.downscale_ratio)
    else:
        assert latent.spatial == vae.downscale_ratio
    assert identity.size_bytes == sum(tensor.nbytes for tensor in names.values())


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_one_row_claims_a_vae(case: Mapping[str, Any], vae_names: Any, to_header: Any):
    header = Header(Index(to_header(vae_names(case))))
    assert [row.id for row in vaes.ROWS if row.sign.fits(header)] == [case["row"]]


#: VAEs that cannot be built without values: LTX-2's is made from a configuration in its file's metadata, ACE-Step's
#: from a filter bank. Names and shapes as their files have them -> what comfy/sd.py sets for it.
BY_HAND = {
    "ltx-audio": (
        {
            "audio_vae.decoder.conv_in.conv.weight": (512, 8, 3, 3),
            "vocoder.resblocks.0.convs1.0.weight": (256, 256, 3),
        },
        ("AudioVAE", 8, 2, 4096),
    ),
    "ace": ({"vocoder.backbone.channel_layers.0.0.bias": (128,)}, ("MusicDCAE", 8, 2, 4096)),
}


@pytest.mark.parametrize("row", BY_HAND)
def test_a_vae_that_cannot_be_built(row: str):
    names, expected = BY_HAND[row]
    identity = identify({name: TensorInfo(name, "BF16", shape, 2) for name, shape in names.items()})
    assert (identity.kind, identity.row) == ("vae", row)
    assert identity.latent is not None
    found = (identity.family, identity.latent.channels, identity.latent.dims, identity.latent.temporal)
    assert found == expected


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_no_row_of_another_kind_claims_it(case: Mapping[str, Any], vae_names: Any, to_header: Any):
    index = Index(to_header(vae_names(case)))
    for prefix in ("", "model."):
        seen = Header(index, prefix)
        rows = (*ARCHITECTURES, *text_encoders.ROWS, *others.VISION, *others.UPSCALERS, *controlnets.ROWS)
        assert [row.id for row in rows if row.sign.fits(seen)] == []


def test_every_row_is_reached():
    assert {row.id for row in vaes.ROWS} == {case["row"] for case in CASES} | BY_HAND.keys()


def test_published_sizes(vae_names: Any, to_header: Any):
    """Weights as ComfyUI logs them (measured.md): SDXL's VAE 159.56 MiB and Wan's 242.03 in half precision, LTX-Video's
    1599.1 in fp32."""
    sizes = {}
    for case in CASES:
        if case["id"] in {"kl", "wan-2.1", "ltx"}:
            sizes[case["id"]] = identify(to_header(vae_names(case))).size_bytes / 2**20
    assert sizes["kl"] == pytest.approx(159.56, abs=0.005)
    assert sizes["wan-2.1"] == pytest.approx(242.03, abs=0.005)
    assert sizes["ltx"] * 2 == pytest.approx(1599.1, abs=0.05)


def test_a_vae_in_diffusers_names(oracle: ModuleType, vae_names: Any, to_header: Any):
    """The two names of the fourth resolution differ; the host converts the file before it looks."""
    swaps = {
        "encoder.down.2.downsample.conv.": "encoder.down_blocks.2.downsamplers.0.conv.",
        "decoder.up.3.upsample.conv.": "decoder.up_blocks.0.upsamplers.0.conv.",
        "decoder.up.1.upsample.conv.": "decoder.up_blocks.2.upsamplers.0.conv.",
    }
    names = dict(vae_names(next(case for case in CASES if case["id"] == "kl")))
    for start, becomes in swaps.items():
        names = {becomes + k[len(start) :] if k.startswith(start) else k: t for k, t in names.items()}
    identity = identify(to_header(names))
    assert (identity.row, identity.family) == ("kl", "AutoencoderKL")
