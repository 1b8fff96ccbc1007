"""A start line: what starts ComfyUI in a text, and where its arguments stand there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..errors import HeadroomError
from .words import Word


class LaunchLineError(HeadroomError):
    """The text starts no ComfyUI, or cannot be read as text."""


@dataclass(frozen=True)
class Stray:
    """Flags on a line of their own, which nothing starts."""

    words: Sequence[Word]
    line: int
    after_pause: bool = False


@dataclass(frozen=True)
class LaunchLine:
    """What a text says about the start of ComfyUI."""

    text: str
    kind: str
    """``shell``, ``bat``, ``powershell``, ``systemd``, ``docker``, ``compose``, ``flags`` (arguments alone)."""
    program: Sequence[Word]
    """The words before the arguments; empty where only flags were given."""
    words: Sequence[Word]
    """ComfyUI's arguments, those left out that depend on variables from elsewhere."""
    unknown: Sequence[Word] = ()
    """Arguments whose text is not known: ``$EXTRA``, ``%*``."""
    strays: Sequence[Stray] = ()
    broken: Sequence[int] = ()
    """Lines whose mark of continuation has blanks behind it."""
    memory_limit: str | None = None
    """As written: ``24g``, ``80%``."""
    memory_limit_name: str = ""
    """``MemoryMax``, ``--memory``, ``mem_limit``."""
    windows: bool = False
    listed: str = ""
    """Each argument is an item of a list in YAML: ``block`` or ``flow``; "" where the line is one text."""
    suffix: str = ""
    """The file's, with its dot; empty for a line."""

    @property
    def argv(self) -> list[str]:
        """The arguments as ComfyUI gets them."""
        return [word.value for word in self.words]


@dataclass(frozen=True)
class Edit:
    """Arguments ``start`` to ``stop`` of a line become other words; ``stop`` equal to ``start`` puts them in."""

    start: int
    stop: int
    words: tuple[str, ...] = ()
