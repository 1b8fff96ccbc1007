"""Everything there is to say about a start line on a stated machine, and the line with all of it put right."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ..flags.advice import Advice
from ..flags.engine import advise
from ..flags.parsing import read
from ..flags.versions import Table
from .check import Finding, faults
from .line import LaunchLine, LaunchLineError
from .reading import read_line
from .rewrite import command, command_alone, edits_for, rewritten
from .stated import Machine, has_dynamic, limit_finding, snapshot_of

SPELLING = ("short-flag", "repeated-flag")
MOST_STEPS = 60
"""A line has a few faults; a text with more is none that a person will paste."""


def findings(line: LaunchLine, table: Table, machine: Machine) -> list[Advice]:
    """Faults of the line, and the rules that fit the stated machine; the fix as the line itself, changed."""
    return [found.advice for found in _findings(line, table, machine)]


def all_changed(line: LaunchLine, table: Table, machine: Machine) -> str:
    """The line with every fix made, to paste; empty where there is none.

    One after the other, the worst first, and the line read again after each: what the first makes needless is not
    done, and where two would give flags that exclude each other the later one holds. Left out are fixes that no
    command can be made of, those that would bring more problems or warnings than they end, and those that only try
    something: a note that adds a flag and takes none away.
    """
    first = _findings(line, table, machine)
    if len(first) > MOST_STEPS:
        return ""
    known = {found.advice.id for found in first}
    now, done = line, set[str]()
    while len(done) < MOST_STEPS:
        steps = (found for found in _steps(now, table, machine, known) if _key(found) not in done)
        better = ((found, after) for found in steps if (after := _applied(now, found, table, machine)) is not None)
        step = next(better, None)
        if step is None:
            break
        done.add(_key(step[0]))
        now = step[1]
    return "" if now.text == line.text else command_alone(line, now.text)


def _steps(line: LaunchLine, table: Table, machine: Machine, known: set[str]) -> Iterator[Finding]:
    """What can be put right: any fault, also one of a change that was made, and the rules that fitted at first."""
    spelling = {found.advice.id for found in faults(line, table, has_dynamic(machine))}
    for found in _findings(line, table, machine):
        advice = found.advice
        tries = advice.severity == "info" and bool(advice.change.add) and not advice.change.remove
        if found.edits and not tries and advice.id in known | spelling:
            yield found


def _weight(line: LaunchLine, table: Table, machine: Machine) -> tuple[int, int]:
    """How many problems and warnings; a fault can also hide another one behind it."""
    found = [one.advice.severity for one in _findings(line, table, machine)]
    return found.count("problem"), found.count("warning")


def _findings(line: LaunchLine, table: Table, machine: Machine) -> list[Finding]:
    """The worst first."""
    limit = limit_finding(line, machine)
    rules = list(_rules(line, table, machine))
    # How a flag is written or how often is nothing to put right where it goes altogether.
    gone = {flag for found in rules for flag in found.advice.change.remove}
    spelled = [
        found
        for found in faults(line, table, has_dynamic(machine))
        if found.advice.id not in SPELLING or found.advice.params["flag"] not in gone
    ]
    found = [*spelled, *([Finding(limit)] if limit else []), *rules]
    return sorted(found, key=lambda one: one.advice.rank)


def _rules(line: LaunchLine, table: Table, machine: Machine) -> Iterator[Finding]:
    reading = read(line.argv, table)
    for advice in advise(snapshot_of(line, reading, table, machine)):
        edits = edits_for(reading, advice.change)
        changed = command(line, edits) if edits else ""
        yield Finding(replace(advice, command=changed or advice.command), tuple(edits))


def _key(found: Finding) -> str:
    """The same finding in a line that was changed: places can differ, what it is about does not."""
    about = {name: value for name, value in found.advice.params.items() if name not in {"line", "removed", "added"}}
    return f"{found.advice.id} {sorted(map(str, about.items()))}"


def _applied(line: LaunchLine, found: Finding, table: Table, machine: Machine) -> LaunchLine | None:
    """The line with one fix made; None where the text would not say what was meant, or the line were worse."""
    if not command(line, found.edits):
        return None
    try:
        after = read_line(rewritten(line, found.edits), line.suffix)
    except LaunchLineError:
        return None
    return after if _weight(after, table, machine) <= _weight(line, table, machine) else None
