"""The one place that puts all readings together. Several askers within half a second share one snapshot."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Mapping
from dataclasses import replace

from ..core.readings import Device, Host, Ram, Snapshot
from ..core.run import spilled
from . import recorder
from .comfy import read_host
from .devices import read_devices
from .loaded_models import Held, read_models
from .processes import Processes
from .ram import read_ram

KEEP_SECONDS = 0.5
FREEZE_SECONDS = 1.0
MIB = 2**20

_lock = threading.Lock()
_last: Snapshot | None = None
_taken_at = 0.0
_processes = Processes()


def take(fresh: bool = False) -> Snapshot:
    """Everything that can be read now; at most half a second old, or ``fresh``: read for this call.

    Takes some milliseconds, and up to two seconds where the NVIDIA driver hangs: never call it on the event loop.
    """
    global _last, _taken_at
    with _lock:
        if fresh or _last is None or time.monotonic() - _taken_at >= KEEP_SECONDS:
            _last = _read()
            _taken_at = time.monotonic()
        return _last


def freeze() -> Snapshot:
    """The machine at this very moment, for the record of a failure: never a shared reading, and soon there.

    While another thread reads it waits for that one, and then goes without the devices.
    """
    if not _lock.acquire(timeout=FREEZE_SECONDS):
        return Snapshot(time.time(), read_host(), ram=read_ram(), models=read_models(True)[0])
    try:
        return _machine()
    finally:
        _lock.release()


def _read() -> Snapshot:
    return replace(
        _machine(),
        workflow_nodes=recorder.workflow_nodes(),
        last_run=recorder.last_run(),
        running_node=recorder.running_node(),
        failure=recorder.failure(),
    )


def _machine() -> Snapshot:
    host, ram = read_host(), read_ram()
    models, held = read_models(host.running)
    devices, unused = read_devices(ram, {name: part.pages for name, part in held.items()})
    return Snapshot(
        taken_at=time.time(),
        host=replace(host, reads_memory_limit=_reads_limit(ram)),
        devices=tuple(_with_models(device, held, host) for device in devices),
        unused_devices=unused,
        ram=ram,
        models=models,
        processes=_processes.others(host.running),
    )


def _with_models(device: Device, held: Mapping[str, Held], host: Host) -> Device:
    """The device with what ComfyUI's models hold on it."""
    kind = "cuda" if device.kind == "rocm" else device.kind
    part = held.get(f"{kind}:{device.index}") or held.get(kind) or Held()
    dynamic = part.dynamic_resident if host.dynamic_vram else None
    return replace(
        device,
        dynamic_resident_bytes=dynamic,
        evictable_bytes=part.evictable,
        spilled_bytes=_spilled(device, dynamic) if sys.platform == "win32" and device.kind == "cuda" else None,
    )


def _spilled(device: Device, dynamic: int | None) -> int | None:
    """Pages of dynamic VRAM lie outside of what torch counts."""
    if device.torch_reserved_bytes is None:
        return None
    card = device.torch_total_bytes if device.torch_total_bytes is not None else device.total_bytes
    return spilled(device.torch_reserved_bytes + (dynamic or 0), card)


def _reads_limit(ram: Ram) -> bool | None:
    """Whether ComfyUI's own total of the RAM is the container's limit; None without a limit."""
    counted = getattr(sys.modules.get("comfy.model_management"), "total_ram", None)
    if ram.limit_source is None or ram.total_bytes is None or counted is None:
        return None
    return bool(counted * MIB <= ram.total_bytes * 1.01)
