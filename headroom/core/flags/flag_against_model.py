"""Memory flags against the size of what is loaded or will be."""

from __future__ import annotations

from ..readings import WorkflowModel
from .contradictions import RESIDENT
from .fit import WEIGHTS_SHARE, forced_dtype, has_fp8_compute, working_bytes
from .rule import Params, Rule, Wording
from .staying import may_be_too_large, too_large, usable_bytes
from .view import INFERENCE_BYTES, View

ALL_KINDS = ("diffusion", "text encoder", "vae")
SPLIT_ATTENTION = ("--use-split-cross-attention", "--use-quad-cross-attention")
#: The estimate of activations: area * 0.15 against area * dtype size * 0.01 (comfy/model_base.py 0.30.0).
SPLIT_FACTOR = {"fp16": 7.5, "bf16": 7.5, "fp32": 3.75}
#: Flags with which a card is not "as it comes" any more.
MEMORY_FLAGS = (
    *("--gpu-only", "--highvram", "--lowvram", "--novram", "--cpu", "--reserve-vram", "--vram-headroom"),
    *("--disable-smart-memory", "--disable-dynamic-vram", "--enable-dynamic-vram", "--fast-disk"),
)


def _novram_needless(view: View) -> Params | None:
    room = usable_bytes(view)
    if not view.has("--novram") or view.dynamic is not False or room is None:
        return None
    sizes = view.sizes("diffusion")
    need = sum(size for kind in ALL_KINDS for size in view.sizes(kind)) + working_bytes(view)
    if not sizes or need > room:
        return None
    params = {"weights_bytes": max(sizes), "need_bytes": need, "card_bytes": view.card_bytes}
    seconds = view.copy_seconds(max(sizes))
    return params if seconds is None else {**params, "step_seconds": seconds, "variant": "seconds"}


def _disabled_dynamic(view: View) -> Params | None:
    sizes = view.sizes("diffusion")
    if not view.has("--disable-dynamic-vram") or view.dynamic is not False or not sizes or view.room_bytes is None:
        return None
    room = max(0, view.room_bytes)
    if max(sizes) <= room:
        return None
    params = {"weights_bytes": max(sizes), "room_bytes": room, "streamed_bytes": max(sizes) - room}
    seconds = view.copy_seconds(max(sizes) - room)
    return params if seconds is None else {**params, "step_seconds": seconds, "variant": "seconds"}


def _fp32_doubles(view: View) -> Params | None:
    forced = forced_dtype(view)
    if forced is None or forced.dtype != "fp32" or view.gpu is None or view.card_bytes is None:
        return None
    sizes = [model.size_bytes for model in view.loaded("diffusion") if model.dtype == "fp32" and model.size_bytes]
    plain = [model for model in view.planned("diffusion") if _is_16_bit(model)]
    sizes += [2 * model.size_bytes for model in plain if model.size_bytes]
    least = INFERENCE_BYTES + max(0, view.reserve_bytes)
    if not sizes or not max(sizes) // 2 + least <= view.card_bytes < max(sizes) + least:
        return None
    params = {"flag": forced.flag, "before_bytes": max(sizes) // 2, "after_bytes": max(sizes)}
    variant = {"variant": "text-encoder"} if forced.flag == "--force-fp32" else {}
    return {**params, "card_bytes": view.card_bytes, **variant}


def _is_16_bit(model: WorkflowModel) -> bool:
    """Where the file was not read, a model that is nothing else."""
    return not model.gguf and not model.fp8 and model.dtype in {None, "fp16", "bf16"}


def _fp8_upcast(view: View) -> Params | None:
    """Plain fp8 files only: ComfyUI keeps scaled ones as they are."""
    files = [model.size_bytes for model in view.planned("diffusion") if model.fp8 and model.scaled is False]
    sizes = [size for size in files if size]
    if not sizes or view.gpu is None:
        return None
    forced = forced_dtype(view)
    if forced is not None and forced.flag != "--force-fp32" and forced.dtype in {"fp16", "bf16", "fp32"}:
        after = max(sizes) * (4 if forced.dtype == "fp32" else 2)
        return {"flag": forced.flag, "file_bytes": max(sizes), "after_bytes": after, "variant": "flag"}
    if forced is not None or has_fp8_compute(view) is not False or view.card_bytes is None:
        return None
    limit = view.card_bytes * WEIGHTS_SHARE - INFERENCE_BYTES - view.reserve_bytes
    return {"file_bytes": max(sizes), "after_bytes": 2 * max(sizes)} if 2 * max(sizes) <= limit else None


def _cpu_vae_slow(view: View) -> Params | None:
    room = usable_bytes(view)
    if not view.has("--cpu-vae") or view.gpu is None or room is None:
        return None
    peaks = [(model.peak_high_bytes, model.size_bytes or 0) for model in view.planned("vae")]
    needs = [peak + size for peak, size in peaks if peak is not None]
    if not needs or max(needs) > room:
        return None
    return {"need_bytes": max(needs), "card_bytes": view.card_bytes}


def _split_attention(view: View) -> Params | None:
    """xformers is used before these flags, and on NVIDIA only they change the estimate."""
    given = view.given(SPLIT_ATTENTION)
    xformers = "xformers" in view.host.versions and not view.has("--disable-xformers")
    if not given or view.gpu is None or view.gpu.kind != "cuda" or xformers:
        return None
    dtypes = [model.compute_dtype or model.dtype for model in view.loaded("diffusion")]
    return {"flag": given[0], "factor": SPLIT_FACTOR.get(dtypes[0] or "" if dtypes else "", 7.5)}


def _half_used(view: View) -> Params | None:
    run = view.last_run
    if view.gpu is None or view.card_bytes is None or run.peak_bytes is None or not run.streamed_bytes:
        return None
    if view.given(MEMORY_FLAGS) or run.peak_bytes >= 0.6 * view.card_bytes or run.finished is False:
        return None
    params = {"peak_bytes": run.peak_bytes, "card_bytes": view.card_bytes, "streamed_bytes": run.streamed_bytes}
    return {**params, "variant": "static"} if view.dynamic is False else params if view.dynamic else None


RULES = (
    Rule(
        id="resident-too-large",
        severity="problem",
        rank=60,
        when=too_large,
        title="{flag}: {stage} wants {need_bytes}, and a run can have {room_bytes} of the card's {card_bytes}",
        why=(
            "It keeps {weights_bytes} of weights on the card, and {stage} takes at least {beside_bytes} beside them. "
            "Dynamic VRAM, which it switches off, would load weights as they are needed."
        ),
        check="The run ends without out of memory, and VRAM in use stays below {card_bytes}.",
        source="ComfyUI #14340; comfy/cli_args.py and comfy/model_management.py 0.30.0",
        remove=RESIDENT,
    ),
    Rule(
        id="resident-may-not-fit",
        severity="warning",
        rank=207,
        when=may_be_too_large,
        title="{flag}: {stage} may want {need_bytes}, and a run can have {room_bytes} of the card's {card_bytes}",
        why=(
            "It keeps {weights_bytes} of weights on the card, and {stage} takes up to {beside_bytes} beside them. "
            "Dynamic VRAM, which it switches off, would load weights as they are needed."
        ),
        check="The run ends without out of memory, and VRAM in use stays below {card_bytes}.",
        source="ComfyUI #14340; comfy/cli_args.py and comfy/model_management.py 0.30.0",
        remove=RESIDENT,
    ),
    Rule(
        id="novram-needless",
        severity="warning",
        rank=220,
        when=_novram_needless,
        title="`--novram` copies {weights_bytes} to the card in each step, and all would fit",
        why="Weights and working memory take {need_bytes} of {card_bytes}. The flag keeps none of them there.",
        check="The time per step falls.",
        source="comfy/model_management.py 0.30.0, load_models_gpu",
        remove=("--novram",),
        variants={
            "seconds": Wording(
                why=(
                    "Weights and working memory take {need_bytes} of {card_bytes}. The flag keeps none of them there, "
                    "which costs about {step_seconds} per step at this card's link."
                )
            )
        },
    ),
    Rule(
        id="disabled-dynamic-too-large",
        severity="warning",
        rank=260,
        when=_disabled_dynamic,
        title="`--disable-dynamic-vram`: {streamed_bytes} of {weights_bytes} are copied in each step",
        why=(
            "Without dynamic VRAM a fixed part of a model stays in RAM, by an estimate made before the run; here "
            "about {room_bytes} fit."
        ),
        fix="Compare two runs: where activations are large, the fixed split can be the one that does not fail.",
        check="The time per step in the second run.",
        source="ComfyUI #13598; comfy/model_management.py 0.30.0, load_models_gpu",
        remove=("--disable-dynamic-vram",),
        variants={
            "seconds": Wording(
                why=(
                    "Without dynamic VRAM a fixed part of a model stays in RAM, by an estimate made before the run; "
                    "here about {room_bytes} fit, and the rest costs about {step_seconds} per step."
                )
            )
        },
    ),
    Rule(
        id="fp32-doubles",
        severity="warning",
        rank=250,
        when=_fp32_doubles,
        title="{flag} makes the model {after_bytes}; in 16 bit it is {before_bytes}",
        why="The card has {card_bytes}: in 16 bit the model fits, in fp32 it does not, and computing takes longer.",
        check="The loaded model is half as large, and the time per step falls.",
        source="comfy/model_management.py 0.30.0, unet_dtype",
        remove=("--force-fp32", "--fp32-unet"),
        variants={
            "text-encoder": Wording(
                why=(
                    "The card has {card_bytes}: in 16 bit the model fits, in fp32 it does not. {flag} also moves the "
                    "text encoder to the CPU."
                )
            )
        },
    ),
    Rule(
        id="fp8-upcast",
        severity="warning",
        rank=255,
        when=_fp8_upcast,
        title="The fp8 file of {file_bytes} becomes {after_bytes} here",
        why="This card cannot compute in fp8, so ComfyUI makes 16 bit of it while it fits, in VRAM and in RAM.",
        fix="That stores every diffusion model in fp8, also one whose file is not.",
        otherwise="Use a smaller file, or one in scaled fp8.",
        check="The loaded model is as large as its file.",
        source="ComfyUI #5171; comfy/model_management.py 0.30.0, unet_dtype",
        add=("--fp8_e4m3fn-unet",),
        variants={
            "flag": Wording(
                title="{flag} makes {after_bytes} of the fp8 file of {file_bytes}",
                why="The flag decides what is stored, so ComfyUI widens the file when it loads it, in VRAM and in RAM.",
                fix="ComfyUI then keeps fp8 where the card can compute in it, or where 16 bit would not fit.",
                remove=("--fp32-unet", "--bf16-unet", "--fp16-unet", "--force-fp16"),
                add=(),
            )
        },
    ),
    Rule(
        id="cpu-vae-slow",
        severity="warning",
        rank=270,
        when=_cpu_vae_slow,
        title="`--cpu-vae`, and a decode of {need_bytes} fits the card of {card_bytes}",
        why="On the CPU a decode takes seconds to minutes where a card takes fractions of a second.",
        check="The decode takes a fraction of the time.",
        source="comfy/model_management.py 0.30.0, vae_device",
        remove=("--cpu-vae",),
    ),
    Rule(
        id="split-attention-estimate",
        severity="info",
        rank=675,
        when=_split_attention,
        title="{flag} makes ComfyUI's estimate of a run {factor} times larger",
        why=(
            "ComfyUI counts with another formula for it, so it unloads more models and keeps fewer weights on the "
            "card. What a run really takes is another matter."
        ),
        check="The time per step, and fewer models unloaded in the log.",
        source="comfy/model_base.py 0.30.0, memory_required",
        remove=SPLIT_ATTENTION,
    ),
    Rule(
        id="half-used",
        severity="info",
        rank=690,
        when=_half_used,
        title="The last run peaked at {peak_bytes} of {card_bytes} and copied {streamed_bytes} of weights",
        why=(
            "More weights could stay on the card. Low use alone is no fault: dynamic VRAM keeps what a larger picture "
            "would need."
        ),
        fix=(
            "Compare the time per step of two runs. Guides that name a negative `--reserve-vram` trick the estimate, "
            "which can end in out of memory."
        ),
        otherwise="Compare the time per step at another size of picture before any change.",
        check="The time per step of the second run, and the peak of VRAM.",
        source="ComfyUI #14447",
        add=("--disable-dynamic-vram",),
        variants={
            "static": Wording(
                why="ComfyUI's estimate was larger than what the run took. More weights could stay on the card.",
                add=("--enable-dynamic-vram",),
            )
        },
    ),
)
