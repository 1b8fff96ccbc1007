"""GPUs as torch shows them, on a machine without any: only what the readings ask for, and what they must never ask."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import pytest
import torch


@dataclass(frozen=True)
class TorchCard:
    """What torch says of one card; sizes in bytes."""

    name: str
    total: int
    uuid: str | None = None
    bus: int | None = None
    free: int | None = None
    """What ``mem_get_info`` says; None: it must not be asked."""
    allocated: int = 0
    reserved: int = 0
    context: bool = True
    integrated: bool = False
    capability: tuple[int, int] = (8, 9)

    @property
    def properties(self) -> Any:
        known = {"name": self.name, "total_memory": self.total, "is_integrated": self.integrated}
        known |= {"major": self.capability[0], "minor": self.capability[1]}
        if self.uuid is not None:
            known["uuid"] = self.uuid
        if self.bus is not None:
            known |= {"pci_domain_id": 0, "pci_bus_id": self.bus, "pci_device_id": 0}
        return SimpleNamespace(**known)


def play(
    monkeypatch: pytest.MonkeyPatch,
    cards: Sequence[TorchCard],
    kind: str = "cuda",
    opened: bool = True,
    hip: str | None = None,
    tells_free: bool = True,
) -> None:
    """The host has these cards, in torch's order."""
    import comfy.model_management as management

    def of(index: Any) -> TorchCard:
        assert opened, "a question that opens the GPU"
        return cards[torch.device(index).index if isinstance(index, str | torch.device) else index]

    def mem_get_info(index: Any) -> tuple[int, int]:
        card = of(index)
        assert card.free is not None, f"the free memory of {card.name} must not be asked for"
        assert card.context, "a question that takes memory of a GPU without a context"
        return card.free, card.total

    def memory_stats(index: Any) -> dict[str, int]:
        card = of(index)
        if not card.reserved:
            return {}
        return {"allocated_bytes.all.current": card.allocated, "reserved_bytes.all.current": card.reserved}

    backend = torch.cuda if kind == "cuda" else torch.xpu
    played = {
        "is_available": lambda: True,
        "is_initialized": lambda: opened,
        "device_count": lambda: len(cards),
        "current_device": lambda: 0,
        "get_device_properties": lambda index: of(index).properties,
        "memory_stats": memory_stats,
        "mem_get_info": mem_get_info,
    }
    for name, function in played.items():
        monkeypatch.setattr(backend, name, function)
    if not tells_free:
        monkeypatch.delattr(backend, "mem_get_info")
    monkeypatch.setattr(torch.version, "hip", hip)
    monkeypatch.setattr(torch._C, "_cuda_hasPrimaryContext", lambda index: of(index).context)
    devices = [torch.device(kind, index) for index in range(len(cards))]
    monkeypatch.setattr(management, "get_all_torch_devices", lambda: devices)
    monkeypatch.setattr(management, "should_use_bf16", lambda device: of(device).capability >= (8, 0))
