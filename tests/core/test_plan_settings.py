"""Settings that were stated and stand in the way: what they come to, and that leaving them out is the first change."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from headroom.core.component import Component, component
from headroom.core.largest import FITS
from headroom.core.needs import Models, Run
from headroom.core.plan.ask import Ask
from headroom.core.plan.card import Card
from headroom.core.plan.stages import judge
from headroom.core.plan.verdict import headline
from headroom.core.plan.whole import Plan, make_plan
from headroom.core.plan.words import choice_words, loader_words

GIB = 2**30
RUN = Run(832, 480, 81, cfg=3.5)


@pytest.fixture(scope="module")
def high(models: Path) -> Component:
    """Wan 2.2's high noise model in fp8: 40 blocks of 335 MiB."""
    return component(models / "diffusion_models" / "wan2.2_t2v_high_noise_14B_fp8_scaled.safetensors")


def plan_of(model: Component, **settings: int) -> Plan:
    return make_plan(Ask(Models([model, model]), RUN, Card(12 * GIB), loader="wan-wrapper", **settings))  # pyright: ignore[reportArgumentType]


def fewest(model: Component) -> int:
    """Blocks to swap, tried one by one."""
    ask = Ask(Models([model, model]), RUN, Card(12 * GIB), loader="wan-wrapper")
    return next(n for n in range(41) if judge(ask.models, RUN, replace(ask, blocks=n).setup).verdict in FITS)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"blocks": 10}, "blocks_to_swap {fewest} in place of 10: then it streams "),
        ({"prefetch": 50}, "blocks_to_swap {fewest}, prefetch_blocks 0 in place of 50: then it streams "),
        (
            {"blocks": 3, "prefetch": 50},
            "blocks_to_swap {fewest} in place of 3, prefetch_blocks 0 in place of 50: then it streams ",
        ),
    ],
    ids=str,
)
def test_a_setting_that_is_too_small_is_named_first(settings: dict[str, int], said: str, high: Component) -> None:
    """10 of 40 blocks: "nothing that was tried makes it fit", and 22 blocks did."""
    plan = plan_of(high, **settings)
    assert plan.outcome.verdict == "does not fit"
    assert headline(plan).startswith("does not fit the card with these settings: ")
    assert choice_words(plan.choices[0], plan).startswith(said.format(fewest=fewest(high)))
    # What costs nothing is enough: nobody has to take fewer frames.
    assert not {"frames", "size"} & {choice.id for choice in plan.choices}


def test_where_one_setting_is_enough_the_others_are_left_alone(high: Component) -> None:
    """10 blocks are too few with 1 fetched ahead, and more blocks are enough."""
    plan = plan_of(high, blocks=10, prefetch=1)
    assert plan.outcome.verdict == "does not fit"
    fitting = [choice.id for choice in plan.choices if choice.after.verdict in FITS]
    assert fitting[0] == "blocks"
    assert "settings" not in fitting


def test_more_blocks_than_needed_are_worth_a_word(high: Component) -> None:
    plan = plan_of(high, blocks=40)
    assert (plan.outcome.verdict, plan.choices[0].id) == ("streams", "blocks")
    assert "with these settings" not in headline(plan)


def test_the_largest_run_is_that_of_the_settings(high: Component) -> None:
    """1296x752 was "the largest that surely fits" of a run of 832x480 that does not fit with its 10 blocks."""
    stated, free = plan_of(high, blocks=10).largest, plan_of(high).largest
    assert stated.size is not None
    assert free.size is not None
    assert stated.size[0] < 832 <= free.size[0]
    ask = replace(plan_of(high, blocks=10).ask, run=replace(RUN, width=stated.size[0], height=stated.size[1]))
    assert make_plan(ask).outcome.verdict == "streams"


def test_a_reserve_that_takes_the_card_is_named_as_the_cause(high: Component) -> None:
    """--card 8 --reserve 9: "what does not fit is the work of a stage", and "decode in tiles"."""
    ask = Ask(Models([high]), replace(RUN, frames=1), Card(8 * GIB, reserve_bytes=9 * GIB), ram_bytes=64 * GIB)
    plan = make_plan(ask)
    (first,) = (choice_words(choice, plan) for choice in plan.choices if choice.id == "reserve")
    assert first.startswith("Without --reserve 9.0\u00a0GiB, so that ComfyUI keeps free what it does by itself: ")
    assert plan.settings_are_at_fault
    assert loader_words(plan) == ["Set nothing: what was stated leaves too little of the card; see what to change."]
    assert plan.ram is not None
    assert not any("tiles" in text for text in plan.ram.offload.notices)


def test_a_reserve_below_what_comfyui_keeps_by_itself_is_no_hindrance(high: Component) -> None:
    ask = Ask(Models([high]), RUN, Card(8 * GIB, reserve_bytes=0))
    assert "reserve" not in {choice.id for choice in make_plan(ask).choices}
