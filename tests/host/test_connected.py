"""Models that are connected to VRAM Budget: read from the loaded objects, with LoRA weights and text encoders."""

from __future__ import annotations

import importlib
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
import torch

MIB = 2**20


@pytest.fixture(scope="module")
def connected(pack: ModuleType) -> ModuleType:
    """The pack's module."""
    return importlib.import_module(f"{pack.__name__}.headroom.host.connected")


class Adapter:
    """As comfy.weight_adapter's: the tensors stand in ``weights``, beside numbers and None."""

    def __init__(self, *weights: Any) -> None:
        self.weights = weights


def patcher(**more: Any) -> Any:
    """What a stage reads of a ModelPatcher."""
    return SimpleNamespace(model_size=lambda: 300 * MIB, patches={}, **more)


def test_lora_weights_that_wait_are_counted_once(connected: ModuleType) -> None:
    """ComfyUI #4343: 12.2 GB became 14.3 with a LoRA."""
    down, up = torch.zeros(16, 1024, dtype=torch.float16), torch.zeros(1024, 16, dtype=torch.float16)
    adapter = Adapter(up, down, 16.0, None, None)
    one = patcher()
    one.patches = {
        "a.weight": [(1.0, adapter, 1.0, None, None)],
        "b.weight": [(0.5, ("diff", (down,)), 1.0, None, None)],
    }
    assert connected.lora_bytes(one) == 2 * 16 * 1024 * 2
    assert connected.lora_bytes(patcher()) == 0


def test_patches_that_contain_themselves_end(connected: ModuleType) -> None:
    loop: list[Any] = []
    loop.append(loop)
    one = patcher()
    one.patches = {"a": loop}
    assert connected.lora_bytes(one) == 0


def test_a_text_encoder_is_a_stage_of_its_own(connected: ModuleType) -> None:
    clip = SimpleNamespace(
        patcher=patcher(cached_patcher_init=(None, (["/models/text_encoders/umt5.safetensors"],))),
        cond_stage_model=object(),
    )
    stage = connected.encoding(clip)
    assert (stage.name, stage.part, stage.weights_bytes) == ("Text encoding", "umt5.safetensors", 300 * MIB)
    assert stage.low_bytes == 0 < stage.high_bytes <= 512 * MIB


def test_a_gguf_tensor_counts_its_bytes_and_shows_the_shape_it_stands_for(connected: ModuleType) -> None:
    """ComfyUI-GGUF keeps packed bytes in a tensor with a ``tensor_shape``."""
    packed = torch.zeros(64, 144, dtype=torch.uint8)
    packed.tensor_shape = torch.Size((64, 256))
    module = SimpleNamespace(state_dict=lambda: {"blocks.0.weight": packed, "blocks.1.weight": packed})
    model = SimpleNamespace(diffusion_model=module)
    found = connected.model_component(SimpleNamespace(model=model))
    assert found.main_blocks == (64 * 144, 64 * 144)


def test_the_streams_of_a_nested_latent_are_seen_apart(connected: ModuleType) -> None:
    """LTX-2 samples picture and sound together (comfy/nested_tensor.py 0.30.0)."""
    parts = [torch.zeros(1, 128, 4, 8, 8), torch.zeros(1, 8, 20, 16)]
    nested = SimpleNamespace(is_nested=True, unbind=lambda: parts)
    assert connected.latent_shapes({"samples": nested}) == ((1, 128, 4, 8, 8), (1, 8, 20, 16))
    assert connected.latent_shapes(None) == ()


def test_an_input_without_weights_is_one_clear_line(connected: ModuleType) -> None:
    """A file without VAE keys gives a VAE whose model is None, and no patcher (comfy/sd.py 0.30.0, VAE.__init__)."""
    with pytest.raises(Exception, match="The vae input holds no weights"):
        connected.decoding(SimpleNamespace(first_stage_model=None), None, False)
    with pytest.raises(Exception, match="holds no diffusion model: it is a SimpleNamespace"):
        connected.model_component(SimpleNamespace(model=SimpleNamespace()))


def test_a_batch_is_decoded_item_by_item(connected: ModuleType) -> None:
    """comfy/sd.py 0.30.0, VAE.decode: as many at once as memory allows, at least one."""
    asked: list[Any] = []
    vae = SimpleNamespace(
        patcher=patcher(cached_patcher_init=None),
        first_stage_model=torch.nn.Linear(1, 1),
        vae_dtype=torch.float16,
        memory_used_decode=lambda shape, dtype: asked.append((tuple(shape), dtype)) or 5 * MIB,
    )
    stage = connected.decoding(vae, {"samples": torch.zeros(4, 16, 8, 8)}, False)
    assert asked == [((1, 16, 8, 8), torch.float16)]
    assert (stage.reserved_bytes, stage.low_bytes, stage.high_bytes) == (5 * MIB, None, None)


def test_lora_weights_are_part_of_sampling(connected: ModuleType) -> None:
    """ComfyUI #4343."""
    one = patcher(cached_patcher_init=None, model=SimpleNamespace(diffusion_model=torch.nn.Linear(1, 1)))
    one.patches = {"a.weight": [(1.0, ("diff", (torch.zeros(1024, dtype=torch.float16),)), 1.0, None, None)]}
    assert connected.sampling(one, None, "fused").weights_bytes == 300 * MIB + 2048


def test_a_connected_gguf_is_known_as_one(connected: ModuleType) -> None:
    packed = torch.zeros(64, 144, dtype=torch.uint8)
    packed.tensor_type = 12
    for tensor, gguf in ((packed, True), (torch.zeros(64, 144), False)):
        module = SimpleNamespace(state_dict=lambda tensor=tensor: {"blocks.0.weight": tensor})
        assert connected.model_component(SimpleNamespace(model=SimpleNamespace(diffusion_model=module))).gguf is gguf


def test_a_connected_model_is_loaded_once_where_dynamic_vram_is_off(connected: ModuleType, pack: ModuleType) -> None:
    """VRAM Budget on AMD: what streams is settled by the host's number, 0.8 GiB at least, and by three layers' room."""
    static_load = importlib.import_module(f"{pack.__name__}.headroom.core.static_load")
    state = {f"blocks.{number}.weight": torch.zeros(64, 32, dtype=torch.float16) for number in range(4)}
    one = patcher(model=SimpleNamespace(diffusion_model=SimpleNamespace(state_dict=lambda: state)))
    stage = connected.sampling(one, None, "fused", static_load.static_loader("rocm"))
    assert stage.static == static_load.StaticLoad(int(0.8 * 2**30), 3 * 64 * 32 * 2, 0.4)
    assert connected.sampling(one, None, "fused").static is None
