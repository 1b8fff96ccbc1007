"""Questions to NVML about one card, field by field: what fails leaves its reason and None, and the rest is read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePath, PureWindowsPath
from typing import Any

from ...core.readings import Program
from .nvml import NOT_SUPPORTED, Nvml, Refused

MEMORY_V2 = 0x02000028
"""``nvmlMemory_v2`` in nvml.h; the first version counts the driver's own part as used and does not say how much."""


@dataclass(frozen=True)
class Memory:
    """Of a card or a part of one, in bytes."""

    total: int
    free: int
    driver: int | None = None


class Fields:
    """Questions about one card: each that fails leaves its reason and None."""

    def __init__(self, nvml: Nvml) -> None:
        self._nvml = nvml
        self.reasons: dict[str, str] = {}
        self._codes: dict[str, int | None] = {}

    def get(self, field_name: str, function: str, *arguments: Any) -> Any:
        """The answer to one question."""
        return self.first(field_name, (function, *arguments))

    def first(self, field_name: str, *questions: tuple[Any, ...], vital: bool = False) -> Any:
        """The answer to the first question whose function this driver has."""
        for number, (function, *arguments) in enumerate(questions, 1):
            try:
                return self._nvml.ask(function, *arguments, vital=vital)
            except Refused as refused:
                if not refused.missing or number == len(questions):
                    self.reasons[field_name], self._codes[field_name] = refused.reason, refused.code
                    return None
        return None

    def not_supported(self, field_name: str) -> bool:
        """The driver says that the card has no such thing."""
        return self._codes.get(field_name) == NOT_SUPPORTED

    def memory(self, handle: Any) -> Memory | None:
        """How much there is and how much of it is free."""
        question = "nvmlDeviceGetMemoryInfo"
        found = self.first("total_bytes", (question, handle, MEMORY_V2), (question, handle), vital=True)
        if found is None:
            return None
        reserved = getattr(found, "reserved", None)
        return Memory(int(found.total), int(found.free), None if reserved is None else int(reserved))

    def programs(self, handle: Any) -> Sequence[Program] | None:
        """Those that compute and those that draw; one that does both is in both lists."""
        found: dict[int, int | None] = {}
        lists = 0
        for kind in ("Compute", "Graphics"):
            # Without a version the binding refuses to ask a driver older than itself.
            names = (f"nvmlDeviceGet{kind}RunningProcesses{version}" for version in ("_v3", "_v2", ""))
            listed = self.first("programs", *((name, handle) for name in names))
            lists += listed is not None
            for process in listed or ():
                sizes = [size for size in (found.get(process.pid), process.usedGpuMemory) if size is not None]
                found[process.pid] = max(sizes, default=None)
        if not lists:
            return None
        self.reasons.pop("programs", None)
        return tuple(Program(self._program_name(pid), size, pid) for pid, size in found.items())

    def _program_name(self, pid: int) -> str:
        try:
            import psutil

            return psutil.Process(pid).name()
        except Exception:
            # Not allowed, or a process id of another namespace: the driver may know more.
            return _program(Fields(self._nvml).get("name", "nvmlSystemGetProcessName", pid)) or "unknown"


def _program(command: str | None) -> str:
    """The name of a program without its folder and arguments, which can hold anything."""
    words = (command or "").split()
    windows = ":\\" in (command or "")[:4]
    return (PureWindowsPath(command or "") if windows else PurePath(words[0] if words else "")).name
