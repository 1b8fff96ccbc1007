"""What one VAE decode or encode needs on the device, whole or in tiles: the host's number and a range around it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from .tiles import Tile, candidates
from .vae import DECODE_ROWS, ENCODE_ROWS, UNKNOWN, pixel_frames, row_for
from .vae_chunks import STREAMED, streamed_range
from .vae_formula_table import AMD_RATIO, minimax_frames
from .vae_formulas import Vae, itemsize, reserved_decode, reserved_encode

Direction = Literal["decode", "encode"]

#: Least tile that is offered, in pixels; smaller ones cost minutes and save little.
SMALLEST_TILE_PIXELS = 256
FP32_BYTES = 4
#: Video VAEs whose frames can be cut apart; the others are causal in time.
NOT_CAUSAL = frozenset({"ltx"})


@dataclass(frozen=True)
class VaeNeed:
    """Bytes beside the VAE's weights while it decodes or encodes one batch item; None where nothing is known."""

    direction: Direction
    dtype: str
    """What it computes in: fp16, bf16 or fp32."""
    tile: Tile | None
    """None: the whole frame at once."""
    reserved_by_host_bytes: int | None
    """The host's formula on what it is given at once (comfy/sd.py 0.30.0): what it evicts to make room. Of a tiled
    decode or encode that is its number for the tile; the host itself still makes room for the whole frame."""
    low_bytes: int | None
    high_bytes: int | None
    """The real peak on the device, with the output where that grows on the device too."""
    output_bytes: int | None
    """All images, frames or samples of the whole batch; for an encode the latent."""
    output_on_device: bool
    """False: the output grows in RAM, as the host has it without --gpu-only."""
    source: str
    """Where the range comes from, beginning with ``measured``, ``analysis`` or ``unknown``."""

    def __post_init__(self) -> None:
        if self.low_bytes is not None and self.high_bytes is not None and self.low_bytes > self.high_bytes:
            raise ValueError(f"a range from {self.low_bytes} to {self.high_bytes} bytes is upside down")


def decode_need(
    vae: Vae,
    latent: Sequence[int],
    dtype: str,
    *,
    tile: Tile | None = None,
    amd: bool = False,
    on_cpu: bool = False,
    output_on_device: bool = False,
    joined_on_device: bool = False,
    output_itemsize: int = FP32_BYTES,
) -> VaeNeed:
    """What a decode needs.

    Args:
        vae: from ``vae_of`` or ``vae_for_model``.
        latent: shape (batch, channels, [frames,] height, width), or (batch, channels, length) for sound; a video VAE's
            without frames has one.
        dtype: fp16, bf16 or fp32; see ``pick_dtype``.
        tile: for a tiled decode, in latent elements; None for the whole frame.
        amd: whether the device is AMD's: the host's formula for the KL kind is 2.73 times higher there.
        on_cpu: it runs on the CPU; where that was measured the range is tighter.
        output_on_device: the host runs with --gpu-only; by default the output grows in RAM.
        joined_on_device: a wrapper that collects the frames on the device with torch.cat, as WanVideoWrapper does: the
            output is there twice while it grows (its PR#2042).
        output_itemsize: bytes per value of the output: 4, or 2 with --fp16-intermediates.
    """
    latent = _with_frames(vae, latent)
    piece = _piece(latent, tile)
    output = decoded_values(vae, latent)
    low, high, source = _range(vae, "decode", piece, dtype, amd, on_cpu)
    output_bytes = None if output is None else output * output_itemsize
    if output is not None and output_bytes is not None and low is not None and high is not None:
        if joined_on_device:
            high += 2 * output * itemsize(dtype)
        if output_on_device:
            # When the last item is done, it is there once as it was decoded and twice in the output's dtype.
            waits = output_bytes if latent[0] > 1 else 0
            low, high = max(low + waits, 2 * output_bytes), high + 2 * output_bytes
    return VaeNeed(
        "decode",
        dtype,
        tile,
        reserved_decode(vae, piece, dtype, amd=amd),
        low,
        high,
        output_bytes,
        output_on_device or joined_on_device,
        source,
    )


def encode_need(
    vae: Vae,
    pixels: Sequence[int],
    dtype: str,
    *,
    tile: Tile | None = None,
    amd: bool = False,
    on_cpu: bool = False,
    output_on_device: bool = False,
    output_itemsize: int = FP32_BYTES,
) -> VaeNeed:
    """What an encode needs; ``pixels`` is (batch, channels, [frames,] height, width), the rest as ``decode_need``."""
    pixels = _with_frames(vae, pixels)
    sides = [length // vae.spatial for length in pixels[-2:]] if vae.dims > 1 else []
    frames = _latent_frames(vae, pixels)
    latent = (pixels[0], vae.channels, *((frames,) if vae.dims == 3 else ()), *sides)
    piece = _pixels_of(vae, _piece(latent, tile)) if tile is not None else (1, *pixels[1:])
    low, high, source = _range(vae, "encode", piece, dtype, amd, on_cpu)
    output_bytes = _product(latent) * output_itemsize if vae.dims > 1 else None
    if output_on_device and output_bytes is not None and low is not None and high is not None:
        low, high = max(low, output_bytes), high + output_bytes
    reserved = reserved_encode(vae, piece, dtype, amd=amd)
    return VaeNeed("encode", dtype, tile, reserved, low, high, output_bytes, output_on_device, source)


def largest_tile(
    vae: Vae,
    latent: Sequence[int],
    dtype: str,
    free_bytes: int,
    *,
    direction: Direction = "decode",
    amd: bool = False,
) -> VaeNeed | None:
    """The need with the largest tile whose ``high_bytes`` (else the host's number) is within ``free_bytes``.

    The whole frame counts as the largest tile. None where not even the smallest tile fits, where nothing is known, or
    where the VAE cannot be tiled by a caller (sound, point sets, and VAEs that tile by themselves). ``latent`` is the
    latent's shape for both directions.
    """
    if vae.dims == 1 or vae.formula.owns_tiles:
        return None
    latent = _with_frames(vae, latent)
    frames = latent[2] if len(latent) == 5 else None
    tiles: list[Tile | None] = [None]
    tiles += candidates(
        latent[-2],
        latent[-1],
        ratio=vae.spatial,
        dims=vae.dims,
        smallest_px=SMALLEST_TILE_PIXELS,
        frames=frames,
        cut_time=vae.row in NOT_CAUSAL,
    )
    for tile in tiles:
        if direction == "decode":
            need = decode_need(vae, latent, dtype, tile=tile, amd=amd)
        else:
            need = encode_need(vae, _pixels_of(vae, latent), dtype, tile=tile, amd=amd)
        bound = need.high_bytes if need.high_bytes is not None else need.reserved_by_host_bytes
        if bound is not None and bound <= free_bytes:
            return need
    return None


def decoded_values(vae: Vae, latent: Sequence[int]) -> int | None:
    """Values of what a latent decodes to; None for point sets, whose output is no tensor of a fixed size."""
    if vae.row in {"hunyuan3d", "triposplat"}:
        return None
    channels = vae.formula.output_channels
    if vae.formula.output_channels == 2:
        return int(latent[0] * channels * latent[-1] * vae.temporal)
    ratio = vae.formula.decode_ratio or vae.spatial
    frames = latent[2] if len(latent) == 5 and vae.dims == 3 else 1
    if vae.dims == 3:
        frames = minimax_frames(frames) if vae.row == "minimax" else pixel_frames(vae.row, frames)
    return latent[0] * channels * frames * latent[-2] * ratio * latent[-1] * ratio


def _range(
    vae: Vae, direction: Direction, piece: Sequence[int], dtype: str, amd: bool, on_cpu: bool
) -> tuple[int | None, int | None, str]:
    """The ends of the range for what the VAE is given at once, and where they come from."""
    decode = direction == "decode"
    frames = _frames(vae, piece) if decode else _latent_frames(vae, piece)
    positions = piece[-2] * piece[-1] if len(piece) > 3 else piece[-1]
    if vae.row == "ltx" and decode:
        low, high = streamed_range(positions, frames, itemsize(dtype))
        return low, high, STREAMED
    row = row_for(DECODE_ROWS if decode else ENCODE_ROWS, vae.row, frames)
    if row is None:
        return None, None, UNKNOWN
    live = row.values(frames) * positions * itemsize(dtype)
    width = vae.sizes.get("decoder_width")
    if row.width is not None and isinstance(width, int):
        live *= width / row.width
    # On AMD convolutions take more beside the tensors: the host's formula says how much.
    worse = AMD_RATIO if amd and (vae.formula.amd_decode if decode else vae.formula.amd_encode) else 1
    high = row.high_on_cpu if on_cpu and row.high_on_cpu is not None else row.high
    return int(live * row.low), int(live * high * worse), row.source


def _with_frames(vae: Vae, shape: Sequence[int]) -> tuple[int, ...]:
    """A still picture of a video VAE has one frame; of a video given to an image VAE the host takes the first."""
    if vae.dims == 3 and len(shape) == 4:
        return (*shape[:2], 1, *shape[2:])
    return (*shape[:2], *shape[3:]) if vae.dims == 2 and len(shape) == 5 else tuple(shape)


def _piece(latent: Sequence[int], tile: Tile | None) -> tuple[int, ...]:
    """One item, or one tile of it."""
    if tile is None:
        return (1, *latent[1:])
    sides = (min(tile.side, length) for length in latent[-2:])
    frames = (min(tile.frames or latent[2], latent[2]),) if len(latent) == 5 else ()
    return (1, latent[1], *frames, *sides)


def _pixels_of(vae: Vae, latent: Sequence[int]) -> tuple[int, ...]:
    """The pixels that a latent stands for."""
    frames = (pixel_frames(vae.row, latent[2] if len(latent) == 5 else 1),) if vae.dims == 3 else ()
    return (latent[0], vae.formula.output_channels, *frames, *(length * vae.spatial for length in latent[-2:]))


def _frames(vae: Vae, latent: Sequence[int]) -> int:
    return latent[2] if vae.dims == 3 and len(latent) == 5 else 1


def _latent_frames(vae: Vae, pixels: Sequence[int]) -> int:
    """Frames of the latent of some pixels."""
    return 1 + (pixels[2] - 1) // int(vae.temporal) if vae.dims == 3 and len(pixels) == 5 else 1


def _product(shape: Sequence[int]) -> int:
    total = 1
    for length in shape:
        total *= length
    return total
