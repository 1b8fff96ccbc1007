"""The likely causes of a NaN as data, one row per cause, each with who reported it. ``causes.rank`` reads them.

To add one: a row here and a test in tests/core/test_causes.py with facts that must bring it and facts that must not.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from .facts import Facts

#: Cards on which fp16 itself is broken (ComfyUI #884); the list of comfy/model_management.py 0.30.0.
GTX_16 = ("1660", "1650", "1630", "T500", "T550", "T600", "MX550", "MX450", "CMP 30HX", "T2000", "T1000", "T1200")
#: Models whose activations leave the range of fp16; names as in comfy.supported_models.
FP16_OVERFLOWS = frozenset({"QwenImage", "ZImage", "ZImagePixelSpace"})
FORCED_FP16 = ("--force-fp16", "--fp16-unet")
FP8_UNET = ("--fp8_e4m3fn-unet", "--fp8_e5m2-unet", "--fp8_e8m0fnu-unet")
LATENT, DECODE, ENCODE = ("latent",), ("decode",), ("encode",)
VAE, ANY = (*DECODE, *ENCODE), (*LATENT, *DECODE, *ENCODE)


@dataclass(frozen=True)
class Row:
    """One cause: where it applies, how it ranks, what to say."""

    id: str
    rank: int
    """Lower comes first: 1 to 19 fits a report closely, 20 to 49 fits a kind, 50 and up is general."""
    stages: Sequence[str]
    applies: Callable[[Facts], bool]
    text: str
    """Reads on after "Likely:". Names in braces are filled by ``causes``."""
    source: str
    adds: Callable[[Facts], str] | None = None
    """The flag that the text says to add, as ``{fix}``; the row is silent where it cannot be added."""
    drops: Sequence[str] = ()
    """Flags that the text says to leave out, as ``{given}``; the row is silent where none of them is given."""


def _wider_unet(facts: Facts) -> str:
    return "--bf16-unet" if facts.bf16 else "--fp32-unet"


def _wider_vae(facts: Facts) -> str:
    return "--bf16-vae" if facts.bf16 else "--fp32-vae"


def _is_gtx16(facts: Facts) -> bool:
    return facts.gpu_name is not None and any(name in facts.gpu_name for name in GTX_16)


def _runs_fp16(facts: Facts) -> bool:
    """The model computed in fp16, or, where that is unknown, was told to.

    On the GTX 16 series only ``--force-fp16`` does that: with ``--fp16-unet`` ComfyUI stores fp16 there and computes
    in fp32 (comfy/model_management.py 0.30.0, should_use_fp16; tests/core/flags/test_host_decisions.py).
    """
    obeyed = FORCED_FP16[:1] if _is_gtx16(facts) else FORCED_FP16
    forced = any(flag in facts.flags for flag in obeyed) and "--fp32-unet" not in facts.flags
    return facts.dtype == "fp16" or (facts.dtype is None and forced)


def _on_gtx16(facts: Facts) -> bool:
    return _is_gtx16(facts) and _runs_fp16(facts)


def _part_of_batch(facts: Facts) -> bool:
    return facts.items is not None and facts.bad_items is not None and 0 < facts.bad_items < facts.items


def _fails_from_second_model(facts: Facts) -> bool:
    return facts.previous_finite is True and "--fast" in facts.flags


CAUSES: tuple[Row, ...] = (
    Row(
        id="xformers-0018",
        rank=1,
        # Not for a decode: ComfyUI itself keeps this version out of the VAE.
        stages=LATENT,
        applies=lambda f: f.versions.get("xformers", "").startswith("0.0.18") and f.attention in {None, "xformers"},
        text="xformers 0.0.18 gives black images above a certain size. Install another version of it.",
        source="ComfyUI #394, #449; comfy/model_management.py 0.30.0 warns about this version",
    ),
    Row(
        id="fp16-vae-flag",
        rank=2,
        stages=VAE,
        applies=lambda f: f.dtype in {None, "fp16"},
        text="this VAE overflows in fp16: start without {given}.",
        drops=("--fp16-vae",),
        source="madebyollin/sdxl-vae-fp16-fix; ComfyUI's own help text of the flag",
    ),
    Row(
        id="fp16-intermediates",
        rank=3,
        stages=ANY,
        applies=lambda f: f.only_inf is True,
        text="{given} turns values above 65504 into Inf. Start without it.",
        drops=("--fp16-intermediates",),
        source="comfy/model_management.py 0.30.0, intermediate_dtype",
    ),
    Row(
        id="fp16-gtx16-forced",
        rank=5,
        stages=LATENT,
        applies=_on_gtx16,
        text="fp16 is broken on the GTX 16 series, and this is a {gpu}. Start without {given}.",
        drops=("--force-fp16",),
        source="ComfyUI #884",
    ),
    Row(
        id="fp16-gtx16",
        rank=6,
        stages=LATENT,
        applies=lambda f: _on_gtx16(f) and "--force-fp16" not in f.flags,
        text="fp16 is broken on the GTX 16 series, and this is a {gpu}. Try {fix}.",
        adds=lambda f: "--fp32-unet",
        source="ComfyUI #884",
    ),
    Row(
        id="sage-attention",
        rank=8,
        stages=LATENT,
        applies=lambda f: f.model_class == "QwenImage",
        text="sage attention in {model}. Try without {given}.",
        drops=("--use-sage-attention",),
        source="ComfyUI #9223; QwenLM/Qwen-Image #68",
    ),
    Row(
        id="fp16-overflow-known",
        rank=10,
        stages=LATENT,
        applies=lambda f: _runs_fp16(f) and f.model_class in FP16_OVERFLOWS,
        text="fp16 overflow in {model}{at_size}. Try {fix}.",
        adds=_wider_unet,
        source="ComfyUI #10668, #10751, #10800, PR#12522; Tongyi-MAI/Z-Image #14, #15",
    ),
    Row(
        id="fast-second-model",
        rank=12,
        stages=LATENT,
        applies=_fails_from_second_model,
        text="{given}: the first model of a session was fine and the second one black. Try without.",
        drops=("--fast", *FP8_UNET),
        source="ComfyUI #4572",
    ),
    Row(
        id="no-upcast",
        rank=15,
        stages=LATENT,
        applies=_runs_fp16,
        text="attention overflows in fp16. Start without {given}.",
        drops=("--dont-upcast-attention",),
        source="comfy/cli_args.py 0.30.0, help of --force-upcast-attention",
    ),
    Row(
        id="bf16-vae-amd",
        rank=18,
        stages=VAE,
        applies=lambda f: f.vendor == "amd" and (f.dtype == "bf16" or (f.dtype is None and "--bf16-vae" in f.flags)),
        text="bf16 in the VAE fails on some AMD cards and ROCm versions. Try {fix}.",
        adds=lambda f: "--fp32-vae",
        source="ComfyUI #9547, #15436",
    ),
    Row(
        id="fp16-overflow",
        rank=20,
        stages=LATENT,
        applies=lambda f: _runs_fp16(f) and f.model_class not in FP16_OVERFLOWS,
        text="fp16 overflow in {model}{at_size}. Try {fix}.",
        adds=_wider_unet,
        source="ComfyUI #10668, #16249; Tongyi-MAI/Z-Image #14",
    ),
    Row(
        id="fp16-vae",
        rank=20,
        stages=VAE,
        applies=lambda f: f.dtype == "fp16" and "--fp16-vae" not in f.flags,
        text="this VAE overflows in fp16. Try {fix}.",
        adds=_wider_vae,
        source="madebyollin/sdxl-vae-fp16-fix; InvokeAI #2580, #4083",
    ),
    Row(
        id="sage-attention-other",
        rank=25,
        stages=LATENT,
        applies=lambda f: f.model_class != "QwenImage",
        text="sage attention, which fails in some models. Try without {given}.",
        drops=("--use-sage-attention",),
        source="ComfyUI #9223",
    ),
    Row(
        id="flash-attention",
        rank=26,
        stages=LATENT,
        applies=lambda f: True,
        text="flash attention, which fails on some cards. Try without {given}.",
        drops=("--use-flash-attention",),
        source="ai-bond/flash-attention-v100 #36, #43; ComfyUI #14691",
    ),
    Row(
        id="fast",
        rank=30,
        stages=LATENT,
        applies=lambda f: not _fails_from_second_model(f),
        text="a speed-up that costs precision. Try without {given}.",
        drops=("--fast", *FP8_UNET),
        source="ComfyUI #4572; QwenLM/Qwen-Image #68",
    ),
    Row(
        id="amd-reserve",
        rank=35,
        stages=LATENT,
        applies=lambda f: f.vendor == "amd" and (f.gpu_arch or "").startswith("gfx10") and f.dynamic_vram is not False,
        text="too little VRAM kept free on {arch}. Try {fix}{or_static}.",
        adds=lambda f: "--reserve-vram 2",
        source="Comfy-Org/comfy-aimdo #94",
    ),
    Row(
        id="upcast-attention",
        rank=40,
        stages=LATENT,
        applies=_runs_fp16,
        text="attention overflows in fp16. Try {fix}.",
        adds=lambda f: "--force-upcast-attention",
        source="comfy/cli_args.py 0.30.0, help of the flag; it did not help in ComfyUI #9046",
    ),
    Row(
        id="part-of-batch",
        rank=50,
        stages=LATENT,
        applies=lambda f: f.vendor != "cpu" and _part_of_batch(f),
        text="too large a batch for this card: only some items fail. Try a smaller batch.",
        source="ComfyUI #13116; AUTOMATIC1111 #5259; vladmandic/sdnext #374, #2901, #3450",
    ),
    Row(
        id="unknown",
        rank=90,
        stages=LATENT,
        applies=lambda f: True,
        text=(
            "a sampler or scheduler that does not suit the model, a LoRA or a damaged model file; the settings do not "
            "tell which. Try the template's sampler settings, then without LoRAs."
        ),
        source="ComfyUI PR#16019 (a sigma above 1 gave the logarithm of a negative number)",
    ),
    Row(
        id="unknown-decode",
        rank=90,
        stages=DECODE,
        applies=lambda f: True,
        text=(
            "a damaged VAE file or a fault in the driver; the latent was finite and the settings do not tell which. "
            "Try another copy of the VAE."
        ),
        source="ComfyUI #15436; deepbeepmeep/Wan2GP #2367",
    ),
    Row(
        id="unknown-encode",
        rank=90,
        stages=ENCODE,
        applies=lambda f: True,
        text=(
            "a damaged VAE file, one without an encoder, or a fault in the driver; the images were finite and the "
            "settings do not tell which. Try another copy of the VAE."
        ),
        source="comfy/sd.py 0.30.0 only warns of keys that a VAE file lacks; ComfyUI #15436",
    ),
)
