"""The start line with one change, ready to paste."""

from __future__ import annotations

import re
from collections.abc import Sequence

from .. import redact
from ..readings import Host
from .advice import Change
from .parsing import read
from .versions import Table

_PLAIN = re.compile(r"[\w@%+=:,./~*-]+\Z", re.ASCII)
_PLAIN_WINDOWS = re.compile(r"[\w@%+=:,./~*\\-]+\Z", re.ASCII)


def start_line(host: Host, table: Table, change: Change) -> str:
    """The line that starts this ComfyUI, without secrets and absolute paths; empty where argv is unknown."""
    if host.flags and not host.argv:
        return ""
    windows = host.platform == "windows"
    words = [*program(host), *changed(host.argv, table, change)]
    return " ".join(quoted(word, windows) for word in redact.words(words, windows))


def program(host: Host) -> list[str]:
    """The words before the arguments: interpreter and script by their own names, without their folders."""
    if not host.start:
        return ["python", "main.py"]
    return [_relative(word) for word in host.start]


def _relative(word: str) -> str:
    """An absolute path as the name alone; ``.\\python_embeded\\python.exe`` stays as it is."""
    absolute = word.startswith(("/", "\\\\")) or re.match(r"[A-Za-z]:", word)
    return re.split(r"[\\/]", word)[-1] if absolute else word


def changed(argv: Sequence[str], table: Table, change: Change) -> list[str]:
    """An argv with a change made; every use of a flag that goes takes its values along."""
    gone: set[int] = set()
    for use in read(argv, table).uses:
        if use.flag in change.remove:
            gone.update(range(use.start, use.stop))
    kept = [word for at, word in enumerate(argv) if at not in gone]
    return [*kept, *change.add]


def quoted(word: str, windows: bool) -> str:
    """A word as the shell of the system wants it; a home folder stays outside the quotes, so that it is expanded."""
    if (_PLAIN_WINDOWS if windows else _PLAIN).match(word):
        return word
    if windows:
        return '"' + re.sub(r'(\\*)(?:"|\Z)', lambda m: m[1] * 2 + ('\\"' if m[0].endswith('"') else ""), word) + '"'
    head, home, tail = word.partition("~/") if word.startswith("~/") else ("", "", word)
    return head + home + "'" + tail.replace("'", "'\"'\"'") + "'"
