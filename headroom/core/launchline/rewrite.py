"""A start line with one change, everything else left as it is written: quotes, variables, continuation."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence

from ..flags.advice import Change
from ..flags.parsing import Reading
from ..flags.startline import quoted
from .items import as_items
from .line import Edit, LaunchLine, LaunchLineError
from .reading import read_line
from .words import Word


def edits_for(reading: Reading, change: Change) -> list[Edit]:
    """A change of flags as edits of the arguments."""
    gone = [Edit(use.start, use.stop) for use in reading.uses if use.flag in change.remove]
    end = len(reading.argv)
    return [*gone, Edit(end, end, change.add)] if change.add else gone


def rewritten(line: LaunchLine, edits: Sequence[Edit]) -> str:
    """The whole text with the edits made."""
    if line.listed:
        return as_items(line, edits)
    text = line.text
    for edit in sorted(edits, key=lambda one: _place(line, one), reverse=True):
        added = " ".join(quoted(word, line.windows) for word in edit.words)
        if edit.stop > edit.start:
            text = _replace(text, line.words[edit.start], line.words[edit.stop - 1], added)
        elif added:
            place = _place(line, edit)
            text = f"{text[:place]} {added}{text[place:]}".lstrip(" ")
    return text


def _place(line: LaunchLine, edit: Edit) -> int:
    """Where an edit begins in the text; what is put in goes behind the argument before, else behind the program."""
    if edit.stop > edit.start:
        return line.words[edit.start].start
    before = line.words[edit.start - 1] if 0 < edit.start <= len(line.words) else None
    before = before or (line.program[-1] if line.program else None)
    return len(line.text.rstrip()) if before is None else before.stop


def _replace(text: str, first: Word, last: Word, added: str) -> str:
    start, stop = first.start, last.stop
    if added:
        return text[:start] + added + text[stop:]
    before = text[:start].rstrip(" \t")
    # A continued line that held nothing else goes with its mark of continuation.
    continued = re.search(r"[ \t]*[\\^`]\r?\n\Z", before)
    if continued and re.match(r"[ \t]*(?:\r?\n|\Z)", text[stop:]):
        return before[: continued.start()] + text[stop:].lstrip(" \t")
    blank = re.match(r"[ \t]*\r?\n", text[stop:])
    if before.endswith("\n") and blank:
        return before + text[stop + blank.end() :]  # in a folded text of YAML an empty line would end the command
    if not before or before.endswith("\n") or text[:start].endswith(("=", '"', "'")):
        return text[:start] + text[stop:].lstrip(" \t")
    return before + text[stop:]


def command(line: LaunchLine, edits: Sequence[Edit]) -> str:
    """The changed command, to paste: read again, and empty where it does not say what was meant.

    That happens where a word would need quotes that the text does not have, as in ``-e CLI_ARGS=--lowvram``.
    """
    if not line.program and not line.words:
        return ""  # a service of a compose file that says nothing about its start
    expected: list[str] = list(line.argv)
    for edit in sorted(edits, key=lambda one: one.start, reverse=True):
        expected[edit.start : edit.stop] = edit.words
    text = rewritten(line, edits)
    try:
        again = read_line(text, line.suffix)
    except LaunchLineError:
        return ""
    return command_alone(line, text) if again.argv == expected else ""


def command_alone(line: LaunchLine, text: str) -> str:
    """Of a changed text what is to be pasted: a line as a whole, of a file the lines from program to last argument."""
    if "\n" not in line.text.strip():
        return text.strip()
    words = [*line.program, *line.words]
    first = min(word.start for word in words)
    begin = line.text.rfind("\n", 0, first) + 1
    # Nothing before the command changes, so what stands behind it keeps its distance from the end.
    behind = len(line.text) - _end_of_line(line.text, max(word.stop for word in words))
    return textwrap.dedent(text[begin : len(text) - behind]).strip()


def _end_of_line(text: str, place: int) -> int:
    end = text.find("\n", place)
    return len(text) if end < 0 else end
