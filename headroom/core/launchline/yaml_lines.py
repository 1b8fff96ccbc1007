"""As much of YAML as a compose file needs: mappings, lists and scalars, each with its place in the text.

Anchors, merge keys, tags and flow mappings are not followed: what they hold is not found, and nothing is made up.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from .words import Span, lines_of

_KEY = re.compile(r"(?P<key>[\w.$/@-]+|'[^']*'|\"[^\"]*\")\s*:(?=\s|\Z)[ \t]*")
_ITEM = re.compile(r"-(?:[ \t]+|\Z)")
#: ``|``, ``>-``, ``|2+``: what follows is the text itself.
_BLOCK = re.compile(r"[|>][0-9+-]{0,2}\s*(?:#.*)?\Z")


@dataclass(frozen=True)
class Scalar:
    """A value and the keys that lead to it."""

    keys: tuple[str, ...]
    value: Span
    """Without its quotes."""
    listed: str = ""
    """An item of a list: ``block`` with a dash of its own, ``flow`` between brackets."""
    quoted: bool = False


@dataclass
class _Open:
    """A key whose lines may still come."""

    indent: int
    key: str


def scalars(text: str) -> Iterator[Scalar]:
    """Every value of a text, in its order."""
    above: list[_Open] = []
    block: tuple[int, tuple[str, ...], list[int]] | None = None
    for start, line in lines_of(text):
        body = line.rstrip("\r\n")
        indent = len(body) - len(body.lstrip(" "))
        if block is not None:
            if not body.strip() or indent > block[0]:
                # The lines of a command are one command line, folded or not.
                block[2].extend(range(start + min(indent, len(body)), start + len(line)))
                continue
            yield _of_block(text, block)
            block = None
        if not body.strip() or body.lstrip().startswith(("#", "---", "...")):
            continue
        at, listed = indent, ""
        while (item := _ITEM.match(body, at)) is not None:
            above = [one for one in above if one.indent < at or (one.indent == at and not listed)]
            at, listed = item.end(), "block"
        found = _KEY.match(body, at)
        if found is not None:
            above = [one for one in above if one.indent < at]
            above.append(_Open(at, found["key"].strip("'\"")))
            at, listed = found.end(), ""
        keys = tuple(one.key for one in above)
        if _BLOCK.match(body, at):
            block = (above[-1].indent if found is not None and above else indent, keys, [])
        elif at < len(body):
            yield from _inline(text, keys, start + at, start + len(body), listed)
    if block is not None:
        yield _of_block(text, block)


def _of_block(text: str, block: tuple[int, tuple[str, ...], list[int]]) -> Scalar:
    _, keys, at = block
    while at and text[at[-1]] in " \t\r\n":
        at.pop()
    value = "".join(" " if text[place] in "\r\n" else text[place] for place in at)
    return Scalar(keys, Span(value, at))


def _inline(text: str, keys: tuple[str, ...], start: int, stop: int, listed: str) -> Iterator[Scalar]:
    """A scalar, or a list between brackets that ends on its line."""
    if text[start] != "[":
        yield _scalar(text, keys, start, _end_of_plain(text, start, stop), listed)
        return
    at = start + 1
    while at < stop:
        while at < stop and text[at] in " \t,":
            at += 1
        if at >= stop or text[at] == "]":
            return
        end = _end_of_item(text, at, stop)
        yield _scalar(text, keys, at, end, "flow")
        at = end


def _scalar(text: str, keys: tuple[str, ...], start: int, stop: int, listed: str) -> Scalar:
    while stop > start and text[stop - 1] in " \t":
        stop -= 1
    quoted = stop - start > 1 and text[start] in "'\"" and text[stop - 1] == text[start]
    places = range(start + quoted, stop - quoted)
    return Scalar(keys, Span(text[places.start : places.stop], places), listed, quoted)


def _end_of_plain(text: str, start: int, stop: int) -> int:
    """Up to a comment; in a quoted scalar up to its closing quote."""
    if text[start] in "'\"":
        close = text.find(text[start], start + 1, stop)
        return stop if close < 0 else close + 1
    comment = re.compile(r"[ \t]#").search(text, start, stop)
    return comment.start() if comment else stop


def _end_of_item(text: str, start: int, stop: int) -> int:
    if text[start] in "'\"":
        close = text.find(text[start], start + 1, stop)
        return stop if close < 0 else close + 1
    end = re.compile(r"[,\]]").search(text, start, stop)
    return end.start() if end else stop
