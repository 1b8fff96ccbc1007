"""A systemd unit: what ExecStart starts, what Environment sets, and the memory limit."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from .words import Lexer, Span, lines_of

#: The hard limit first: MemoryHigh only slows a service down (systemd.resource-control).
LIMITS = ("MemoryMax", "MemoryLimit", "MemoryHigh")
_KEY = re.compile(r"\s*([A-Za-z]+)\s*=[ \t]*")
_VARIABLE = re.compile(r"\$(?:\{(\w+)\}|(\w+))")


@dataclass(frozen=True)
class Setting:
    """One key of a section, its continued lines joined."""

    section: str
    key: str
    value: Span


class ExecLexer(Lexer):
    """ExecStart: quotes of both kinds, C escapes, variables; no operators of a shell."""

    def step(self, char: str) -> None:
        if char in "'\"":
            self._quote(char)
        elif char == "\\":
            self.index += bool(self.peek())
            self.take(self.source.value[self.index])
            self.index += 1
        elif char == "$":
            self._substitute(quoted=False)
        elif char.isspace():
            self.end_word()
            self.index += 1
        else:
            self.take(char)
            self.index += 1

    def _quote(self, mark: str) -> None:
        self.touch()
        self.index += 1
        while self.index < len(self.source.value) and self.source.value[self.index] != mark:
            if self.source.value[self.index] == "\\" and self.peek():
                self.index += 1
            if self.source.value[self.index] == "$":
                self._substitute(quoted=True)
            else:
                self.take(self.source.value[self.index])
                self.index += 1
        if self.index < len(self.source.value):
            self.touch()
            self.index += 1

    def _substitute(self, quoted: bool) -> None:
        """``$NAME`` is split into words, ``${NAME}`` is one word."""
        found = _VARIABLE.match(self.source.value, self.index)
        name = (found[1] or found[2]) if found else ""
        if found and name in self.variables:
            self.take_span(self.variables[name], quoted or bool(found[1]))
            self.index = found.end()
            return
        stop = found.end() if found else self.index + 1
        while self.index < stop:
            self.take(self.source.value[self.index])
            self.index += 1
        self.mark_open()


def settings(text: str) -> Iterator[Setting]:
    """Every key of every section; comments between continued lines are left out, as systemd does."""
    section, key, at = "", "", list[int]()
    for start, line in lines_of(text):
        body = line.rstrip("\r\n")
        if body.lstrip().startswith(("#", ";")):
            continue
        goes_on, content = body.endswith("\\"), body.removesuffix("\\")
        if not key:
            if body.startswith("["):
                section = body.strip().strip("[]")
                continue
            found = _KEY.match(content)
            if found is None:
                continue
            key, at = found[1], list(range(start + found.end(), start + len(content)))
        else:
            at += range(start, start + len(content))
        if goes_on:
            at.append(start + len(content))  # the backslash stands for a blank
            continue
        yield Setting(section, key, _joined(text, at))
        key, at = "", []


def _joined(text: str, at: list[int]) -> Span:
    value = "".join(
        " " if text[place] == "\\" and text[place + 1 : place + 2] in "\r\n" else text[place] for place in at
    )
    return Span(value, at)


def environment(found: list[Setting]) -> dict[str, Span]:
    """What ``Environment=`` sets."""
    variables: dict[str, Span] = {}
    for setting in found:
        if setting.section == "Service" and setting.key == "Environment":
            for command in ExecLexer(setting.value).run():
                for word in command:
                    name, equals, _ = word.value.partition("=")
                    if equals:
                        variables[name] = word.span.cut(len(name) + 1)
    return variables


def memory_limit(found: list[Setting]) -> tuple[str, str] | None:
    """The name and the text of the limit that counts; None without one."""
    for name in LIMITS:
        values = [s.value.value.strip() for s in found if s.section == "Service" and s.key == name]
        if values and values[-1] not in {"", "infinity"}:
            return name, values[-1]
    return None


def stray_lines(text: str) -> Iterator[tuple[int, int]]:
    """Lines that begin with a flag and belong to no key: a backslash is missing at the end of the line above."""
    goes_on = False
    for start, line in lines_of(text):
        body = line.strip()
        if not goes_on and re.match(r"[-\u2010-\u2015\u2212]{1,2}[A-Za-z]", body):
            yield start, start + len(line.rstrip("\r\n"))
        if not body.startswith(("#", ";")):
            goes_on = line.rstrip("\r\n").endswith("\\")
