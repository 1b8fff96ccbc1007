"""A line or script for a POSIX shell, as far as a start line needs it: quotes, continuation, variables, comments."""

from __future__ import annotations

import re

from .words import Lexer, Span, Word

_ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)\+?=")
#: ``$NAME``, ``${NAME}``, ``${NAME[@]}``, ``$1``, ``$@``.
_VARIABLE = re.compile(r"\$(?:\{([A-Za-z_]\w*)(?:\[[@*]\])?\}|([A-Za-z_]\w*)|[@*\d?#$!-]|\{[^}]*\})")


class PosixLexer(Lexer):
    """Quotes with ' and ", escapes and continuation with a backslash."""

    def step(self, char: str) -> None:
        if char == "'":
            self._single_quote()
        elif char == '"':
            self._double_quote()
        elif char == "\\":
            self._escape()
        elif char in "$`":
            self._substitute(quoted=False)
        elif char == "#" and self.between_words:
            self.skip_line()
        elif char == "(" and self.word_so_far.endswith("="):
            self._array()
        elif char in ";&|()\n":
            self._separate(char)
        elif char in "<>":
            self.redirect()
            self.index += 1
        elif char.isspace():
            self.end_word()
            self.index += 1
        else:
            self.take(char)
            self.index += 1

    def _separate(self, char: str) -> None:
        """``2>&1`` is no end of a command."""
        if char == "&" and self.source.value[max(0, self.index - 1) : self.index] in {">", "<"}:
            self.index += 1
            return
        self.end_command()
        self.index += 1

    def _single_quote(self) -> None:
        self.touch()
        self.index += 1
        while self.index < len(self.source.value) and self.source.value[self.index] != "'":
            self.take(self.source.value[self.index])
            self.index += 1
        self._close_quote()

    def _double_quote(self) -> None:
        self.touch()
        self.index += 1
        while self.index < len(self.source.value) and self.source.value[self.index] != '"':
            char = self.source.value[self.index]
            if char == "\\" and self.peek() in '"\\$`\n':
                self._escape()
            elif char in "$`":
                self._substitute(quoted=True)
            else:
                self.take(char)
                self.index += 1
        self._close_quote()

    def _close_quote(self) -> None:
        if self.index < len(self.source.value):
            self.touch()
            self.index += 1

    def _escape(self) -> None:
        """A backslash takes the next character as it is, and a line end away."""
        after = self.peek()
        if after == "\r" and self.peek(2) == "\n":
            self.index += 3
        elif after == "\n":
            self.index += 2
        else:
            self.index += 1
            if after:
                self.take(after)
                self.index += 1

    def _substitute(self, quoted: bool) -> None:
        """A variable that the text sets, in its place; everything else stays as it is written and makes a word open."""
        found = _VARIABLE.match(self.source.value, self.index)
        name = (found[1] or found[2]) if found else None
        if found and name and name in self.variables:
            self.take_span(self.variables[name], quoted and "[" not in found[0])
            self.index = found.end()
            return
        stop = found.end() if found else self._end_of_command_inside()
        while self.index < stop:
            self.take(self.source.value[self.index])
            self.index += 1
        self.mark_open()

    def _end_of_command_inside(self) -> int:
        """The end of ``$(...)`` or of a command between backticks."""
        text, start = self.source.value, self.index
        if text[start] == "`":
            close = text.find("`", start + 1)
        elif text[start + 1 : start + 2] == "(":
            close = text.find(")", start + 1)
        else:
            return start + 1
        return len(text) if close < 0 else close + 1

    def _array(self) -> None:
        """``ARGS=(--a --b)``: its words are the value."""
        self.index += 1
        while self.index < len(self.source.value) and self.source.value[self.index] != ")":
            char = self.source.value[self.index]
            self.take(" " if char in "\r\n\t'\"" else char)
            self.index += 1
        self.index += 1

    def command_ended(self, words: list[Word]) -> None:
        """``NAME=value`` alone, or after ``export``, is remembered."""
        names = [word for word in words if word.value not in {"export", "declare", "local", "readonly", "set"}]
        if names and all(_ASSIGNMENT.match(word.value) for word in names):
            for word in names:
                self._remember(word)

    def _remember(self, word: Word) -> None:
        found = _ASSIGNMENT.match(word.value)
        if found is None or word.open:
            return
        value = word.span.cut(found.end())
        before = self.variables.get(found[1])
        if "+=" in found[0] and before is not None:
            value = Span(before.value + value.value, [*before.at, *value.at])
        self.variables[found[1]] = value
