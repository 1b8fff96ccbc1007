"""The snapshot as a whole: parts put together, shared among askers, and complete where a part fails."""

from __future__ import annotations

import importlib
import json
import os
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import TYPE_CHECKING, Any

import psutil
import pytest
from fakes.torch_cards import TorchCard, play

if TYPE_CHECKING:
    from fakes.nvml.build import FakeDriver

GIB = 2**30
MIB = 2**20


@pytest.fixture
def snapshot(pack: ModuleType, devices: ModuleType, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The pack's module of snapshots, as at the start of a process."""
    found = importlib.import_module(f"{pack.__name__}.headroom.host.snapshot")
    monkeypatch.setattr(found, "_last", None)
    monkeypatch.setattr(found, "_processes", SimpleNamespace(others=lambda running: 0))
    # On a busy machine another test's reading is old enough for a percentage.
    ram = importlib.import_module(f"{pack.__name__}.headroom.host.ram")
    monkeypatch.setattr(ram, "_load", ram._Load())
    return found


def test_several_askers_share_one(snapshot: ModuleType, monkeypatch: pytest.MonkeyPatch):
    """MEM-08, Crystools #171, #254: a monitor that itself raised the load of the GPU by 30 to 60 %."""
    reads = []
    whole = snapshot._read
    monkeypatch.setattr(snapshot, "_read", lambda: reads.append(1) or time.sleep(0.1) or whole())
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda _: snapshot.take(), range(8)))
    assert len(reads) == 1
    assert len(set(map(id, found))) == 1
    monkeypatch.setattr(snapshot, "KEEP_SECONDS", 0)
    assert snapshot.take() is not found[0]


def test_what_models_hold_is_shown_at_their_card(
    driver: FakeDriver, snapshot: ModuleType, monkeypatch: pytest.MonkeyPatch
):
    """Of 12.5 GiB in use 6 are torch's and 2 pages of dynamic VRAM; the driver names sizes of nobody."""
    driver.play("no_process_memory")
    play(monkeypatch, [TorchCard("NVIDIA GeForce RTX 4090", 24 * GIB, reserved=6 * GIB)])
    monkeypatch.setattr(sys.modules["comfy.memory_management"], "aimdo_enabled", True)
    held = {"cuda:0": snapshot.Held(3 * GIB, 5 * GIB, 2 * GIB)}
    monkeypatch.setattr(snapshot, "read_models", lambda running: ((), held))
    (card,) = snapshot.take().devices
    assert (card.dynamic_resident_bytes, card.evictable_bytes) == (3 * GIB, 5 * GIB)
    assert (card.own_bytes, card.others_bytes, card.others_estimated) == (8 * GIB, 4 * GIB, True)


def test_without_dynamic_vram_its_share_is_unknown_and_not_zero(
    driver: FakeDriver, snapshot: ModuleType, monkeypatch: pytest.MonkeyPatch
):
    play(monkeypatch, [TorchCard("NVIDIA GeForce RTX 4090", 24 * GIB, reserved=6 * GIB)])
    (card,) = snapshot.take().devices
    assert (card.dynamic_resident_bytes, card.evictable_bytes) == (None, 0)


@pytest.mark.parametrize(("platform", "spilled"), [("win32", 2 * GIB), ("linux", None)])
def test_what_a_full_card_puts_into_ram_is_shown_while_it_lies_there(
    snapshot: ModuleType, monkeypatch: pytest.MonkeyPatch, platform: str, spilled: int | None
):
    """ComfyUI #5737, #4693: the driver for Windows gives no error. 24 GiB by torch and 2 in pages on a card of 24."""
    play(monkeypatch, [TorchCard("NVIDIA GeForce RTX 4090", 24 * GIB, reserved=24 * GIB)])
    monkeypatch.setattr(sys.modules["comfy.memory_management"], "aimdo_enabled", True)
    monkeypatch.setattr(snapshot, "read_models", lambda running: ((), {"cuda:0": snapshot.Held(2 * GIB, 0, 0)}))
    monkeypatch.setattr(snapshot.sys, "platform", platform)
    (card,) = snapshot.take().devices
    assert card.spilled_bytes == spilled


@pytest.mark.parametrize(
    ("total_ram", "reads"),
    [(32 * 1024.0, True), (62_800_000_000 / MIB, False)],
)
def test_whether_comfyui_counts_with_the_containers_limit(
    snapshot: ModuleType, monkeypatch: pytest.MonkeyPatch, total_ram: float, reads: bool
):
    """MEM-37, RAM-22, ComfyUI #14938: before PR#15927 it does not, and says 59919 MB instead of 32768."""
    ram = snapshot.Ram(total_bytes=32 * GIB, machine_bytes=62_800_000_000, limit_source="cgroup v2")
    monkeypatch.setattr(snapshot, "read_ram", lambda: ram)
    monkeypatch.setattr(sys.modules["comfy.model_management"], "total_ram", total_ram)
    assert snapshot.take().host.reads_memory_limit is reads
    monkeypatch.setattr(snapshot, "_last", None)
    monkeypatch.setattr(snapshot, "read_ram", lambda: snapshot.Ram(total_bytes=62_800_000_000))
    assert snapshot.take().host.reads_memory_limit is None


def test_a_machine_where_nothing_can_be_read_still_gives_one(snapshot: ModuleType, monkeypatch: pytest.MonkeyPatch):
    """MEM-31: psutil raises everywhere; the other rows stay."""

    def fails(*_: Any, **__: Any) -> None:
        raise RuntimeError("host_statistics64(HOST_VM_INFO64) syscall failed")

    for name in ("virtual_memory", "swap_memory", "Process", "process_iter", "cpu_times"):
        monkeypatch.setattr(psutil, name, fails)
    found = snapshot.take()
    assert (found.ram.total_bytes, found.ram.own_bytes, found.ram.cpu_percent) == (None, None, None)
    assert (found.devices[0].kind, found.devices[0].total_bytes) == ("cpu", None)
    assert found.host.versions["torch"]


def test_only_one_thread_is_left_behind_and_it_keeps_nothing_from_ending(
    driver: FakeDriver, snapshot: ModuleType, devices: ModuleType
):
    snapshot.take()
    mine = [thread for thread in threading.enumerate() if thread is devices._worker._thread]
    assert [thread.daemon for thread in mine] == [True]


def test_it_is_json_as_it_is(driver: FakeDriver, snapshot: ModuleType, pack: ModuleType):
    as_json = importlib.import_module(f"{pack.__name__}.headroom.core.snapshot_json").snapshot_json
    found = json.loads(json.dumps(as_json(snapshot.take()), allow_nan=False))
    assert [card["name"] for card in found["unused_devices"]] == ["NVIDIA GeForce RTX 4090"]


# ---- other ComfyUI processes ----


class Process:
    """A process as psutil shows it."""

    def __init__(self, pid: int, words: list[str], folder: Path, parent: int | Exception = 1) -> None:
        self.pid, self.info, self._folder, self._parent = pid, {"cmdline": words}, folder, parent
        self.asked = 0

    def cwd(self) -> str:
        return str(self._folder)

    def ppid(self) -> int:
        self.asked += 1
        if isinstance(self._parent, Exception):
            raise self._parent
        return self._parent


def comfyui(folder: Path) -> None:
    """The two files that ComfyUI is known by."""
    for name in ("main.py", "comfyui_version.py"):
        (folder / name).write_text("")


@pytest.fixture
def count(pack: ModuleType, monkeypatch: pytest.MonkeyPatch) -> Any:
    """How many other ComfyUI processes are found among these."""
    module = importlib.import_module(f"{pack.__name__}.headroom.host.processes")

    def count(*processes: Process) -> int | None:
        def listed(attributes: list[str]) -> Any:
            # psutil asks every process for these; a process's parent takes a list of all processes on Windows.
            assert attributes == ["cmdline"]
            return iter(processes)

        monkeypatch.setattr(psutil, "process_iter", listed)
        return module.Processes().others(running=False)

    return count


def test_a_second_comfyui_is_found_by_its_folder(count: Any, tmp_path: Path):
    """MEM-44, ComfyUI #3292: two instances double RAM."""
    comfyui(tmp_path)
    elsewhere = tmp_path / "other"
    elsewhere.mkdir()
    assert count(Process(4200001, ["python", "main.py", "--port", "8189"], tmp_path)) == 1
    assert count(Process(4200001, ["python", str(tmp_path / "main.py")], elsewhere)) == 1
    assert count(Process(4200001, ["python", "main.py"], elsewhere)) == 0
    assert count(Process(4200001, ["python", "-m", "http.server"], tmp_path), Process(4200002, [], tmp_path)) == 0


def test_this_process_and_its_family_are_none(count: Any, tmp_path: Path):
    comfyui(tmp_path)
    own = [Process(pid, ["python", "main.py"], tmp_path) for pid in (os.getpid(), os.getppid())]
    assert count(*own) == 0


def test_on_windows_a_virtual_environments_python_is_not_counted_twice(count: Any, tmp_path: Path):
    """Its python.exe starts the real one with the same words."""
    comfyui(tmp_path)
    outer = Process(4200001, ["venv\\python.exe", "main.py"], tmp_path)
    inner = Process(4200002, ["python.exe", "main.py"], tmp_path, parent=4200001)
    assert count(outer, inner) == 1


def test_only_what_may_be_a_comfyui_is_asked_for_its_parent(count: Any, tmp_path: Path):
    """On Windows the question lists all processes each time: some 300 of them made 300 lists."""
    comfyui(tmp_path)
    others = [Process(4300000 + number, ["svchost.exe", "-k"], tmp_path) for number in range(300)]
    one = Process(4200001, ["python", "main.py"], tmp_path)
    assert count(*others, one) == 1
    assert (sum(other.asked for other in others), one.asked) == (0, 1)


def test_one_whose_parent_is_not_told_is_counted(count: Any, tmp_path: Path):
    comfyui(tmp_path)
    assert count(Process(4200001, ["python", "main.py"], tmp_path, parent=psutil.AccessDenied(4200001))) == 1


def test_processes_are_not_counted_while_a_prompt_runs(pack: ModuleType, monkeypatch: pytest.MonkeyPatch):
    module = importlib.import_module(f"{pack.__name__}.headroom.host.processes")
    monkeypatch.setattr(module, "comfyuis", lambda **_: (None,) * 3)
    processes = module.Processes()
    assert processes.others(running=True) is None
    assert processes.others(running=False) == 3
    monkeypatch.setattr(module, "comfyuis", lambda **_: (None,) * 4)
    assert processes.others(running=False) == 3
