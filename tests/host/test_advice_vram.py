"""Memory flags, which cannot be started without a card: parsed by ComfyUI, which also decides on dynamic VRAM.

Not verified on a GPU: the card and what is loaded on it are stated.
"""

from __future__ import annotations

import importlib
import shlex
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest

GIB = 2**30
Ask = Callable[..., list[str]]


@pytest.fixture
def ask(pack: ModuleType, monkeypatch: pytest.MonkeyPatch) -> Ask:
    """The ids of the advice for a command line, on a card of 16 GiB with a diffusion model of a size in GiB."""
    inside = f"{pack.__name__}.headroom"
    comfy, flags = importlib.import_module(f"{inside}.host.comfy"), importlib.import_module(f"{inside}.core.flags")
    readings = importlib.import_module(f"{inside}.core.readings")
    options: Any = importlib.import_module("comfy.cli_args")
    management: Any = importlib.import_module("comfy.model_management")
    # Wins over what this machine is, so that reasons for static loading are those of the flags alone.
    monkeypatch.setattr(management, "is_nvidia", lambda: True)
    monkeypatch.setattr(management, "is_wsl", lambda: False)
    monkeypatch.setattr(management, "EXTRA_RESERVED_VRAM", 400 * 2**20)

    def ask(line: str, model: float | None = None, encoder: float | None = None) -> list[str]:
        words = shlex.split(line)
        monkeypatch.setattr(sys, "argv", ["main.py", *words])
        monkeypatch.setattr(options, "args", options.parser.parse_args(words))
        monkeypatch.setattr(sys.modules["comfy.memory_management"], "aimdo_enabled", options.enables_dynamic_vram())
        card = readings.Device(
            0,
            "NVIDIA GeForce RTX 4080",
            "cuda",
            total_bytes=16 * GIB,
            free_bytes=15 * GIB,
            capability=(8, 9),
            bf16=True,
        )
        sizes = {"diffusion": ("WAN21", model), "text encoder": ("WanTEModel_", encoder)}
        models = tuple(
            readings.LoadedModel("x", kind, name, "fp8", size_bytes=int(size * GIB))
            for kind, (name, size) in sizes.items()
            if size is not None
        )
        ram = readings.Ram(total_bytes=64 * GIB, machine_bytes=64 * GIB, swap_total_bytes=8 * GIB)
        found = readings.Snapshot(0.0, comfy.read_host(), (card,), ram=ram, models=models)
        return [one.id for one in flags.advise(found)]

    return ask


@pytest.mark.parametrize(
    ("line", "model", "encoder", "expected"),
    [
        ("", 15.0, 6.0, []),
        # FLAG-01: under dynamic VRAM it does nothing, without it only the text encoder moves.
        ("--lowvram", 15.0, 6.0, ["lowvram-noop"]),
        ("--lowvram --disable-dynamic-vram", 8.0, 6.0, ["lowvram-text-encoder"]),
        # FLAG-03: these switch dynamic VRAM off; --gpu-only counts the text encoder too.
        ("--highvram", 15.0, None, ["resident-too-large"]),
        ("--highvram", 12.0, None, []),
        ("--highvram", 8.0, 5.0, []),
        # A text encoder is loaded beside a model that does not leave the card.
        ("--highvram", 12.0, 6.0, ["resident-too-large"]),
        ("--gpu-only", 12.0, 6.0, ["resident-too-large"]),
        ("--gpu-only", 6.0, 4.0, []),
        ("--novram", 6.0, 4.0, ["novram-needless"]),
        ("--novram", 16.0, 6.0, []),
        ("--novram --enable-dynamic-vram", 15.0, None, ["novram-overruled"]),
        ("--highvram --enable-dynamic-vram", 15.0, None, ["dynamic-highvram"]),
        ("--highvram --disable-smart-memory", 6.0, None, ["highvram-no-smart-memory"]),
        # FLAG-04, and what static loading costs a model that does not fit.
        ("--enable-dynamic-vram --disable-dynamic-vram", 15.0, None, ["dynamic-both"]),
        ("--disable-dynamic-vram", 15.5, None, ["disabled-dynamic-too-large"]),
        ("--disable-dynamic-vram", 6.0, None, []),
        # FLAG-10: the budget, and the strict one.
        ("--reserve-vram 2", 6.0, None, ["reserve-soft"]),
        ("--vram-headroom 2", 6.0, None, []),
        ("--vram-headroom 2 --disable-dynamic-vram", 6.0, None, ["headroom-static"]),
        ("--vram-headroom 16", 6.0, None, ["headroom-too-large"]),
        # An abbreviation is the flag that argparse takes it for.
        ("--lowv", 6.0, None, ["lowvram-noop"]),
    ],
)
def test_exactly_the_rules_that_fit(ask: Ask, line: str, model: float, encoder: float | None, expected: list[str]):
    assert ask(line, model, encoder) == expected


@pytest.mark.parametrize("line", ["--lowvram --highvram", "--gpu-only --novram", "--cpu --lowvram", "--normalvram"])
def test_what_the_parser_refuses_needs_no_advice_here(ask: Ask, line: str):
    """FLAG-02, FLAG-05: ComfyUI does not start; the start line's own check says it before."""
    with pytest.raises(SystemExit):
        ask(line)
