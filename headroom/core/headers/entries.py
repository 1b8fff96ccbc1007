"""The entries of a safetensors header: each by itself, then all together against the bytes of the file."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

from .. import units
from ..tensorinfo import TensorInfo
from .faults import Faults, clean, quoted
from .jsontext import JsonFault, check_depth
from .limits import Limits
from .metadata import storable

#: dtype -> bits of one element: enum Dtype of safetensors 0.8.0. A label only: sizes come from the offsets.
BITS = {
    **dict.fromkeys(("BOOL", "U8", "I8", "F8_E5M2", "F8_E4M3", "F8_E8M0", "F8_E4M3FNUZ", "F8_E5M2FNUZ"), 8),
    **dict.fromkeys(("I16", "U16", "F16", "BF16"), 16),
    **dict.fromkeys(("I32", "U32", "F32"), 32),
    **dict.fromkeys(("I64", "U64", "F64", "C64"), 64),
    "F4": 4,
    "F6_E2M3": 6,
    "F6_E3M2": 6,
}


@dataclass
class Entries:
    """The usable entries, in the header's order."""

    tensors: dict[str, TensorInfo] = field(default_factory=dict)
    positions: list[tuple[int, int, str]] = field(default_factory=list)
    """(first byte, byte behind the last, name) of each, from the start of the data."""
    malformed: list[str] = field(default_factory=list)
    impossible: list[str] = field(default_factory=list)
    readable: bool = True
    """False where the header as a whole was refused."""

    @property
    def complete(self) -> bool:
        """Whether every entry was usable; if not, holes and the end of the data mean nothing."""
        return self.readable and not self.malformed and not self.impossible


def read_entries(header: dict[str, Any], faults: Faults, limits: Limits) -> Entries:
    """The entries that have a dtype, a shape and a position; the others are named by a fault."""
    if len(header) > limits.tensors:
        faults.add("too-many-tensors", count=f"{len(header):,}", limit=f"{limits.tensors:,}")
        return Entries(readable=False)
    entries = Entries()
    largest, most = limits.number, limits.dimensions
    # A header has thousands of entries, and 10 ms are promised for all of it: hence few calls for what is sound.
    for name, value in header.items():
        name = name if name.isascii() else storable(name)
        parts = _parts(value)
        if parts is None:
            entries.malformed.append(name)
            continue
        dtype, shape, begin, end = parts
        # The dimensions are counted before they are multiplied: a product of a million takes minutes.
        sides_fit = not shape or (len(shape) <= most and min(shape) >= 0 and max(shape) <= largest)
        if 0 <= begin <= end <= largest and sides_fit and math.prod(shape) <= largest:
            entries.tensors[name] = TensorInfo(name, dtype, tuple(shape), end - begin)
            entries.positions.append((begin, end, name))
        else:
            entries.impossible.append(name)
    try:
        for name in entries.malformed:
            check_depth(header.get(name), limits.json_depth)
    except JsonFault as fault:
        faults.add(fault.fault, **fault.values)
        return Entries(readable=False)
    faults.add_names("bad-entry", entries.malformed)
    faults.add_names("bad-number", entries.impossible)
    return entries


def _parts(value: Any) -> tuple[str, list[int], int, int] | None:
    """dtype, shape, first byte and the byte behind the last, if all are there and of the right type; True is none."""
    try:
        dtype, shape, (begin, end) = value["dtype"], value["shape"], value["data_offsets"]
    except (KeyError, TypeError, ValueError):
        return None
    if type(dtype) is not str or type(shape) is not list or type(begin) is not int or type(end) is not int:
        return None
    # A loop: all() or a set of the types takes twice as long.
    for side in shape:
        if type(side) is not int:
            return None
    return dtype, shape, begin, end


def check_layout(entries: Entries, available: int, header_bytes: int, faults: Faults) -> None:
    """Compares the entries with each other and with the bytes that the file has for them.

    Args:
        available: bytes of the file behind the header.
        header_bytes: bytes before the data.
    """
    _check_sizes(entries, faults)
    end = _check_order(entries, faults)
    if available < end:
        faults.add("truncated", missing=units.exact(end - available), expected=units.exact(header_bytes + end))
    elif available > end and entries.complete:
        expected, size = units.exact(header_bytes + end), units.exact(header_bytes + available)
        faults.add("too-long", extra=units.exact(available - end), expected=expected, size=size)


def _check_sizes(entries: Entries, faults: Faults) -> None:
    """Compares the bytes that each entry has with those that its dtype and shape make."""
    wrong: list[TensorInfo] = []
    misaligned: list[TensorInfo] = []
    unknown: list[TensorInfo] = []
    for tensor in entries.tensors.values():
        width = BITS.get(tensor.dtype)
        bits = math.prod(tensor.shape) * width if width else 0
        if bits == tensor.size_bytes * 8 and width:
            continue
        (unknown if width is None else misaligned if bits % 8 else wrong).append(tensor)
    faults.add_each("size-mismatch", wrong, _mismatch)
    faults.add_each("misaligned", misaligned, lambda tensor: described(tensor.name, tensor.dtype, tensor.shape))
    size = units.exact(sum(tensor.size_bytes for tensor in unknown))
    faults.add_each("unknown-dtype", unknown, lambda t: described(t.name, quoted(t.dtype), t.shape), size=size)


def described(name: str, dtype: str, shape: tuple[int, ...]) -> str:
    """A tensor for a text: "`a.weight` F16 [2, 2]"."""
    return f"{quoted(name)} {dtype} {clean(str(list(shape)))}"


def _mismatch(tensor: TensorInfo) -> str:
    needed = math.prod(tensor.shape) * BITS[tensor.dtype] // 8
    text = described(tensor.name, tensor.dtype, tensor.shape)
    return f"{text} makes {units.exact(needed)}, not {tensor.size_bytes:,}"


def _check_order(entries: Entries, faults: Faults) -> int:
    """Looks for bytes of two tensors and of none; the end of the data that the header speaks of."""
    end = shared = unused = 0
    overlapping: dict[str, None] = {}
    after: list[str] = []
    last = ""
    entries.positions.sort()
    for tensor_begin, tensor_end, name in entries.positions:
        if tensor_begin < end and tensor_end > tensor_begin:
            shared += min(end, tensor_end) - tensor_begin
            overlapping |= {last: None, name: None}
        elif tensor_begin > end:
            unused += tensor_begin - end
            after.append(name)
        if tensor_end > end:
            end, last = tensor_end, name
    faults.add_names("overlap", overlapping, size=units.exact(shared))
    if entries.complete:
        faults.add_names("hole", after, size=units.exact(unused))
    return end
