"""What a VAE decode or encode really needs, as a range around the host's formula.

``reserved_by_host`` is the host's own number (comfy/sd.py 0.30.0, VAE.memory_used_decode and memory_used_encode). It
steers what the host evicts and is a heuristic: measured peaks are 0.2 to 1.3 times it, and for VAEs that stream it can
be a hundred times too high. A row says between which multiples of it the real peak lies, and where that was measured.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class PeakRow:
    """Multiples of ``reserved_by_host`` that bound the real peak of one kind of VAE."""

    classes: tuple[str, ...]
    dims: int
    ratio: int
    """Pixels per latent element, along one side."""
    frames: tuple[int, int]
    """Latent frames for which it holds, both ends included."""
    low: float
    high: float
    source: str


DECODE_ROWS = (
    PeakRow(
        classes=("AutoencoderKL", "AutoencodingEngine"),
        dims=2,
        ratio=8,
        frames=(1, 1),
        low=0.40,
        high=0.76,
        # CPU, ch=128: 226.5 KiB per latent element in fp32 and 129 in bf16, of 544.5 and 272 reserved. SDXL 1024x1024
        # on CUDA: 3232 MB of 4356 in fp16, 5568 of 8712 in fp32 (InvokeAI PR#7674, reserved by the allocator).
        source="measured: KL decoder on CPU; SDXL on CUDA (InvokeAI PR#7674)",
    ),
    PeakRow(
        classes=("WanVAE",),
        dims=3,
        ratio=8,
        frames=(1, 1),
        low=1.0,
        high=1.35,
        # Qwen-Image 1024x1024 bf16: 4.37 GiB of 4.30 reserved (ComfyUI PR#11199); 5.254 GiB (InvokeAI PR#9427).
        source="measured: Qwen-Image 1024x1024 on CUDA (ComfyUI PR#11199, InvokeAI PR#9427)",
    ),
    PeakRow(
        classes=("WanVAE",),
        dims=3,
        ratio=8,
        frames=(2, 4),
        low=0.8,
        high=3.2,
        # The host's formula drops from 7000 to 2200 below five latent frames, the real peak does not.
        source="analysis: the decoder walks two latent frames at a time whatever the length",
    ),
    PeakRow(
        classes=("WanVAE",),
        dims=3,
        ratio=8,
        frames=(5, 10**6),
        low=0.75,
        high=1.0,
        # 640x480, 81 frames, bf16: 3,389,870,592 bytes of 4,300,800,000 reserved.
        source="measured: Wan 2.1 640x480x81 on CUDA (WanVideoWrapper PR#2042)",
    ),
)

ENCODE_ROWS = (
    PeakRow(
        classes=("AutoencoderKL", "AutoencodingEngine"),
        dims=2,
        ratio=8,
        frames=(1, 1),
        low=0.20,
        high=0.65,
        # CPU, ch=128, 128 to 384 pixels a side: 1554 to 1613 bytes per pixel in fp32 and 782 to 804 in bf16, of 7068
        # and 3534 reserved: 0.22 to 0.23. FLUX.1 3072x3072 on CUDA: 18.8 GiB of 31.1, by other code and reserved by
        # the allocator (InvokeAI, low-VRAM guide).
        source="measured: KL encoder on CPU; FLUX.1 3072x3072 on CUDA (InvokeAI)",
    ),
)


@dataclass(frozen=True)
class Peak:
    """A range of bytes; None where nothing is known."""

    reserved_by_host_bytes: int | None
    low_bytes: int | None
    high_bytes: int | None
    source: str


UNKNOWN_PEAK = Peak(None, None, None, "unknown")


def decode_peak(vae_class: str, *, dims: int, ratio: int, frames: int, reserved_bytes: int | None) -> Peak:
    """The range for decoding one batch item; see ``peak_in``."""
    return peak_in(DECODE_ROWS, vae_class, dims=dims, ratio=ratio, frames=frames, reserved_bytes=reserved_bytes)


def encode_peak(vae_class: str, *, dims: int, ratio: int, frames: int, reserved_bytes: int | None) -> Peak:
    """The range for encoding one image or video; see ``peak_in``."""
    return peak_in(ENCODE_ROWS, vae_class, dims=dims, ratio=ratio, frames=frames, reserved_bytes=reserved_bytes)


def peak_in(
    rows: Sequence[PeakRow], vae_class: str, *, dims: int, ratio: int, frames: int, reserved_bytes: int | None
) -> Peak:
    """The range that the rows give, unknown where none fits.

    Args:
        rows: DECODE_ROWS or ENCODE_ROWS.
        vae_class: class name of the VAE's module (``first_stage_model``).
        dims: 2 for image VAEs, 3 for video VAEs.
        ratio: pixels per latent element along one side.
        frames: latent frames, 1 for images.
        reserved_bytes: the host's formula on that shape, None where it gives none.
    """
    if reserved_bytes is not None:
        for row in rows:
            fits = vae_class in row.classes and dims == row.dims and ratio == row.ratio
            if fits and row.frames[0] <= frames <= row.frames[1]:
                low, high = int(reserved_bytes * row.low), int(reserved_bytes * row.high)
                return Peak(reserved_bytes, low, high, row.source)
    return Peak(reserved_bytes, None, None, "unknown: not measured for this kind of VAE")
