"""NVIDIA's cards through the real nvidia-ml-py and a fake driver; torch's side is played too. Cases are cited."""

from __future__ import annotations

import dataclasses
import gc
import importlib
import subprocess
import sys
import time
import weakref
from collections.abc import Callable
from types import ModuleType
from typing import TYPE_CHECKING, Any

import hostkit
import pytest
from fakes.torch_cards import TorchCard, play

if TYPE_CHECKING:
    from fakes.nvml.build import FakeDriver

GIB = 2**30
MIB = 2**20
UUID_3060, UUID_4090 = "aaaa1111-0000-0000-0000-000000000001", "bbbb2222-0000-0000-0000-000000000002"
#: CUDA sees a little less than the driver states (ollama PR#18201).
RTX_4090 = TorchCard("NVIDIA GeForce RTX 4090", 24 * GIB - 400 * MIB, UUID_4090, 0x41, None, 5 * GIB, 6 * GIB)
RTX_3060 = TorchCard("NVIDIA GeForce RTX 3060", 12 * GIB - 300 * MIB, UUID_3060, 0x01, capability=(8, 6))

Read = Callable[..., Any]


def test_a_healthy_card_is_read_whole(driver: FakeDriver, read: Read, monkeypatch: pytest.MonkeyPatch):
    """12 GiB allocated and 0.5 of the driver; 8 by this process by the driver's count, of which torch has 6.

    MEM-51, sichek PR#113: the load is 87 %, not the 44 % that the memory bus is busy. MEM-23: both totals.
    """
    play(monkeypatch, [RTX_4090])
    card = read(0)
    known = {field.name: getattr(card, field.name) for field in dataclasses.fields(card)}
    assert known == {
        "index": 0,
        "name": "NVIDIA GeForce RTX 4090",
        "kind": "cuda",
        "uuid": f"GPU-{UUID_4090}",
        "pci": "0000:41:00.0",
        "mig_slice": False,
        "unified": False,
        "total_bytes": 24 * GIB,
        "torch_total_bytes": 24 * GIB - 400 * MIB,
        "used_bytes": 12 * GIB + 512 * MIB,
        "free_bytes": 11 * GIB + 512 * MIB,
        "driver_bytes": 512 * MIB,
        "own_bytes": 8 * GIB,
        "others_bytes": 3 * GIB + 512 * MIB,
        "others_estimated": False,
        "programs": card.programs,
        "torch_allocated_bytes": 5 * GIB,
        "torch_reserved_bytes": 6 * GIB,
        "dynamic_resident_bytes": None,
        "evictable_bytes": None,
        "spilled_bytes": None,
        "utilisation_percent": 87.0,
        "temperature_celsius": 61.0,
        "power_watts": 320.5,
        "pcie_generation": 4,
        "pcie_width": 16,
        "capability": (8, 9),
        "bf16": True,
        "driver": "580.95.05",
        "reasons": {},
    }
    # Without folders and arguments; one that computes and draws is listed once.
    assert [(program.name, program.used_bytes) for program in card.programs] == [
        ("ollama", 3 * GIB),
        ("firefox", 512 * MIB),
    ]


def test_two_cards_have_their_own_figures_in_cudas_order(
    driver: FakeDriver, read: Read, monkeypatch: pytest.MonkeyPatch
):
    """MEM-07, Crystools #185: both showed the same. MEM-14: CUDA [4090, 3060], the driver [3060, 4090]."""
    driver.play("two_cards")
    play(monkeypatch, [RTX_4090, RTX_3060])
    cards = read()
    assert [(card.name[-4:], card.used_bytes, card.temperature_celsius) for card in cards] == [
        ("4090", 12 * GIB + 512 * MIB, 61.0),
        ("3060", 2 * GIB + 256 * MIB, 40.0),
    ]


def test_a_card_that_comfyui_does_not_use_stands_apart(
    driver: FakeDriver, devices: ModuleType, ram: Any, monkeypatch: pytest.MonkeyPatch
):
    driver.play("two_cards")
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "1")
    play(monkeypatch, [RTX_3060])
    used, unused = devices.read_devices(ram)
    assert [card.name for card in used] == ["NVIDIA GeForce RTX 3060"]
    assert [(card.name, card.index, card.used_bytes) for card in unused] == [
        ("NVIDIA GeForce RTX 4090", 1, 12 * GIB + 512 * MIB)
    ]


def test_an_idle_card_has_no_other_program(driver: FakeDriver, read: Read, monkeypatch: pytest.MonkeyPatch):
    """MEM-22, gpustat #141: what is in use is the driver's; and a card without a sensor says so."""
    driver.play("idle")
    play(monkeypatch, [RTX_4090], opened=False)
    card = read(0)
    assert (card.used_bytes, card.driver_bytes, card.own_bytes, card.others_bytes) == (512 * MIB, 512 * MIB, 0, 0)
    assert card.programs == ()
    assert (card.power_watts, card.reasons["power_watts"]) == (None, "this card does not tell")


def test_without_sizes_per_program_others_are_an_estimate(
    driver: FakeDriver, read: Read, monkeypatch: pytest.MonkeyPatch
):
    """MEM-19, nvitop #55: 12.5 in use, 0.5 the driver's, 6 by torch and 2 by dynamic VRAM leave 4."""
    driver.play("no_process_memory")
    play(monkeypatch, [RTX_4090])
    card = read(0, **{"cuda:0": 2 * GIB})
    assert (card.own_bytes, card.others_bytes, card.others_estimated) == (8 * GIB, 4 * GIB, True)
    assert sorted((program.name, program.used_bytes) for program in card.programs) == [
        ("firefox", None),
        ("ollama", None),
    ]


def test_process_ids_of_the_machine_do_not_make_this_process_another_one(
    driver: FakeDriver, read: Read, monkeypatch: pytest.MonkeyPatch
):
    """MEM-20, nvidia-docker #179, pynvml #36: in a container the own id is not in the list."""
    driver.play("host_pids")
    play(monkeypatch, [RTX_4090])
    card = read(0)
    assert (card.own_bytes, card.others_bytes, card.programs) == (6 * GIB, 6 * GIB, None)
    assert card.others_estimated
    assert "container" in card.reasons["programs"]


def test_memory_that_the_driver_does_not_count_is_the_machines(
    driver: FakeDriver, read: Read, monkeypatch: pytest.MonkeyPatch
):
    """GB10: "not supported", and one pool with the RAM. MEM-24, pynvml #63: no figures per program."""
    driver.play("gb10")
    play(monkeypatch, [TorchCard("NVIDIA GB10", 119 * GIB, "ffff6666-0000-0000-0000-000000000006", reserved=9 * GIB)])
    card = read(0)
    assert (card.unified, card.total_bytes, card.free_bytes, card.used_bytes) == (True, 64 * GIB, 40 * GIB, 24 * GIB)
    assert (card.own_bytes, card.others_bytes, card.programs) == (9 * GIB, None, None)
    assert (card.utilisation_percent, card.temperature_celsius) == (12.0, 45.0)


MIG = TorchCard(
    "NVIDIA A100-SXM4-40GB MIG 1g.5gb", 5 * GIB, "cccc3333-0000-0000-0000-000000000003", 0x81, 3 * GIB, GIB, GIB
)


def test_a_part_of_a_card_shows_the_parts_memory(driver: FakeDriver, read: Read, monkeypatch: pytest.MonkeyPatch):
    """MEM-16: the whole card's memory is "no permission", that of the part can be read."""
    driver.play("mig")
    play(monkeypatch, [dataclasses.replace(MIG, free=None)])
    card = read(0)
    assert (card.mig_slice, card.name) == (True, "NVIDIA A100-SXM4-40GB MIG 1g.5gb")
    assert (card.total_bytes, card.used_bytes) == (5 * GIB, GIB + 256 * MIB)
    assert card.utilisation_percent is None
    assert (card.temperature_celsius, card.reasons["utilisation_percent"]) == (33.0, "this card does not tell")


def test_a_part_that_the_driver_hides_shows_torchs_figures(
    driver: FakeDriver, read: Read, monkeypatch: pytest.MonkeyPatch
):
    """MEM-16, sglang #2933: MemoryInfo raises NoPermission -> torch's values, labelled as a part."""
    driver.play("mig_denied")
    play(monkeypatch, [MIG])
    card = read(0)
    assert (card.mig_slice, card.total_bytes, card.free_bytes, card.used_bytes) == (True, 5 * GIB, 3 * GIB, 2 * GIB)


def test_a_lost_card_comes_back(driver: FakeDriver, devices: ModuleType, read: Read, monkeypatch: pytest.MonkeyPatch):
    """Old handles are worthless after it: the library is started again. The name stays, so one knows which it was."""
    play(monkeypatch, [dataclasses.replace(RTX_4090, free=11 * GIB)])
    assert read(0).temperature_celsius == 61.0
    driver.play("lost")
    card = read(0)
    assert (card.name, card.temperature_celsius, card.power_watts) == ("NVIDIA GeForce RTX 4090", None, None)
    assert card.reasons["temperature_celsius"] == card.reasons["device"] == "the driver has lost the card"
    assert (card.uuid, card.pci, card.free_bytes) == (f"GPU-{UUID_4090}", "0000:41:00.0", 11 * GIB)
    driver.play("healthy")
    assert (read(0).temperature_celsius, read(0).reasons) == (61.0, {})
    assert devices._cards._nvml.starts == 2


def test_a_sensor_that_fails_once_is_asked_again(driver: FakeDriver, read: Read, monkeypatch: pytest.MonkeyPatch):
    """MEM-04: Crystools switches a figure off for all cards and for good."""
    driver.play("power_once")
    play(monkeypatch, [RTX_4090])
    first = read(0)
    assert (first.power_watts, first.temperature_celsius) == (None, 61.0)
    assert first.reasons["power_watts"] == "the driver answers with an unknown error"
    assert (read(0).power_watts, read(0).reasons) == (320.5, {})


def test_a_name_that_is_not_utf_8_is_shown_all_the_same(
    driver: FakeDriver, read: Read, monkeypatch: pytest.MonkeyPatch
):
    """MEM-06, Crystools #102, gpustat #170, nvitop #127: the panel did not load."""
    driver.play("bad_name")
    play(monkeypatch, [RTX_4090])
    card = read(0)
    assert card.name.startswith("\N{REPLACEMENT CHARACTER}")
    assert card.name.endswith("NVIDIA GeForce RTX 4090")
    assert card.temperature_celsius == 61.0


@pytest.mark.parametrize(
    ("scenario", "words"),
    [
        ("mismatch", "driver/library version mismatch"),
        ("driver_not_loaded", "not loaded"),
        ("unknown", "restart the container"),
    ],
)
def test_a_driver_that_does_not_start_leaves_torchs_figures(
    driver: FakeDriver, read: Read, monkeypatch: pytest.MonkeyPatch, scenario: str, words: str
):
    """MEM-18, gpustat #147: reboot needed. MEM-17, nvidia-container-toolkit #48: the container lost its GPU."""
    driver.play(scenario)
    play(monkeypatch, [dataclasses.replace(RTX_4090, free=11 * GIB)])
    card = read(0)
    assert (card.name, card.free_bytes, card.torch_reserved_bytes) == ("NVIDIA GeForce RTX 4090", 11 * GIB, 6 * GIB)
    assert card.used_bytes == 13 * GIB - 400 * MIB
    assert words in card.reasons["device"]
    assert card.reasons["temperature_celsius"] == card.reasons["device"]


def test_a_container_that_loses_its_gpu_in_the_middle_says_so(
    driver: FakeDriver, devices: ModuleType, read: Read, monkeypatch: pytest.MonkeyPatch
):
    """MEM-17: systemctl daemon-reload takes the device away from a running container."""
    monkeypatch.setattr(importlib.import_module(f"{devices.__name__}.nvml"), "RETRY_SECONDS", 0)
    play(monkeypatch, [dataclasses.replace(RTX_4090, free=11 * GIB)])
    assert read(0).temperature_celsius == 61.0
    driver.play("unknown")
    for _ in range(2):
        assert "restart the container" in read(0).reasons["device"]
    driver.play("healthy")
    assert read(0).temperature_celsius == 61.0


def test_without_a_driver_torch_tells_what_it_can(devices: ModuleType, read: Read, monkeypatch: pytest.MonkeyPatch):
    """MEM-02, Crystools #252: "NVML Shared Library Not Found" and no GPU line at all."""
    import pynvml

    def no_library(name: str) -> None:
        raise OSError(f"{name}: cannot open shared object file")

    monkeypatch.setattr(pynvml, "nvmlLib", None)
    monkeypatch.setattr(pynvml, "CDLL", no_library)
    play(monkeypatch, [dataclasses.replace(RTX_4090, free=11 * GIB)])
    card = read(0)
    assert (card.free_bytes, card.total_bytes) == (11 * GIB, 24 * GIB - 400 * MIB)
    assert card.reasons["device"] == "there is no NVIDIA driver here"


def test_a_driver_that_hangs_costs_its_fields_and_no_time(
    driver: FakeDriver, devices: ModuleType, read: Read, monkeypatch: pytest.MonkeyPatch
):
    """The first question waits for as long as it may; the next ones are answered at once until it is back."""
    monkeypatch.setattr(devices, "DRIVER_SECONDS", 0.1)
    play(monkeypatch, [dataclasses.replace(RTX_4090, free=11 * GIB)])
    driver.play("slow")
    assert read(0).reasons["device"] == devices.HANGS
    began = time.monotonic()
    assert (read(0).free_bytes, read(0).reasons["device"]) == (11 * GIB, devices.HANGS)
    assert time.monotonic() - began < 0.1
    driver.play("healthy")
    deadline = time.monotonic() + 5
    while read(0).temperature_celsius != 61.0:
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_an_old_driver_is_asked_as_it_was_then(driver: FakeDriver, read: Read, monkeypatch: pytest.MonkeyPatch):
    """Before 510: memory without the driver's part, the older lists of processes, the older temperature."""
    driver.play("old_driver")
    play(monkeypatch, [RTX_4090])
    card = read(0)
    assert (card.driver, card.used_bytes, card.driver_bytes) == ("470.256.02", 12 * GIB + 512 * MIB, None)
    assert (card.own_bytes, len(card.programs), card.temperature_celsius) == (8 * GIB, 2, 61.0)


def test_the_list_of_processes_is_kept_for_five_seconds(
    driver: FakeDriver, devices: ModuleType, read: Read, monkeypatch: pytest.MonkeyPatch
):
    play(monkeypatch, [dataclasses.replace(RTX_4090, allocated=0, reserved=0)])
    assert len(read(0).programs) == 2
    driver.play("idle")
    card = read(0)
    assert (len(card.programs), card.used_bytes) == (2, 512 * MIB)
    monkeypatch.setattr(importlib.import_module(f"{devices.__name__}.nvidia"), "PROCESSES_SECONDS", 0)
    assert read(0).programs == ()


def test_before_torch_has_opened_the_card_nothing_is_asked_of_it(
    driver: FakeDriver, read: Read, monkeypatch: pytest.MonkeyPatch
):
    """Any question would make a context of hundreds of MiB: the fake refuses each."""
    play(monkeypatch, [RTX_4090], opened=False)
    card = read(0)
    assert (card.name, card.used_bytes, card.own_bytes) == ("NVIDIA GeForce RTX 4090", 12 * GIB + 512 * MIB, 8 * GIB)
    assert (card.torch_allocated_bytes, card.torch_total_bytes) == (None, None)
    assert "not opened" in card.reasons["torch_allocated_bytes"]


def test_a_second_card_without_a_context_gets_none(driver: FakeDriver, read: Read, monkeypatch: pytest.MonkeyPatch):
    """torch is started, but only the first card is in use; without a driver nobody may ask the second one."""
    driver.play("mismatch")
    second = dataclasses.replace(RTX_3060, free=11 * GIB, context=False)
    play(monkeypatch, [dataclasses.replace(RTX_4090, free=11 * GIB), second])
    first, second = read()
    assert first.free_bytes == 11 * GIB
    assert (second.total_bytes, second.free_bytes) == (12 * GIB - 300 * MIB, None)
    assert "would take memory" in second.reasons["free_bytes"]


FIND = """
import importlib.util, sys
spec = importlib.util.spec_from_file_location("pack_alone", ROOT + "/headroom/__init__.py",
                                              submodule_search_locations=[ROOT + "/headroom"])
module = importlib.util.module_from_spec(spec)
sys.modules["pack_alone"] = module
spec.loader.exec_module(module)
from pack_alone.host.devices.nvml import Nvml, Refused
try:
    Nvml().open()
    sys.stdout.write("opened")
except Refused as refused:
    sys.stdout.write(refused.reason)
"""


def opened_beside(pynvml: str, tmp_path: Any) -> str:
    """What opening NVML says where ``pynvml`` is this module, with every warning an error."""
    (tmp_path / "pynvml.py").write_text(pynvml, "utf-8")
    code = f"import sys\nsys.path.insert(0, {str(tmp_path)!r})\nROOT = {str(hostkit.REPO)!r}\n{FIND}"
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_deprecated_package_of_that_name_warns_nobody(tmp_path: Any):
    """MEM-09, Crystools #238: FutureWarning: The pynvml package is deprecated."""
    import pynvml

    shim = f"""
import warnings
warnings.warn("The pynvml package is deprecated. Please install nvidia-ml-py instead.", FutureWarning)
exec(compile(open({pynvml.__file__!r}).read(), "pynvml", "exec"))
def CDLL(name): raise OSError(name)
"""
    assert opened_beside(shim, tmp_path) == "there is no NVIDIA driver here"


@pytest.mark.parametrize("shim", ["", "def nvmlInit(): pass\n", "nvmlInit = nvmlShutdown = None\n"])
def test_another_package_of_that_name_is_named(tmp_path: Any, shim: str):
    """gpustat met several: names are taken by shims for AMD and by old forks."""
    assert "pip install nvidia-ml-py" in opened_beside(shim, tmp_path)


def test_a_package_of_that_name_that_does_not_load_is_named(tmp_path: Any):
    assert opened_beside("raise OSError('no such dll')", tmp_path).endswith("cannot be loaded: no such dll")


def test_a_driver_that_is_not_there_keeps_no_tensor_of_a_failed_node(devices: ModuleType, driver: FakeDriver) -> None:
    """Read while a node's error is handled, the kept refusal must not hold that error's frames."""
    driver.play("mismatch")
    nvml = importlib.import_module(f"{devices.__name__}.nvml")
    asker = nvml.Nvml()
    gone = weakref.finalize(held := type("Tensor", (), {})(), lambda: None)
    try:
        raise RuntimeError(held)
    except RuntimeError:
        for _ in range(2):
            with pytest.raises(nvml.Refused):
                asker.open()
    del held
    gc.collect()
    assert not gone.alive


def test_a_node_that_asks_keeps_nothing_of_itself_alive(devices: ModuleType, driver: FakeDriver, ram: Any) -> None:
    """VRAM Budget where the driver refuses: the refusal is raised in the node's frames, and they hold what the host
    gave to the node, a model among it. Kept until the next question, it stayed in memory."""
    driver.play("mismatch")
    gone = []

    def node() -> None:
        model = type("Model", (), {})()
        gone.append(weakref.ref(model))
        devices.read_devices(ram)

    assert "mismatch" in (devices._read_cards()[1] or "")
    node()
    gc.collect()
    assert gone[0]() is None
