"""What fits: the verdicts on a stage, who holds the card, and what is left."""

from __future__ import annotations

from typing import Any

import pytest

from headroom.core.budget import Stage, beside, budget, headroom_bytes, holders, worst
from headroom.core.link import Link
from headroom.core.readings import Device

GIB = 2**30


def stage(weights: float, low: float | None, high: float | None, least: float = 0.5, passes: int = 1) -> Stage:
    """A stage; sizes in GiB."""

    def size(value: float | None) -> int | None:
        return None if value is None else int(value * GIB)

    return Stage("Sampling", "model", int(weights * GIB), size(low), size(high), None, int(least * GIB), passes)


@pytest.mark.parametrize(
    ("weights", "low", "high", "room", "verdict"),
    [
        (6, 2, 3, 10, "resident"),
        (6, 2, 4, 10, "resident"),
        (6, 2, 4.1, 10, "streams"),
        (13, 2, 3, 10, "streams"),
        (13, 9, 9.6, 10, "may not fit"),
        (13, 9.6, 12, 10, "does not fit"),
        (0.2, 9, 11, 10, "may not fit"),
    ],
)
def test_the_verdict_on_a_stage(weights: float, low: float, high: float, room: float, verdict: str) -> None:
    """Weights stream, work cannot: "does not fit" is about the work and the one layer that runs."""
    assert budget(stage(weights, low, high, min(weights, 0.5)), int(room * GIB)).verdict == verdict


def test_what_streams_is_a_range_and_crosses_the_link_in_every_pass() -> None:
    found = budget(stage(13, 2, 3, passes=2), 10 * GIB, Link(4, 16))
    assert found.streamed_bytes == (5 * GIB, 6 * GIB)
    assert found.copied_bytes == (10 * GIB, 12 * GIB)
    assert found.copy_seconds == pytest.approx((10 * GIB / 25.28e9, 12 * GIB / 25.28e9))
    assert found.need_bytes == (15 * GIB, 16 * GIB)
    assert found.left_bytes == -6 * GIB


def test_without_streaming_all_weights_have_to_be_there() -> None:
    """With --highvram nothing is streamed (comfy/model_management.py 0.30.0)."""
    assert budget(stage(13, 2, 3), 10 * GIB, streams=False).verdict == "does not fit"
    assert budget(stage(7, 2, 3), 10 * GIB, streams=False).verdict == "resident"


def test_a_need_that_is_not_known_gives_no_verdict_unless_the_weights_alone_are_too_much() -> None:
    assert budget(stage(6, None, None), 10 * GIB).verdict == "unknown"
    assert budget(stage(6, None, None), GIB // 4).verdict == "does not fit"
    assert budget(stage(16, None, None), 10 * GIB, streams=False).verdict == "does not fit"
    assert budget(stage(6, None, None), 10 * GIB).copy_seconds is None


def test_the_worst_stage_is_the_run_s_verdict() -> None:
    rooms = [budget(stage(6, 2, 3), 10 * GIB), budget(stage(13, 2, 3), 10 * GIB), budget(stage(1, 12, 14), 10 * GIB)]
    assert worst(rooms) == "does not fit"
    assert worst(rooms[:2]) == "streams"
    assert worst([]) == "resident"


def card(**fields: Any) -> Device:
    """A card; sizes in GiB."""
    return Device(0, "card", "cuda", **{name: value * GIB for name, value in fields.items()})


def test_the_holders_add_up_to_the_card() -> None:
    found = holders(
        card(
            total_bytes=16,
            free_bytes=3,
            others_bytes=2,
            driver_bytes=1,
            evictable_bytes=4,
            torch_reserved_bytes=5,
            torch_allocated_bytes=3,
        )
    )
    assert found.available_bytes == (3 + 2 + 4) * GIB
    assert found.held_bytes == (16 - 3 - 9) * GIB
    assert holders(card(free_bytes=3, evictable_bytes=1), 2 * GIB).available_bytes == 5 * GIB


def test_on_the_cpu_the_ram_is_the_card() -> None:
    found = holders(Device(0, "CPU", "cpu", total_bytes=64, free_bytes=40, used_bytes=24, own_bytes=9), 5)
    assert (found.others_bytes, found.available_bytes, found.held_bytes) == (15, 45, 4)


def test_what_is_not_read_is_not_made_up() -> None:
    found = holders(card(total_bytes=16))
    assert (found.available_bytes, found.held_bytes) == (None, None)
    assert holders(card(total_bytes=16, free_bytes=3)).held_bytes is None
    assert headroom_bytes(None, []) is None


def test_headroom_is_what_the_largest_stage_leaves_and_may_be_negative() -> None:
    """Stages run one after another: the sum of both would be 19 GiB and no run needs that."""
    stages = [stage(6, 2, 3), stage(1, 8, 9)]
    assert headroom_bytes(12 * GIB, stages) == 2 * GIB
    assert headroom_bytes(8 * GIB, stages) == -2 * GIB
    assert headroom_bytes(12 * GIB, []) == 12 * GIB
    assert headroom_bytes(12 * GIB, [*stages, stage(1, None, None)]) is None


def test_models_that_never_leave_count_beside_every_other_stage() -> None:
    """With --highvram ComfyUI "unloads" diffusion models to the card itself (unet_offload_device, 0.30.0)."""
    run = [("text encoder", stage(5, 0, 0.5)), ("diffusion", stage(6, 2, 3)), ("vae", stage(1, 4, 5))]
    assert beside(run, ()) == [0, 0, 0]
    assert beside(run, ("diffusion",)) == [6 * GIB, 0, 6 * GIB]
    everything = beside(run, ("text encoder", "diffusion", "vae"))
    assert everything == [7 * GIB, 6 * GIB, 11 * GIB]
    stages = [one for _, one in run]
    # The decode is the largest: 1 and 5 of its own, 11 that stay.
    assert headroom_bytes(16 * GIB, stages, everything) == -1 * GIB
    assert headroom_bytes(16 * GIB, stages) == 7 * GIB


def test_with_novram_all_weights_cross_the_link_however_large_the_card_is() -> None:
    """comfy/model_management.py 0.30.0, load_models_gpu: NO_VRAM keeps no weights on the card."""
    found = budget(stage(6, 2, 3, passes=2), 24 * GIB, keeps=False)
    assert (found.verdict, found.streamed_bytes) == ("streams", (int(5.5 * GIB), int(5.5 * GIB)))
    assert found.copied_bytes == (11 * GIB, 11 * GIB)
    assert budget(stage(6, 25, 26), 24 * GIB, keeps=False).verdict == "does not fit"
