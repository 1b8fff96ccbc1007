"""How large a model is under the flags, and whether it fits: arithmetic that the rules share."""

from __future__ import annotations

from dataclasses import dataclass

from ..cause_table import GTX_16
from ..readings import Device
from .view import INFERENCE_BYTES, View

#: maximum_vram_for_weights (comfy/model_management.py 0.30.0): the share of a card that ComfyUI gives to weights.
WEIGHTS_SHARE = 0.88
#: What the unet flags store, in the order in which ComfyUI asks for them (unet_dtype).
UNET_ORDER = (
    ("--fp32-unet", "fp32"),
    ("--fp64-unet", "fp64"),
    ("--bf16-unet", "bf16"),
    ("--fp16-unet", "fp16"),
    ("--force-fp16", "fp16"),
    ("--fp8_e4m3fn-unet", "fp8"),
    ("--fp8_e5m2-unet", "fp8"),
    ("--fp8_e8m0fnu-unet", "fp8"),
)


@dataclass(frozen=True)
class Forced:
    """The flag that decides what the diffusion model is stored in."""

    flag: str
    dtype: str


def forced_dtype(view: View) -> Forced | None:
    """None where ComfyUI chooses by itself. ``--force-fp32`` alone is fp32, but leaves fp8 as it is."""
    for flag, dtype in UNET_ORDER:
        if view.has(flag):
            return Forced(flag, dtype)
    return Forced("--force-fp32", "fp32") if view.has("--force-fp32") else None


def computes_fp16(view: View) -> str | None:
    """The flag that makes the diffusion model compute in fp16, None where none does.

    ``--force-fp32`` beside ``--fp16-unet`` stores fp16 and computes fp32, and so does ``--fp16-unet`` alone on
    cards where ComfyUI does not use fp16 (should_use_fp16): the GTX 16 series, and Pascal and older outside Windows.
    """
    forced = forced_dtype(view)
    if forced is None or forced.dtype != "fp16" or view.has("--force-fp32"):
        return None
    if view.has("--force-fp16"):
        return "--force-fp16"
    return forced.flag if view.gpu is not None and _uses_fp16(view.gpu, view.windows) else None


def _uses_fp16(gpu: Device, windows: bool) -> bool:
    if any(name in gpu.name for name in GTX_16):
        return False
    return windows or gpu.capability is None or gpu.capability >= (7, 0)


def has_bf16(gpu: Device) -> bool | None:
    """bf16 as the card does it: torch says yes for older NVIDIA cards too, where it is emulated."""
    if gpu.kind == "cuda" and gpu.capability is not None:
        return gpu.capability >= (8, 0)
    return gpu.bf16


def working_bytes(view: View) -> int:
    """What a run needs beside the weights: the highest peak of the open workflow, at least ComfyUI's own minimum."""
    return max([INFERENCE_BYTES, *(model.peak_high_bytes or 0 for model in view.snapshot.workflow_models or ())])


def has_fp8_compute(view: View) -> bool | None:
    """Whether the card computes in fp8 (supports_fp8_compute): Ada and newer; None where that is unknown."""
    if view.has("--supports-fp8-compute"):
        return True
    if view.gpu is None or view.gpu.kind != "cuda" or view.gpu.capability is None:
        return None
    return view.gpu.capability >= (8, 9)
