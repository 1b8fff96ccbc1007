"""The environment that ComfyUI runs in, gathered from outside of it; works in any Python, with nothing installed."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from ...core.environment.readings import ComfyUI, Environment, Machine, Running, Torch, Unseen
from ...core.flags.versions import parse_version
from ...core.readings import Snapshot
from .. import snapshot
from ..comfy import read_host
from ..ram import read_ram
from . import folder, machine
from .driver import read_driver
from .memory import without_psutil
from .packages import pynvml_is_folder, read_packages, read_python
from .processes import running
from .torch_build import read_torch

#: The last version that counts with the machine's RAM in a container (ComfyUI PR#15927 came later).
LAST_WITHOUT_LIMIT = (0, 30, 0)


def gather(given: str | None = None) -> tuple[Environment, Snapshot]:
    """Everything that can be read here without ComfyUI. Takes seconds where torch is there: it is imported.

    Args:
        given: a ComfyUI folder; without one, that around this pack is looked at.

    Raises:
        HeadroomError: the given folder is no ComfyUI.
    """
    found = folder.find(given)
    torch = read_torch()
    taken, failed = _snapshot()
    ram = without_psutil(taken.ram)
    comfyui = None if found is None else folder.read(*found)
    around = _machine(taken.host.platform or "", None if found is None else found[0])
    environment = Environment(
        python=read_python(),
        machine=replace(around, ram=ram),
        packages=read_packages(),
        torch=torch,
        driver=read_driver(),
        comfyui=comfyui,
        pynvml_is_folder=pynvml_is_folder(),
    )
    environment = replace(environment, not_looked_at=(*failed, *_unseen(environment)))
    return environment, _as_if_started(replace(taken, ram=ram), comfyui, around.running)


def user_names() -> tuple[str, ...]:
    """How the user of this machine is called, for taking it out of texts."""
    names = [os.environ.get(name, "") for name in ("USER", "LOGNAME", "USERNAME")]
    names.append(os.path.basename(os.path.expanduser("~")))
    return tuple(dict.fromkeys(name for name in names if name))


def _snapshot() -> tuple[Snapshot, tuple[Unseen, ...]]:
    """The snapshot; without devices where a torch that is half there fails when it is asked."""
    try:
        return snapshot.take(), ()
    except Exception as error:
        why = next(iter(f"{type(error).__name__}: {error}".splitlines()))
        return Snapshot(time.time(), host=read_host(), ram=read_ram()), (Unseen("memory of the devices", why),)


def _machine(platform: str, comfyui: Path | None) -> Machine:
    linux = platform in {"linux", "wsl"}
    return Machine(
        platform=platform,
        container=machine.in_container() if linux else None,
        # WSL's bus shows none of Windows' cards.
        gpu_makes=machine.gpu_makes() if platform == "linux" else None,
        variables=machine.variables(),
        wsl_libcuda=machine.wsl_libcuda() if platform == "wsl" else None,
        kfd=machine.kfd() if platform == "linux" else None,
        disks=() if comfyui is None else machine.disks(comfyui),
        running=running(comfyui),
    )


def _as_if_started(taken: Snapshot, comfyui: ComfyUI | None, others: Sequence[Running] | None) -> Snapshot:
    """The snapshot as the ComfyUI in that folder would see it; this process is none, so one that runs is no second."""
    version = parse_version(None if comfyui is None else comfyui.version)
    unread = taken.ram.limit_source is not None and version is not None and version <= LAST_WITHOUT_LIMIT
    return replace(
        taken,
        host=replace(
            taken.host,
            version=None if comfyui is None else comfyui.version,
            reads_memory_limit=False if unread else None,
        ),
        processes=None if others is None else max(0, len(others) - 1),
    )


def _unseen(environment: Environment) -> Iterator[Unseen]:
    comfyui, running_here = environment.comfyui, environment.machine.running
    if comfyui is None:
        yield Unseen("ComfyUI's folder", "this pack lies in none; name one with --comfyui PATH")
    elif comfyui.requirements is None:
        yield Unseen("what ComfyUI asks for", "its folder has no requirements.txt")
    if environment.foreign:
        yield Unseen("ComfyUI's torch and packages", f"this Python {environment.python.version} is not its own")
    elif environment.torch == Torch():
        yield Unseen("torch", f"this Python {environment.python.version} has none; run this with ComfyUI's Python")
    if running_here is None:
        yield Unseen("other ComfyUI processes", "psutil is not installed, and the system has no /proc")
    elif running_here:
        url = f"http://127.0.0.1:{running_here[0].port}"
        yield Unseen("flags and models of the running ComfyUI", f"ask it: --url {url}")
    else:
        yield Unseen("flags and loaded models", "no ComfyUI runs here")
