"""What the host makes a VAE compute in (comfy/model_management.py 0.30.0, vae_dtype)."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from .vae_formulas import Vae

#: Each sets the dtype at once, whatever the device and the VAE are good for. The first that is there counts.
DTYPE_FLAGS = {"--fp16-vae": "fp16", "--bf16-vae": "bf16", "--fp32-vae": "fp32"}


@dataclass(frozen=True)
class VaeDevice:
    """The device as the choice sees it; None where that is not known."""

    cpu: bool
    """The CPU, be it by --cpu or by --cpu-vae."""
    fp16: bool | None = None
    bf16: bool | None = None
    """Whether the host uses it there by itself: NVIDIA from compute capability 8.0 for bf16, 7.0 for fp16, the GTX 16
    series apart."""


def pick_dtype(vae: Vae, flags: Collection[str], device: VaeDevice) -> str | None:
    """fp16, bf16 or fp32; None where it depends on what is not known of the device.

    Args:
        vae: which VAE; its working dtypes are tried in the host's order.
        flags: the flags that the host was started with, ``--fp16-vae`` and so on.
        device: where it runs.
    """
    for flag, dtype in DTYPE_FLAGS.items():
        if flag in flags:
            return dtype
    if device.cpu or "--force-fp32" in flags:
        return "fp32"
    for dtype in vae.formula.dtypes:
        if dtype == "fp32":
            break
        usable = "--force-fp16" in flags or device.fp16 if dtype == "fp16" else device.bf16
        if usable is None:
            return None
        if usable:
            return dtype
    return "fp32"
