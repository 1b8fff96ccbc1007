"""What a run can have of a machine: of the card that is there, of one that is typed in, and of the RAM."""

from __future__ import annotations

from typing import Any

import pytest

from headroom.core.readings import Device, Host, Ram, Snapshot
from headroom.core.room import room_of, stated_room

GIB = 2**30
MIB = 2**20


def card(index: int = 0, **fields: Any) -> Device:
    """A card of 12 GiB with 9 free."""
    known = {"total_bytes": 12 * GIB, "free_bytes": 9 * GIB, "others_bytes": GIB, "evictable_bytes": GIB}
    return Device(index, "RTX 3060", **{"kind": "cuda", **known, **fields})


def machine(*cards: Device, flags: str = "", **host: Any) -> Snapshot:
    """A machine of 32 GiB with 20 available, of which ComfyUI holds 6."""
    ram = Ram(total_bytes=32 * GIB, available_bytes=20 * GIB, own_bytes=6 * GIB, swap_total_bytes=8 * GIB)
    known = {"reserved_bytes": 400 * MIB, "dynamic_vram": True, "platform": "linux", "attention": "pytorch"}
    given = Host(version="0.30.0", flags=frozenset(flags.split()), **{**known, **host})
    return Snapshot(0.0, given, cards, ram=ram)


def test_the_card_s_room_is_what_can_be_had_without_what_the_host_keeps_free() -> None:
    room = room_of(machine(card(pcie_generation=3, pcie_width=8)))
    assert room.room_bytes == 10 * GIB - 400 * MIB
    assert room.card == "RTX 3060, 12.0\u00a0GiB"
    assert room.link.words == "PCIe 3.0 x8"
    assert (room.stated, room.dynamic, room.streams, room.attention) == (False, True, True, "fused")


def test_more_may_be_known_of_what_can_go() -> None:
    assert room_of(machine(card()), evictable={0: 3 * GIB}).room_bytes == 12 * GIB - 400 * MIB


def test_every_other_card_has_a_room_of_its_own() -> None:
    """ComfyUI-MultiGPU #13: two cards of different size."""
    room = room_of(machine(card(), card(1, free_bytes=5 * GIB, evictable_bytes=0), card(2, free_bytes=None)))
    assert [(one.index, one.room_bytes) for one in room.others] == [(1, 5 * GIB - 400 * MIB)]


@pytest.mark.parametrize(
    ("size", "windows", "kept"),
    [(12, False, 400 * MIB), (12, True, 600 * MIB), (16, True, 700 * MIB), (24, False, 400 * MIB)],
)
def test_a_stated_card_keeps_what_comfyui_keeps_free(size: int, windows: bool, kept: int) -> None:
    """comfy/model_management.py 0.30.0, EXTRA_RESERVED_VRAM; and the context of 0.4 GiB."""
    assert stated_room(size * GIB, windows) == size * GIB - int(0.4 * GIB) - kept


def test_a_stated_card_is_like_the_one_that_is_there() -> None:
    snapshot = machine(card(pcie_generation=3, pcie_width=8), dynamic_vram=False, reserved_bytes=2 * GIB)
    room = room_of(snapshot, 24 * GIB)
    assert (room.stated, room.dynamic, room.link.generation) == (True, False, 3)
    assert room.room_bytes == int(24 * GIB * 15.47 / 16) - int(0.4 * GIB) - 2 * GIB


def test_a_whole_number_of_gib_is_what_stands_on_the_box() -> None:
    """ComfyUI #13598: 15.47 of a 16 GiB card can be had."""
    kept = int(0.4 * GIB) + 400 * MIB
    assert room_of(machine(), 16 * GIB).room_bytes == int(15.47 * GIB) - kept
    assert room_of(machine(), int(15.47 * GIB)).room_bytes == int(15.47 * GIB) - kept


def test_without_a_card_only_a_stated_one_can_be_planned_for() -> None:
    none = room_of(machine(Device(0, "CPU", "cpu", total_bytes=32 * GIB, free_bytes=20 * GIB)))
    assert none.room_bytes is None
    assert "`vram_gib`" in none.why_not
    stated = room_of(machine(), 12 * GIB)
    assert (stated.dynamic, stated.link.assumed, stated.why_not) == (True, True, "")
    assert stated.room_bytes is not None


def test_a_card_that_does_not_tell_says_why() -> None:
    room = room_of(machine(card(free_bytes=None, reasons={"free_bytes": "not supported by the driver"})))
    assert room.room_bytes is None
    assert "RTX 3060 is free is not known: not supported by the driver" in room.why_not
    assert room.pin_bytes == 0


def test_ram_is_what_is_available_and_what_comfyui_s_own_models_hold() -> None:
    room = room_of(machine(card()))
    assert room.ram_bytes == 24 * GIB
    assert (room.pin_bytes, room.swap_bytes) == (int(32 * GIB * 0.9), 8 * GIB)
    assert room_of(machine(card()), ram_bytes=64 * GIB).ram_bytes == 60 * GIB
    assert room_of(machine(card(), platform="windows"), ram_bytes=64 * GIB).pin_bytes == int(64 * GIB * 0.4)


def test_flags_that_forbid_streaming_and_pinning() -> None:
    assert room_of(machine(card(), flags="--highvram")).streams is False
    assert room_of(machine(card(), flags="--disable-pinned-memory")).pin_bytes == 0
    assert room_of(machine(card(), attention="quad")).attention == "split"


@pytest.mark.parametrize(
    ("flags", "streams", "keeps", "staying"),
    [
        ("", True, True, 0),
        ("--highvram", False, True, 1),
        ("--gpu-only", False, True, 3),
        ("--novram", True, False, 0),
    ],
)
def test_flags_say_what_streams_and_what_never_leaves(flags: str, streams: bool, keeps: bool, staying: int) -> None:
    """comfy/model_management.py 0.30.0: load_models_gpu and the three *_offload_device."""
    room = room_of(machine(card(), flags=flags))
    assert (room.streams, room.keeps, len(room.staying)) == (streams, keeps, staying)
    assert bool(room.stays_because) == bool(staying)
    assert flags in room.stays_because or not staying


def test_memory_that_is_the_ram_is_counted_once() -> None:
    """Apple's GPUs: what waits "in RAM" would take the card's memory (ComfyUI #7171, #11584)."""
    mac = card(kind="mps", unified=True, total_bytes=32 * GIB, free_bytes=20 * GIB, evictable_bytes=0)
    room = room_of(machine(mac, dynamic_vram=False, platform="macos"))
    assert (room.unified, room.streams, room.pin_bytes) == (True, False, 0)
    assert room.machine().ram_bytes == 0
    assert len(room.staying) == 3
    # A card that is typed in has memory of its own.
    stated = room_of(machine(mac, dynamic_vram=False, platform="macos"), 12 * GIB)
    assert (stated.unified, stated.staying, stated.machine().ram_bytes) == (False, (), 24 * GIB)


def test_dynamic_vram_gives_pages_of_a_shared_memory_back() -> None:
    room = room_of(machine(card(unified=True)))
    assert (room.unified, room.streams, room.staying) == (True, True, ())


def test_mapped_files_are_not_counted_twice_as_ram_for_models() -> None:
    """The pages of a mapped model file are in this process's size and in what the system calls available."""
    ram = Ram(total_bytes=32 * GIB, available_bytes=28 * GIB, own_bytes=15 * GIB)
    mapped = Snapshot(0.0, machine(card()).host, (card(),), ram=ram)
    # Only 4 GiB are in use at all, 2 of which are no models.
    assert room_of(mapped).ram_bytes == 30 * GIB
    assert room_of(mapped, own_ram_bytes=3 * GIB).ram_bytes == 29 * GIB
    assert room_of(mapped, own_ram_bytes=GIB).ram_bytes == 28 * GIB


def test_ram_that_cannot_be_read_is_not_zero() -> None:
    blind = Snapshot(0.0, machine(card()).host, (card(),), ram=Ram())
    assert room_of(blind).ram_bytes is None
    assert room_of(blind, ram_bytes=32 * GIB).ram_bytes == 28 * GIB


def test_only_nvidia_s_and_amd_s_cards_get_pinned_memory() -> None:
    assert room_of(machine(card(kind="xpu"))).pin_bytes == 0
    assert room_of(machine(card(kind="rocm"))).pin_bytes > 0
    assert room_of(machine(card(kind="rocm"))).amd is True
