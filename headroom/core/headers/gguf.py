"""GGUF, versions 2 and 3: metadata, tensor list, aligned data.

The reader of the ``gguf`` package makes numpy objects of every token of a vocabulary, which takes seconds; here arrays
are stepped over. Format: docs/gguf.md of ggml; the order of checks follows gguf_reader.py of gguf 0.19.0.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from .. import units
from ..tensorinfo import ModelFile, TensorInfo
from .cursor import U32, U64, Cursor, Cut
from .faults import Faults
from .gguf_layout import Stored, check_layout
from .gguf_values import DEFAULT_ALIGNMENT, LONGEST_NAME, DamagedHeader, Values, read_values
from .limits import LIMITS, Limits
from .metadata import kept, storable
from .source import Source

VERSIONS = (2, 3)
#: GGML_MAX_DIMS.
DIMENSIONS = 4


@dataclass
class _Header:
    """What was read before the header ended or stopped making sense."""

    values: Values = field(default_factory=Values)
    tensors: list[Stored] = field(default_factory=list)
    end: int | None = None
    """Bytes up to the end of the tensor list; None where it was not reached."""


def read(source: Source, faults: Faults, limits: Limits = LIMITS) -> ModelFile:
    """All tensors that the header lists; what is wrong is added to ``faults``."""
    header = _Header()
    cursor = Cursor(source)
    try:
        _read_header(cursor, header, faults, limits)
    except Cut as cut:
        missing = units.exact(cut.missing)
        faults.add("header-cut", atleast="at least ", missing=missing, size=units.exact(source.size))
    except DamagedHeader as damage:
        faults.add("damaged-header", position=f"{cursor.position:,}", reason=damage.reason)
    tensors, header_bytes = _tensors(header, source.size, faults, limits)
    return ModelFile(
        source.name,
        "gguf",
        tensors,
        kept(header.values.texts.items(), faults, limits),
        header_bytes,
        source.size,
    )


def _read_header(cursor: Cursor, header: _Header, faults: Faults, limits: Limits) -> None:
    """Fills ``header`` as far as the file goes.

    Raises:
        Cut: the file ends first.
        DamagedHeader: what is there cannot be meant.
    """
    cursor.skip(4)
    version = cursor.number(U32)
    if version & 0xFFFF == 0 and version:
        faults.add("big-endian")
        return
    if version not in VERSIONS:
        faults.add("gguf-version", version=version)
        return
    tensors, values = cursor.number(U64), cursor.number(U64)
    if tensors > limits.tensors:
        faults.add("too-many-tensors", count=f"{tensors:,}", limit=f"{limits.tensors:,}")
        return
    if values > limits.gguf_values:
        faults.add("too-many-values", limit=f"{limits.gguf_values:,}")
        return
    read_values(cursor, values, header.values, limits)
    for _ in range(tensors):
        header.tensors.append(_tensor(cursor))
    header.end = cursor.position


def _tensor(cursor: Cursor) -> Stored:
    """One entry of the tensor list."""
    length = cursor.number(U64)
    if length > LONGEST_NAME:
        raise DamagedHeader(f"a tensor's name of {units.exact(length)}")
    name = storable(cursor.take(length).decode("utf-8", "replace"))
    dimensions = cursor.number(U32)
    if dimensions > DIMENSIONS:
        raise DamagedHeader(f"a tensor with {dimensions:,} dimensions, where {DIMENSIONS} is the most")
    sides = tuple(cursor.number(U64) for _ in range(dimensions))
    return Stored(name, tuple(reversed(sides)), cursor.number(U32), cursor.number(U64))


def _tensors(header: _Header, size: int, faults: Faults, limits: Limits) -> tuple[dict[str, TensorInfo], int]:
    """The tensors with their bytes, and the bytes of the file that belong to none."""
    names = Counter(tensor.name for tensor in header.tensors)
    repeated = [name for name, count in names.items() if count > 1]
    faults.add_names("duplicate-names", [*header.values.repeated, *repeated])
    alignment = header.values.alignment
    if alignment < 1 or alignment & (alignment - 1):
        faults.add("bad-alignment", alignment=alignment)
        alignment = DEFAULT_ALIGNMENT
    possible = [tensor for tensor in header.tensors if tensor.is_possible(limits.number)]
    faults.add_names("bad-number", [t.name for t in header.tensors if not t.is_possible(limits.number)])
    placed = check_layout(possible, header.end, alignment, size, faults)
    shapes = header.values.shapes
    wrong = [t.name for t in placed.tensors if t.name in shapes and not t.fits(shapes[t.name])]
    faults.add_names("bad-original-shape", wrong)
    tensors = {
        t.name: TensorInfo(t.name, t.dtype, shapes[t.name] if t.fits(shapes.get(t.name)) else t.shape, t.size_bytes)
        for t in placed.tensors
    }
    return tensors, placed.other_bytes
