"""Replaced values and dropped items, against values worked out by hand."""

from __future__ import annotations

import math

import pytest
import torch
from fakes.latents import BareNested

from headroom.tensors.layouts import read
from headroom.tensors.repair import drop, replace, replace_values

NAN, INF = math.nan, math.inf


def same(actual: torch.Tensor, wanted: list[float]) -> bool:
    return torch.equal(actual.flatten(), torch.tensor(wanted, dtype=actual.dtype))


def test_nan_becomes_the_channels_mean_and_inf_the_items_largest_magnitude() -> None:
    """Forge-Neo puts 0 for NaN and -Inf and 1 for +Inf, in place; here each value has its reason."""
    t = torch.tensor([[[[1.0, 3.0, NAN]], [[-8.0, INF, -INF]]], [[[5.0, 5.0, 5.0]], [[2.0, 2.0, 2.0]]]])
    before = t.clone()
    fixed, changed = replace_values(t)
    # Item 0: channel 0 has the finite values 1 and 3; the item's largest finite magnitude is 8.
    assert same(fixed[0], [1.0, 3.0, 2.0, -8.0, 8.0, -8.0])
    assert same(fixed[1], [5.0, 5.0, 5.0, 2.0, 2.0, 2.0])
    assert changed == 3
    assert torch.equal(t.nan_to_num(99.0, 98.0, 97.0), before.nan_to_num(99.0, 98.0, 97.0))
    assert fixed.data_ptr() != t.data_ptr()


def test_each_item_has_its_own_values() -> None:
    t = torch.tensor([[[[1.0, NAN]]], [[[100.0, NAN]]], [[[7.0, -INF]]]])
    fixed, changed = replace_values(t)
    assert same(fixed, [1.0, 1.0, 100.0, 100.0, 7.0, -7.0])
    assert changed == 3


def test_without_a_finite_value_it_is_zero() -> None:
    t = torch.tensor([[[[NAN, NAN]], [[INF, -INF]]], [[[NAN, NAN]], [[4.0, INF]]]])
    fixed, changed = replace_values(t)
    # Item 0 has no finite value. In item 1 channel 0 has none, channel 1 has 4.
    assert same(fixed, [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 4.0, 4.0])
    assert changed == 7


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_the_dtype_stays_and_the_mean_does_not_overflow(dtype: torch.dtype) -> None:
    """The sum of 64 fp16 values of 65504 is far beyond fp16."""
    largest = torch.finfo(dtype).max
    t = torch.full((1, 1, 8, 8), largest, dtype=dtype)
    t[0, 0, 3, 3] = NAN
    fixed, changed = replace_values(t)
    assert fixed.dtype == dtype
    assert changed == 1
    assert bool(torch.isfinite(fixed).all())
    assert fixed[0, 0, 3, 3].item() == pytest.approx(largest, rel=1e-6)


def test_a_mean_of_huge_opposites_is_their_middle() -> None:
    t = torch.tensor([[[[3e38, 3e38, -3e38, -3e38, NAN]]]])
    assert replace_values(t)[0][0, 0, 0, 4].item() == 0.0


@pytest.mark.parametrize("dtype", [torch.float8_e4m3fn, torch.float8_e5m2])
def test_fp8_is_repaired_too(dtype: torch.dtype) -> None:
    t = torch.tensor([[[[1.0, 3.0, NAN]]]]).to(dtype)
    fixed, changed = replace_values(t)
    assert fixed.dtype == dtype
    assert same(fixed.float(), [1.0, 3.0, 2.0])
    assert changed == 1


@pytest.mark.parametrize("shape", [(1, 2, 3, 4, 5), (1, 2, 7)])
def test_every_layout_is_repaired(shape: tuple[int, ...]) -> None:
    t = torch.full(shape, 2.0)
    t[0, 1].view(-1)[2] = NAN
    fixed, changed = replace_values(t)
    assert torch.equal(fixed, torch.full(shape, 2.0))
    assert changed == 1


def test_a_view_is_repaired_without_touching_what_it_looks_at() -> None:
    base = torch.full((1, 2, 4, 4), 2.0)
    base[0, 0, 1, 1] = NAN
    fixed, changed = replace_values(base.transpose(2, 3)[..., 1:])
    assert torch.equal(fixed, torch.full((1, 2, 4, 3), 2.0))
    assert changed == 1
    assert bool(torch.isnan(base[0, 0, 1, 1]))


def test_an_expanded_latent_is_repaired_once_per_element() -> None:
    base = torch.tensor([2.0, NAN]).view(1, 1, 1, 2).expand(1, 3, 4, 2)
    fixed, changed = replace_values(base)
    assert torch.equal(fixed, torch.full((1, 3, 4, 2), 2.0))
    assert changed == 12


def test_a_nested_latent_is_repaired_as_its_own_type() -> None:
    video, audio = torch.ones(1, 2, 3, 2, 2), torch.full((1, 2, 4), 5.0)
    audio[0, 1, 2] = NAN
    fixed, changed = replace(read({"samples": BareNested([video, audio])}))
    assert type(fixed) is BareNested
    assert torch.equal(fixed.unbind()[0], video)
    assert torch.equal(fixed.unbind()[1], torch.full((1, 2, 4), 5.0))
    assert changed == 1


def four() -> torch.Tensor:
    """Four items with the values 0, 1, 2, 3."""
    return torch.arange(4.0).view(4, 1, 1, 1).expand(4, 4, 2, 2).clone()


def kept(latent: dict, keep: list[int]) -> dict:
    return drop(latent, read(latent), keep)


def values(t: torch.Tensor) -> list[float]:
    return [item.flatten()[0].item() for item in t]


def test_items_mask_and_index_are_cut_together() -> None:
    latent = {"samples": four(), "noise_mask": four()[:, :1], "batch_index": [10, 11, 12, 13], "type": "x"}
    out = kept(latent, [0, 2])
    assert values(out["samples"]) == [0, 2]
    assert values(out["noise_mask"]) == [0, 2]
    assert out["batch_index"] == [10, 12]
    assert out["type"] == "x"
    assert values(latent["samples"]) == [0, 1, 2, 3]
    assert latent["batch_index"] == [10, 11, 12, 13]


@pytest.mark.parametrize("mask", [torch.ones(1, 1, 2, 2), torch.ones(1, 2, 2), torch.ones(2, 2)])
def test_a_mask_that_all_items_share_stays(mask: torch.Tensor) -> None:
    assert kept({"samples": four(), "noise_mask": mask}, [3])["noise_mask"] is mask


def test_a_mask_given_as_batch_height_width_is_cut() -> None:
    """InpaintModelConditioning passes the mask on as [B, H, W]."""
    assert values(kept({"samples": four(), "noise_mask": four()[:, 0]}, [1, 3])["noise_mask"]) == [1, 3]


def test_fewer_masks_than_items_are_dealt_out_in_turn_as_the_host_does() -> None:
    """comfy.utils.repeat_to_batch_size: items 0 to 3 use the masks 0, 1, 0, 1."""
    assert values(kept({"samples": four(), "noise_mask": four()[:2, :1]}, [1, 2, 3])["noise_mask"]) == [1, 0, 1]


def test_a_video_mask_whose_first_axis_is_time_is_shared() -> None:
    """comfy.utils.reshape_mask reads a 4-D mask of a video as [T, 1, H, W]."""
    video = torch.zeros(2, 16, 4, 2, 2)
    by_time, by_item = torch.zeros(4, 1, 2, 2), torch.zeros(2, 1, 4, 2, 2)
    assert kept({"samples": video, "noise_mask": by_time}, [1])["noise_mask"] is by_time
    assert kept({"samples": video, "noise_mask": by_item}, [1])["noise_mask"].shape == (1, 1, 4, 2, 2)


def test_frames_are_never_dropped() -> None:
    """A video that lost a frame no longer fits its model: WanVideoWrapper #1256."""
    assert kept({"samples": torch.zeros(3, 16, 21, 2, 2)}, [0, 2])["samples"].shape == (2, 16, 21, 2, 2)


@pytest.mark.parametrize("index", [[5], None, 7])
def test_an_index_that_is_not_per_item_stays(index: object) -> None:
    assert kept({"samples": four(), "batch_index": index}, [1])["batch_index"] == index


def test_a_nested_latent_loses_the_item_in_every_stream() -> None:
    """Its parts keep their batch axis: ClownsharkBatwing/RES4LYF #234, #273."""
    video, audio = torch.zeros(3, 128, 4, 2, 2), torch.arange(3.0).view(3, 1, 1).expand(3, 8, 5)
    masks = BareNested([torch.zeros(3, 1, 4, 2, 2), torch.zeros(1, 8, 5)])
    out = kept({"samples": BareNested([video, audio]), "noise_mask": masks}, [2])
    assert type(out["samples"]) is BareNested
    assert [tuple(t.shape) for t in out["samples"].unbind()] == [(1, 128, 4, 2, 2), (1, 8, 5)]
    assert values(out["samples"].unbind()[1]) == [2]
    assert type(out["noise_mask"]) is BareNested
    assert [tuple(t.shape) for t in out["noise_mask"].unbind()] == [(1, 1, 4, 2, 2), (1, 8, 5)]


def test_a_stream_that_all_items_share_stays_whole() -> None:
    shared = torch.zeros(1, 8, 5)
    out = kept({"samples": BareNested([torch.zeros(3, 16, 4, 2, 2), shared])}, [1, 2])
    video, audio = out["samples"].unbind()
    assert video.shape == (2, 16, 4, 2, 2)
    assert audio is shared
