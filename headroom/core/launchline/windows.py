"""A .bat or .cmd file, a line for cmd, and what PowerShell has in common with them."""

from __future__ import annotations

import re
from collections.abc import Mapping

from .words import Lexer, Span, lines_of

_COMMENT = re.compile(r"\s*@?(?:rem(?:\s|$)|::)", re.IGNORECASE)
#: ``set NAME=value`` and ``set "NAME=value"``; the value goes to the end of the line.
_SET = re.compile(r'\s*@?set\s+(?:"(?P<q>\w+)=(?P<qv>[^"\r\n]*)"|(?P<n>\w+)=(?P<v>[^\r\n&|]*))', re.IGNORECASE)
#: ``%NAME%``, ``%~dp0``, ``%1``, ``%*``, ``%%x``.
_VARIABLE = re.compile(r"%(?:(\w+)(?::[^%]*)?%|~[\w$:]*\d|[\d*]|%\w?)")


class CmdLexer(Lexer):
    """Quotes with ", escapes and continuation with a caret; a backslash is a character of a path."""

    escape = "^"
    comment = ""
    expands = True

    def step(self, char: str) -> None:
        if char == '"':
            self._quote()
        elif char == self.escape:
            self._escape()
        elif char == "\\" and self.peek() == '"':
            self.index += 1
            self.take('"')
            self.index += 1
        elif char == "%" and self.expands:
            self._substitute(quoted=False)
        elif self.comment and char == self.comment and self.between_words:
            self.skip_line()
        elif char in "&|()\n":
            self._separate(char)
        elif char in "<>":
            self.redirect()
            self.index += 1
        elif char.isspace():
            self.end_word()
            self.index += 1
        elif char == "@" and self.between_words and not self.commands[-1]:
            self.index += 1
        else:
            self.take(char)
            self.index += 1

    def _separate(self, char: str) -> None:
        """``2>&1`` is no end of a command."""
        if not (char == "&" and self.source.value[max(0, self.index - 1) : self.index] in {">", "<"}):
            self.end_command()
        self.index += 1

    def _quote(self) -> None:
        self.touch()
        self.index += 1
        while self.index < len(self.source.value) and self.source.value[self.index] not in '"\n':
            if self.source.value[self.index] == "\\" and self.peek() == '"' and self._quotes_left() > 1:
                self.index += 1
            if self.source.value[self.index] == "%" and self.expands:
                self._substitute(quoted=True)
            else:
                self.take(self.source.value[self.index])
                self.index += 1
        if self.index < len(self.source.value) and self.source.value[self.index] == '"':
            self.touch()
            self.index += 1

    def _quotes_left(self) -> int:
        """Quotes up to the end of the line: of two a backslash can escape one, a single one closes ``"C:\\A B\\"``."""
        stop = self.source.value.find("\n", self.index)
        return self.source.value.count('"', self.index, len(self.source.value) if stop < 0 else stop)

    def _escape(self) -> None:
        """A caret at the end of a line takes the line end away; before a blank it does nothing."""
        after = self.peek()
        if after == "\r" and self.peek(2) == "\n":
            self.index += 3
        elif after == "\n":
            self.index += 2
        elif after in " \t":
            self.index += 1
        else:
            self.index += 1
            if after:
                self.take(after)
                self.index += 1

    def _substitute(self, quoted: bool) -> None:
        found = _VARIABLE.match(self.source.value, self.index)
        name = found[1].lower() if found and found[1] else None
        if found and name in self.variables:
            self.take_span(self.variables[name], quoted)
            self.index = found.end()
            return
        stop = found.end() if found else self.index + 1
        # %~dp0 is the folder of the file: known to cmd, and no argument of ComfyUI.
        if found and not found[0].startswith("%~"):
            self.mark_open()
        while self.index < stop:
            self.take(self.source.value[self.index])
            self.index += 1


class PowerShellLexer(CmdLexer):
    """PowerShell: a backtick continues a line, a hash begins a comment."""

    escape = "`"
    comment = "#"
    expands = False


def without_comments(text: str) -> Span:
    """The text without ``rem`` and ``::`` lines."""
    kept: list[int] = []
    for start, line in lines_of(text):
        if not _COMMENT.match(line):
            kept.extend(range(start, start + len(line)))
    return Span("".join(text[at] for at in kept), kept)


def variables_of(text: str) -> Mapping[str, Span]:
    """What ``set`` gives to each name, with earlier names in place; names in lower case, as cmd does not care."""
    found: dict[str, Span] = {}
    for start, line in lines_of(text):
        match = None if _COMMENT.match(line) else _SET.match(line)
        if match is None:
            continue
        name, group = (match["q"], "qv") if match["q"] else (match["n"], "v")
        value = match[group].rstrip()
        begin = start + match.start(group)
        found[name.lower()] = _expanded(Span(value, range(begin, begin + len(value))), found)
    return found


def _expanded(span: Span, known: Mapping[str, Span]) -> Span:
    value, at, index = "", list[int](), 0
    for match in _VARIABLE.finditer(span.value):
        name = (match[1] or "").lower()
        if name not in known:
            continue
        value += span.value[index : match.start()] + known[name].value
        at += [*span.at[index : match.start()], *known[name].at]
        index = match.end()
    return Span(value + span.value[index:], [*at, *span.at[index:]])
