"""The host's memory formula of every kind of VAE (comfy/sd.py 0.30.0, VAE.__init__), restated as data.

``memory_used_decode`` gets the latent's shape and ``memory_used_encode`` the pixels'; the channels stand at 1, so the
first length is at 2. The numbers are bytes per value of the dtype, so each is multiplied by its bytes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

Shape = Sequence[int]
Count = Callable[[Shape], float]
"""Bytes per byte of dtype, from a shape."""

LOW_FIRST = ("bf16", "fp32")
BF16_FIRST = ("bf16", "fp16", "fp32")
FP16_FIRST = ("fp16", "bf16", "fp32")
FP16_ONLY = ("fp16", "fp32")
FP32_ONLY = ("fp32",)

#: comfy/sd.py 0.30.0: what the KL kind takes on AMD.
AMD_RATIO = 2.73


def per(coefficient: float, *axes: int) -> Count:
    """A number for each element of some axes."""
    return lambda shape: coefficient * math.prod(shape[axis] for axis in axes)


@dataclass(frozen=True)
class HostFormula:
    """What the host sets for one kind of VAE."""

    dtypes: tuple[str, ...]
    """working_dtypes, in the host's order."""
    decode: Count | None
    encode: Count | None
    """None: the host refuses."""
    amd_decode: bool = False
    amd_encode: bool = False
    """Whether AMD_RATIO applies."""
    any_dtype: bool = False
    """The decode is in bytes, whatever the dtype."""
    streams: bool = False
    """comfy_has_chunked_io: what it decodes goes out piece by piece, so the output is never on the device."""
    owns_tiles: bool = False
    """handles_tiling."""
    decode_ratio: int | None = None
    """Pixels per latent element where a decode gives others than an encode takes."""
    output_channels: int = 3


def _least(coefficient: float, axis_least: float, tail: float) -> Count:
    """``coefficient * max(frames, least) * height * width * tail``."""
    return lambda shape: coefficient * max(shape[2], axis_least) * shape[3] * shape[4] * tail


def _stepped(short: int, long: int, tail: int) -> Count:
    """Wan 2.1: one number up to four frames and another above."""
    return lambda shape: (short if shape[2] <= 4 else long) * shape[3] * shape[4] * tail


def _out_frames(frames: int) -> int:
    return (frames - 1) * 4 + 1


def _tiny(coefficient: int, power: float, factor: float, tail: int) -> Count:
    """taehv: grows with a power of the frames."""
    return lambda shape: coefficient * (max(1, (shape[-3] ** power * factor)) * shape[-2] * shape[-1] * tail)


def _tiny_wan_decode(shape: Shape) -> float:
    return 50 * (max(1, (shape[-3] ** 0.65 * 0.26)) * shape[-2] * shape[-1] * 32 * 32)


def _seedvr2(shape: Shape) -> float:
    """Its colour matching sorts whole frames: 160 bytes for each pixel that comes out."""
    layouts = [shape[2:5]] if shape[1] == 16 or shape[-1] != 16 else []
    if shape[-1] == 16:
        layouts.append(shape[1:4])
    return 160 * max(max(1, _out_frames(t)) * h * 8 * w * 8 for t, h, w in layouts)


def _mmaudio_decode(shape: Shape) -> float:
    return 90 * shape[2] * 1411.2


def _cosmos_encode(shape: Shape) -> float:
    return 50 * (round((shape[2] + 7) / 8) * 8) * shape[3] * shape[4]


def _tokens(layers: int, copies: int) -> Count:
    """Hunyuan3D: (batch, tokens, width), with what each layer keeps."""
    return lambda shape: shape[0] * shape[1] * shape[2] * (1 + copies * layers)


def minimax_frames(latent_frames: int) -> int:
    """Frames that MiniMax's VAE makes of latent frames: 17 of every 5, and 5 more."""
    return max(1, (latent_frames - 2) // 5 * 17 + 5)


def _minimax_decode(shape: Shape) -> float:
    frames = minimax_frames(shape[2])
    fixed = 110_000_000 if frames <= 22 else 270_000_000
    return 9.5 * frames * (shape[3] * 16) * (shape[4] * 16) + fixed


def _minimax_encode(shape: Shape) -> float:
    frames = shape[2]
    fixed, each = (110_000_000, 7) if frames == 1 else (1_300_000_000, 9.5)
    return each * frames * shape[3] * shape[4] + fixed


def _minimax_audio_decode(shape: Shape) -> float:
    return max(42_000_000, 220 * (shape[-1] * 800) + 20_000_000)


KL_DECODE = per(2178 * 64, 2, 3)
KL_ENCODE = per(1767, 2, 3)
#: MiniMax's formulas end in this, after the dtype.
MINIMAX_MARGIN = 1.03
WITH_MARGIN = frozenset({"minimax", "minimax-audio"})


def _kl(decode: Count = KL_DECODE, decode_ratio: int | None = None) -> HostFormula:
    return HostFormula(LOW_FIRST, decode, KL_ENCODE, True, True, decode_ratio=decode_ratio)


def _sound(dtypes: tuple[str, ...], decode: Count, encode: Count) -> HostFormula:
    return HostFormula(dtypes, decode, encode, output_channels=2)


FORMULAS: dict[str, HostFormula] = {
    "svd": _kl(),
    "taesd": _kl(),
    "stage-a": _kl(),
    "stage-c": _kl(decode_ratio=8),
    "stage-c-encoder": _kl(decode_ratio=8),
    "stage-c-previewer": _kl(),
    "kl": _kl(),
    "kl-x4": _kl(),
    "kl-plain": _kl(),
    "flux2": _kl(per(2178 * 64 * 4, 2, 3)),
    "mage": HostFormula(LOW_FIRST, per(1000 * 256, 2, 3), per(400, 2, 3)),
    "hunyuan-image": HostFormula(FP16_FIRST, per(700 * 1024, 2, 3), per(700, 2, 3)),
    "pixels": HostFormula(LOW_FIRST, per(1, 2, 3), per(1, 2, 3)),
    "seedvr2": HostFormula(FP16_FIRST, _seedvr2, _least(1, 5, 64), any_dtype=True, owns_tiles=True),
    "hunyuan-refiner": HostFormula(FP16_FIRST, per(2800 * 256, -3, -2, -1), per(2800, -2, -1)),
    "mochi": HostFormula(FP16_ONLY, per(1000 * 384, 2, 3, 4), _least(1.5, 7, 384)),
    "mochi-encoder": HostFormula(FP16_ONLY, per(1000 * 384, 2, 3, 4), _least(1.5, 7, 384)),
    "ltx": HostFormula(LOW_FIRST, per(1200 * 512, 2, 3, 4), _least(80, 7, 1), streams=True),
    "hunyuan-video-1.5": HostFormula(FP16_FIRST, per(3600 * 4 * 256, -2, -1), per(1400 * 9, -2, -1)),
    "cogvideox": HostFormula(
        BF16_FIRST,
        lambda shape: 2800 * max(2, _out_frames(shape[2])) * shape[3] * shape[4] * 64,
        _least(1400, 1, 1),
    ),
    "hunyuan-video": HostFormula(
        BF16_FIRST,
        lambda shape: 2800 * min(8, _out_frames(shape[2])) * shape[3] * shape[4] * 64,
        lambda shape: 1400 * min(9, shape[2]) * shape[3] * shape[4],
    ),
    "cosmos": HostFormula(LOW_FIRST, per(50 * 512, 2, 3, 4), _cosmos_encode),
    "wan-2.2": HostFormula(BF16_FIRST, per(8000 * 256, 3, 4), per(3300, 3, 4)),
    "wan-2.1": HostFormula(BF16_FIRST, _stepped(2200, 7000, 64), _stepped(1500, 6000, 1)),
    # For two of the three the host keeps the formula of images: frames x height.
    "tiny-video-16": HostFormula(LOW_FIRST, _tiny(1800, 0.7, 0.1, 256), KL_ENCODE, amd_encode=True),
    "tiny-video-hv15": HostFormula(LOW_FIRST, _tiny(1200, 0.7, 0.05, 1024), KL_ENCODE, amd_encode=True),
    "tiny-video": HostFormula(LOW_FIRST, _tiny_wan_decode, _tiny(700, 0.66, 0.11, 1)),
    "minimax": HostFormula(FP16_ONLY, _minimax_decode, _minimax_encode, owns_tiles=True),
    "oobleck": _sound(FP16_FIRST, per(1000 * 2048, 2), per(1000, 2)),
    "oobleck-48k": _sound(FP16_FIRST, per(1000 * 2048, 2), per(1000, 2)),
    "ace": _sound(BF16_FIRST, per(87000, 2, 3), per(330, 2)),
    "mmaudio": _sound(FP32_ONLY, _mmaudio_decode, per(30, 2)),
    "ltx-audio": _sound(FP32_ONLY, per(87000, 2, 3), per(330, 2)),
    "stable-audio-3": _sound(BF16_FIRST, per(72 * 4096, 2), per(72, 2)),
    "minimax-audio": _sound(FP32_ONLY, _minimax_audio_decode, lambda shape: 900 * shape[2] + 105_000_000),
    "hunyuan3d": HostFormula(FP16_FIRST, _tokens(16, 2), _tokens(8, 0)),
    "triposplat": HostFormula(FP16_FIRST, None, None),
}

#: Stable Audio 3 with twelve layers instead of six has another formula.
STABLE_AUDIO_3_LARGE = _sound(BF16_FIRST, per(1500 * 4096, 2), per(1500, 2))
