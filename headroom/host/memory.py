"""Which models ComfyUI has loaded, unloading them, and what memory this process holds. One door for all nodes."""

from __future__ import annotations

import gc
import logging
from collections.abc import Iterable, Sequence
from typing import Any

import comfy.model_management as management
import torch

from ..core.freeing import DeviceMemory, Moment
from .own_memory import resident_bytes

EVERYTHING = 1e30
"""Bytes to free: more than any card has, as the host's own unload_all_models asks for."""


def is_of(entry: Any, patcher: Any) -> bool:
    """Whether a loaded model is this patcher's or a clone's; its weak reference may be dead."""
    return entry.model is not None and bool(entry.model.is_clone(patcher))


def evict(devices: Iterable[torch.device], keep: Sequence[Any] = ()) -> None:
    """Collects garbage, unloads all models on these devices but the patchers in ``keep``, and empties torch's cache.

    An explicit free_memory also evicts models under dynamic VRAM, which the host's load_models_gpu never does for
    another dynamic model (ComfyUI #15453).
    """
    gc.collect()
    for device in devices:
        kept = [entry for entry in management.current_loaded_models if any(is_of(entry, one) for one in keep)]
        management.free_memory(EVERYTHING, device, keep_loaded=kept)
    management.soft_empty_cache()


def unload(patcher: Any) -> None:
    """Unloads one model and its clones, wherever they are loaded, and nothing else.

    The host's own unload_model_and_clones (0.24.1 to 0.30.0) leaves alone what is not on its current device: a text
    encoder on the CPU, a model on the second card.
    """
    own = [entry for entry in management.current_loaded_models if is_of(entry, patcher)]
    keep = [entry for entry in management.current_loaded_models if not is_of(entry, patcher)]
    for device in dict.fromkeys(entry.device for entry in own):
        management.free_memory(EVERYTHING, device, keep_loaded=keep)


def unload_all() -> None:
    """Unloads every model; the host's unload_all_models leaves those on the CPU alone where there is a GPU."""
    for device in dict.fromkeys(entry.device for entry in management.current_loaded_models):
        management.free_memory(EVERYTHING, device)


def used_devices() -> tuple[torch.device, ...]:
    """The devices with memory of their own that this process has in use; a look at them starts no GPU context.

    A reading of a GPU without a context would make one, some 300 MiB large.
    """
    known = {entry.device for entry in management.current_loaded_models} | {management.get_torch_device()}
    return tuple(sorted((device for device in known if _is_in_use(device)), key=str))


def measured(devices: Iterable[torch.device], patchers: Iterable[Any] = ()) -> Moment:
    """Memory of this process now; ``patchers`` are those whose pages under dynamic VRAM are to be counted."""
    read, unreadable = [], []
    patchers = list(patchers)
    for device in devices:
        try:
            read.append(_device_memory(device, patchers))
        except Exception:
            logging.debug("Headroom: the memory of %s is unknown", device, exc_info=True)
            unreadable.append(str(device))
    return Moment(resident_bytes(), tuple(read), tuple(unreadable))


def _is_in_use(device: torch.device) -> bool:
    if device.type == "cpu":
        return False
    backend: Any = getattr(torch, device.type, None)
    started = getattr(backend, "is_initialized", None)
    if started is None:
        # No context to start: Apple's, and those that torch has no module for.
        return True
    return bool(started()) and (_is_current(device, backend) or backend.memory_reserved(device) > 0)


def _is_current(device: torch.device, backend: Any) -> bool:
    """torch's current device is the one that has a context as soon as there is any."""
    return device.index in {None, backend.current_device()}


def _device_memory(device: torch.device, patchers: Sequence[Any]) -> DeviceMemory:
    """Torch's own counts and the driver's free memory.

    Raises:
        Exception: of many kinds, where this kind of device does not tell (DirectML, and what torch has no module for).
    """
    if device.type == "mps":
        held, tensors = torch.mps.driver_allocated_memory(), torch.mps.current_allocated_memory()
        return DeviceMemory(str(device), tensors, max(0, held - tensors))
    backend = getattr(torch, device.type)
    tensors, held = int(backend.memory_allocated(device)), int(backend.memory_reserved(device))
    free = total = None
    if hasattr(backend, "mem_get_info"):
        free, total = map(int, backend.mem_get_info(device))
    pages = sum(_pages(patcher) for patcher in patchers if patcher.load_device == device)
    return DeviceMemory(str(device), tensors, held - tensors, pages, free, total)


def _pages(patcher: Any) -> int:
    """Resident pages of a model under dynamic VRAM; torch counts what lies outside of them."""
    if not patcher.is_dynamic():
        return 0
    return max(0, int(patcher.loaded_size()) - int(patcher.model.model_loaded_weight_memory))
