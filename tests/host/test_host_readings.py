"""The running ComfyUI as it is read: effective state, reasons, and attributes that other versions lack."""

from __future__ import annotations

import importlib
import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
import torch


@pytest.fixture
def comfy(pack: ModuleType) -> ModuleType:
    """The pack's module of host readings."""
    return importlib.import_module(f"{pack.__name__}.headroom.host.comfy")


@pytest.fixture
def management() -> Any:
    import comfy.model_management

    return comfy.model_management


def test_the_state_on_the_cpu(comfy: ModuleType, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sys, "argv", ["main.py", "--cpu", "--reserve-vram", "2"])
    monkeypatch.setattr(sys, "orig_argv", ["/opt/venv/bin/python", "-s", "main.py", "--cpu", "--reserve-vram", "2"])
    found = comfy.read_host()
    assert found.argv == ("--cpu", "--reserve-vram", "2")
    assert found.start == ("/opt/venv/bin/python", "-s", "main.py")
    assert found.flags == {"--cpu", "--reserve-vram"}
    assert (found.dynamic_vram, found.dynamic_vram_reason) == (False, None)
    assert (found.vram_state, found.cache, found.streams) == ("DISABLED", "ram", 0)
    assert found.reserved_bytes == 400 * 2**20
    assert found.versions["torch"] == torch.__version__
    assert found.versions["comfy-aimdo"][0].isdigit()
    assert "--fp32-unet" in (found.known_flags or ())
    assert found.platform in {"linux", "windows", "macos", "wsl"}


def test_arguments_are_plain_values(comfy: ModuleType):
    arguments = comfy.read_host().args
    assert (arguments["preview_method"], arguments["fast"], arguments["port"]) == ("none", (), 8188)


def test_a_command_line_that_the_host_did_not_read_is_not_its_own(comfy: ModuleType, monkeypatch: pytest.MonkeyPatch):
    import comfy.options as options

    monkeypatch.setattr(options, "args_parsing", False)
    monkeypatch.setattr(sys, "argv", ["pytest", "--lowvram"])
    found = comfy.read_host()
    assert (found.argv, found.start, found.flags) == ((), None, frozenset())


def test_a_start_that_does_not_fit_the_arguments_is_unknown(comfy: ModuleType, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sys, "argv", ["main.py", "--cpu"])
    monkeypatch.setattr(sys, "orig_argv", ["embedded"])
    assert comfy.read_host().start is None


@pytest.mark.parametrize(
    ("played", "flags", "reason"),
    [
        ({"is_nvidia": False}, (), "ComfyUI starts it by itself only on NVIDIA cards"),
        ({"is_wsl": True}, (), "ComfyUI does not start it by itself under WSL"),
        ({"torch_version_numeric": (2, 7)}, (), "it needs PyTorch 2.8 or newer; this is 2.7.1"),
        ({"lib": None}, (), "the library of comfy-aimdo did not load"),
        ({"devctxs": []}, (), "comfy-aimdo did not start on this card"),
        ({"is_nvidia": False, "devctxs": []}, ("--enable-dynamic-vram",), "comfy-aimdo did not start on this card"),
        ({"devctxs": []}, ("--novram", "--enable-dynamic-vram"), "comfy-aimdo did not start on this card"),
        ({"control": None}, (), "comfy-aimdo is not installed"),
        ({}, ("--disable-dynamic-vram",), None),
        ({}, ("--highvram",), None),
    ],
)
def test_why_dynamic_vram_is_off_is_read_and_not_taken_from_the_flags(
    comfy: ModuleType,
    management: Any,
    monkeypatch: pytest.MonkeyPatch,
    played: dict[str, Any],
    flags: tuple[str, ...],
    reason: str | None,
):
    """MEM-48, comfy-aimdo #37: started with default flags, off all the same."""
    state = {"is_nvidia": True, "is_wsl": False, "torch_version_numeric": (2, 9), "lib": object(), "devctxs": [1]}
    state |= played
    monkeypatch.setattr(management, "is_nvidia", lambda: state["is_nvidia"])
    monkeypatch.setattr(management, "is_wsl", lambda: state["is_wsl"])
    monkeypatch.setattr(management, "torch_version_numeric", state["torch_version_numeric"])
    monkeypatch.setattr(management, "torch_version", "2.7.1")
    control = None if "control" in played else SimpleNamespace(lib=state["lib"], devctxs=state["devctxs"])
    monkeypatch.setitem(sys.modules, "comfy_aimdo.control", control)
    monkeypatch.setattr(sys, "argv", ["main.py", *flags])
    found = comfy.read_host()
    assert (found.dynamic_vram, found.dynamic_vram_reason) == (False, reason)


def test_dynamic_vram_that_is_on_needs_no_reason(comfy: ModuleType, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(comfy_memory(), "aimdo_enabled", True)
    found = comfy.read_host()
    assert (found.dynamic_vram, found.dynamic_vram_reason) == (True, None)


def comfy_memory() -> Any:
    return sys.modules["comfy.memory_management"]


def test_attributes_that_a_host_lacks_are_unknown(comfy: ModuleType, management: Any, monkeypatch: pytest.MonkeyPatch):
    """An older or a newer host: each costs its own field only."""
    for name in ("NUM_STREAMS", "EXTRA_RESERVED_VRAM", "vram_state"):
        monkeypatch.delattr(management, name)
    monkeypatch.delattr(comfy_memory(), "aimdo_enabled")
    found = comfy.read_host()
    assert (found.streams, found.reserved_bytes, found.vram_state, found.dynamic_vram) == (None, None, None, False)
    assert found.attention is not None
    assert set(found.reasons) == {"streams", "reserved_bytes", "vram_state"}


@pytest.mark.parametrize(
    ("arguments", "cache"),
    [
        ({"cache_ram": []}, "ram"),
        ({"cache_ram": [4.0]}, "ram"),
        ({"cache_classic": True, "cache_ram": []}, "classic"),
        ({"cache_lru": 10, "cache_ram": []}, "lru"),
        ({"cache_none": True, "cache_ram": []}, "none"),
        # 0.16.3: a number, and none of it unless asked for.
        ({"cache_ram": 0, "cache_lru": 0, "cache_none": False}, "classic"),
        ({"cache_ram": 4.0, "cache_lru": 0, "cache_none": False}, "ram"),
    ],
)
def test_the_cache_as_this_version_chooses_it(
    comfy: ModuleType, monkeypatch: pytest.MonkeyPatch, arguments: dict[str, Any], cache: str
):
    monkeypatch.setattr(sys.modules["comfy.cli_args"], "args", SimpleNamespace(**arguments))
    assert comfy._cache() == cache


@pytest.mark.parametrize(
    ("system", "release", "name"),
    [
        ("Linux", "6.8.0-45-generic", "linux"),
        ("Linux", "5.15.153.1-microsoft-standard-WSL2", "wsl"),
        ("Linux", "4.4.0-19041-Microsoft", "wsl"),
        ("Windows", "10", "windows"),
        ("Darwin", "24.0.0", "macos"),
    ],
)
def test_the_platform(comfy: ModuleType, monkeypatch: pytest.MonkeyPatch, system: str, release: str, name: str):
    """RAM-12: WSL is not Linux as far as memory is concerned."""
    monkeypatch.setattr(comfy.platform, "system", lambda: system)
    monkeypatch.setattr(comfy.platform, "uname", lambda: SimpleNamespace(release=release))
    assert comfy._platform() == name


def test_a_prompt_that_runs_is_seen_in_the_queue(comfy: ModuleType, monkeypatch: pytest.MonkeyPatch):
    queue = SimpleNamespace(currently_running={})
    instance = SimpleNamespace(prompt_queue=queue)
    monkeypatch.setitem(sys.modules, "server", SimpleNamespace(PromptServer=SimpleNamespace(instance=instance)))
    assert comfy.is_running() is False
    queue.currently_running[0] = "a prompt"
    assert comfy.is_running() is True
    monkeypatch.setitem(sys.modules, "server", None)
    assert comfy.is_running() is None


def test_without_comfyui_nothing_of_it_is_imported(comfy: ModuleType, monkeypatch: pytest.MonkeyPatch):
    """The import starts the memory manager, and with it the GPU."""
    monkeypatch.delitem(sys.modules, "comfy.model_management")
    monkeypatch.delitem(sys.modules, "comfy.cli_args")
    found = comfy.read_host()
    assert (found.version, found.argv, found.dynamic_vram, found.running) == (None, (), None, None)
    assert found.versions["python"]
    assert "comfy.model_management" not in sys.modules
