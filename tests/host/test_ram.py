"""The system's memory under a container's limit and with a psutil that fails; cases are cited."""

from __future__ import annotations

import importlib
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import psutil
import pytest

GIB = 2**30


@pytest.fixture
def ram(pack: ModuleType, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The pack's module of RAM readings, on a machine without limits and with psutil played."""
    found = importlib.import_module(f"{pack.__name__}.headroom.host.ram")
    monkeypatch.setattr(found, "read_limits", lambda: None)
    monkeypatch.setattr(found, "_load", found._Load())
    monkeypatch.setattr(found, "_limits", found._Limits())
    played: dict[str, Any] = {
        "virtual_memory": SimpleNamespace(total=62_800_000_000, available=50 * GIB, cached=9 * GIB),
        "swap_memory": SimpleNamespace(total=8 * GIB, used=3 * GIB),
    }
    for name, answer in played.items():
        monkeypatch.setattr(psutil, name, lambda answer=answer: answer)
    return found


def limits(ram: ModuleType, monkeypatch: pytest.MonkeyPatch, *fields: Any) -> None:
    monkeypatch.setattr(ram, "read_limits", lambda: ram.Limits(*fields))


def test_without_a_limit_the_machines_memory_counts(ram: ModuleType):
    found = ram.read_ram()
    assert (found.total_bytes, found.machine_bytes, found.limit_source) == (62_800_000_000, 62_800_000_000, None)
    assert (found.available_bytes, found.file_cache_bytes) == (50 * GIB, 9 * GIB)
    assert (found.swap_total_bytes, found.swap_used_bytes) == (8 * GIB, 3 * GIB)
    assert found.own_bytes == pytest.approx(psutil.Process().memory_info().rss, rel=0.2)


def test_a_containers_limit_is_the_total(ram: ModuleType, monkeypatch: pytest.MonkeyPatch):
    """MEM-37, ComfyUI #14938: 34359738368 allowed on 62.8e9; the pin budget of 42.51 GiB was 133 % of it."""
    limits(ram, monkeypatch, "cgroup v2", 34359738368, 20 * GIB, 5 * GIB, 0, 0)
    found = ram.read_ram()
    assert (found.total_bytes, found.machine_bytes) == (32 * GIB, 62_800_000_000)
    assert (found.available_bytes, found.file_cache_bytes, found.limit_source) == (20 * GIB, 5 * GIB, "cgroup v2")
    assert (found.swap_total_bytes, found.swap_used_bytes) == (0, 0)


def test_what_the_machine_has_left_can_be_less_than_the_limit_allows(ram: ModuleType, monkeypatch: pytest.MonkeyPatch):
    limits(ram, monkeypatch, "cgroup v2", 58 * GIB, 55 * GIB)
    assert ram.read_ram().available_bytes == 50 * GIB


def test_a_limit_above_the_machines_memory_is_none(ram: ModuleType, monkeypatch: pytest.MonkeyPatch):
    limits(ram, monkeypatch, "cgroup v1", 64 * GIB, 60 * GIB)
    found = ram.read_ram()
    assert (found.total_bytes, found.limit_source) == (62_800_000_000, None)


def test_a_limit_that_is_set_later_is_found_within_seconds(ram: ModuleType, monkeypatch: pytest.MonkeyPatch):
    """``docker update --memory`` on a running container."""
    assert ram.read_ram().limit_source is None
    limits(ram, monkeypatch, "cgroup v2", 32 * GIB, 20 * GIB)
    assert ram.read_ram().limit_source is None
    monkeypatch.setattr(ram, "UNLIMITED_SECONDS", 0)
    assert ram.read_ram().limit_source == "cgroup v2"


def fails(error: Exception) -> Any:
    def read(*_: Any) -> None:
        raise error

    return read


def test_a_memory_that_cannot_be_read_leaves_the_other_rows(ram: ModuleType, monkeypatch: pytest.MonkeyPatch):
    """MEM-31, ComfyUI #14498, psutil #2853: macOS 27."""
    error = RuntimeError("host_statistics64(HOST_VM_INFO64) syscall failed: (ipc/mig) array not large enough")
    monkeypatch.setattr(psutil, "virtual_memory", fails(error))
    found = ram.read_ram()
    assert (found.total_bytes, found.available_bytes, found.file_cache_bytes) == (None, None, None)
    assert found.reasons["machine_bytes"].startswith("RuntimeError: host_statistics64")
    assert "available_bytes" in found.reasons
    assert (found.swap_total_bytes, found.swap_used_bytes) == (8 * GIB, 3 * GIB)
    assert found.own_bytes


def test_swap_that_cannot_be_read_is_not_known(ram: ModuleType, monkeypatch: pytest.MonkeyPatch):
    """MEM-32, ComfyUI PR#15219: Windows with its performance counters switched off."""
    monkeypatch.setattr(psutil, "swap_memory", fails(RuntimeError("PdhAddEnglishCounterW failed")))
    found = ram.read_ram()
    assert (found.swap_total_bytes, found.swap_used_bytes, found.total_bytes) == (None, None, 62_800_000_000)
    assert set(found.reasons) == {"swap_total_bytes", "swap_used_bytes"}


def test_the_own_memory_of_a_process_that_may_not_look_is_not_known(ram: ModuleType, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(psutil, "Process", fails(psutil.AccessDenied()))
    assert ram.read_ram().own_bytes is None


def test_without_psutil_there_are_reasons_and_no_error(ram: ModuleType, monkeypatch: pytest.MonkeyPatch):
    import sys

    monkeypatch.setitem(sys.modules, "psutil", None)
    found = ram.read_ram()
    assert (found.total_bytes, found.own_bytes, found.swap_total_bytes, found.cpu_percent) == (None,) * 4
    assert "psutil" in found.reasons["machine_bytes"]


def cpu(user: float, idle: float, iowait: float = 0.0, guest: float = 0.0) -> Any:
    """The CPU's times as Linux counts them, guest time also within user time."""
    from psutil._ntuples import scputimes  # pyright: ignore[reportMissingImports]

    return scputimes(user, 0.0, 0.0, idle, iowait, 0.0, 0.0, 0.0, guest, 0.0)


def test_the_load_is_of_the_time_since_the_look_before(ram: ModuleType, monkeypatch: pytest.MonkeyPatch):
    """Between the looks 30 s of work, 8 of waiting for the disk and 2 idle: 75 %. The first look knows nothing."""
    monkeypatch.setattr(ram, "LEAST_SECONDS", 0)
    times = iter([cpu(100, 50, 5, 99), cpu(130, 52, 13, 120)])
    monkeypatch.setattr(psutil, "cpu_times", lambda: next(times))
    assert ram.read_ram().cpu_percent is None
    assert ram.read_ram().cpu_percent == 75.0


def test_two_looks_in_a_row_have_the_same_load(ram: ModuleType, monkeypatch: pytest.MonkeyPatch):
    times = iter([cpu(100, 50)])
    monkeypatch.setattr(psutil, "cpu_times", lambda: next(times))
    assert (ram.read_ram().cpu_percent, ram.read_ram().cpu_percent) == (None, None)


def test_pinned_memory_is_the_hosts_count(ram: ModuleType, monkeypatch: pytest.MonkeyPatch):
    import comfy.model_management

    monkeypatch.setattr(comfy.model_management, "TOTAL_PINNED_MEMORY", 7 * GIB)
    assert ram.read_ram().pinned_bytes == 7 * GIB
    monkeypatch.delattr(comfy.model_management, "TOTAL_PINNED_MEMORY")
    assert ram.read_ram().pinned_bytes is None


@pytest.mark.parametrize(
    ("text", "kills"),
    [("nr_free_pages 1\noom_kill 3\noom_kill_x 9\n", 3), ("nr_free_pages 1\n", None), ("oom_kill x\n", None)],
)
def test_the_kernels_count_of_kills(ram: ModuleType, tmp_path: Path, text: str, kills: int | None):
    (tmp_path / "proc").mkdir()
    (tmp_path / "proc" / "vmstat").write_text(text)
    assert ram.oom_kills(tmp_path) == kills
    assert ram.oom_kills(tmp_path / "elsewhere") is None
