"""An environment without what nobody else should see: home folders, the user's name, keys, absolute paths."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from .readings import Environment

HIDDEN_USER = "(user)"
#: Names that tell nothing about a person, and are words of these texts.
_NOT_A_PERSON = {
    *("root", "user", "users", "admin", "administrator", "ubuntu", "debian", "runner", "default", "guest", "nobody"),
    *(
        "comfy",
        "comfyui",
        "python",
        "torch",
        "nvidia",
        "linux",
        "windows",
        "docker",
        "app",
        "home",
        "workspace",
        "conda",
    ),
}
_SHORTEST_NAME = 3


def redacted(environment: Environment, clean: Callable[[str], str], users: Sequence[str]) -> Environment:
    """The environment with every text cleaned.

    Args:
        clean: takes paths and keys out of a text (``snapshot_json.cleaner``).
        users: names that are to be taken out wherever they stand as a word.
    """
    return _walk(environment, lambda text: without_users(printable(clean(text)), users))


def without_users(text: str, users: Sequence[str]) -> str:
    """A text without the names of users as words of their own."""
    for user in users:
        if len(user) >= _SHORTEST_NAME and user.lower() not in _NOT_A_PERSON:
            text = re.sub(rf"(?<![\w-]){re.escape(user)}(?![\w-])", HIDDEN_USER, text, flags=re.IGNORECASE)
    return text


def printable(text: str) -> str:
    """A text without what a terminal would obey; another program may have written it."""
    return "".join(sign for sign in text if sign in "\n\t" or sign.isprintable() or sign == "\u00a0")


def json_without_users(value: Any, users: Sequence[str]) -> Any:
    """The same for JSON values; the names of fields stay."""
    if isinstance(value, str):
        return without_users(printable(value), users)
    if isinstance(value, Mapping):
        return {name: json_without_users(one, users) for name, one in value.items()}
    return [json_without_users(one, users) for one in value] if isinstance(value, list | tuple) else value


def _walk(value: Any, clean: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return clean(value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        names = [field.name for field in dataclasses.fields(value)]
        return dataclasses.replace(value, **{name: _walk(getattr(value, name), clean) for name in names})
    if isinstance(value, Mapping):
        return {name: _walk(one, clean) for name, one in value.items()}
    return tuple(_walk(one, clean) for one in value) if isinstance(value, list | tuple) else value
