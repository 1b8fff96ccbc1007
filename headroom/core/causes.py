"""Likely causes of a NaN, ranked by the facts at hand. Options to try, never verdicts.

Two rules hold for every row of the table and are applied here: a flag that is already given is never suggested
(ComfyUI #9046), and neither is one that the installed version does not know.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from .cause_table import CAUSES, FP8_UNET, Row
from .facts import Facts

#: argparse refuses two of one group, so a suggestion says which flag it takes the place of.
GROUPS = (
    ("--fp32-unet", "--fp64-unet", "--bf16-unet", "--fp16-unet", *FP8_UNET),
    ("--fp16-vae", "--fp32-vae", "--bf16-vae"),
    ("--force-fp32", "--force-fp16"),
    ("--force-upcast-attention", "--dont-upcast-attention"),
)
#: ComfyUI said of these that they will go again: suggested only where the parser was read and has them.
UNSTEADY = frozenset({"--disable-dynamic-vram"})


@dataclass(frozen=True)
class Cause:
    """One likely cause: an id and values for translations, and the text in English."""

    id: str
    text: str
    """Reads on after "Likely:"; flags are between backticks."""
    params: Mapping[str, Any] = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        """The cause under the names of a report's facts."""
        return {"id": self.id, "text": self.text, "params": dict(self.params)}


def rank(facts: Facts) -> tuple[Cause, ...]:
    """The causes that fit the facts, likeliest first; never empty."""
    fitting = [row for row in CAUSES if facts.stage in row.stages and _can_be_said(row, facts)]
    return tuple(_cause(row, facts) for row in sorted(fitting, key=lambda row: row.rank))


def _can_be_said(row: Row, facts: Facts) -> bool:
    if not row.applies(facts):
        return False
    if row.drops and not any(flag in facts.flags for flag in row.drops):
        return False
    return row.adds is None or _can_add(row.adds(facts), facts)


def _can_add(flag: str, facts: Facts) -> bool:
    name = flag.split()[0]
    if name in facts.flags:
        return False
    return name not in UNSTEADY if facts.known_flags is None else name in facts.known_flags


def _cause(row: Row, facts: Facts) -> Cause:
    given = [flag for flag in row.drops if flag in facts.flags]
    fix = row.adds(facts) if row.adds else ""
    replaces = [other for other in _group_of(fix) if other != fix and other in facts.flags]
    static = bool(facts.dynamic_vram) and _can_add("--disable-dynamic-vram", facts)
    words = {
        "model": facts.model_class or "the model",
        "at_size": f" at {facts.size}" if facts.size else "",
        "gpu": facts.gpu_name or "card of that series",
        "arch": facts.gpu_arch or "this card",
        "given": _flags(given),
        "fix": _flags([fix]) + (f" in place of {_flags(replaces)}" if replaces else ""),
        "or_static": f" or {_flags(['--disable-dynamic-vram'])}" if static else "",
    }
    params = {
        "model": facts.model_class,
        "size": facts.size,
        "gpu": facts.gpu_name,
        "arch": facts.gpu_arch,
        "given": given,
        "fix": fix,
        "replaces": replaces,
    }
    return Cause(row.id, row.text.format(**words), {name: value for name, value in params.items() if value})


def _group_of(flag: str) -> Sequence[str]:
    return next((group for group in GROUPS if flag in group), ())


def _flags(flags: Sequence[str]) -> str:
    return " and ".join(f"`{flag}`" for flag in flags)
