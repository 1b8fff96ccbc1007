"""The start line that a fix shows: words before the arguments, quotes, and nothing that others should not see."""

from __future__ import annotations

import re
import shlex
import sys
from dataclasses import replace
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from flag_cases import CASES, snap

from headroom.core import redact
from headroom.core.flags import Change, advise
from headroom.core.flags.startline import changed, quoted, start_line
from headroom.core.flags.versions import table_for
from headroom.core.readings import Host

TABLE = table_for()
PORTABLE = (".\\python_embeded\\python.exe", "-s", "ComfyUI\\main.py")


def line(host: Host, remove: tuple[str, ...] = (), add: tuple[str, ...] = ()) -> str:
    return start_line(host, TABLE, Change(remove, add))


def test_the_words_before_the_arguments_are_those_that_were_given() -> None:
    argv = ("--windows-standalone-build", "--lowvram")
    assert line(Host(argv=argv, start=PORTABLE, platform="windows"), ("--lowvram",)) == (
        ".\\python_embeded\\python.exe -s ComfyUI\\main.py --windows-standalone-build"
    )
    assert line(Host(argv=argv)) == "python main.py --windows-standalone-build --lowvram"


def test_interpreters_and_scripts_by_absolute_path_are_cut_to_their_names() -> None:
    posix = Host(argv=("--cpu",), start=("/home/anna/venv/bin/python3", "/opt/ComfyUI/main.py"))
    assert line(posix) == "python3 main.py --cpu"
    windows = Host(argv=(), start=("C:\\Users\\Anna\\py\\python.exe", "D:\\ComfyUI\\main.py"), platform="windows")
    assert line(windows) == "python.exe main.py"


def test_without_argv_there_is_no_line() -> None:
    assert line(Host(flags=frozenset({"--lowvram"}))) == ""


@pytest.mark.parametrize(
    ("argv", "change", "expected"),
    [
        ("--lowvram --port 1", Change(("--lowvram",)), "--port 1"),
        ("--reserve-vram 2 --fast", Change(("--reserve-vram",)), "--fast"),
        ("--reserve-vram=2 --fast", Change(("--reserve-vram",)), "--fast"),
        ("--reserve 2 --fast", Change(("--reserve-vram",)), "--fast"),
        ("--fast fp16_accumulation autotune --cpu", Change(("--fast",)), "--cpu"),
        ("--lowvram --fast --lowvram", Change(("--lowvram",)), "--fast"),
        ("--cache-lru 4", Change(("--cache-lru",), ("--cache-none",)), "--cache-none"),
        ("--async-offload --port 1", Change(("--async-offload",)), "--port 1"),
        ("--reserve-vram -1", Change(("--reserve-vram",)), ""),
    ],
)
def test_a_flag_goes_with_its_values(argv: str, change: Change, expected: str) -> None:
    assert changed(argv.split(), TABLE, change) == expected.split()


@pytest.mark.parametrize(
    "word", ["plain", "a b", "", "it's", 'say "x"', "$HOME", "a\\b", "~/my models/x", "*.png", "&"]
)
def test_quotes_for_a_posix_shell(word: str) -> None:
    assert shlex.split(quoted(word, windows=False)) == [word]


def test_a_home_folder_stays_outside_the_quotes() -> None:
    assert quoted("~/my models", windows=False) == "~/'my models'"


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("plain", "plain"),
        ("D:\\a\\b", "D:\\a\\b"),
        ("D:\\a b\\", '"D:\\a b\\\\"'),
        ('say "x"', '"say \\"x\\""'),
        ("", '""'),
        ("a&b", '"a&b"'),
    ],
)
def test_quotes_for_windows(word: str, expected: str) -> None:
    """As list2cmdline writes it: a backslash counts only before a quote."""
    assert quoted(word, windows=True) == expected


# --- what is taken out ---


@pytest.mark.parametrize(
    ("argv", "expected"),
    [
        ("--output-directory /home/anna/pictures", "--output-directory ~/pictures"),
        ("--base-directory=/Users/anna/Comfy UI", "--base-directory=~/Comfy UI"),
        ("--user-directory /root", "--user-directory ~"),
        ("--user-directory /root/x", "--user-directory ~/x"),
        ("--input-directory /mnt/disk 1/secret project/in", "--input-directory .../in"),
        ("--input-directory ../in", "--input-directory ../in"),
        ("--tls-keyfile /etc/ssl/key.pem", "--tls-keyfile .../key.pem"),
        ("--comfy-api-base https://user:pw@api.example.org/v1", "--comfy-api-base https://***@api.example.org/v1"),
        ("--database-url sqlite:////srv/comfy/user/comfyui.db", "--database-url sqlite://.../comfyui.db"),
        ("--database-url postgresql://me:pw@host/db", "--database-url postgresql://***@host/db"),
        ("--api-key abc", "--api-key ***"),
        ("--api-key=abc", "--api-key=***"),
        ("--feature-flag openai_token=abc", "--feature-flag openai_token=***"),
        ("--feature-flag x=hf_abcdefghijklmnopqrst", "--feature-flag x=***"),
        ("--extra sk-abcdefghijklmnop1234", "--extra ***"),
        ("--front-end-version Comfy-Org/x@latest", "--front-end-version Comfy-Org/x@latest"),
        ("--listen 0.0.0.0,:: --port 8188", "--listen 0.0.0.0,:: --port 8188"),
        ("--enable-cors-header http://localhost:3000", "--enable-cors-header http://localhost:3000"),
        ("--lowvram --reserve-vram -1", "--lowvram --reserve-vram -1"),
    ],
)  # fmt: skip
def test_secrets_and_absolute_paths(argv: str, expected: str) -> None:
    flag, _, value = argv.partition(" ")
    words = [flag, value] if flag in {"--output-directory", "--input-directory"} else argv.split(" ")
    words = [argv] if "=/Users" in argv else words
    assert " ".join(redact.words(words)) == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("C:\\Users\\Anna\\out", "%USERPROFILE%\\out"),
        ("c:/Users/Anna/out", "%USERPROFILE%/out"),
        ("D:\\my models\\x", "...\\x"),
        ("\\\\nas\\share\\models", "...\\models"),
    ],
)
def test_on_windows(value: str, expected: str) -> None:
    assert redact.words(["--output-directory", value], windows=True) == ["--output-directory", expected]


@pytest.mark.parametrize("rule", CASES)
def test_no_advice_holds_an_absolute_path_a_key_or_a_home_folder(rule: str) -> None:
    before = CASES[rule].brings
    secrets = ("--output-directory", "/home/anna/secret place/out", "--feature-flag", "api_key=sk-abcdefghijklmnop")
    argv = (*before.host.argv, *secrets)
    snapshot = replace(
        before, host=replace(before.host, argv=argv, start=("/home/anna/v/bin/python", "/srv/c/main.py"))
    )
    for advice in advise(snapshot):
        text = str(advice.as_json())
        assert "anna" not in text
        assert "abcdefghijklmnop" not in text
        assert "/srv" not in text
        if advice.change:
            assert advice.command.startswith("python main.py")
            home = '"%USERPROFILE%/secret place/out"' if before.host.platform == "windows" else "~/'secret place/out'"
            assert home in advice.command


def test_paths_in_what_the_system_told_are_no_part_of_an_advice() -> None:
    off = snap(
        dynamic_vram=False, dynamic_vram_reason="comfy-aimdo failed to load: /home/anna/x/aimdo.so: no such file"
    )
    assert not re.search("anna", str([advice.as_json() for advice in advise(off)]))
