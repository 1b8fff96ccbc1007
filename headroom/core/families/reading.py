"""What a row looks for in a header and reads there: names, lengths, and what a value must be."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .identity import Value
from .index import Header


@dataclass(frozen=True)
class Not:
    """Any value but this one."""

    value: Any

    def fits(self, found: Any) -> bool:
        """Whether a value is another one."""
        return not agrees(self.value, found)


@dataclass(frozen=True)
class OneOf:
    """One of several values."""

    values: tuple[Any, ...]

    def fits(self, found: Any) -> bool:
        """Whether a value is among them."""
        return found in self.values


@dataclass(frozen=True)
class AtLeast:
    """A number of at least this size."""

    least: int

    def fits(self, found: Any) -> bool:
        """Whether a value is such a number."""
        return isinstance(found, int) and found >= self.least


def agrees(expected: Any, found: Any) -> bool:
    """Whether a value is what a row expects: one of the matchers above, or the value itself."""
    if isinstance(expected, Not | OneOf | AtLeast):
        return expected.fits(found)
    return bool(expected == found)


# --- what a row reads ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Required:
    """Marks a length that every whole file of the architecture has."""


REQUIRED = Required()


@dataclass(frozen=True)
class Dim:
    """A length of a shape: ``(length - minus) // divide``."""

    key: str
    axis: int
    divide: int = 1
    minus: int = 0
    default: Value | Required = REQUIRED

    def read(self, header: Header) -> Value:
        """The length, or the default."""
        length = header.length(self.key, self.axis)
        if length is None:
            return None if isinstance(self.default, Required) else self.default
        return (length - self.minus) // self.divide

    def missing(self, header: Header) -> str | None:
        """The tensor that should be there and is not."""
        return self.key if isinstance(self.default, Required) and not header.has(self.key) else None


@dataclass(frozen=True)
class Shape:
    """The lengths of a shape from an axis on."""

    key: str
    start: int = 0

    def read(self, header: Header) -> Value:
        """The lengths; None without the tensor."""
        shape = header.shape(self.key)
        return None if shape is None else shape[self.start :]

    def missing(self, header: Header) -> str | None:
        """The tensor that should be there and is not."""
        return None if header.has(self.key) else self.key


@dataclass(frozen=True)
class Count:
    """The blocks of a stem."""

    stem: str

    def read(self, header: Header) -> Value:
        """How many there are from 0 up to the first gap."""
        return header.count(self.stem)

    def missing(self, header: Header) -> str | None:
        """Nothing: gaps are the stacks' business."""
        return None


@dataclass(frozen=True)
class Has:
    """Whether one of some names, or paths, is there."""

    names: tuple[str, ...]

    def read(self, header: Header) -> Value:
        """True where one is there."""
        return any(header.has(name) or header.below(name) for name in self.names)

    def missing(self, header: Header) -> str | None:
        """Nothing: either answer is fine."""
        return None


def has(*names: str) -> Has:
    """Whether one of some names, or paths, is there."""
    return Has(names)


@dataclass(frozen=True)
class Choose:
    """The value of the first pair whose names are all there."""

    pairs: tuple[tuple[Value, tuple[str, ...]], ...]
    otherwise: Value

    def read(self, header: Header) -> Value:
        """The value that fits, or the last one."""
        for value, names in self.pairs:
            if all(header.has(name) for name in names):
                return value
        return self.otherwise

    def missing(self, header: Header) -> str | None:
        """Nothing: there is always an answer."""
        return None


Fact = Dim | Shape | Count | Has | Choose


@dataclass(frozen=True)
class Signature:
    """Names that are there, names that are not, and lengths: enough to tell one row from all others."""

    keys: tuple[str, ...]
    lacks: tuple[str, ...] = ()
    sizes: tuple[tuple[str, int | None, Any], ...] = ()
    """(name, axis, what it must be); without an axis the number of axes."""
    unless: Signature | None = None
    """Another one that must not fit."""

    def fits(self, header: Header) -> bool:
        """Whether a header has it."""
        return (
            all(header.has(key) for key in self.keys)
            and not any(header.has(key) for key in self.lacks)
            and all(self._size_fits(header, *size) for size in self.sizes)
            and not (self.unless is not None and self.unless.fits(header))
        )

    @staticmethod
    def _size_fits(header: Header, name: str, axis: int | None, expected: Any) -> bool:
        shape = header.shape(name)
        if axis is None:
            return shape is not None and agrees(expected, len(shape))
        return agrees(expected, header.length(name, axis))
