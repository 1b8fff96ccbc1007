"""Where models run and wait: the machines of public reports, and the sums that must never overflow."""

from __future__ import annotations

import itertools

import pytest

from headroom.core.budget import Stage
from headroom.core.offload import Machine, OtherGpu, Part, Role, plan_offload

GIB = 2**30


def part(role: Role, weights: float, work: float, name: str = "", least: float = 0.4) -> Part:
    """A model; sizes in GiB."""
    size = int(work * GIB)
    return Part(role, Stage(role, name or role, int(weights * GIB), size, size, least_weights_bytes=int(least * GIB)))


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
    """ComfyUI #10771: 32 GB RAM, two fp8 files of 13.6 GB and a text encoder of 6.4 GB: killed."""
    parts = [
        part("text encoder", 6.4, 0.3, "umt5"),
        part("diffusion", 13.3, 4, "high noise"),
        part("diffusion", 13.3, 4, "low noise"),
        part("vae", 0.24, 4, "vae"),
    ]
    plan = plan_offload(parts, machine(15, 28))
    assert parks(plan) == ["disk", "RAM", "RAM", "RAM"]
    assert plan.flags == ("--cache-none",)
    assert "umt5 is read from its file" in plan.notices[0]


def test_a_switch_to_a_second_model_counts_both() -> None:
    """ComfyUI-KJNodes #632: 10 GB waiting and 28 GB loading in 32 GB of RAM: killed; --cache-none fixed it."""
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
