"""What the host reserves for sampling: Headroom's formula against BaseModel.memory_required of every class."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from headroom.core.activation_host import BY_AREA, BY_VALUES, OTHERS, reserved_by_host
from headroom.core.families import identify
from headroom.core.families.common import LATENTS
from headroom.core.needs import Run, latent_shape
from headroom.core.sampled import sampled

#: Two sizes of latent by dimensions; channels do not count.
SHAPES = {
    1: [(1, 64, 215), (2, 64, 1024)],
    2: [(1, 16, 128, 128), (3, 4, 90, 161)],
    3: [(1, 16, 21, 60, 104), (2, 16, 1, 128, 96)],
}


@pytest.fixture(params=["fused", "split"])
def attention(request: Any, monkeypatch: pytest.MonkeyPatch) -> str:
    """The host's branch, switched where it asks."""
    import comfy.model_management

    monkeypatch.setattr(comfy.model_management, "xformers_enabled", lambda: False)
    monkeypatch.setattr(comfy.model_management, "pytorch_attention_flash_attention", lambda: request.param == "fused")
    return request.param


def doubled(shape: tuple[int, ...]) -> list[int]:
    """As estimate_memory in comfy/sampler_helpers.py does for what it wants."""
    return [shape[0] * 2, *shape[1:]]


@pytest.mark.parametrize("dtype", ["fp16", "bf16", "fp32"])
def test_the_number_is_the_host_s(made: Any, attention: str, dtype: str):
    import torch

    identity = identify(made.tensors, made.case.metadata)
    assert identity.latent is not None
    kind = {"fp16": torch.float16, "bf16": torch.bfloat16, "fp32": torch.float32}[dtype]
    made.config.set_inference_dtype(kind, None)
    made.model.manual_cast_dtype = kind
    factor, made.model.memory_usage_factor = made.model.memory_usage_factor, made.config.memory_usage_factor
    try:
        for shape in SHAPES[identity.latent.dims]:
            wanted = made.model.memory_required(doubled(shape))
            least = made.model.memory_required(list(shape))
            assert reserved_by_host(identity, shape, dtype, attention) == int(wanted)
            assert reserved_by_host(identity, shape, dtype, attention, prompts=1) == int(least)
    finally:
        made.model.memory_usage_factor = factor
        made.config.set_inference_dtype(torch.float16, None)


def test_reference_latents_count_as_in_the_host(made: Any, attention: str):
    """Kontext and the edit models: a reference is as much work as the picture itself."""
    import torch

    identity = identify(made.tensors, made.case.metadata)
    family = identity.family or ""
    assert identity.latent is not None
    shape = SHAPES[identity.latent.dims][0]
    references = [(1, *shape[1:]), (1, shape[1], *(length // 2 for length in shape[2:]))]
    tensors = [torch.empty(size, device="meta") for size in references]
    try:
        host = made.model.extra_conds_shapes(reference_latents=tensors)
    except NotImplementedError:
        host = {}
    assert bool(host) == (family in BY_AREA or family in BY_VALUES)
    counted = {name: [value] * 2 for name, value in host.items()}
    made.model.manual_cast_dtype = torch.float16
    wanted = made.model.memory_required(doubled(shape), cond_shapes=counted)
    assert reserved_by_host(identity, shape, "fp16", attention, references=references) == int(wanted)
    once = made.model.memory_required(doubled(shape), cond_shapes={name: [value] for name, value in host.items()})
    ours = reserved_by_host(identity, shape, "fp16", attention, references=references, prompts_with_references=1)
    assert ours == int(once)


def test_every_other_input_that_the_host_counts_is_known(made: Any, attention: str):
    """Its memory_usage_factor_conds: a new one fails here by name."""
    import torch

    identity = identify(made.tensors, made.case.metadata)
    family = identity.family or ""
    counted = set(made.model.memory_usage_factor_conds)
    references = {"ref_latents", "reference_latent"}
    assert counted - references == OTHERS.get(family, {}).keys()
    assert bool(counted & references) == (family in BY_AREA or family in BY_VALUES)

    conds = {name: [(1, 20, 13, 60, 104)] for name in counted - references}
    made.model.manual_cast_dtype = torch.float16
    shape = (1, 16, 21, 60, 104)
    host = made.model.memory_required(list(shape), cond_shapes={n: [list(s) for s in v] for n, v in conds.items()})
    assert reserved_by_host(identity, shape, "fp16", attention, prompts=1, conds=conds) == int(host)


def test_picture_and_sound_are_one_row_of_values(all_cases: Any, build: Any, attention: str):
    """LTX-2 samples both at once; the host packs them (comfy/utils.py, pack_latents), and its factor fits that."""
    import comfy.utils
    import torch

    made = build(next(case for case in all_cases if case.cls == "LTXAV"))
    identity = identify(made.tensors, made.case.metadata)
    picture, sound = (1, 128, 16, 22, 40), (1, 8, 126, 16)
    together, _ = comfy.utils.pack_latents([torch.empty(shape, device="meta") for shape in (picture, sound)])
    made.model.manual_cast_dtype = torch.float16
    host = made.model.memory_required(doubled(tuple(together.shape)))
    assert reserved_by_host(identity, picture, "fp16", attention, streams=[sound]) == int(host)


@pytest.mark.parametrize("frames", [1, 49, 97, 121])
def test_the_sound_of_ltx_2_is_what_the_host_s_node_makes(oracle: Any, frames: int):
    """LTXVEmptyLatentAudio at its own rate, with the host's sound VAE as it is without a file's configuration."""
    import torch
    from comfy.ldm.lightricks.vae.audio_vae import AudioVAE
    from comfy.ldm.lightricks.vae.causal_audio_autoencoder import CausalAudioAutoencoder
    from comfy_extras.nodes_lt_audio import LTXVEmptyLatentAudio

    class Sound(AudioVAE):
        def __init__(self) -> None:
            torch.nn.Module.__init__(self)
            self.autoencoder = CausalAudioAutoencoder()

    with torch.device("meta"):
        vae = Sound()
    channels = vae.autoencoder.get_submodule("decoder.conv_in").get_parameter("conv.weight").shape[1]
    connected = SimpleNamespace(latent_channels=channels, first_stage_model=vae)
    made = LTXVEmptyLatentAudio.execute(frames, 25.0, 2, connected)
    (latent,) = made.result
    assert sampled(LATENTS["LTXAV"], (2, 128, 1, 16, 16), frames)[1] == tuple(latent["samples"].shape)


@pytest.mark.parametrize("frames", [1, 5, 6, 22, 81, 124, 125, 362])
def test_the_latents_of_minimax_h3_are_those_of_the_host_s_node(oracle: Any, frames: int):
    from comfy_extras.nodes_minimax_h3 import EmptyMiniMaxH3LatentAV

    (latent,) = EmptyMiniMaxH3LatentAV.execute(1344, 768, frames).result
    latents = LATENTS["MiniMaxH3AV"]
    ours = sampled(latents, latent_shape(latents, Run(1344, 768, frames)), frames)
    assert ours == tuple(tuple(part.shape) for part in latent["samples"].unbind())
