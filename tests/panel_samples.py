"""Snapshots of machines that this one is not, for the panel's tests: what the server would answer there."""

from __future__ import annotations

import copy
import itertools
from typing import Any

GIB = 2**30
NO_CARD_FIELDS = {
    **dict.fromkeys(("uuid", "pci", "driver_bytes", "own_bytes", "others_bytes", "programs", "driver")),
    **dict.fromkeys(("torch_allocated_bytes", "torch_reserved_bytes", "dynamic_resident_bytes", "evictable_bytes")),
    "spilled_bytes": None,
    **dict.fromkeys(("utilisation_percent", "temperature_celsius", "power_watts", "pcie_generation", "pcie_width")),
    **dict.fromkeys(("free_bytes", "used_bytes", "total_bytes")),
}


#: Part of every card's identity; another one in each test, since a page remembers the peaks of the cards it saw.
series = itertools.count()
_now = {"series": 0}


def next_series() -> None:
    """Other cards from now on."""
    _now["series"] = next(series)


def gib(size: float) -> int:
    return round(size * GIB)


def card(index: int = 0, name: str = "NVIDIA GeForce RTX 4080", **fields: Any) -> dict[str, Any]:
    """A GPU; sizes in GiB by the field's name without ``_bytes``."""
    sizes = {f"{key}_bytes": None if value is None else gib(value) for key, value in fields.pop("sizes", {}).items()}
    base = {"index": index, "name": name, "kind": "cuda", "unified": False, "mig_slice": False, "reasons": {}}
    return {**base, **NO_CARD_FIELDS, "uuid": f"GPU-{_now['series']}-{index}", **sizes, **fields}


def rtx4080(**more: Any) -> dict[str, Any]:
    """16 GiB: 0.9 held, 15.1 available, of which 8.4 evictable, 5.5 torch's cache and 1.2 free."""
    sizes = {"total": 16, "free": 1.2, "used": 14.8, "own": 14.1, "others": 0.3}
    sizes |= {"torch_allocated": 0.2, "torch_reserved": 5.7, "evictable": 8.4}
    fields: dict[str, Any] = {"utilisation_percent": 0, "temperature_celsius": 52, "driver": "580.82", "programs": []}
    return card(sizes=sizes, **{**fields, **more})


def rtx3060() -> dict[str, Any]:
    """12 GiB, nearly all of it to be had."""
    sizes = {"total": 12, "free": 5.1, "used": 6.9, "own": 6.5, "others": 0.4}
    sizes |= {"torch_allocated": 0, "torch_reserved": 0.1, "evictable": 6.3}
    return card(1, "NVIDIA GeForce RTX 3060", sizes=sizes, utilisation_percent=0, temperature_celsius=41, programs=[])


def loaded(name: str, kind: str, size: float, resident: float, device: str = "cuda:0", **more: Any) -> dict[str, Any]:
    """A loaded model; sizes in GiB."""
    base = {"name": name, "kind": kind, "class_name": "WAN21", "dtype": "fp8", "device": device, "dynamic": True}
    sizes = {"size_bytes": gib(size), "resident_bytes": gib(resident)}
    return {**base, **sizes, "lora_patches": 0, "gguf": False, "id": name, **more}


WAN = (
    loaded("wan2.2_t2v_low_noise_14B_fp8_scaled.safetensors", "diffusion", 13.3, 6.4),
    loaded("umt5_xxl_fp8_e4m3fn_scaled.safetensors", "text encoder", 6.3, 6.3, "cuda:1"),
    loaded("wan_2.1_vae.safetensors", "vae", 0.2, 2.2, dtype="bf16", size_bytes=gib(2.2)),
)
RAM = {
    **{"total_bytes": gib(56), "machine_bytes": gib(62.6), "available_bytes": gib(27.5), "own_bytes": gib(27.6)},
    **{"file_cache_bytes": gib(17.8), "pinned_bytes": gib(13.3), "limit_source": "cgroup v2", "cpu_percent": 3},
    **{"swap_total_bytes": gib(8), "swap_used_bytes": gib(0.4), "oom_kills": 0, "reasons": {}},
}


def machine(real: dict[str, Any], *devices: dict[str, Any], **parts: Any) -> dict[str, Any]:
    """The server's own snapshot as it would be on a machine with these GPUs."""
    found = copy.deepcopy(real)
    found["host"] |= {"flags": ["--listen"], "argv": ["--listen"], "dynamic_vram": True, **parts.pop("host", {})}
    found["host"]["versions"]["comfy-aimdo"] = "0.4.11"
    models = list(WAN) if len(devices) > 1 else [model for model in WAN if model["device"] == "cuda:0"]
    base = {"devices": list(devices), "unused_devices": [], "ram": dict(RAM), "models": models, "advice": []}
    return {**found, "last_run": None, "failure": None, "running_node": None, **base, **parts}
