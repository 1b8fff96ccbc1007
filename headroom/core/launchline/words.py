"""Words of a command line that remember where they stand in the text, so that a line can be changed in place."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Span:
    """A piece of text whose characters come from anywhere in the original: expanded variables, nested quotes."""

    value: str
    at: Sequence[int]
    """For each character its place in the original text."""

    @classmethod
    def whole(cls, text: str) -> Span:
        """A text as it is."""
        return cls(text, range(len(text)))

    def cut(self, start: int, stop: int | None = None) -> Span:
        """A part of it."""
        return Span(self.value[start:stop], self.at[start:stop])


@dataclass(frozen=True)
class Word:
    """One word without its quotes; ``start`` to ``stop`` is where it stands with them."""

    value: str
    at: tuple[int, ...]
    start: int
    stop: int
    open: bool = False
    """It holds a variable or a command whose result is not known."""

    @property
    def span(self) -> Span:
        """Its characters, to be read as a command line of its own."""
        return Span(self.value, self.at)


@dataclass
class Lexer:
    """Splits a span into commands of words; the shells differ in ``step``."""

    source: Span
    variables: dict[str, Span] = field(default_factory=dict)
    commands: list[list[Word]] = field(default_factory=lambda: [[]])
    index: int = 0
    _value: list[str] = field(default_factory=list)
    _at: list[int] = field(default_factory=list)
    _begun: tuple[int, int] | None = None
    _open: bool = False
    _redirects: bool = False

    def run(self) -> list[list[Word]]:
        """All commands that have a word."""
        while self.index < len(self.source.value):
            self.step(self.source.value[self.index])
        self.end_command()
        return [command for command in self.commands if command]

    def step(self, char: str) -> None:
        """Reads on from ``char``, which stands at ``index``."""
        raise NotImplementedError

    def command_ended(self, words: list[Word]) -> None:
        """Called with each command when it is complete."""

    def peek(self, offset: int = 1) -> str:
        """The character that comes next; empty at the end."""
        return self.source.value[self.index + offset : self.index + offset + 1]

    def touch(self) -> None:
        """Here a word begins or goes on, also with an empty quote."""
        place = self.source.at[self.index]
        self._begun = (place if self._begun is None else self._begun[0], place + 1)

    def take(self, char: str) -> None:
        """The character at ``index`` belongs to the word."""
        self.touch()
        self._value.append(char)
        self._at.append(self.source.at[self.index])

    def take_span(self, span: Span, quoted: bool) -> None:
        """What a variable stands for; outside quotes it is split at blanks."""
        for char, place in zip(span.value, span.at):
            if not quoted and char in " \t\r\n":
                self.end_word()
                continue
            self._begun = (place if self._begun is None else self._begun[0], place + 1)
            self._value.append(char)
            self._at.append(place)

    def mark_open(self) -> None:
        """The word holds something that is not known."""
        self._open = True

    def end_word(self) -> None:
        """A blank, or what ends a command."""
        if self._begun is not None and not self._redirects:
            word = Word("".join(self._value), tuple(self._at), *self._begun, self._open)
            self.commands[-1].append(word)
        if self._begun is not None:
            self._redirects = False
        self._value, self._at, self._begun, self._open = [], [], None, False

    def end_command(self) -> None:
        """A new line, a semicolon, an ampersand."""
        self.end_word()
        self._redirects = False
        self.command_ended(self.commands[-1])
        if self.commands[-1]:
            self.commands.append([])

    def redirect(self) -> None:
        """``> file``: the next word is not one of the command; neither is the 2 of ``2>``."""
        if self._value and "".join(self._value).isdigit():
            self._value, self._at, self._begun = [], [], None
        self.end_word()
        self._redirects = True

    def skip_line(self) -> None:
        """A comment."""
        while self.index < len(self.source.value) and self.source.value[self.index] != "\n":
            self.index += 1

    @property
    def between_words(self) -> bool:
        """No word has begun."""
        return self._begun is None

    @property
    def word_so_far(self) -> str:
        """The characters of the word that is being read."""
        return "".join(self._value)


def lines_of(text: str) -> Iterator[tuple[int, str]]:
    """Each line with the place where it begins; line ends are part of it."""
    start = 0
    for line in text.splitlines(keepends=True):
        yield start, line
        start += len(line)


def line_number(text: str, place: int) -> int:
    """The line, from 1, that a place is in."""
    return text.count("\n", 0, place) + 1
