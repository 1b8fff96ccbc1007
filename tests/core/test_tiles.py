"""Tiles for VAE decode: an overlap beyond the limit gives an all-NaN image without an error, a tile as large as the
latent repeats the failure."""

from __future__ import annotations

from itertools import pairwise

import pytest

from headroom.core.tiles import Tile, candidates, largest_area, largest_that_fits, overlap_for


@pytest.mark.parametrize("dims", [2, 3])
def test_every_overlap_is_within_what_the_host_can_blend(dims):
    """comfy/utils.py, tiled_scale_multidim: the step is tile minus overlap and must be positive. A 2-D decode also
    walks tiles of half the side."""
    for side in range(2, 300):
        smallest_side = side // 2 if dims == 2 else side
        assert 0 <= overlap_for(side, dims) < smallest_side


def test_a_512_px_tile_of_an_sd_vae():
    assert candidates(128, 128, ratio=8, dims=2, smallest_px=512) == [Tile(96, 16), Tile(64, 16)]


def test_the_first_tile_is_smaller_than_the_latent():
    """For latents up to 64x64 the host's own retry with tiles of 64 decodes the full frame again."""
    first = candidates(64, 64, ratio=8, dims=2, smallest_px=64)[0]
    assert first.side * 8 == 384
    assert largest_area(first.side, 64, 64, 2) == 48 * 48


def test_a_long_thin_latent_counts_the_pieces_that_are_really_decoded():
    """Of the three grids of a 2-D decode, (t/2, 2t) and (2t, t/2) reach further in one direction."""
    assert largest_area(64, 16, 256, 2) == 16 * 128
    assert largest_area(64, 16, 256, 3) == 16 * 64


def test_each_tile_is_clearly_less_work_than_the_one_before():
    for height, width in ((64, 64), (128, 128), (90, 160), (16, 256), (512, 512)):
        areas = [height * width]
        areas += [
            largest_area(t.side, height, width, 2) for t in candidates(height, width, ratio=8, dims=2, smallest_px=64)
        ]
        assert len(areas) > 1
        assert all(after <= before * 0.8 for before, after in pairwise(areas))


def test_no_tile_is_smaller_than_the_user_allows():
    assert candidates(32, 32, ratio=8, dims=2, smallest_px=256) == []
    assert [t.side for t in candidates(64, 64, ratio=16, dims=3, smallest_px=256)] == [48, 32, 24, 16]


def test_time_is_cut_last_and_never_longer_than_the_video():
    """Tiled decode failed under 29 frames (ComfyUI #6093)."""
    tiles = candidates(60, 104, ratio=8, dims=3, smallest_px=256, frames=5, cut_time=True)
    assert [t.frames for t in tiles] == [None, None, None, 4, 2]
    assert all(t.frame_overlap is not None and 1 <= t.frame_overlap < t.frames for t in tiles if t.frames)


def test_the_largest_tile_that_fits():
    tiles = [Tile(64, 16), Tile(48, 12), Tile(32, 8)]
    need = {64: 400, 48: 225, 32: 100}
    assert largest_that_fits(tiles, lambda t: need[t.side], 250) == 1
    assert largest_that_fits(tiles, lambda t: need[t.side], 50) == 2, "nothing fits: the smallest is tried all the same"
    assert largest_that_fits(tiles, lambda t: need[t.side], None) == 0
    assert largest_that_fits(tiles, lambda t: None, 50) == 0
