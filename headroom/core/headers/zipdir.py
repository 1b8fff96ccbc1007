"""The directory at the end of a zip file, bounded; ``zipfile`` reads one of any size into memory.

Format: APPNOTE.TXT of PKWARE, sections 4.3.12 to 4.3.16 and 4.5.3. Nothing is unpacked but one small entry on request.
"""

from __future__ import annotations

import struct
import zlib
from typing import NamedTuple

from .. import units
from .limits import Limits
from .source import Source

END = struct.Struct("<4s4H2LH")
END64_LOCATOR = struct.Struct("<4sLQL")
END64 = struct.Struct("<4sQ2H2L4Q")
CENTRAL = struct.Struct("<4s4B4HL2L5H2L")
LOCAL = struct.Struct("<4s5H3L2H")
STORED, DEFLATED = 0, 8
#: The record at the end may be followed by a comment of this length at most.
LONGEST_COMMENT = 2**16
#: In a field of 32 bits: the value stands in the zip64 extra field.
ELSEWHERE = 2**32 - 1


class ZipFault(Exception):
    """The directory cannot be read; ``reason`` is empty where there is none."""

    def __init__(self, reason: str = "") -> None:
        super().__init__(reason)
        self.reason = reason


class ZipEntry(NamedTuple):
    """A file in the archive; sizes and positions in bytes."""

    name: str
    method: int
    stored: int
    size: int
    offset: int


def read_directory(source: Source, limits: Limits) -> list[ZipEntry]:
    """All entries.

    Raises:
        ZipFault: there is no directory, or it is damaged or above the limits.
    """
    start, length, count = _end(source)
    if length > limits.directory_bytes:
        raise ZipFault(f"it takes {units.exact(length)}, the limit is {units.exact(limits.directory_bytes)}")
    if count > limits.tensors:
        raise ZipFault(f"it has {count:,} entries, the limit is {limits.tensors:,}")
    data = source.read(start, length)
    entries: list[ZipEntry] = []
    position = 0
    while position + CENTRAL.size <= len(data) and len(entries) < count:
        fields = CENTRAL.unpack_from(data, position)
        name_length, extra_length, comment_length = fields[12:15]
        begin = position + CENTRAL.size
        position = begin + name_length + extra_length + comment_length
        if fields[0] != b"PK\x01\x02" or position > len(data):
            raise ZipFault(f"entry {len(entries)} cannot be read")
        name = data[begin : begin + name_length].decode("utf-8", "replace")
        extra = data[begin + name_length : begin + name_length + extra_length]
        size, stored, offset = _wide(extra, [fields[11], fields[10], fields[18]])
        entries.append(ZipEntry(name, fields[6], stored, size, offset))
    if len(entries) < count:
        raise ZipFault(f"it has {len(entries):,} of {count:,} entries")
    return entries


def _end(source: Source) -> tuple[int, int, int]:
    """Position and length of the directory in bytes, and its entries."""
    tail_start = max(0, source.size - END.size - LONGEST_COMMENT - END64_LOCATOR.size)
    tail = source.read(tail_start, source.size - tail_start)
    at = tail.rfind(b"PK\x05\x06")
    if at < 0 or at + END.size > len(tail):
        raise ZipFault
    fields = END.unpack_from(tail, at)
    count, length, start = fields[4], fields[5], fields[6]
    locator_at = at - END64_LOCATOR.size
    if locator_at >= 0 and tail.startswith(b"PK\x06\x07", locator_at):
        record_at = END64_LOCATOR.unpack_from(tail, locator_at)[2]
        record = source.read(min(record_at, source.size), END64.size)
        if len(record) < END64.size or not record.startswith(b"PK\x06\x06"):
            raise ZipFault("its 64-bit record is missing")
        count, length, start = END64.unpack(record)[7:10]
    if start + length > source.size:
        raise ZipFault("it lies outside the file")
    return start, length, count


def _wide(extra: bytes, values: list[int]) -> list[int]:
    """The values of 32 bits, replaced from the zip64 extra field where they did not fit."""
    position = 0
    while position + 4 <= len(extra):
        kind, length = struct.unpack_from("<2H", extra, position)
        position += 4
        if kind == 1:
            field = extra[position : position + length]
            for index, value in enumerate(values):
                if value == ELSEWHERE and len(field) >= 8:
                    values[index] = int.from_bytes(field[:8], "little")
                    field = field[8:]
            break
        position += length
    return values


def read_entry(source: Source, entry: ZipEntry, limit: int) -> bytes:
    """One small entry, unpacked.

    Raises:
        ZipFault: it is larger than ``limit`` bytes, lies outside the file or cannot be unpacked.
    """
    if entry.size > limit or entry.stored > limit:
        raise ZipFault(f"{entry.name.rpartition('/')[2]} takes {units.exact(entry.size)}")
    header = source.read(min(entry.offset, source.size), LOCAL.size)
    if len(header) < LOCAL.size or not header.startswith(b"PK\x03\x04"):
        raise ZipFault("an entry points to a wrong place")
    name_length, extra_length = LOCAL.unpack(header)[9:11]
    data = source.read(entry.offset + LOCAL.size + name_length + extra_length, entry.stored)
    if entry.method == DEFLATED:
        try:
            data = zlib.decompressobj(-zlib.MAX_WBITS).decompress(data, entry.size + 1)
        except zlib.error as error:
            raise ZipFault("an entry cannot be unpacked") from error
    elif entry.method != STORED:
        raise ZipFault(f"the unknown packing method {entry.method}")
    if len(data) != entry.size:
        raise ZipFault("an entry is shorter than it says")
    return data
