"""GPUs that are not NVIDIA's: torch is played, the kernel's files lie in a temporary folder. Cases are cited."""

from __future__ import annotations

import dataclasses
import importlib
from collections.abc import Callable
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
import torch
from fakes.torch_cards import TorchCard, play

GIB = 2**30
Read = Callable[..., Any]
RX_6800 = TorchCard("AMD Radeon RX 6800", 16 * GIB, None, 0x03, 14 * GIB, 2 * GIB, 2 * GIB)
B580 = TorchCard("Intel(R) Arc(TM) B580 Graphics", 12 * GIB, "1234", None, None, 2 * GIB, 2 * GIB)


@pytest.fixture(autouse=True)
def no_driver(devices: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    """On these machines NVIDIA's driver is not even asked for."""

    def asked() -> None:
        raise AssertionError("NVML was asked on a machine of another make")

    monkeypatch.setattr(devices._cards, "read", asked)


@pytest.fixture
def kernel(devices: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A made-up /sys, empty."""
    module = importlib.import_module(f"{devices.__name__}.amd_sysfs")
    monkeypatch.setattr(devices, "read_card", lambda pci: module.read_card(pci, tmp_path))
    return tmp_path


def card_files(kernel: Path, pci: str = "0000:03:00.0", **changed: str | None) -> Path:
    """What the kernel shows of an RX 6800 that has 6 GiB in use."""
    files: dict[str, str | None] = {
        "vendor": "0x1002",
        "mem_info_vram_total": str(16 * GIB),
        "mem_info_vram_used": str(6 * GIB),
        "gpu_busy_percent": "99",
        "max_link_speed": "16.0 GT/s PCIe",
        "current_link_width": "8",
        "hwmon/hwmon4/temp1_input": "64000",
        "hwmon/hwmon4/power1_average": "203000000",
        **{name.replace("__", "/"): text for name, text in changed.items()},
    }
    folder = kernel / "bus" / "pci" / "devices" / pci
    for name, text in files.items():
        if text is not None:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(f"{text}\n", "utf-8")
    return folder


def test_the_kernel_knows_what_the_desktop_holds(kernel: Path, read: Read, monkeypatch: pytest.MonkeyPatch):
    """MEM-26, llama.cpp #24906: sysfs says 6 GB used, torch 2 -> 6; the other 4 are not this process's."""
    card_files(kernel)
    play(monkeypatch, [RX_6800], hip="7.0")
    card = read(0)
    assert (card.kind, card.total_bytes, card.used_bytes, card.free_bytes) == ("rocm", 16 * GIB, 6 * GIB, 10 * GIB)
    assert (card.own_bytes, card.others_bytes, card.others_estimated) == (2 * GIB, 4 * GIB, True)
    assert (card.utilisation_percent, card.temperature_celsius, card.power_watts) == (99.0, 64.0, 203.0)
    assert (card.pcie_generation, card.pcie_width, card.capability, card.unified) == (4, 8, None, False)


def test_a_newer_card_has_its_power_under_another_name(kernel: Path, read: Read, monkeypatch: pytest.MonkeyPatch):
    card_files(kernel, hwmon__hwmon4__power1_average=None, hwmon__hwmon4__power1_input="150500000")
    play(monkeypatch, [RX_6800], hip="7.0")
    assert read(0).power_watts == 150.5


def test_a_file_that_cannot_be_read_costs_one_field(kernel: Path, read: Read, monkeypatch: pytest.MonkeyPatch):
    card_files(kernel, hwmon__hwmon4__temp1_input="busy", gpu_busy_percent=None)
    play(monkeypatch, [RX_6800], hip="7.0")
    card = read(0)
    assert (card.temperature_celsius, card.utilisation_percent, card.power_watts) == (None, None, 203.0)


def test_without_an_address_the_only_card_is_meant(kernel: Path, read: Read, monkeypatch: pytest.MonkeyPatch):
    """torch before 2.8 does not tell the address; the card's outputs lie beside it in the kernel's list."""
    folder = card_files(kernel)
    drm = kernel / "class" / "drm"
    for name in ("card1", "card1-DP-1", "renderD128"):
        (drm / name).mkdir(parents=True)
    (drm / "card1" / "device").symlink_to(folder)
    (drm / "card0" / "device").mkdir(parents=True)
    (drm / "card0" / "device" / "vendor").write_text("0x8086\n")
    play(monkeypatch, [dataclasses.replace(RX_6800, bus=None)], hip="7.0")
    assert read(0).used_bytes == 6 * GIB


def test_of_two_cards_without_addresses_neither_is_taken(kernel: Path, read: Read, monkeypatch: pytest.MonkeyPatch):
    for number, pci in enumerate(("0000:03:00.0", "0000:83:00.0")):
        folder = card_files(kernel, pci)
        (kernel / "class" / "drm" / f"card{number}").mkdir(parents=True)
        (kernel / "class" / "drm" / f"card{number}" / "device").symlink_to(folder)
    play(monkeypatch, [dataclasses.replace(RX_6800, bus=None)], hip="7.0")
    assert read(0).used_bytes == 2 * GIB


def test_a_free_memory_that_cannot_be_true_is_unknown(kernel: Path, read: Read, monkeypatch: pytest.MonkeyPatch):
    """MEM-25, unsloth #8403: on Windows free == total while torch holds 2 GiB."""
    play(monkeypatch, [dataclasses.replace(RX_6800, free=16 * GIB)], hip="7.0")
    card = read(0)
    assert (card.total_bytes, card.free_bytes, card.used_bytes, card.others_bytes) == (16 * GIB, None, None, None)
    assert "all of it is free" in card.reasons["free_bytes"]
    assert card.own_bytes == 2 * GIB


@pytest.mark.parametrize(
    ("set_aside", "unified", "total"),
    [(GIB // 2, True, 64 * GIB), (96 * GIB, False, 96 * GIB)],
)
def test_an_apu_shares_the_ram_unless_the_firmware_sets_a_part_aside(
    kernel: Path, read: Read, monkeypatch: pytest.MonkeyPatch, set_aside: int, unified: bool, total: int
):
    """A Strix Halo of 128 GiB: with 0.5 set aside torch sees 60 of the RAM; with 96 the RAM has 32 left."""
    card_files(kernel, mem_info_vram_total=str(set_aside), mem_info_vram_used=str(GIB // 4))
    seen = max(set_aside, 60 * GIB)
    play(monkeypatch, [dataclasses.replace(RX_6800, total=seen, integrated=True)], hip="7.0")
    card = read(0)
    assert (card.unified, card.total_bytes, card.torch_total_bytes) == (unified, total, seen)


def test_an_intel_card_is_asked_through_torch(read: Read, monkeypatch: pytest.MonkeyPatch):
    """MEM-11, Crystools #285: torch.xpu.mem_get_info where there is one; 12 - 7 free - 2 own = 3 are others'."""
    play(monkeypatch, [dataclasses.replace(B580, free=7 * GIB)], kind="xpu")
    card = read(0)
    assert (card.kind, card.total_bytes, card.free_bytes, card.own_bytes) == ("xpu", 12 * GIB, 7 * GIB, 2 * GIB)
    assert (card.others_bytes, card.others_estimated, card.temperature_celsius) == (3 * GIB, True, None)


@pytest.mark.parametrize(("free", "tells"), [(10 * GIB, True), (None, False)])
def test_a_count_that_leaves_others_out_is_unknown(
    read: Read, monkeypatch: pytest.MonkeyPatch, free: int | None, tells: bool
):
    """MEM-28, ComfyUI #15323: total minus own was taken for free, and the run hung; unknown is better."""
    play(monkeypatch, [dataclasses.replace(B580, free=free)], kind="xpu", tells_free=tells)
    card = read(0)
    assert (card.total_bytes, card.free_bytes, card.others_bytes) == (12 * GIB, None, None)
    assert "Intel" in card.reasons["free_bytes"]


def test_an_intel_card_that_torch_has_not_opened_is_left_alone(read: Read, monkeypatch: pytest.MonkeyPatch):
    play(monkeypatch, [B580], kind="xpu", opened=False)
    assert (read(0).total_bytes, read(0).own_bytes) == (None, 0)


def host_device(monkeypatch: pytest.MonkeyPatch, device: Any, **attributes: Any) -> None:
    """The host runs on this device."""
    import comfy.model_management as management

    monkeypatch.setattr(management, "get_all_torch_devices", lambda: [device])
    for name, value in attributes.items():
        monkeypatch.setattr(management, name, value)


def test_directml_tells_nothing_and_nothing_is_made_up(read: Read, monkeypatch: pytest.MonkeyPatch):
    """MEM-29, ComfyUI #5860: 1024 MB is the host's own stopgap."""
    host_device(monkeypatch, SimpleNamespace(type="privateuseone", index=0), directml_enabled=True)
    card = read(0)
    assert (card.kind, card.total_bytes, card.free_bytes, card.used_bytes) == ("directml", None, None, None)
    assert "DirectML" in card.reasons["total_bytes"]


def test_apples_gpu_shows_the_ram_and_is_marked_as_the_same(read: Read, monkeypatch: pytest.MonkeyPatch):
    """MEM-30, ComfyUI #7171, #11584: "39.5 + 141.24 other / 182.78 GiB" added one pool up twice."""
    host_device(monkeypatch, torch.device("mps"))
    for name, size in {
        "recommended_max_memory": 48,
        "current_allocated_memory": 6,
        "driver_allocated_memory": 8,
    }.items():
        monkeypatch.setattr(torch.mps, name, lambda size=size: size * GIB)
    card = read(0)
    assert (card.kind, card.unified, card.total_bytes, card.used_bytes) == ("mps", True, 64 * GIB, 24 * GIB)
    assert (card.own_bytes, card.torch_allocated_bytes, card.torch_total_bytes) == (8 * GIB, 6 * GIB, 48 * GIB)
    assert card.others_bytes is None


def test_a_make_that_nobody_has_heard_of_is_shown_without_figures(read: Read, monkeypatch: pytest.MonkeyPatch):
    host_device(monkeypatch, SimpleNamespace(type="mtia", index=None))
    assert (read(0).kind, read(0).total_bytes) == ("mtia", None)


def test_an_older_host_has_one_device(read: Read, monkeypatch: pytest.MonkeyPatch):
    """ComfyUI before 0.24 has no list of devices."""
    import comfy.model_management as management

    play(monkeypatch, [B580, dataclasses.replace(B580, free=7 * GIB)], kind="xpu")
    monkeypatch.delattr(management, "get_all_torch_devices")
    monkeypatch.setattr(management, "get_torch_device", lambda: torch.device("xpu", 1))
    (card,) = read()
    assert (card.index, card.free_bytes) == (1, 7 * GIB)
