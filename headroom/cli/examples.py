"""Well-known models by name, for every command that takes a model: no file is needed for them."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator, Sequence
from typing import Any

from ..core.component import Component, component
from ..core.errors import ModelFileError
from ..core.headers.faults import quoted
from ..core.headers.sniff import expected
from ..core.preset_names import LISTED, WORDS
from ..core.presets import close_names, matching, preset_component
from .output import say
from .tables import table

HOW = "python -m headroom plan --examples"
_TITLES = {"diffusion": "Diffusion models", "text encoder": "Text encoders", "vae": "VAEs"}


class Examples(argparse.Action):
    """``--examples``: lists them and ends, as ``--help`` does."""

    def __init__(self, option_strings: Sequence[str], dest: str = argparse.SUPPRESS, **_: Any) -> None:
        super().__init__(option_strings, dest, nargs=0, help="list the models that are known by name, and end")

    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> None:
        """Prints the list; the exit status is 0."""
        for line in lines():
            say(line)
        parser.exit()


def lines() -> Iterator[str]:
    """Every example by kind, with its formats; a name and a format make one model."""
    yield 'A name, a comma and a format stand for a model without its file: "Flux.1 dev, fp8".'
    for kind, title in _TITLES.items():
        yield ""
        yield title
        yield from table(
            [(name, ", ".join(WORDS[one] for one in formats)) for found, name, _, formats in LISTED if found == kind]
        )


def component_named(text: str) -> Component:
    """The model that is meant: a file, or an example whatever its capitals.

    Raises:
        ModelFileError: it is neither; says which examples come close.
    """
    example = matching(text)
    if example is not None and (text == example.name or not os.path.exists(text)):
        return preset_component(example)
    if os.path.exists(text) or _named_like_a_file(text):
        return component(text)
    raise ModelFileError(f"{quoted(text)} is neither a file that is here nor an example. {hint(text)}")


def hint(text: str) -> str:
    """Which examples come close to a name that is none, and where all of them are listed."""
    close = close_names(text)
    near = f"Close to it: {', '.join(quoted(name) for name in close)}. " if close else ""
    return f"{near}`{HOW}` lists all examples."


def _named_like_a_file(text: str) -> bool:
    return bool(expected(text)) or "/" in text or "\\" in text
