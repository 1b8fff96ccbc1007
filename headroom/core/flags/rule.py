"""The form of a rule: data, one entry each, in the modules by theme."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from .advice import Severity
from .view import View

Params = Mapping[str, Any]


@dataclass(frozen=True)
class Wording:
    """What a variant of a rule says or changes otherwise; None where it is the same."""

    title: str | None = None
    why: str | None = None
    fix: str | None = None
    otherwise: str | None = None
    check: str | None = None
    command: str | None = None
    remove: Sequence[str] | None = None
    add: Sequence[str] | None = None


@dataclass(frozen=True)
class Rule:
    """When something is said, and what.

    The texts are templates over what ``when`` returns; beside that there are ``comfyui`` ("ComfyUI 0.30.0"),
    ``removed`` and ``added``. ``when`` is quiet (None) where a reading that it needs is unknown.
    """

    id: str
    severity: Severity
    rank: int
    """Lower costs the user more: below 200 a run fails or the machine stops, below 600 time or memory is lost."""
    when: Callable[[View], Params | None]
    title: str
    why: str
    check: str
    source: str
    fix: str = ""
    """Reads on after the sentence about the change of the start line; stands alone where there is none."""
    remove: Sequence[str] = ()
    """Flags that the fix leaves out, where they are given."""
    add: Sequence[str] = ()
    """Flags that the fix may add, best first, each a template: the first that this version knows is taken."""
    otherwise: str = ""
    """The fix where none of ``add`` can be added: not in this version, or given already."""
    command: str = ""
    """To paste where the fix is no change of the start line."""
    variants: Mapping[str, Wording] = field(default_factory=dict)
    """What is said otherwise, by what ``when`` returns as ``variant``."""

    def for_variant(self, name: str | None) -> Rule:
        """The rule as a variant says it."""
        other = self.variants.get(name or "")
        return self if other is None else replace(self, **{k: v for k, v in vars(other).items() if v is not None})


def conditions(test: Callable[[View], bool]) -> Callable[[View], Params | None]:
    """A ``when`` without parameters."""
    return lambda view: {} if test(view) else None
