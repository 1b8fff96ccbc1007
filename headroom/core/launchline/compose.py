"""A compose file: the service that is ComfyUI, its command or the variable that holds its flags, and its limit."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from .docker import ARGUMENT_VARIABLES
from .shell import PosixLexer
from .words import Word
from .yaml_lines import Scalar, scalars

#: Where a service states how much memory it may use (compose-spec, 05-services.md and deploy.md).
LIMITS = (("mem_limit",), ("deploy", "resources", "limits", "memory"))
COMPOSE = re.compile(r"^services:\s*(?:#.*)?$", re.MULTILINE)
_NAME = re.compile(r"comfy", re.IGNORECASE)


@dataclass(frozen=True)
class Service:
    """One service of the file, as far as it says how ComfyUI starts."""

    name: str
    image: str
    command: Sequence[Word]
    """Of ``entrypoint`` and ``command``, one behind the other."""
    flags: Sequence[Word]
    """From a variable that images of ComfyUI take flags from."""
    memory: tuple[str, str] | None
    """The key and the text of its limit."""
    listed: str
    """How the command is written: ``block`` or ``flow``, each word an item of a list; "" for one text."""

    @property
    def is_comfyui(self) -> bool:
        """It names ComfyUI's script, or is called so."""
        script = any("main.py" in word.value for word in self.command)
        return script or bool(self.flags) or bool(_NAME.search(self.name) or _NAME.search(self.image))


def services(text: str) -> Sequence[Service]:
    """The services of a compose file, those first that say most about ComfyUI's start."""
    found: dict[str, list[Scalar]] = {}
    for scalar in scalars(text):
        if len(scalar.keys) > 2 and scalar.keys[0] == "services":
            found.setdefault(scalar.keys[1], []).append(scalar)
    ours = [one for one in (_service(name, values) for name, values in found.items()) if one.is_comfyui]
    return sorted(ours, key=lambda one: not (one.command or one.flags))


def _service(name: str, values: Sequence[Scalar]) -> Service:
    command = [one for key in ("entrypoint", "command") for one in values if one.keys[2:] == (key,)]
    last = next((one.listed for one in reversed(command)), "")
    return Service(
        name=name,
        image=_text(values, ("image",)) or "",
        command=[word for one in command for word in _words(one)],
        flags=_flags(values),
        memory=next(((keys[-1], found) for keys in LIMITS if (found := _text(values, keys)) is not None), None),
        listed=last,
    )


def _text(values: Sequence[Scalar], keys: tuple[str, ...]) -> str | None:
    return next((one.value.value for one in values if one.keys[2:] == keys), None)


def _words(scalar: Scalar) -> Sequence[Word]:
    """An item of a list is one word as it stands; a text is split as a shell does it. ``$`` is compose's variable."""
    if scalar.listed:
        places = tuple(scalar.value.at)
        if not places:
            return ()
        start, stop = places[0] - scalar.quoted, places[-1] + 1 + scalar.quoted
        return (Word(scalar.value.value, places, start, stop, open="$" in scalar.value.value),)
    return [word for command in PosixLexer(scalar.value).run() for word in command]


def _flags(values: Sequence[Scalar]) -> Sequence[Word]:
    """``CLI_ARGS: --lowvram`` and ``- CLI_ARGS=--lowvram``."""
    for one in values:
        span = one.value
        name = one.keys[3] if one.keys[2:3] == ("environment",) and len(one.keys) == 4 else ""
        if not name and one.keys[2:] == ("environment",) and one.listed:
            name, equals, _ = span.value.partition("=")
            span = span.cut(len(name) + len(equals))
        if name in ARGUMENT_VARIABLES:
            return [word for command in PosixLexer(span).run() for word in command]
    return ()
