"""The start line as people write it: found, checked, changed in place."""

from __future__ import annotations

import random
import sys
from dataclasses import replace
from pathlib import Path

import hostkit
import pytest

from headroom.core.flags.advice import Advice, Change
from headroom.core.flags.engine import advise
from headroom.core.flags.parsing import read
from headroom.core.flags.versions import table_for, table_of
from headroom.core.launchline import LaunchLine, LaunchLineError, Machine, a1111, check, decode, read_line, snapshot_of
from headroom.core.launchline.check import nearest
from headroom.core.launchline.rewrite import Edit, command, edits_for, rewritten
from headroom.core.launchline.stated import assumptions, limit_finding, size_of_limit
from headroom.core.launchline.texts import TEXTS
from headroom.core.readings import WorkflowModel

GIB = 2**30
TABLE = table_for()

PORTABLE = """@echo off\r
rem python main.py --gpu-only\r
.\\python_embeded\\python.exe -s ComfyUI\\main.py --windows-standalone-build --fp16-vae ^\r
  --output-directory "D:\\my pictures\\" ^\r
  --reserve-vram 2\r
pause\r
--lowvram\r
"""
UNIT = """[Unit]
Description=ComfyUI

[Service]
Environment="CLI_ARGS=--lowvram --reserve-vram 2"
WorkingDirectory=/opt/comfy
ExecStart=/opt/comfy/venv/bin/python main.py --listen \\
    # a comment between
    --output-directory "/srv/my pictures" \\
    $CLI_ARGS
MemoryHigh=20G
MemoryMax=24G
"""
SCRIPT = """#!/usr/bin/env bash
set -e
ARGS=(--lowvram --reserve-vram 2)
EXTRA="--preview-method auto"
EXTRA+=" --fast"
cd "$(dirname "$0")"
source venv/bin/activate   # the environment
exec python main.py "${ARGS[@]}" $EXTRA --listen "$@" > comfy.log 2>&1 &
"""


def argv(text: str, suffix: str = "") -> list[str]:
    return read_line(text, suffix).argv


def found(text: str, suffix: str = "", version: str | None = None) -> list[Advice]:
    return list(check(read_line(text, suffix), table_for(version)))


def ids(text: str, suffix: str = "", version: str | None = None) -> list[str]:
    return [advice.id for advice in found(text, suffix, version)]


# --- finding the arguments ---


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("python main.py", []),
        ("python main.py --lowvram", ["--lowvram"]),
        ("python3 /opt/ComfyUI/main.py --port 8190", ["--port", "8190"]),
        ("CUDA_VISIBLE_DEVICES=0 python main.py --cpu", ["--cpu"]),
        ("cd ComfyUI && source venv/bin/activate && python main.py --fast; echo done", ["--fast"]),
        ("nohup python main.py --listen > comfy.log 2>&1 &", ["--listen"]),
        ("python main.py --listen 2>err.txt --port 1", ["--listen", "--port", "1"]),
        ("python main.py --lowvram | tee log", ["--lowvram"]),
        ("python main.py \\\n  --lowvram \\\n  --fast", ["--lowvram", "--fast"]),
        ("python main.py --base-directory '/my models/a b' --fast", ["--base-directory", "/my models/a b", "--fast"]),
        ('python main.py --base-directory "a \\"b\\" c"', ["--base-directory", 'a "b" c']),
        ("python main.py --base-directory a\\ b", ["--base-directory", "a b"]),
        ("python main.py --lowvram # --highvram", ["--lowvram"]),
        ("python main.py '' --fast", ["", "--fast"]),
        ("FLAGS='--lowvram --fast'; python main.py $FLAGS --cpu-vae", ["--lowvram", "--fast", "--cpu-vae"]),
        ('FLAGS="--lowvram --fast"; python main.py "$FLAGS"', ["--lowvram --fast"]),
        ("python main.py --lowvram $UNSET \"$@\" $(cat flags)", ["--lowvram"]),
        ("bash -c 'cd /x && python main.py --lowvram'", ["--lowvram"]),
        ("tmux new -d -s c 'python main.py --lowvram'", ["--lowvram"]),
        ("comfy --workspace /x launch --background -- --lowvram --port 1", ["--lowvram", "--port", "1"]),
        ("comfy launch", []),
        ("uv run main.py --cpu", ["--cpu"]),
        ("--lowvram --highvram", ["--lowvram", "--highvram"]),
        (r".\python_embeded\python.exe -s ComfyUI\main.py --windows-standalone-build", ["--windows-standalone-build"]),
        (r'"C:\My AI\python.exe" "C:\My AI\main.py" --base-directory "D:\a b\"', ["--base-directory", "D:\\a b\\"]),
        (r'"%~dp0python_embeded\python.exe" -s "%~dp0ComfyUI\main.py" --fast', ["--fast"]),
        ('start "" /b python.exe main.py --fast', ["--fast"]),
        ('cmd /c "python.exe main.py --fast"', ["--fast"]),
    ],
)  # fmt: skip
def test_the_arguments_of_a_line(text: str, expected: list[str]) -> None:
    assert argv(text) == expected


def test_a_script_with_variables_and_arrays() -> None:
    line = read_line(SCRIPT, ".sh")
    expected = ["--lowvram", "--reserve-vram", "2", "--preview-method", "auto", "--fast", "--listen"]
    assert line.argv == expected
    assert [word.value for word in line.unknown] == ["$@"]
    assert "`$@`" in " ".join(assumptions(line, TABLE, Machine()))


def test_a_batch_file_of_the_portable_build() -> None:
    line = read_line(PORTABLE, ".bat")
    assert line.argv == [
        *("--windows-standalone-build", "--fp16-vae"),
        *("--output-directory", "D:\\my pictures\\", "--reserve-vram", "2"),
    ]
    assert (line.kind, line.windows) == ("bat", True)


def test_variables_of_a_batch_file() -> None:
    text = 'set ARGS=--lowvram\r\nset "ARGS=%ARGS% --fast"\r\n:: set ARGS=--cpu\r\npython main.py %args% %* %UNSET%\r\n'
    line = read_line(text, ".bat")
    assert line.argv == ["--lowvram", "--fast"]
    assert [word.value for word in line.unknown] == ["%*", "%UNSET%"]


def test_a_powershell_script() -> None:
    text = "# start\n& .\\python_embeded\\python.exe ComfyUI\\main.py `\n  --lowvram `\n  --fast\n"
    assert argv(text, ".ps1") == ["--lowvram", "--fast"]


@pytest.mark.parametrize(
    "data",
    [
        PORTABLE.encode("utf-8"),
        PORTABLE.encode("utf-8-sig"),
        PORTABLE.encode("utf-16"),
        PORTABLE.replace("my pictures", "my Bilder \u00e4").encode("cp1252"),
        ("chcp 932\r\n" + PORTABLE.replace("my pictures", "\u753b\u50cf")).encode("cp932"),
        ("chcp 99999\r\n" + PORTABLE).encode("cp1252"),
        PORTABLE.replace("my pictures", "\x81").encode("latin-1"),
    ],
)
def test_code_pages(data: bytes) -> None:
    assert argv(decode(data), ".bat")[:2] == ["--windows-standalone-build", "--fp16-vae"]


def test_a_file_that_is_no_text_is_refused() -> None:
    with pytest.raises(LaunchLineError, match="not a text file"):
        decode(b"MZ\x90\0\3")


def test_a_unit() -> None:
    line = read_line(UNIT, ".service")
    assert line.argv == ["--listen", "--output-directory", "/srv/my pictures", "--lowvram", "--reserve-vram", "2"]
    assert (line.kind, line.memory_limit_name, line.memory_limit) == ("systemd", "MemoryMax", "24G")
    assert read_line(UNIT).kind == "systemd", "also without a file name"


def test_a_unit_that_starts_a_shell() -> None:
    text = '[Service]\nExecStart=@-/bin/bash -c "cd /x && python main.py --lowvram"\n'
    assert argv(text, ".service") == ["--lowvram"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[Service]\nType=simple\n", "no ExecStart"),
        ("[Service]\nExecStart=/usr/bin/ollama serve\n", "none names main.py"),
        ("echo hello", "Nothing here starts ComfyUI"),
        ("set COMMANDLINE_ARGS=--medvram --xformers\r\ncall webui.bat", "AUTOMATIC1111"),
        ("", "Nothing here starts ComfyUI"),
        ("   \n\n", "Nothing here starts ComfyUI"),
    ],
)
def test_what_starts_no_comfyui_is_said(text: str, expected: str) -> None:
    with pytest.raises(LaunchLineError, match=expected):
        read_line(text)


@pytest.mark.parametrize(
    ("text", "expected", "memory"),
    [
        ("docker run --gpus all -m 24g -p 8188:8188 comfy python main.py --lowvram", ["--lowvram"], "24g"),
        ("sudo docker run -it --rm --memory=16g --name x img --lowvram --fast", ["--lowvram", "--fast"], "16g"),
        ("podman run -d -m8g img bash start.sh --lowvram", ["--lowvram"], "8g"),
        ("docker run -e CLI_ARGS='--lowvram --fast' yanwk/comfyui-boot:cu128", ["--lowvram", "--fast"], None),
        ('docker run --env="COMFYUI_ARGS=--lowvram" -v "/a b:/x" img', ["--lowvram"], None),
        ("docker run \\\n -e CLI_ARGS=--lowvram \\\n img", ["--lowvram"], None),
        ("docker run img", [], None),
        ("docker run img bash -c 'python main.py --lowvram'", ["--lowvram"], None),
    ],
)  # fmt: skip
def test_docker(text: str, expected: list[str], memory: str | None) -> None:
    line = read_line(text)
    assert (line.kind, line.argv, line.memory_limit) == ("docker", expected, memory)


# --- what is wrong ---


@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        ("--lowvram --highvram", ["refused-group"]),  # FLAG-05
        ("--normalvram", ["removed-flag"]),  # FLAG-02
        ("--medvram", ["a1111-flag"]),
        ("--no-half-vae", ["a1111-flag"]),
        ("--xformers", ["a1111-flag"]),
        ("--low-vram", ["unknown-flag"]),
        ("--high-vram", ["unknown-flag"]),
        ("-lowvram", ["unknown-flag"]),
        ("\u2013\u2013lowvram", ["long-dash"]),
        ("\u2014reserve-vram 2 --listen", ["long-dash"]),
        ("\u2014gibberish 2", ["long-dash", "extra-word"]),
        ("\u2014 2", ["extra-word", "extra-word"]),
        ("--lowv", ["short-flag"]),  # FLAG-08
        ("--reserve 4", ["short-flag"]),
        ("--high", ["ambiguous-flag"]),
        ("--reserve-vram -1", []),  # FLAG-11: accepted
        ("--reserve-vram nan", []),
        ("--reserve-vram 0", []),
        ("--reserve-vram 2GB", ["bad-value"]),
        ("--reserve-vram", ["no-value"]),
        ("--lowvram=1", ["takes-no-value"]),
        ("--lowvram 1", ["extra-word"]),
        ("--cache-ram 1 2 3", ["too-many"]),
        ("--preview-method fast", ["bad-value"]),
        ("--port 1 --port 2", ["repeated-flag"]),
        ("--force-fp32 --fp16-unet", []),  # FLAG-15
        ("--force-fp32 --force-fp16", ["refused-group"]),
        ("--cpu-vae --fp16-vae", []),  # FLAG-18
        ("--async-offload --disable-async-offload", []),
        ("--cuda-device 0,1", []),  # FLAG-29
        ("--disable-fast-disk", ["later-flag"]),  # FLAG-30
        ("--gibberish", ["unknown-flag"]),
        ("--listen --port 8188 --auto-launch", []),
    ],
)
def test_what_the_parser_refuses(flags: str, expected: list[str]) -> None:
    """cases.md, "Launch flags: what the parsers do", column 2026."""
    assert ids(f"python main.py {flags}") == expected


def test_versions_differ() -> None:
    assert ids("python main.py --normalvram", version="0.18.2") == []
    assert ids("python main.py --high", version="0.18.2") == ["short-flag"]
    assert ids("python main.py --cuda-device 0,1", version="0.18.2") == ["bad-value"]
    later = found("python main.py --vram-headroom 1", version="0.24.1")[0]
    assert (later.id, later.params["since"]) == ("later-flag", "0.27.0")
    assert ids("python main.py --fast-disk --normalvram", version="0.20.0") == [], "unknown in between: not refused"


@pytest.mark.parametrize(
    ("flags", "line"),
    [
        ("--no-vram --fast", "python main.py --novram --fast"),
        ("--NOVRAM", "python main.py --novram"),
        ("--no_vram", "python main.py --novram"),
        ("-novram", "python main.py --novram"),
        # Put right, the next call would say that it has no effect.
        ("--low-vram --fast", "python main.py --fast"),
        ("--reserve_vram=2", "python main.py --reserve-vram=2"),
        ("--disable-smart-memroy", "python main.py --disable-smart-memory"),
        ("--fp8-e4m3fn-unet", "python main.py --fp8_e4m3fn-unet"),
        ("--no-half-vae --fast", "python main.py --fp32-vae --fast"),
        ("--medvram --fast", "python main.py --fast"),
        ("--ckpt-dir x --fast", "python main.py --extra-model-paths-config x --fast"),
        ("--precision full --fast", "python main.py --fast"),
        ("--normalvram --fast", "python main.py --fast"),
        ("--reserve-vram 2GB --fast", "python main.py --reserve-vram 2 --fast"),
        ("--reserve-vram 1,5GB", "python main.py --reserve-vram 1.5"),
        ("--lowv --fast", "python main.py --lowvram --fast"),
        ("--reserve=4", "python main.py --reserve-vram=4"),
        ("--port 1 --fast --port 2", "python main.py --fast --port 2"),
        # With dynamic VRAM --lowvram does nothing, and --highvram is what fails with a large model.
        ("--listen --lowvram --highvram", "python main.py --listen"),
        ("--listen --highvram --lowvram", "python main.py --listen"),
        ("--lowvram --novram", "python main.py --novram"),
        ("--novram --lowvram", "python main.py --novram"),
        ("--cpu --lowvram", "python main.py --cpu"),
        ("--novram --highvram", "python main.py --novram"),
        ("--high-vram --fast", "python main.py --fast"),
        # A loose value belongs to the unknown flag.
        ("--foo-bar 3", "python main.py"),
        ("--foo-bar=3 --fast", "python main.py --fast"),
        ("--medvram 3 --fast", "python main.py --fast"),
        ("--disable-smart-memroy 3 --fast", "python main.py --disable-smart-memory --fast"),
        ("--resrve-vram 3 --fast", "python main.py --reserve-vram 3 --fast"),
        # Word processors make one dash of two hyphens.
        ("\u2014novram --fast", "python main.py --novram --fast"),
        ("\u2014reserve-vram 2", "python main.py --reserve-vram 2"),
        ("\u2013\u2013reserve-vram=2", "python main.py --reserve-vram=2"),
    ],
)
def test_the_line_put_right(flags: str, line: str) -> None:
    assert found(f"python main.py {flags}")[0].command == line


def test_a_flag_that_has_an_effect_on_amd_is_kept_there() -> None:
    """main.py 0.30.0: without dynamic VRAM --lowvram moves the text encoder."""
    line = read_line("python main.py --lowvram --novram")
    assert check(line, TABLE, dynamic=False)[0].command == "python main.py --lowvram"
    assert check(read_line("python main.py --low-vram"), TABLE, dynamic=False)[0].command == "python main.py --lowvram"
    assert check(line, table_for("0.16.3"))[0].command == "python main.py --lowvram", "it still had one there"


def test_the_value_of_a_flag_that_came_later_goes_with_it() -> None:
    later = found("python main.py --vram-headroom 1 --fast", version="0.24.1")[0]
    assert later.command == "python main.py --fast"


def test_a_long_dash_is_named_with_what_to_write() -> None:
    advice = found("python main.py \u2014lowvram")[0]
    assert advice.title == "`\u2014lowvram` begins with a long dash instead of two hyphens"
    assert advice.fix == "Write two hyphens: `--lowvram`."
    assert found("python main.py \u2014gibberish")[0].command == "", "nothing that ComfyUI has"


def test_the_nearest_flag_is_not_recommended_where_it_keeps_a_model_on_the_card() -> None:
    """FLAG-23."""
    advice = found("python main.py --high-vram")[0]
    assert "`--highvram`" in advice.title
    assert advice.fix == "Leave it out."
    assert not any(own in {"--highvram", "--gpu-only"} for own in a1111.FLAGS.values())


@pytest.mark.parametrize(
    ("word", "flag"),
    [
        ("--low-vram", "--lowvram"),
        ("\u2014lowvram", "--lowvram"),
        ("--resrve-vram", "--reserve-vram"),
        ("--cpuvae", "--cpu-vae"),
        ("--vae", None),
        ("--quality", None),
    ],
)
def test_nearest(word: str, flag: str | None) -> None:
    assert nearest(word, TABLE) == flag


def test_replacements_for_a1111_flags_exist() -> None:
    """In the newest version, and in no version is one named that the version lacks."""
    assert {own for own in a1111.FLAGS.values() if own} <= TABLE.flags
    assert not set(a1111.FLAGS) & set(TABLE.options), "a flag of ComfyUI is not one of theirs alone"
    for version in ("0.16.3", "0.24.1"):
        for flag in a1111.FLAGS:
            own = found(f"python main.py {flag}", version=version)[0].params.get("own")
            assert own is None or own in table_for(version).flags


def test_a_flag_behind_pause_is_not_applied() -> None:
    """FLAG-09: C#5169, C#1501."""
    advice = found(PORTABLE, ".bat")[0]
    assert (advice.id, advice.params["line"]) == ("flag-after-pause", 7)
    assert advice.command.splitlines()[-1].strip() == "--reserve-vram 2 --lowvram"
    assert "pause" not in advice.command


def test_a_flag_on_the_next_line_is_not_applied() -> None:
    advice = found("python main.py --fast\n--lowvram\n", ".sh")[0]
    assert (advice.id, advice.params["flags"], advice.params["line"]) == ("flag-not-applied", ["--lowvram"], 2)
    assert advice.command == "python main.py --fast --lowvram"


@pytest.mark.parametrize(
    ("text", "suffix", "mark"),
    [
        ("python main.py --fast ^ \r\n --lowvram\r\n", ".bat", "^"),
        ("python main.py --fast \\ \n --lowvram\n", ".sh", "\\"),
        ("[Service]\nExecStart=python main.py --fast \\ \n --lowvram\n", ".service", "\\"),
        ("python main.py --fast ` \n --lowvram\n", ".ps1", "`"),
    ],
)
def test_a_blank_behind_the_mark_of_continuation(text: str, suffix: str, mark: str) -> None:
    assert set(ids(text, suffix)) >= {"continuation-blank", "flag-not-applied"}
    assert f"`{mark}`" in next(a for a in found(text, suffix) if a.id == "continuation-blank").title


def test_a_unit_whose_exec_start_lacks_the_flag() -> None:
    text = "[Service]\nExecStart=/v/bin/python main.py --listen\n    --lowvram\nMemoryMax=8G\n"
    advice = found(text, ".service")[0]
    assert (advice.id, advice.params["line"]) == ("flag-not-applied", 3)
    assert advice.command == "ExecStart=/v/bin/python main.py --listen --lowvram"


def test_all_faults_of_a_line_at_once() -> None:
    assert ids("python main.py --medvram --low-vram --high --reserve-vram 2GB --cpu --gpu-only extra --port") == [
        *("unknown-flag", "a1111-flag", "refused-group", "ambiguous-flag", "bad-value", "no-value", "extra-word"),
    ]


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_texts_keep_the_house_style(text: object) -> None:
    for name in ("title", "why", "fix", "check"):
        said = getattr(text, name)
        assert "!" not in said
        assert said.count("`") % 2 == 0
        assert said.endswith(".") is (name != "title")


def test_comfyui_s_own_parser_can_be_given(host: hostkit.Host, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(Path(__file__).parent / "flags"))
    for name in ("comfy", "comfy.options"):
        monkeypatch.setitem(sys.modules, name, sys.modules.get(name))
    monkeypatch.setattr(sys, "argv", sys.argv)
    import parser_facts

    parser = parser_facts.load(host.path / "comfy" / "cli_args.py").__dict__["parser"]
    line = read_line("python main.py --low-vram --lowvram --highvram --medvram --high --port x")
    own = [advice.id for advice in check(line, table_of(parser, host.version))]
    assert own == [advice.id for advice in check(line, table_for(host.version))]
    assert sorted(own) == sorted(
        ["unknown-flag", "refused-group", "a1111-flag", "ambiguous-flag", "bad-value"]
    )  # fmt: skip
    assert parser.prog, "the parser was looked at, not called"


# --- changing in place ---


def changed(text: str, change: Change, suffix: str = "") -> str:
    line = read_line(text, suffix)
    return rewritten(line, edits_for(read(line.argv, TABLE), change))


@pytest.mark.parametrize(
    ("text", "change", "expected"),
    [
        (
            "X=1 python 'my dir/main.py'  --lowvram   --base-directory \"a b\" # why",
            Change(("--lowvram",)),
            "X=1 python 'my dir/main.py'   --base-directory \"a b\" # why",
        ),
        (
            "python main.py --reserve-vram 2 --fast",
            Change(("--reserve-vram",), ("--vram-headroom", "2")),
            "python main.py --fast --vram-headroom 2",
        ),
        ("python main.py", Change((), ("--cache-none",)), "python main.py --cache-none"),
        ("python main.py | tee log", Change((), ("--cache-none",)), "python main.py --cache-none | tee log"),
        ("--lowvram --fast", Change(("--lowvram",)), "--fast"),
        ("--fast --lowvram", Change(("--lowvram",), ("--cpu-vae",)), "--fast --cpu-vae"),
        (
            "bash -c 'cd /x && python main.py --lowvram'",
            Change(("--lowvram",), ("--fast",)),
            "bash -c 'cd /x && python main.py --fast'",
        ),
        (
            "F='--lowvram --fast'; python main.py $F",
            Change(("--lowvram",), ("--cpu-vae",)),
            "F='--fast --cpu-vae'; python main.py $F",
        ),
        (
            "docker run -m 8g -e CLI_ARGS='--lowvram --fast' img",
            Change(("--fast",), ("--cache-none",)),
            "docker run -m 8g -e CLI_ARGS='--lowvram --cache-none' img",
        ),
        (
            r'"C:\My AI\python.exe" main.py --lowvram --base-directory "D:\a b"',
            Change(("--lowvram",)),
            r'"C:\My AI\python.exe" main.py --base-directory "D:\a b"',
        ),
    ],
)
def test_a_change_leaves_the_rest_as_it_is_written(text: str, change: Change, expected: str) -> None:
    assert changed(text, change) == expected


def test_a_change_in_a_batch_file() -> None:
    after = changed(PORTABLE, Change(("--reserve-vram", "--fp16-vae"), ("--vram-headroom", "2")), ".bat")
    expected = PORTABLE.replace(" --fp16-vae", "").replace("--reserve-vram 2", "--vram-headroom 2")
    assert after == expected


def test_a_continued_line_that_held_one_flag_goes_with_its_mark() -> None:
    text = "python main.py \\\n  --lowvram \\\n  --fast\n"
    assert changed(text, Change(("--fast",)), ".sh") == "python main.py \\\n  --lowvram\n"
    assert argv(changed(text, Change(("--lowvram",)), ".sh"), ".sh") == ["--fast"]


def test_a_change_in_a_unit() -> None:
    after = changed(UNIT, Change(("--lowvram",), ("--cache-none",)), ".service")
    assert 'Environment="CLI_ARGS=--reserve-vram 2 --cache-none"' in after
    assert argv(after, ".service") == [
        *("--listen", "--output-directory", "/srv/my pictures", "--reserve-vram", "2", "--cache-none"),
    ]


def test_a_change_that_would_need_other_quotes_is_not_offered() -> None:
    line = read_line("docker run -e CLI_ARGS=--lowvram img")
    edits = edits_for(read(line.argv, TABLE), Change((), ("--cache-none",)))
    assert command(line, edits) == ""
    assert command(line, [Edit(0, 1, ("--fast",))]) == "docker run -e CLI_ARGS=--fast img"


LINES = [
    "python main.py --lowvram --reserve-vram 2 --fast",
    "python main.py --reserve-vram=2 --lowvram",
    "python main.py \\\n  --lowvram \\\n  --reserve-vram 2 \\\n  --fast",
    "F='--lowvram --reserve-vram 2'; python main.py --fast $F --listen",
    "bash -c \"python main.py --lowvram --reserve-vram '2' --fast\"",
    r'.\python_embeded\python.exe ComfyUI\main.py --lowvram --reserve-vram 2 --base-directory "D:\a b"',
    "docker run -e CLI_ARGS='--lowvram --reserve-vram 2' img",
]


@pytest.mark.parametrize("text", LINES)
@pytest.mark.parametrize("flag", ["--lowvram", "--reserve-vram", "--fast"])
@pytest.mark.parametrize("added", [(), ("--vram-headroom", "1.5")])
def test_every_change_reads_back_as_it_was_meant(text: str, flag: str, added: tuple[str, ...]) -> None:
    line = read_line(text)
    reading = read(line.argv, TABLE)
    edits = edits_for(reading, Change((flag,), added))
    assert not edits or command(line, edits), "the changed line says what was meant"
    after = read(read_line(rewritten(line, edits)).argv, TABLE)
    assert after.flags == (reading.flags - {flag}) | set(added[:1])


# --- with a stated machine ---


def advised(text: str, machine: Machine, suffix: str = "", version: str | None = None) -> list[str]:
    line, table = read_line(text, suffix), table_for(version)
    return [advice.id for advice in advise(snapshot_of(line, read(line.argv, table), table, machine))]


def test_the_rules_hold_for_a_stated_machine() -> None:
    wan = WorkflowModel("diffusion", "WAN21_T2V", 16 * GIB)
    card = Machine(vram_bytes=12 * GIB, ram_bytes=64 * GIB, models=(wan,))
    assert advised("python main.py --highvram", card) == ["resident-too-large"]
    assert advised("python main.py --lowvram", card) == ["lowvram-noop"]
    assert advised("python main.py --lowvram", replace(card, gpu="AMD Radeon RX 7900 XTX")) == ["rocm-dynamic"]
    assert advised("python main.py --reserve-vram 24", card) == ["reserve-too-large"]
    assert advised("python main.py --force-fp16", replace(card, gpu="NVIDIA GeForce GTX 1660")) == ["fp16-16xx"]
    assert advised("python main.py", Machine()) == []
    assert advised("python main.py --cpu", replace(card, models=(wan, wan))) == []


@pytest.mark.parametrize(
    ("gpu", "expected"),
    [
        ("GTX 1080", ["fp8-upcast"]),
        ("NVIDIA GeForce RTX 2060 SUPER", ["fp16-no-bf16-model", "fp8-upcast"]),
        ("RTX 3060", ["fp16-no-bf16-model", "fp8-upcast"]),
        ("NVIDIA GeForce RTX 4090 Laptop GPU", ["fp16-no-bf16-model"]),
        ("something else", []),
    ],
)
def test_a_card_s_generation_is_known_by_its_name(gpu: str, expected: list[str]) -> None:
    """NAN-08: bf16 from Ampere on, fp8 from Ada on; on Pascal ComfyUI computes fp32 whatever is stored."""
    qwen = WorkflowModel("diffusion", "QwenImage", 4 * GIB)
    found = advised("python main.py --fp16-unet", Machine(24 * GIB, gpu=gpu, models=(qwen,)))
    plain = replace(qwen, family="Flux", fp8=True, scaled=False)
    found += advised("python main.py", Machine(12 * GIB, gpu=gpu, models=(plain,)))
    assert found == expected


def test_without_a_machine_flags_alone_are_judged() -> None:
    assert advised("python main.py --lowvram", Machine()) == ["lowvram-noop"]
    assert advised("python main.py --cpu --enable-dynamic-vram", Machine()) == ["cpu-enable-dynamic"]
    assert advised("python main.py --disable-dynamic-vram --fast-disk", Machine()) == ["headroom-static"]


def test_windows_is_told_from_the_line() -> None:
    card = Machine(vram_bytes=16 * GIB)
    assert "reserve-below-default" in advised(r".\python.exe main.py --reserve-vram 0.5", card)
    assert "reserve-below-default" not in advised("python main.py --reserve-vram 0.5", card)


def test_a_container_s_limit_counts_as_the_ram() -> None:
    models = (WorkflowModel("diffusion", size_bytes=10 * GIB), WorkflowModel("diffusion", size_bytes=12 * GIB))
    machine = Machine(vram_bytes=16 * GIB, ram_bytes=64 * GIB, models=models)
    text = "docker run -m 20g img python main.py"
    assert advised(text, machine) == ["cgroup-unread"]
    assert advised(f"{text} --disable-dynamic-vram", machine) == ["cgroup-unread", "ram-switch"]
    assert advised("docker run img python main.py", machine) == []
    low = limit_finding(read_line(text), machine)
    assert low is not None
    assert low.params == {
        **{"name": "--memory", "limit_bytes": 20 * GIB, "need_bytes": 22 * GIB},
        **{"removed": [], "added": []},
    }
    assert limit_finding(read_line(text), Machine()) is None
    assert limit_finding(read_line("docker run -m 32g img python main.py"), machine) is None


@pytest.mark.parametrize(
    ("text", "size"),
    [("24g", 24 * GIB), ("24G", 24 * GIB), ("512m", GIB // 2), ("1073741824", GIB), ("50%", 32 * GIB), ("x", None)],
)
def test_limits_as_docker_and_systemd_write_them(text: str, size: int | None) -> None:
    assert size_of_limit(text, 64 * GIB) == size
    assert size_of_limit("50%") is None


def test_what_was_taken_for_granted_is_said() -> None:
    line: LaunchLine = read_line("python main.py")
    assert assumptions(line, TABLE, Machine()) == ["an NVIDIA card, and torch 2.8 or newer"]
    assert assumptions(line, TABLE, Machine(gpu="RTX 3060")) == []
    assert len(assumptions(line, table_for("0.35.0"), Machine())) == 2
    vae = (WorkflowModel("vae", size_bytes=GIB // 5),)
    assert "no `--size` is given" in assumptions(line, TABLE, Machine(models=vae))[1]
    assert "`--size`" not in assumptions(line, TABLE, Machine(models=vae, sized=True))[1]


# --- broken input ---


@pytest.mark.parametrize(
    ("text", "suffix"), [(PORTABLE, ".bat"), (PORTABLE, ".ps1"), (UNIT, ".service"), (SCRIPT, ".sh")]
)
def test_a_text_cut_anywhere_is_read_or_refused(text: str, suffix: str) -> None:
    for stop in range(len(text)):
        try:
            line = read_line(text[:stop], suffix)
        except LaunchLineError:
            continue
        for advice in check(line, TABLE):
            assert advice.title


@pytest.mark.parametrize("suffix", ["", ".bat", ".ps1", ".service", ".sh"])
def test_any_signs_are_read_or_refused(suffix: str) -> None:
    chance = random.Random(4711)
    pieces = [
        "main.py",
        "python ",
        "--lowvram",
        "--reserve-vram ",
        "2",
        " ",
        "\n",
        "\r\n",
        "'",
        '"',
        "\\",
        "^",
        "`",
        "$",
    ]
    pieces += ["%", "%A%", "${A}", "$(", ")", "(", "&", "|", ">", "<", ";", "#", "=", "set A=", "A=", "docker run "]
    pieces += [
        "-m 2g ",
        "-e CLI_ARGS=",
        "bash -c ",
        "ExecStart=",
        "[Service]\n",
        "Environment=",
        "\u2014",
        "\u00e4",
        "!",
        "@",
    ]
    for _ in range(1500):
        text = "".join(chance.choice(pieces) for _ in range(chance.randint(1, 14)))
        try:
            line = read_line(text, suffix)
        except LaunchLineError:
            continue
        for advice in check(line, TABLE):
            assert advice.title
