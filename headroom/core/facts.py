"""What is known when a NaN is found: plain data, filled by ``headroom/host/facts.py``, read by ``causes``."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from .latent import LatentCheck

Stage = Literal["latent", "decode", "encode"]
Vendor = Literal["nvidia", "amd", "intel", "apple", "cpu"]


@dataclass(frozen=True)
class Facts:
    """The facts at hand; None means unknown and never counts for or against a cause."""

    stage: Stage
    """Where it was found: in a latent, in a picture whose latent was finite, or in the latent of finite images."""
    dtype: str | None = None
    """What the model (stage latent) or the VAE (stages decode and encode) computes in: fp16, bf16, fp32."""
    device: str | None = None
    vendor: Vendor | None = None
    gpu_name: str | None = None
    gpu_arch: str | None = None
    """AMD's name of the architecture, such as gfx1030."""
    capability: tuple[int, int] | None = None
    """NVIDIA's compute capability."""
    bf16: bool | None = None
    """Whether the host offers bf16 on this device."""
    flags: frozenset[str] = frozenset()
    """The launch flags given, in full and without their values."""
    known_flags: frozenset[str] | None = None
    """The flags that this version of the host knows; None where its parser could not be read."""
    attention: str | None = None
    """sage, flash, xformers, pytorch, split or quad."""
    model_class: str | None = None
    """Name in comfy.supported_models: QwenImage, ZImage, SDXL, WAN21_T2V."""
    pixel_ratio: int | None = None
    """Pixels per latent element along one side, for the size in a text."""
    vae_class: str | None = None
    versions: Mapping[str, str] = field(default_factory=dict)
    """comfyui, torch, xformers, rocm, as far as they are there."""
    dynamic_vram: bool | None = None
    items: int | None = None
    """Batch items in the latent or picture."""
    bad_items: int | None = None
    bad_share: float | None = None
    """Share of bad values among all, above 0 up to 1."""
    only_inf: bool | None = None
    """There is Inf and no NaN."""
    previous_finite: bool | None = None
    """The last check before this one in the session found nothing; None at the first."""
    size: str | None = None
    """Width and height in pixels, as "1024×1024"."""

    @property
    def all_bad(self) -> bool | None:
        """Every value is bad."""
        return None if self.bad_share is None else self.bad_share >= 1


def with_latent(facts: Facts, check: LatentCheck) -> Facts:
    """The facts together with what a look at the latent found."""
    counts = check.counts
    elements = sum(math.prod(stream.shape) for stream in check.streams)
    first = check.streams[0]
    size = None
    if facts.pixel_ratio and first.kind in {"image", "video"}:
        height, width = (side * facts.pixel_ratio for side in first.shape[-2:])
        size = f"{width}×{height}"
    return replace(
        facts,
        items=check.items,
        bad_items=len(check.bad_items),
        bad_share=counts.bad / elements if elements else None,
        only_inf=counts.inf > 0 and counts.nan == 0,
        size=size,
    )
