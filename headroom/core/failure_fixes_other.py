"""Fixes for RAM that ran out, and for NaN."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .cause_table import FP8_UNET
from .failure_case import Case, FixRow
from .failure_kind import PAGE_FILE
from .units import GIB

Params = Mapping[str, Any]

#: Flags that are known to end in NaN, and whether they concern the VAE (rows of ``cause_table``).
NAN_FLAGS = (
    *("--fp16-unet", "--force-fp16", "--fast", *FP8_UNET, "--use-sage-attention", "--use-flash-attention"),
    *("--fp16-intermediates", "--dont-upcast-attention"),
)
NAN_VAE_FLAGS = ("--fp16-vae", "--fp16-intermediates")
SMALL_SWAP_BYTES = 4 * GIB


def _page_file(case: Case) -> Params | None:
    return {} if case.in_ram and PAGE_FILE in case.failure.message.lower() else None


def _cache_none(case: Case) -> Params | None:
    fits = case.in_ram and case.view.knows("--cache-none") and not case.view.has("--cache-none")
    return {"flag": "--cache-none"} if fits and _page_file(case) is None else None


def _container(case: Case) -> Params | None:
    ram = case.failure.ram
    if not case.in_ram or ram.limit_source is None or ram.total_bytes is None:
        return None
    return {"limit_bytes": ram.total_bytes}


def _swap(case: Case) -> Params | None:
    swap = case.failure.ram.swap_total_bytes
    small = swap is not None and swap < SMALL_SWAP_BYTES
    return {"swap_bytes": swap} if case.in_ram and small and not case.view.windows and not _page_file(case) else None


def _smaller_file(case: Case) -> Params | None:
    """Half the bytes for a model that is stored in 16 or 32 bit."""
    wide = [one for one in case.failure.models if one.dtype in {"fp16", "bf16", "fp32"} and one.kind != "vae"]
    largest = max(wide, key=lambda one: one.size_bytes or 0, default=None)
    if not case.in_ram or largest is None or (largest.size_bytes or 0) < GIB:
        return None
    return {"model": largest.name or largest.class_name, "expected_bytes": (largest.size_bytes or 0) // 2}


def _ram_smaller(case: Case) -> Params | None:
    return {} if case.in_ram else None


def _nan_flags(case: Case) -> Params | None:
    given = case.view.given(NAN_VAE_FLAGS if case.at_work == "vae" else NAN_FLAGS)
    return {"flags": given} if case.nan and given else None


def _nan_decode(case: Case) -> Params | None:
    return {} if case.nan and case.at_work == "vae" and not case.ours else None


def _nan_model_guard(case: Case) -> Params | None:
    guarded = case.node.startswith(("headroommodelguard", "headroomimageguard")) or case.at_work == "vae"
    return {} if case.nan and not guarded else None


def _nan_locate(case: Case) -> Params | None:
    return {} if case.nan and not case.ours else None


FIXES = (
    FixRow(
        "page-file",
        _page_file,
        "Enlarge the page file of Windows: System, Advanced, Performance, Virtual memory. It is not the VRAM.",
        "ComfyUI #8065, #7550, #7069",
    ),
    FixRow(
        "container-limit",
        _container,
        "Give the container more than {limit_bytes}.",
        "ComfyUI #14938",
    ),
    FixRow(
        "cache-none",
        _cache_none,
        "Start ComfyUI with {flag}: it keeps no result of a node in RAM, and each run does all nodes anew.",
        "ComfyUI-KJNodes #632; ComfyUI-WanVideoWrapper #1044",
    ),
    FixRow(
        "smaller-file",
        _smaller_file,
        "Use an fp8 or GGUF file of {model}.",
        "ComfyUI #11597",
    ),
    FixRow(
        "add-swap",
        _swap,
        "Add swap: this machine has {swap_bytes} of it.",
        "ComfyUI #7036, #5177",
    ),
    FixRow(
        "ram-smaller",
        _ram_smaller,
        "Close other programs, or use a smaller picture, fewer frames or a smaller batch.",
        "ComfyUI #10771",
    ),
    FixRow(
        "nan-flags",
        _nan_flags,
        "Start ComfyUI without {flags}: it is known to give NaN with some models.",
        "ComfyUI #9223, #4572, #884; the rows of core/cause_table.py",
    ),
    FixRow(
        "nan-safe-vae",
        _nan_decode,
        "Use the node VAE Decode (Safe) or VAE Encode (Safe) here: it repeats what was NaN in a wider dtype.",
        "madebyollin/sdxl-vae-fp16-fix; InvokeAI #2580",
    ),
    FixRow(
        "nan-model-guard",
        _nan_model_guard,
        "Put the node Model Guard before the sampler: it names the first bad step and can sample again in fp32.",
        "ComfyUI #10668, #10751",
    ),
    FixRow(
        "nan-locate",
        _nan_locate,
        "Put the node Latent Guard behind each sampler to see where the first NaN comes from.",
        "ComfyUI #14892, #16313",
    ),
)
