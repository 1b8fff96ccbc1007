"""The Offload Advisor's report on RAM: what is read again, what comes from disk, and the flag with its price."""

from __future__ import annotations

from headroom.core.budget import Stage, budget
from headroom.core.link import Link
from headroom.core.offload import OffloadPlan, Part, plan_offload
from headroom.core.offload_report import OffloadResult, offload_report
from headroom.core.room import Room

GIB = 2**30
NB = "\u00a0"
LINK = Link(4, 16)


def stage(name: str, weights: float, work: float) -> Stage:
    """A stage; sizes in GiB."""
    size = int(work * GIB)
    return Stage(name, f"{name.lower()}.safetensors", int(weights * GIB), size, size, least_weights_bytes=GIB // 4)


def result_of(*parts: Part, card: int = 10, ram: int = 24) -> OffloadResult:
    room = Room("RTX 3060, 12.0 GiB", card * GIB, ram * GIB, link=LINK, dynamic=any(part.mapped for part in parts))
    stages = [budget(part.stage, card * GIB, LINK) for part in parts]
    return OffloadResult(room, plan_offload(parts, room.machine()), stages)


def plan_of(result: OffloadResult) -> OffloadPlan:
    assert result.plan is not None
    return result.plan


def test_mapped_models_that_exceed_the_ram_are_fine_and_get_no_flag() -> None:
    """It was a warning with --cache-none, which makes ComfyUI run every node again on each queue (PR#7509)."""
    parts = [Part("diffusion", stage(name, 13, 3), mapped=True) for name in ("Sampling, first model", "Second")]
    result = result_of(*parts)
    report = offload_report(result, 1.0)
    assert (report.level, report.title) == ("ok", "RAM holds a part of the models; the rest is read from disk again")
    assert (result.launch_line, plan_of(result).ram_bytes) == ("", 13 * GIB)
    text = report.as_text()
    assert "Waits in its file, and RAM in part" in text
    assert f"RAM that waits: 13.0{NB}GiB of 24.0{NB}GiB for models; mapped files take the rest" in text
    assert [one["mapped"] for one in report.facts["placements"]] == [True, True]


def test_weights_that_come_from_disk_in_each_step_are_a_warning_without_the_link_s_time() -> None:
    """24 of 30 GiB are streamed and 12 fit RAM: "1.0 s per step" was the time of PCI Express."""
    report = offload_report(result_of(Part("diffusion", stage("Sampling", 30, 1), mapped=True), card=7, ram=12), 1.0)
    assert (report.level, report.title) == ("warn", "Weights come from disk in each step")
    text = report.as_text()
    assert f"reads 12.0\u201324.0{NB}GiB from disk: 4.3\u20138.6{NB}s from an NVMe SSD at 3.0{NB}GB/s" in text
    assert "streams" not in text.replace("is streamed", "").replace("are streamed", "")
    assert report.facts["placements"][0]["disk_bytes_per_step"] == [12 * GIB, 24 * GIB]


def test_the_flag_is_told_with_its_price() -> None:
    parts = [Part("diffusion", stage(name, 13, 3)) for name in ("Sampling, first model", "Second")]
    report = offload_report(result_of(*parts), 1.0)
    assert (report.level, report.title) == ("warn", "RAM cannot hold all models that have to wait")
    text = report.as_text()
    assert "Fix: Start ComfyUI with `--cache-none`. It lets go of a model once its nodes are done. The price:" in text


def test_one_model_that_ram_cannot_hold_is_a_warning_without_a_flag() -> None:
    """Nothing else can make room for it: the flag would cost and not help."""
    result = result_of(Part("diffusion", stage("Sampling", 30, 1)), ram=12)
    report = offload_report(result, 1.0)
    assert (report.level, result.launch_line) == ("warn", "")
    assert "cache-none" not in report.as_text()
