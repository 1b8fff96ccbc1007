"""Where the tensors of a GGUF file lie: sizes by whole blocks, gaps of at most one alignment, all inside the file."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

from .. import units
from .entries import described
from .faults import Faults, quoted
from .gguf_types import block_type


class Stored(NamedTuple):
    """A tensor as the list has it."""

    name: str
    shape: tuple[int, ...]
    """Rows first, which is the reverse of the file's order."""
    type: int
    offset: int
    """Bytes from the start of the data."""

    def is_possible(self, largest: int) -> bool:
        """Whether its numbers can be meant."""
        return self.offset <= largest and math.prod(self.shape) <= largest


class Placed(NamedTuple):
    """A tensor with its bytes."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    size_bytes: int
    offset: int

    def fits(self, shape: tuple[int, ...] | None) -> bool:
        """Whether another shape has as many elements."""
        return shape is not None and min(shape, default=0) >= 0 and math.prod(shape) == math.prod(self.shape)


@dataclass(frozen=True)
class Layout:
    """All tensors, and the bytes of the file that are header or padding."""

    tensors: list[Placed]
    other_bytes: int


def check_layout(stored: list[Stored], header_end: int | None, alignment: int, size: int, faults: Faults) -> Layout:
    """Gives each tensor its bytes and compares all with the file.

    Args:
        header_end: bytes up to the end of the tensor list; None if it was cut, so that no position is known.
        size: bytes of the file.
    """
    start = _aligned(header_end, alignment) if header_end is not None else size
    available = max(0, size - start)
    placed = _with_sizes(stored, available if header_end is not None else 0, alignment, faults)
    if header_end is None:
        return Layout(placed, size)
    faults.add_names("misaligned-offset", [t.name for t in placed if t.offset % alignment], alignment=alignment)
    end, padding = _check_order(placed, alignment, faults)
    if available < end:
        faults.add("truncated", missing=units.exact(start + end - size), expected=units.exact(start + end))
    tail = max(0, available - end)
    if tail > _aligned(end, alignment) - end:
        faults.add("padded", extra=units.exact(tail))
    return Layout(placed, min(size, start + padding + tail))


def _aligned(position: int, alignment: int) -> int:
    return -(-position // alignment) * alignment


def _with_sizes(stored: list[Stored], available: int, alignment: int, faults: Faults) -> list[Placed]:
    """The tensors in the file's order of the list; one of unknown type has all bytes up to the next."""
    starts = sorted({tensor.offset for tensor in stored})
    following = dict(zip(starts, [*starts[1:], available]))
    placed: list[Placed] = []
    unknown: list[Placed] = []
    partial: list[Stored] = []
    for tensor in stored:
        type_ = block_type(tensor.type)
        if type_ is None:
            dtype, size_bytes = f"type {tensor.type}", max(0, following[tensor.offset] - tensor.offset)
            unknown.append(Placed(tensor.name, dtype, tensor.shape, size_bytes, tensor.offset))
        else:
            dtype = type_.name
            size_bytes = math.prod(tensor.shape) // type_.elements * type_.size_bytes
            if tensor.shape and tensor.shape[-1] % type_.elements:
                partial.append(tensor)
        placed.append(Placed(tensor.name, dtype, tensor.shape, size_bytes, tensor.offset))
    size = units.exact(sum(tensor.size_bytes for tensor in unknown))
    faults.add_each("unknown-dtype", unknown, lambda tensor: f"{quoted(tensor.name)} ({tensor.dtype})", size=size)
    faults.add_each("partial-block", partial, _partial)
    return placed


def _partial(tensor: Stored) -> str:
    type_ = block_type(tensor.type)
    assert type_ is not None, "only a known type has blocks"
    return f"{described(tensor.name, type_.name, tensor.shape)} (blocks of {type_.elements})"


def _check_order(placed: list[Placed], alignment: int, faults: Faults) -> tuple[int, int]:
    """The end of the last tensor and the bytes of padding between tensors; overlaps and larger gaps are faults."""
    end = padding = shared = unused = 0
    overlapping: dict[str, None] = {}
    after: list[str] = []
    last = ""
    for tensor in sorted(placed, key=lambda tensor: (tensor.offset, tensor.size_bytes)):
        tensor_end = tensor.offset + tensor.size_bytes
        if tensor.offset < end and tensor.size_bytes:
            shared += min(end, tensor_end) - tensor.offset
            overlapping |= {last: None, tensor.name: None}
        elif tensor.offset > end:
            padding += tensor.offset - end
            if tensor.offset > _aligned(end, alignment):
                unused += tensor.offset - _aligned(end, alignment)
                after.append(tensor.name)
        if tensor_end > end:
            end, last = tensor_end, tensor.name
    faults.add_names("overlap", overlapping, size=units.exact(shared))
    faults.add_names("hole", after, size=units.exact(unused))
    return end, padding
