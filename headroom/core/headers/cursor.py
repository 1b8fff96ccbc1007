"""Reads a binary header from its start, in windows, so that its length costs no memory."""

from __future__ import annotations

import re
from functools import lru_cache
from struct import Struct

from .source import Source

WINDOW_BYTES = 2**20
U32 = Struct("<I")
U64 = Struct("<Q")

#: Texts per step of the fast path. A multiple runs no faster, and a step that fails is done again one by one.
STEP = 256
#: The fast path knows texts shorter than this; of the tokens of a vocabulary nearly all are.
SHORT = 96


class Cut(Exception):
    """The file ends before the header does."""

    def __init__(self, missing: int) -> None:
        super().__init__()
        self.missing = missing
        """Bytes that the file would have to be longer, at least."""


class Cursor:
    """A position in a file that moves forward."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._window = b""
        self._start = 0
        self._offset = 0

    @property
    def position(self) -> int:
        """Bytes from the start of the file."""
        return self._start + self._offset

    def take(self, count: int) -> bytes:
        """The next bytes; the caller bounds how many.

        Raises:
            Cut: the file has fewer.
        """
        self._have(count)
        begin = self._offset
        self._offset += count
        return self._window[begin : self._offset]

    def number(self, layout: Struct) -> int:
        """One whole number."""
        return layout.unpack(self.take(layout.size))[0]

    def skip(self, count: int) -> None:
        """Moves forward without reading.

        Raises:
            Cut: that would be behind the end.
        """
        if self.position + count > self._source.size:
            raise Cut(self.position + count - self._source.size)
        self._offset += count

    def skip_texts(self, count: int) -> None:
        """Moves over texts, each with its length in 8 bytes before it, without making an object of any.

        A vocabulary has 256k of them: 70 ms one by one, 30 ms by the regular expression.
        """
        many = _short_texts()
        while count:
            found = (
                many.match(self._window, self._offset) if count >= STEP and self._offset < len(self._window) else None
            )
            if found:
                self._offset = found.end()
                count -= STEP
                continue
            step = min(count, STEP)
            for _ in range(step):
                self.skip(self.number(U64))
            count -= step

    def _have(self, count: int) -> None:
        """Sees to it that the window holds the next bytes."""
        if self._offset + count <= len(self._window):
            return
        self._start += self._offset
        self._offset = 0
        self._window = self._source.read(self._start, max(count, WINDOW_BYTES))
        if len(self._window) < count:
            raise Cut(count - len(self._window))


@lru_cache(maxsize=1)
def _short_texts() -> re.Pattern[bytes]:
    """Matches exactly ``STEP`` texts of fewer than ``SHORT`` bytes."""
    lengths = (re.escape(bytes([length])) + rb"\0{7}[\0-\xff]{%d}" % length for length in range(SHORT))
    return re.compile(rb"(?:%s){%d}" % (b"|".join(lengths), STEP))
