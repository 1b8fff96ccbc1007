"""Tiles for VAE decode: sizes that really shrink the work and overlaps that the host can blend.

All sizes are in latent elements. The limits come from comfy/utils.py 0.30.0 (tiled_scale_multidim): an overlap that is
not smaller than the tile leaves no position to decode, and the division 0/0 gives an all-NaN image without an error.
A 2-D decode walks three grids, (t/2, 2t), (2t, t/2) and (t, t), so there the overlap must stay below half the tile.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

#: Offered tile sizes in pixels, largest first.
TILE_PIXELS = (2048, 1536, 1024, 768, 512, 384, 256, 192, 128, 64)
MAX_OVERLAP = 16
"""Latent elements; more overlap costs time and hides no more of the seam."""
TEMPORAL_TILE = 16
TEMPORAL_OVERLAP = 4


@dataclass(frozen=True)
class Tile:
    """One tile size: ``side`` and ``overlap`` in latent elements, ``frames`` for a tile that is cut in time too."""

    side: int
    overlap: int
    frames: int | None = None
    frame_overlap: int | None = None

    def describe(self, ratio: int) -> str:
        """``512 px tiles, overlap 64``; in time the counts are latent frames."""
        text = f"{self.side * ratio} px tiles, overlap {self.overlap * ratio}"
        return f"{text}, {self.frames} latent frames at a time" if self.frames else text


def overlap_for(side: int, dims: int) -> int:
    """A quarter of the tile, at most MAX_OVERLAP, and always within what the host can blend."""
    limit = side // 2 - 1 if dims == 2 else side - 1
    return max(0, min(side // 4 or 1, MAX_OVERLAP, limit))


def largest_area(side: int, height: int, width: int, dims: int) -> int:
    """Latent elements of the largest piece that the decoder sees at once."""
    shapes = [(side, side)]
    if dims == 2:
        shapes += [(side // 2, side * 2), (side * 2, side // 2)]
    return max(min(h, height) * min(w, width) for h, w in shapes)


def candidates(
    height: int,
    width: int,
    *,
    ratio: int,
    dims: int,
    smallest_px: int,
    frames: int | None = None,
    cut_time: bool = False,
) -> list[Tile]:
    """Tile sizes from large to small, each with clearly less work at once than the one before.

    The largest is smaller than the whole frame: the host's own retry takes 64 x 64 whatever the size, so for a latent
    of up to 64 x 64 it decodes the full frame again. ``smallest_px`` is the least tile in pixels. With ``cut_time``
    the list ends with tiles that are cut in time as well (for VAEs whose memory grows with the frames).
    """
    tiles: list[Tile] = []
    area = height * width
    for pixels in TILE_PIXELS:
        side = max(2, pixels // ratio)
        if pixels < smallest_px:
            break
        now = largest_area(side, height, width, dims)
        if now <= area * 0.8:
            tiles.append(Tile(side, overlap_for(side, dims)))
            area = now
    if cut_time and frames is not None and frames > 2:
        side = tiles[-1] if tiles else Tile(max(height, width), overlap_for(max(height, width), dims))
        length = TEMPORAL_TILE
        while length >= 2:
            if length < frames:
                tiles.append(Tile(side.side, side.overlap, length, max(1, min(TEMPORAL_OVERLAP, length // 2))))
            length //= 2
    return tiles


def largest_that_fits(tiles: list[Tile], need_bytes: Callable[[Tile], int | None], free_bytes: int | None) -> int:
    """Index of the first tile whose estimated need is within ``free_bytes``; the last one where none is.

    0 where either number is unknown: a tile that fails only costs one more attempt.
    """
    if free_bytes is None:
        return 0
    for index, tile in enumerate(tiles):
        need = need_bytes(tile)
        if need is None or need <= free_bytes:
            return index
    return len(tiles) - 1
