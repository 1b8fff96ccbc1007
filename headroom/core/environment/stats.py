"""A ComfyUI without Headroom, by what its own ``/system_stats`` answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..flags.parsing import read
from ..flags.versions import table_for
from ..readings import Device, Host, Ram, Snapshot
from .readings import ComfyUI, Environment, Machine, Package, Python
from .requirements import Requirement, normal

_PLATFORMS = {"win32": "windows", "linux": "linux", "darwin": "macos"}


def environment_of(stats: Mapping[str, Any]) -> Environment:
    """What it says of its Python and of the packages that ComfyUI asks for."""
    system = _part(stats, "system")
    listed = [one for one in _list(system, "comfy_package_versions") if isinstance(one, Mapping) and one.get("name")]
    packages = [Package(normal(str(one["name"])), str(one["installed"])) for one in listed if one.get("installed")]
    torch = _text(system, "pytorch_version")
    asked = [Requirement(normal(str(one["name"])), f"=={one['required']}") for one in listed if one.get("required")]
    return Environment(
        python=Python(
            (_text(system, "python_version") or "").partition(" ")[0],
            "embedded" if system.get("embedded_python") is True else "system",
        ),
        machine=Machine(_PLATFORMS.get(_text(system, "os") or "", "")),
        packages=(*packages, *([Package("torch", torch)] if torch else [])),
        comfyui=ComfyUI("", _text(system, "comfyui_version"), "running", tuple(asked)),
    )


def snapshot_of(stats: Mapping[str, Any], taken_at: float) -> Snapshot:
    """What it says of its start line and of the machine; the flags are read with the table of its version."""
    system = _part(stats, "system")
    version, torch = _text(system, "comfyui_version"), _text(system, "pytorch_version")
    argv = tuple(str(word) for word in _list(system, "argv")[1:])
    table = table_for(version)
    reading = read(argv, table)
    host = Host(
        version=version,
        argv=argv,
        flags=reading.flags,
        args=reading.args,
        known_flags=table.flags,
        platform=_PLATFORMS.get(_text(system, "os") or ""),
        versions={"torch": torch} if torch else {},
    )
    total = _size(system, "ram_total")
    ram = Ram(total_bytes=total, machine_bytes=total, available_bytes=_size(system, "ram_free"))
    listed = [one for one in _list(stats, "devices") if isinstance(one, Mapping)]
    devices = tuple(_device(place, one, torch or "") for place, one in enumerate(listed))
    return Snapshot(taken_at=taken_at, host=host, devices=devices, ram=ram)


def _device(place: int, found: Mapping[str, Any], torch: str) -> Device:
    """ComfyUI's name is ``cuda:0 NVIDIA GeForce RTX 4090 : cudaMallocAsync``."""
    kind, index = _text(found, "type") or "", found.get("index")
    name = (_text(found, "name") or kind).partition(" : ")[0]
    return Device(
        index=index if isinstance(index, int) else place,
        name=name.partition(" ")[2] if name.startswith(f"{kind}:") else name,
        kind="rocm" if kind == "cuda" and ("rocm" in torch or "hip" in torch) else kind,
        unified=kind in {"cpu", "mps"},
        total_bytes=_size(found, "vram_total"),
        free_bytes=_size(found, "vram_free"),
        torch_reserved_bytes=_size(found, "torch_vram_total"),
    )


def _part(value: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    found = value.get(name)
    return found if isinstance(found, Mapping) else {}


def _list(value: Mapping[str, Any], name: str) -> Sequence[Any]:
    found = value.get(name)
    return found if isinstance(found, list) else []


def _text(value: Mapping[str, Any], name: str) -> str | None:
    found = value.get(name)
    return found if isinstance(found, str) else None


def _size(value: Mapping[str, Any], name: str) -> int | None:
    found = value.get(name)
    return int(found) if isinstance(found, int | float) and not isinstance(found, bool) else None
