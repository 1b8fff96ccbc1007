"""The instructions of a binary pickle (protocols 2 to 5), one by one. Nothing is imported, called or built.

Names and codes are those of ``pickletools.opcodes``. ``pickletools.genops`` is not used: it also converts the numbers
of the text protocols, for which Python before 3.10.7 takes quadratic time in their digits.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple


class PickleFault(Exception):
    """The instructions cannot be followed; ``cut`` where that is because the bytes end."""

    def __init__(self, reason: str, cut: bool = False) -> None:
        super().__init__(reason)
        self.reason = reason
        self.cut = cut


class Global(NamedTuple):
    """A name that a loader would import; here it stays a name."""

    module: str
    name: str


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")


def _latin(data: bytes) -> str:
    return data.decode("latin-1")


def _whole(data: bytes) -> int:
    return int.from_bytes(data, "little", signed=True)


#: Instructions without an argument.
PLAIN = {
    0x28: "MARK",
    0x29: "EMPTY_TUPLE",
    0x2E: "STOP",
    0x30: "POP",
    0x31: "POP_MARK",
    0x32: "DUP",
    0x4E: "NONE",
    0x51: "BINPERSID",
    0x52: "REDUCE",
    0x5D: "EMPTY_LIST",
    0x61: "APPEND",
    0x62: "BUILD",
    0x65: "APPENDS",
    0x73: "SETITEM",
    0x74: "TUPLE",
    0x75: "SETITEMS",
    0x7D: "EMPTY_DICT",
    0x81: "NEWOBJ",
    0x85: "TUPLE1",
    0x86: "TUPLE2",
    0x87: "TUPLE3",
    0x88: "NEWTRUE",
    0x89: "NEWFALSE",
    0x8F: "EMPTY_SET",
    0x90: "ADDITEMS",
    0x91: "FROZENSET",
    0x92: "NEWOBJ_EX",
    0x93: "STACK_GLOBAL",
    0x94: "MEMOIZE",
}
#: Instructions with a number of fixed size.
FIXED = {
    0x47: ("PUSH", struct.Struct(">d")),
    0x4A: ("PUSH", struct.Struct("<i")),
    0x4B: ("PUSH", struct.Struct("<B")),
    0x4D: ("PUSH", struct.Struct("<H")),
    0x68: ("GET", struct.Struct("<B")),
    0x6A: ("GET", struct.Struct("<I")),
    0x71: ("PUT", struct.Struct("<B")),
    0x72: ("PUT", struct.Struct("<I")),
    0x80: ("PROTO", struct.Struct("<B")),
    0x95: ("FRAME", struct.Struct("<Q")),
}
#: Instructions with a length in so many bytes and as many bytes behind it.
COUNTED: dict[int, tuple[int, Callable[[bytes], Any]]] = {
    0x42: (4, bytes),
    0x43: (1, bytes),
    0x54: (4, _latin),
    0x55: (1, _latin),
    0x58: (4, _text),
    0x8A: (1, _whole),
    0x8B: (4, _whole),
    0x8C: (1, _text),
    0x8D: (8, _text),
    0x8E: (8, bytes),
    0x96: (8, bytes),
}
GLOBAL = 0x63
#: A name that is imported is shorter than this, in bytes.
LONGEST_NAME = 1000


def instructions(data: bytes, position: int = 0) -> Iterator[tuple[str, Any, int]]:
    """Each instruction with its argument and the position behind it, up to and with STOP.

    Raises:
        PickleFault: an unknown instruction, or the bytes end before STOP.
    """
    while position < len(data):
        code = data[position]
        position += 1
        if code in PLAIN:
            yield PLAIN[code], None, position
            if code == 0x2E:
                return
        elif code in FIXED:
            name, layout = FIXED[code]
            begin, position = position, position + layout.size
            if position > len(data):
                break
            yield name, layout.unpack_from(data, begin)[0], position
        elif code in COUNTED:
            size, convert = COUNTED[code]
            begin = position + size
            position = begin + int.from_bytes(data[position:begin], "little")
            if position > len(data):
                break
            yield "PUSH", convert(data[begin:position]), position
        elif code == GLOBAL:
            lines = data[position : position + 2 * LONGEST_NAME].split(b"\n", 2)
            if len(lines) < 3:
                cut = len(data) - position < 2 * LONGEST_NAME
                raise PickleFault(f"a name without an end at byte {position:,}", cut)
            position += len(lines[0]) + len(lines[1]) + 2
            yield "PUSH", Global(_text(lines[0]), _text(lines[1])), position
        else:
            raise PickleFault(f"the instruction {code} at byte {position - 1:,}")
    raise PickleFault("it ends too soon", cut=True)
