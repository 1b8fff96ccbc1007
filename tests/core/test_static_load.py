"""Without dynamic VRAM: what is loaded before a step begins, and what that leaves for the work."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from headroom.core.budget import Stage, budget
from headroom.core.needs import Models, Run, settled, stages
from headroom.core.presets import preset_component, preset_named
from headroom.core.static_load import StaticLoad, static_loader

GIB = 2**30
MIB = 2**20
NVIDIA, AMD = static_loader("cuda"), static_loader("rocm")


def loaded(free: float, weights: float, room: float, share: float = 0.0, staging: float = 0.0) -> float:
    """Sizes in GiB."""
    load = StaticLoad(int(free * GIB), int(staging * GIB), share)
    return load.loaded_bytes(int(weights * GIB), int(room * GIB)) / GIB


@pytest.mark.parametrize(
    ("free", "weights", "room", "share", "kept"),
    [
        (5.9, 13.3, 10.8, 0.0, 4.9),
        (5.9, 4.9, 10.8, 0.0, 4.9),
        (12, 13.3, 10.8, 0.0, 0),
        # Two fifths of the room, whatever the work would need; and never so much that less than 0.8 GiB are left.
        (12, 13.3, 10, 0.4, 4),
        (2, 13.3, 10, 0.4, 8),
        (2, 13.3, 1, 0.4, 0.2),
        (2, 13.3, 0.5, 0.4, 0),
    ],
)
def test_what_is_loaded(free: float, weights: float, room: float, share: float, kept: float) -> None:
    assert loaded(free, weights, room, share) == pytest.approx(kept, abs=1e-6)


def test_layers_under_way_take_room_only_where_weights_are_streamed() -> None:
    assert loaded(2, 13, 10, staging=0.5) == 7.5
    assert loaded(2, 8, 10, staging=0.5) == 8
    assert loaded(9.8, 13, 10, staging=0.5) == 0
    load = StaticLoad(2 * GIB, GIB // 2, 0.0)
    assert load.left_bytes(13 * GIB, 10 * GIB) == 2 * GIB
    assert load.left_bytes(8 * GIB, 10 * GIB) == 2 * GIB
    assert load.left_bytes(5 * GIB, 10 * GIB) == 5 * GIB


def test_the_least_that_stays_free_is_four_fifths_of_a_gib() -> None:
    """minimum_inference_memory in comfy/model_management.py 0.30.0."""
    for reserved in (None, 0, GIB // 2):
        assert NVIDIA.load(reserved, MIB).free_bytes == int(0.8 * GIB)
    assert NVIDIA.load(3 * GIB, MIB).free_bytes == 3 * GIB


def test_layers_under_way_are_one_and_those_that_are_fetched_ahead() -> None:
    """Two streams on NVIDIA and AMD, none elsewhere; an fp8 layer has a copy in two bytes beside it."""
    assert NVIDIA.load(None, MIB).staging_bytes == AMD.load(None, MIB).staging_bytes == 3 * MIB
    assert NVIDIA.load(None, MIB, widens=2).staging_bytes == 5 * MIB
    assert static_loader("xpu").load(None, MIB).staging_bytes == MIB


def stage(weights: float, low: float, high: float, free: float, share: float = 0.0) -> Stage:
    """Sizes in GiB."""
    weight_bytes, low_bytes, high_bytes = (int(size * GIB) for size in (weights, low, high))
    load = StaticLoad(int(free * GIB), 0, share)
    return Stage("Sampling", "model", weight_bytes, low_bytes, high_bytes, static=load)


@pytest.mark.parametrize(
    ("weights", "low", "high", "free", "share", "streamed", "verdict"),
    [
        # What streams follows from the host's own number, at both ends of the range.
        (13, 2, 4, 6, 0.0, 9, "streams"),
        (4, 2, 4, 6, 0.0, 0, "resident"),
        # Its number is too low, and weights that lie there do not give way: dynamic VRAM would stream 1 to 3.
        (9, 2, 4, 1, 0.0, 0, "does not fit"),
        (9, 0.5, 4, 1, 0.0, 0, "may not fit"),
        # AMD: 4 of 10 GiB are weights, although the work may take 9.
        (13, 5, 9, 9, 0.4, 9, "may not fit"),
    ],
)
def test_what_streams_does_not_depend_on_the_work(
    weights: float, low: float, high: float, free: float, share: float, streamed: float, verdict: str
) -> None:
    found = budget(stage(weights, low, high, free, share), 10 * GIB)
    assert (found.streamed_bytes, found.verdict) == ((streamed * GIB, streamed * GIB), verdict)


def test_a_run_that_fewer_loaded_weights_would_save_is_said_to_be_crowded() -> None:
    """It is then --reserve-vram that helps, and no smaller picture."""
    crowded = budget(stage(9, 2, 4, 1), 10 * GIB)
    assert (crowded.crowded, crowded.left_for_work_bytes) == (True, GIB)
    assert not budget(stage(13, 11, 12, 6), 10 * GIB).crowded
    assert not budget(replace(stage(9, 11, 12, 1), static=None), 10 * GIB).crowded
    assert budget(replace(stage(9, 2, 4, 1), static=None), 10 * GIB).left_for_work_bytes is None


def test_novram_and_highvram_go_before() -> None:
    """--novram loads nothing whatever the formula says; --highvram and --gpu-only load everything."""
    one = replace(stage(9, 1, 2, 4), least_weights_bytes=GIB)
    assert budget(one, 20 * GIB, keeps=False).streamed_bytes == (8 * GIB, 8 * GIB)
    assert budget(one, 10 * GIB, streams=False).verdict == "may not fit"


@pytest.fixture
def wan() -> Any:
    """Wan 2.2 14B in fp8: 13.3 GiB."""
    preset = preset_named("example: Wan 2.2 14B text to video, fp8")
    assert preset is not None
    return preset_component(preset)


RUN = Run(832, 480, 81, cfg=3.5)
ROOM = int(10.81 * GIB)


def test_wan_on_12_gib_without_dynamic_vram(wan: Any) -> None:
    """The host's number for one prompt is 5.90 GiB: 21 x 60 x 104 values, two bytes, a hundredth, 5120/2222 MiB.

    10.81 GiB less that and five times a feed-forward of 5120 x 13824 in fp8 (two fetched ahead, one with a copy in
    fp16) are 4.58 of weights; with dynamic VRAM 6.6 to 8.2 would stay.
    """
    alone = 21 * 60 * 104 * 2 * 0.01 * 5120 / 2222 * MIB
    kept = ROOM - alone - 5 * 5120 * 13824
    (_, sampling), _ = stages(Models([wan]), replace(RUN, static=NVIDIA), ROOM)
    found = budget(sampling, ROOM)
    assert found.streamed_bytes is not None
    assert found.streamed_bytes[0] == found.streamed_bytes[1] == pytest.approx(wan.weights_bytes - kept, abs=2)
    assert (found.verdict, sampling.passes) == ("streams", 2)
    (_, by_page), _ = stages(Models([wan]), RUN, ROOM)
    paged = budget(by_page, ROOM).streamed_bytes
    assert paged is not None
    assert paged[1] < found.streamed_bytes[0]


def test_both_prompts_go_together_only_beside_loaded_weights_that_leave_room(wan: Any) -> None:
    """Half as much again as 11.8 GiB are 17.7; without dynamic VRAM 13.3 GiB of weights do not make room for it."""
    for room, by_page, static in ((18, True, False), (30.9, True, False), (31.2, True, True)):
        assert settled(wan, RUN, int(room * GIB)).together is by_page
        assert settled(wan, replace(RUN, static=NVIDIA), int(room * GIB)).together is static
    # A LoRA beside the weights takes of it too.
    assert settled(wan, replace(RUN, static=NVIDIA), int(31.2 * GIB), GIB).together is False


def test_a_text_encoder_is_loaded_the_same_way() -> None:
    preset = preset_named("example: UMT5-XXL (Wan), fp16")
    assert preset is not None
    encoder = preset_component(preset)
    (_, stage), *_ = stages(Models([], encoders=[encoder]), replace(RUN, static=NVIDIA), 8 * GIB)
    assert stage.static is not None
    # Three feed-forwards of 4096 x 10240 in fp16 are under way.
    assert stage.static == StaticLoad(int(0.8 * GIB), 3 * 4096 * 10240 * 2, 0.0)
