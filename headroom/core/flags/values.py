"""Values that the parser takes and ComfyUI does not check."""

from __future__ import annotations

import math

from ..units import GIB
from .rule import Params, Rule, Wording
from .view import View

#: main.py passes --reserve-vram to comfy-aimdo through int() in these versions and later, which NaN does not survive.
PASSED_ON_SINCE = (0, 27)
SMALL_RAM_BYTES = 32 * GIB


def _reserve(view: View) -> float | None:
    return view.number("reserve_vram") if view.has("--reserve-vram") else None


def _reserve_nan(view: View) -> Params | None:
    value = _reserve(view)
    if value is None or math.isfinite(value):
        return None
    passed = view.version is None or view.version >= PASSED_ON_SINCE
    word = "nan" if math.isnan(value) else "inf"
    return {"text": word, "variant": "start"} if passed and view.wants_dynamic else {"text": word}


def _reserve_negative(view: View) -> Params | None:
    value = _reserve(view)
    if value is None or not math.isfinite(value) or value >= 0:
        return None
    params = {"value": value, "least_bytes": int(0.8 * GIB + value * GIB)}
    return {**params, "variant": "cpu"} if view.cpu else params


def _reserve_too_large(view: View) -> Params | None:
    value = _reserve(view)
    if value is None or not math.isfinite(value) or view.gpu is None or view.card_bytes is None or view.gpu.unified:
        return None
    return {"value": value, "card_bytes": view.card_bytes} if value * GIB > view.card_bytes else None


def _reserve_below_default(view: View) -> Params | None:
    value = _reserve(view)
    if value is None or not view.windows or view.gpu is None or view.card_bytes is None:
        return None
    if not 0 <= value * GIB < view.default_reserve_bytes:
        return None
    return {"value": value, "default_bytes": view.default_reserve_bytes}


def _headroom_refused(view: View) -> Params | None:
    value = view.number("vram_headroom")
    if value is None or not view.has("--vram-headroom") or view.dynamic is False or view.cpu:
        return None
    if math.isfinite(value) and value >= 0:
        return None
    return {"text": f"{value:g}"}


def _headroom_too_large(view: View) -> Params | None:
    value = view.number("vram_headroom")
    if (
        value is None
        or not math.isfinite(value)
        or view.dynamic is False
        or view.card_bytes is None
        or view.gpu is None
    ):
        return None
    if view.gpu.unified or value * GIB < view.card_bytes:
        return None
    return {"value": value, "card_bytes": view.card_bytes}


def _cache_ram(view: View) -> Params | None:
    given = view.args.get("cache_ram")
    first = given[0] if isinstance(given, (list, tuple)) and given else given
    total = view.ram.total_bytes
    if not view.has("--cache-ram") or not isinstance(first, (int, float)) or total is None:
        return None
    return {"value": float(first), "ram_bytes": total} if total <= first * GIB < math.inf else None


def _high_ram_small(view: View) -> Params | None:
    total = view.ram.total_bytes
    if not view.has("--high-ram") or total is None:
        return None
    kinds = ("diffusion", "text encoder", "vae")
    models = sum(size for kind in kinds for size in view.sizes(kind))
    if models > total * 0.6:
        return {"ram_bytes": total, "models_bytes": models, "variant": "models"}
    return {"ram_bytes": total} if total < SMALL_RAM_BYTES else None


RULES = (
    Rule(
        id="reserve-nan",
        severity="problem",
        rank=30,
        when=_reserve_nan,
        title="`--reserve-vram {text}` makes every memory estimate {text}",
        why="The parser takes it for a number. No comparison with free memory holds any more, so nothing is unloaded.",
        check="The start log names no error, and models are unloaded when memory is short.",
        source="run with ComfyUI 0.30.0: main.py and comfy/model_management.py, minimum_inference_memory",
        remove=("--reserve-vram",),
        variants={
            "start": Wording(
                title="`--reserve-vram {text}` stops ComfyUI at the start",
                why="The parser takes it for a number, and {comfyui} then fails to make bytes of it in main.py.",
                check="ComfyUI starts.",
            )
        },
    ),
    Rule(
        id="headroom-refused",
        severity="problem",
        rank=35,
        when=_headroom_refused,
        title="`--vram-headroom {text}` stops ComfyUI at the start",
        why='The parser takes it for a number, and comfy-aimdo refuses it: "must be non-negative".',
        check="ComfyUI starts.",
        source="run with comfy-aimdo 0.4.11, init_devices",
        remove=("--vram-headroom",),
    ),
    Rule(
        id="reserve-negative",
        severity="warning",
        rank=230,
        when=_reserve_negative,
        title="`--reserve-vram {value}` tells ComfyUI that there is more VRAM than there is",
        why=(
            "The parser takes it, and ComfyUI then keeps {least_bytes} free for a run in place of 0.8 GiB and its "
            "reserve. That has been seen to end in out of memory."
        ),
        check="No run ends in out of memory; the time per step hardly changes.",
        source="comfy/model_management.py 0.30.0, minimum_inference_memory",
        remove=("--reserve-vram",),
        variants={
            "cpu": Wording(
                why="The parser takes it. Nothing comes of it while ComfyUI runs on the CPU, but on a card it would.",
                check="Nothing changes on the CPU.",
            )
        },
    ),
    Rule(
        id="reserve-too-large",
        severity="warning",
        rank=235,
        when=_reserve_too_large,
        title="`--reserve-vram {value}` is more than the card's {card_bytes}",
        why="Nothing is left for weights, so all of them are copied to the card again in each step.",
        check="The time per step falls, and VRAM in use rises.",
        source="comfy/model_management.py 0.30.0, load_models_gpu",
        remove=("--reserve-vram",),
    ),
    Rule(
        id="headroom-too-large",
        severity="warning",
        rank=240,
        when=_headroom_too_large,
        title="`--vram-headroom {value}` is all of the card's {card_bytes}",
        why="ComfyUI is to keep that much free at all times, so no weight may stay on the card.",
        check="The time per step falls, and VRAM in use rises.",
        source="comfy/cli_args.py 0.30.0, help of --vram-headroom",
        remove=("--vram-headroom",),
    ),
    Rule(
        id="cache-ram-too-large",
        severity="warning",
        rank=460,
        when=_cache_ram,
        title="`--cache-ram {value}` is more than the machine's {ram_bytes} of RAM",
        why="ComfyUI drops cached results while less than that is available, which is always. Every run starts anew.",
        check="A second run of the same workflow skips the nodes that did not change.",
        source="execution.py and comfy_execution/caching.py of ComfyUI 0.30.0, ram_release",
        remove=("--cache-ram",),
    ),
    Rule(
        id="high-ram-small",
        severity="warning",
        rank=245,
        when=_high_ram_small,
        title="`--high-ram` on a machine with {ram_bytes} of RAM",
        why="ComfyUI then pins model weights without a budget and never frees cached results for RAM.",
        check="RAM in use stays below {ram_bytes} over three runs.",
        source="comfy/model_management.py 0.30.0, ensure_pin_budget and pinned_hostbuf_size",
        remove=("--high-ram",),
        variants={"models": Wording(title="`--high-ram`, and the models take {models_bytes} of {ram_bytes} RAM")},
    ),
    Rule(
        id="reserve-below-default",
        severity="info",
        rank=635,
        when=_reserve_below_default,
        title="`--reserve-vram {value}` is less than the {default_bytes} that ComfyUI keeps by itself",
        why="The Windows driver moves what does not fit to system memory without an error, and a step takes minutes.",
        check='"Shared GPU memory" in the task manager stays flat during a run.',
        source="ComfyUI #5737; comfy/model_management.py 0.30.0, EXTRA_RESERVED_VRAM",
        remove=("--reserve-vram",),
    ),
)
