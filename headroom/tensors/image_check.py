"""Looks at a batch of images or masks: NaN and Inf, and what is finite but black, of one colour or black in tiles.

A clean image costs one ``sum`` and a look at one pixel of each block of a coarse grid. Only what that makes suspect
is looked at whole, one image at a time.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import torch

from ..core.areas import Box, boxes
from ..core.image import Area, Bad, Odd
from .finite import bad_indices, count, scan

#: Blocks along the longer side of an image, and the fewest pixels that a block has along each side.
BLOCKS, LEAST_BLOCK = 64, 8
#: The smallest area that is named: a tile of 64 px without its blended border, and 0.25 % of the image.
LEAST_SIDE, LEAST_SHARE = 48, 0.0025
#: Black without straight edges is common in pictures; from this share on it is worth a notice.
MOSTLY = 0.5
#: Smaller values are 0 in an 8-bit file (nodes.py SaveImage, 0.30.0, cuts off the fraction).
BLACK = 1 / 255


def bad_items(t: torch.Tensor) -> tuple[Bad, ...]:
    """The images [B, H, W, C] or masks [B, H, W] that hold NaN or Inf; for a tensor that is known to be bad."""
    found = []
    for item in bad_indices(t):
        counts = count(t[item])
        whole = counts.bad == counts.total
        found.append(Bad(item, counts, () if whole else areas(_bad_pixels(t[item]))))
    return tuple(found)


def odd_images(t: torch.Tensor) -> Iterator[Odd]:
    """What is odd about finite images [B, H, W, C]; at most one thing per image."""
    if t.numel() == 0:
        return
    block = _block(t.shape[1], t.shape[2])
    first = min(block, t.shape[1], t.shape[2]) // 2
    probe = t[:, first::block, first::block].contiguous()
    flat = (probe.amax((1, 2)) == probe.amin((1, 2))).all(-1).tolist()
    dark = (probe[..., :3].amax((1, 2, 3)) < BLACK).tolist()
    least = LEAST_SHARE * probe.shape[1] * probe.shape[2]
    black = (_black_pixels(probe).sum((1, 2)) >= max(1.0, least)).tolist()
    for item in range(t.shape[0]):
        odd = _whole(t[item], item) if flat[item] or dark[item] else None
        odd = odd or (_parts(t[item], item) if black[item] else None)
        if odd is not None:
            yield odd


def odd_masks(t: torch.Tensor) -> Iterator[Odd]:
    """Finite masks [B, H, W] with values outside 0 to 1; nothing else about a mask is odd."""
    seen = scan(t, huge=0.0)
    if t.numel() == 0 or seen.low is None or seen.high is None or (seen.low >= 0 and seen.high <= 1):
        return
    lows, highs = t.amin((1, 2)).tolist(), t.amax((1, 2)).tolist()
    for item, (low, high) in enumerate(zip(lows, highs)):
        if low < 0 or high > 1:
            yield Odd(item, "range", values=(low, high))


def areas(pixels: torch.Tensor) -> tuple[Area, ...]:
    """The rectangles of true pixels with hard edges in a map [H, W] of bool, exact to the pixel, largest first."""
    height, width = pixels.shape
    block = _block(height, width)
    padded = torch.nn.functional.pad(pixels, (0, -width % block, 0, -height % block), value=True)
    grid = padded.view(padded.shape[0] // block, block, padded.shape[1] // block, block).all(3).all(1)
    cells = tuple(map(tuple, grid.tolist()))
    # A tile that lies across the blocks covers one block less along each side.
    least_side = max(1, LEAST_SIDE // block - 1)
    least_cells = max(1, int(LEAST_SHARE * len(cells) * len(cells[0]) / 2))
    found = (_exact(pixels, box, block) for box in boxes(cells, least_side, least_cells))
    return tuple(area for area in found if _is_large(area, height, width))


def _whole(image: torch.Tensor, item: int) -> Odd | None:
    """An image [H, W, C] that is black or of one colour throughout; None where only the probe was."""
    low, high = image.amin((0, 1)), image.amax((0, 1))
    transparent = image.shape[-1] == 4 and high[3].item() <= 0
    if high[:3].amax().item() < BLACK:
        return None if transparent else Odd(item, "black", values=(high[:3].amax().item() + 0.0,))
    return Odd(item, "one colour", values=tuple(high.tolist())) if torch.equal(low, high) else None


def _parts(image: torch.Tensor, item: int) -> Odd | None:
    pixels = _black_pixels(image)
    share = pixels.sum().item() / pixels.numel()
    tiles = areas(pixels)
    if tiles:
        return Odd(item, "black area", areas=tiles, share=share)
    return Odd(item, "mostly black", share=share) if share >= MOSTLY else None


def _black_pixels(image: torch.Tensor) -> torch.Tensor:
    """Where all colours [..., C] are exactly 0; a transparent pixel has no colour. Faster than ``all(-1)``."""
    channels = image.unbind(-1)
    black = channels[0] == 0
    for channel in channels[1:3]:
        black &= channel == 0
    return black & (channels[3] != 0) if len(channels) == 4 else black


def _bad_pixels(item: torch.Tensor) -> torch.Tensor:
    """Where any channel is NaN or Inf, in an image [H, W, C] or a mask [H, W]."""
    bad = ~torch.isfinite(item)
    return bad.any(-1) if bad.ndim == 3 else bad


def _block(height: int, width: int) -> int:
    return max(LEAST_BLOCK, -(-max(height, width) // BLOCKS))


def _is_large(area: Area, height: int, width: int) -> bool:
    sides = min(area.width, area.height) >= min(LEAST_SIDE, height, width)
    return sides and area.width * area.height >= LEAST_SHARE * height * width


def _exact(pixels: torch.Tensor, box: Box, block: int) -> Area:
    """A rectangle of whole blocks, grown to its real edges: by less than a block on each side."""
    height, width = pixels.shape
    x0, y0 = box.column * block, box.row * block
    x1, y1 = min(width, x0 + box.columns * block), min(height, y0 + box.rows * block)
    up = _leading(pixels[max(0, y0 - block) : y0, x0:x1].flip(0).all(1).tolist())
    down = _leading(pixels[y1 : y1 + block, x0:x1].all(1).tolist())
    y0, y1 = y0 - up, y1 + down
    left = _leading(pixels[y0:y1, max(0, x0 - block) : x0].flip(1).all(0).tolist())
    right = _leading(pixels[y0:y1, x1 : x1 + block].all(0).tolist())
    return Area(x0 - left, y0, x1 + right - (x0 - left), y1 - y0)


def _leading(flags: Sequence[bool]) -> int:
    """How many flags are true before the first false one."""
    return next((index for index, flag in enumerate(flags) if not flag), len(flags))
