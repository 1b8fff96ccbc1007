"""Where models run and wait: the machines of public reports, and the sums that must never overflow."""

from __future__ import annotations

import itertools

import pytest

from headroom.core.budget import Stage
from headroom.core.offload import Machine, Part, Role, plan_offload
from headroom.core.offload_types import OtherGpu

GIB = 2**30


def part(
    role: Role, weights: float, work: float, name: str = "", least: float = 0.4, mapped: bool = False, passes: int = 1
) -> Part:
    """A model; sizes in GiB."""
    size, least_bytes = int(work * GIB), int(least * GIB)
    stage = Stage(role, name or role, int(weights * GIB), size, size, least_weights_bytes=least_bytes, passes=passes)
    return Part(role, stage, mapped)


def machine(gpu: float, ram: float, pin: float = 0, others: tuple[float, ...] = (), swap: float = 0) -> Machine:
    """A machine; sizes in GiB."""
    cards = tuple(OtherGpu(index, int(room * GIB)) for index, room in enumerate(others, 1))
    return Machine(int(gpu * GIB), int(ram * GIB), int(pin * GIB), int(swap * GIB), cards)


def parks(plan) -> list[str]:
    return [one.park for one in plan.placements]


def test_everything_stays_where_everything_fits() -> None:
    plan = plan_offload(
        [part("text encoder", 1.6, 0.3), part("diffusion", 4.8, 2), part("vae", 0.2, 4)], machine(24, 32)
    )
    assert parks(plan) == ["gpu", "gpu", "gpu"]
    assert [one.force_offload for one in plan.placements] == [False, False, False]
    assert {one.load_device for one in plan.placements} == {"main_device"}
    assert (plan.flags, plan.notices, plan.ram_bytes) == ((), (), 0)


def test_a_stage_that_needs_the_card_sends_the_others_away() -> None:
    """12 GB: the decode's 9 GiB leave no place for 6 GiB of weights, which then wait in RAM."""
    plan = plan_offload([part("diffusion", 6, 2), part("vae", 0.2, 9)], machine(11, 32))
    assert parks(plan) == ["RAM", "gpu"]
    assert plan.placements[0].force_offload is True
    assert plan.placements[0].load_device == "main_device"


def test_a_model_larger_than_the_card_is_not_loaded_straight_to_it() -> None:
    plan = plan_offload([part("diffusion", 13.6, 3)], machine(11, 64, pin=50))
    (one,) = plan.placements
    assert (one.run_on, one.park, one.load_device, one.force_offload) == ("gpu", "RAM, pinned", "offload_device", True)
    assert one.streamed_bytes == pytest.approx(5.6 * GIB, abs=2)


def test_two_wan_models_and_a_text_encoder_in_32_gb() -> None:
    """ComfyUI #10771: 32 GB RAM, two fp8 files of 13.6 GB and a text encoder of 6.4 GB: killed, in ComfyUI 0.3.67.

    That version had no dynamic VRAM: weights were copies.
    """
    parts = [
        part("text encoder", 6.4, 0.3, "umt5"),
        part("diffusion", 13.3, 4, "high noise"),
        part("diffusion", 13.3, 4, "low noise"),
        part("vae", 0.24, 4, "vae"),
    ]
    plan = plan_offload(parts, machine(15, 28))
    assert parks(plan) == ["disk", "RAM", "RAM", "RAM"]
    assert plan.flags == ("--cache-none",)
    assert plan.short
    assert plan.notices[0] == (
        "33.2\u00a0GiB would wait in 28.0\u00a0GiB of RAM, which has no place for umt5: the system may end ComfyUI."
    )


def test_mapped_files_need_no_flag_and_kill_nothing() -> None:
    """With dynamic VRAM the same three files are mapped, and --cache-none would only run every node again.

    ComfyUI 0.30.0: load_safetensors in comfy/utils.py, ensure_pin_budget in comfy/model_management.py. ComfyUI PR#14089
    lists Wan 2.2 fp16 and fp8 in 32 GB as tested.
    """
    parts = [
        part("text encoder", 6.4, 0.3, "umt5", mapped=True),
        part("diffusion", 13.3, 4, "high noise", mapped=True),
        part("diffusion", 13.3, 4, "low noise", mapped=True),
    ]
    plan = plan_offload(parts, machine(15, 28))
    assert (parks(plan), plan.flags, plan.short) == (["disk", "RAM", "RAM"], (), False)
    assert "what RAM cannot hold of umt5 is read from disk as it is needed" in plan.notices[0]
    assert "no flag is needed" in plan.notices[0]
    assert not any("cache-none" in notice for notice in plan.notices)


def test_a_copy_gets_its_place_before_a_mapped_file() -> None:
    """A GGUF cannot be dropped; the .safetensors beside it can, however much slower it is to read."""
    plan = plan_offload(
        [part("text encoder", 9, 0.5, "gguf"), part("diffusion", 12, 4, "mapped", mapped=True)], machine(11, 12)
    )
    assert (parks(plan), plan.flags, plan.short) == (["RAM", "disk"], (), False)


@pytest.mark.parametrize(
    ("weights", "ram", "flags"),
    [
        # Nothing else can make room for a single model.
        ([30], 12, ()),
        # The largest alone is more than the machine has.
        ([5, 30], 12, ()),
        ([5, 11], 12, ("--cache-none",)),
        ([5, 6], 12, ()),
    ],
)
def test_the_flag_is_offered_only_where_it_helps(weights: list[float], ram: float, flags: tuple[str, ...]) -> None:
    """ComfyUI PR#7509: it lets go of a model when its nodes are done, and then everything runs again."""
    plan = plan_offload([part("diffusion", size, 2, str(size)) for size in weights], machine(4, ram))
    assert plan.flags == flags


def test_what_a_step_reads_from_disk_is_what_ram_cannot_hold_at_best_and_all_at_worst() -> None:
    """30 GiB on a card with 7 for 1 of work: 24 are streamed, 12 of them fit RAM; both prompts go apart."""
    (one,) = plan_offload([part("diffusion", 30, 1, "flux2", mapped=True, passes=2)], machine(7, 12)).placements
    assert one.disk_bytes == (24 * GIB, 48 * GIB)
    roomy = plan_offload([part("diffusion", 30, 1, "flux2", mapped=True)], machine(7, 24))
    assert roomy.placements[0].disk_bytes is None
    copies = plan_offload([part("diffusion", 30, 1, "flux2")], machine(7, 12))
    assert (copies.placements[0].disk_bytes, copies.timed(copies.placements[0])) == (None, False)


def test_a_card_of_which_nothing_is_left_is_not_answered_with_tiles() -> None:
    """--reserve-vram 9 on a card of 8."""
    plan = plan_offload([part("diffusion", 6, 2), part("vae", 0.2, 3)], machine(0, 32))
    assert plan.notices == ("Nothing of the card is left for models and their work.",)


def test_a_switch_to_a_second_model_counts_both() -> None:
    """ComfyUI-KJNodes #632: 10 GB waiting and 28 GB loading in 32 GB of RAM: killed; --cache-none fixed it.

    A report of a model that was loaded "partially", which dynamic VRAM never does; no version is named.
    """
    plan = plan_offload([part("diffusion", 10, 2, "A"), part("diffusion", 28, 2, "B")], machine(15, 32, swap=8))
    assert parks(plan) == ["RAM", "disk"]
    assert plan.flags == ("--cache-none",)
    assert "38.0\u00a0GiB would wait in 32.0\u00a0GiB of RAM" in plan.notices[0]
    assert "6.0\u00a0GiB that are missing" in plan.notices[1]


def test_the_other_card_takes_what_is_small() -> None:
    """ComfyUI-MultiGPU #13: two cards of different size are counted each by itself."""
    parts = [part("text encoder", 9, 0.5), part("diffusion", 11, 3), part("vae", 0.2, 6)]
    plan = plan_offload(parts, machine(15, 32, others=(7.5,)))
    assert [one.run_on for one in plan.placements] == ["gpu", "gpu", "gpu 1"]
    wide = plan_offload(parts, machine(15, 32, others=(7.5, 24)))
    assert [one.run_on for one in wide.placements] == ["gpu 2", "gpu", "gpu 1"]
    assert [one.park for one in wide.placements] == ["other gpu", "gpu", "other gpu"]


def test_a_text_encoder_whose_largest_layer_is_too_large_runs_on_the_cpu() -> None:
    plan = plan_offload([part("text encoder", 9, 0.5, least=4)], machine(4, 32))
    assert (plan.placements[0].run_on, plan.placements[0].park) == ("cpu", "RAM")


def test_only_what_the_host_pins_is_called_pinned() -> None:
    """comfy/model_management.py 0.30.0: 40 % of the RAM on Windows."""
    plan = plan_offload([part("diffusion", 10, 4), part("diffusion", 12, 4)], machine(11, 30, pin=12.8))
    assert parks(plan) == ["RAM, pinned", "RAM"]


def test_a_decode_that_is_too_large_is_answered_with_tiles() -> None:
    """ComfyUI-WanVideoWrapper #1267, #1722: the peak came from the VAE, and block swap could not lower it."""
    plan = plan_offload([part("diffusion", 6, 2), part("vae", 0.2, 14)], machine(11, 32))
    assert any("decode in tiles" in notice for notice in plan.notices)


def test_ram_is_never_overfilled_and_every_part_has_one_place() -> None:
    sizes = (0.3, 2, 6.5, 13.5, 27)
    for gpu, ram, weights in itertools.product((4, 11, 23), (0, 8, 30), itertools.product(sizes, repeat=3)):
        parts = [
            part(role, size, 3, str(i))
            for i, (role, size) in enumerate(zip(("text encoder", "diffusion", "vae"), weights))
        ]
        plan = plan_offload(parts, machine(gpu, ram, pin=ram / 2))
        assert [one.part for one in plan.placements] == parts
        waiting = sum(one.part.stage.weights_bytes for one in plan.placements if one.park.startswith("RAM"))
        pinned = sum(one.part.stage.weights_bytes for one in plan.placements if one.park == "RAM, pinned")
        assert waiting <= ram * GIB
        assert pinned <= ram / 2 * GIB
        staying = sum(one.part.stage.weights_bytes for one in plan.placements if one.park == "gpu")
        assert staying <= gpu * GIB


def test_another_card_is_filled_only_once_and_with_the_work() -> None:
    parts = [part("text encoder", 5, 1), part("diffusion", 11, 3), part("vae", 4, 3)]
    # 8 GiB: the encoder takes 5 of them, and 3 are too few for 4 of the VAE's weights.
    assert [one.run_on for one in plan_offload(parts, machine(12, 32, others=(8,))).placements] == [
        "gpu 1",
        "gpu",
        "gpu",
    ]
    # Its weights would go there, its work not.
    assert [one.run_on for one in plan_offload(parts, machine(12, 32, others=(5.5,))).placements] == ["gpu"] * 3


def test_work_that_is_not_known_counts_by_the_host_s_own_number() -> None:
    """With nothing counted the weights would stay on a card whose whole room the host is about to ask for."""
    decode = Part("vae", Stage("Decode", "vae", GIB // 4, None, None, reserved_bytes=9 * GIB))
    assert parks(plan_offload([part("diffusion", 6, 2), decode], machine(11, 32))) == ["RAM", "gpu"]


def test_a_text_encoder_on_the_cpu_is_read_from_its_file_where_ram_is_short() -> None:
    plan = plan_offload([part("text encoder", 9, 0.5, least=4)], machine(4, 8))
    assert (plan.placements[0].run_on, plan.placements[0].park) == ("cpu", "disk")
