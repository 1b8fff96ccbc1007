"""A snapshot of a machine that is only stated: what the rules say about a line before ComfyUI runs."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from ..flags.advice import Advice
from ..flags.parsing import Reading
from ..flags.versions import Table, parse_version
from ..flags.view import STATIC_FLAGS
from ..readings import Device, Host, Ram, Snapshot, WorkflowModel
from ..units import GIB
from .check import finding
from .line import LaunchLine

_SIZE = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([kmgt]?)(?:i?b)?\s*\Z", re.IGNORECASE)
_FACTOR = {"": 1, "k": 2**10, "m": 2**20, "g": 2**30, "t": 2**40}
_AMD = re.compile(r"\b(?:AMD|Radeon|RX \d{4}|gfx\d+)\b", re.IGNORECASE)
_INTEL = re.compile(r"\b(?:Intel|Arc)\b", re.IGNORECASE)
#: NVIDIA's compute capability by the generation in a card's name (developer.nvidia.com/cuda-gpus).
_GENERATIONS = (
    (re.compile(r"GTX 9\d\d\b"), (5, 2)),
    (re.compile(r"GTX 10\d\d\b"), (6, 1)),
    (re.compile(r"GTX 16\d\d\b|RTX 20\d\d\b|TITAN RTX"), (7, 5)),
    (re.compile(r"RTX 30\d\d\b|RTX A\d{4}\b"), (8, 6)),
    (re.compile(r"RTX 40\d\d\b|RTX \d000 Ada"), (8, 9)),
    (re.compile(r"RTX 50\d\d\b|RTX PRO \d000"), (12, 0)),
)
_APPLE = re.compile(r"\b(?:Apple|M[1-9])\b")


@dataclass(frozen=True)
class Machine:
    """What the person says about the machine; None where nothing was said."""

    vram_bytes: int | None = None
    ram_bytes: int | None = None
    gpu: str | None = None
    models: Sequence[WorkflowModel] = ()
    sized: bool = False
    """The size of the pictures was stated."""

    @property
    def kind(self) -> str:
        """The kind of card by its name; NVIDIA where none is named."""
        name = self.gpu or ""
        if _AMD.search(name):
            return "rocm"
        return "xpu" if _INTEL.search(name) else "mps" if _APPLE.search(name) else "cuda"


def size_of_limit(text: str, ram_bytes: int | None = None) -> int | None:
    """``24g``, ``24G``, ``25769803776``, ``80%`` of the RAM, as docker and systemd mean it; None where unknown."""
    if text.strip().endswith("%"):
        share = float(text.strip()[:-1] or 0) / 100
        return None if ram_bytes is None else int(ram_bytes * share)
    found = _SIZE.match(text)
    return int(float(found[1]) * _FACTOR[found[2].lower()]) if found else None


def snapshot_of(line: LaunchLine, reading: Reading, table: Table, machine: Machine) -> Snapshot:
    """What ComfyUI would be, started so on that machine. Dynamic VRAM is inferred from the flags and the card."""
    limit = size_of_limit(line.memory_limit, machine.ram_bytes) if line.memory_limit else None
    sizes = [size for size in (machine.ram_bytes, limit) if size is not None]
    dynamic = expects_dynamic(reading, machine)
    host = Host(
        version=table.version or None,
        argv=tuple(line.argv),
        flags=reading.flags,
        args=reading.args,
        known_flags=table.flags,
        dynamic_vram=dynamic,
        platform="windows" if line.windows and line.kind not in {"docker", "compose"} else "linux",
        reads_memory_limit=_reads_limit(table) if limit is not None else None,
    )
    ram = Ram(
        total_bytes=min(sizes) if sizes else None,
        machine_bytes=machine.ram_bytes,
        limit_source="stated" if limit is not None else None,
    )
    return Snapshot(
        taken_at=0.0, host=host, devices=_devices(machine, reading), ram=ram, workflow_models=tuple(machine.models)
    )


def expects_dynamic(reading: Reading, machine: Machine) -> bool:
    """Whether dynamic VRAM would be tried and, with torch 2.8 or newer on Linux or Windows, be there."""
    if reading.flags & {"--cpu", "--directml"}:
        return False
    if "--enable-dynamic-vram" in reading.flags:
        return machine.kind in {"cuda", "rocm"}
    return has_dynamic(machine) and not reading.flags.intersection(STATIC_FLAGS)


def has_dynamic(machine: Machine) -> bool:
    """Whether dynamic VRAM is on by itself on such a card: on NVIDIA's (main.py 0.30.0)."""
    return machine.kind == "cuda"


def _reads_limit(table: Table) -> bool | None:
    """ComfyUI up to 0.30.0 asks psutil, which sees the machine (PR#15927 came later)."""
    version = parse_version(table.version)
    return False if version is not None and version <= (0, 30, 0) else None


def _devices(machine: Machine, reading: Reading) -> tuple[Device, ...]:
    if "--cpu" in reading.flags:
        return (Device(0, "CPU", "cpu"),)
    if machine.vram_bytes is None and machine.gpu is None:
        return ()
    kind = "directml" if "--directml" in reading.flags else machine.kind
    name = machine.gpu or "the card"
    known = (capability for pattern, capability in _GENERATIONS if kind == "cuda" and pattern.search(name))
    capability = next(known, None)
    return (Device(0, name, kind, total_bytes=machine.vram_bytes, unified=kind == "mps", capability=capability),)


def limit_finding(line: LaunchLine, machine: Machine) -> Advice | None:
    """A memory limit of the unit or the container below what the models need."""
    limit = size_of_limit(line.memory_limit, machine.ram_bytes) if line.memory_limit else None
    need = sum(model.size_bytes or 0 for model in machine.models)
    if limit is None or not need or limit >= need + GIB:
        return None
    params = {"name": line.memory_limit_name, "limit_bytes": limit, "need_bytes": need}
    return finding(line, "memory-limit-low", params).advice


def assumptions(line: LaunchLine, table: Table, machine: Machine) -> list[str]:
    """What was taken for granted, in words."""
    found: list[str] = []
    if machine.gpu is None and "--cpu" not in line.argv:
        found.append("an NVIDIA card, and torch 2.8 or newer")
    if not table.exact:
        found.append(f"the flags of the version read that is nearest to {table.version}")
    if machine.models and not any(model.peak_high_bytes for model in machine.models):
        why = "no `--size` is given" if not machine.sized else "a size alone does not tell what a model does with it"
        found.append(f"a run that takes little beside its weights, as {why}")
    if line.unknown:
        found.append("nothing about " + ", ".join(f"`{word.value}`" for word in line.unknown))
    return found
