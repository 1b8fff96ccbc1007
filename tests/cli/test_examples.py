"""Examples by name in every command, and nothing in any answer that a terminal would obey."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from headroom.cli import main
from headroom.core.preset_names import LISTED

ESC = "a\x1b[31mb"


def ended(*args: str) -> int:
    """The exit status, also where argparse ends the process."""
    try:
        return main(list(args))
    except SystemExit as end:
        return int(end.code or 0)


@pytest.mark.parametrize("command", ["plan", "inspect", "flags"])
def test_all_are_listed_without_another_argument(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert ended(command, "--examples") == 0
    said = capsys.readouterr().out
    assert all(name in said for _, name, _, _ in LISTED)
    assert "SDXL base                   fp16\n" in said


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("plan", "SDXL", "--card", "8", "--size", "1024x1024"), "Close to it: `SDXL base, fp16`"),
        (("plan", "Flux.1 dev", "--card", "8", "--size", "1024x1024"), "`Flux.1 dev, fp8`"),
        (("inspect", "Flux.1 dev"), "`Flux.1 dev, fp8`"),
        (("flags", "python main.py", "--models", "Flux.1 dev"), "`Flux.1 dev, fp8`"),
        (("plan", "xyz", "--card", "8", "--size", "1024x1024"), "`python -m headroom plan --examples` lists all"),
        # What is named like a file is one that is missing.
        (("inspect", "flux1-dev.safetensors"), "`flux1-dev.safetensors` cannot be read: No such file"),
    ],
)
def test_a_name_that_is_none_is_answered_with_those_that_are(
    args: tuple[str, ...], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert ended(*args) == 2
    assert said in capsys.readouterr().err


def test_capitals_do_not_count(capsys: pytest.CaptureFixture[str]) -> None:
    assert ended("plan", "flux.1 DEV, FP8", "--card", "24", "--size", "1024x1024", "--json") == 0
    assert json.loads(capsys.readouterr().out)["models"][0]["file"] == "example: Flux.1 dev, fp8"
    assert ended("inspect", "SDXL BASE, fp16", "--json") == 0
    (found,) = json.loads(capsys.readouterr().out)["files"]
    assert (found["path"], found["family"]) == ("SDXL BASE, fp16", "SDXL")


@pytest.mark.parametrize(
    "args",
    [
        ("plan", ESC, "--card", "8", "--size", "8x8"),
        ("plan", f"{ESC}.safetensors", "--card", "8", "--size", "8x8"),
        ("plan", "SD 1.5, fp16", "--card", "8", "--size", ESC),
        ("plan", "SD 1.5, fp16", "--card", "8", "--size", "8x8", f"--{ESC}"),
        ("plan", "SD 1.5, fp16", "--card", "8", "--size", "8x8", "--gpu", ESC),
        ("inspect", ESC),
        ("inspect", f"{ESC}.safetensors"),
        ("flags", f"python main.py --{ESC} {ESC}"),
        ("flags", f"python main.py --output-directory {ESC} --lowvram"),
        ("flags", f"{ESC}.bat"),
        ("flags", "python main.py", "--models", ESC),
        ("flags", "python main.py", "--version", ESC),
        # The same in one sign, and marks that turn the direction of writing.
        ("flags", "python main.py --a\x9b31m"),
        ("flags", "python main.py --a\u202emv"),
    ],
)
def test_nothing_that_a_terminal_would_obey(args: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    ended(*args)
    said = capsys.readouterr()
    assert said.out + said.err
    for sign in ("\x1b", "\x9b", "\u202e"):
        assert sign not in said.out + said.err


def test_a_file_s_own_names_are_cleaned_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "a\x1b[2Jb.safetensors"
    path.write_bytes(b"")
    assert ended("inspect", str(path)) == 1
    assert ended("inspect", str(tmp_path)) == 1
    said = capsys.readouterr()
    assert "\x1b" not in said.out + said.err
