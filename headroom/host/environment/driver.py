"""NVIDIA's driver through its own library, so that a Python without any package can ask too."""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Sequence
from typing import Any

from ...core.environment.readings import Card, Driver
from ..devices.nvml import REASONS
from ..devices.worker import Late, Worker

SECONDS = 10.0
"""A healthy driver answers in milliseconds, one that has just been loaded in seconds."""
NAME_BYTES = 96

_worker = Worker("headroom-driver")


def read_driver() -> Driver:
    """The driver and its cards; ``code`` is None where there is no library of it."""
    library = _library()
    if library is None:
        return Driver()
    try:
        return _worker.ask(lambda: _ask(library), SECONDS)
    except Late:
        return Driver(reason=f"it did not answer within {SECONDS:.0f} seconds")
    except Exception as error:
        return Driver(reason=f"{type(error).__name__}: {error}".splitlines()[0])


def _library() -> Any:
    for name in _names():
        try:
            return ctypes.CDLL(name)
        except OSError:
            continue
    return None


def _names() -> Sequence[str]:
    if sys.platform != "win32":
        return () if sys.platform == "darwin" else ("libnvidia-ml.so.1",)
    programs = os.environ.get("PROGRAMW6432", "C:\\Program Files")
    return "nvml.dll", os.path.join(programs, "NVIDIA Corporation", "NVSMI", "nvml.dll")


def _ask(library: Any) -> Driver:
    code = int(library.nvmlInitWithFlags(0))
    if code:
        return Driver(code=code, reason=REASONS.get(code))
    try:
        return Driver(0, version=_driver_version(library), cuda=_cuda(library), cards=tuple(_cards(library)))
    finally:
        library.nvmlShutdown()


def _driver_version(library: Any) -> str | None:
    text = ctypes.create_string_buffer(NAME_BYTES)
    return _text(text) if not library.nvmlSystemGetDriverVersion(text, NAME_BYTES) else None


def _cuda(library: Any) -> tuple[int, int] | None:
    """13000 is 13.0; an old driver has only the first function, and that tells less."""
    ask = getattr(library, "nvmlSystemGetCudaDriverVersion_v2", None)
    number = ctypes.c_int()
    if ask is None or ask(ctypes.byref(number)):
        return None
    return number.value // 1000, number.value % 1000 // 10


def _cards(library: Any) -> Sequence[Card]:
    count = ctypes.c_uint()
    if library.nvmlDeviceGetCount_v2(ctypes.byref(count)):
        return ()
    return [_card(library, index) for index in range(count.value)]


def _card(library: Any, index: int) -> Card:
    handle, name = ctypes.c_void_p(), ctypes.create_string_buffer(NAME_BYTES)
    if library.nvmlDeviceGetHandleByIndex_v2(index, ctypes.byref(handle)):
        return Card(None)
    major, minor = ctypes.c_int(), ctypes.c_int()
    known = not library.nvmlDeviceGetCudaComputeCapability(handle, ctypes.byref(major), ctypes.byref(minor))
    named = not library.nvmlDeviceGetName(handle, name, NAME_BYTES)
    return Card(_text(name) if named else None, (major.value, minor.value) if known else None)


def _text(buffer: ctypes.Array[ctypes.c_char]) -> str:
    return buffer.value.decode("utf-8", "replace")
