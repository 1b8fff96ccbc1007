"""What a snapshot shows to others: the fields as they are, and no path, key or home folder."""

from __future__ import annotations

import dataclasses
import json
import math
import re
from collections.abc import Iterator
from typing import Any

import pytest

from headroom.core.readings import Device, Host, LastRun, LoadedModel, Program, Ram, Snapshot
from headroom.core.snapshot_json import snapshot_json

GIB = 2**30


def shown(host: Host | None = None, home: str | None = None, **fields: Any) -> dict[str, Any]:
    """A snapshot as a program reads it back."""
    return json.loads(json.dumps(snapshot_json(Snapshot(1.5, host=host or Host(), **fields), home), allow_nan=False))


def test_the_fields_are_those_of_the_readings():
    found = shown()
    assert set(found) == {field.name for field in dataclasses.fields(Snapshot)}
    assert set(found["host"]) == {field.name for field in dataclasses.fields(Host)}
    assert (found["taken_at"], found["devices"], found["workflow_models"]) == (1.5, [], None)


def test_unknown_is_null_and_numbers_stay_numbers():
    device = Device(0, "RTX", "cuda", total_bytes=24 * GIB, capability=(8, 9), programs=(Program("ollama", None, 9),))
    (found,) = shown(devices=(device,))["devices"]
    assert (found["total_bytes"], found["free_bytes"], found["capability"]) == (25769803776, None, [8, 9])
    assert found["programs"] == [{"name": "ollama", "used_bytes": None, "pid": 9}]


def test_models_ram_and_the_last_run_are_shown():
    found = shown(
        models=(LoadedModel("flux.safetensors", "diffusion", "Flux", size_bytes=7),),
        ram=Ram(total_bytes=3, reasons={"cpu_percent": "RuntimeError: no"}),
        last_run=LastRun(finished=False, node="KSampler #3"),
    )
    assert found["models"][0]["name"] == "flux.safetensors"
    assert found["ram"]["reasons"] == {"cpu_percent": "RuntimeError: no"}
    assert (found["last_run"]["finished"], found["last_run"]["node"]) == (False, "KSampler #3")


def test_flags_are_listed_in_a_fixed_order():
    host = Host(flags=frozenset({"--lowvram", "--fast", "--cpu"}), known_flags=frozenset({"--b", "--a"}))
    found = shown(host)["host"]
    assert (found["flags"], found["known_flags"]) == (["--cpu", "--fast", "--lowvram"], ["--a", "--b"])


def test_a_value_that_json_has_no_number_for_is_a_text():
    """``--reserve-vram nan`` is accepted by argparse."""
    assert shown(Host(args={"reserve_vram": math.nan, "x": math.inf}))["host"]["args"] == {
        "reserve_vram": "nan",
        "x": "inf",
    }


SECRETS = [
    (["--api-key", "abcdefgh"], ["--api-key", "***"]),
    (["--api-key=abcdefgh", "--cpu"], ["--api-key=***", "--cpu"]),
    (["--hf-token", "hf_abcdefghijklmnopqrst"], ["--hf-token", "***"]),
    (["--comfy-api-base", "https://alice:pw@example.org/x"], ["--comfy-api-base", "https://***@example.org/x"]),
    (["--some-option", "sk-abcdefghijklmnop"], ["--some-option", "***"]),
]


@pytest.mark.parametrize(("argv", "expected"), SECRETS)
def test_keys_and_passwords_are_not_shown(argv: list[str], expected: list[str]):
    assert shown(Host(argv=argv))["host"]["argv"] == expected


def test_a_secret_among_the_parsed_values_is_told_by_its_name():
    args = {"api_key": "abcdefgh", "preview_method": "auto", "port": 8188, "feature_flag": ["a=b"]}
    assert shown(Host(args=args))["host"]["args"] == {
        "api_key": "***",
        "preview_method": "auto",
        "port": 8188,
        "feature_flag": ["a=b"],
    }


#: A path, the folders in it that nobody is to see, and what is shown on Linux where that is one thing.
PATHS = [
    ("/home/alice/ComfyUI/models", "home alice", "~/ComfyUI/models"),
    ("/mnt/big/ComfyUI/models", "mnt big", ".../models"),
    ("/data", "", ".../data"),
    ("sqlite:////home/alice/comfy.db", "home alice", None),
    ("sqlite:////srv/x1/comfy.db", "srv x1", None),
    ("C:\\Users\\Alice\\ComfyUI", "Users Alice", None),
    ("D:\\Art2\\ComfyUI", "Art2", None),
    ("D:/Art2/ComfyUI", "Art2", None),
    ("\\\\nas7\\share\\models", "nas7 share", None),
    ("/run/user/1000/x,/opt/art2/y", "user 1000 opt art2", None),
]
ABSOLUTE = re.compile(r"(?:^|[\s=,\"'])(?:/|\\\\|[A-Za-z]:[\\/](?!/))")


def texts(found: Any) -> Iterator[str]:
    """Every text in a JSON value."""
    if isinstance(found, str):
        yield found
    elif isinstance(found, list | dict):
        for one in found if isinstance(found, list) else [*found, *found.values()]:
            yield from texts(one)


@pytest.mark.parametrize(("path", "folders", "expected"), PATHS)
@pytest.mark.parametrize("platform", ["linux", "windows"])
def test_no_absolute_path_and_no_home_is_shown_anywhere(path: str, folders: str, expected: str | None, platform: str):
    """In the command line, in the parsed values, and in a reason that quotes an error."""
    host = Host(
        argv=["--output-directory", path, f"--temp-directory={path}"],
        args={"output_directory": path, "lists": [[path]]},
        start=[path, "main.py"],
        platform=platform,
        reasons={"x": f"OSError: cannot read {path}", "y": f"No such file: '{path}'"},
    )
    found = shown(host)
    for text in texts(found):
        assert not ABSOLUTE.search(text), text
        assert not any(folder in text for folder in folders.split()), text
    if expected is not None and platform == "linux":
        assert found["host"]["argv"] == ["--output-directory", expected, f"--temp-directory={expected}"]
        assert found["host"]["args"] == {"output_directory": expected, "lists": [[expected]]}


def test_a_home_in_an_unusual_place_is_known_by_its_folder():
    found = shown(Host(argv=["--base-directory", "/export/u/alice/ComfyUI"]), home="/export/u/alice")
    assert found["host"]["argv"] == ["--base-directory", "~/ComfyUI"]


def test_the_start_is_shown_by_names():
    start = ["/home/alice/venv/bin/python", "-s", "C:\\Users\\alice\\ComfyUI\\main.py"]
    assert shown(Host(start=start))["host"]["start"] == ["python", "-s", "main.py"]


@pytest.mark.parametrize("text", ["n/a", "1/2", "int8/fp8", "PCIe 4.0 x16/x8", "RuntimeError: a, b/c", "12:30"])
def test_what_only_looks_like_a_path_stays(text: str):
    assert shown(Host(reasons={"x": text}))["host"]["reasons"] == {"x": text}


def test_an_unknown_kind_of_value_becomes_its_text():
    class Odd:
        def __str__(self) -> str:
            return "odd"

    assert shown(Host(args={"x": Odd()}))["host"]["args"] == {"x": "odd"}
