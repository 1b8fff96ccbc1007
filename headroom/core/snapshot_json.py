"""A snapshot as JSON: the field names of ``readings`` are the interface; nothing in it names a folder or holds a key.

Every text goes through ``redact``: absolute paths become names, home folders ``~``, secrets ``***``.
"""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any

from . import redact
from .readings import Host, Snapshot

#: What ``redact`` leaves of an absolute path of one part, such as ``/data`` or ``D:\\``.
_STILL_ABSOLUTE = re.compile(r"(?<![\w.~%:/\\])(?:[A-Za-z]:)?[\\/]+(?=[^\\/\s]*$)")
#: A database's address in the middle of a text; ``redact`` knows one that begins it.
_DATABASE = re.compile(r"sqlite:/{3,}[^\s\"']*/")
MOST_DEPTH = 6


def snapshot_json(snapshot: Snapshot, home: str | None = None) -> dict[str, Any]:
    """The snapshot as plain JSON values: sizes in bytes, times in seconds, null for what is unknown.

    Args:
        home: the user's home folder where it may lie in an unusual place.
    """
    host = snapshot.host
    cleaner = _Cleaner(windows=host.platform == "windows", home=home)
    rest = dataclasses.replace(host, argv=(), start=None, args={}, flags=frozenset(), known_flags=None)
    answer = cleaner.value(dataclasses.replace(snapshot, host=rest))
    answer["host"] |= _command_line(host, cleaner)
    return answer


def plain_json(found: Any, windows: bool, home: str | None = None) -> Any:
    """Any other reading as plain JSON values, with texts as a snapshot shows them.

    Args:
        windows: paths are of the kind of Windows.
    """
    return _Cleaner(windows, home).value(found)


def cleaner(windows: bool, home: str | None = None) -> Callable[[str], str]:
    """What makes any one text fit to be shown: no absolute path, home folder or key."""
    return _Cleaner(windows, home).text


def _command_line(host: Host, cleaner: _Cleaner) -> dict[str, Any]:
    """What was typed: here a secret is told by the flag before it. Names of flags are the parser's and hold none."""
    return {
        "argv": cleaner.words(host.argv),
        "flags": sorted(host.flags),
        "known_flags": None if host.known_flags is None else sorted(host.known_flags),
        "start": None if host.start is None else [cleaner.name(word) for word in host.start],
        "args": {name: cleaner.argument(name, value) for name, value in host.args.items()},
    }


class _Cleaner:
    """Turns readings into JSON values, and texts into what may be shown."""

    def __init__(self, windows: bool, home: str | None) -> None:
        self._windows = windows
        self._home = home if home and len(home) > 1 else None

    def value(self, found: Any, depth: int = 0) -> Any:
        """Any reading; what is of no known kind becomes its text."""
        if found is None or isinstance(found, bool | int):
            return found
        if isinstance(found, float):
            return found if math.isfinite(found) else str(found)
        if isinstance(found, str):
            return self.text(found)
        if depth < MOST_DEPTH:
            if dataclasses.is_dataclass(found):
                fields = dataclasses.fields(found)
                return {field.name: self.value(getattr(found, field.name), depth + 1) for field in fields}
            if isinstance(found, Mapping):
                return {self.text(str(name)): self.value(one, depth + 1) for name, one in found.items()}
            if isinstance(found, AbstractSet):
                return sorted(self.text(str(one)) for one in found)
            if isinstance(found, Sequence):
                return [self.value(one, depth + 1) for one in found]
        return self.text(str(found))

    def text(self, text: str) -> str:
        """One text."""
        return self._strict(redact.text(self._without_home(text), self._windows))

    def words(self, argv: Sequence[str]) -> list[str]:
        """A command line."""
        shown = redact.words([self._without_home(word) for word in argv], self._windows)
        return [self._strict(word) for word in shown]

    def argument(self, name: str, value: Any) -> Any:
        """A parsed value; the flag's name can say that it is a secret."""
        if isinstance(value, str):
            return self.words([f"--{name.replace('_', '-')}={value}"])[0].partition("=")[2]
        if isinstance(value, list | tuple):
            return [self.argument(name, one) for one in value]
        return self.value(value)

    def name(self, word: str) -> str:
        """A word of the program's own: the last part of a path."""
        return re.split(r"[\\/]", self.text(word))[-1]

    def _without_home(self, text: str) -> str:
        if self._home is None:
            return text
        return text.replace(self._home, "%USERPROFILE%" if self._windows else "~")

    def _strict(self, text: str) -> str:
        text = _DATABASE.sub("sqlite://.../", text)
        return _STILL_ABSOLUTE.sub("...\\\\" if self._windows else ".../", text)
