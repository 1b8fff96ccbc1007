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
    pci: str | None = None
    """Its address on the bus, as ``0000:01:00.0``."""
    mig_slice: bool = False
    """A part of a card that is partitioned (MIG); the figures are those of the part."""
    unified: bool = False
    """Its memory is the system's RAM: never to be added to it."""
    total_bytes: int | None = None
    """As the driver states it: for showing."""
    torch_total_bytes: int | None = None
    """What programs can have of it, a little less: for budgets. 95.59 and 94.97 GiB on one card (ollama PR#18201)."""
    used_bytes: int | None = None
    """Everything that is not free."""
    free_bytes: int | None = None
    driver_bytes: int | None = None
    """Part of ``used_bytes`` that the driver keeps for itself; on an idle card all of it."""
    own_bytes: int | None = None
    """What this process holds: weights, activations, torch's cache, the context."""
    others_bytes: int | None = None
    """What other programs hold; never negative."""
    others_estimated: bool | None = None
    """``others_bytes`` is what the rest leaves over, since the driver does not say it per program."""
    torch_allocated_bytes: int | None = None
    torch_reserved_bytes: int | None = None
    dynamic_resident_bytes: int | None = None
    """Weights that dynamic VRAM holds on the device now."""
    evictable_bytes: int | None = None
    """Part of what this process holds that the next allocation can take (dynamic VRAM pages, idle models)."""
    spilled_bytes: int | None = None
    """Part of what this process holds that surely lies in RAM, since the card has less: only NVIDIA's driver for
    Windows does that. None elsewhere, and where it does not show.
    """
    programs: Sequence[Program] | None = None
    """Other programs, where the driver names them."""
    utilisation_percent: float | None = None
    temperature_celsius: float | None = None
    power_watts: float | None = None
    pcie_generation: int | None = None
    """The highest that card and slot can do: the one in use falls to 1 while the card idles."""
    pcie_width: int | None = None
    capability: tuple[int, int] | None = None
    """NVIDIA's compute capability."""
    bf16: bool | None = None
    driver: str | None = None
    """The driver's version."""
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
    family: str | None = None
    """Name in comfy.supported_models of a diffusion model: ``ZImage`` where ``class_name`` may say ``Lumina2``."""
    id: str | None = None
    """Names it to ``POST unload`` for as long as it is loaded."""


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
    start: Sequence[str] | None = None
    """The words before ``argv`` as they were given (sys.orig_argv): ``python``, ``-s``, ``main.py``."""
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
    models_on_rotating_disk: bool | None = None
    """The models folder lies on a hard disk that turns."""
    reads_memory_limit: bool | None = None
    """ComfyUI counts with the container's limit and not with the machine's RAM; None without a limit."""
    reasons: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class WorkflowModel:
    """What the open workflow will load, or what a person says that it will; from the files' headers."""

    kind: str
    """As ``LoadedModel.kind``; other files (``lora``) by what they are."""
    family: str | None = None
    size_bytes: int | None = None
    dtype: str | None = None
    """What most of it is stored in, in the file: fp16, bf16, fp32, fp8_e4m3, Q4_K, ..."""
    peak_low_bytes: int | None = None
    """Working memory beside its weights; None until the size of the pictures is known too."""
    peak_high_bytes: int | None = None
    gguf: bool = False
    fp8: bool = False
    scaled: bool | None = None
    """fp8 with scales, which ComfyUI keeps as it is whatever the dtype flags say."""


@dataclass(frozen=True)
class LastRun:
    """What the last run was measured to take."""

    peak_bytes: int | None = None
    """Most that torch had allocated; None under dynamic VRAM, whose pages it does not count."""
    streamed_bytes: int | None = None
    """Weights of the diffusion model that did not lie on the card at the end of a sampling: each step copied them."""
    spilled_bytes: int | None = None
    """What surely lay in system memory (NVIDIA's driver for Windows): torch had more than the card has."""
    ram_growth_bytes_per_run: int | None = None
    finished: bool | None = None
    """False where the process ended in the middle of it."""
    node: str | None = None
    """The node that ran when it ended."""
    ram_bytes: int | None = None
    """This process's RAM when that node began."""
    vram_bytes: int | None = None
    """What torch held on the GPU when that node began."""
    ended_at: float | None = None
    """Unix time of the last sign of it."""
    oom_kills_rose: bool | None = None
    finite_fp16_decode: bool | None = None
    """VAE Decode (Safe) has had a sound picture from a VAE in fp16 in this session; True or unknown."""
    error: str | None = None
    """Text of the error that it ended with."""


@dataclass(frozen=True)
class Fix:
    """One thing to do about a failure; rows of ``core/failure.py``."""

    id: str
    text: str
    """In English, without the expected effect: that is shown beside it."""
    expected_bytes: int | None = None
    """What it makes free, or takes off the peak; None where that cannot be computed."""
    params: Mapping[str, Any] = field(default_factory=dict)
    """The values in the text: sizes in bytes, flags as lists; for programs and translations."""


@dataclass(frozen=True)
class Failure:
    """The error that a run ended with, and the machine at that moment: just after it, models are unloaded."""

    kind: str
    """``out-of-memory``, ``nan``, ``other``."""
    at: float
    """Unix time."""
    node_id: str | None = None
    """As the user sees it on the canvas, also for a node inside an expanded one."""
    node_type: str | None = None
    message: str = ""
    """What the error said; where it is shown, without paths and keys."""
    memory: str | None = None
    """Which memory ran out: ``vram`` or ``ram``; None for another kind of error."""
    asked_bytes: int | None = None
    """What could not be had, by the error's own words."""
    free_bytes: int | None = None
    """What was free then: by the error's words, else as read."""
    devices: Sequence[Device] = ()
    """As read at that moment; empty where it was learnt of too late."""
    ram: Ram = field(default_factory=Ram)
    models: Sequence[LoadedModel] = ()
    running_seconds: float | None = None
    """How long the node had run."""
    fixes: Sequence[Fix] = ()
    """At most three, best first."""


@dataclass(frozen=True)
class RunningNode:
    """The node that runs at this moment."""

    id: str
    """As the user sees it on the canvas, also for a node inside an expanded one."""
    type: str


@dataclass(frozen=True)
class Snapshot:
    """Everything together, at one moment."""

    taken_at: float
    host: Host = field(default_factory=Host)
    devices: Sequence[Device] = ()
    """Those that ComfyUI uses, in its order."""
    unused_devices: Sequence[Device] = ()
    """Cards that the driver lists and ComfyUI does not use: ``--cpu``, CUDA_VISIBLE_DEVICES, a torch without CUDA."""
    ram: Ram = field(default_factory=Ram)
    models: Sequence[LoadedModel] = ()
    workflow_models: Sequence[WorkflowModel] | None = None
    """None until something reads the open workflow."""
    workflow_nodes: frozenset[str] | None = None
    """Class types in the open workflow: in that of the last run, until something reads the open one."""
    last_run: LastRun | None = None
    running_node: RunningNode | None = None
    """None too between two nodes, and on hosts before 0.18."""
    failure: Failure | None = None
    """What the last run failed with; until the next one begins, for an hour at most."""
    processes: int | None = None
    """Other ComfyUI processes on this machine."""
