"""A run as stages: shapes, dtypes, what each stage weighs, and what the host does about two prompts."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from core.test_blocks import wan

from headroom.core import needs
from headroom.core.activation import ActivationNeed, Step
from headroom.core.component import Component, component, component_of
from headroom.core.families.identity import Identity, Latent
from headroom.core.needs import Models, Run, compute_dtype, latent_shape, parts, settled, stages, vae_of_run
from headroom.core.tensorinfo import ModelFile
from headroom.core.tiles import Tile
from headroom.core.vae_need import VaeNeed

GIB = 2**30
MIB = 2**20
WAN = Latent("Wan21", 16, 3, 8, 4)


def model(name: str = "wan", matrices: str = "F16", layers: int = 4) -> Component:
    """A small Wan."""
    return component_of(ModelFile(name, "safetensors", wan(layers=layers, matrices=matrices)))


@pytest.fixture(autouse=True)
def asked(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Stands in for the estimates, which have tests of their own, and keeps what they were asked."""
    calls: list[Any] = []

    def activation(identity: Identity, step: Step) -> ActivationNeed:
        calls.append(step)
        prompts = 2 if step.together else 1
        return ActivationNeed(4 * GIB, 2 * GIB, prompts * GIB, prompts * 2 * GIB, 1, prompts, "analysis: stand-in")

    def decode(vae: Any, latent: tuple[int, ...], dtype: str, **options: Any) -> VaeNeed:
        calls.append((vae.row, latent, dtype, options))
        return VaeNeed("decode", dtype, None, 6 * GIB, 4 * GIB, 5 * GIB, 0, False, "measured: stand-in")

    def tile(vae: Any, latent: tuple[int, ...], dtype: str, free_bytes: int, **options: Any) -> VaeNeed | None:
        calls.append(("tile", free_bytes))
        if free_bytes < GIB:
            return None
        return VaeNeed("decode", dtype, Tile(64, 16), GIB, GIB, GIB, 0, False, "measured: stand-in")

    monkeypatch.setattr(needs, "activation_need", activation)
    monkeypatch.setattr(needs, "decode_need", decode)
    monkeypatch.setattr(needs, "largest_tile", tile)
    return calls


@pytest.mark.parametrize(
    ("latent", "run", "shape"),
    [
        (WAN, Run(832, 480, 81), (1, 16, 21, 60, 104)),
        (WAN, Run(832, 480), (1, 16, 1, 60, 104)),
        (WAN, Run(832, 480, 82), (1, 16, 22, 60, 104)),
        (Latent("LTXV", 128, 3, 32, 8), Run(768, 512, 97, batch=2), (2, 128, 13, 16, 24)),
        (Latent("Flux", 16, 2, 8, 1), Run(1024, 1000, 1, batch=4), (4, 16, 125, 128)),
        (Latent("SDXL", 4, 2, 8, 1), Run(1001, 1024), (1, 4, 128, 126)),
    ],
)
def test_the_latent_of_a_run(latent: Latent, run: Run, shape: tuple[int, ...]) -> None:
    """Wan at 832x480 with 81 frames is 16 x 21 x 60 x 104; what does not divide is rounded up."""
    assert latent_shape(latent, run) == shape


@pytest.mark.parametrize(
    ("dtypes", "stored", "computes"),
    [
        (("fp16", "bf16", "fp32"), "bf16", "bf16"),
        (("fp16", "bf16", "fp32"), "fp8_e4m3_scaled", "fp16"),
        (("bf16", "fp32"), "fp16", "bf16"),
        (("bf16", "fp32"), "Q4_K", "bf16"),
        (("fp32",), "bf16", "fp32"),
        ((), "bf16", "bf16"),
    ],
)
def test_what_a_model_computes_in(dtypes: tuple[str, ...], stored: str, computes: str) -> None:
    """NAN-08: Qwen-Image is never computed in fp16 (ComfyUI PR#12522)."""
    assert compute_dtype(Identity("diffusion model", "known", "x", dtypes=dtypes), stored) == computes


@pytest.mark.parametrize("wrong", [{"width": 0}, {"frames": 0}, {"batch": 0}, {"height": -8}])
def test_a_run_of_nothing_is_refused(wrong: dict[str, int]) -> None:
    with pytest.raises(ValueError, match="a run of"):
        replace(Run(64, 64), **wrong)


def test_the_stages_of_wan_2_2_in_their_order(asked: list[Any]) -> None:
    """Two models of 14B that take turns; the LoRA lies beside the weights of each."""
    high, low, encoder, lora = model("high"), model("low", layers=6), model("te", layers=1), model("lora", layers=1)
    found = stages(Models([high, low], [encoder], loras=[lora]), Run(832, 480, 81, cfg=6))
    assert [(role, stage.name, stage.part) for role, stage in found] == [
        ("text encoder", "Text encoding", "te"),
        ("diffusion", "Sampling, first model", "high"),
        ("diffusion", "Sampling, second model", "low"),
        ("vae", "Decode", ""),
    ]
    assert found[1][1].weights_bytes == high.weights_bytes + lora.weights_bytes
    assert found[2][1].weights_bytes == low.weights_bytes + lora.weights_bytes
    # Its largest tensor is that of the time projection.
    assert found[1][1].least_weights_bytes == 6 * 5120 * 5120 * 2
    steps = [call for call in asked if isinstance(call, Step)]
    assert {(step.latent, step.dtype, step.cfg, step.together) for step in steps} == {
        ((1, 16, 21, 60, 104), "fp16", 6, None)
    }
    assert [part.role for part in parts(Models([high, low]), Run(832, 480))] == ["diffusion", "diffusion", "vae"]


def test_one_model_is_just_sampling() -> None:
    assert [stage.name for _, stage in stages(Models([model()]), Run(832, 480))] == ["Sampling", "Decode"]


def test_a_checkpoint_brings_its_text_encoder_and_vae(models: Path) -> None:
    sdxl = component(models / "checkpoints" / "sd_xl_base_1.0.safetensors")
    found = stages(Models([sdxl]), Run(1024, 1024))
    assert [stage.name for _, stage in found] == ["Text encoding", "Sampling", "Decode"]
    assert [stage.weights_bytes for _, stage in found] == [
        sdxl.part_bytes("text encoder"),
        sdxl.weights_bytes,
        sdxl.part_bytes("vae"),
    ]
    # A text encoder that is given replaces the one inside.
    names = [stage.part for _, stage in stages(Models([sdxl], [model("other")]), Run(1024, 1024))]
    assert names[0] == "other"


def test_the_vae_is_the_one_given_or_the_one_that_goes_with_the_model(models: Path) -> None:
    vae = component(models / "vae" / "wan_2.1_vae.safetensors")
    given = vae_of_run(Models([model()], vae=vae))
    assert (given[0] and given[0].row, *given[1:]) == ("wan-2.1", "wan_2.1_vae.safetensors", vae.weights_bytes)
    guessed = vae_of_run(Models([model()]))
    assert (guessed[0] and guessed[0].row, *guessed[1:]) == ("wan-2.1", "", 0)
    assert vae_of_run(Models([])) == (None, "", 0)


def test_a_batch_is_decoded_item_by_item(asked: list[Any]) -> None:
    """comfy/sd.py 0.30.0, VAE.decode: as many at once as memory allows, at least one."""
    stages(Models([model()]), Run(832, 480, 81, batch=4))
    assert asked[-1][1] == (1, 16, 21, 60, 104)


@pytest.mark.parametrize(("room", "tiled", "high"), [(6 * GIB, False, 5 * GIB), (4 * GIB, True, GIB)])
def test_a_decode_that_does_not_fit_is_tiled(room: int, tiled: bool, high: int) -> None:
    """VAE-44: Qwen's VAE at 2048x2048 on 15 GB goes into tiles at once."""
    decode = stages(Models([model()]), Run(832, 480, 81), room)[-1][1]
    assert (decode.high_bytes, decode.note) == (high, "in 512 px tiles, overlap 128" if tiled else "")
    assert stages(Models([model()]), Run(832, 480, 81))[-1][1].high_bytes == 5 * GIB


def test_where_not_even_a_tile_fits_the_whole_frame_is_told() -> None:
    assert stages(Models([model()]), Run(832, 480, 81), GIB // 2)[-1][1].high_bytes == 5 * GIB


@pytest.mark.parametrize(("room", "together"), [(6 * GIB, False), (6 * GIB + 1, True)])
def test_both_prompts_go_together_only_where_the_host_would_do_that(room: int, together: bool) -> None:
    """Its number for both is 4 GiB here, and half as much again has to be free (comfy/samplers.py 0.30.0)."""
    run = Run(832, 480, 81, cfg=6)
    assert settled(model(), run, room).together is together
    sampling = stages(Models([model()]), run, room)[0][1]
    assert sampling.high_bytes == (4 * GIB if together else 2 * GIB)


def test_what_is_said_about_the_prompts_stays() -> None:
    assert settled(model(), Run(832, 480, cfg=6, together=True), 0).together is True
    assert settled(model(), Run(832, 480, cfg=1), 100 * GIB).together is None


def test_a_model_that_is_not_known_has_weights_and_no_range() -> None:
    from core.test_blocks import tensor

    unknown = component_of(ModelFile("x", "safetensors", {f"l.{n}.w": tensor(f"l.{n}.w", (8, 8)) for n in range(3)}))
    sampling, decode = (stage for _, stage in stages(Models([unknown]), Run(64, 64), GIB))
    assert (sampling.weights_bytes, sampling.low_bytes, sampling.high_bytes) == (3 * 128, None, None)
    assert (decode.low_bytes, decode.source) == (None, "unknown")


def test_parts_of_a_checkpoint_weigh_what_they_weigh(models: Path) -> None:
    """A checkpoint given as the text encoder or the VAE of a run: its diffusion model is none of that stage's."""
    whole = component(models / "checkpoints" / "sd_xl_base_1.0.safetensors")
    found = dict(stages(Models([model()], encoders=[whole], vae=whole), Run(512, 512)))
    assert found["text encoder"].weights_bytes == whole.part_bytes("text encoder")
    assert found["vae"].weights_bytes == whole.part_bytes("vae")
    # With one given, the encoder inside of a checkpoint is not loaded.
    roles = [role for role, _ in stages(Models([whole], encoders=[model("encoder")]), Run(512, 512))]
    assert roles == ["text encoder", "diffusion", "vae"]


def test_a_vae_s_own_weights_take_room_from_its_decode(models: Path) -> None:
    """The whole frame needs 5 GiB and the VAE itself a quarter of one: 5.1 GiB are too few."""
    vae = component(models / "vae" / "wan_2.1_vae.safetensors")
    for room, tiled in ((int(5.1 * GIB), True), (int(5.5 * GIB), False)):
        decode = stages(Models([model()], vae=vae), Run(832, 480, 81), room)[-1][1]
        assert bool(decode.note) == tiled
