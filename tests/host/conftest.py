"""Fixtures of the tests that read the machine."""

from __future__ import annotations

import ctypes
import importlib
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from fakes.nvml.build import FakeDriver


@pytest.fixture(scope="session")
def compiled_driver(tmp_path_factory: pytest.TempPathFactory) -> FakeDriver:
    """The fake NVIDIA driver, compiled once."""
    from fakes.nvml.build import build

    return build(tmp_path_factory.mktemp("nvml"))


@pytest.fixture
def driver(compiled_driver: FakeDriver, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeDriver]:
    """The fake driver under the real nvidia-ml-py of this process; ``play`` changes the scenario."""
    import pynvml
    from fakes.nvml.build import CONTROL, FakeDriver

    fake = FakeDriver(compiled_driver.library, tmp_path / "scenario")
    fake.play("healthy")
    monkeypatch.setenv(CONTROL, str(fake.control))
    library = ctypes.CDLL(str(fake.library))
    monkeypatch.setattr(pynvml, "nvmlLib", library)
    monkeypatch.setattr(pynvml, "_nvmlGetFunctionPointer_cache", {})
    yield fake
    while library.nvmlShutdown() == 0:
        continue


@pytest.fixture
def devices(pack: ModuleType, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The pack's device readings, as at the start of a process."""
    found = importlib.import_module(f"{pack.__name__}.headroom.host.devices")
    monkeypatch.setattr(found, "_cards", found.Cards())
    monkeypatch.setattr(found, "_worker", found.Worker("test"))
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    monkeypatch.delenv("CUDA_DEVICE_ORDER", raising=False)
    return found


@pytest.fixture
def ram(devices: ModuleType) -> Any:
    """A machine of 64 GiB with 40 left, of which this process holds 3."""
    return devices.Ram(total_bytes=64 * 2**30, available_bytes=40 * 2**30, own_bytes=3 * 2**30)


@pytest.fixture
def read(devices: ModuleType, ram: Any) -> Callable[..., Any]:
    """One reading: ComfyUI's devices, or one of them."""

    def read(index: int | None = None, **pages: int) -> Any:
        found, _ = devices.read_devices(ram, pages)
        return found if index is None else found[index]

    return read
