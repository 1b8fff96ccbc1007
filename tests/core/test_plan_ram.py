"""The RAM's part of a plan: who is killed, who is only read again, what comes from disk, and what to change."""

from __future__ import annotations

from dataclasses import replace

import pytest

from headroom.core.component import Component, component_of
from headroom.core.disk import DISKS, disk_times
from headroom.core.needs import Models, Run
from headroom.core.plan.as_json import plan_json, tiers_json
from headroom.core.plan.ask import Ask
from headroom.core.plan.assumptions import assumptions
from headroom.core.plan.card import Card
from headroom.core.plan.choices import Variant
from headroom.core.plan.ram import RamPlan
from headroom.core.plan.ram_words import from_disk_words, switch_words
from headroom.core.plan.tiers import make_tiers
from headroom.core.plan.verdict import headline
from headroom.core.plan.whole import Plan, make_plan
from headroom.core.plan.words import choice_words, stage_verdict
from headroom.core.ram_room import Held, Switch, models_room_bytes, switch
from headroom.core.tensorinfo import ModelFile, TensorInfo

GB = 10**9
GIB = 2**30
MIB = 2**20
NB = "\u00a0"
#: Dynamic VRAM, and the same card without it.
CARD = Card(16 * GIB)
STATIC = replace(CARD, dynamic=False)


def sized(name: str, size: int, kind: str = "safetensors") -> Component:
    """A model of ten equal tensors, of which nothing but their bytes is known."""
    names, each = [f"t{n}" for n in range(10)], size // 10
    return component_of(ModelFile(name, kind, {name: TensorInfo(name, "U8", (each,), each) for name in names}))


def ask_of(diffusion: list[Component], ram: int, card: Card = CARD, *encoders: Component, **more: object) -> Ask:
    return Ask(Models(diffusion, encoders), Run(832, 480), card, ram_bytes=ram, **more)  # pyright: ignore[reportArgumentType]


def ram_of(ask: Ask) -> RamPlan:
    ram = make_plan(ask).ram
    assert ram is not None
    return ram


def said(plan: Plan) -> list[str]:
    """What to change, in words."""
    return [choice_words(choice, plan).replace(NB, " ") for choice in plan.choices]


# --- the switch ------------------------------------------------------------------------------------------------------


def test_two_models_that_do_not_fit_ram_together_without_dynamic_vram() -> None:
    """RAM-04 (ComfyUI-KJNodes #632): 10 GB wait, 28 GB load, 32 GB of RAM: killed. --cache-none fixed it."""
    plan = make_plan(ask_of([sized("A", 10 * GB), sized("B", 28 * GB)], 32 * GIB, STATIC))
    assert plan.ram is not None
    found = plan.ram.switch
    assert found is not None
    assert found == Switch(38 * GB, 0, 0, 28 * GIB)
    assert (found.fits, plan.ram.verdict, plan.found) == (False, "short", True)
    assert plan.ram.offload.flags == ("--cache-none",)
    roomy = ram_of(ask_of([sized("A", 10 * GB), sized("B", 28 * GB)], 64 * GIB, STATIC))
    assert (roomy.verdict, roomy.offload.flags) == ("enough", ())


def test_with_dynamic_vram_the_same_switch_reads_files_again_and_kills_nothing() -> None:
    """ComfyUI 0.30.0 maps them; "may be killed" and --cache-none were said here too, with an exit status of 1."""
    plan = make_plan(ask_of([sized("A", 10 * GB), sized("B", 28 * GB)], 32 * GIB))
    assert plan.ram is not None
    assert plan.ram.switch is not None
    assert (plan.ram.switch.committed_bytes, plan.ram.switch.fits, plan.ram.switch.reads_again) == (0, True, True)
    assert (plan.ram.verdict, plan.ram.offload.flags, plan.found) == ("reads again", (), False)
    assert "read from its file again at the switch" in switch_words(plan.ram.switch, False)
    assert headline(plan).endswith("; RAM: a part is read from disk again")


@pytest.mark.parametrize("kind", ["gguf", "pickle-zip"])
def test_files_that_are_not_safetensors_are_copies_even_with_dynamic_vram(kind: str) -> None:
    """comfy/utils.py 0.30.0, load_torch_file: only .safetensors and .sft are mapped."""
    ram = ram_of(ask_of([sized("A", 10 * GB, kind), sized("B", 28 * GB, kind)], 32 * GIB))
    assert (ram.verdict, ram.offload.flags) == ("short", ("--cache-none",))


def test_dynamic_vram_is_no_answer_where_the_files_are_copies_with_it() -> None:
    plan = make_plan(ask_of([sized("A", 10 * GB, "gguf"), sized("B", 28 * GB, "gguf")], 32 * GIB, STATIC))
    assert [choice.id for choice in plan.choices] == ["cache-none", "ram"]


def test_a_wrapper_s_blocks_are_copies_whatever_the_file_is() -> None:
    """They are moved from the card to RAM, where no file stands behind them."""
    ram = ram_of(ask_of([sized("A", 10 * GB), sized("B", 28 * GB)], 32 * GIB, loader="wan-wrapper"))
    assert ram.verdict == "short"


def test_the_switch_counts_no_encoder_for_which_ram_has_no_place(wan: dict[str, tuple[Component, Component]]) -> None:
    """The table sent it to disk, and the switch counted it in RAM and called it too much."""
    ram = ram_of(ask_of(list(wan["fp8"]), 32 * GIB, STATIC, sized("te", 6420 * MIB)))
    assert ram.offload.placements[0].park == "disk"
    assert ram.switch is not None
    assert (ram.switch.models_bytes, ram.switch.encoders_bytes) == (2 * wan["fp8"][0].weights_bytes, 0)
    assert "without the text encoder" in switch_words(ram.switch, True)
    # ComfyUI #10771: all three together are what has to be there, and are too much.
    assert ram.verdict == "short"
    assert ram.committed_bytes == 2 * wan["fp8"][0].weights_bytes + 6420 * MIB


def test_the_flag_rules_and_the_plan_count_with_one_room() -> None:
    """4 GiB beside the models were taken off in one place and not in the other."""
    assert (models_room_bytes(32 * GIB), models_room_bytes(3 * GIB)) == (28 * GIB, 0)
    found = switch([Held(3), Held(10, mapped=True), Held(7)], [Held(2)], 8)
    assert found is not None
    assert found == Switch(models_bytes=17, encoders_bytes=2, mapped_bytes=10, room_bytes=8)
    assert (found.committed_bytes, found.fits) == (9, False)
    assert switch([Held(3)], [Held(2)], 8) is None
    with pytest.raises(ValueError, match="20 of 19 bytes are mapped"):
        Switch(17, 2, 20, 8)


# --- swapped blocks --------------------------------------------------------------------------------------------------


def test_blocks_that_ram_cannot_hold(wan: dict[str, tuple[Component, Component]]) -> None:
    """RAM-03 (ComfyUI-WanVideoWrapper #20, #360): swapped blocks wait in RAM, and 16 GiB are too few for them."""
    ask = ask_of([wan["fp16"][0]], 16 * GIB, loader="wan-wrapper", blocks=40)
    ram = ram_of(ask)
    assert ram.swap_short_bytes == sum(wan["fp16"][0].main_blocks) - 12 * GIB
    plan = make_plan(ask)
    assert (ram.verdict, plan.found, plan.copies_from_ram) == ("short", True, False)
    assert ram_of(replace(ask, ram_bytes=48 * GIB)).swap_short_bytes == 0


def test_without_ram_nothing_is_said_about_ram(wan: dict[str, tuple[Component, Component]]) -> None:
    plan = make_plan(Ask(Models(list(wan["fp8"])), Run(832, 480, 81, cfg=6), Card(16 * GIB)))
    assert (plan.ram, plan.found, "RAM" in headline(plan)) == (None, False, False)


# --- from disk -------------------------------------------------------------------------------------------------------


def test_weights_that_come_from_disk_have_a_disk_s_time(wan: dict[str, tuple[Component, Component]]) -> None:
    """Flux.2 on 8 GiB with 16 of RAM: "20 steps copy 479 GiB, about 20 s", from pinned memory, out of nowhere."""
    model = wan["fp16"][0]
    plan = make_plan(ask_of([model], 12 * GIB, Card(8 * GIB)))
    assert plan.ram is not None
    (_, sampling), _ = plan.stages
    assert sampling.streamed_bytes is not None
    low, high = sampling.streamed_bytes
    # 8 GiB of RAM are for models.
    assert plan.ram.read_in_a_step == (low - 8 * GIB, high)
    assert (plan.ram.verdict, plan.found, plan.copies_from_ram) == ("reads each step", True, False)
    assert headline(plan) == (
        "fits the card: weights are streamed; RAM: too small, weights come from disk in each step"
    )
    assert stage_verdict(sampling, True, plan.copies_from_ram).endswith(" a step")
    assert from_disk_words(plan, 20).startswith("All 20 steps read ")
    text = " ".join(assumptions(plan.ask, ram=plan.ram))
    assert "What a step reads from disk comes at that disk's rate" in text
    assert "pinned memory" not in text
    value = plan_json(plan)
    assert value["stages"][0]["copy_high_seconds"] is None
    assert [one["disk"] for one in value["ram"]["disk_seconds"]] == ["nvme", "sata"]
    assert value["ram"]["disk_seconds"][1]["high_seconds"] == pytest.approx(high / 0.5e9)


def test_a_model_larger_than_ram_of_which_little_is_streamed_stays_in_ram(
    wan: dict[str, tuple[Component, Component]],
) -> None:
    """26.6 GiB on a card of 24: what does not fit there fits RAM, and is read from disk once."""
    plan = make_plan(ask_of([wan["fp16"][0]], 16 * GIB, Card(24 * GIB)))
    assert plan.ram is not None
    assert (plan.ram.read_in_a_step, plan.ram.verdict, plan.copies_from_ram) == (None, "reads again", True)


def test_copies_that_ram_cannot_hold_have_no_time(wan: dict[str, tuple[Component, Component]]) -> None:
    """Without dynamic VRAM they are swapped out or the process ends: no rate of a disk describes that."""
    plan = make_plan(ask_of([wan["fp16"][0]], 16 * GIB, Card(8 * GIB, dynamic=False)))
    assert plan.ram is not None
    assert (plan.ram.verdict, plan.ram.read_in_a_step, plan.copies_from_ram) == ("short", None, False)
    assert "pinned memory" not in " ".join(assumptions(plan.ask, ram=plan.ram))
    assert plan_json(plan)["stages"][0]["copy_low_seconds"] is None


def test_the_times_of_disks() -> None:
    """30 GB: 10 s at 3 GB/s, a minute at 0.5."""
    assert disk_times((15 * GB, 30 * GB)).replace(NB, " ") == (
        "5.0–10.0 s from an NVMe SSD at 3.0 GB/s, 30.0–60.0 s from a SATA SSD at 0.5 GB/s"
    )
    # 300 GB: 100 s and 10 min.
    assert (
        disk_times((15 * GB, 300 * GB))
        .replace(NB, " ")
        .startswith("5.0–100.0 s from an NVMe SSD at 3.0 GB/s, 30.0 s to")
    )
    assert all(disk.source for disk in DISKS)


def test_memory_that_is_not_pinned_is_not_called_pinned(wan: dict[str, tuple[Component, Component]]) -> None:
    """Windows: ComfyUI pins 40 % of the RAM, 12.8 of 32 GiB, and the model has 13.3."""
    plan = make_plan(ask_of([wan["fp8"][0]], 32 * GIB, Card(8 * GIB, windows=True)))
    assert "in part not pinned" in " ".join(assumptions(plan.ask, ram=plan.ram))


def test_an_encoder_that_waits_on_disk_has_no_time_of_a_link(wan: dict[str, tuple[Component, Component]]) -> None:
    """Z-Image: "streams 0.5-1.0 once, under 0.1 s" for 7.5 GiB that are read from disk; sampling keeps its time."""
    encoder = sized("te", 14 * GIB)
    encoder = replace(encoder, identity=replace(encoder.identity, kind="text encoder"))
    plan = make_plan(ask_of([wan["fp8"][0]], 20 * GIB, Card(8 * GIB), encoder))
    assert [role for role, _ in plan.stages] == ["text encoder", "diffusion", "vae"]
    assert (plan.timed(0), plan.timed(1), plan.copies_from_ram) == (False, True, True)
    value = plan_json(plan)["stages"]
    assert value[0]["copied_high_bytes"] > 0
    assert value[0]["copy_high_seconds"] is None
    assert value[1]["copy_high_seconds"] > 0


# --- what to change --------------------------------------------------------------------------------------------------


def test_more_ram_is_a_change_where_ram_is_short() -> None:
    """38 GB are 35.4 GiB, and 4 are for the rest: 40 GiB."""
    plan = make_plan(ask_of([sized("A", 10 * GB), sized("B", 28 * GB)], 32 * GIB, STATIC))
    assert [choice.id for choice in plan.choices] == ["dynamic", "cache-none", "ram"]
    dynamic, flag, more = said(plan)
    assert dynamic.startswith("Leave dynamic VRAM on: .safetensors files are then mapped")
    assert flag == (
        "Start ComfyUI with --cache-none. It lets go of a model once its nodes are done. The price: every queue loads "
        "every file and runs every node again, the text encoding too."
    )
    assert more == "40.0 GiB of RAM in place of 32.0 GiB: then RAM holds what has to be there at once."
    assert ram_of(replace(plan.ask, ram_bytes=40 * GIB)).verdict == "enough"


def test_smaller_files_that_are_there_are_a_change_for_the_ram(wan: dict[str, tuple[Component, Component]]) -> None:
    """AMD has no dynamic VRAM by default: 53 GiB of fp16 in 32, where both files of fp8 have a place."""
    ask = ask_of(list(wan["fp16"]), 36 * GIB, Card(40 * GIB, gpu="Radeon Pro"))
    plan = make_plan(replace(ask, variants=[Variant(pair) for pair in wan.values()]))
    assert plan.ram is not None
    assert (plan.outcome.verdict, plan.ram.verdict) == ("resident", "short")
    assert [choice.id for choice in plan.choices] == ["small_files", "cache-none", "ram"]
    assert plan.choices[0].files == tuple(one.name for one in wan["fp8"])
    assert said(plan)[0].endswith("which are there, for the RAM: then all of it stays on the card.")


def test_where_a_step_reads_from_disk_more_ram_ends_that(wan: dict[str, tuple[Component, Component]]) -> None:
    plan = make_plan(ask_of([wan["fp16"][0]], 12 * GIB, Card(8 * GIB)))
    more = plan.choices[-1]
    assert more.id == "ram"
    gib = int(float(more.note.partition(NB)[0]))
    assert ram_of(replace(plan.ask, ram_bytes=gib * GIB)).verdict == "reads again"
    assert ram_of(replace(plan.ask, ram_bytes=(gib - 1) * GIB)).verdict == "reads each step"


# --- one finding -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("card", "short"), [(CARD, False), (STATIC, True)])
def test_cards_side_by_side_have_the_plan_s_finding(card: Card, short: bool) -> None:
    """--tiers printed TOO MUCH with an exit status of 0."""
    ask = ask_of([sized("A", 10 * GB), sized("B", 28 * GB)], 32 * GIB, card)
    tiers = make_tiers(ask, [16 * GIB, 24 * GIB])
    assert [tier.plan.ram_found for tier in tiers] == [short] * 2
    assert [tier.found for tier in tiers] == [short] * 2
    value = tiers_json(tiers, ask)
    assert [tier["finding"] for tier in value["tiers"]] == [short] * 2


def test_one_card_whose_steps_wait_for_a_disk_is_said_below_the_table(
    wan: dict[str, tuple[Component, Component]],
) -> None:
    """The table said "disk, each step" above "from pinned memory"."""
    ask = ask_of([wan["fp16"][0]], 12 * GIB)
    tiers = make_tiers(ask, [8 * GIB, 48 * GIB])
    assert [tier.plan.copies_from_ram for tier in tiers] == [False, True]
    text = " ".join(tiers_json(tiers, ask)["assumptions"])
    assert "comes at that disk's rate" in text
    assert "pinned memory" not in text


def test_the_json_says_why() -> None:
    """It had the verdict "streams", a finding, and no reason."""
    value = plan_json(make_plan(ask_of([sized("A", 10 * GB), sized("B", 28 * GB)], 32 * GIB, STATIC)))
    assert value["finding"] is True
    assert (value["ram"]["verdict"], value["ram"]["finding"]) == ("short", True)
    assert value["ram"]["reason"] == "35.4 GiB have to be in RAM at once, and models can have 28.0 GiB of the RAM."
    assert value["ram"]["disk_seconds"] is None
