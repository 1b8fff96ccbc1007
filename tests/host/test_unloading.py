"""Unloading with ComfyUI's own memory management: one model or all of them, wherever they lie."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import pytest
import torch

GIB = 2**30
CPU = torch.device("cpu")
CARD, SECOND = torch.device("cuda", 0), torch.device("cuda", 1)


@pytest.fixture
def memory(pack: ModuleType, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The pack's door to the host's models; the host has none loaded."""
    monkeypatch.setattr(sys.modules["comfy.model_management"], "current_loaded_models", [])
    return importlib.import_module(f"{pack.__name__}.headroom.host.memory")


@pytest.fixture
def management(memory: ModuleType) -> Any:
    """The host's memory management."""
    return sys.modules["comfy.model_management"]


@pytest.fixture
def on_cpu(management: Any) -> Iterator[list[Any]]:
    """Two real models that the host has loaded on the CPU."""
    from comfy.model_patcher import ModelPatcher

    with torch.inference_mode():
        patchers = [ModelPatcher(torch.nn.Linear(4, 4), CPU, CPU) for _ in range(2)]
        management.load_models_gpu(patchers)
    assert len(management.current_loaded_models) == 2
    yield patchers
    management.current_loaded_models.clear()


def loaded(management: Any) -> list[Any]:
    return [entry.model for entry in management.current_loaded_models]


def test_a_model_beside_the_current_device_goes_and_no_other(
    memory: ModuleType, management: Any, on_cpu: list[Any], monkeypatch: pytest.MonkeyPatch
):
    """CLIPLoader with device "cpu" on a machine with a GPU: the host's unload_model_and_clones (0.30.0) frees only the
    current device, so the button answered and the row stayed."""
    monkeypatch.setattr(management, "get_torch_device", lambda: torch.device("meta"))
    one, other = on_cpu
    memory.unload(one.clone())
    assert loaded(management) == [other]


def test_a_model_that_is_not_loaded_unloads_nothing(memory: ModuleType, management: Any, on_cpu: list[Any]):
    from comfy.model_patcher import ModelPatcher

    memory.unload(ModelPatcher(torch.nn.Linear(4, 4), CPU, CPU))
    assert set(loaded(management)) == set(on_cpu)


@pytest.fixture
def card(memory: ModuleType, management: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A card of 24 GiB, and a second one of which the host knows 20 GiB to be free."""
    from fakes.card import Card

    played = Card()
    played.play(monkeypatch)
    first = management.get_free_memory

    def free(device: Any = None, torch_free_too: bool = False) -> Any:
        if device not in {SECOND, CPU}:
            return first(device, torch_free_too)
        return (20 * GIB, 0) if torch_free_too else 20 * GIB

    monkeypatch.setattr(management, "get_free_memory", free)
    return played


def test_a_model_on_the_second_card_goes_and_those_on_the_first_stay(memory: ModuleType, management: Any, card: Any):
    """VAE Decode (Safe) on gpu:1 makes room by unloading the original, which stayed there."""
    from fakes.card import load

    stays, goes = load(card, "Flux", 12 * GIB), load(card, "AutoencoderKL", GIB, device=SECOND)
    memory.unload(goes)
    assert loaded(management) == [stays]
    assert card.allocated == 12 * GIB


def test_all_are_all(memory: ModuleType, management: Any, card: Any):
    """The host's unload_all_models (0.30.0) leaves a text encoder on the CPU listed: "3 models, 1 left"."""
    from fakes.card import load

    kept = [load(card, "Flux", 12 * GIB), load(card, "T5", 9 * GIB, device=CPU), load(card, "VAE", GIB, device=SECOND)]
    memory.unload_all()
    assert loaded(management) == []
    assert len(kept) == 3
