"""Findings in words, for every command that has some."""

from __future__ import annotations

from ..core.flags.advice import Advice
from .output import say

SEVERITY = {"problem": "Problem", "warning": "Warning", "info": "Note"}


def say_finding(finding: Advice) -> None:
    """One finding: what, why, what to do, how to check it; an empty line before it."""
    say()
    say(f"{SEVERITY[finding.severity]}: {finding.title}")
    say(f"  {finding.why}")
    say(f"  Fix: {finding.fix}")
    for part in finding.command.splitlines():
        say(f"      {part}")
    say(f"  Check: {finding.check}")
    say(f"  Source: {finding.source}")
