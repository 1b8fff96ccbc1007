"""Block swap: the settings users end up with, the clamps, and the arithmetic behind the seconds."""

from __future__ import annotations

from dataclasses import replace

import pytest

from headroom.core.families import ARCHITECTURES, FAMILIES
from headroom.core.families.identity import Identity
from headroom.core.link import ASSUMED, Link, link_of
from headroom.core.swap import SwapAsk, Work, blocks_that_fit, knee, plan_swap, swap_exactly
from headroom.core.swap_table import CONVENTIONS, convention

MIB = 2**20
GIB = 2**30
#: Wan 14B fp8: 40 blocks, 15410.43 MiB together (ComfyUI-WanVideoWrapper #224).
WAN_FP8 = [int(15410.43 * MIB / 40)] * 40


def test_four_gib_left_for_blocks_keep_ten_of_wan_14b_in_fp8() -> None:
    """ComfyUI-WanVideoWrapper #224: 385.26 MiB a block; 4096 MiB keep 10 of 40, so 30 are swapped."""
    kept = blocks_that_fit(WAN_FP8, 4096 * MIB)
    assert (kept, 40 - kept) == (10, 30)


def test_the_swapped_block_that_runs_needs_its_own_place() -> None:
    """With the same 4096 MiB for everything, one of the ten places is that of the block under way."""
    plan = plan_swap(SwapAsk(WAN_FP8, 4096 * MIB, work=Work(0, 0)))
    assert (plan.blocks_resident, plan.blocks_to_swap, plan.verdict) == (9, 31, "swap")
    assert plan.under_way_bytes == WAN_FP8[0]
    assert plan.high_bytes == 10 * WAN_FP8[0]


@pytest.mark.parametrize(("asked", "most"), [(75, 40), (55, 40), (41, 40), (40, 40), (-3, 0)])
def test_more_blocks_than_there_are_is_all_of_them(asked: int, most: int) -> None:
    """ComfyUI-WanVideoWrapper #898: 55 and 75 had no effect, the model has 40."""
    plan = swap_exactly(SwapAsk(WAN_FP8, 24 * GIB, work=Work(GIB, GIB)), asked)
    assert plan.blocks_to_swap == most
    clamped = f"{asked} blocks were asked for and this model has 40: 40 is the most."
    assert plan.notices == ((clamped,) if asked > 40 else ())


def test_the_small_wan_has_thirty_blocks() -> None:
    """ComfyUI-WanVideoWrapper #93: settings for 14B on the 1.3B model."""
    plan = swap_exactly(SwapAsk([90 * MIB] * 30, 24 * GIB, work=Work(GIB, GIB)), 35)
    assert (plan.blocks_to_swap, plan.blocks_resident) == (30, 0)
    assert "35 blocks" in plan.notices[0]


@pytest.mark.parametrize(("blocks", "most"), [(40, 39), (30, 29)])
def test_a_trainer_keeps_one_block(blocks: int, most: int) -> None:
    """musubi-tuner docs and PR#862: 39 is the most for 14B, 29 for 1.3B."""
    ask = SwapAsk([MIB] * blocks, GIB, work=Work(0, 0), convention=convention("musubi-tuner"))
    plan = swap_exactly(ask, blocks)
    assert (plan.blocks_to_swap, plan.blocks_resident) == (most, 1)
    assert f"musubi-tuner, sd-scripts keeps one: {most} is the most" in plan.notices[0]


def test_older_wrappers_swap_one_more_than_the_number() -> None:
    old = convention("hunyuan-wrapper")
    sizes = [10 * MIB, *[MIB] * 9]
    plan = swap_exactly(SwapAsk(sizes, GIB, work=Work(0, 0), convention=old), 3)
    assert (plan.blocks_swapped, plan.swapped_bytes) == (4, 13 * MIB)
    # The first blocks leave here, the last ones in today's wrapper.
    assert swap_exactly(SwapAsk(sizes, GIB, work=Work(0, 0)), 3).swapped_bytes == 3 * MIB
    assert swap_exactly(SwapAsk(sizes, GIB, work=Work(0, 0), convention=old), 0).blocks_swapped == 0
    assert swap_exactly(SwapAsk(sizes, GIB, work=Work(0, 0), convention=old), 10).blocks_swapped == 10


def test_the_parts_add_up() -> None:
    ask = SwapAsk(
        [400 * MIB] * 40,
        8 * GIB,
        vace_bytes=[300 * MIB] * 15,
        outside_bytes=500 * MIB,
        lora_bytes=200 * MIB,
        work=Work(GIB, 2 * GIB),
        prefetch=2,
    )
    plan = swap_exactly(ask, 30, 5)
    assert plan.resident_bytes == (10 * 400 + 10 * 300) * MIB
    assert plan.swapped_bytes == (30 * 400 + 5 * 300) * MIB
    assert plan.under_way_bytes == 3 * 400 * MIB
    assert plan.stay_bytes == 700 * MIB
    assert plan.low_bytes == (7000 + 1200 + 700 + 1024) * MIB
    assert plan.high_bytes == (7000 + 1200 + 700 + 2048) * MIB
    assert plan.left_bytes == 8 * GIB - plan.high_bytes < 0


def test_blocks_go_before_vace_s() -> None:
    """15 VACE blocks, 40 of the model: those of VACE only when all others are out (WanVideoWrapper's two settings)."""
    blocks = SwapAsk([400 * MIB] * 40, 0, vace_bytes=[400 * MIB] * 15, work=Work(0, 0))
    some = plan_swap(SwapAsk(blocks.block_bytes, 10 * GIB, vace_bytes=blocks.vace_bytes, work=Work(0, 0)))
    # 25 blocks of 400 MiB in 10 GiB: 15 of VACE, one under way, 9 of the model.
    assert (some.blocks_to_swap, some.vace_blocks_to_swap) == (31, 0)
    few = plan_swap(SwapAsk(blocks.block_bytes, 4 * GIB, vace_bytes=blocks.vace_bytes, work=Work(0, 0)))
    # 10 in 4 GiB: one under way, 9 of VACE.
    assert (few.blocks_to_swap, few.vace_blocks_to_swap) == (40, 6)


def test_room_for_all_is_no_swap() -> None:
    plan = plan_swap(SwapAsk(WAN_FP8, 24 * GIB, work=Work(3 * GIB, 5 * GIB)))
    assert (plan.blocks_to_swap, plan.verdict, plan.copied_bytes) == (0, "resident", 0)
    assert plan.under_way_bytes == 0


def test_a_range_that_ends_beyond_the_card_may_not_fit() -> None:
    ask = SwapAsk([100 * MIB] * 10, 2 * GIB, work=Work(1800 * MIB, 2000 * MIB))
    assert plan_swap(ask).verdict == "may not fit"
    assert plan_swap(SwapAsk([100 * MIB] * 10, 2 * GIB, work=Work(2000 * MIB, 2100 * MIB))).verdict == "does not fit"


def test_without_a_known_need_the_verdict_is_open_and_the_weights_still_count() -> None:
    plan = plan_swap(SwapAsk(WAN_FP8, 8 * GIB))
    assert plan.verdict == "unknown"
    assert (plan.high_bytes, plan.left_bytes) == (None, None)
    assert plan.weights_bytes <= 8 * GIB
    assert plan_swap(SwapAsk(WAN_FP8, 300 * MIB)).verdict == "does not fit"


def test_uneven_blocks_are_counted_by_their_own_size() -> None:
    """UNets: an SDXL block has 7 to 775 MiB, so the number that fits depends on which leave."""
    sizes = [700 * MIB, 10 * MIB, 10 * MIB, 700 * MIB]
    assert blocks_that_fit(sizes, 720 * MIB) == 3
    assert blocks_that_fit(list(reversed(sizes)), 720 * MIB) == 3
    assert blocks_that_fit([10 * MIB, 700 * MIB, 700 * MIB], 720 * MIB, "first") == 1
    plan = swap_exactly(SwapAsk(sizes, GIB, work=Work(0, 0), prefetch=1), 2)
    assert plan.under_way_bytes == 710 * MIB


def test_prefetch_is_never_more_than_what_is_swapped() -> None:
    ask = SwapAsk([MIB] * 10, GIB, work=Work(0, 0), prefetch=8)
    assert swap_exactly(ask, 3).prefetch_blocks == 3
    assert swap_exactly(ask, 3).under_way_bytes == 3 * MIB
    assert swap_exactly(ask, 0).prefetch_blocks == 0
    # One swapped block is fetched ahead too, while the last resident one runs: it needs no more room for it.
    assert swap_exactly(ask, 1).prefetch_blocks == 1
    assert swap_exactly(ask, 1).under_way_bytes == MIB


def test_seconds_are_bytes_times_passes_and_directions_over_the_link() -> None:
    link = Link(4, 16)
    assert link.bytes_per_second == pytest.approx(25.28e9)
    ask = SwapAsk([10**9] * 40, GIB, work=Work(0, 0), passes_per_step=2, link=link)
    plan = swap_exactly(ask, 30)
    # 30 GB, two passes, there and back.
    assert plan.copied_bytes == 120 * 10**9
    assert plan.copy_seconds == pytest.approx(120 / 25.28)


def test_prefetch_hides_copies_behind_the_work() -> None:
    def ask(prefetch: int) -> SwapAsk:
        link = Link(3, 16)  # 12.64 GB/s
        return SwapAsk([10**8] * 40, GIB, work=Work(0, 0), link=link, prefetch=prefetch, compute_seconds=0.4)

    # 40 blocks there and back are 8 GB: 0.63 s.
    assert swap_exactly(ask(0), 40).step_seconds == pytest.approx(0.4 + 8 / 12.64)
    assert swap_exactly(ask(2), 40).step_seconds == pytest.approx(8 / 12.64)
    assert swap_exactly(ask(2), 10).step_seconds == pytest.approx(0.4)


def test_the_knee_is_where_the_copies_hide() -> None:
    """One block there and back takes 0.01582 s; 0.4 s of work hide 25 of them, so 15 resident blocks are enough."""
    ask = SwapAsk([10**8] * 40, GIB, work=Work(0, 0), link=Link(3, 16), prefetch=1, compute_seconds=0.4)
    assert knee(ask) == 15
    assert knee(SwapAsk([10**8] * 40, GIB, work=Work(0, 0), link=Link(3, 16), prefetch=1)) is None
    assert knee(SwapAsk([10**8] * 40, GIB, work=Work(0, 0), link=Link(3, 16), compute_seconds=0.4)) is None


def test_without_prefetch_there_is_no_knee_however_long_a_step_takes() -> None:
    """A block's copies are then less than a hundredth of the step, and still none of them is hidden."""
    assert knee(SwapAsk([10**8] * 40, GIB, work=Work(0, 0), link=Link(3, 16), compute_seconds=60.0)) is None


def test_small_blocks_before_large_ones_are_no_knee() -> None:
    """UNets: the first blocks weigh a hundredth of the last ones, which still pay when the first do not."""
    sizes = [10**6, 10**6, 10**9, 10**9, 10**9]
    # A large block there and back takes 2 / 12.64 = 0.158 s, and 0.2 s of work hide one of the three.
    ask = SwapAsk(sizes, GIB, work=Work(0, 0), link=Link(3, 16), prefetch=1, compute_seconds=0.2)
    assert knee(ask) == 4


def test_a_step_that_hides_everything_needs_no_resident_block() -> None:
    ask = SwapAsk([10**8] * 40, GIB, work=Work(0, 0), link=Link(3, 16), prefetch=1, compute_seconds=10.0)
    assert knee(ask) == 0


@pytest.mark.parametrize(
    ("generation", "width", "words"),
    [(4, 8, "PCIe 4.0 x8"), (None, 16, "PCIe 4.0 x16, assumed"), (3, None, "PCIe 4.0 x16, assumed")],
)
def test_an_unknown_link_is_said_to_be_assumed(generation: int | None, width: int | None, words: str) -> None:
    assert link_of(generation, width).words == words


def test_a_generation_that_nobody_knows_has_no_speed() -> None:
    assert Link(9, 16).seconds(10**9) is None
    assert link_of(9, 16) is ASSUMED


@pytest.mark.parametrize("row", CONVENTIONS, ids=lambda row: row.id)
def test_every_convention_says_where_it_is_from_and_reaches_what_it_promises(row) -> None:
    assert row.source
    for total in (1, 8, 40):
        for leaving in range(row.most(total) + 1):
            reached = row.leaving(row.setting(leaving, total), total)
            assert leaving <= reached <= min(leaving + 1 + row.more, row.most(total))
            assert (reached == 0) == (leaving == 0)
    assert convention(row.name) is row


def test_an_unknown_convention_is_an_error() -> None:
    with pytest.raises(KeyError):
        convention("nobody's wrapper")


def test_exactly_enough_room_is_enough() -> None:
    plan = plan_swap(SwapAsk([10 * MIB] * 10, 100 * MIB, work=Work(0, 0)))
    assert (plan.blocks_to_swap, plan.verdict, plan.left_bytes) == (0, "resident", 0)
    # All ten out, one under way: 10 MiB and the work are just the room at the low end.
    tight = plan_swap(SwapAsk([10 * MIB] * 10, 100 * MIB, work=Work(90 * MIB, 91 * MIB)))
    assert (tight.blocks_to_swap, tight.verdict) == (10, "may not fit")


def test_the_last_vace_blocks_leave_and_all_of_them_can() -> None:
    sizes = [9 * MIB, *[MIB] * 3]
    some = swap_exactly(SwapAsk([MIB] * 4, GIB, vace_bytes=sizes, work=Work(0, 0)), 0, 3)
    assert (some.vace_blocks_to_swap, some.swapped_bytes, some.resident_bytes) == (3, 3 * MIB, 13 * MIB)
    every = plan_swap(SwapAsk([MIB] * 4, 9 * MIB, vace_bytes=sizes, work=Work(0, 0)))
    assert (every.blocks_to_swap, every.vace_blocks_to_swap, every.verdict) == (4, 4, "swap")


def test_a_tool_that_counts_one_too_far_is_given_one_less() -> None:
    """HunyuanVideoWrapper: N+1 leave, so that three have to be set where four must go."""
    ask = SwapAsk([10 * MIB] * 10, 70 * MIB, work=Work(0, 0), convention=convention("hunyuan-wrapper"))
    plan = plan_swap(ask)
    # Six stay and one is under way.
    assert convention("hunyuan-wrapper").setting(4, 10) == 3
    assert (plan.blocks_to_swap, plan.blocks_swapped, plan.verdict) == (3, 4, "swap")


def test_a_tool_that_copies_nothing_back_crosses_the_link_once() -> None:
    one_way = replace(convention("wan-wrapper"), copies_back=False)
    plan = swap_exactly(SwapAsk([MIB] * 10, GIB, work=Work(0, 0), passes_per_step=2, convention=one_way), 5)
    assert plan.copied_bytes == 10 * MIB


@pytest.mark.parametrize(
    ("tool", "family", "loads"),
    [
        ("wan-wrapper", "WAN22_T2V", True),
        ("wan-wrapper", "Flux", False),
        ("wan-wrapper-2025-03", "HunyuanVideo", False),
        ("hunyuan-wrapper", "HunyuanVideo", True),
        ("hunyuan-wrapper", "Flux", True),
        ("hunyuan-wrapper", "HunyuanVideo15", False),
        ("hunyuan-wrapper", "WAN21_T2V", False),
        ("musubi-tuner", "QwenImage", True),
        ("musubi-tuner", "SDXL", False),
        ("wan-wrapper", None, True),
    ],
)
def test_a_tool_that_cannot_load_a_model_says_so(tool: str, family: str | None, loads: bool) -> None:
    """Advice for Flux in WanVideoWrapper is advice that nobody can follow; of a model nobody knows, nothing is said."""
    model = Identity("diffusion model", "known", "A model", family=family)
    assert convention(tool).refusal(model) == (
        "" if loads else f"{convention(tool).name} loads {convention(tool).loads_words}, and this is A model."
    )


def test_the_wan_wrapper_loads_every_wan_and_all_that_is_named_is_known() -> None:
    """A new family of Wan fails here by name until someone has looked whether the wrapper loads it."""
    wan = next(row for row in ARCHITECTURES if row.id == "wan")
    assert convention("wan-wrapper").loads == {family.id for family in wan.families}
    for row in CONVENTIONS:
        assert row.loads <= FAMILIES.keys()
