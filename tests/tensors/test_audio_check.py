"""Audio with faults: NaN by its time, and tracks that are silent or stuck, which are never called NaN."""

from __future__ import annotations

import math
from collections import UserDict
from typing import Any

import pytest
import torch

from headroom.core.choices import NOTICE, REPLACE, REPORT
from headroom.core.image import Odd, Span
from headroom.tensors.image_guard import guard

RATE = 8000


def sound(*shape: int) -> torch.Tensor:
    return torch.rand(shape, generator=torch.Generator().manual_seed(1)) - 0.5


def odd(waveform: torch.Tensor, rate: Any = RATE) -> list[Odd]:
    found = guard({"waveform": waveform, "sample_rate": rate}, REPORT, NOTICE).check
    assert found.finite
    assert found.medium == "audio"
    return list(found.odd)


@pytest.mark.parametrize("shape", [(1, 2, 80000), (2, 1, 100), (1, 1, 1000), (0, 2, 8000), (1, 2, 0), (2, 8000)])
def test_clean_audio_passes_as_the_same_object(shape: tuple[int, ...]) -> None:
    audio = {"waveform": sound(*shape), "sample_rate": RATE}
    guarded = guard(audio, REPLACE, NOTICE)
    assert guarded.media is audio
    assert guarded.check.odd == ()


def test_nan_is_placed_in_seconds() -> None:
    waveform = sound(2, 2, 80000)
    waveform[1, 0, 16000:16400] = math.nan
    waveform[1, 1, 79999] = math.inf
    (bad,) = guard({"waveform": waveform, "sample_rate": RATE}, REPORT, NOTICE).check.bad
    assert (bad.item, bad.counts.nan, bad.counts.pos_inf) == (1, 400, 1)
    assert bad.spans == (Span(2.0, 2.05), Span(9.99, 10.0))


def test_the_last_block_ends_with_the_track() -> None:
    waveform = sound(1, 1, 8010)
    waveform[..., 8005] = math.nan
    (bad,) = guard({"waveform": waveform, "sample_rate": RATE}, REPORT, NOTICE).check.bad
    assert bad.spans == (Span(1.0, 1.00125),)


def test_a_track_that_is_nan_throughout_has_no_places() -> None:
    (bad,) = guard({"waveform": torch.full((1, 2, 800), math.nan), "sample_rate": RATE}, REPORT, NOTICE).check.bad
    assert (bad.counts.nan, bad.spans) == (1600, ())


@pytest.mark.parametrize("seconds", [0.01, 0.5, 10])
@pytest.mark.parametrize("value", [-1.0, 0.5])
def test_a_constant_track_is_odd_and_not_nan(value: float, seconds: float) -> None:
    """NAN-25: ComfyUI #15799, -1.0 throughout. NAN-24: ComfyUI #16249, int16 minimum, read back as -1.0."""
    (one,) = odd(torch.full((1, 2, int(seconds * RATE)), value))
    assert (one.kind, one.values, one.spans) == ("constant", (value, value), ())


def test_int16_minimum_read_back_from_a_file_is_recognised() -> None:
    """NAN-24: ComfyUI #16249. A reader divides by 32768."""
    samples = torch.full((1, 1, 8000), -32768, dtype=torch.int16)
    (one,) = odd(samples.float() / 32768)
    assert (one.kind, one.values) == ("constant", (-1.0,))
    (raw,) = odd(samples)
    assert (raw.kind, raw.values) == ("constant", (-32768.0,))


@pytest.mark.parametrize("zero", [0.0, -0.0])
def test_a_silent_track_is_silent_and_not_nan(zero: float) -> None:
    """NAN-25: ComfyUI #15799, 0.0 throughout."""
    (one,) = odd(torch.full((1, 2, 8000), zero))
    assert (one.kind, one.values) == ("silent", ())


def test_the_channels_of_a_constant_track_may_differ() -> None:
    waveform = torch.zeros(1, 2, 8000)
    waveform[0, 1] = -1
    assert [(one.kind, one.values) for one in odd(waveform)] == [("constant", (0.0, -1.0))]


def test_a_track_that_sticks_is_placed_in_seconds() -> None:
    waveform = sound(1, 2, 10 * RATE)
    waveform[..., 2 * RATE : 5 * RATE] = -1
    (one,) = odd(waveform)
    assert (one.kind, one.values, one.spans) == ("constant", (-1.0, -1.0), (Span(2.0, 5.0),))


def test_it_may_stick_twice() -> None:
    waveform = sound(1, 1, 10 * RATE)
    waveform[..., : 2 * RATE] = 0.25
    waveform[..., 5 * RATE : 7 * RATE] = 0.25
    assert odd(waveform)[0].spans == (Span(0.0, 2.0), Span(5.0, 7.0))


def test_clipping_and_rests_are_music() -> None:
    waveform = sound(1, 2, 10 * RATE)
    waveform[..., RATE : RATE + RATE // 2] = 1.0
    waveform[..., 2 * RATE : 5 * RATE] = 0
    assert odd(waveform) == []


def test_one_silent_channel_is_music() -> None:
    waveform = sound(1, 2, 4 * RATE)
    waveform[0, 1] = 0
    assert odd(waveform) == []


def test_a_track_that_is_mostly_zero_is_placed_in_seconds() -> None:
    """VAE-06 for audio: what failed in part is exactly 0 there."""
    waveform = sound(2, 1, 10 * RATE)
    waveform[1, :, 2 * RATE :] = 0
    (one,) = odd(waveform)
    assert (one.item, one.kind, one.spans) == (1, "mostly silent", (Span(2.0, 10.0),))
    assert one.share == pytest.approx(0.8)


def test_noise_that_the_probe_takes_for_still_is_music() -> None:
    """The probe looks at every 50th sample of a block of 400."""
    waveform = sound(1, 1, 4 * RATE)
    waveform[..., ::50] = 0.5
    assert odd(waveform) == []


@pytest.mark.parametrize("rate", [None, 0, -1, "44100", True])
def test_without_a_rate_only_whole_tracks_are_judged(rate: Any) -> None:
    waveform = sound(1, 1, 8000)
    waveform[..., :6000] = -1
    assert odd(waveform, rate) == []
    assert [one.kind for one in odd(torch.full((1, 1, 8000), -1.0), rate)] == ["constant"]
    waveform[..., 0] = math.nan
    (bad,) = guard({"waveform": waveform, "sample_rate": rate}, REPORT, NOTICE).check.bad
    assert bad.spans == ()


def test_replacing_keeps_everything_else_of_the_audio() -> None:
    waveform = sound(2, 800)
    waveform[0, 3] = math.nan
    audio = {"waveform": waveform, "sample_rate": RATE, "path": "x.wav"}
    guarded = guard(audio, REPLACE, NOTICE)
    assert guarded.replaced == 1
    assert {key: guarded.media[key] for key in ("sample_rate", "path")} == {"sample_rate": RATE, "path": "x.wav"}
    assert guarded.media["waveform"].shape == (2, 800)
    assert guarded.media["waveform"][0, 3] == 0
    assert math.isnan(waveform[0, 3])


def test_audio_that_is_loaded_when_it_is_asked_for() -> None:
    """VideoHelperSuite passes a mapping that is no dict."""
    audio = UserDict(waveform=sound(1, 2, 800), sample_rate=RATE)
    assert guard(audio, REPORT, NOTICE).media is audio
