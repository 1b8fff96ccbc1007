"""The range around the host's formula must hold the published measurements, and not be so wide that it says nothing."""

from __future__ import annotations

import pytest

from headroom.core.vae import DECODE_ROWS, ENCODE_ROWS, decode_peak, encode_peak

GIB = 2**30
MB = 10**6
MIB = 2**20
KIB = 2**10


@pytest.mark.parametrize(
    ("what", "vae_class", "dims", "frames", "reserved", "measured"),
    [
        ("SDXL 1024x1024 fp16, InvokeAI PR#7674", "AutoencoderKL", 2, 1, 2178 * 128 * 128 * 64 * 2, 3232 * MB),
        ("SDXL 1024x1024 fp32, InvokeAI PR#7674", "AutoencoderKL", 2, 1, 2178 * 128 * 128 * 64 * 4, 5568 * MB),
        ("KL ch=128 fp32 on CPU, 64x64", "AutoencoderKL", 2, 1, 2178 * 64 * 64 * 64 * 4, int(226.6 * KIB) * 4096),
        ("KL ch=128 bf16 on CPU, 64x64", "AutoencoderKL", 2, 1, 2178 * 64 * 64 * 64 * 2, 129 * KIB * 4096),
        ("Qwen-Image 1024x1024 bf16, ComfyUI PR#11199", "WanVAE", 3, 1, int(4.30 * GIB), int(4.37 * GIB)),
        ("Wan 2.1 640x480x81 bf16, WanVideoWrapper PR#2042", "WanVAE", 3, 21, 7000 * 60 * 80 * 64 * 2, 3_389_870_592),
        ("Wan 2.1 the same, output streamed", "WanVAE", 3, 21, 7000 * 60 * 80 * 64 * 2, 3_240_571_392),
    ],
)
def test_a_published_measurement_lies_in_the_range(what, vae_class, dims, frames, reserved, measured):
    peak = decode_peak(vae_class, dims=dims, ratio=8, frames=frames, reserved_bytes=reserved)
    assert peak.low_bytes is not None, what
    assert peak.low_bytes <= measured <= peak.high_bytes, what


def test_the_upper_end_is_at_most_half_above_what_comfyui_itself_was_seen_to_take():
    wan = decode_peak("WanVAE", dims=3, ratio=8, frames=21, reserved_bytes=7000 * 60 * 80 * 64 * 2)
    assert wan.high_bytes <= 1.5 * 3_389_870_592
    qwen = decode_peak("WanVAE", dims=3, ratio=8, frames=1, reserved_bytes=int(4.30 * GIB))
    assert qwen.high_bytes <= 1.5 * 4.37 * GIB


@pytest.mark.parametrize(
    ("vae_class", "dims", "ratio"),
    [("VideoVAE", 3, 32), ("TAESD", 2, 8), ("AutoencodingEngine", 2, 32), ("AutoencoderKL", 3, 8), ("WanVAE", 3, 16)],
)
def test_a_kind_that_nobody_measured_has_no_range(vae_class, dims, ratio):
    """CogVideoX and LTX: the formula can be a hundred times too high; a range made of it would tile for nothing."""
    peak = decode_peak(vae_class, dims=dims, ratio=ratio, frames=1, reserved_bytes=389 * GIB)
    assert (peak.low_bytes, peak.high_bytes) == (None, None)
    assert peak.reserved_by_host_bytes == 389 * GIB


def test_an_unknown_reservation_gives_an_unknown_range():
    assert decode_peak("AutoencoderKL", dims=2, ratio=8, frames=1, reserved_bytes=None).low_bytes is None


def test_every_row_is_ordered_and_says_where_it_comes_from():
    for row in (*DECODE_ROWS, *ENCODE_ROWS):
        assert 0 < row.low < row.high
        assert row.source.startswith(("measured: ", "analysis: "))


@pytest.mark.parametrize("rows", [DECODE_ROWS, ENCODE_ROWS], ids=["decode", "encode"])
def test_no_two_rows_claim_the_same(rows):
    for place, row in enumerate(rows):
        for other in rows[place + 1 :]:
            same = set(row.classes) & set(other.classes) and (row.dims, row.ratio) == (other.dims, other.ratio)
            assert not same or row.frames[1] < other.frames[0] or other.frames[1] < row.frames[0]


@pytest.mark.parametrize(
    ("what", "side", "itemsize", "measured"),
    [
        ("KL ch=128 fp32 on CPU, 128x128", 128, 4, 1613 * 128 * 128),
        ("KL ch=128 fp32 on CPU, 384x384", 384, 4, 1554 * 384 * 384),
        ("KL ch=128 bf16 on CPU, 256x256", 256, 2, 782 * 256 * 256),
        # Other code, and reserved by the allocator: it only has to lie within.
        ("FLUX.1 3072x3072 bf16, InvokeAI low-VRAM guide", 3072, 2, int(18.8 * GIB)),
    ],
)
def test_a_measured_encode_lies_in_the_range(what, side, itemsize, measured):
    peak = encode_peak("AutoencoderKL", dims=2, ratio=8, frames=1, reserved_bytes=1767 * side * side * itemsize)
    assert peak.low_bytes is not None, what
    assert peak.low_bytes <= measured <= peak.high_bytes, what


def test_an_encode_that_nobody_measured_has_no_range():
    """Wan, LTX, TAESD: the full frame is tried, and a failure costs one attempt."""
    for vae_class, dims, ratio in (("WanVAE", 3, 8), ("VideoVAE", 3, 32), ("TAESD", 2, 8), ("AutoencoderKL", 2, 16)):
        peak = encode_peak(vae_class, dims=dims, ratio=ratio, frames=1, reserved_bytes=9 * GIB)
        assert (peak.low_bytes, peak.high_bytes) == (None, None)
