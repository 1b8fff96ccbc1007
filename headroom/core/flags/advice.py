"""What a rule says when it fits: an id and parameters for programs and translations, and the same in English."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Severity = Literal["problem", "warning", "info"]

#: "ComfyUI #14938" and "ComfyUI PR#13922" in a source, and the repositories that other names stand for.
_REFERENCE = re.compile(r"(?P<name>[\w./-]+) (?P<kind>PR)?#(?P<number>\d+)")
_REPOSITORIES = {
    "ComfyUI": "Comfy-Org/ComfyUI",
    "comfy-aimdo": "Comfy-Org/comfy-aimdo",
    "ComfyUI-GGUF": "city96/ComfyUI-GGUF",
    "ComfyUI-WanVideoWrapper": "kijai/ComfyUI-WanVideoWrapper",
    "ComfyUI-KJNodes": "kijai/ComfyUI-KJNodes",
}


@dataclass(frozen=True)
class Change:
    """One change of the start line."""

    remove: tuple[str, ...] = ()
    """Flags, in full; their values go with them."""
    add: tuple[str, ...] = ()
    """Words: a flag and its value are two."""

    def __bool__(self) -> bool:
        return bool(self.remove or self.add)


@dataclass(frozen=True)
class Advice:
    """One rule that fits, with everything the panel and the command line show."""

    id: str
    severity: Severity
    rank: int
    """Lower costs the user more."""
    title: str
    """A fact with its number, without a full stop; machine words between backticks."""
    why: str
    fix: str
    command: str
    """To paste: the start line with this one change, or a shell command; empty where there is nothing to paste."""
    check: str
    """How to see that it worked."""
    source: str
    params: Mapping[str, Any] = field(default_factory=dict)
    """The values in the texts: sizes in bytes, times in seconds; ``removed`` and ``added`` are the fix."""
    change: Change = field(default_factory=Change)

    @property
    def link(self) -> str:
        """The first public report that the source names; empty where it names none."""
        for found in _REFERENCE.finditer(self.source):
            name = found["name"]
            repository = _REPOSITORIES.get(name, name if name.count("/") == 1 else "")
            if repository:
                page = "pull" if found["kind"] else "issues"
                return f"https://github.com/{repository}/{page}/{found['number']}"
        return ""

    def as_json(self) -> dict[str, Any]:
        """The advice as the panel, the route and ``--json`` give it."""
        return {
            "id": self.id,
            "severity": self.severity,
            "rank": self.rank,
            "title": self.title,
            "why": self.why,
            "fix": self.fix,
            "command": self.command,
            "check": self.check,
            "source": self.source,
            "link": self.link,
            "params": dict(self.params),
        }
