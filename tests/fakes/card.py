"""A CUDA card that ComfyUI's real memory management works on, without one: torch.cuda is played, the models are hollow.

Only what the host's free_memory, get_free_memory and soft_empty_cache (0.30.0) and our readings ask for. It shows that
the right calls are made in the right order with the right sums; it shows nothing about a driver.
"""

from __future__ import annotations

import weakref
from typing import Any

import comfy.model_management as management
import comfy.model_patcher
import pytest
import torch

GIB = 2**30
CPU = torch.device("cpu")


class Card:
    """One card, or two; what lies on the first, in bytes."""

    def __init__(self, total: int = 24 * GIB, others: int = 2 * GIB) -> None:
        self.total, self.others = total, others
        self.device = torch.device("cuda", 0)
        self.tensors: dict[Any, int] = {}
        """Torch tensors by who holds them."""
        self.pages: dict[Any, int] = {}
        """Weights under dynamic VRAM, which torch does not count."""
        self.cache = 0
        self.fragments = 0
        """Cache that cannot be given back."""
        self.started = True
        self.calls: list[str] = []

    @property
    def allocated(self) -> int:
        return sum(self.tensors.values())

    @property
    def reserved(self) -> int:
        return self.allocated + self.cache + self.fragments

    def free(self) -> int:
        return self.total - self.others - self.reserved - sum(self.pages.values())

    def released(self, holder: Any) -> None:
        """Tensors that are let go of stay in torch's cache."""
        self.cache += self.tensors.pop(holder, 0)
        self.pages.pop(holder, None)

    def play(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Puts the card in the place of torch.cuda, and an empty list of models into the host."""

        def first(device: Any = None) -> None:
            assert self.started, "a reading of a card without a context makes one"
            assert torch.device(device or 0).index in {None, 0}, f"{device} has no context"

        def counted(value: Any) -> Any:
            def read(device: Any = None) -> Any:
                first(device)
                return value()

            return read

        def mem_get_info(device: Any = None) -> tuple[int, int]:
            first(device)
            self.calls.append("mem_get_info")
            return self.free(), self.total

        def empty_cache() -> None:
            self.calls.append("empty_cache")
            self.cache = 0

        stats = {
            "active_bytes.all.current": lambda: self.allocated,
            "reserved_bytes.all.current": lambda: self.reserved,
        }
        for name, value in {
            "is_available": lambda: True,
            "is_initialized": lambda: self.started,
            "current_device": lambda: 0,
            # Both counts come from torch's allocator alone and start no context.
            "memory_allocated": lambda device=None: self.allocated if torch.device(device or 0).index == 0 else 0,
            "memory_reserved": lambda device=None: self.reserved if torch.device(device or 0).index == 0 else 0,
            "memory_stats": counted(lambda: {stat: read() for stat, read in stats.items()}),
            "mem_get_info": mem_get_info,
            "synchronize": lambda *_: None,
            "ipc_collect": lambda: None,
            "empty_cache": empty_cache,
        }.items():
            monkeypatch.setattr(torch.cuda, name, value)
        monkeypatch.setattr(management, "cpu_state", management.CPUState.GPU)
        monkeypatch.setattr(management, "get_torch_device", lambda: self.device)
        monkeypatch.setattr(management, "current_loaded_models", [])


class HollowPatcher(comfy.model_patcher.ModelPatcher):
    """A model patcher whose weights are only counted; clones share the model and with it the count."""

    def is_dynamic(self) -> bool:
        return self.model.dynamic

    def model_size(self) -> int:
        return self.model.bytes

    def loaded_size(self) -> int:
        card = self.model.card
        on_card = card.pages if self.is_dynamic() else card.tensors
        return self.model.bytes if self.load_device == CPU else on_card.get(id(self.model), 0)

    def pinned_memory_size(self) -> int:
        return self.model.pinned_bytes

    def partially_unload(self, device_to: Any, memory_to_free: int = 0, force_patch_weights: bool = False) -> int:
        return 0

    def detach(self, unpatch_all: bool = True) -> Any:
        if unpatch_all and self.offload_device != self.load_device:
            self.model.card.released(id(self.model))


def load(
    card: Card, name: str, size: int, *, device: torch.device | None = None, dynamic: bool = False
) -> HollowPatcher:
    """A model of class ``name`` that the host lists as loaded, newest first."""
    model = type(name, (torch.nn.Module,), {})()
    model.card, model.bytes, model.dynamic, model.pinned_bytes = card, size, dynamic, 0
    patcher = HollowPatcher(model, device or card.device, CPU)
    if patcher.load_device != CPU:
        (card.pages if dynamic else card.tensors)[id(model)] = size
    entry = management.LoadedModel(patcher)
    entry.real_model = weakref.ref(model)
    entry.model_finalizer = weakref.finalize(model, management.cleanup_models)  # as LoadedModel.model_load does
    weakref.finalize(model, card.released, id(model))
    management.current_loaded_models.insert(0, entry)
    return patcher
