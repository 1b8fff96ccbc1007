"""Flags and nodes that do nothing here, or less than their name says."""

from __future__ import annotations

import math

from .flag_table import NO_EFFECT
from .rule import Params, Rule, Wording
from .view import View

STATIC_ONLY = [flag for flag, where in NO_EFFECT.items() if where == "static"]
KL_CLASSES = {"AutoencoderKL", "AutoencodingEngine", "AutoencodingEngineLegacy"}
VAE_FLAGS = ("--fp16-vae", "--bf16-vae", "--fp32-vae")
#: Third-party nodes that swap blocks by themselves and meet dynamic VRAM.
SWAP_NODES = ("UniBlockSwap", "UniBlockSwapTE")


def _looks_at_dynamic(view: View) -> bool:
    """text_encoder_device asks whether dynamic VRAM is on: 0.18.2 does, 0.16.3 does not."""
    return view.version is None or view.version >= (0, 18, 2)


def _lowvram_noop(view: View) -> Params | None:
    if not (view.has("--lowvram") and view.dynamic is True and _looks_at_dynamic(view)):
        return None
    return {"variant": "headroom"} if view.knows("--vram-headroom") else {}


def _lowvram_text_encoder(view: View) -> Params | None:
    static = view.dynamic is False or (view.dynamic is True and not _looks_at_dynamic(view))
    sizes = view.sizes("text encoder")
    if not (view.has("--lowvram") and static and view.gpu and sizes):
        return None
    return {"text_encoder_bytes": sum(sizes)}


def _headroom_static(view: View) -> Params | None:
    flags = view.given(STATIC_ONLY)
    if view.number("vram_headroom") == 0 and "--vram-headroom" in flags:
        flags.remove("--vram-headroom")
    return {"flags": flags} if flags and view.dynamic is False else None


def _reserve_soft(view: View) -> Params | None:
    value = view.number("reserve_vram")
    if value is None or not math.isfinite(value) or value < 0 or view.dynamic is not True:
        return None
    if not view.has("--reserve-vram") or (view.number("vram_headroom") or 0) > 0 or view.card_bytes is None:
        return None
    over = value * 2**30 > view.card_bytes and not (view.gpu and view.gpu.unified)
    params = {"value": value, "card_bytes": view.card_bytes, "limit_bytes": int(view.card_bytes - value * 2**30)}
    if over or value == 0:
        return None
    return params if view.knows("--vram-headroom") else {**params, "variant": "no-headroom"}


def _novram_overruled(view: View) -> Params | None:
    return {} if view.has("--novram", "--enable-dynamic-vram") and view.dynamic is not False else None


def _async_gguf(view: View) -> Params | None:
    gguf = [model.name for model in view.snapshot.models if model.gguf]
    planned = any(model.gguf for model in view.snapshot.workflow_models or ())
    if not view.has("--async-offload") or view.has("--disable-async-offload") or not (gguf or planned):
        return None
    return {"model": gguf[0]} if gguf and gguf[0] else {"variant": "unnamed"}


def _nodes(view: View, names: tuple[str, ...]) -> list[str]:
    return [name for name in names if name in (view.snapshot.workflow_nodes or ())]


def _blockswap_node(view: View) -> Params | None:
    return {} if _nodes(view, ("wanBlockSwap",)) else None


def _swap_node_dynamic(view: View) -> Params | None:
    nodes = _nodes(view, SWAP_NODES)
    return {"node": nodes[0]} if nodes and view.dynamic is True else None


def _force_fp16_vae(view: View) -> Params | None:
    kl = [model for model in view.loaded("vae") if model.class_name in KL_CLASSES]
    if not view.has("--force-fp16") or view.given((*VAE_FLAGS, "--cpu-vae")) or not kl or not view.gpu:
        return None
    dtype = kl[0].dtype
    return {"dtype": dtype} if dtype else {"variant": "unknown"}


RULES = (
    Rule(
        id="lowvram-noop",
        severity="info",
        rank=610,
        when=_lowvram_noop,
        title="`--lowvram` has no effect here",
        why="Dynamic VRAM is active, and {comfyui} ignores the flag then. Weights already move as they are needed.",
        check="The time per step and the VRAM in use stay as they were.",
        source="ComfyUI PR#13922; comfy/model_management.py 0.30.0, text_encoder_device",
        remove=("--lowvram",),
        variants={
            "headroom": Wording(fix="ComfyUI's flag that keeps VRAM free for other programs is `--vram-headroom`.")
        },
    ),
    Rule(
        id="lowvram-text-encoder",
        severity="info",
        rank=605,
        when=_lowvram_text_encoder,
        title="`--lowvram` runs the text encoder of {text_encoder_bytes} on the CPU",
        why=(
            "That is all that the flag does in {comfyui}. It costs seconds at each change of the prompt and does not "
            "make the diffusion model smaller."
        ),
        check="After a change of the prompt the text encoder takes less time than before.",
        source="ComfyUI PR#13922; comfy/model_management.py 0.16.3 to 0.30.0, text_encoder_device",
        remove=("--lowvram",),
    ),
    Rule(
        id="headroom-static",
        severity="info",
        rank=615,
        when=_headroom_static,
        title="No effect here: {flags}",
        why="Dynamic VRAM is not active, and {comfyui} reads this only then.",
        check="VRAM in use stays as it was.",
        source="main.py and comfy/ops.py of ComfyUI 0.30.0",
        remove=STATIC_ONLY,
    ),
    Rule(
        id="reserve-soft",
        severity="info",
        rank=640,
        when=_reserve_soft,
        title="`--reserve-vram {value}` is a soft limit: use can reach {card_bytes}",
        why=(
            "Under dynamic VRAM it is a budget that counts neither the running activations nor other programs. "
            "`--vram-headroom` is the strict one."
        ),
        check="VRAM in use stays below {limit_bytes} while a prompt runs.",
        source="ComfyUI #15666, PR#14480, #14396",
        remove=("--reserve-vram",),
        add=("--vram-headroom {value:g}",),
        variants={
            "no-headroom": Wording(
                why=(
                    "Under dynamic VRAM it is a budget that counts neither the running activations nor other "
                    "programs. {comfyui} has no strict one."
                ),
                otherwise="Set a larger value if other programs need {value} GiB all the time.",
            )
        },
    ),
    Rule(
        id="novram-overruled",
        severity="info",
        rank=620,
        when=_novram_overruled,
        title="`--enable-dynamic-vram` overrules `--novram`",
        why="Dynamic VRAM stays on, so weights stay in VRAM as far as they fit, and the text encoder runs there.",
        check="VRAM in use stays as it was.",
        source="comfy/cli_args.py 0.30.0, enables_dynamic_vram",
        remove=("--novram",),
    ),
    Rule(
        id="async-gguf",
        severity="info",
        rank=625,
        when=_async_gguf,
        title="`--async-offload` does nothing for `{model}`",
        why=(
            "ComfyUI-GGUF copies its weights by itself, without ComfyUI's streams. ComfyUI does not pin them either: "
            "it pins only its own kinds of tensors."
        ),
        check="The time per step stays as it was.",
        source="ops.py of ComfyUI-GGUF; comfy/model_management.py 0.30.0, PINNING_ALLOWED_TYPES",
        remove=("--async-offload",),
        variants={"unnamed": Wording(title="`--async-offload` does nothing for GGUF models")},
    ),
    Rule(
        id="blockswap-node",
        severity="info",
        rank=630,
        when=_blockswap_node,
        title="The node `wanBlockSwap` does nothing",
        why="ComfyUI replaces it by an empty one and moves weights layer by layer itself.",
        fix="Remove the node. `WanVideoBlockSwap` of WanVideoWrapper is another node, and it works.",
        check="VRAM in use and time per step stay as they were.",
        source="ComfyUI PR#10783; orssorbit/ComfyUI-wanBlockswap #7, #8; comfy_extras/nodes_nop.py",
    ),
    Rule(
        id="swap-node-dynamic",
        severity="warning",
        rank=420,
        when=_swap_node_dynamic,
        title="`{node}` swaps blocks while dynamic VRAM is on",
        why='Both move the same weights; a run with 5.2 GiB of weights on a 32 GiB card ended in "VBAR OOM".',
        fix="Better: take the node out.",
        otherwise="Take the node out.",
        check='The run ends without "VBAR OOM".',
        source="smthemex/ComfyUI_UniBlockSwap #8",
        add=("--disable-dynamic-vram",),
    ),
    Rule(
        id="force-fp16-vae",
        severity="info",
        rank=645,
        when=_force_fp16_vae,
        title="`--force-fp16` does not change this VAE: it runs in {dtype}",
        why="ComfyUI runs a VAE of this kind in bf16 or fp32 only, unless a flag of its own says otherwise.",
        fix="Leave it so: in fp16 this kind can give black images.",
        check='The log says "VAE load device" with the dtype.',
        source="comfy/sd.py 0.30.0, working_dtypes of AutoencoderKL; comfy/model_management.py, vae_dtype",
        variants={"unknown": Wording(title="`--force-fp16` does not change the VAE")},
    ),
)
