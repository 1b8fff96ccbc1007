"""What is wrong with a start line before anything runs: every fault at once, each with the line put right."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from ..flags.advice import Advice, Change
from ..flags.contradictions import RESIDENT
from ..flags.flag_table import FLOAT, INT, NO_EFFECT, SWITCH
from ..flags.parsing import Fault, Reading, read
from ..flags.versions import Table, history, parse_version
from ..flags.wording import code, fill, joined
from . import a1111
from .line import Edit, LaunchLine
from .rewrite import command
from .texts import TEXTS

#: Flags that may stand several times.
REPEATABLE = {"--feature-flag", "--extra-model-paths-config", "--verbose"}
_DASHES = re.compile(r"\A[-\u2010-\u2015\u2212]+")
LONG_DASH = re.compile(r"-?[\u2010-\u2015\u2212]{1,2}-?[A-Za-z]")
_NUMBER = re.compile(r"[-+]?\d+(?:[.,]\d+)?")


class Finding(NamedTuple):
    """Something to say about a line, and what would change in it; no edits where that is for the person to decide."""

    advice: Advice
    edits: Sequence[Edit] = ()


def check(line: LaunchLine, table: Table, dynamic: bool = True) -> tuple[Advice, ...]:
    """Every fault of the arguments, of their places and of their spelling, the worst first.

    Args:
        table: the flags of the version, from ``table_for``, or ``table_of`` ComfyUI's own parser.
        dynamic: dynamic VRAM is on where no flag turns it off, as on an NVIDIA card.
    """
    return tuple(found.advice for found in faults(line, table, dynamic))


def faults(line: LaunchLine, table: Table, dynamic: bool = True) -> tuple[Finding, ...]:
    """The same with the edits that each stands for."""
    reading = read(line.argv, table)
    found = [_of_fault(line, table, fault, dynamic) for fault in reading.faults if not _after_dash(line, table, fault)]
    found += _strays(line, table)
    found += _blanks(line)
    found += _short_forms(line, table, reading)
    found += _repeated(line, table, reading)
    return tuple(sorted(found, key=lambda one: one.advice.rank))


def finding(
    line: LaunchLine, key: str, params: dict[str, Any], edits: list[Edit] | None = None, version: str = ""
) -> Finding:
    """One finding; variants of an id (``unknown-flag-near``) share it."""
    text = TEXTS[key]
    words = {**params, "comfyui": f"ComfyUI {version}" if version else "this ComfyUI"}
    # As it was typed, also where it is no flag.
    words |= {name: code(params[name]) for name in ("word", "name") if name in params}
    rule_id = next(name for name in (key.rpartition("-")[0], key) if name in TEXTS)
    advice = Advice(
        id=rule_id,
        severity=text.severity,
        rank=text.rank,
        title=fill(text.title, words),
        why=fill(text.why, words),
        fix=fill(text.fix, words),
        command=command(line, edits) if edits else "",
        check=text.check,
        source=text.source,
        params={**params, "removed": [], "added": []},
        change=Change(),
    )
    return Finding(advice, tuple(edits or ()))


def _of_fault(line: LaunchLine, table: Table, fault: Fault, dynamic: bool) -> Finding:
    if fault.kind == "unknown":
        return _unknown(line, table, fault, dynamic)
    if fault.kind == "group":
        return _refused(line, table, fault, dynamic)
    if fault.kind == "ambiguous":
        return finding(line, "ambiguous-flag", {"word": fault.word, "others": sorted(fault.others)})
    if fault.kind == "extra":
        if LONG_DASH.match(fault.word):
            return _long_dash(line, table, fault)
        return finding(line, "extra-word", {"word": fault.word}, [Edit(fault.at, fault.at + 1)])
    if fault.kind == "bad-value":
        return _bad_value(line, table, fault)
    return finding(line, fault.kind, {"flag": fault.flag, "word": fault.word})


def _long_dash(line: LaunchLine, table: Table, fault: Fault) -> Finding:
    """What a text processor made of two hyphens; argparse takes the word for a value."""
    near = nearest(fault.word.partition("=")[0], table)
    meant = near or "--" + _DASHES.sub("", fault.word)
    edits = [Edit(fault.at, fault.at + 1, (meant + "".join(fault.word.partition("=")[1:]),))] if near else None
    return finding(line, "long-dash", {"word": fault.word, "near": meant}, edits)


def _after_dash(line: LaunchLine, table: Table, fault: Fault) -> bool:
    """The word is the value of a flag that begins with a long dash."""
    before = line.argv[fault.at - 1] if fault.kind == "extra" and fault.at else ""
    near = nearest(before, table) if LONG_DASH.match(before) else None
    return near is not None and table.options[near].kind != SWITCH and not LONG_DASH.match(fault.word)


def _refused(line: LaunchLine, table: Table, fault: Fault, dynamic: bool) -> Finding:
    """Of the two the one goes that dynamic VRAM makes idle, or that keeps a whole model on the card, else the second;
    both where they are one of each."""
    pair = (fault.others[0], fault.flag)
    uses = read(line.argv, table).uses
    idle = [flag for flag in pair if _idle_with_dynamic(flag, table, dynamic)]
    resident = [flag for flag in pair if flag in RESIDENT]
    out = next(iter([*idle, *resident, fault.flag]))
    stays = pair[0] if out == pair[1] else pair[1]
    both = bool(idle) and stays in RESIDENT
    edits = [Edit(use.start, use.stop) for use in uses if use.flag == out or (both and use.flag == stays)]
    key = "refused-group-both" if both else "refused-group"
    return finding(line, key, {"flag": out, "other": stays}, edits)


def _idle_with_dynamic(flag: str, table: Table, dynamic: bool) -> bool:
    """ComfyUI ignores the flag while dynamic VRAM is on: --lowvram since 0.18.2 (see NO_EFFECT)."""
    version = parse_version(table.version)
    return dynamic and NO_EFFECT.get(flag) == "dynamic" and (version is None or version >= (0, 18, 2))


def _bad_value(line: LaunchLine, table: Table, fault: Fault) -> Finding:
    row, number = table.options[fault.flag], _NUMBER.match(fault.word)
    if fault.others:
        wanted = joined([code(choice) for choice in fault.others]).replace(" and ", " or ")
    elif row.kind in {INT, FLOAT} and number:
        value = number[0].replace(",", ".")
        value = value.partition(".")[0] if row.kind == INT else value
        wanted = code(f"{fault.flag} {value}")
        at = next((i for i in range(fault.at + 1, len(line.argv)) if line.argv[i] == fault.word), None)
        edits = [Edit(at, at + 1, (value,))] if at is not None else None
        return finding(line, "bad-value", {"flag": fault.flag, "word": fault.word, "wanted": wanted}, edits)
    else:
        wanted = "a whole number" if row.kind == INT else "a number"
    return finding(line, "bad-value", {"flag": fault.flag, "word": fault.word, "wanted": wanted})


def _unknown(line: LaunchLine, table: Table, fault: Fault, dynamic: bool) -> Finding:
    name, equals, value = fault.word.partition("=")
    flag = "--" + _DASHES.sub("", name)
    whole = [Edit(fault.at, fault.stop)]
    if flag in a1111.FLAGS and flag not in table.options:
        own = a1111.FLAGS[flag]
        if own in table.flags and own not in line.argv:
            return finding(line, "a1111-flag-own", {"flag": flag, "own": own}, _instead(fault, own, table))
        return finding(line, "a1111-flag", {"flag": flag}, whole)
    known = history(flag)
    if known and flag not in table.options:
        since, until = known
        gone = until and not _is_later(since, table)
        params = {"flag": flag, "until": until, "since": since}
        return finding(line, "removed-flag" if gone else "later-flag", params, whole, table.version)
    near = nearest(name, table)
    if near is None:
        return finding(line, "unknown-flag", {"word": fault.word}, whole, table.version)
    if near in RESIDENT or _idle_with_dynamic(near, table, dynamic):
        key = "unknown-flag-resident" if near in RESIDENT else "unknown-flag-idle"
        return finding(line, key, {"word": fault.word, "near": near}, whole, table.version)
    put = f"{near}={value}" if equals and table.options[near].kind != SWITCH else near
    params = {"word": fault.word, "near": near}
    return finding(line, "unknown-flag-near", params, _instead(fault, put, table), table.version)


def _instead(fault: Fault, word: str, table: Table) -> list[Edit]:
    """Another flag in the place of an unknown one; a value that it does not take goes."""
    takes_none = table.options[word.partition("=")[0]].kind == SWITCH
    return [Edit(fault.at, fault.stop if takes_none else fault.at + 1, (word,))]


def _is_later(since: str, table: Table) -> bool:
    """The flag came after this version; without a known version no flag did."""
    first, here = parse_version(since), parse_version(table.version)
    return first is None or (here is not None and first > here)


def nearest(word: str, table: Table) -> str | None:
    """The flag that was meant: with other dashes, underscores or capitals, or with a letter or two wrong."""
    plain = {re.sub(r"[-_]", "", flag).lower(): flag for flag in sorted(table.flags) if flag.startswith("--")}
    wanted = re.sub(r"[-_\u2010-\u2015\u2212]", "", word).lower()
    if wanted in plain:
        return plain[wanted]
    close = difflib.get_close_matches(wanted, plain, n=1, cutoff=0.8)
    return plain[close[0]] if close else None


def _strays(line: LaunchLine, table: Table) -> Iterator[Finding]:
    for stray in line.strays:
        words = tuple(word.value for word in stray.words)
        flags = [word for word in words if word.startswith("--")]
        end = len(line.words)
        fitting = not read([*line.argv, *words], table).faults
        edits = [Edit(end, end, words)] if fitting else None
        key = "flag-after-pause" if stray.after_pause else "flag-not-applied"
        yield finding(line, key, {"flags": flags or list(words[:1]), "line": stray.line}, edits)


def _blanks(line: LaunchLine) -> Iterator[Finding]:
    mark = {"bat": "^", "powershell": "`"}.get(line.kind, "\\")
    for number in line.broken:
        yield finding(line, "continuation-blank", {"line": number, "mark": mark})


def _short_forms(line: LaunchLine, table: Table, reading: Reading) -> Iterator[Finding]:
    for use in reading.uses:
        if use.given != use.flag and use.given not in table.options:
            word = line.argv[use.start].replace(use.given, use.flag, 1)
            yield finding(
                line, "short-flag", {"word": use.given, "flag": use.flag}, [Edit(use.start, use.start + 1, (word,))]
            )


def _repeated(line: LaunchLine, table: Table, reading: Reading) -> Iterator[Finding]:
    for flag in dict.fromkeys(use.flag for use in reading.uses):
        uses = [use for use in reading.uses if use.flag == flag]
        if len(uses) > 1 and flag not in REPEATABLE:
            edits = [Edit(use.start, use.stop) for use in uses[:-1]]
            yield finding(line, "repeated-flag", {"flag": flag, "count": len(uses)}, edits)
