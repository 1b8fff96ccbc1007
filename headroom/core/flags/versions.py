"""What the parser of one version takes: from the flag table, or from ComfyUI's own parser where that is at hand."""

from __future__ import annotations

import argparse
import enum
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from .flag_table import LATER, LEVELS, READ, ROWS, SWITCH, TEXT, Row

HELP = (Row("--help"), Row("-h"))
Version = tuple[int, ...]


@dataclass(frozen=True)
class Table:
    """The flags of one version."""

    version: str
    options: Mapping[str, Row]
    maybe: frozenset[str] = field(default=frozenset())
    """Flags that came or went between the versions read around this one: neither refused nor suggested."""
    exact: bool = True
    """The version itself was read, or this is ComfyUI's own parser."""

    @property
    def flags(self) -> frozenset[str]:
        """The flags that it surely has."""
        return frozenset(self.options) - self.maybe

    def group_of(self, flag: str) -> tuple[str, ...]:
        """The flags that argparse refuses beside this one, and the flag itself; empty where it is in no group."""
        row = self.options.get(flag)
        if row is None or not row.group:
            return ()
        return tuple(other.flag for other in self.options.values() if other.group == row.group)


def parse_version(text: str | None) -> Version | None:
    """``v0.30.0-2-gabc`` as (0, 30, 0); None for what is no version."""
    if text is None:
        return None
    numbers: list[int] = []
    for part in text.strip().lstrip("vV").split("."):
        digits = part[: next((i for i, char in enumerate(part) if not char.isdigit()), len(part))]
        if not digits:
            break
        numbers.append(int(digits))
        if digits != part:
            break
    return tuple(numbers) if numbers else None


_READ = tuple((parse_version(version) or (), version) for version in READ)


def table_for(version: str | None = None) -> Table:
    """The table for a version, the newest one read for None.

    A version between two that were read gets the flags of both, those that only one of them has as ``maybe``; one
    outside gets the nearest, all the same not exact.
    """
    wanted = parse_version(version) or _READ[-1][0]
    below = next((text for number, text in reversed(_READ) if number <= wanted), READ[0])
    above = next((text for number, text in _READ if number >= wanted), READ[-1])
    older, newer = _rows_at(below), _rows_at(above)
    return Table(
        version=version or READ[-1],
        options=newer | older,
        maybe=frozenset(older.keys() ^ newer.keys()),
        exact=wanted in dict(_READ),
    )


def _rows_at(version: str) -> dict[str, Row]:
    number = parse_version(version) or ()
    rows = [*HELP, *ROWS]
    return {row.flag: row for row in rows if _number(row.since) <= number <= _number(row.until)}


def _number(version: str) -> Version:
    return parse_version(version) or ()


def table_of(parser: argparse.ArgumentParser, version: str | None = None) -> Table:
    """The table that a parser is: ComfyUI's own, so that no version has to be known.

    Looks at the parser's actions and groups, which argparse has had under these names since Python 3.2.
    """
    groups: dict[str, str] = {}
    for number, group in enumerate(parser._mutually_exclusive_groups):
        for action in group._group_actions:
            groups.update(dict.fromkeys(action.option_strings, f"group {number}"))
    options: dict[str, Row] = {}
    for action in parser._actions:
        options.update({flag: _row(flag, action, groups.get(flag, "")) for flag in action.option_strings})
    return Table(version or "", options)


def _row(flag: str, action: argparse.Action, group: str) -> Row:
    nargs = action.nargs if isinstance(action.nargs, str) else ""
    kind = SWITCH if action.nargs == 0 else _kind(action)
    most = next((row.most for row in ROWS if row.flag == flag and row.nargs == nargs), 0)
    return Row(flag, kind, nargs, tuple(_choices(action)), group, most=most)


def _kind(action: argparse.Action) -> str:
    if type(action).__name__ == "VerboseAction":
        return LEVELS
    name = getattr(action.type, "__name__", TEXT)
    return {"int": "int", "float": "float", "is_valid_directory": "directory"}.get(name, TEXT)


def _choices(action: argparse.Action) -> Iterable[str]:
    if isinstance(action.type, type) and issubclass(action.type, enum.Enum):
        return (str(member.value) for member in action.type)
    return (str(choice) for choice in action.choices or ())


def history(flag: str) -> tuple[str, str] | None:
    """The first and the last version read that have the flag; the last is "" where a newer one may have it too."""
    rows = [row for row in ROWS if row.flag == flag]
    if not rows:
        return ("later than " + READ[-1], "") if flag in LATER else None
    last = rows[-1].until
    return rows[0].since, "" if last == READ[-1] else last
