"""This Python and its packages, by their metadata: nothing of them is imported."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import platform
import site
import struct
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from ...core.environment.readings import Package, Python
from ...core.environment.requirements import normal


def read_python() -> Python:
    """The interpreter."""
    return Python(platform.python_version(), _kind(), struct.calcsize("P") * 8, _markers())


def read_packages() -> tuple[Package, ...]:
    """Every installed package in the order in which Python looks; one whose metadata is broken is left out."""
    return tuple(_packages())


def pynvml_is_folder() -> bool | None:
    """``import pynvml`` finds a folder: NVIDIA's nvidia-ml-py is a single file. None where there is neither."""
    try:
        found = importlib.util.find_spec("pynvml")
    except (ImportError, ValueError):
        return None
    return None if found is None else found.submodule_search_locations is not None


def _packages() -> Iterator[Package]:
    user = _user_folder()
    for found in importlib.metadata.distributions():
        try:
            name, version, requires = found.metadata["Name"], found.version, found.requires or ()
            place = Path(os.path.abspath(str(found.locate_file(""))))
        except Exception:
            continue
        if name and version:
            yield Package(normal(name), version, tuple(requires), "user" if place == user else "environment")


def _user_folder() -> Path | None:
    try:
        return Path(os.path.abspath(site.getusersitepackages()))
    except Exception:
        # A Python whose paths are fixed by a file beside it has none.
        return None


def _kind() -> str:
    folder = Path(sys.executable).parent
    if folder.name.lower() == "python_embeded" or any(folder.glob("python3*._pth")):
        return "embedded"
    if sys.prefix != sys.base_prefix:
        return "venv"
    return "conda" if Path(sys.prefix, "conda-meta").is_dir() else "system"


def _markers() -> Mapping[str, str]:
    """As PEP 508 defines them."""
    return {
        "os_name": os.name,
        "sys_platform": sys.platform,
        "platform_machine": platform.machine(),
        "platform_system": platform.system(),
        "platform_release": platform.release(),
        "platform_version": platform.version(),
        "platform_python_implementation": platform.python_implementation(),
        "implementation_name": sys.implementation.name,
        "implementation_version": platform.python_version(),
        "python_version": ".".join(platform.python_version_tuple()[:2]),
        "python_full_version": platform.python_version(),
    }
