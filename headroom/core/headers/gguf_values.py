"""The metadata of a GGUF file: short values as text, arrays stepped over."""

from __future__ import annotations

from dataclasses import dataclass, field
from struct import Struct

from .. import units
from .cursor import U32, U64, Cursor
from .limits import Limits
from .metadata import storable

#: Value types of fixed size by their number: how to read one.
FIXED = {
    0: Struct("<B"),
    1: Struct("<b"),
    2: Struct("<H"),
    3: Struct("<h"),
    4: U32,
    5: Struct("<i"),
    6: Struct("<f"),
    7: Struct("<B"),
    10: U64,
    11: Struct("<q"),
    12: Struct("<d"),
}
UINT32, FLOAT32, BOOL, TEXT, ARRAY = 4, 6, 7, 8, 9
WHOLE = frozenset({0, 1, 2, 3, 4, 5, 10, 11})
#: Longer arrays are not kept: vocabularies, merges, scores.
SHORT_ARRAY = 16
LONGEST_NAME = 2**16
DEFAULT_ALIGNMENT = 32
#: ComfyUI-GGUF writes here, in front of a tensor's name, the shape of a tensor that it had to reshape (loader.py).
ORIGINAL_SHAPE = "comfy.gguf.orig_shape."


class DamagedHeader(Exception):
    """What stands at this place of the header cannot be meant."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


@dataclass
class Values:
    """What is kept of the metadata."""

    texts: dict[str, str] = field(default_factory=dict)
    shapes: dict[str, tuple[int, ...]] = field(default_factory=dict)
    """Original shapes by the tensor's name, rows first."""
    repeated: list[str] = field(default_factory=list)
    alignment: int = DEFAULT_ALIGNMENT
    strings: int = 0
    """Texts in arrays so far."""


def read_values(cursor: Cursor, count: int, values: Values, limits: Limits) -> None:
    """Reads ``count`` keys with their values into ``values``.

    Raises:
        Cut: the file ends first.
        DamagedHeader: a length or a type cannot be meant; nothing behind it can be found.
    """
    for _ in range(count):
        length = cursor.number(U64)
        if length > LONGEST_NAME:
            raise DamagedHeader(f"a key of {units.exact(length)}")
        key = storable(cursor.take(length).decode("utf-8", "replace"))
        if key in values.texts:
            values.repeated.append(key)
        type_ = cursor.number(U32)
        if key == "general.alignment":
            if type_ != UINT32:
                raise DamagedHeader(f"an alignment of value type {type_}")
            values.alignment = cursor.number(U32)
            continue
        text = _array(cursor, key, values, limits) if type_ == ARRAY else _value(cursor, type_, limits)
        if text is not None:
            values.texts[key] = text
        if cursor.position > limits.gguf_header_bytes:
            raise DamagedHeader(f"metadata of more than {units.exact(limits.gguf_header_bytes)}")


def _value(cursor: Cursor, type_: int, limits: Limits) -> str | None:
    """One value as text; None where it is a text too long to keep."""
    if type_ == TEXT:
        length = cursor.number(U64)
        if length > limits.metadata_value_bytes:
            cursor.skip(length)
            return None
        return storable(cursor.take(length).decode("utf-8", "replace"))
    return _shown(cursor.number(_layout(type_)), type_)


def _array(cursor: Cursor, key: str, values: Values, limits: Limits) -> str | None:
    """Steps over an array; a short one of numbers is kept, "[16, 24, 24]"."""
    type_, count = cursor.number(U32), cursor.number(U64)
    if type_ == TEXT:
        values.strings += count
        if values.strings > limits.gguf_strings:
            raise DamagedHeader(f"arrays of more than {limits.gguf_strings:,} texts")
        cursor.skip_texts(count)
        return None
    layout = _layout(type_)
    if count > SHORT_ARRAY:
        cursor.skip(count * layout.size)
        return None
    numbers = [cursor.number(layout) for _ in range(count)]
    if key.startswith(ORIGINAL_SHAPE) and type_ in WHOLE:
        values.shapes[key[len(ORIGINAL_SHAPE) :]] = tuple(numbers)
        return None
    return f"[{', '.join(_shown(number, type_) for number in numbers)}]"


def _layout(type_: int) -> Struct:
    layout = FIXED.get(type_)
    if layout is None:
        raise DamagedHeader("an array of arrays" if type_ == ARRAY else f"a value of the unknown type {type_}")
    return layout


def _shown(number: float, type_: int) -> str:
    """A number as text; seven digits are what a 32-bit float holds."""
    if type_ == BOOL:
        return "true" if number else "false"
    return f"{number:.7g}" if type_ == FLOAT32 else str(number)
