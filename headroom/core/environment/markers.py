"""Environment markers: ``python_version < "3.12" and sys_platform == "win32"``.

After the specification "Dependency specifiers" of packaging.python.org (PEP 508). No extra is ever asked for here, so
what depends on one does not count.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from .versions import fits

_TOKEN = re.compile(r"""\s*(\(|\)|===|==|~=|!=|<=|>=|<|>|'[^']*'|"[^"]*"|[A-Za-z_.][\w.]*)""")
#: Compared as versions; the rest as texts.
_VERSIONS = {"python_version", "python_full_version", "implementation_version", "platform_release"}
#: Older names of the same.
_ALIASES = {"os.name": "os_name", "sys.platform": "sys_platform", "platform.machine": "platform_machine"}


class _Unreadable(Exception):
    """The marker is none that this reads."""


def holds(marker: str, variables: Mapping[str, str]) -> bool | None:
    """Whether a marker is true here; None where it cannot be read."""
    try:
        reader = _Reader(_tokens(marker), variables)
        answer = reader.any_of()
        return answer if reader.at_end else None
    except _Unreadable:
        return None


def _tokens(marker: str) -> list[str]:
    found, at = [], 0
    text = marker.strip()
    while at < len(text):
        token = _TOKEN.match(text, at)
        if token is None:
            raise _Unreadable
        found.append(token[1])
        at = token.end()
    return found


class _Reader:
    """Reads the tokens from left to right: ``or`` binds least."""

    def __init__(self, tokens: list[str], variables: Mapping[str, str]) -> None:
        self._tokens, self._variables, self._at = tokens, variables, 0

    @property
    def at_end(self) -> bool:
        return self._at == len(self._tokens)

    def any_of(self) -> bool:
        answer = self._all_of()
        while self._taken("or"):
            answer = self._all_of() or answer
        return answer

    def _all_of(self) -> bool:
        answer = self._one()
        while self._taken("and"):
            answer = self._one() and answer
        return answer

    def _one(self) -> bool:
        if self._taken("("):
            answer = self.any_of()
            if not self._taken(")"):
                raise _Unreadable
            return answer
        left, operator, right = self._next(), self._next(), self._next()
        if operator == "not":
            operator, right = f"not {right}", self._next()
        return self._compare(left, operator, right)

    def _compare(self, left: str, operator: str, right: str) -> bool:
        names = {_ALIASES.get(word, word) for word in (left, right)}
        first, second = self._value(left), self._value(right)
        if operator in {"in", "not in"}:
            return (first in second) is (operator == "in")
        if names & _VERSIONS:
            answer = fits(first, f"{operator}{second}")
            if answer is not None:
                return answer
        if operator in {"==", "!="}:
            return (first == second) is (operator == "==")
        raise _Unreadable

    def _value(self, token: str) -> str:
        if token[0] in "'\"":
            return token[1:-1]
        name = _ALIASES.get(token, token)
        if name == "extra":
            return ""
        if name not in self._variables:
            raise _Unreadable
        return self._variables[name]

    def _next(self) -> str:
        if self.at_end:
            raise _Unreadable
        self._at += 1
        return self._tokens[self._at - 1]

    def _taken(self, word: str) -> bool:
        if not self.at_end and self._tokens[self._at] == word:
            self._at += 1
            return True
        return False
