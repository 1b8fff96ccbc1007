"""JSON from a file that may be damaged or hostile: bounded in size, depth, values and digits, repeated keys found."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from .limits import Limits

#: All digits to "0". Python 3.10 takes quadratic time for a number of a million digits, later versions refuse it with a
#: bare ValueError; this finds one ten times faster than a regular expression.
ZEROS = bytes.maketrans(b"123456789", b"000000000")
LONG_NUMBER = b"0" * 20
#: Stands for a number with more digits than any size has.
TOO_LARGE = 2**200


class JsonFault(Exception):
    """The text cannot be used: the fault's id and the values for its text."""

    def __init__(self, fault: str, **values: object) -> None:
        super().__init__(fault)
        self.fault = fault
        self.values = values


@dataclass(frozen=True)
class Parsed:
    """A JSON value and the keys that stood more than once in one object; the last of each counts."""

    value: Any
    repeated: list[str] = field(default_factory=list)


def parse(data: bytes, limits: Limits) -> Parsed:
    """The value of a JSON text.

    Raises:
        JsonFault: bad-utf8, bad-json, json-too-deep or too-many-values.
    """
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise JsonFault("bad-utf8", position=f"{error.start:,}", size=f"{len(data):,}") from error
    if len(text) > limits.unchecked_json_bytes:
        _count(text, limits.json_values)
    repeated: list[str] = []
    number = _number if LONG_NUMBER in data.translate(ZEROS) else None

    def table(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        made = dict(pairs)
        if len(made) != len(pairs):
            seen: set[str] = set()
            repeated.extend(key for key, _ in pairs if key in seen or seen.add(key))
        return made

    try:
        value = json.loads(text, object_pairs_hook=table, parse_int=number)
    except json.JSONDecodeError as error:
        raise JsonFault("bad-json", reason=f"{_first_lower(error.msg)} at character {error.pos:,}") from error
    except RecursionError as error:
        raise JsonFault("json-too-deep", limit=limits.json_depth) from error
    return Parsed(value, list(dict.fromkeys(repeated)))


def check_depth(value: Any, limit: int) -> None:
    """For a value that is not what it should be.

    Raises:
        JsonFault: json-too-deep.
    """
    level = [value]
    for _ in range(limit):
        level = [inner for outer in level for inner in _inside(outer)]
        if not level:
            return
    raise JsonFault("json-too-deep", limit=limit)


def _inside(value: Any) -> Iterator[Any]:
    """The containers directly in a container."""
    values = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return (inner for inner in values if isinstance(inner, dict | list))


def _number(digits: str) -> int:
    return int(digits) if len(digits) < 40 else TOO_LARGE


def _first_lower(text: str) -> str:
    return text[:1].lower() + text[1:]


def _count(text: str, limit: int) -> None:
    """Counts commas and opening brackets outside texts: what Python would make objects of, at up to 100 bytes each.

    Raises:
        JsonFault: too-many-values, or bad-json where a text does not end.
    """
    position = values = 0
    while values <= limit:
        start = text.find('"', position)
        outside = text[position : start if start >= 0 else len(text)]
        values += outside.count(",") + outside.count("[") + outside.count("{")
        if start < 0:
            break
        try:
            position = json.decoder.scanstring(text, start + 1, False)[1]  # type: ignore[attr-defined]
        except json.JSONDecodeError as error:
            raise JsonFault("bad-json", reason=f"{_first_lower(error.msg)} at character {error.pos:,}") from error
    if values > limit:
        raise JsonFault("too-many-values", limit=f"{limit:,}")
