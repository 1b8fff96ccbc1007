"""The Python itself, other ComfyUI processes, disks."""

from __future__ import annotations

from collections.abc import Iterator

from ..flags.rule import Params, Wording
from ..units import GIB
from .check import Check, once
from .readings import Environment
from .versions import fits
from .wheels import is_windows

#: ComfyUI 0.30.0, pyproject.toml, requires-python.
OLDEST_PYTHON = "3.10"
FULL_BYTES = GIB
LOW_BYTES = {"models": 10 * GIB, "output": 5 * GIB, "temp": 5 * GIB}
WHAT = {"models": "downloads", "output": "pictures and videos", "temp": "previews"}


def _old_python(environment: Environment) -> Params | None:
    python = environment.python
    if python.bits < 64:
        return {"version": python.version, "variant": "bits"}
    return {"version": python.version} if fits(python.version, f"<{OLDEST_PYTHON}") else None


def _python_of(environment: Environment) -> Params | None:
    """The Python beside ComfyUI, where this is another one."""
    found = environment.comfyui
    if found is None or found.own_python is not False or not found.pythons:
        return None
    python = found.pythons[0].replace("/", "\\") if is_windows(environment) else found.pythons[0]
    return {"python": python, "pack": found.pack, "version": environment.python.version}


def _other_python(environment: Environment) -> Params | None:
    return _python_of(environment) if environment.foreign else None


def _python_beside(environment: Environment) -> Params | None:
    """A leftover does no harm, and nobody can tell from outside which of the two starts ComfyUI."""
    return None if environment.foreign else _python_of(environment)


def _disks(environment: Environment) -> Iterator[Params]:
    """One finding for a disk that holds several of the folders."""
    seen: set[tuple[int, int]] = set()
    for disk in sorted(environment.machine.disks, key=lambda one: one.free_bytes - LOW_BYTES.get(one.folder, 0)):
        space = (disk.free_bytes, disk.total_bytes)
        if space in seen or disk.free_bytes >= LOW_BYTES.get(disk.folder, 0):
            continue
        seen.add(space)
        yield {"folder": disk.folder, "free_bytes": disk.free_bytes, "what": WHAT.get(disk.folder, "files")}


def _full(environment: Environment) -> Iterator[Params]:
    return (params for params in _disks(environment) if params["free_bytes"] < FULL_BYTES)


def _low(environment: Environment) -> Iterator[Params]:
    return (params for params in _disks(environment) if params["free_bytes"] >= FULL_BYTES)


def _two_comfyui(environment: Environment) -> Params | None:
    running = environment.machine.running or ()
    if len(running) < 2:
        return None
    ports = [str(one.port) for one in running]
    return {"count": len(running), "ports": ports}


def _another_folder(environment: Environment) -> Params | None:
    """What runs is another ComfyUI than the one that is looked at."""
    running = environment.machine.running or ()
    others = [one for one in running if one.looked_at is False]
    if environment.comfyui is None or not others or any(one.looked_at for one in running):
        return None
    found = environment.comfyui
    return {
        **{"here": found.folder, "version": found.version or "of unknown version", "port": str(others[0].port)},
        **{"there": others[0].folder, "other_version": others[0].version or "of unknown version"},
    }


_ASK_IT = "Ask that one; in ComfyUI's folder:"
_DOCTOR = '{python} "custom_nodes/{pack}/headroom" doctor'

CHECKS = (
    Check(
        id="python-too-old",
        severity="problem",
        rank=5,
        when=once(_old_python),
        title="Python {version} is too old for ComfyUI",
        why="ComfyUI and torch are made for Python 3.10 and newer.",
        fix="Make a new environment with Python 3.12 or 3.13 and install ComfyUI's requirements there.",
        check="`python --version` in that environment.",
        source="ComfyUI 0.30.0, pyproject.toml and README",
        variants={
            "bits": Wording(
                title="Python {version} is a 32-bit build",
                why="There is no torch for it, and it can use 2 to 4 GiB of RAM at most.",
                fix="Install the 64-bit Python and make a new environment with it.",
            )
        },
    ),
    Check(
        id="other-python",
        severity="problem",
        rank=10,
        when=once(_other_python),
        title="This is not the Python that runs ComfyUI",
        why="It has no torch, and beside ComfyUI there is an environment: what is installed here says nothing of that.",
        fix=_ASK_IT,
        command=_DOCTOR,
        check="This line is gone.",
        source="Comfy-Org/ComfyUI-Manager #1667, #608",
    ),
    Check(
        id="python-beside",
        severity="info",
        rank=684,
        when=once(_python_beside),
        title="Beside ComfyUI there is another Python than this {version}",
        why="Both have packages. What is said here is about this one; if the other starts ComfyUI, its packages count.",
        fix=_ASK_IT,
        command=_DOCTOR,
        check="ComfyUI's log names the Python that runs it (Python executable, or Python version).",
        source="Comfy-Org/ComfyUI-Manager #608",
    ),
    Check(
        id="disk-full",
        severity="problem",
        rank=52,
        when=_full,
        title="The disk of the {folder} folder has {free_bytes} left",
        why='The next {what} end with "No space left on device", and a database that cannot be written stops ComfyUI.',
        fix="Delete or move files; ComfyUI empties its temp folder when it starts.",
        check="The free space of the disk.",
        source="ComfyUI #6408; LykosAI/StabilityMatrix #1262",
    ),
    Check(
        id="disk-low",
        severity="warning",
        rank=332,
        when=_low,
        title="The disk of the {folder} folder has {free_bytes} left",
        why="That is soon too little for {what}, and for swap that lies on it.",
        fix="Delete or move files; ComfyUI empties its temp folder when it starts.",
        check="The free space of the disk.",
        source="ComfyUI #6408; karaposu/comfyui-on-cloud #8",
    ),
    Check(
        id="two-comfyui",
        severity="info",
        rank=670,
        when=once(_two_comfyui),
        title="ComfyUI runs {count} times on this machine",
        why="Ports {ports}. Each loads its own models and counts with all of the card and the RAM; nothing is shared.",
        fix="Stop those that nobody uses. Else give each its own card with `--cuda-device`, or its share of one.",
        check="VRAM in use while both run a prompt.",
        source="ComfyUI #3292",
    ),
    Check(
        id="another-comfyui",
        severity="info",
        rank=682,
        when=once(_another_folder),
        title="Another ComfyUI than this one is running",
        why="Looked at is {here} ({version}); on port {port} runs {there} ({other_version}).",
        fix="Ask the running one if that is the one with the trouble.",
        command="python -m headroom doctor --url http://127.0.0.1:{port}",
        check="The version in its answer.",
        source="Comfy-Org/ComfyUI-Manager #608",
    ),
)
