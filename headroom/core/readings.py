"""What was read of the machine and of the running ComfyUI: plain data, made by ``headroom/host``, judged by ``flags``.

None always means unknown, never zero; ``reasons`` says why, by field name. Sizes are bytes, times seconds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Program:
    """Another program that holds memory of a device."""

    name: str
    used_bytes: int | None
    pid: int | None = None


@dataclass(frozen=True)
class Device:
    """One GPU; also the CPU where ComfyUI has nothing else."""

    index: int
    """ComfyUI's and CUDA's order, which is not NVML's."""
    name: str
    kind: str
    """``cuda``, ``rocm``, ``xpu``, ``mps``, ``directml``, ``cpu``."""
    uuid: str | None = None
    unified: bool = False
    """Its memory is the system's RAM: never to be added to it."""
    total_bytes: int | None = None
    used_bytes: int | None = None
    free_bytes: int | None = None
    own_bytes: int | None = None
    """What this process holds: weights, activations, torch's cache, the context."""
    torch_allocated_bytes: int | None = None
    torch_reserved_bytes: int | None = None
    dynamic_resident_bytes: int | None = None
    """Weights that dynamic VRAM holds on the device now."""
    evictable_bytes: int | None = None
    """Part of what this process holds that the next allocation can take (dynamic VRAM pages, idle models)."""
    programs: Sequence[Program] | None = None
    """Other programs, where the driver names them."""
    utilisation_percent: float | None = None
    temperature_celsius: float | None = None
    power_watts: float | None = None
    pcie_generation: int | None = None
    pcie_width: int | None = None
    capability: tuple[int, int] | None = None
    """NVIDIA's compute capability."""
    bf16: bool | None = None
    reasons: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Ram:
    """The system's memory, under the limits of a container."""

    total_bytes: int | None = None
    """The smallest of the machine's RAM and every limit up the cgroup tree."""
    machine_bytes: int | None = None
    available_bytes: int | None = None
    own_bytes: int | None = None
    pinned_bytes: int | None = None
    file_cache_bytes: int | None = None
    limit_source: str | None = None
    """``cgroup v2``, ``cgroup v1``, None without a limit."""
    swap_total_bytes: int | None = None
    swap_used_bytes: int | None = None
    oom_kills: int | None = None
    """The kernel's counter since boot."""
    cpu_percent: float | None = None
    reasons: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class LoadedModel:
    """A model that ComfyUI keeps loaded."""

    name: str | None
    """File name without its folder, where the loader told it."""
    kind: str
    """``diffusion``, ``text encoder``, ``vae``, ``other``."""
    class_name: str
    dtype: str | None = None
    """What it is stored in: fp16, bf16, fp32, fp8, ..."""
    compute_dtype: str | None = None
    size_bytes: int | None = None
    resident_bytes: int | None = None
    """On its device now."""
    device: str | None = None
    dynamic: bool | None = None
    quantised: bool | None = None
    gguf: bool | None = None
    lora_patches: int | None = None


@dataclass(frozen=True)
class Host:
    """The running ComfyUI."""

    version: str | None = None
    argv: Sequence[str] = ()
    """As given, without the program; secrets and home folders are taken out where it is shown."""
    flags: frozenset[str] = frozenset()
    """The flags given, in full and without their values."""
    args: Mapping[str, Any] = field(default_factory=dict)
    """The parsed values by their names in comfy.cli_args.args."""
    known_flags: frozenset[str] | None = None
    """Every flag that this version's parser knows."""
    dynamic_vram: bool | None = None
    """Really active, from comfy.memory_management.aimdo_enabled."""
    dynamic_vram_reason: str | None = None
    """Why not, where it is off although nothing in argv turns it off."""
    vram_state: str | None = None
    attention: str | None = None
    cache: str | None = None
    reserved_bytes: int | None = None
    """What the host keeps free of weights (EXTRA_RESERVED_VRAM)."""
    streams: int | None = None
    platform: str | None = None
    """``windows``, ``linux``, ``wsl``, ``macos``."""
    versions: Mapping[str, str] = field(default_factory=dict)
    """torch, comfy-aimdo, xformers, rocm, cuda, python, as far as they are there."""
    running: bool | None = None
    """A prompt is being executed."""
    reasons: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class WorkflowModel:
    """What the open workflow will load."""

    kind: str
    family: str | None = None
    size_bytes: int | None = None
    peak_low_bytes: int | None = None
    peak_high_bytes: int | None = None
    gguf: bool = False
    fp8: bool = False


@dataclass(frozen=True)
class LastRun:
    """What the last run was measured to take."""

    peak_bytes: int | None = None
    streamed_bytes: int | None = None
    spilled_bytes: int | None = None
    ram_growth_bytes_per_run: int | None = None
    finished: bool | None = None
    """False where the process ended in the middle of it."""
    node: str | None = None
    """The node that ran when it ended."""
    ram_bytes: int | None = None
    oom_kills_rose: bool | None = None
    finite_fp16_decode: bool | None = None


@dataclass(frozen=True)
class Snapshot:
    """Everything together, at one moment."""

    taken_at: float
    host: Host = field(default_factory=Host)
    devices: Sequence[Device] = ()
    ram: Ram = field(default_factory=Ram)
    models: Sequence[LoadedModel] = ()
    workflow_models: Sequence[WorkflowModel] | None = None
    """None until something reads the open workflow."""
    workflow_nodes: frozenset[str] | None = None
    """Class types in the open workflow."""
    last_run: LastRun | None = None
    processes: int | None = None
    """Other ComfyUI processes on this machine."""
