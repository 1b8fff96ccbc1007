"""Fixes for a card that was full, cheapest first: what is free to do before what costs speed or size."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from .failure_case import Case, FixRow
from .flags.machine import PROGRAM_BYTES, PROGRAMS
from .units import GIB, MIB

LEAST_BYTES = 256 * MIB
"""Less is not worth a line."""
STEP = (7, 8)
"""One step down in width and height: 1024 to 896."""
#: Memory flags under which a card fills up before anything moves out (comfy/cli_args.py 0.30.0).
CROWDING = ("--highvram", "--gpu-only")
KEEP_STEP = 0.5

Params = Mapping[str, Any]


def _flags(case: Case) -> Params | None:
    if not case.in_vram or case.view.cpu:
        return None
    reserve = case.view.number("reserve_vram")
    given = case.view.given(CROWDING)
    if reserve is not None and reserve < 0:
        given.append("--reserve-vram")
    return {"flags": given} if given else None


def _safe_decode(case: Case) -> Params | None:
    decodes = case.in_vram and case.at_work == "vae" and not case.ours
    return {} if decodes and "encode" not in case.node else None


def _safe_encode(case: Case) -> Params | None:
    return {} if case.in_vram and case.at_work == "vae" and not case.ours and "encode" in case.node else None


def _idle_models(case: Case) -> Params | None:
    held = sum(model.resident_bytes or 0 for model in case.idle_models)
    if not case.in_vram or held < LEAST_BYTES:
        return None
    names = [model.name or model.class_name for model in case.idle_models if model.resident_bytes]
    return {"models": names[:3], "expected_bytes": held}


def _program(case: Case) -> Params | None:
    programs = [one for one in (case.gpu.programs if case.gpu else None) or () if one.used_bytes]
    largest = max(programs, key=lambda one: one.used_bytes or 0, default=None)
    if not case.in_vram or largest is None or (largest.used_bytes or 0) < PROGRAM_BYTES:
        return None
    return {"program": _called(largest.name), "expected_bytes": largest.used_bytes}


def _programs_unnamed(case: Case) -> Params | None:
    gpu = case.gpu
    if not case.in_vram or gpu is None or gpu.unified or gpu.programs or not gpu.others_estimated:
        return None
    return {"expected_bytes": gpu.others_bytes} if (gpu.others_bytes or 0) >= GIB else None


def _called(name: str) -> str:
    known = next((label for part, label, _ in PROGRAMS if part in name.lower()), None)
    return known or name.replace("\\", "/").rpartition("/")[2].removesuffix(".exe") or name


def _block_swap(case: Case) -> Params | None:
    """The Wan wrapper's own swap; ComfyUI's own models move by themselves."""
    return {} if case.in_vram and case.node.startswith("wanvideo") and case.at_work == "diffusion" else None


def _keep_free(case: Case) -> Params | None:
    """Fewer weights on the card: only where there are that many, and where nothing better is at hand."""
    lacking, gpu = case.lacking_bytes, case.gpu
    weights = sum(one.resident_bytes or 0 for one in case.failure.models if one.kind == "diffusion")
    if not case.in_vram or gpu is None or lacking is None or weights < lacking or case.at_work != "diffusion":
        return None
    headroom = case.view.dynamic is True and case.view.knows("--vram-headroom")
    flag, name = ("--vram-headroom", "vram_headroom") if headroom else ("--reserve-vram", "reserve_vram")
    reserve = max(0.0, case.view.number(name) or (0.0 if headroom else case.view.reserve_bytes / GIB))
    keep = math.ceil((reserve + lacking / GIB) / KEEP_STEP) * KEEP_STEP
    if case.view.card_bytes is not None and keep * GIB > case.view.card_bytes / 2:
        return None
    return {"flag": f"{flag} {keep:g}", "expected_bytes": int((keep - reserve) * GIB)}


def _batch(case: Case) -> Params | None:
    if not case.in_vram or case.batch is None or case.batch < 2 or case.at_work == "text encoder":
        return None
    smaller = case.batch // 2
    return {"batch": case.batch, "smaller": smaller, **_share(case, 1 - smaller / case.batch)}


def _size(case: Case) -> Params | None:
    if not case.in_vram or case.at_work == "text encoder":
        return None
    return {"step": STEP[0], "of": STEP[1], **_share(case, 1 - (STEP[0] / STEP[1]) ** 2)}


def _share(case: Case, share: float) -> Params:
    """By area or number: activations grow at least in proportion, so it is at least this."""
    return {} if case.working_bytes is None else {"expected_bytes": int(share * case.working_bytes)}


FIXES = (
    FixRow(
        "start-without",
        _flags,
        "Start ComfyUI without {flags}: then models move out when the card is full.",
        "ComfyUI #14340; comfy/cli_args.py 0.30.0, enables_dynamic_vram",
    ),
    FixRow(
        "safe-decode",
        _safe_decode,
        "Use the node VAE Decode (Safe) here: it decodes in tiles that fit.",
        "the decode ladder of this pack",
    ),
    FixRow(
        "safe-encode",
        _safe_encode,
        "Use the node VAE Encode (Safe) here: it encodes in tiles that fit.",
        "the encode ladder of this pack",
    ),
    FixRow(
        "unload-idle",
        _idle_models,
        "Put the node Free Memory before this one: {models} did no work in this node and stayed on the card.",
        "ComfyUI #15453: no dynamic model is unloaded for another one",
    ),
    FixRow(
        "close-program",
        _program,
        "Close {program}, or stop what it keeps on the card.",
        "Ollama, FAQ (keep_alive); ComfyUI #14396",
    ),
    FixRow(
        "close-programs",
        _programs_unnamed,
        "Close other programs that use the card; the driver does not say which they are.",
        "wookayin/gpustat #141; XuehaiPan/nvitop #55",
    ),
    FixRow(
        "block-swap",
        _block_swap,
        "Raise `blocks_to_swap` in the node WanVideo Block Swap.",
        "ComfyUI-WanVideoWrapper #224",
    ),
    FixRow(
        "smaller-batch",
        _batch,
        "Use a batch of {smaller} in place of {batch}, and more runs.",
        "ComfyUI #13116; comfy/model_base.py 0.30.0, memory_required",
    ),
    FixRow(
        "keep-free",
        _keep_free,
        "Start ComfyUI with {flag}: fewer weights stay on the card, and each step takes longer.",
        "ComfyUI #4693, #15666",
    ),
    FixRow(
        "smaller-size",
        _size,
        "Make width and height {step}/{of} of what they are, or the video that much shorter.",
        "comfy/model_base.py 0.30.0, memory_required: the estimate grows with the area",
    ),
)
