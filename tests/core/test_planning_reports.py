"""The reports of the planning nodes as a tired user reads them, and the same facts for programs."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from headroom.core.budget import Holders, Stage, budget
from headroom.core.budget_report import BudgetResult, budget_report
from headroom.core.component import Component, component_of
from headroom.core.link import Link
from headroom.core.offload import Part, plan_offload
from headroom.core.offload_report import OffloadResult, offload_report
from headroom.core.offload_types import OtherGpu
from headroom.core.room import Room
from headroom.core.swap import SwapAsk, Work, plan_swap, swap_exactly
from headroom.core.swap_report import SwapResult, swap_report
from headroom.core.tensorinfo import ModelFile, TensorInfo

GIB = 2**30
NB = "\u00a0"
LINK = Link(4, 16)


def stage(name: str, weights: float, low: float | None, high: float | None, **more: Any) -> Stage:
    """A stage; sizes in GiB."""
    sizes = [None if size is None else int(size * GIB) for size in (low, high)]
    return Stage(name, f"{name.lower()}.safetensors", int(weights * GIB), *sizes, least_weights_bytes=GIB // 4, **more)


def room(gib: float = 10, **more: Any) -> Room:
    return Room("RTX 3060, 12.0 GiB", int(gib * GIB), 24 * GIB, 20 * GIB, link=LINK, **more)


def budget_of(*stages: Stage, free: float = 10) -> BudgetResult:
    """A card of 12 GiB."""
    who = Holders(12 * GIB, GIB, 2 * GIB, GIB // 2, int((free - 2.5) * GIB))
    where = room(free)
    assert where.room_bytes is not None
    return BudgetResult(where, who, [budget(one, where.room_bytes, LINK) for one in stages], GIB)


def test_a_run_that_fits_says_what_can_be_had() -> None:
    report = budget_report(
        budget_of(stage("Sampling", 4, 1, 2, source="measured: here"), stage("Decode", 0.2, 3, 4)), 1.0
    )
    assert (report.level, report.title, report.figure) == ("ok", f"Fits: 10.0{NB}GiB can be had", f"1.0{NB}GiB")
    lines = report.as_text().splitlines()
    assert (
        f"Sampling: sampling.safetensors (weights 4.0{NB}GiB; work 1.0–2.0{NB}GiB; both 5.0–6.0{NB}GiB): fits" in lines
    )
    assert "Range of the work: measured: here." in lines
    assert "Together (GiB 12.0)" in lines


def test_a_run_that_streams_is_fine_and_says_how_much() -> None:
    report = budget_report(budget_of(stage("Sampling", 13, 2, 3)), 1.0)
    assert (report.level, report.title) == (
        "ok",
        f"Fits; Sampling streams 5.0–6.0{NB}GiB per step, 212.4{NB}ms to 254.8{NB}ms",
    )
    assert report.facts["fits"] is True


def test_what_does_not_fit_is_an_error_with_its_numbers() -> None:
    report = budget_report(budget_of(stage("Sampling", 4, 1, 2), stage("Decode", 0.2, 11, 14)), 1.0)
    assert report.level == "error"
    assert report.title == f"Decode does not fit: needs 11.2–14.2 of 10.0{NB}GiB"
    assert report.facts["fits"] is False
    tight = budget_report(budget_of(stage("Decode", 0.2, 9, 14)), 1.0)
    assert (tight.level, tight.facts["verdict"]) == ("warn", "may not fit")


def test_a_need_that_is_not_known_is_said_and_never_a_zero() -> None:
    report = budget_report(budget_of(stage("Decode", 0.2, None, None)), 1.0)
    assert report.title == "Decode: what it needs is not known"
    assert report.facts["stages"][0]["work_bytes"] is None
    assert report.facts["fits"] is False
    assert "its need is not known" in report.as_text()


def test_without_a_card_the_budget_says_why() -> None:
    report = budget_report(BudgetResult(Room("no card", None, None, why_not="There is none."), None, [], None), 1.0)
    assert (report.level, report.figure, report.facts["holders"]) == ("info", "n/a", None)
    assert "There is none." in report.as_text()


def wan() -> Component:
    """40 blocks of 400 MiB and 1 GiB beside them."""
    blocks = {f"blocks.{n}.weight": TensorInfo(f"blocks.{n}.weight", "F16", (1, 1), 400 * 2**20) for n in range(40)}
    head = TensorInfo("head.weight", "F16", (1, 1), GIB)
    return component_of(ModelFile("wan.safetensors", "safetensors", {**blocks, "head.weight": head}))


def swap_of(asked: int | None = None, **more: Any) -> SwapResult:
    """The estimate for a wrapper."""
    model = wan()
    ask = SwapAsk(
        model.main_blocks, 10 * GIB, outside_bytes=GIB, work=Work(2 * GIB, 3 * GIB), link=LINK, passes_per_step=2
    )
    plan = plan_swap(ask) if asked is None else swap_exactly(ask, asked)
    sampling = stage("Sampling", 16.6, 2, 3, source="analysis: of a test")
    return SwapResult(model, room(**more), plan, None, None, sampling)


def test_a_swap_says_what_to_set_and_what_it_costs() -> None:
    """10 GiB without 3 for the work and 1 beside the blocks: 15 blocks of 400 MiB, one of them under way."""
    report = swap_report(swap_of(), 1.0)
    assert (report.title, report.figure) == ("Swap 26 of 40 blocks", "14 of 40 stay")
    # 26 blocks, two passes, there and back: 40.6 GiB.
    assert f"Copies 40.6{NB}GiB in a step (2 passes, there and back): 1.7{NB}s over PCIe 4.0 x16." in report.as_text()
    assert "analysis: of a test" in report.as_text()
    assert report.facts["blocks_to_swap"] == 26
    assert report.facts["copied_bytes_per_step"] == 26 * 400 * 2**20 * 4


def test_too_many_blocks_are_clamped_and_said() -> None:
    """ComfyUI-WanVideoWrapper #898."""
    report = swap_report(swap_of(75), 1.0)
    assert "75 blocks were asked for and this model has 40: 40 is the most." in report.as_text()
    assert report.facts["blocks_to_swap"] == 40


def test_with_dynamic_vram_nothing_is_to_be_set() -> None:
    found = swap_of(dynamic=True)
    own = budget(found.sampling, 10 * GIB, LINK)
    report = swap_report(SwapResult(found.model, found.room, found.plan, own, None, found.sampling), 1.0)
    assert report.title == "Leave it to dynamic VRAM: set nothing"
    assert (report.facts["blocks_to_swap"], report.facts["blocks_resident"]) == (0, 40)
    assert "streams" in report.as_text()


def test_the_vae_s_peak_is_named_where_block_swap_cannot_help() -> None:
    """ComfyUI-WanVideoWrapper #1267, #1722, #1287."""
    found = swap_of()
    decode = budget(stage("Decode", 0.2, 11, 14), 10 * GIB)
    report = swap_report(SwapResult(found.model, found.room, found.plan, None, decode, found.sampling), 1.0)
    assert "Block swap cannot lower what the VAE needs" in report.as_text()


def offload_of(*parts: Part, **more: Any) -> OffloadResult:
    where = room(**more)
    stages = [budget(part.stage, where.room_bytes or 0, LINK) for part in parts]
    return OffloadResult(where, plan_offload(parts, where.machine()), stages)


def test_an_offload_plan_has_a_row_per_model() -> None:
    parts = (Part("text encoder", stage("Text encoding", 6, 0, 0.5)), Part("diffusion", stage("Sampling", 13, 2, 3)))
    report = offload_report(offload_of(*parts), 1.0)
    assert (report.level, report.title) == ("ok", "2 of 2 models leave the card between their turns")
    lines = report.as_text().splitlines()
    row = f"Text encoding: text encoding.safetensors (weights 6.0{NB}GiB; Runs on GPU; Waits in RAM, pinned)"
    assert lines[1].startswith(row)
    assert f"RAM that waits: 19.0{NB}GiB of 24.0{NB}GiB for models." in lines
    assert report.facts["launch_line"] == ""


def test_ram_that_is_too_small_is_a_warning_with_the_flag() -> None:
    """ComfyUI-KJNodes #632."""
    parts = (Part("diffusion", stage("Sampling, first model", 10, 2, 3)), Part("diffusion", stage("Second", 20, 2, 3)))
    report = offload_report(offload_of(*parts), 1.0)
    assert (report.level, report.title) == ("warn", "RAM cannot hold all models that have to wait")
    assert "Fix: Start ComfyUI with `--cache-none`." in report.as_text()
    assert report.facts["placements"][1]["park"] == "disk"


def test_what_fits_together_stays() -> None:
    report = offload_report(offload_of(Part("diffusion", stage("Sampling", 4, 2, 3))), 1.0)
    assert report.title == "Everything stays on the card"


def test_a_swap_that_may_not_fit_is_a_warning() -> None:
    """10 GiB: 1 beside the blocks, one block under way, and work of up to 9."""
    found = swap_of()
    assert found.plan is not None
    for low, high, level, title in (
        (8, 9, "warn", "Swap 40 of 40 blocks; it may still not fit"),
        (9, 12, "error", "Swap 40 of 40 blocks, and it still does not fit: work and what is in no block are too large"),
    ):
        plan = plan_swap(replace(found.plan.ask, work=Work(low * GIB, high * GIB)))
        report = swap_report(replace(found, plan=plan), 1.0)
        assert (report.level, report.title) == (level, title)


def test_without_dynamic_vram_the_numbers_are_marked_as_a_wrapper_s() -> None:
    found = swap_of(dynamic=False)
    report = swap_report(replace(found, own_loader=budget(found.sampling, 10 * GIB, LINK)), 1.0)
    assert report.facts["leave_it_to_dynamic_vram"] is False
    assert report.facts["blocks_to_swap"] == 26
    assert "are for a wrapper that has one" in report.as_text()


def test_dynamic_vram_does_not_make_a_too_large_step_fit() -> None:
    """ "Set nothing" alone would read as if all were well."""
    found = swap_of(dynamic=True)
    own = budget(stage("Sampling", 16.6, 11, 14), 10 * GIB, LINK)
    report = swap_report(replace(found, own_loader=own), 1.0)
    assert (report.level, report.title) == ("error", "Sampling does not fit; a block swap cannot help")
    assert "With it, sampling: does not fit." in report.as_text()


def test_blocks_that_can_be_swapped_for_nothing_are_named() -> None:
    """14 blocks stay, and 5 would do: 35 can be swapped without a slower step."""
    text = swap_report(replace(swap_of(), knee=5), 1.0).as_text()
    assert "Up to 35 blocks can be swapped without a slower step" in text
    assert "without a slower step" not in swap_report(replace(swap_of(), knee=20), 1.0).as_text()


def test_weights_that_fit_with_an_unknown_step_are_no_swap_of_nothing() -> None:
    found = swap_of()
    assert found.plan is not None
    plan = plan_swap(replace(found.plan.ask, room_bytes=24 * GIB, work=Work()))
    report = swap_report(replace(found, plan=plan), 1.0)
    assert (report.level, report.title) == ("info", "The weights fit without a swap; what a step needs is not known")
    assert "Range of the work" not in report.as_text()


def test_a_card_that_does_not_tell_is_not_called_missing() -> None:
    silent = Room("RTX 3060, 12.0 GiB", None, 24 * GIB, why_not="The driver says nothing.")
    assert budget_report(BudgetResult(silent, None, [], None), 1.0).title == "What is free on the card is not known"
    assert offload_report(OffloadResult(silent, None, []), 1.0).title == "What is free on the card is not known"
    blind = Room("RTX 3060, 12.0 GiB", 10 * GIB, None)
    assert offload_report(OffloadResult(blind, None, []), 1.0).title == "What is free in RAM is not known"
    none = Room("no card", None, None)
    assert offload_report(OffloadResult(none, None, []), 1.0).title == "No card to plan for"


def test_a_vae_without_a_file_weighs_nothing_that_is_known() -> None:
    decode = replace(stage("Decode", 0, 3, 4), part="")
    result = offload_of(Part("diffusion", stage("Sampling", 4, 1, 2)), Part("vae", decode))
    report = offload_report(result, 1.0)
    assert "Decode, no file given" in report.as_text()
    assert [one["weights_bytes"] for one in report.facts["placements"]] == [4 * GIB, None]


def test_a_model_on_another_card_waits_there() -> None:
    others = [OtherGpu(1, 24 * GIB)]
    parts = (Part("text encoder", stage("Text encoding", 6, 0, 0.5)), Part("diffusion", stage("Sampling", 7, 2, 3)))
    lines = offload_report(offload_of(*parts, others=others), 1.0).as_text().splitlines()
    assert any("Runs on GPU 1; Waits in GPU 1" in line for line in lines)


def test_a_stage_that_only_may_stream_says_up_to() -> None:
    report = budget_report(budget_of(stage("Sampling", 7, 2, 4)), 1.0)
    assert report.title.startswith(f"Fits; Sampling streams up to 1.0{NB}GiB per step")
