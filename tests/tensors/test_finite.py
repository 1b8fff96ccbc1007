"""The scan finds every NaN and Inf, raises no false alarm, and needs no temporary of the input's size."""

from __future__ import annotations

import math

import pytest
import torch

from headroom.core.latent import Counts
from headroom.tensors import finite
from headroom.tensors.finite import bad_indices, chunks, count, is_finite, scan

NAN, INF = math.nan, math.inf
#: dtype -> its largest finite value, by its definition.
WIDE = {
    torch.float64: 1.7976931348623157e308,
    torch.float32: 3.4028234663852886e38,
    torch.bfloat16: 3.3895313892515355e38,
    torch.float16: 65504.0,
}
FP8 = [torch.float8_e4m3fn, torch.float8_e5m2, torch.float8_e4m3fnuz, torch.float8_e5m2fnuz]
SHAPE = (2, 3, 4, 5)
#: First, somewhere inside, last.
POSITIONS = [0, 61, 119]


def ones(dtype: torch.dtype) -> torch.Tensor:
    return torch.ones(SHAPE).to(dtype)


@pytest.fixture(autouse=True, params=["inference mode", "plain"])
def _mode(request: pytest.FixtureRequest):
    """Nodes run in inference mode; a script may not."""
    with torch.inference_mode(request.param == "inference mode"):
        yield


@pytest.mark.parametrize("dtype", WIDE)
@pytest.mark.parametrize("position", POSITIONS)
@pytest.mark.parametrize("bad", [NAN, INF, -INF])
def test_one_bad_value_is_found_anywhere(dtype: torch.dtype, position: int, bad: float) -> None:
    """A1111 looked only for a tensor that is NaN throughout (its test_for_nans; #12019)."""
    t = ones(dtype)
    t.view(-1)[position] = bad
    assert not is_finite(t)


@pytest.mark.parametrize("dtype", WIDE)
@pytest.mark.parametrize("position", POSITIONS)
@pytest.mark.parametrize("bad", [NAN, INF, -INF])
def test_one_bad_value_is_found_among_values_whose_sum_overflows(dtype: torch.dtype, position: int, bad: float) -> None:
    t = torch.full(SHAPE, WIDE[dtype], dtype=dtype)
    t.view(-1)[position] = bad
    assert not is_finite(t)


@pytest.mark.parametrize("dtype", WIDE)
def test_a_sum_that_overflows_by_itself_is_no_alarm(dtype: torch.dtype) -> None:
    largest = torch.full(SHAPE, WIDE[dtype], dtype=dtype)
    both = torch.cat([largest, -largest])
    assert is_finite(largest)
    assert is_finite(-largest)
    assert is_finite(both)
    assert bad_indices(both) == []


@pytest.mark.parametrize("dtype", WIDE)
def test_inf_beside_minus_inf_is_found(dtype: torch.dtype) -> None:
    t = ones(dtype)
    t.view(-1)[3], t.view(-1)[90] = INF, -INF
    assert not is_finite(t)
    assert bad_indices(t) == [0, 1]


@pytest.mark.parametrize("dtype", FP8)
@pytest.mark.parametrize("position", POSITIONS)
def test_nan_is_found_in_fp8(dtype: torch.dtype, position: int) -> None:
    """torch has neither sum nor amin for fp8."""
    t = torch.ones(SHAPE)
    assert is_finite(t.to(dtype))
    t.view(-1)[position] = NAN
    assert not is_finite(t.to(dtype))
    assert bad_indices(t.to(dtype)) == [1 if position >= 60 else 0]
    assert count(t.to(dtype)) == Counts(total=120, nan=1, pos_inf=0, neg_inf=0, low=1.0, high=1.0)


def test_inf_is_found_in_fp8_e5m2_which_has_it() -> None:
    t = torch.ones(SHAPE)
    t[1, 2, 3, 4] = INF
    assert not is_finite(t.to(torch.float8_e5m2))


@pytest.mark.parametrize("dtype", [torch.bool, torch.uint8, torch.int32, torch.int64])
def test_integers_cannot_be_bad(dtype: torch.dtype) -> None:
    t = ones(dtype)
    assert is_finite(t)
    assert bad_indices(t) == []
    assert count(t).bad == 0


def test_packed_fp4_has_no_code_for_nan() -> None:
    t = torch.full((4, 4), 255, dtype=torch.uint8).view(torch.float4_e2m1fn_x2)
    assert is_finite(t)
    assert count(t).bad == 0


def test_complex_values_are_bad_when_either_part_is() -> None:
    t = torch.complex(torch.ones(3), torch.tensor([0.0, NAN, 0.0]))
    assert not is_finite(t)
    assert not is_finite(t.conj())
    assert bad_indices(t) == [1]


@pytest.mark.parametrize("shape", [(0,), (0, 4, 8, 8), (2, 0, 8, 8), (2, 4, 0)])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.float8_e4m3fn])
def test_an_empty_tensor_is_finite(shape: tuple[int, ...], dtype: torch.dtype) -> None:
    t = torch.zeros(shape).to(dtype)
    assert is_finite(t)
    assert bad_indices(t) == []
    assert count(t) == Counts(total=0, nan=0, pos_inf=0, neg_inf=0, low=None, high=None)


def test_a_single_number_and_a_row_of_numbers_work() -> None:
    assert is_finite(torch.tensor(1.0))
    assert not is_finite(torch.tensor(NAN))
    assert bad_indices(torch.tensor([1.0, INF, 2.0, NAN])) == [1, 3]


VIEWS = {
    "moved": lambda t: t.movedim(1, -1),
    "channels last": lambda t: t.contiguous(memory_format=torch.channels_last),
    "cut": lambda t: t[..., 1:],
    "every other": lambda t: t[:, :, ::2],
    "transposed and cut": lambda t: t.transpose(1, 3)[:, 1:],
    "expanded": lambda t: t[..., :1].expand(-1, -1, -1, 7),
}


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("dtype", WIDE)
def test_views_are_scanned_as_what_they_show(view: str, dtype: torch.dtype) -> None:
    t = torch.full(SHAPE, WIDE[dtype], dtype=dtype)
    assert is_finite(VIEWS[view](t))
    t[1] = NAN
    assert not is_finite(VIEWS[view](t))
    assert bad_indices(VIEWS[view](t)) == [1]


def test_what_a_view_hides_does_not_count() -> None:
    t = ones(torch.float32)
    t[..., 0] = NAN
    assert is_finite(t[..., 1:])
    assert is_finite(t[:, :, :, 1::2])


def test_autograd_is_left_alone() -> None:
    with torch.inference_mode(False):
        t = torch.ones(SHAPE, requires_grad=True)
        assert is_finite(t)
        assert bad_indices(t) == []


def test_bad_positions_along_any_axis() -> None:
    t = torch.zeros(1, 16, 21, 8, 8)
    t[0, 3, 7, 1, 2], t[0, 0, 20, 7, 7] = NAN, -INF
    assert bad_indices(t) == [0]
    assert bad_indices(t, dim=1) == [0, 3]
    assert bad_indices(t, dim=2) == [7, 20]
    assert bad_indices(t, dim=-1) == [2, 7]


def test_an_axis_that_is_not_there_is_an_index_error() -> None:
    with pytest.raises(IndexError):
        bad_indices(torch.zeros(2, 3), dim=2)


def test_counts_name_each_kind_and_the_finite_range() -> None:
    t = torch.tensor([[NAN, NAN, INF, -INF, -3.5], [2.0, INF, INF, NAN, 0.25]])
    assert count(t) == Counts(total=10, nan=3, pos_inf=3, neg_inf=1, low=-3.5, high=2.0)
    assert count(t[1]) == Counts(total=5, nan=1, pos_inf=2, neg_inf=0, low=0.25, high=2.0)
    assert count(t[:, 2:3]) == Counts(total=2, nan=0, pos_inf=2, neg_inf=0, low=None, high=None)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_the_finite_range_of_half_precision_is_exact(dtype: torch.dtype) -> None:
    t = torch.tensor([NAN, -WIDE[dtype], 0.5, WIDE[dtype]], dtype=dtype)
    assert (count(t).low, count(t).high) == (-WIDE[dtype], WIDE[dtype])


def test_counting_in_chunks_gives_what_counting_at_once_gives(monkeypatch: pytest.MonkeyPatch) -> None:
    t = torch.zeros(3, 50, 41).transpose(0, 1)
    t[0, 0, 0], t[49, 2, 40], t[25, 1, 20] = NAN, INF, 7.0
    monkeypatch.setattr(finite.chunks, "__defaults__", (64,))
    assert count(t) == Counts(total=6150, nan=1, pos_inf=1, neg_inf=0, low=0.0, high=7.0)


@pytest.mark.parametrize("limit", [1, 7, 64, 119, 120, 10_000])
def test_chunks_cover_a_view_once_and_stay_small(limit: int) -> None:
    t = torch.arange(120).view(SHAPE).transpose(0, 2)
    parts = list(chunks(t, limit))
    assert all(part.numel() <= limit for part in parts)
    assert sorted(value for part in parts for value in part.flatten().tolist()) == list(range(120))


def test_a_scan_looks_at_the_extremes_only_where_the_sum_is_suspicious() -> None:
    normal = torch.tensor([[1.0, -2.0]])
    assert scan(normal, huge=1e30) == finite.Scan(finite=True)
    assert scan(torch.tensor([[3e38, -2.0]]), huge=1e30) == finite.Scan(True, -2.0, 3.0000000054977558e38)
    assert not scan(torch.tensor([[NAN, -2.0]]), huge=1e30).finite


def test_neither_scan_nor_search_makes_a_tensor_of_the_inputs_size() -> None:
    """Counts what torch allocates: a mask alone would be a quarter of the input."""
    t = torch.randn(4, 16, 64, 64)
    t[2, 3, 4, 5] = NAN
    size = t.numel() * t.element_size()
    for look in (lambda: is_finite(t), lambda: bad_indices(t), lambda: is_finite(t.movedim(1, -1))):
        with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], profile_memory=True) as seen:
            look()
        largest = max(event.self_cpu_memory_usage for event in seen.key_averages())
        assert largest < size / 16
