"""What was read, in a few lines: below the findings, for the person who wants to see for themselves."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ..core.environment.readings import Environment
from ..core.units import size

PACKAGES = ("numpy", "comfy-aimdo", "comfy-kitchen", "comfyui-frontend-package", "nvidia-ml-py", "xformers")


def facts(environment: Environment, snapshot: Mapping[str, Any]) -> list[str]:
    """The lines; nothing is said about what is unknown."""
    return [*_programs(environment, snapshot), *_cards(environment, snapshot), *_memory(environment, snapshot)]


def _programs(environment: Environment, snapshot: Mapping[str, Any]) -> Iterator[str]:
    python, torch, comfyui = environment.python, environment.torch, environment.comfyui
    place = "in a container" if environment.machine.container else ""
    yield " ".join(filter(None, ("System:", environment.machine.platform or "unknown", place)))
    yield f"Python: {python.version} ({python.kind}, {python.bits} bit)"
    version = torch.version or environment.version("torch")
    if version is not None:
        built = torch.built_for and f", built for {torch.built_for}"
        sees = {True: ", sees a GPU", False: ", sees no GPU", None: ""}[torch.sees_gpu]
        yield f"torch: {version}{built or ''}{sees}"
    if comfyui is not None:
        yield f"ComfyUI: {comfyui.version or 'of unknown version'} ({comfyui.origin})"
    flags = _part(snapshot, "host").get("argv")
    if flags:
        yield f"Started with: {' '.join(map(str, flags))}"
    known = [f"{name} {found}" for name in PACKAGES if (found := environment.version(name)) is not None]
    if known:
        yield f"Packages: {', '.join(known)}"
    yield from (f"{name}={value}" for name, value in environment.machine.variables.items())


def _cards(environment: Environment, snapshot: Mapping[str, Any]) -> Iterator[str]:
    driver = environment.driver
    if driver.works:
        cuda = "" if driver.cuda is None else f", runs CUDA up to {driver.cuda[0]}.{driver.cuda[1]}"
        yield f"NVIDIA driver: {driver.version or 'of unknown version'}{cuda}"
    elif environment.machine.platform:
        silent = "none" if driver.code is None else f"error {driver.code}"
        yield f"NVIDIA driver: {driver.reason or silent}"
    listed = [*_list(snapshot, "devices"), *_list(snapshot, "unused_devices")]
    gpus = [one for one in listed if isinstance(one, Mapping) and one.get("kind") != "cpu"]
    for one in gpus:
        total, free = _bytes(one, "total_bytes"), _bytes(one, "free_bytes")
        space = "" if total is None else f", {size(total)}, {size(free)} free"
        yield f"GPU {one.get('index')}: {one.get('name')}{space}"
    if not gpus:
        yield from (f"GPU {index}: {card.name or 'without a name'}" for index, card in enumerate(driver.cards))


def _memory(environment: Environment, snapshot: Mapping[str, Any]) -> Iterator[str]:
    ram = _part(snapshot, "ram")
    total, machine = _bytes(ram, "total_bytes"), _bytes(ram, "machine_bytes")
    if total is not None:
        limit = f", limited by {ram.get('limit_source')} (the machine has {size(machine)})"
        yield f"RAM: {size(total)}, {size(_bytes(ram, 'available_bytes'))} available" + (
            limit if ram.get("limit_source") else ""
        )
    swap = _bytes(ram, "swap_total_bytes")
    if swap is not None:
        yield f"Swap: {size(swap)}, {size(_bytes(ram, 'swap_used_bytes'))} used" if swap else "Swap: none"
    for disk in environment.machine.disks:
        yield f"Disk of {disk.folder}: {size(disk.free_bytes)} of {size(disk.total_bytes)} free"
    for one in environment.machine.running or ():
        yield f"Running: ComfyUI {one.version or 'of unknown version'} on port {one.port} (process {one.pid})"


def _part(value: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    found = value.get(name)
    return found if isinstance(found, Mapping) else {}


def _list(value: Mapping[str, Any], name: str) -> list[Any]:
    found = value.get(name)
    return found if isinstance(found, list) else []


def _bytes(value: Mapping[str, Any], name: str) -> int | None:
    found = value.get(name)
    return found if isinstance(found, int) else None
