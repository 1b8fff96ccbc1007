"""Compiles the driver that ``fake_nvml.c`` plays, and tells it which scenario to play."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

SOURCE = Path(__file__).with_name("fake_nvml.c")
CONTROL = "HEADROOM_FAKE_NVML"
NAME = "libnvidia-ml.so.1"


@dataclass(frozen=True)
class FakeDriver:
    """The compiled library, alone in its folder, and the file that holds the scenario."""

    library: Path
    control: Path

    def play(self, scenario: str) -> None:
        """From the next call on the driver behaves like this, in every process that uses this file."""
        self.control.write_text(scenario, "utf-8")

    def environment(self) -> dict[str, str]:
        """What a new process needs to take it for the driver."""
        paths = [str(self.library.parent), os.environ.get("LD_LIBRARY_PATH", "")]
        return {"LD_LIBRARY_PATH": ":".join(filter(None, paths)), CONTROL: str(self.control)}


def build(folder: Path, scenario: str = "healthy") -> FakeDriver:
    """Compiles it into ``folder``; skips the test where that is not possible."""
    if not sys.platform.startswith("linux"):
        pytest.skip("the fake NVIDIA driver is a Linux library; a real GPU shows the rest")
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        pytest.skip("no C compiler here: install gcc to test against a fake NVIDIA driver")
    folder.mkdir(parents=True, exist_ok=True)
    library = folder / NAME
    command = [compiler, "-shared", "-fPIC", "-Wall", "-Werror", f"-Wl,-soname,{NAME}", "-o", str(library), str(SOURCE)]
    subprocess.run(command, check=True)
    driver = FakeDriver(library, folder / "scenario")
    driver.play(scenario)
    return driver
