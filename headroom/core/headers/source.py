"""A model file opened for reading: a regular file of known size, never a device or a pipe."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import BinaryIO

from ..errors import ModelFileError
from .faults import quoted


@dataclass(frozen=True)
class Source:
    """An open file with what is known of it."""

    file: BinaryIO
    size: int
    """Bytes."""
    name: str
    """Without its folder; the only form that any text shows."""

    def read(self, offset: int, count: int) -> bytes:
        """Up to ``count`` bytes from ``offset``; fewer only at the end of the file."""
        self.file.seek(offset)
        # Bounded first: Python takes memory for all that is asked for, also where the file ends before.
        return self.file.read(max(0, min(count, self.size - offset)))


@contextmanager
def opened(path: str | os.PathLike[str]) -> Iterator[Source]:
    """The file at ``path``.

    Raises:
        ModelFileError: it is missing, no regular file, or may not be read.
    """
    name = os.path.basename(os.fspath(path))
    try:
        # Before opening: to open a named pipe would wait for ever.
        if not stat.S_ISREG(os.stat(path).st_mode):
            raise ModelFileError(f"{quoted(name)} is not a regular file.")
        file = open(path, "rb")  # noqa: SIM115
    except (OSError, ValueError) as error:
        raise ModelFileError(f"{quoted(name)} cannot be read: {reason(error)}.") from error
    try:
        with file:
            yield Source(file, os.fstat(file.fileno()).st_size, name)
    except OSError as error:
        raise ModelFileError(f"{quoted(name)} cannot be read: {reason(error)}.") from error


def reason(error: Exception) -> str:
    """Why a file could not be read, without its path."""
    return getattr(error, "strerror", None) or ("not a path" if isinstance(error, ValueError) else "unknown reason")
