"""The range around the host's formula must hold the published measurements, and not be so wide that it says nothing."""

from __future__ import annotations

import pytest

from headroom.core.families import vaes
from headroom.core.vae import DECODE_ROWS, ENCODE_ROWS, decode_peak, encode_peak
from headroom.core.vae_formula_table import FORMULAS

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
        ("Qwen-Image 1024x1024 in half precision, InvokeAI PR#9305", "WanVAE", 3, 1, int(4.30 * GIB), int(4.37 * GIB)),
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
    [
        ("VideoVAE", 3, 32),
        ("VideoAutoencoderKLWrapper", 3, 8),
        ("MiniMaxH3VideoVAE", 3, 16),
        # HunyuanVideo 1.5's and HunyuanImage 2.1's refiner: one class, and formulas that differ by a factor of five.
        ("AutoencodingEngine", 3, 16),
        ("SomebodysVAE", 2, 8),
    ],
)
def test_a_kind_that_is_not_known_has_no_range(vae_class, dims, ratio):
    """LTX: the formula can be a hundred times too high; a range made of it would tile for nothing."""
    peak = decode_peak(vae_class, dims=dims, ratio=ratio, frames=1, reserved_bytes=389 * GIB)
    assert (peak.low_bytes, peak.high_bytes) == (None, None)
    assert peak.reserved_by_host_bytes == 389 * GIB
    assert peak.source.startswith("unknown")


def test_cogvideox_at_720p_does_not_need_what_the_host_reserves_for_it():
    """81 frames: the host's formula says 389 GiB and unloads everything; the decoder rolls through the frames."""
    reserved = 2800 * 81 * 90 * 160 * 64 * 2
    assert reserved // GIB == 389
    peak = decode_peak("AutoencoderKLCogVideoX", dims=3, ratio=8, frames=21, reserved_bytes=reserved)
    assert peak.low_bytes is not None
    assert peak.high_bytes is not None
    # Live tensors: (633808 + 16448 x 21) values for each of 90 x 160 positions, two bytes each.
    assert peak.low_bytes == pytest.approx((633808 + 16448 * 21) * 90 * 160 * 2, rel=1e-6)
    assert peak.high_bytes < 0.2 * reserved


@pytest.mark.parametrize(("kind", "ratio", "reserved"), [("AutoencoderKL", 8, 2178 * 64), ("WanVAE", 8, 7000 * 64)])
def test_the_range_grows_with_the_area_as_the_host_s_number_does(kind, ratio, reserved):
    dims, frames = (2, 1) if kind == "AutoencoderKL" else (3, 9)
    small, large = (
        decode_peak(kind, dims=dims, ratio=ratio, frames=frames, reserved_bytes=reserved * area * 2)
        for area in (4096, 16384)
    )
    assert small.low_bytes is not None
    assert large.low_bytes is not None
    assert large.low_bytes == pytest.approx(4 * small.low_bytes, rel=1e-6)


def test_an_unknown_reservation_gives_an_unknown_range():
    assert decode_peak("AutoencoderKL", dims=2, ratio=8, frames=1, reserved_bytes=None).low_bytes is None


def test_every_row_is_ordered_and_says_where_it_comes_from():
    for row in (*DECODE_ROWS, *ENCODE_ROWS):
        assert 0 < row.low < row.high
        assert row.source.startswith(("measured: ", "analysis: "))
        assert all(row.values(frames) > 0 for frames in range(row.frames[0], min(row.frames[1], 40) + 1))


@pytest.mark.parametrize("rows", [DECODE_ROWS, ENCODE_ROWS], ids=["decode", "encode"])
def test_no_two_rows_claim_the_same(rows):
    """By id, and by what the ladder knows: class, dimensions and ratio."""
    kinds = {kind.id: (kind.family, kind.shape.dims, kind.shape.spatial) for kind in vaes.ROWS if kind.shape}
    for place, row in enumerate(rows):
        for other in rows[place + 1 :]:
            apart = row.frames[1] < other.frames[0] or other.frames[1] < row.frames[0]
            assert apart or not set(row.rows) & set(other.rows)
            if not (row.by_id or other.by_id):
                assert apart or not {kinds[id_] for id_ in row.rows} & {kinds[id_] for id_ in other.rows}


def reserved(id_):
    """The host's decode formula on one item of two frames."""
    decode = FORMULAS[id_].decode
    return None if decode is None else decode((1, 4, 2, 8, 8))


def test_a_row_of_one_class_with_another_formula_is_only_taken_by_its_id():
    """The ladder knows no id: it must not give HunyuanVideo 1.5's range to a VAE that may be the refiner's."""
    known = {id_ for row in (*DECODE_ROWS, *ENCODE_ROWS) if row.by_id for id_ in row.rows}
    kinds = {kind.id: (kind.family, kind.shape.dims, kind.shape.spatial) for kind in vaes.ROWS if kind.shape}
    for id_, kind in kinds.items():
        if kind[1] == 1:
            continue
        alike = {other for other, found in kinds.items() if found == kind}
        same = {other for other in alike if reserved(other) != reserved(id_)}
        described = {i for row in DECODE_ROWS for i in row.rows if i == id_ or i in same}
        if same and id_ in described:
            assert id_ in known, id_


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


def test_an_encode_of_an_unknown_kind_has_no_range():
    """The full frame is tried, and a failure costs one attempt."""
    for vae_class, ratio in (("CausalContinuousVideoTokenizer", 8), ("VideoAutoencoderKLWrapper", 8)):
        peak = encode_peak(vae_class, dims=3, ratio=ratio, frames=1, reserved_bytes=9 * GIB)
        assert (peak.low_bytes, peak.high_bytes) == (None, None)
