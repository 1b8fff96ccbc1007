"""The host's VAE memory formulas against the host: every kind of VAE, several shapes and dtypes, equal to the byte.

Where these differ, "what ComfyUI will evict" is wrong, and with it every plan that has a decode in it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from headroom.core.families import identify
from headroom.core.tensorinfo import TensorInfo
from headroom.core.vae_dtype import VaeDevice, pick_dtype
from headroom.core.vae_formula_table import FORMULAS
from headroom.core.vae_formulas import Vae, reserved_decode, reserved_encode, vae_for_model, vae_of

DATA = Path(__file__).resolve().parent.parent.parent / "data" / "families"
CASES = json.loads((DATA / "vaes.json").read_text("utf-8"))["vaes"]
#: Stable Audio 3 has two sizes with a formula each; the arguments are the host's own for twelve layers.
LARGE_SOUND = {
    "id": "stable-audio-3-large",
    "row": "stable-audio-3",
    "class": "comfy.ldm.audio.vae_sa3:SA3AudioVAE",
    "arguments": {
        "channels": 256,
        "transformer_depths": 12,
        "sinusoidal_blocks": 8,
        "sliding_window": [1, 1],
        "decoder_conv_mapping": False,
        "chunk_size": 128,
        "chunk_midpoint_shift": False,
    },
}
BUILT = [*CASES, LARGE_SOUND]
#: Classes whose constructors read values: the host's VAE sets its formulas around a stand-in.
STOOD_IN = {
    "ace": ("comfy.ldm.ace.vae.music_dcae_pipeline", "MusicDCAE", "vocoder.backbone.channel_layers.0.0.bias"),
    "ltx-audio": ("comfy.ldm.lightricks.vae.audio_vae", "AudioVAE", "vocoder.resblocks.0.convs1.0.weight"),
}
#: Latent shapes by the dimensions of the VAE.
LATENTS = {
    1: [(1, 64, 107), (2, 64, 1024)],
    2: [(1, 4, 64, 64), (4, 16, 90, 160), (1, 128, 37, 51)],
    3: [(1, 16, 1, 128, 128), (1, 16, 4, 60, 104), (2, 16, 21, 60, 104), (1, 48, 31, 45, 80)],
}
PIXELS = {
    1: [(1, 2, 44100), (2, 2, 1_000_001)],
    2: [(1, 3, 512, 512), (4, 3, 1080, 1920)],
    3: [(1, 3, 1, 1024, 1024), (1, 3, 4, 480, 832), (1, 3, 81, 480, 832), (2, 3, 121, 704, 1280)],
}
#: The host gives these (batch, tokens, width).
POINTS = [(1, 3072, 64), (2, 4096, 64)]


def same(host: Any, ours: Any, shapes: list[tuple[int, ...]]) -> None:
    """Both formulas on all shapes in all dtypes, the host's cut to whole bytes."""
    import torch

    for shape in shapes:
        for name, dtype in (("fp32", torch.float32), ("fp16", torch.float16), ("bf16", torch.bfloat16)):
            assert ours(shape, name) == int(host(shape, dtype)), (shape, name)


def compare(host_vae: Any, ours: Vae, amd: bool) -> None:
    """A VAE object of the host and ours."""
    dims = host_vae.latent_dim
    points = ours.row == "hunyuan3d"
    for host, reserved, shapes in (
        (host_vae.memory_used_decode, reserved_decode, POINTS if points else LATENTS[dims]),
        (host_vae.memory_used_encode, reserved_encode, POINTS if points else PIXELS[dims]),
    ):
        same(host, lambda shape, dtype, f=reserved: f(ours, shape, dtype, amd=amd), shapes)


def host_vae(names: Mapping[str, Any], context: Any) -> Any:
    """The host's VAE on names without weights."""
    import comfy.sd
    import torch

    with context(), torch.device("meta"):
        return comfy.sd.VAE(sd=dict(names), device=torch.device("cpu"), dtype=torch.float32)


@pytest.mark.parametrize("amd", [False, True], ids=["", "amd"])
@pytest.mark.parametrize("case", BUILT, ids=lambda case: case["id"])
def test_the_formulas_are_the_host_s(
    case: Mapping[str, Any],
    amd: bool,
    vae_names: Any,
    valueless: Any,
    to_header: Any,
    monkeypatch: pytest.MonkeyPatch,
):
    import comfy.model_management
    import torch

    monkeypatch.setattr(comfy.model_management, "is_amd", lambda: amd)
    names = vae_names(case)
    vae = host_vae(names, valueless)
    ours = vae_of(identify(to_header(names)))

    assert ours is not None
    assert ours.row == case["row"]
    short = {torch.float32: "fp32", torch.float16: "fp16", torch.bfloat16: "bf16"}
    assert ours.formula.dtypes == tuple(short[dtype] for dtype in vae.working_dtypes)
    assert ours.formula.owns_tiles == vae.handles_tiling
    assert ours.formula.streams == getattr(vae.first_stage_model, "comfy_has_chunked_io", False)
    if ours.row == "triposplat":
        with pytest.raises(RuntimeError, match="TripoSplat"):
            vae.memory_used_decode((1, 16, 8), torch.float32)
        assert reserved_decode(ours, (1, 16, 8), "fp32") is reserved_encode(ours, (1, 3, 8), "fp32") is None
    else:
        compare(vae, ours, amd)


@pytest.mark.parametrize("row", STOOD_IN)
def test_the_formulas_of_a_vae_whose_class_needs_values(
    row: str, oracle: ModuleType, valueless: Any, monkeypatch: pytest.MonkeyPatch
):
    import importlib

    import comfy.sd  # noqa: F401 -- it loads the parts that are named by their path
    import torch

    class StandIn(torch.nn.Module):
        latent_channels, output_sample_rate, autoencoder = 8, 48000, None

        def __init__(self, **_: Any):
            super().__init__()

    module, name, key = STOOD_IN[row]
    monkeypatch.setattr(importlib.import_module(module), name, StandIn)
    vae = host_vae({key: torch.empty(1, device="meta")}, valueless)
    identity = identify(
        {
            key: TensorInfo(key, "BF16", (128,), 256),
            "audio_vae.decoder.conv_in.conv.weight": TensorInfo(
                "audio_vae.decoder.conv_in.conv.weight", "BF16", (512, 8, 3, 3), 73728
            ),
        }
    )
    ours = vae_of(identity)
    assert ours is not None
    assert ours.row == row
    compare(vae, ours, amd=False)


@pytest.mark.parametrize("fp16", [True, False])
@pytest.mark.parametrize("bf16", [True, False])
@pytest.mark.parametrize("flag", ["", "--fp16-vae", "--bf16-vae", "--fp32-vae"])
def test_the_dtype_is_the_host_s(
    flag: str, bf16: bool, fp16: bool, oracle: ModuleType, monkeypatch: pytest.MonkeyPatch
):
    """Every kind of VAE, on cards with either, both or neither half precision."""
    import comfy.model_management
    import torch

    monkeypatch.setattr(comfy.model_management, "should_use_fp16", lambda *_, **__: fp16)
    monkeypatch.setattr(comfy.model_management, "should_use_bf16", lambda *_, **__: bf16)
    for name in ("fp16_vae", "bf16_vae", "fp32_vae"):
        monkeypatch.setattr(comfy.model_management.args, name, flag == f"--{name.replace('_', '-')}")
    short = {"fp32": torch.float32, "fp16": torch.float16, "bf16": torch.bfloat16}
    for row in FORMULAS:
        vae = Vae(row, "", 4, 2, 8, 1)
        allowed = [short[dtype] for dtype in vae.formula.dtypes]
        picked = pick_dtype(vae, (flag,), VaeDevice(cpu=False, fp16=fp16, bf16=bf16))
        assert picked is not None
        assert short[picked] == comfy.model_management.vae_dtype(None, allowed), row


def test_every_kind_is_compared():
    """No kind is left out; a new row of families/vaes.py without a formula fails here by name."""
    from headroom.core.families import vaes

    assert {row.id for row in vaes.ROWS} == FORMULAS.keys()
    assert {case["row"] for case in BUILT} | STOOD_IN.keys() == FORMULAS.keys()


def test_a_model_gets_the_vae_that_decodes_its_latents(made: Any):
    """Its latent has the channels, the dimensions and the ratio that the VAE takes."""
    identity = identify(made.tensors, made.case.metadata)
    vae = vae_for_model(identity)
    latent = identity.latent
    assert latent is not None
    if vae is None:
        assert latent.format in {"LatentFormat", "TripoSplat"}, "a format without a VAE"
    else:
        same = (vae.channels, vae.dims, vae.spatial) == (latent.channels, latent.dims, latent.spatial)
        assert same == (latent.format not in OTHER_SHAPE)


#: Formats whose ratio in comfy/latent_formats.py is not the VAE's, with what differs.
OTHER_SHAPE = {
    "SC_Prior": "42 is how much smaller the latent is, the VAE's own ratio is 32",
    "SD_X4": "the format keeps the 8 of its base class, the VAE has 4",
    "HunyuanImage21Refiner": "the latent is two of the VAE's frames",
    "ACEAudio": "sound: the VAE counts samples",
    "ACEAudio15": "the same",
    "StableAudio1": "the same",
    "StableAudio3": "the same",
    "Hunyuan3Dv2": "points",
    "Hunyuan3Dv2_1": "points",
    "Hunyuan3Dv2mini": "points",
    "MiniMaxH3AV": "the latent has the sound's channels beside the picture's",
}
