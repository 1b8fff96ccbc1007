"""The reports from the field as tensors: what the check must say about each, and what the guard then does."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from fakes.latents import BareNested

from headroom.core.choices import BLOCK, DROP, LATENT_MODES, REPLACE, REPORT, STOP
from headroom.core.latent import Counts, LatentCheck
from headroom.tensors.guard import guard
from headroom.tensors.latent_check import check
from headroom.tensors.layouts import read

NAN, INF = math.nan, math.inf


def looked_at(samples: Any, **others: Any) -> LatentCheck:
    latent = {"samples": samples, **others}
    return check(read(latent), latent)


def with_nan(shape: tuple[int, ...], *places: Any, value: float = NAN) -> torch.Tensor:
    t = torch.linspace(-3, 3, math.prod(shape)).view(shape)
    for place in places:
        t[place] = value
    return t


@pytest.mark.parametrize(
    ("shape", "bad"),
    [
        pytest.param((4, 4, 128, 128), [1, 3], id="NAN-02: ComfyUI #13116"),
        pytest.param((9, 4, 96, 96), [2, 7, 8], id="NAN-39: AUTOMATIC1111 #5259"),
        pytest.param((4, 4, 64, 64), [2, 3], id="NAN-41: vladmandic/sdnext #374, #2901, #3450"),
    ],
)
def test_the_bad_items_of_a_batch_are_named(shape: tuple[int, ...], bad: list[int]) -> None:
    found = looked_at(with_nan(shape, *bad))
    assert not found.finite
    assert found.items == shape[0]
    assert list(found.bad_items) == bad
    whole = math.prod(shape[1:])
    assert [item.counts for item in found.streams[0].bad] == [Counts(whole, whole, 0, 0, None, None)] * len(bad)


def test_dropping_keeps_the_two_good_images() -> None:
    """NAN-02: ComfyUI #13116."""
    samples = with_nan((4, 4, 128, 128), 1, 3)
    guarded = guard({"samples": samples}, DROP)
    assert guarded.action.done == DROP
    assert guarded.action.kept == [0, 2]
    assert torch.equal(guarded.latent["samples"], samples[[0, 2]])


def test_a_video_that_is_nan_throughout_has_all_its_frames_bad() -> None:
    """NAN-05: ComfyUI #14892, a black MP4 without any error."""
    found = looked_at(with_nan((1, 16, 21, 60, 104), ...))
    (item,) = found.streams[0].bad
    assert found.streams[0].kind == "video"
    assert list(item.frames) == list(range(21))
    assert item.counts.nan == item.counts.total == 16 * 21 * 60 * 104


def test_a_video_whose_first_frame_is_good_has_the_others_named() -> None:
    """NAN-06: ComfyUI #16313; to say "batch 0" would say nothing."""
    found = looked_at(with_nan((1, 16, 21, 80, 80), (slice(None), slice(None), slice(1, None))))
    (item,) = found.streams[0].bad
    assert list(item.frames) == list(range(1, 21))
    assert item.counts.nan == 16 * 20 * 80 * 80


@pytest.mark.parametrize("value", [NAN, INF, -INF])
def test_one_bad_value_is_enough(value: float) -> None:
    """NAN-18: A1111's test_for_nans passes a partly bad latent and any Inf; stable-diffusion-webui #12019."""
    found = looked_at(with_nan((2, 4, 64, 64), (1, 2, 3, 4), value=value))
    assert list(found.bad_items) == [1]
    counts = found.counts
    assert (counts.nan, counts.pos_inf, counts.neg_inf) == (value != value, value == INF, value == -INF)
    assert counts.total == 4 * 64 * 64


def test_repeated_channels_are_finite_and_only_a_soft_notice() -> None:
    """NAN-21: ComfyUI #16437, bright green, channels read B, A, B, A."""
    pair = with_nan((1, 2, 64, 64))
    found = looked_at(torch.cat([pair, pair], dim=1))
    assert found.finite
    assert found.streams[0].repeated_channels


@pytest.mark.parametrize(
    "samples",
    [
        pytest.param(torch.zeros(1, 4, 64, 64), id="VAE-47: the empty latent"),
        pytest.param(torch.full((1, 4, 8, 8), 0.5), id="constant"),
        pytest.param(torch.linspace(-3, 3, 256).view(1, 4, 8, 8), id="ordinary"),
        pytest.param(torch.linspace(-3, 3, 6 * 64).view(1, 6, 8, 8), id="other channels"),
        pytest.param(torch.zeros(1, 4, 0, 8), id="no pixels"),
    ],
)
def test_an_ordinary_latent_repeats_no_channels(samples: torch.Tensor) -> None:
    found = looked_at(samples)
    assert found.finite
    assert not found.streams[0].repeated_channels
    assert not found.streams[0].huge


def test_channels_that_agree_only_in_their_first_row_do_not_repeat() -> None:
    pair = with_nan((1, 2, 8, 8))
    samples = torch.cat([pair, pair], dim=1)
    samples[0, 3, 7, 7] = 1.5
    assert not looked_at(samples).streams[0].repeated_channels


def test_an_audio_latent_is_looked_at() -> None:
    """NAN-24: ComfyUI #16249, a waveform of -32768 throughout."""
    found = looked_at(with_nan((1, 64, 1024), ...))
    assert found.streams[0].kind == "audio"
    assert list(found.bad_items) == [0]
    assert found.streams[0].bad[0].frames == ()


def test_of_an_audio_video_latent_only_the_bad_stream_is_named() -> None:
    """NAN-26: Lightricks/ComfyUI-LTXVideo #523, ComfyUI #14691: the video is good, the audio encoder fails."""
    found = looked_at(BareNested([with_nan((1, 128, 16, 22, 40)), with_nan((1, 8, 100), (0, 3, 50))]))
    video, audio = found.streams
    assert (video.kind, list(video.bad)) == ("video", [])
    assert (audio.index, audio.kind, audio.bad_items) == (1, "audio", (0,))
    assert audio.bad[0].counts.nan == 1


@pytest.mark.parametrize("mode", LATENT_MODES)
def test_a_nested_latent_passes_as_the_object_it_is(mode: str) -> None:
    """NAN-28: LBH-123-AI/Comfyui_Minimax_h3_latent_Upscaler #13; NAN-30: ComfyUI #13692, never made plain."""
    latent = {"samples": BareNested([with_nan((1, 24, 5, 4, 4)), with_nan((1, 32, 2, 40))])}
    guarded = guard(latent, mode)
    assert guarded.latent is latent
    assert guarded.check.nested


@pytest.mark.parametrize("mode", [DROP, REPLACE])
def test_a_changed_nested_latent_keeps_its_type_and_the_batch_axis_of_its_parts(mode: str) -> None:
    """NAN-29: ClownsharkBatwing/RES4LYF #234, #273; NAN-30: ComfyUI #13692, PR#13318."""
    latent = {"samples": BareNested([with_nan((2, 128, 16, 22, 40)), with_nan((2, 8, 100), 1)])}
    changed = guard(latent, mode).latent["samples"]
    assert type(changed) is BareNested
    items = 1 if mode == DROP else 2
    assert [tuple(part.shape) for part in changed.unbind()] == [(items, 128, 16, 22, 40), (items, 8, 100)]


def test_values_near_the_end_of_fp32_are_a_notice_and_inf_is_bad() -> None:
    """NAN-34: about 1e38, then Inf, then NaN on the way to the VAE (rocm_lab #4)."""
    near = looked_at(with_nan((1, 4, 8, 8), (0, 0, 0, 0), value=3e38))
    assert near.finite
    assert near.streams[0].huge
    assert near.streams[0].largest == pytest.approx(3e38)
    beyond = looked_at(with_nan((1, 4, 8, 8), (0, 0, 0, 0), value=INF))
    assert not beyond.finite
    assert not beyond.streams[0].huge


@pytest.mark.parametrize(
    ("dtype", "value", "huge"),
    [
        (torch.float16, 59_000, False),
        (torch.float16, 65_504, True),
        (torch.float16, -65_504, True),
        (torch.float32, 65_504, False),
        (torch.float32, -2e30, True),
        (torch.bfloat16, 1e29, False),
        (torch.bfloat16, 2e30, True),
    ],
)
def test_what_is_huge_depends_on_the_dtype(dtype: torch.dtype, value: float, huge: bool) -> None:
    samples = with_nan((1, 4, 8, 8), (0, 0, 0, 0), value=value).to(dtype)
    assert looked_at(samples).streams[0].huge is huge


def test_a_huge_value_is_noticed_beside_a_rest_that_makes_the_sum_smaller() -> None:
    samples = torch.full((1, 4, 50, 50), -1.0, dtype=torch.float16)
    samples[0, 0, 0, 0] = 65504.0
    assert looked_at(samples).streams[0].largest == 65504.0
    assert looked_at(samples).streams[0].huge


def test_a_bright_fp16_latent_whose_sum_overflows_is_clean() -> None:
    found = looked_at(torch.full((1, 3, 512, 512), 1.0, dtype=torch.float16))
    assert found.finite
    assert not found.streams[0].huge


def test_a_single_frame_is_handled_as_an_image() -> None:
    """NAN-35: ComfyUI #9218, Qwen-Image latents are [1, 16, 1, H, W]."""
    found = looked_at(with_nan((1, 16, 1, 128, 128), (0, 5, 0, 64, 64)))
    assert found.streams[0].kind == "image"
    assert list(found.bad_items) == [0]
    assert found.streams[0].bad[0].frames == ()
    assert found.counts.nan == 1


def test_a_bad_noise_mask_is_judged_apart_and_passed_on() -> None:
    mask = torch.ones(1, 1, 8, 8)
    mask[0, 0, 0, 0] = NAN
    latent = {"samples": with_nan((1, 4, 8, 8)), "noise_mask": mask}
    guarded = guard(latent, STOP)
    assert guarded.check.finite
    assert guarded.check.mask_is_bad
    assert guarded.latent is latent


def test_every_part_of_a_nested_noise_mask_is_looked_at() -> None:
    masks = BareNested([torch.ones(1, 1, 5, 4, 4), torch.full((1, 8, 10), NAN)])
    samples = BareNested([with_nan((1, 16, 5, 4, 4)), with_nan((1, 8, 10))])
    assert looked_at(samples, noise_mask=masks).mask_is_bad


def test_an_empty_batch_is_finite_and_has_no_items() -> None:
    found = looked_at(torch.zeros(0, 4, 8, 8))
    assert found.finite
    assert found.items == 0


@pytest.mark.parametrize("mode", LATENT_MODES)
def test_a_clean_latent_is_handed_on_as_the_very_same_object(mode: str) -> None:
    latent = {"samples": with_nan((2, 4, 8, 8)), "noise_mask": torch.ones(1, 1, 8, 8)}
    guarded = guard(latent, mode)
    assert guarded.latent is latent
    assert guarded.check.finite


@pytest.mark.parametrize("shape", [(2, 4, 8, 8), (1, 16, 21, 8, 8)])
def test_dropping_stops_where_no_item_is_good_and_never_cuts_time(shape: tuple[int, ...]) -> None:
    """NAN-32: WanVideoWrapper #1256, 20 latent frames where 21 were wanted. One bad frame makes the item bad."""
    latent = {"samples": with_nan(shape, *[(item, 0, ..., 0, 0) for item in range(shape[0])])}
    guarded = guard(latent, DROP)
    assert (guarded.action.asked, guarded.action.done) == (DROP, STOP)
    assert guarded.latent is latent


def test_a_bad_stream_that_all_items_share_leaves_none_to_keep() -> None:
    latent = {"samples": BareNested([with_nan((2, 16, 4, 2, 2)), with_nan((1, 8, 5), 0)])}
    guarded = guard(latent, DROP)
    assert guarded.check.bad_items == (0, 1)
    assert guarded.action.done == STOP


def test_replacing_makes_a_clone_and_says_how_many() -> None:
    """NAN-19: Forge-Neo repairs in place and does not say that it did."""
    samples = torch.tensor([[[[1.0, 3.0, NAN, INF, -INF]]]])
    latent = {"samples": samples, "type": "x"}
    guarded = guard(latent, REPLACE)
    assert guarded.latent["samples"].flatten().tolist() == [1.0, 3.0, 2.0, 3.0, -3.0]
    assert guarded.latent["type"] == "x"
    assert guarded.action.replaced == 3
    assert latent["samples"] is samples
    assert samples.flatten()[:2].tolist() == [1.0, 3.0]
    assert not bool(torch.isfinite(samples.flatten()[2:]).any())


@pytest.mark.parametrize("mode", [STOP, BLOCK, REPORT])
def test_the_other_modes_leave_the_latent_as_it_is(mode: str) -> None:
    latent = {"samples": with_nan((2, 4, 8, 8), 1)}
    guarded = guard(latent, mode)
    assert guarded.latent is latent
    assert guarded.action.done == mode
