"""What torch says of the devices that ComfyUI uses, of every make. Opens nothing: a GPU without a context gets none.

A question such as ``torch.cuda.mem_get_info`` makes a context of 100 to 500 MiB on a card that had none, for good.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from ...core.device_memory import believable_free

T = TypeVar("T")

NOT_OPENED = "torch has not opened this device yet"
NO_CONTEXT = "this process has nothing on this device yet, and a look would take memory of it"
WHOLE_FREE = "torch says that all of it is free while it holds some (ROCm on Windows)"
DIRECTML = "DirectML does not tell; ComfyUI itself assumes 1 GiB"
XPU_OWN = "Intel's runtime does not tell what other programs hold in this version of torch"
NOT_TOLD = "this version of torch does not tell"


@dataclass(frozen=True)
class TorchDevice:
    """One device; sizes in bytes, None where torch does not say, ``reasons`` by the names of ``readings.Device``."""

    index: int
    kind: str
    name: str | None = None
    uuid: str | None = None
    pci: str | None = None
    integrated: bool | None = None
    """It has no memory of its own."""
    total: int | None = None
    allocated: int | None = None
    reserved: int | None = None
    capability: tuple[int, int] | None = None
    bf16: bool | None = None
    opened: bool = True
    """This process can hold something on it."""
    reasons: Mapping[str, str] = field(default_factory=dict)


def read_torch_devices() -> tuple[TorchDevice, ...]:
    """Every device that ComfyUI uses, or torch where there is no ComfyUI; empty without torch."""
    try:
        import torch
    except Exception:
        return ()
    return tuple(_read(torch, device, place) for place, device in enumerate(_devices(torch)))


def free_memory(found: TorchDevice) -> tuple[int | None, str | None]:
    """The free memory of the whole device by torch's word, and why it is not known; only where nothing better tells."""
    import torch

    backend: Any = getattr(torch, "cuda" if found.kind == "rocm" else found.kind, None)
    reserved = found.reserved
    if reserved is None or backend is None:
        return None, found.reasons.get("free_bytes")
    if not hasattr(backend, "mem_get_info"):
        return None, XPU_OWN if found.kind == "xpu" else NOT_TOLD
    try:
        if not _has_context(torch, backend, found.index, reserved):
            return None, NO_CONTEXT
        free, whole = map(int, backend.mem_get_info(found.index))
    except Exception as error:
        return None, f"torch: {error}".splitlines()[0]
    if not believable_free(free, whole, reserved):
        return None, WHOLE_FREE
    if found.kind == "xpu" and free == whole - reserved:
        # As ComfyUI counts: others are left out (ComfyUI #15323, 9956 MB "usable" and a hang).
        return None, XPU_OWN
    return free, None


def _devices(torch: Any) -> Sequence[Any]:
    management = sys.modules.get("comfy.model_management")
    if management is not None:
        every: Callable[[], Sequence[Any]] | None = getattr(management, "get_all_torch_devices", None)
        return (list(every()) if every is not None else []) or [management.get_torch_device()]
    if torch.cuda.is_available():
        return [torch.device("cuda", index) for index in range(torch.cuda.device_count())]
    if hasattr(torch, "xpu") and torch.xpu.is_available():
        return [torch.device("xpu", index) for index in range(torch.xpu.device_count())]
    return [torch.device("mps" if torch.backends.mps.is_available() else "cpu")]


def _read(torch: Any, device: Any, place: int) -> TorchDevice:
    index = place if device.index is None else device.index
    if device.type == "cpu":
        return TorchDevice(index, "cpu", integrated=True, bf16=_bf16(device))
    if device.type == "mps":
        return TorchDevice(
            index,
            "mps",
            name="Apple GPU",
            integrated=True,
            total=_try(torch.mps.recommended_max_memory),
            allocated=_try(torch.mps.current_allocated_memory),
            reserved=_try(torch.mps.driver_allocated_memory),
            bf16=_bf16(device),
        )
    backend = getattr(torch, device.type, None)
    if backend is None or not hasattr(backend, "memory_stats"):
        directml = bool(getattr(sys.modules.get("comfy.model_management"), "directml_enabled", False))
        why = DIRECTML if directml else f"torch has no memory figures for {device.type}"
        return TorchDevice(index, "directml" if directml else device.type, reasons=_unknown(why))
    kind = "rocm" if device.type == "cuda" and torch.version.hip else device.type
    if not _try(backend.is_initialized):
        return TorchDevice(index, kind, opened=False, reasons=_unknown(NOT_OPENED))
    return _opened(backend, device, index, kind)


def _opened(backend: Any, device: Any, index: int, kind: str) -> TorchDevice:
    properties: Any = _try(lambda: backend.get_device_properties(index))
    stats: Mapping[str, int] | None = _try(lambda: backend.memory_stats(index))
    return TorchDevice(
        index=index,
        kind=kind,
        name=getattr(properties, "name", None),
        uuid=_try(lambda: str(properties.uuid)),
        pci=_try(
            lambda: f"{properties.pci_domain_id:04x}:{properties.pci_bus_id:02x}:{properties.pci_device_id:02x}.0"
        ),
        integrated=_try(lambda: bool(properties.is_integrated)),
        total=getattr(properties, "total_memory", None),
        allocated=_count(stats, "allocated_bytes.all.current"),
        reserved=_count(stats, "reserved_bytes.all.current"),
        capability=_try(lambda: (properties.major, properties.minor)) if kind == "cuda" else None,
        bf16=_bf16(device),
    )


def _count(stats: Mapping[str, int] | None, name: str) -> int | None:
    """Torch has no entry at all for a device that has had no tensor yet."""
    return None if stats is None else int(stats.get(name, 0))


def _has_context(torch: Any, backend: Any, index: int, reserved: int) -> bool:
    if backend is torch.cuda:
        known = getattr(torch._C, "_cuda_hasPrimaryContext", None)
        if known is not None:
            return bool(known(index))
    return reserved > 0 or backend.current_device() == index


def _bf16(device: Any) -> bool | None:
    """As ComfyUI decides it, with what the user's flags say."""
    management: Any = sys.modules.get("comfy.model_management")
    return None if management is None else _try(lambda: bool(management.should_use_bf16(device)))


def _unknown(reason: str) -> dict[str, str]:
    return dict.fromkeys(("total_bytes", "free_bytes", "torch_allocated_bytes", "torch_reserved_bytes"), reason)


def _try(read: Callable[[], T]) -> T | None:
    try:
        return read()
    except Exception:
        return None
