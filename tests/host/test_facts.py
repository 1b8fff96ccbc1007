"""Facts about the running host: what is there is read, what is not stays None, and nothing raises."""

from __future__ import annotations

import importlib
import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
import torch


@pytest.fixture
def facts(pack: ModuleType) -> ModuleType:
    """The pack's own module of host facts."""
    return importlib.import_module(f"{pack.__name__}.headroom.host.facts")


def test_on_a_cpu_host_the_gpu_stays_unknown(facts: ModuleType) -> None:
    found = facts.host_facts("latent")
    assert (found.stage, found.device, found.vendor, found.bf16) == ("latent", "cpu", "cpu", False)
    assert (found.gpu_name, found.gpu_arch, found.capability) == (None, None, None)
    assert found.dynamic_vram is False
    assert found.versions["torch"] == torch.__version__
    assert found.versions["comfyui"][0].isdigit()
    assert "--fp32-unet" in found.known_flags
    assert "--medvram" not in found.known_flags
    assert facts.host_facts("decode").stage == "decode"


@pytest.mark.parametrize(
    ("argv", "flags"),
    [
        (["main.py"], set()),
        (["main.py", "--cpu"], {"--cpu"}),
        (["main.py", "--force-fp16"], {"--force-fp16"}),
        (["main.py", "--reserve-vram", "2", "--fast", "fp16_accumulation"], {"--reserve-vram", "--fast"}),
        (["main.py", "--reserve-vram=2"], {"--reserve-vram"}),
        (["main.py", "--use-sage"], {"--use-sage-attention"}),
        (["main.py", "--nonsense", "--use-"], set()),
    ],
)
def test_flags_are_those_given_in_full_names(
    facts: ModuleType, monkeypatch: pytest.MonkeyPatch, argv: list[str], flags: set[str]
) -> None:
    """FLAG-15: in the parsed values --force-fp16 reads as --fp16-unet too. FLAG-08: argparse takes prefixes."""
    monkeypatch.setattr(sys, "argv", argv)
    assert facts.host_facts("latent").flags == flags


def test_where_the_host_did_not_parse_the_command_line_it_is_not_its_own(
    facts: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    import comfy.options

    monkeypatch.setattr(comfy.options, "args_parsing", False)
    monkeypatch.setattr(sys, "argv", ["other.py", "--force-fp16"])
    assert facts.host_facts("latent").flags == frozenset()


def loaded(monkeypatch: pytest.MonkeyPatch, *models: Any) -> None:
    """These models in the host's list, the newest first."""
    import comfy.model_management

    entries = [SimpleNamespace(model=SimpleNamespace(model=model)) for model in models]
    monkeypatch.setattr(comfy.model_management, "current_loaded_models", [SimpleNamespace(model=None), *entries])


def diffusion_model(cast: torch.dtype | None) -> Any:
    """A BaseModel of the class QwenImage, without weights, that stores fp16 and computes in ``cast``."""
    import comfy.model_base
    import comfy.supported_models

    model = object.__new__(comfy.model_base.BaseModel)
    torch.nn.Module.__init__(model)
    model.model_config = object.__new__(comfy.supported_models.QwenImage)
    model.latent_format = comfy.supported_models.QwenImage.latent_format()
    model.diffusion_model = torch.nn.Module()
    model.diffusion_model.dtype = torch.float16
    model.manual_cast_dtype = cast
    return model


@pytest.mark.parametrize(("cast", "dtype"), [(None, "fp16"), (torch.float32, "fp32"), (torch.bfloat16, "bf16")])
def test_the_model_is_the_newest_diffusion_model_and_its_dtype_the_computing_one(
    facts: ModuleType, monkeypatch: pytest.MonkeyPatch, cast: torch.dtype | None, dtype: str
) -> None:
    loaded(monkeypatch, torch.nn.Linear(1, 1), diffusion_model(cast), diffusion_model(torch.float64))
    found = facts.host_facts("latent")
    assert (found.model_class, found.dtype, found.pixel_ratio) == ("QwenImage", dtype, 8)


def test_without_a_diffusion_model_its_facts_are_unknown(facts: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    loaded(monkeypatch, torch.nn.Linear(1, 1))
    found = facts.host_facts("latent")
    assert (found.model_class, found.dtype, found.pixel_ratio) == (None, None, None)


def card(monkeypatch: pytest.MonkeyPatch, vendor: str, initialized: bool = True, **properties: Any) -> None:
    """A host that runs on one card; torch.cuda only plays it."""
    import comfy.model_management as management

    monkeypatch.setattr(management, "get_torch_device", lambda: torch.device("cuda", 0))
    monkeypatch.setattr(management, "is_amd", lambda: vendor == "amd")
    monkeypatch.setattr(management, "is_nvidia", lambda: vendor == "nvidia")
    monkeypatch.setattr(management, "should_use_bf16", lambda device: properties.get("major", 0) >= 8)
    monkeypatch.setattr(torch.cuda, "is_initialized", lambda: initialized)
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda device: SimpleNamespace(**properties))


def test_an_nvidia_card_is_read(facts: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    card(monkeypatch, "nvidia", name="NVIDIA GeForce RTX 2060", major=7, minor=5)
    found = facts.host_facts("latent")
    assert (found.vendor, found.device, found.gpu_name) == ("nvidia", "cuda:0", "NVIDIA GeForce RTX 2060")
    assert (found.capability, found.bf16, found.gpu_arch) == ((7, 5), False, None)


def test_an_amd_card_has_an_architecture_and_no_capability(facts: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    card(monkeypatch, "amd", name="AMD Radeon RX 6800", major=10, minor=3, gcnArchName="gfx1030:sramecc-:xnack-")
    found = facts.host_facts("latent")
    assert (found.vendor, found.gpu_arch, found.capability) == ("amd", "gfx1030", None)


def test_a_card_that_torch_has_not_opened_is_left_closed(facts: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    card(monkeypatch, "nvidia", initialized=False, name="x", major=8, minor=6)
    found = facts.host_facts("latent")
    assert (found.vendor, found.gpu_name, found.capability, found.bf16) == ("nvidia", None, None, None)


def test_a_reading_that_fails_costs_its_own_field_only(facts: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    import comfy.model_management as management

    def broken() -> None:
        raise RuntimeError("driver lost")

    monkeypatch.setattr(management, "get_torch_device", broken)
    found = facts.host_facts("latent")
    assert (found.device, found.vendor, found.bf16) == (None, None, None)
    assert found.versions["torch"] == torch.__version__
