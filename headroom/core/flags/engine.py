"""Asks every rule about a snapshot, and writes down what fits."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ..readings import Snapshot
from .advice import Advice, Change
from .catalogue import RULES
from .rule import Params, Rule
from .startline import start_line
from .view import View
from .wording import fill, fix_sentence, shown


def advise(snapshot: Snapshot) -> tuple[Advice, ...]:
    """What does not match between flags, models and machine; what costs the user most comes first.

    Texts and commands hold no secret, no absolute path and no home folder.
    """
    return ask(RULES, View(snapshot))


def ask(rules: Iterable[Rule], view: View) -> tuple[Advice, ...]:
    """The advice of some rules."""
    found = [_advice(rule, view, params) for rule in rules if (params := rule.when(view)) is not None]
    return tuple(sorted(found, key=lambda advice: advice.rank))


def _advice(rule: Rule, view: View, params: Params) -> Advice:
    rule = rule.for_variant(params.get("variant"))
    change = change_for(rule, view, params)
    removed, added = shown(change)
    said = {**params, "removed": removed, "added": added}
    words = {**said, "comfyui": f"ComfyUI {view.host.version}" if view.host.version else "ComfyUI"}
    about = fill(rule.otherwise if rule.add and not change else rule.fix, words)
    fix = " ".join(part for part in (fix_sentence(removed, added), about) if part)
    command = start_line(view.host, view.table, change) if change else fill(rule.command, words)
    return Advice(
        id=rule.id,
        severity=rule.severity,
        rank=rule.rank,
        title=fill(rule.title, words),
        why=fill(rule.why, words),
        fix=fix,
        command=command,
        check=fill(rule.check, words),
        source=rule.source,
        params=said,
        change=change,
    )


def change_for(rule: Rule, view: View, params: Params) -> Change:
    """The change of the start line, as far as this version's parser takes it.

    A flag is added only where it surely exists and is not given yet; what argparse refuses beside it goes. A rule that
    adds one changes nothing where it cannot.
    """
    remove = view.given(rule.remove)
    for template in rule.add:
        added = tuple(_filled(template, params).split())
        if added and view.knows(added[0]) and (added[0] not in view.flags or added[0] in remove):
            refused = [flag for flag in view.table.group_of(added[0]) if flag in view.flags and flag != added[0]]
            return Change(_unique([*remove, *refused]), added)
    return Change() if rule.add else Change(tuple(remove))


def _filled(template: str, params: Params) -> str:
    """An added flag with plain numbers, which are not for reading: ``--vram-headroom 1.5``."""
    return template.format_map(params)


def _unique(flags: Sequence[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(flags))
