"""For every rule one snapshot that must bring it and one, hardly different, that must not."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from headroom.core.flags.parsing import read
from headroom.core.flags.versions import table_for
from headroom.core.readings import Device, Failure, Host, LastRun, LoadedModel, Program, Ram, Snapshot, WorkflowModel

GIB = 2**30
MIB = 2**20
GB = 10**9

RTX_4080 = Device(
    index=0,
    name="NVIDIA GeForce RTX 4080",
    kind="cuda",
    total_bytes=16 * GIB,
    free_bytes=15 * GIB,
    pcie_generation=4,
    pcie_width=16,
    capability=(8, 9),
    bf16=True,
)
RTX_3060 = replace(RTX_4080, name="NVIDIA GeForce RTX 3060", total_bytes=12 * GIB, capability=(8, 6))
RTX_2060 = replace(RTX_4080, name="NVIDIA GeForce RTX 2060", total_bytes=6 * GIB, capability=(7, 5), bf16=False)
GTX_1660 = replace(RTX_2060, name="NVIDIA GeForce GTX 1660 SUPER")
RX_7900 = replace(RTX_4080, name="AMD Radeon RX 7900 XTX", kind="rocm", total_bytes=24 * GIB, capability=None)
SPARK = replace(RTX_4080, name="NVIDIA GB10", total_bytes=124 * GIB, unified=True)

WAN = LoadedModel("wan2.2_14b_fp8.safetensors", "diffusion", "WAN21", "fp8", size_bytes=int(16.1 * GB), dynamic=True)
SDXL = LoadedModel("sd_xl_base.safetensors", "diffusion", "SDXL", "fp16", size_bytes=4897 * MIB)
QWEN = LoadedModel("qwen_image.safetensors", "diffusion", "QwenImage", "fp16", size_bytes=12 * GIB, family="QwenImage")
T5 = LoadedModel("umt5_xxl_fp8.safetensors", "text encoder", "WanTEModel_", "fp8", size_bytes=6419 * MIB)
KL_VAE = LoadedModel("sdxl_vae.safetensors", "vae", "AutoencoderKL", "bf16", size_bytes=160 * MIB)
FP8_FILE = WorkflowModel("diffusion", "Flux", size_bytes=4 * GIB, fp8=True, scaled=False)
IN_PIECES = replace(RTX_4080, torch_reserved_bytes=10 * GIB, torch_allocated_bytes=6 * GIB)
NO_MODELS: tuple[WorkflowModel, ...] = ()


def snap(argv: str = "", *, version: str | None = "0.30.0", **parts: Any) -> Snapshot:
    """A machine with one RTX 4080, 64 GiB RAM, Linux; ``parts`` are fields of the snapshot, of Host and of Ram.

    ``dynamic_vram`` is what ComfyUI would have there unless it is stated.
    """
    words = shlex.split(argv)
    reading = read(words, table_for(version))
    static = ("--disable-dynamic-vram", "--highvram", "--gpu-only", "--novram", "--cpu")
    wanted = "--enable-dynamic-vram" in reading.flags or not reading.flags.intersection(static)
    host: dict[str, Any] = {"dynamic_vram": wanted, "platform": "linux", "versions": {"torch": "2.8.0"}}
    ram: dict[str, Any] = {"total_bytes": 64 * GIB, "machine_bytes": 64 * GIB, "swap_total_bytes": 8 * GIB}
    whole: dict[str, Any] = {"devices": (RTX_4080,), "models": ()}
    if "--cpu" in reading.flags:
        whole["devices"] = (Device(0, "CPU", "cpu"),)
    for name, value in parts.items():
        target = host if name in Host.__dataclass_fields__ else ram if name in Ram.__dataclass_fields__ else whole
        target[name] = value
    return Snapshot(
        taken_at=0.0,
        host=Host(version=version, argv=words, flags=reading.flags, args=reading.args, **host),
        ram=Ram(**ram),
        **whole,
    )


def holding(*programs: Program, **fields: Any) -> Sequence[Device]:
    """The card with programs on it."""
    return (replace(RTX_4080, programs=programs, others_bytes=sum(p.used_bytes or 0 for p in programs), **fields),)


@dataclass(frozen=True)
class Case:
    """``brings`` and ``quiet`` differ in what the rule is about."""

    brings: Snapshot
    quiet: Snapshot


def case(brings: Snapshot, quiet: Snapshot) -> Case:
    """A shorter name."""
    return Case(brings, quiet)


TWO_MODELS = (WorkflowModel("diffusion", "WAN21_T2V", 10 * GB), WorkflowModel("diffusion", "Flux", 28 * GB))
SMALL_VAE = WorkflowModel("vae", size_bytes=160 * MIB, peak_low_bytes=2 * GIB, peak_high_bytes=4 * GIB)
VIDEO = WorkflowModel("diffusion", "WAN21_T2V", 10 * GIB, peak_low_bytes=3 * GIB, peak_high_bytes=4 * GIB)
OLD_TORCH = {"torch": "2.7.1+cu126"}

CASES: dict[str, Case] = {
    # --- no effect ---
    "lowvram-noop": case(snap("--lowvram"), snap("--lowvram", dynamic_vram=False)),
    "lowvram-text-encoder": case(
        snap("--lowvram", dynamic_vram=False, models=(T5,)), snap("--lowvram", dynamic_vram=True, models=(T5,))
    ),
    "headroom-static": case(
        snap("--vram-headroom 2 --disable-dynamic-vram"), snap("--vram-headroom 2", dynamic_vram=True)
    ),
    "reserve-soft": case(snap("--reserve-vram 2"), snap("--reserve-vram 2", dynamic_vram=False)),
    "novram-overruled": case(snap("--novram --enable-dynamic-vram"), snap("--novram")),
    "async-gguf": case(
        snap("--async-offload 4", models=(replace(WAN, gguf=True),)), snap("--async-offload 4", models=(WAN,))
    ),
    "blockswap-node": case(
        snap(workflow_nodes=frozenset({"wanBlockSwap"})), snap(workflow_nodes=frozenset({"WanVideoBlockSwap"}))
    ),
    "swap-node-dynamic": case(
        snap(workflow_nodes=frozenset({"UniBlockSwap"})),
        snap("--disable-dynamic-vram", workflow_nodes=frozenset({"UniBlockSwap"})),
    ),
    "force-fp16-vae": case(snap("--force-fp16", models=(KL_VAE,)), snap("--force-fp16 --fp16-vae", models=(KL_VAE,))),
    "aimdo-old": case(
        snap("--vram-headroom 2", versions={"torch": "2.8.0", "comfy-aimdo": "0.4.9"}),
        snap("--vram-headroom 2", versions={"torch": "2.8.0", "comfy-aimdo": "0.4.10"}),
    ),
    # --- dynamic VRAM off ---
    "wsl-dynamic": case(snap(platform="wsl", dynamic_vram=False), snap("--highvram", platform="wsl")),
    "rocm-dynamic": case(
        snap("--vram-headroom 2", devices=(RX_7900,), dynamic_vram=False),
        snap("--lowvram", devices=(RX_7900,), dynamic_vram=False),
    ),
    "torch-dynamic": case(snap(versions=OLD_TORCH, dynamic_vram=False), snap("--highvram", versions=OLD_TORCH)),
    "aimdo-off": case(snap(dynamic_vram=False), snap("--disable-dynamic-vram")),
    # --- contradictions ---
    "cpu-enable-dynamic": case(snap("--cpu --enable-dynamic-vram"), snap("--enable-dynamic-vram")),
    "dynamic-both": case(snap("--enable-dynamic-vram --disable-dynamic-vram"), snap("--enable-dynamic-vram")),
    "dynamic-highvram": case(snap("--enable-dynamic-vram --highvram"), snap("--highvram")),
    "async-both": case(snap("--async-offload --disable-async-offload"), snap("--disable-async-offload")),
    "force-fp32-low-unet": case(snap("--force-fp32 --fp16-unet"), snap("--force-fp32 --fp32-unet")),
    "force-fp16-wide-unet": case(snap("--force-fp16 --fp32-unet"), snap("--force-fp16")),
    "force-fp16-beats-fp8": case(snap("--force-fp16 --fp8_e4m3fn-unet"), snap("--fp8_e4m3fn-unet")),
    "cpu-vae-fp16": case(snap("--cpu-vae --fp16-vae"), snap("--cpu-vae")),
    "highvram-no-smart-memory": case(snap("--highvram --disable-smart-memory"), snap("--disable-smart-memory")),
    "fast-disk-both": case(
        replace(snap(), host=replace(snap().host, flags=frozenset({"--fast-disk", "--disable-fast-disk"}))),
        snap("--fast-disk"),
    ),
    "fast-disk-high-ram": case(snap("--fast-disk --high-ram"), snap("--fast-disk")),
    # --- values ---
    "reserve-nan": case(snap("--reserve-vram nan"), snap("--reserve-vram 0")),
    "headroom-refused": case(snap("--vram-headroom -1"), snap("--vram-headroom 1")),
    "reserve-negative": case(snap("--reserve-vram -1"), snap("--reserve-vram 1")),
    "reserve-too-large": case(snap("--reserve-vram 114"), snap("--reserve-vram 114", devices=(SPARK,))),
    "headroom-too-large": case(snap("--vram-headroom 16"), snap("--vram-headroom 15")),
    "cache-ram-too-large": case(snap("--cache-ram 64"), snap("--cache-ram 32")),
    "high-ram-small": case(snap("--high-ram", total_bytes=16 * GIB), snap("--high-ram")),
    "reserve-below-default": case(snap("--reserve-vram 0.5", platform="windows"), snap("--reserve-vram 0.5")),
    # --- flag against model ---
    "resident-too-large": case(
        snap("--highvram", models=(WAN,), devices=(replace(RTX_4080, total_bytes=15 * GB),)),
        snap("--highvram", models=(SDXL,)),
    ),
    "resident-may-not-fit": case(
        snap("--highvram", workflow_models=(replace(VIDEO, peak_high_bytes=6 * GIB),)),
        snap("--highvram", workflow_models=(VIDEO,)),
    ),
    "novram-needless": case(snap("--novram", models=(SDXL, KL_VAE)), snap("--novram", models=(WAN, KL_VAE))),
    "disabled-dynamic-too-large": case(
        snap("--disable-dynamic-vram", models=(WAN,)), snap("--disable-dynamic-vram", models=(SDXL,))
    ),
    "fp32-doubles": case(
        snap("--fp32-unet", models=(replace(SDXL, dtype="fp32", size_bytes=2 * 4897 * MIB),), devices=(RTX_2060,)),
        snap("--fp32-unet", models=(replace(SDXL, dtype="fp32", size_bytes=2 * 4897 * MIB),)),
    ),
    "fp8-upcast": case(
        snap(workflow_models=(FP8_FILE,), devices=(RTX_3060,)), snap(workflow_models=(FP8_FILE,), devices=(RTX_4080,))
    ),
    "cpu-vae-slow": case(
        snap("--cpu-vae", workflow_models=(SMALL_VAE,)),
        snap("--cpu-vae", workflow_models=(replace(SMALL_VAE, peak_high_bytes=20 * GIB),)),
    ),
    "split-attention-estimate": case(
        snap("--use-split-cross-attention"),
        snap("--use-split-cross-attention", versions={"torch": "2.8.0", "xformers": "0.0.32"}),
    ),
    "half-used": case(
        snap(last_run=LastRun(peak_bytes=8 * GIB, streamed_bytes=5 * GIB, finished=True)),
        snap(last_run=LastRun(peak_bytes=14 * GIB, streamed_bytes=5 * GIB, finished=True)),
    ),
    # --- precision ---
    "fp16-16xx": case(snap("--force-fp16", devices=(GTX_1660,)), snap("--fp16-unet", devices=(GTX_1660,))),
    "fp16-no-bf16-model": case(
        snap("--fp16-unet", models=(QWEN,), devices=(RTX_2060,)),
        snap("--force-fp32 --fp16-unet", models=(QWEN,), devices=(RTX_2060,)),
    ),
    "xformers-0018": case(
        snap(versions={"torch": "2.8.0", "xformers": "0.0.18"}),
        snap(versions={"torch": "2.8.0", "xformers": "0.0.22"}),
    ),
    "fp16-vae-overflow": case(
        snap("--fp16-vae", models=(SDXL, KL_VAE)),
        snap("--fp16-vae", models=(SDXL, KL_VAE), last_run=LastRun(finite_fp16_decode=True)),
    ),
    "fp16-vae-alone": case(snap("--fp16-vae"), snap("--fp16-vae", models=(WAN,))),
    "sage-nan": case(snap("--use-sage-attention", models=(QWEN,)), snap("--use-sage-attention", models=(SDXL,))),
    "fp16-intermediates-inf": case(snap("--fp16-intermediates"), snap()),
    # --- the machine ---
    "driver-mismatch": case(
        snap(reasons={"devices": "Driver/library version mismatch"}), snap(reasons={"devices": "Not Supported"})
    ),
    "nvml-lost": case(
        snap(reasons={"devices": "Failed to initialize NVML: Unknown Error"}),
        snap(reasons={"devices": "Failed to initialize NVML: Unknown Error"}, platform="windows"),
    ),
    "other-program": case(
        snap(devices=holding(Program("/usr/local/bin/ollama", int(2.1 * GIB), 4711))),
        snap(devices=holding(Program("Xorg", 308 * MIB, 900))),
    ),
    "fast-disk-rotating": case(
        snap("--fast-disk", models_on_rotating_disk=True), snap("--fast-disk", models_on_rotating_disk=False)
    ),
    "two-comfyui": case(snap(processes=1), snap("--cuda-device 0", processes=1)),
    # --- RAM ---
    "cgroup-unread": case(
        snap(total_bytes=32 * GIB, machine_bytes=int(62.8e9), reads_memory_limit=False, limit_source="cgroup v2"),
        snap(total_bytes=32 * GIB, machine_bytes=int(62.8e9), reads_memory_limit=True, limit_source="cgroup v2"),
    ),
    "ram-switch": case(
        snap("--disable-dynamic-vram", total_bytes=32 * GIB, workflow_models=TWO_MODELS),
        snap(total_bytes=32 * GIB, workflow_models=TWO_MODELS),
    ),
    "swap-filling": case(
        snap("--cache-classic", swap_used_bytes=7 * GIB, available_bytes=2 * GIB),
        snap("--cache-classic", swap_used_bytes=7 * GIB, available_bytes=30 * GIB),
    ),
    "cache-none-reruns": case(snap("--cache-none"), snap("--cache-none", dynamic_vram=False)),
    "pinned-high": case(snap(platform="windows", pinned_bytes=30 * GIB), snap(platform="linux", pinned_bytes=30 * GIB)),
    "wsl-pinned": case(snap(platform="wsl"), snap("--disable-pinned-memory", platform="wsl")),
    "no-swap": case(
        snap(total_bytes=32 * GIB, swap_total_bytes=0), snap(total_bytes=32 * GIB, swap_total_bytes=8 * GIB)
    ),
    # --- the last run ---
    "last-run-unfinished": case(
        snap(last_run=LastRun(finished=False, node="KSampler", ram_bytes=30 * GIB, oom_kills_rose=True)),
        snap(last_run=LastRun(finished=True, node="KSampler", ram_bytes=30 * GIB)),
    ),
    "pagefile-1455": case(
        snap(last_run=LastRun(error="OSError: The paging file is too small for this operation (os error 1455)")),
        snap(last_run=LastRun(error="OSError: [Errno 2] No such file or directory")),
    ),
    "sysmem-fallback": case(
        snap(platform="windows", last_run=LastRun(spilled_bytes=3 * GIB)),
        snap(platform="linux", last_run=LastRun(spilled_bytes=3 * GIB)),
    ),
    "ram-growth": case(
        snap(available_bytes=20 * GIB, last_run=LastRun(ram_growth_bytes_per_run=850 * 10**6)),
        snap(available_bytes=20 * GIB, last_run=LastRun(ram_growth_bytes_per_run=90 * 10**6)),
    ),
    "fragmentation": case(
        snap(failure=Failure("out-of-memory", 0.0, memory="vram", devices=(IN_PIECES,))),
        snap(devices=(IN_PIECES,), failure=Failure("nan", 0.0, devices=(IN_PIECES,))),
    ),
}
