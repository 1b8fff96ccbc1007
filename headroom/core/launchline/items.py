"""Changes of a command that stands as a list in a compose file: items go and come with their dashes or commas."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

from .line import Edit, LaunchLine
from .words import Word

#: What needs no quotes as an item; a number does, since compose takes texts only.
_PLAIN = re.compile(r"--?[A-Za-z][\w./:=-]*\Z", re.ASCII)
_ALONE = re.compile(r"[ \t]*-[ \t]+\Z")


def as_items(line: LaunchLine, edits: Sequence[Edit]) -> str:
    """The whole text with the edits made; what cannot be done item by item is left as it is."""
    text, before = line.text, len(line.program)
    items = [*line.program, *line.words]
    for edit in sorted(edits, key=lambda one: (one.start, one.stop), reverse=True):
        old, new = items[before + edit.start : before + edit.stop], edit.words
        for item in reversed(old[len(new) :]):
            text = _without(text, item, line.listed)
        anchor = before + edit.start + min(len(old), len(new)) - 1
        if len(new) > len(old) and anchor >= 0:
            text = _with(text, items[anchor], new[len(old) :], line.listed)
        for item, word in reversed(list(zip(old, new))):
            text = text[: item.start] + _quoted(word) + text[item.stop :]
    return text


def _quoted(word: str) -> str:
    return word if _PLAIN.match(word) else json.dumps(word, ensure_ascii=False)


def _with(text: str, item: Word, words: Sequence[str], listed: str) -> str:
    """More items behind one."""
    if listed == "flow":
        return text[: item.stop] + "".join(f", {_quoted(word)}" for word in words) + text[item.stop :]
    start = text.rfind("\n", 0, item.start) + 1
    end = text.find("\n", item.stop)
    end = len(text) if end < 0 else end
    ending = "\r\n" if text[:end].endswith("\r") else "\n"
    end -= len(ending) - 1
    dash = re.sub(r"[^ \t-]", " ", text[start : item.start]).rstrip("'\"")
    return text[:end] + "".join(f"{ending}{dash}{_quoted(word)}" for word in words) + text[end:]


def _without(text: str, item: Word, listed: str) -> str:
    """Without one item; a dash goes with its line."""
    if listed == "flow":
        behind = re.compile(r"\s*,\s*").match(text, item.stop)
        if behind is not None:
            return text[: item.start] + text[behind.end() :]
        return re.sub(r"\s*,\s*\Z", "", text[: item.start]) + text[item.stop :]
    start = text.rfind("\n", 0, item.start) + 1
    end = text.find("\n", item.stop)
    return text[:start] + ("" if end < 0 else text[end + 1 :]) if _ALONE.match(text[start : item.start]) else text
