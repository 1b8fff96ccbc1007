"""Whether the models lie on a disk that turns: the kernel's tree, as it looks for a partition, a disk and neither."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the kernel's tree of disks: only on Linux")


@pytest.fixture
def rotating(pack: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], bool | None]:
    """The reading on a machine whose models lie on device 8:1."""
    comfy = importlib.import_module(f"{pack.__name__}.headroom.host.comfy")
    system = SimpleNamespace(stat=lambda _: SimpleNamespace(st_dev=os.makedev(8, 1)), major=os.major, minor=os.minor)
    monkeypatch.setattr(comfy, "os", system)
    monkeypatch.setattr(comfy, "_module", lambda _: SimpleNamespace(models_dir="/models"))
    return lambda: comfy._rotating.__wrapped__(tmp_path)


def disk(root: Path, flag: str) -> Path:
    """The folder of a disk with its queue."""
    folder = root / "sys" / "devices" / "pci" / "block" / "sda"
    (folder / "queue").mkdir(parents=True)
    (folder / "queue" / "rotational").write_text(f"{flag}\n")
    (root / "sys" / "dev" / "block").mkdir(parents=True)
    return folder


@pytest.mark.parametrize(("flag", "turns"), [("1", True), ("0", False)])
def test_a_partition_is_on_its_disk(rotating: Callable[[], bool | None], tmp_path: Path, flag: str, turns: bool):
    (disk(tmp_path, flag) / "sda1").mkdir()
    (tmp_path / "sys/dev/block/8:1").symlink_to(tmp_path / "sys/devices/pci/block/sda/sda1")
    assert rotating() is turns


def test_a_disk_without_partitions_has_its_own_queue(rotating: Callable[[], bool | None], tmp_path: Path):
    folder = disk(tmp_path, "1")
    (tmp_path / "sys/dev/block/8:1").symlink_to(folder)
    assert rotating() is True


def test_a_network_file_system_is_unknown(rotating: Callable[[], bool | None]):
    assert rotating() is None
