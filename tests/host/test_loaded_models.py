"""Loaded models as they are read. The dynamic ones are stand-ins: dynamic VRAM does not run without a GPU."""

from __future__ import annotations

import importlib
import sys
import weakref
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
import torch

MIB = 2**20
CARD = torch.device("cuda", 0)
CPU = torch.device("cpu")


@pytest.fixture
def loaded(pack: ModuleType) -> ModuleType:
    """The pack's module of loaded models."""
    return importlib.import_module(f"{pack.__name__}.headroom.host.loaded_models")


class Patcher:
    """What the host's ModelPatcher offers of itself, on a card that is not there."""

    def __init__(self, model: Any, resident: int, device: torch.device = CARD, path: Any = None) -> None:
        self.model, self.load_device, self.resident = model, device, resident
        self.offload_device = CPU
        self.patches: dict[str, Any] = {}
        self.cached_patcher_init = None if path is None else (print, (path, {}))
        model.model_loaded_weight_memory = resident

    def is_dynamic(self) -> bool:
        return False

    def loaded_size(self) -> int:
        return self.resident

    def model_size(self) -> int:
        return 8 * MIB


class Vbar:
    """comfy_aimdo.model_vbar.ModelVBAR as far as it may be asked while a prompt runs, and one question more."""

    def __init__(self, pages: list[int]) -> None:
        self.pages, self.asked = pages, 0

    def get_residency(self) -> list[int]:
        self.asked += 1
        return self.pages


class DynamicPatcher(Patcher):
    """ModelPatcherDynamic (0.30.0): pages of 32 MiB in a VBAR, small weights in torch. Not yet verified on a GPU."""

    def __init__(self, model: Any, pages: list[int], small: int) -> None:
        super().__init__(model, small)
        model.dynamic_vbars = {self.load_device: Vbar(pages)}
        self.resident = 32 * MIB * sum(page & 1 for page in pages) + small

    def is_dynamic(self) -> bool:
        return True


def entries(monkeypatch: pytest.MonkeyPatch, *patchers: Any, in_use: bool = False) -> list[Any]:
    """The host's list of loaded models, the newest first."""
    found = [SimpleNamespace(model=patcher, device=patcher.load_device, currently_used=in_use) for patcher in patchers]
    monkeypatch.setattr(sys.modules["comfy.model_management"], "current_loaded_models", found)
    return found


def linear(dtype: torch.dtype = torch.float16) -> Any:
    return torch.nn.Linear(4, 4, dtype=dtype)


def test_a_static_model_is_resident_and_can_go(loaded: ModuleType, monkeypatch: pytest.MonkeyPatch):
    """MEM-39, ComfyUI #15274: 90 % "used" was ComfyUI's own cache, which the next allocation can take."""
    entries(monkeypatch, Patcher(linear(), 6 * MIB, path="/models/vae/sdxl.safetensors"))
    (model,), held = loaded.read_models(running=False)
    assert (model.name, model.kind, model.class_name, model.dtype) == ("sdxl.safetensors", "other", "Linear", "fp16")
    assert (model.size_bytes, model.resident_bytes, model.device) == (8 * MIB, 6 * MIB, "cuda:0")
    assert held["cuda:0"] == loaded.Held(0, 6 * MIB, 0)


def test_a_model_in_use_cannot_go_while_a_prompt_runs(loaded: ModuleType, monkeypatch: pytest.MonkeyPatch):
    entries(monkeypatch, Patcher(linear(), 6 * MIB), in_use=True)
    assert loaded.read_models(running=True)[1]["cuda:0"].evictable == 0
    assert loaded.read_models(running=False)[1]["cuda:0"].evictable == 6 * MIB


def test_a_dynamic_model_holds_pages_that_torch_does_not_count(loaded: ModuleType, monkeypatch: pytest.MonkeyPatch):
    """Five pages: three resident, of which one is pinned; 2 MiB of small weights lie in torch."""
    patcher = DynamicPatcher(linear(), [1, 3, 0, 1, 0], small=2 * MIB)
    entries(monkeypatch, patcher)
    (model,), held = loaded.read_models(running=False)
    assert (model.dynamic, model.resident_bytes) == (True, 98 * MIB)
    assert held["cuda:0"] == loaded.Held(dynamic_resident=98 * MIB, evictable=64 * MIB, pages=96 * MIB)


def test_while_a_prompt_runs_no_pages_are_looked_at(loaded: ModuleType, monkeypatch: pytest.MonkeyPatch):
    patcher = DynamicPatcher(linear(), [1, 3], small=0)
    entries(monkeypatch, patcher)
    assert loaded.read_models(running=True)[1]["cuda:0"].evictable == 64 * MIB
    assert patcher.model.dynamic_vbars[CARD].asked == 0


def test_nothing_in_the_pack_walks_the_pages_of_a_card(pack: ModuleType):
    """vbars_analyze logs each pinned page, and the host's get_free_memory of a patcher calls it."""
    from pathlib import Path

    sources = Path(pack.__file__ or "").parent.joinpath("headroom", "host").rglob("*.py")
    calls = [name for path in sources for name in ("vbars_analyze(", ".analyze(") if name in path.read_text("utf-8")]
    assert calls == []


def test_the_pack_never_sets_up_comfy_aimdo_again(pack: ModuleType):
    """FLAG-34, Windecay/ComfyUI-ReservedVRAM #5: a second init() resets what the host had set (pictures turn black)."""
    import re
    from pathlib import Path

    root = Path(pack.__file__ or "").parent
    sources = [path for folder in ("headroom", "nodes") for path in root.joinpath(folder).rglob("*.py")]
    texts = {path.name: path.read_text("utf-8") for path in sources}
    assert "comfy_aimdo" in "".join(texts.values()), "the pack reads its state"
    setup = re.compile(r"(?:import|from) comfy_aimdo|\.(?:init|init_devices?|set_\w+|deinit)\(")
    assert [name for name, text in texts.items() if "aimdo" in text and setup.search(text)] == []


def test_low_residency_under_dynamic_vram_is_a_number_and_no_fault(loaded: ModuleType, monkeypatch: pytest.MonkeyPatch):
    """MEM-47, ComfyUI #14447: 3 of 13 GiB resident is what dynamic VRAM does when a run needs the card."""
    entries(monkeypatch, DynamicPatcher(linear(), [0, 0, 0], small=0))
    (model,), _ = loaded.read_models(running=True)
    assert (model.resident_bytes, model.dynamic) == (0, True)


def test_a_dead_model_is_left_out_and_a_broken_one_costs_only_itself(
    loaded: ModuleType, monkeypatch: pytest.MonkeyPatch
):
    class Broken(Patcher):
        def loaded_size(self) -> int:
            raise RuntimeError("gone in the middle")

    found = entries(monkeypatch, Broken(linear(), 0), Patcher(linear(), MIB))
    found.insert(0, SimpleNamespace(model=None, device=CARD))
    assert [model.resident_bytes for model in loaded.read_models(running=False)[0]] == [MIB]


def test_reading_keeps_nothing_alive(loaded: ModuleType, monkeypatch: pytest.MonkeyPatch):
    """A patcher's destructor works on the GPU, and must run where the host let go of it."""
    patcher = Patcher(linear(), MIB)
    found = entries(monkeypatch, patcher)
    loaded.read_models(running=False)
    gone = weakref.ref(patcher), weakref.ref(patcher.model)
    found.clear()
    del patcher
    assert [one() for one in gone] == [None, None]


def test_two_models_on_one_card_are_added(loaded: ModuleType, monkeypatch: pytest.MonkeyPatch):
    entries(monkeypatch, Patcher(linear(), 2 * MIB), Patcher(linear(), 3 * MIB), Patcher(linear(), 9 * MIB, CPU))
    models, held = loaded.read_models(running=False)
    assert [model.device for model in models] == ["cuda:0", "cuda:0", "cpu"]
    assert (held["cuda:0"].evictable, held["cpu"]) == (5 * MIB, loaded.Held())


def with_methods(**methods: Any) -> Any:
    return type("Module", (torch.nn.Linear,), methods)(2, 2)


@pytest.mark.parametrize(
    ("model", "kind"),
    [
        (with_methods(encode_token_weights=lambda self, tokens: None), "text encoder"),
        (with_methods(decode=lambda self, latent: None), "vae"),
        (with_methods(), "other"),
    ],
)
def test_the_kind_is_what_a_model_can_do(loaded: ModuleType, monkeypatch: pytest.MonkeyPatch, model: Any, kind: str):
    entries(monkeypatch, Patcher(model, 0))
    assert loaded.read_models(running=False)[0][0].kind == kind


def diffusion() -> Any:
    """A diffusion model of the host's own class."""
    import comfy.model_base
    import comfy.supported_models

    model: Any = object.__new__(comfy.model_base.BaseModel)
    torch.nn.Module.__init__(model)
    model.model_config = object.__new__(comfy.supported_models.ZImage)
    model.diffusion_model = linear(torch.bfloat16)
    model.diffusion_model.dtype = torch.bfloat16
    model.manual_cast_dtype = torch.float32
    return model


def test_what_every_step_copies_is_what_of_the_model_in_use_is_not_on_its_card(
    loaded: ModuleType, monkeypatch: pytest.MonkeyPatch
):
    """8 MiB of which 3 are resident. A VAE, a model on the CPU and one that only waits are not copied by a step."""
    waiting = Patcher(diffusion(), 0)
    patchers = (Patcher(diffusion(), 3 * MIB), Patcher(linear(), 0), Patcher(diffusion(), 0, torch.device("cpu")))
    *_, last = entries(monkeypatch, *patchers, waiting, in_use=True)
    last.currently_used = False
    assert loaded.streamed_bytes() == 5 * MIB
    entries(monkeypatch, waiting, in_use=False)
    assert loaded.streamed_bytes() is None


def test_a_diffusion_model_has_its_family_and_both_dtypes(loaded: ModuleType, monkeypatch: pytest.MonkeyPatch):
    model = diffusion()
    entries(monkeypatch, Patcher(model, 0, path=["C:\\models\\unet\\z.gguf", "second"]))
    (found,), _ = loaded.read_models(running=False)
    assert (found.kind, found.family, found.dtype, found.compute_dtype) == ("diffusion", "ZImage", "bf16", "fp32")
    assert found.name == "z.gguf"


def quantised(layout: str, dtype: torch.dtype) -> Any:
    """A weight as comfy-kitchen packs it: it says bf16, and holds something else."""
    weight: Any = torch.nn.Parameter(torch.zeros(64, 64, dtype=torch.bfloat16), requires_grad=False)
    weight._qdata, weight._layout_cls = torch.zeros(64, 64, dtype=dtype), layout
    return weight


@pytest.mark.parametrize(
    ("layout", "dtype", "name"),
    [
        ("TensorCoreFP8E4M3Layout", torch.float8_e4m3fn, "fp8"),
        ("TensorCoreNVFP4Layout", torch.uint8, "nvfp4"),
        ("TensorCoreMXFP8Layout", torch.float8_e4m3fn, "mxfp8"),
        ("TensorWiseINT8Layout", torch.int8, "int8"),
        ("TensorCoreConvRotW4A4Layout", torch.int8, "w4a4"),
    ],
)
def test_a_quantised_model_is_what_it_holds(
    loaded: ModuleType, monkeypatch: pytest.MonkeyPatch, layout: str, dtype: torch.dtype, name: str
):
    model = torch.nn.Linear(4, 4)
    model.weight = quantised(layout, dtype)
    entries(monkeypatch, Patcher(model, 0))
    (found,), _ = loaded.read_models(running=False)
    assert (found.dtype, found.quantised) == (name, True)


def test_a_mixed_model_is_what_most_of_it_is(loaded: ModuleType, monkeypatch: pytest.MonkeyPatch):
    model = torch.nn.Sequential(linear(torch.float32), torch.nn.Linear(64, 64).to(torch.float8_e4m3fn))
    entries(monkeypatch, Patcher(model, 0))
    (found,), _ = loaded.read_models(running=False)
    assert (found.dtype, found.quantised, found.gguf) == ("fp8", False, False)


def test_comfyui_ggufs_models_are_known_by_their_tensors(loaded: ModuleType, monkeypatch: pytest.MonkeyPatch):
    model = linear()
    model.weight.tensor_type = 12
    entries(monkeypatch, Patcher(model, 0))
    (found,), _ = loaded.read_models(running=False)
    assert (found.gguf, found.dtype) == (True, "gguf")


def test_lora_patches_are_counted(loaded: ModuleType, monkeypatch: pytest.MonkeyPatch):
    patcher = Patcher(linear(), 0)
    patcher.patches = {"weight": [1], "bias": [2]}
    entries(monkeypatch, patcher)
    assert loaded.read_models(running=False)[0][0].lora_patches == 2


def test_the_hosts_own_patcher_on_the_cpu_is_read(loaded: ModuleType, monkeypatch: pytest.MonkeyPatch):
    import comfy.model_management
    import comfy.model_patcher

    patcher = comfy.model_patcher.ModelPatcher(linear(torch.float32), CPU, CPU)
    monkeypatch.setattr(comfy.model_management, "current_loaded_models", [comfy.model_management.LoadedModel(patcher)])
    (found,), held = loaded.read_models(running=False)
    assert (found.name, found.size_bytes, found.device, found.dynamic) == (None, 80, "cpu", False)
    assert held == {"cpu": loaded.Held()}


def test_weights_that_never_leave_the_card_are_not_called_evictable(
    loaded: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    """--highvram and --gpu-only: the offload device of a model is the card (unet_offload_device, 0.30.0)."""
    parked = Patcher(torch.nn.Linear(2, 2), 6 * MIB)
    parked.offload_device = CARD
    entries(monkeypatch, parked, Patcher(torch.nn.Linear(2, 2), 5 * MIB))
    _, held = loaded.read_models(False)
    assert held["cuda:0"].evictable == 5 * MIB
