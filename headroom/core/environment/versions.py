"""Versions of Python packages: their order, and whether one fits a demand such as ``>=1.25,<2``.

After the specification "Version specifiers" of packaging.python.org (PEP 440), since the package ``packaging`` is not
in every Python that runs this.
"""

from __future__ import annotations

import re
from typing import NamedTuple

_VERSION = re.compile(
    r"""\s*v?(?:(?P<epoch>\d+)!)?(?P<release>\d+(?:\.\d+)*)
    (?:[-_.]?(?P<pre>alpha|beta|preview|pre|a|b|c|rc)[-_.]?(?P<pre_number>\d*))?
    (?:-(?P<short_post>\d+)|[-_.]?(?P<post>post|rev|r)[-_.]?(?P<post_number>\d*))?
    (?:[-_.]?(?P<dev>dev)[-_.]?(?P<dev_number>\d*))?
    (?:\+(?P<local>[a-z0-9]+(?:[-_.][a-z0-9]+)*))?\s*""",
    re.VERBOSE | re.IGNORECASE,
)
_CLAUSE = re.compile(r"\s*(===|~=|==|!=|<=|>=|<|>)\s*([^\s,]+)\s*")
_PRE = {"alpha": "a", "beta": "b", "c": "rc", "pre": "rc", "preview": "rc"}
#: Where "no such part" stands among parts of the same kind.
_BEFORE, _AT, _AFTER = 0, 1, 2


class Version(NamedTuple):
    """A version in an order that tuples compare: a development release before a pre-release before the release."""

    epoch: int
    release: tuple[int, ...]
    """Without zeros at the end: 1.0 equals 1."""
    pre: tuple[int, str, int]
    post: int
    dev: tuple[int, int]
    local: str = ""

    @property
    def public(self) -> Version:
        """Without the build: 2.14.1+cu130 is 2.14.1."""
        return self._replace(local="")

    @property
    def is_pre(self) -> bool:
        """A pre-release or a development release."""
        return self.pre[0] == _AT or self.dev[0] == _BEFORE


def parse(text: str) -> Version | None:
    """A version; None for what is none."""
    found = _VERSION.fullmatch(text)
    if found is None:
        return None
    release = [int(part) for part in found["release"].split(".")]
    while len(release) > 1 and release[-1] == 0:
        release.pop()
    has_post = found["post"] is not None or found["short_post"] is not None
    post = int(found["short_post"] or found["post_number"] or 0) if has_post else -1
    if found["pre"]:
        name = found["pre"].lower()
        pre = (_AT, _PRE.get(name, name), int(found["pre_number"] or 0))
    else:
        pre = (_BEFORE if found["dev"] and not has_post else _AFTER, "", 0)
    dev = (_BEFORE, int(found["dev_number"] or 0)) if found["dev"] else (_AFTER, 0)
    local = re.sub(r"[-_]", ".", (found["local"] or "").lower())
    return Version(int(found["epoch"] or 0), tuple(release), pre, post, dev, local)


def fits(version: str, demand: str) -> bool | None:
    """Whether a version fits every clause of a demand; an empty one fits all. None where either cannot be read."""
    clauses = [part for part in demand.strip().strip("()").split(",") if part.strip()]
    answers = [_fits_clause(version, clause) for clause in clauses]
    return None if None in answers else all(answers)


def _fits_clause(version: str, clause: str) -> bool | None:
    found = _CLAUSE.fullmatch(clause)
    if found is None:
        return None
    operator, wanted_text = found.groups()
    if operator == "===":
        return version.strip().lower() == wanted_text.lower()
    here = parse(version)
    wild = wanted_text.endswith(".*")
    wanted = parse(wanted_text.removesuffix(".*"))
    if here is None or wanted is None or (wild and operator not in {"==", "!="}):
        return None
    if operator in {"==", "!="}:
        same = _begins(here, wanted_text[:-2]) if wild else _equals(here, wanted)
        return same if operator == "==" else not same
    if operator == "~=":
        return here.public >= wanted and _begins(here, wanted_text, last=-1)
    return _ordered(operator, here.public, wanted)


def _equals(here: Version, wanted: Version) -> bool:
    return (here if wanted.local else here.public) == wanted


def _begins(here: Version, text: str, last: int | None = None) -> bool:
    """The release's first parts are those of ``text``, without its last one where that is asked; missing ones are 0."""
    found = _VERSION.fullmatch(text)
    if found is None:
        return False
    wanted = [int(part) for part in found["release"].split(".")][:last]
    padded = [*here.release, *([0] * len(wanted))]
    return here.epoch == int(found["epoch"] or 0) and padded[: len(wanted)] == wanted


def _ordered(operator: str, here: Version, wanted: Version) -> bool:
    if operator == ">=":
        return here >= wanted
    if operator == "<=":
        return here <= wanted
    same_release = here.release == wanted.release
    if operator == "<":
        # "<2" leaves out 2.0rc1: it is no older release.
        return here < wanted and not (here.is_pre and same_release and not wanted.is_pre and wanted.post < 0)
    return here > wanted and not (here.post >= 0 and same_release and wanted.post < 0)
