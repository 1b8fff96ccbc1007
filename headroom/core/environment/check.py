"""The form of a check: data, one entry each, in the modules by theme; and what asks them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from ..flags.advice import Advice, Severity
from ..flags.rule import Params, Wording
from ..flags.wording import fill
from .readings import Environment


@dataclass(frozen=True)
class Check:
    """When something is said about an environment, and what. The texts are templates over what ``when`` gives.

    ``when`` gives the parameters of each finding, ``variant`` among them; it is quiet where a reading that it needs is
    unknown. Beside them there is ``pip``: how pip is called in this Python.
    """

    id: str
    severity: Severity
    rank: int
    """On the scale of the flag rules: what has to work first comes first, below 200 nothing runs or a run fails."""
    when: Callable[[Environment], Iterable[Params]]
    title: str
    why: str
    fix: str
    check: str
    source: str
    command: str = ""
    variants: Mapping[str, Wording] = field(default_factory=dict)

    def advice(self, params: Params, pip: str) -> Advice:
        """The finding with its texts."""
        said = self._for_variant(params.get("variant"))
        words = {**params, "pip": pip}
        return Advice(
            id=said.id,
            severity=said.severity,
            rank=said.rank,
            title=fill(said.title, words),
            why=fill(said.why, words),
            fix=fill(said.fix, words),
            command=fill(said.command, words),
            check=fill(said.check, words),
            source=said.source,
            params=params,
        )

    def _for_variant(self, name: str | None) -> Check:
        other = self.variants.get(name or "")
        texts = ("title", "why", "fix", "check", "command")
        said = {key: getattr(other, key) for key in texts if getattr(other, key, None) is not None}
        return replace(self, **said)


#: Checks of which only the first that finds something speaks: one cause has many symptoms.
Chain = Sequence[Check]


def ask(chains: Iterable[Chain], environment: Environment) -> tuple[Advice, ...]:
    """The findings, in the order in which a person should look."""
    found = [finding for chain in chains for finding in _first(chain, environment)]
    return tuple(sorted(found, key=lambda finding: finding.rank))


def _first(chain: Chain, environment: Environment) -> Iterator[Advice]:
    for check in chain:
        found = [check.advice(params, environment.python.pip) for params in check.when(environment)]
        if found:
            yield from found
            return


def once(test: Callable[[Environment], Params | None]) -> Callable[[Environment], Iterable[Params]]:
    """A ``when`` that finds at most one thing."""

    def when(environment: Environment) -> Iterable[Params]:
        found = test(environment)
        return () if found is None else (found,)

    return when
