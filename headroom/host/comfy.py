"""The running ComfyUI: how it was started, and the state that its flags really led to.

Nothing here asks the memory manager to work: attributes are read, and one that this version lacks is None.
"""

from __future__ import annotations

import enum
import functools
import logging
import os
import platform
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from ..core.readings import Host
from . import facts

T = TypeVar("T")

PACKAGES = ("torch", "comfy-aimdo", "comfy-kitchen", "comfyui-frontend-package")
#: Flags that turn dynamic VRAM off (comfy/cli_args.py 0.30.0, enables_dynamic_vram).
STATIC_FLAGS = frozenset({"--disable-dynamic-vram", "--highvram", "--gpu-only", "--novram", "--cpu"})
DYNAMIC_TORCH = (2, 8)


def read_host() -> Host:
    """ComfyUI as it runs; little more than the versions where this process is none."""
    fields = _Fields()
    if "comfy.model_management" not in sys.modules:
        # Importing it would start the memory manager, and with it the GPU.
        return Host(platform=fields.get("platform", _platform), versions=_versions(), reasons=fields.reasons)
    flags = fields.get("flags", facts.given_flags) or frozenset()
    active = fields.get("dynamic_vram", _dynamic_vram)
    parsed = fields.get("argv", _is_own_command_line)
    return Host(
        version=fields.get("version", _version),
        argv=tuple(sys.argv[1:]) if parsed else (),
        flags=flags,
        args=fields.get("args", _arguments) or {},
        start=fields.get("start", _start) if parsed else None,
        known_flags=fields.get("known_flags", lambda: frozenset(facts.option_strings())),
        dynamic_vram=active,
        dynamic_vram_reason=fields.get("dynamic_vram_reason", lambda: _why_static(flags)) if active is False else None,
        vram_state=fields.get("vram_state", lambda: str(_management().vram_state.name)),
        attention=fields.get("attention", facts.attention),
        cache=fields.get("cache", _cache),
        reserved_bytes=fields.get("reserved_bytes", lambda: int(_management().EXTRA_RESERVED_VRAM)),
        streams=fields.get("streams", lambda: int(_management().NUM_STREAMS)),
        platform=fields.get("platform", _platform),
        versions=_versions(),
        running=fields.get("running", is_running),
        models_on_rotating_disk=fields.get("models_on_rotating_disk", _rotating),
        reasons=fields.reasons,
    )


def is_running() -> bool | None:
    """Whether a prompt is being executed; None where no server runs."""
    queue = getattr(_server(), "prompt_queue", None)
    return None if queue is None else bool(queue.currently_running)


class _Fields:
    def __init__(self) -> None:
        self.reasons: dict[str, str] = {}

    def get(self, name: str, read: Callable[[], T]) -> T | None:
        """One fact; a host of another version lacks some of them, and a missing host all."""
        try:
            return read()
        except Exception as error:
            logging.debug("Headroom: the host's %s is unknown: %s", name, error)
            self.reasons[name] = f"{type(error).__name__}: {error}".splitlines()[0]
            return None


def _module(name: str) -> Any:
    """A module that the host has loaded already; nothing is imported for a look."""
    found = sys.modules.get(name)
    if found is None:
        raise LookupError(f"{name} is not loaded")
    return found


def _management() -> Any:
    return _module("comfy.model_management")


def _server() -> Any:
    return getattr(getattr(sys.modules.get("server"), "PromptServer", None), "instance", None)


def _version() -> str:
    from comfyui_version import __version__

    return str(__version__)


def _is_own_command_line() -> bool:
    return bool(_module("comfy.options").args_parsing)


def _start() -> Sequence[str] | None:
    """The words before the arguments: interpreter, its options and the script."""
    words = list(sys.orig_argv)
    count = len(sys.argv) - 1
    before = words[:-count] if count else words
    return tuple(before) if words[len(before) :] == sys.argv[1:] else None


def _arguments() -> Mapping[str, Any]:
    return {name: _plain(value) for name, value in vars(_module("comfy.cli_args").args).items()}


def _plain(value: Any) -> Any:
    if isinstance(value, enum.Enum):
        return value.value
    if isinstance(value, set | frozenset):
        return tuple(sorted(map(_plain, value), key=str))
    return tuple(map(_plain, value)) if isinstance(value, list | tuple) else value


def _dynamic_vram() -> bool | None:
    """False too where this version has none; None only where there is no ComfyUI."""
    return bool(getattr(_module("comfy.memory_management"), "aimdo_enabled", False))


def _why_static(flags: frozenset[str]) -> str | None:
    """As main.py 0.30.0 decides it; None where a flag asks for it. A fact of comfy-aimdo is read, not guessed."""
    if flags & STATIC_FLAGS and "--enable-dynamic-vram" not in flags:
        return None
    management = _management()
    if "--enable-dynamic-vram" not in flags:
        if not management.is_nvidia():
            return "ComfyUI starts it by itself only on NVIDIA cards"
        if management.is_wsl():
            return "ComfyUI does not start it by itself under WSL"
        if tuple(management.torch_version_numeric) < DYNAMIC_TORCH:
            return f"it needs PyTorch 2.8 or newer; this is {management.torch_version}"
    control = sys.modules.get("comfy_aimdo.control")
    if control is None:
        return "comfy-aimdo is not installed"
    if getattr(control, "lib", None) is None:
        return "the library of comfy-aimdo did not load"
    return "comfy-aimdo did not start on this card" if not getattr(control, "devctxs", None) else None


def _cache() -> str:
    """As main.py 0.30.0, prompt_worker: RAM pressure unless asked otherwise; ``classic`` before there was any."""
    arguments = _module("comfy.cli_args").args
    if getattr(arguments, "cache_classic", False):
        return "classic"
    if getattr(arguments, "cache_lru", 0) > 0:
        return "lru"
    if getattr(arguments, "cache_none", False):
        return "none"
    if not isinstance(getattr(arguments, "cache_ram", None), list) and not getattr(arguments, "cache_ram", 0):
        return "classic"
    return "ram"


def _platform() -> str:
    system = platform.system().lower()
    if system == "linux" and "microsoft" in platform.uname().release.lower():
        return "wsl"
    return {"darwin": "macos"}.get(system, system)


@functools.cache
def _versions() -> Mapping[str, str]:
    """Of what decides about memory; they do not change while the process runs."""
    import importlib.metadata

    found: dict[str, Any] = {"python": platform.python_version()}
    for package in PACKAGES:
        try:
            found[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            continue
    torch = sys.modules.get("torch")
    build = getattr(torch, "version", None)
    found |= {
        # With the build in it: 2.14.1+cu130.
        "torch": getattr(torch, "__version__", found.get("torch")),
        "cuda": getattr(build, "cuda", None),
        "rocm": getattr(build, "hip", None),
        "xformers": getattr(sys.modules.get("comfy.model_management"), "XFORMERS_VERSION", None),
    }
    return {name: str(text) for name, text in found.items() if text}


@functools.cache
def _rotating(root: Path = Path("/")) -> bool | None:
    """Whether the models folder lies on a disk that turns, by Linux's word; None where that is not known.

    A partition has no queue of its own, its disk does. Network and overlay file systems are no block devices.
    """
    device = os.stat(_module("folder_paths").models_dir).st_dev
    if not hasattr(os, "major"):
        return None
    block = root / "sys" / "dev" / "block" / f"{os.major(device)}:{os.minor(device)}"
    for folder in (block, block.resolve().parent):
        flag = folder / "queue" / "rotational"
        if flag.is_file():
            return flag.read_text("ascii").strip() == "1"
    return None
