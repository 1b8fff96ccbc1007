"""Flags that make a model or a VAE compute in a dtype, or with an attention, that is known to fail there."""

from __future__ import annotations

from ..cause_table import FP16_OVERFLOWS, GTX_16
from .fit import computes_fp16, has_bf16
from .no_effect import KL_CLASSES
from .rule import Params, Rule, Wording
from .view import View

#: supported_models and model_base classes whose VAE is the SDXL one.
SDXL_FAMILIES = {
    *("SDXL", "SDXLRefiner", "SDXL_instructpix2pix", "SSD1B", "KOALA_700M", "KOALA_1B", "Segmind_Vega"),
    *("AuraFlow", "PixArtSigma", "HunyuanDiT", "HunyuanDiT1"),
}


def _fp16_vae_in_use(view: View) -> bool:
    """On the CPU see cpu-vae-fp16; what came out finite once is no risk."""
    on_card = view.has("--fp16-vae") and not view.given(("--cpu-vae", "--cpu"))
    return on_card and view.last_run.finite_fp16_decode is not True


def _fp16_vae(view: View) -> Params | None:
    """Asked of the models, since a header cannot tell the fixed VAE from the original; without a VAE that is named the
    model's own is taken."""
    loaded = view.loaded("vae")
    kl = not loaded or any(model.class_name in KL_CLASSES for model in loaded) or bool(view.planned("vae"))
    family = sorted(view.families & SDXL_FAMILIES)
    return {"family": family[0]} if _fp16_vae_in_use(view) and kl and family else None


def _fp16_vae_alone(view: View) -> Params | None:
    """No model is known that the flag could be asked of."""
    models = [*view.snapshot.models, *(view.snapshot.workflow_models or ())]
    return {} if _fp16_vae_in_use(view) and not models else None


def _fp16_16xx(view: View) -> Params | None:
    """Only ``--force-fp16``: with ``--fp16-unet`` alone ComfyUI stores fp16 on these cards and computes in fp32."""
    if computes_fp16(view) != "--force-fp16" or view.gpu is None or not any(n in view.gpu.name for n in GTX_16):
        return None
    return {"gpu": view.gpu.name}


def _fp16_overflow(view: View) -> Params | None:
    flag = computes_fp16(view)
    family = sorted(view.families & FP16_OVERFLOWS)
    bf16 = has_bf16(view.gpu) if view.gpu else None
    if flag is None or not family or bf16 is None:
        return None
    return {"flag": flag, "family": family[0], **({"variant": "bf16"} if bf16 else {})}


def _fp16_intermediates(view: View) -> Params | None:
    return {} if view.has("--fp16-intermediates") else None


def _sage(view: View) -> Params | None:
    if not view.has("--use-sage-attention"):
        return None
    if "QwenImage" in view.families:
        return {"family": "Qwen-Image"}
    loaded = [
        model.family or model.class_name
        for model in view.loaded("diffusion")
        if (model.dtype or "").startswith("fp8") and model.quantised is False
    ]
    files = [model.family or "" for model in view.planned("diffusion") if model.fp8 and model.scaled is False]
    unscaled = any(family.upper().startswith("WAN") for family in (*loaded, *files))
    return {"family": "Wan in unscaled fp8"} if unscaled else None


def _xformers(view: View) -> Params | None:
    bad = view.host.versions.get("xformers", "").startswith("0.0.18")
    return {} if bad and view.gpu and not view.has("--disable-xformers") else None


RULES = (
    Rule(
        id="fp16-16xx",
        severity="problem",
        rank=70,
        when=_fp16_16xx,
        title="`--force-fp16` gives black or green images on the {gpu}",
        why="fp16 is broken on the GTX 16 series, and ComfyUI computes in fp32 there unless this flag forbids it.",
        check="The image is not black.",
        source="ComfyUI #884; comfy/model_management.py 0.30.0, should_use_fp16",
        remove=("--force-fp16",),
    ),
    Rule(
        id="fp16-no-bf16-model",
        severity="problem",
        rank=75,
        when=_fp16_overflow,
        title="{flag} makes {family} compute in fp16, where it overflows",
        why="Its values leave the range of fp16, and the image is black. This card has no bf16.",
        fix=(
            "ComfyUI then computes in fp32 and stores 16 bit. `--fp32-unet` does the same and takes twice the memory."
        ),
        check="The image is not black.",
        source="ComfyUI #10668, #10751, #10800, PR#12522; Tongyi-MAI/Z-Image #14, #15",
        remove=("--force-fp16", "--fp16-unet"),
        variants={
            "bf16": Wording(
                why="Its values leave the range of fp16, and the image is black. The card can do bf16.",
                fix="ComfyUI then takes bf16 by itself.",
            )
        },
    ),
    Rule(
        id="xformers-0018",
        severity="problem",
        rank=80,
        when=_xformers,
        title="xformers 0.0.18 gives black images above a certain size",
        why="It is a fault of that version; ComfyUI warns of it in the start log and keeps it out of the VAE only.",
        fix="Or install another version of xformers.",
        otherwise="Install another version of xformers.",
        check="The image is not black.",
        source="ComfyUI #394, #449; comfy/model_management.py 0.30.0",
        add=("--disable-xformers",),
    ),
    Rule(
        id="fp16-vae-overflow",
        severity="warning",
        rank=210,
        when=_fp16_vae,
        title="`--fp16-vae` may give black images with {family}",
        why=(
            "The values of the original SDXL VAE leave the range of fp16; those of the fp16-fix VAE do not. A file's "
            "header does not tell which of the two it is."
        ),
        fix="Or use the fp16-fix VAE, or `--bf16-vae` where the card can do bf16.",
        check="The image is not black.",
        source="madebyollin/sdxl-vae-fp16-fix; comfy/cli_args.py, help of the flag",
        remove=("--fp16-vae",),
    ),
    Rule(
        id="fp16-vae-alone",
        severity="info",
        rank=678,
        when=_fp16_vae_alone,
        title="`--fp16-vae` may give black images with some VAEs",
        why=(
            "ComfyUI's own help of the flag says so. The original SDXL VAE is one of them: its values leave the range "
            "of fp16."
        ),
        fix="ComfyUI then takes bf16 or fp32 by itself. Leave the flag if no image comes out black.",
        check="The image is not black.",
        source="madebyollin/sdxl-vae-fp16-fix; comfy/cli_args.py 0.30.0, help of the flag",
        remove=("--fp16-vae",),
    ),
    Rule(
        id="sage-nan",
        severity="warning",
        rank=215,
        when=_sage,
        title="`--use-sage-attention` with {family} is known to give black images",
        why="It was reported for this model; without the flag the same workflow was fine.",
        check="The image is not black.",
        source="ComfyUI #9223; QwenLM/Qwen-Image #68",
        remove=("--use-sage-attention",),
    ),
    Rule(
        id="fp16-intermediates-inf",
        severity="info",
        rank=680,
        when=_fp16_intermediates,
        title="`--fp16-intermediates` turns values above 65504 into Inf",
        why="Latents and images go from node to node in fp16, which ends there. It saves RAM between nodes.",
        fix="Leave it if no image comes out black.",
        check="Latent Guard behind the sampler finds no Inf.",
        source="comfy/sample.py and comfy/sd.py 0.30.0, intermediate_dtype",
        remove=("--fp16-intermediates",),
    ),
)
