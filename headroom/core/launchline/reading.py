"""Finds the start of ComfyUI in a line or a file, whatever the shell."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from . import compose, docker, systemd
from .line import LaunchLine, LaunchLineError, Stray
from .shell import PosixLexer
from .windows import CmdLexer, PowerShellLexer, variables_of, without_comments
from .words import Lexer, Span, Word, line_number, lines_of

KINDS = {
    **dict.fromkeys((".bat", ".cmd"), "bat"),
    ".ps1": "powershell",
    ".service": "systemd",
    ".conf": "systemd",
    **dict.fromkeys((".yml", ".yaml"), "compose"),
}
_WINDOWS = re.compile(
    r"%~|%\w+%|[\\/]python\.exe|\.exe\b|\\main\.py|^\s*@?echo off|\^[ \t]*$", re.IGNORECASE | re.MULTILINE
)
_UNIT = re.compile(r"^\s*(?:\[Service\]|ExecStart\s*=)", re.MULTILINE)
_DASHES = "-\u2010\u2011\u2012\u2013\u2014\u2015\u2212"
_FLAG = re.compile(rf"[{_DASHES}]{{1,2}}[A-Za-z]")
_BROKEN = {"bat": r"\^[ \t]+$", "powershell": r"`[ \t]+$", "shell": r"\\[ \t]+$", "systemd": r"\\[ \t]+$"}
#: Starters of AUTOMATIC1111 and its relatives.
OTHER_UIS = {"webui.bat", "webui.sh", "webui.py", "launch.py", "webui-user.bat", "webui-user.sh"}
SHELLS = {"bash", "sh", "zsh", "dash", "cmd", "cmd.exe", "tmux", "screen", "su", "ssh", "watch"}


def decode(data: bytes) -> str:
    """The text of a file: UTF-8 or UTF-16 with their marks, the code page that ``chcp`` names, else Windows-1252."""
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return data.decode("utf-16", "replace")
    if b"\0" in data:
        raise LaunchLineError("This is not a text file.")
    page = re.search(rb"chcp\s+(\d+)", data)
    for name in ("utf-8-sig", f"cp{page[1].decode()}" if page else "cp1252", "cp1252"):
        try:
            return data.decode(name)
        except (UnicodeDecodeError, LookupError):
            continue
    return data.decode("latin-1")


def read_line(text: str, suffix: str = "") -> LaunchLine:
    """The start of ComfyUI in a text.

    Args:
        text: a command line, or what a .bat, .ps1, .sh, .service or compose file holds.
        suffix: the file's, with its dot; empty for a line.

    Raises:
        LaunchLineError: nothing in it starts ComfyUI; says what was looked for.
    """
    kind = KINDS.get(suffix.lower()) or ("shell" if suffix else _kind_of(text))
    if kind == "systemd":
        line = _read_unit(text)
    else:
        line = _read_compose(text) if kind == "compose" else _read_commands(text, kind)
    return replace(line, suffix=suffix)


def _read_commands(text: str, kind: str) -> LaunchLine:
    commands = _lexer(kind, text).run()
    found = next((line for line in (_from_command(text, kind, words) for words in commands) if line), None)
    if found is None and len(commands) == 1 and _FLAG.match(commands[0][0].value):
        found = _line(text, "flags", (), commands[0], windows=kind == "bat")
    if found is None:
        raise LaunchLineError(_nothing_found(commands))
    return _with_faults(found, kind, commands)


def _kind_of(text: str) -> str:
    if _UNIT.search(text):
        return "systemd"
    if compose.COMPOSE.search(text):
        return "compose"
    return "bat" if _WINDOWS.search(text) else "shell"


def _lexer(kind: str, text: str) -> Lexer:
    if kind == "bat":
        return CmdLexer(without_comments(text), dict(variables_of(text)))
    return PowerShellLexer(Span.whole(text)) if kind == "powershell" else PosixLexer(Span.whole(text))


def base_name(word: str) -> str:
    """The last part of a path of either system, in lower case."""
    return re.split(r"[\\/]", word)[-1].lower()


def _from_command(text: str, kind: str, words: Sequence[Word], depth: int = 0) -> LaunchLine | None:
    """The start in one command; in a text that it gives to another shell too."""
    run = docker.parse(words)
    if run is not None:
        return _from_docker(text, words, run, kind == "bat")
    windows = kind in {"bat", "powershell"}
    for at, word in enumerate(words):
        if base_name(word.value) == "main.py":
            return _line(text, kind, words[: at + 1], words[at + 1 :], windows=windows)
        if base_name(word.value) in {"comfy", "comfy.exe"} and any(w.value == "launch" for w in words[at:]):
            ends = [i for i in range(at, len(words)) if words[i].value == "--"]
            cut = ends[0] + 1 if ends else len(words)
            return _line(text, kind, words[:cut], words[cut:], windows=windows)
        if depth < 3 and "main.py" in word.value and " " in word.value and _is_shell(words[:at]):
            return _from_inner(text, kind, word, depth)
    return None


def _is_shell(before: Sequence[Word]) -> bool:
    return any(base_name(word.value) in SHELLS for word in before)


def _from_inner(text: str, kind: str, word: Word, depth: int) -> LaunchLine | None:
    inner = CmdLexer(word.span) if kind == "bat" else PosixLexer(word.span)
    lines = (_from_command(text, kind, command, depth + 1) for command in inner.run())
    return next((line for line in lines if line), None)


def _from_docker(text: str, words: Sequence[Word], run: docker.Run, windows: bool) -> LaunchLine:
    inside = _from_command(text, "docker", run.after_image)
    if inside is None:
        arguments = list(run.after_image)
        while arguments and not _FLAG.match(arguments[0].value):
            arguments.pop(0)
        for name in docker.ARGUMENT_VARIABLES if not arguments else ():
            if name in run.environment:
                word = run.environment[name]
                start = word.value.index(f"{name}=") + len(name) + 1
                arguments += [part for command in PosixLexer(word.span.cut(start)).run() for part in command]
        inside = _line(text, "docker", words[: len(words) - len(run.after_image)], arguments, windows=False)
    limit = {"memory_limit": run.memory, "memory_limit_name": "--memory"} if run.memory else {}
    return replace(inside, kind="docker", windows=windows, **limit)


def _read_unit(text: str) -> LaunchLine:
    found = list(systemd.settings(text))
    variables = systemd.environment(found)
    starts = [s.value for s in found if s.section == "Service" and s.key == "ExecStart"]
    for start in starts:
        skipped = len(start.value) - len(start.value.lstrip(" @-:+!|"))
        words = [w for c in systemd.ExecLexer(start.cut(skipped), variables).run() for w in c]
        line = _from_command(text, "systemd", words)
        if line is not None:
            limit = systemd.memory_limit(found)
            named = {"memory_limit": limit[1], "memory_limit_name": limit[0]} if limit else {}
            strays = [_stray_of_unit(text, *place) for place in systemd.stray_lines(text)]
            broken = _broken_lines(text, "systemd") if strays else []
            return replace(line, strays=strays, broken=broken, **named)
    raise LaunchLineError(
        "No ExecStart of this unit starts ComfyUI: none names main.py." if starts else "This unit has no ExecStart."
    )


def _stray_of_unit(text: str, start: int, stop: int) -> Stray:
    words = [w for c in PosixLexer(Span(text[start:stop], range(start, stop))).run() for w in c]
    return Stray(words, line_number(text, start))


def _read_compose(text: str) -> LaunchLine:
    service = next(iter(compose.services(text)), None)
    if service is None:
        raise LaunchLineError("No service of this compose file is ComfyUI: none names main.py, and none is called so.")
    line = _from_command(text, "compose", service.command)
    if line is None:
        flags = [word for word in service.command if _FLAG.match(word.value)]
        line = _line(text, "compose", (), flags or service.flags, windows=False)
    limit = service.memory
    named = {"memory_limit": limit[1], "memory_limit_name": limit[0]} if limit else {}
    # Only the words of the command can be items of a list.
    listed = service.listed if line.words and line.words[0] in service.command else ""
    return replace(line, kind="compose", listed=listed, **named)


def _line(text: str, kind: str, program: Sequence[Word], words: Sequence[Word], windows: bool) -> LaunchLine:
    known = [word for word in words if not word.open]
    unknown = [word for word in words if word.open]
    return LaunchLine(text, kind, tuple(program), tuple(known), tuple(unknown), windows=windows)


def _with_faults(line: LaunchLine, kind: str, commands: Sequence[Sequence[Word]]) -> LaunchLine:
    """With the flags that stand on a line of their own, and the marks of continuation that do not continue."""
    strays: list[Stray] = []
    paused = False
    for words in commands:
        if base_name(words[0].value) == "pause":
            paused = True
        elif _FLAG.match(words[0].value) and line.kind != "flags":
            strays.append(Stray(tuple(words), line_number(line.text, words[0].start), paused))
    broken = _broken_lines(line.text, kind) if strays else []
    return replace(line, strays=tuple(strays), broken=tuple(broken))


def _broken_lines(text: str, kind: str) -> list[int]:
    mark = re.compile(_BROKEN[kind])
    return [line_number(text, start) for start, line in lines_of(text) if mark.search(line.rstrip("\r\n"))]


def _nothing_found(commands: Sequence[Sequence[Word]]) -> str:
    names = {base_name(word.value) for words in commands for word in words}
    if names & OTHER_UIS:
        return "This starts AUTOMATIC1111 or one of its relatives, not ComfyUI."
    return (
        "Nothing here starts ComfyUI: no command names main.py, and there is no `docker run`, no `comfy launch` and no "
        "compose file. For `docker compose up` name its file."
    )
