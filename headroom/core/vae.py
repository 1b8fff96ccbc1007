"""What a VAE decode or encode really needs, as a range around the host's formula.

``reserved_by_host`` is the host's own number (comfy/sd.py 0.30.0, VAE.memory_used_decode and memory_used_encode). It
steers what the host evicts and is a heuristic: measured peaks are 0.2 to 1.3 times it, and for VAEs that stream it can
be a hundred times too high. The rows in vae_peaks say what lives at the peak and how much more was measured.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .families.vaes import ROWS as KINDS
from .vae_formula_table import FORMULAS
from .vae_peaks import DECODE_ROWS, ENCODE_ROWS, PeakRow

__all__ = ["DECODE_ROWS", "ENCODE_ROWS", "UNKNOWN_PEAK", "Peak", "PeakRow", "decode_peak", "encode_peak", "peak_in"]

UNKNOWN = "unknown: not measured for this kind of VAE"
_KIND = {kind.id: kind for kind in KINDS}


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
    """The range that the rows give around the host's number, unknown where none fits.

    Both grow with the area in the same way, so the range is a multiple of the number.

    Args:
        rows: DECODE_ROWS or ENCODE_ROWS.
        vae_class: class name of the VAE's module (``first_stage_model``).
        dims: 2 for image VAEs, 3 for video VAEs.
        ratio: pixels per latent element along one side.
        frames: latent frames, 1 for images.
        reserved_bytes: the host's formula on that shape, None where it gives none.
    """
    if reserved_bytes is None:
        return Peak(None, None, None, UNKNOWN)
    for row in rows:
        id_ = None if row.by_id else _id_of(row, vae_class, dims, ratio)
        if id_ is not None and row.frames[0] <= frames <= row.frames[1]:
            multiple = row.values(frames) / _host_values(id_, frames, encode=rows is ENCODE_ROWS)
            low, high = (int(reserved_bytes * multiple * end) for end in (row.low, row.high))
            return Peak(reserved_bytes, low, high, row.source)
    return Peak(reserved_bytes, None, None, UNKNOWN)


def row_for(rows: Sequence[PeakRow], id_: str, frames: int) -> PeakRow | None:
    """The row of a kind whose id is known, for a number of latent frames."""
    return next((row for row in rows if id_ in row.rows and row.frames[0] <= frames <= row.frames[1]), None)


def pixel_frames(id_: str, frames: int) -> int:
    """Frames of pixels for latent frames: the first is one, each further one as many as the VAE joins."""
    shape = _KIND[id_].shape
    return 1 if shape is None else int((frames - 1) * shape.temporal) + 1


def _id_of(row: PeakRow, vae_class: str, dims: int, ratio: int) -> str | None:
    """Which kind of the row a VAE is; None where it is none of them."""
    for id_ in row.rows:
        kind = _KIND[id_]
        if kind.shape is not None and (kind.family, kind.shape.dims, kind.shape.spatial) == (vae_class, dims, ratio):
            return id_
    return None


def _host_values(id_: str, frames: int, encode: bool) -> float:
    """The host's formula at one position, in values of the dtype."""
    formula = FORMULAS[id_].encode if encode else FORMULAS[id_].decode
    if formula is None:
        raise ValueError(f"the host has no formula for {id_}, so no row may be about it")
    shape = _KIND[id_].shape
    if shape is None or shape.dims == 2:
        return formula((1, 1, 1, 1))
    return formula((1, 1, pixel_frames(id_, frames) if encode else frames, 1, 1))
