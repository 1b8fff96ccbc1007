"""What a package or a ``requirements.txt`` asks for: a name, versions, and when that counts (its marker)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from .markers import holds

_LINE = re.compile(r"\s*([A-Za-z0-9][\w.-]*)\s*(?:\[[^\]]*\])?\s*(\([^)]*\)|[<>=!~][^;@]*?|)\s*(?:;(.*))?", re.DOTALL)


@dataclass(frozen=True)
class Requirement:
    """One line, such as ``numpy<2; python_version < "3.12"``."""

    name: str
    """In its normal form."""
    demand: str
    """``>=1.25,<2``; empty where any version will do."""
    marker: str = ""

    def counts(self, variables: Mapping[str, str]) -> bool:
        """Whether it is asked for in this Python; False too where the marker cannot be read."""
        return not self.marker or holds(self.marker, variables) is True


def normal(name: str) -> str:
    """A package's name as indexes compare it: ``comfyui_frontend_package`` is ``comfyui-frontend-package``."""
    return re.sub(r"[-_.]+", "-", name).strip().lower()


def parse_requirement(line: str) -> Requirement | None:
    """One requirement; None for what names no package and version: an address, an option, a comment."""
    found = _LINE.fullmatch(line.partition(" #")[0])
    if found is None:
        return None
    return Requirement(normal(found[1]), found[2].strip().strip("()").strip(), (found[3] or "").strip())


def read_requirements(text: str) -> Iterator[Requirement]:
    """The packages of a ``requirements.txt``."""
    for line in text.splitlines():
        stripped = line.strip()
        if stripped and not stripped.startswith(("#", "-")):
            requirement = parse_requirement(stripped)
            if requirement is not None:
                yield requirement
