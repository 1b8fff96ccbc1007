"""The one place that writes to the terminal."""

from __future__ import annotations

import json
import re
import sys
from typing import Any, TextIO

#: What a terminal would obey or hide: control characters, lone surrogates, marks that turn the direction of writing.
_UNSAFE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
#: What a terminal without UTF-8 shows instead: the code page of a Windows console, a plain C locale.
_PLAIN = str.maketrans({"\u00a0": " ", "\u2212": "-", "\u2013": "-", "\u00d7": "x", "\u2026": "...", "\ufffd": "?"})


def say(text: str = "") -> None:
    """One line, or several."""
    _write(sys.stdout, text)


def say_json(value: Any) -> None:
    """A value as JSON, in ASCII so that every pipe takes it."""
    _write(sys.stdout, json.dumps(value, indent=2))


def complain(text: str) -> None:
    """What is wrong with the input."""
    _write(sys.stderr, f"headroom: {text}")


def printable(text: str) -> str:
    """A text with nothing in it that a terminal would obey: names of files and pasted lines can hold anything."""
    return _UNSAFE.sub("\N{REPLACEMENT CHARACTER}", text)


def _write(stream: TextIO, text: str) -> None:
    text = printable(text)
    try:
        stream.write(f"{text}\n")
    except UnicodeEncodeError:
        plain = text.translate(_PLAIN)
        stream.write(plain.encode("ascii", "backslashreplace").decode("ascii") + "\n")
    stream.flush()
