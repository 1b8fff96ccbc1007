"""``headroom doctor``: this machine and the environment that ComfyUI runs in, or a running ComfyUI asked over HTTP."""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from .. import __version__
from ..core.environment import diagnose
from ..core.environment.as_json import advice_of, environment_json
from ..core.environment.readings import Environment, Unseen
from ..core.environment.redaction import json_without_users, redacted
from ..core.environment.stats import environment_of, snapshot_of
from ..core.flags.advice import Advice
from ..core.flags.engine import advise
from ..core.snapshot_json import cleaner, snapshot_json
from .doctor_facts import facts
from .findings import say_finding
from .output import say, say_json

_DESCRIPTION = """
Looks at this machine and at the environment that ComfyUI runs in, and says what is wrong, first things first: whether
torch sees the GPU and if not why, packages against what this ComfyUI asks for, other ComfyUI processes, memory, disks.
Run it with the Python that starts ComfyUI. Exit status: 0 fine, 1 a finding, 2 bad input.
"""


@dataclass(frozen=True)
class Report:
    """What was asked and what came of it; nothing in it names a folder, a user or a key."""

    asked: str
    """``this machine``, the address of a ComfyUI on it, or ``another machine``."""
    findings: Sequence[Advice]
    environment: Environment
    snapshot: Any
    """As ``GET /headroom/snapshot`` answers it."""


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Adds ``doctor``."""
    parser = commands.add_parser(
        "doctor", help="check this machine and ComfyUI's environment", description=_DESCRIPTION
    )
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--comfyui", metavar="PATH", help="ComfyUI's folder (default: the one around this pack)")
    where.add_argument("--url", metavar="URL", help="ask a running ComfyUI instead: http://127.0.0.1:8188")
    parser.add_argument("--json", action="store_true", help="print JSON, fit to be pasted into an issue")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Looks, and prints what it found."""
    report = _remote(args.url) if args.url is not None else _local(args.comfyui)
    if args.json:
        say_json(_as_json(report))
    else:
        _print(report)
    return 1 if report.findings else 0


def _local(comfyui: str | None) -> Report:
    # Here and not above: the other commands need no host layer, and they start without it.
    from ..host.environment import gather, user_names

    found, taken = gather(comfyui)
    users, home = user_names(), os.path.expanduser("~")
    environment = redacted(found, cleaner(found.machine.platform == "windows", home), users)
    shown = json_without_users(snapshot_json(taken, home), users)
    advice = tuple(_cleaned(one, users) for one in advise(taken))
    return Report("this machine", _in_order(diagnose(environment), advice), environment, shown)


def _remote(url: str) -> Report:
    from ..host.environment import user_names
    from ..host.environment.remote import ask

    answers = ask(url)
    users, home = user_names(), os.path.expanduser("~")
    stats = answers.stats or {}
    found = environment_of(stats)
    clean = cleaner(found.machine.platform == "windows", home)
    unseen = [Unseen("driver, disks and other packages", "they are looked at where ComfyUI runs, without --url")]
    if answers.snapshot is None:
        unseen.append(Unseen("loaded models and what is in effect", "Headroom is not installed in that ComfyUI"))
        taken = snapshot_of(stats, time.time())
        shown, advice = snapshot_json(taken, home), advise(taken)
    else:
        shown, advice = answers.snapshot, advice_of(answers.advice)
    environment = redacted(replace(found, not_looked_at=tuple(unseen)), clean, users)
    said = tuple(_cleaned(one, users) for one in advice)
    return Report(answers.shown, _in_order(diagnose(environment), said), environment, json_without_users(shown, users))


def _cleaned(advice: Advice, users: Sequence[str]) -> Advice:
    """Advice without the user's name and, where another program wrote it, without what a terminal would obey."""
    names = ("id", "title", "why", "fix", "command", "check", "source", "params")
    return replace(advice, **{name: json_without_users(getattr(advice, name), users) for name in names})


def _in_order(first: Sequence[Advice], second: Sequence[Advice]) -> tuple[Advice, ...]:
    """Both, in the order in which a person should look; what both know is told as the first does."""
    told = {finding.id for finding in first}
    both = [*first, *(finding for finding in second if finding.id not in told)]
    return tuple(sorted(both, key=lambda finding: finding.rank))


def _as_json(report: Report) -> dict[str, Any]:
    environment = environment_json(report.environment)
    return {
        "headroom": __version__,
        "asked": report.asked,
        "findings": [finding.as_json() for finding in report.findings],
        "not_looked_at": environment.pop("not_looked_at"),
        "environment": environment,
        "snapshot": report.snapshot,
    }


def _print(report: Report) -> None:
    say(f"Headroom {__version__}, asked: {report.asked}")
    if not report.findings:
        say()
        say("Fine: nothing to say.")
    for finding in report.findings:
        say_finding(finding)
    for title, lines in (
        ("Not looked at", [f"{one.what}: {one.why}" for one in report.environment.not_looked_at]),
        ("Facts", facts(report.environment, report.snapshot)),
    ):
        if lines:
            say()
            say(title)
        for line in lines:
            say(f"  {line}")
