"""Pairs of flags that argparse accepts and ComfyUI does not carry out as written: one row each.

What really happens was run against comfy/model_management.py 0.30.0 with a stand-in for the card
(tests/core/flags/test_host_decisions.py repeats it).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..cause_table import FP16_OVERFLOWS
from .advice import Severity
from .fit import has_bf16
from .rule import Params, Rule, Wording
from .view import View

FP8_UNET = ("--fp8_e4m3fn-unet", "--fp8_e5m2-unet", "--fp8_e8m0fnu-unet")
STORED_LOW = ("--fp16-unet", "--bf16-unet", *FP8_UNET)
WIDE_UNET = ("--fp32-unet", "--bf16-unet", "--fp64-unet")
RESIDENT = ("--highvram", "--gpu-only")


def dtype_of(flag: str) -> str:
    """``--fp8_e4m3fn-unet`` as fp8, ``--bf16-unet`` as bf16."""
    return flag.lstrip("-").split("-")[0].split("_")[0]


def _both(first: Sequence[str], second: Sequence[str]) -> Callable[[View], Params | None]:
    """One flag of each is given; they are called ``first`` and ``second``."""

    def when(view: View) -> Params | None:
        one, other = view.given(first), view.given(second)
        return {"first": one[0], "second": other[0]} if one and other else None

    return when


def _force_fp32_low(view: View) -> Params | None:
    found = _both(("--force-fp32",), STORED_LOW)(view)
    if found is None:
        return None
    if view.families & FP16_OVERFLOWS and view.gpu is not None and has_bf16(view.gpu) is False:
        # Stored small and computed in fp32 is then the right mix: without the flag the model overflows.
        return None
    return {**found, "stored": dtype_of(found["second"])}


def _force_fp16_wide(view: View) -> Params | None:
    found = _both(("--force-fp16",), WIDE_UNET)(view)
    if found is None:
        return None
    dtype = dtype_of(found["second"])
    return {**found, "dtype": dtype, **({"variant": "fp32"} if dtype == "fp32" else {})}


def _force_fp16_fp8(view: View) -> Params | None:
    found = _both(("--force-fp16",), FP8_UNET)(view)
    if found is None:
        return None
    sizes = [model.size_bytes for model in view.loaded("diffusion") if model.dtype == "fp16" and model.size_bytes]
    if not sizes:
        return found
    return {**found, "variant": "size", "now_bytes": max(sizes), "fp8_bytes": max(sizes) // 2}


def _cpu_fp16_vae(view: View) -> Params | None:
    cpu = view.given(("--cpu-vae", "--cpu"))
    return {"cpu": cpu[0]} if cpu and view.has("--fp16-vae") else None


def _cpu_dynamic(view: View) -> Params | None:
    """Run with 0.30.0; what older versions do was not tried."""
    tried = view.version is None or view.version >= (0, 30)
    return {} if view.has("--cpu", "--enable-dynamic-vram") and tried else None


def _pair(
    rule_id: str,
    rank: int,
    first: Sequence[str],
    second: Sequence[str],
    title: str,
    why: str,
    source: str,
    remove: Sequence[str],
    severity: Severity = "warning",
    check: str = "What ComfyUI does stays as it was: the flag was overruled.",
) -> Rule:
    when = _both(first, second)
    return Rule(rule_id, severity, rank, when, title, why, check, source, remove=remove, fix=_OTHERWISE)


_OTHERWISE = "If the other was meant, leave out that one instead."

RULES = (
    Rule(
        id="cpu-enable-dynamic",
        severity="problem",
        rank=20,
        when=_cpu_dynamic,
        title="`--cpu` with `--enable-dynamic-vram` stops ComfyUI at the start",
        why="The CPU has no device number, which comfy-aimdo asks for: TypeError in `init_devices`.",
        check="ComfyUI starts.",
        source="run with ComfyUI 0.30.0 and comfy-aimdo 0.4.11",
        remove=("--enable-dynamic-vram",),
    ),
    _pair(
        "dynamic-both",
        440,
        ("--enable-dynamic-vram",),
        ("--disable-dynamic-vram",),
        "`--enable-dynamic-vram` overrules `--disable-dynamic-vram`",
        "ComfyUI asks for the first flag before all others. Dynamic VRAM is tried.",
        "comfy/cli_args.py 0.30.0, enables_dynamic_vram",
        remove=("--disable-dynamic-vram",),
    ),
    _pair(
        "dynamic-highvram",
        445,
        ("--enable-dynamic-vram",),
        RESIDENT,
        "`--enable-dynamic-vram` overrules {second}",
        "Dynamic VRAM loads what a layer needs; it never loads a model whole, which {second} asks for.",
        "comfy/cli_args.py and comfy/model_patcher.py 0.30.0, ModelPatcherDynamic.load",
        remove=RESIDENT,
    ),
    _pair(
        "async-both",
        450,
        ("--async-offload",),
        ("--disable-async-offload",),
        "`--disable-async-offload` overrules `--async-offload`: 0 streams",
        "ComfyUI sets the number of streams from the first flag and then to 0 for the second.",
        "comfy/model_management.py 0.30.0, NUM_STREAMS",
        remove=("--async-offload",),
    ),
    Rule(
        id="force-fp32-low-unet",
        severity="warning",
        rank=330,
        when=_force_fp32_low,
        title="With {first} and {second} the model is stored in {stored} and computes in fp32",
        why=(
            "{second} decides what is stored, {first} what is computed: the slowest mix. {first} also runs the VAE in "
            "fp32 and the text encoder on the CPU."
        ),
        fix="If fp32 is what the card needs, leave out {second} instead.",
        check='On a card the log says "model weight dtype" with "manual cast: None".',
        source="comfy/model_management.py 0.30.0, unet_dtype and unet_manual_cast",
        remove=("--force-fp32",),
    ),
    Rule(
        id="force-fp16-wide-unet",
        severity="info",
        rank=650,
        when=_force_fp16_wide,
        title="With {first} and {second} the model runs in {dtype}",
        why="ComfyUI looks at {second} first. {first} still holds for the text encoder's device and some VAEs.",
        fix="Leave it so if that was meant.",
        check='The log says "model weight dtype" and which.',
        source="ComfyUI #10668; comfy/model_management.py 0.30.0, unet_dtype",
        variants={
            "fp32": Wording(
                why=(
                    "ComfyUI looks at {second} first. It is a known way to run Qwen-Image on a card without bf16, at 2 "
                    "to 5 times the time."
                )
            )
        },
    ),
    Rule(
        id="force-fp16-beats-fp8",
        severity="warning",
        rank=310,
        when=_force_fp16_fp8,
        title="{first} overrules {second}: the model takes twice the memory",
        why="ComfyUI sets fp16 for the model with {first} and asks for fp16 before fp8. The fp8 flag is lost.",
        check="The loaded model is half as large.",
        source="comfy/cli_args.py and comfy/model_management.py 0.30.0, unet_dtype",
        remove=("--force-fp16",),
        variants={
            "size": Wording(title="{first} overrules {second}: {now_bytes} are loaded where fp8 takes {fp8_bytes}")
        },
    ),
    Rule(
        id="cpu-vae-fp16",
        severity="warning",
        rank=320,
        when=_cpu_fp16_vae,
        title="`--fp16-vae` holds on the CPU too",
        why=(
            "{cpu} would run the VAE in fp32, but `--fp16-vae` is asked first. On a CPU fp16 is slow, older versions "
            "of torch cannot do it at all, and values above 65504 become Inf."
        ),
        check='The log says "VAE load device: cpu" with "dtype: torch.float32".',
        source="AUTOMATIC1111/stable-diffusion-webui #15779; comfy/model_management.py 0.30.0, vae_dtype",
        remove=("--fp16-vae",),
    ),
    Rule(
        id="highvram-no-smart-memory",
        severity="warning",
        rank=340,
        when=_both(RESIDENT, ("--disable-smart-memory",)),
        title="`--disable-smart-memory` frees no VRAM beside {first}",
        why=(
            "ComfyUI unloads every model after each prompt, but with {first} the place where the diffusion model goes "
            "is the card itself."
        ),
        fix="If VRAM should be free after a prompt, leave out {first} instead.",
        check="The second prompt starts without loading the model again.",
        source="comfy/model_management.py 0.30.0, unet_offload_device and free_memory",
        remove=("--disable-smart-memory",),
    ),
    _pair(
        "fast-disk-both",
        455,
        ("--fast-disk",),
        ("--disable-fast-disk",),
        "`--disable-fast-disk` overrules `--fast-disk`",
        "ComfyUI looks at the second flag last.",
        "ComfyUI, commit 0329457 of 2026-09",
        remove=("--fast-disk",),
    ),
    Rule(
        id="fast-disk-high-ram",
        severity="info",
        rank=655,
        when=_both(("--fast-disk",), ("--high-ram",)),
        title="`--high-ram` takes back most of `--fast-disk`",
        why="`--fast-disk` reads weights from the disk again and does not pin them; with `--high-ram` they are pinned.",
        fix="On a machine with RAM to spare leave out `--fast-disk` instead.",
        check="RAM in use after two runs is lower.",
        source="comfy/ops.py 0.30.0, handle_pin",
        remove=("--high-ram",),
    ),
)
