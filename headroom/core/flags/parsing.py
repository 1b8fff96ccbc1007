"""Reads an argv as argparse would, but goes on after a fault and says where each flag and its values stand."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from .flag_table import ALL_LEVELS, FLOAT, INT, LEVELS, SWITCH, Row
from .versions import Table

#: What argparse takes for a value although it begins with a minus sign.
NEGATIVE = re.compile(r"^-\d+$|^-\d*\.\d+$")
CONVERT = {INT: int, FLOAT: float}


@dataclass(frozen=True)
class Use:
    """One flag as given: ``argv[start:stop]`` is the flag with its values."""

    row: Row
    start: int
    stop: int
    given: str
    """The flag as it was written, without a value: ``--lowv``."""
    values: tuple[str, ...]

    @property
    def flag(self) -> str:
        """The flag in full."""
        return self.row.flag


@dataclass(frozen=True)
class Fault:
    """Something that argparse refuses."""

    kind: str
    """unknown, ambiguous, extra, no-value, bad-value, takes-no-value, too-many, group."""
    at: int
    word: str
    flag: str = ""
    others: tuple[str, ...] = ()
    """The flags that an ambiguous word could mean, the first flag of a refused group, the values there are."""
    stop: int = 0
    """``argv[at:stop]`` is an unknown flag with what seems to be its value; 0 for other faults."""


@dataclass
class Reading:
    """An argv, read."""

    argv: tuple[str, ...]
    uses: list[Use] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)

    @property
    def flags(self) -> frozenset[str]:
        """The flags given, in full."""
        return frozenset(use.flag for use in self.uses)

    @property
    def args(self) -> dict[str, Any]:
        """The values given, by their names in ComfyUI's parsed arguments; only of the flags that are there."""
        return {use.flag.lstrip("-").replace("-", "_"): _value(use) for use in self.uses}


def read(argv: Sequence[str], table: Table) -> Reading:
    """Reads an argv without the program's name."""
    reading = Reading(tuple(argv))
    plain = [_is_value(word, table) for word in argv]
    if "--" in argv:
        after = list(argv).index("--")
        plain[after:] = [True] * (len(argv) - after)
    at = 0
    while at < len(argv):
        if plain[at]:
            if argv[at] != "--":
                reading.faults.append(Fault("extra", at, argv[at]))
            at += 1
        else:
            at = _read_flag(reading, table, plain, at)
    _find_refused_groups(reading, table)
    return reading


def _is_value(word: str, table: Table) -> bool:
    """What argparse takes for a value and not for a flag."""
    if not word.startswith("-") or word == "-":
        return True
    if word in table.options or _meant(word.partition("=")[0], table):
        return False
    return bool(NEGATIVE.match(word)) or " " in word


def _meant(word: str, table: Table) -> list[str]:
    """The flags that a word can be short for; the flag itself where it is one."""
    if word in table.options:
        return [word]
    return [flag for flag in table.options if word.startswith("--") and flag.startswith(word)]


def _read_flag(reading: Reading, table: Table, plain: Sequence[bool], at: int) -> int:
    """Reads the flag at a place; returns where to go on."""
    word = reading.argv[at]
    name, equals, given = word.partition("=")
    meant = _meant(name, table)
    if len(meant) != 1:
        stop = _skip_values(plain, at + 1) if not meant and not equals else at + 1
        kind = "ambiguous" if meant else "unknown"
        reading.faults.append(Fault(kind, at, word, others=tuple(meant), stop=0 if meant else stop))
        return stop
    row = table.options[meant[0]]
    if equals:
        values, stop = (given,), at + 1
    else:
        stop = at + 1
        while stop < len(reading.argv) and plain[stop] and stop - at - 1 < _most(row) and reading.argv[stop] != "--":
            stop += 1
        values = reading.argv[at + 1 : stop]
    reading.uses.append(Use(row, at, stop, name, values))
    reading.faults.extend(_faults_of_values(row, at, values, bool(equals)))
    return stop


def _skip_values(plain: Sequence[bool], at: int) -> int:
    """The values of an unknown flag are part of the same fault, as far as one can tell: one value at most."""
    return at + 1 if at < len(plain) and plain[at] else at


def _most(row: Row) -> int:
    if row.kind == SWITCH:
        return 0
    return 10**6 if row.nargs in {"*", "+"} else 1


def _faults_of_values(row: Row, at: int, values: Sequence[str], attached: bool) -> list[Fault]:
    if row.kind == SWITCH:
        return [Fault("takes-no-value", at, values[0], row.flag)] if attached else []
    if not values and row.nargs in {"", "+"}:
        return [Fault("no-value", at, row.flag, row.flag, row.choices)]
    bad = [value for value in values if not _fits(row, value)]
    if bad:
        return [Fault("bad-value", at, bad[0], row.flag, row.choices)]
    if row.kind == LEVELS and not _levels_fit(values):
        return [Fault("bad-value", at, " ".join(values), row.flag, ALL_LEVELS)]
    if row.most and len(values) > row.most:
        return [Fault("too-many", at, " ".join(values), row.flag)]
    return []


def _fits(row: Row, value: str) -> bool:
    if row.choices:
        return value in row.choices
    try:
        CONVERT.get(row.kind, str)(value)
    except ValueError:
        return False
    return True


def _levels_fit(values: Sequence[str]) -> bool:
    """No value, a level, or a level and a file."""
    return len(values) <= 2 and (not values or values[0] in ALL_LEVELS)


def _find_refused_groups(reading: Reading, table: Table) -> None:
    for position, use in enumerate(reading.uses):
        others = [one for one in reading.uses[:position] if one.flag != use.flag and one.row.group == use.row.group]
        if use.row.group and others:
            reading.faults.append(Fault("group", use.start, use.flag, use.flag, (others[0].flag,)))


def _value(use: Use) -> Any:
    """As argparse would store it; the text where it does not convert."""
    if use.row.kind == SWITCH:
        return True
    convert = CONVERT.get(use.row.kind, str)
    try:
        values = [convert(value) for value in use.values]
    except ValueError:
        values = list(use.values)
    return values if use.row.nargs in {"*", "+"} else values[0] if values else None
