"""Other files of the same model: the same family and shapes by their headers, another quantisation.

A header does not tell two trainings of one architecture apart (Flux.1 dev from Kontext, Wan's high from low noise), so
the names have to agree in the words that do.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from .component import Component, component
from .errors import ModelFileError
from .headers.shards import shard

SUFFIXES = (".safetensors", ".sft", ".gguf", ".ckpt", ".pt", ".pth", ".bin")
#: Files that are looked for in a folder, headers that are read, and folders within folders that are entered.
MOST_FILES = 5000
MOST_HEADERS = 200
DEEPEST = 6

#: What a name says about how the weights are packed.
_FORMAT = re.compile(
    r"(?<![a-z0-9])(?:i?q\d(?:_(?:\d|k|xxs|xs|s|m|nl))?(?:_[sml])?|b?f(?:p|loat)?\d+|bf16|e\dm\d(?:fn|fnuz)?|nvfp4|mxfp\d"
    r"|int\d|nf4|scaled|svdq|mixed|ggml|gguf|comfyui|comfy|repackaged|kj)(?![a-z0-9])"
)
_VERSION = re.compile(r"(?<!\d)(\d)[._](\d)(?![\d])")
_WORD = re.compile(r"[a-z]+|\d+")
#: Words that make another model of the same shapes; a number of four digits is a date and does too.
TELLING = frozenset(
    {
        *("high", "low", "dev", "schnell", "kontext", "krea", "fill", "canny", "depth", "redux", "uncensored"),
        *("edit", "layered", "control", "inpaint", "instruct", "fun", "camera", "animate", "vace", "distill"),
        *("turbo", "lightning", "hyper", "lcm", "base", "refiner", "pro", "raw", "flf", "pruned", "ema"),
    }
)
ALIKE = {"highnoise": "high", "lownoise": "low", "distilled": "distill", "flf2v": "flf", "inpainting": "inpaint"}


@dataclass(frozen=True)
class Siblings:
    """What was found beside a model; a folder larger than the limits is only looked at in part."""

    found: tuple[Component, ...]
    """One per format, the largest first."""
    complete: bool


def model_files(folder: str | os.PathLike[str], recursive: bool = False, most: int = MOST_FILES) -> list[str]:
    """Paths of the model files in a folder, sorted; of a model in several files the first that is there.

    Raises:
        ModelFileError: the folder cannot be read.
    """
    found: list[str] = []
    seen: set[str] = set()
    shards: set[tuple[str, str]] = set()
    for path in _walk(os.fspath(folder), DEEPEST if recursive else 0, seen):
        where, name = os.path.split(path)
        one = shard(name)
        if one is not None:
            if (where, one.whole) in shards:
                continue
            shards.add((where, one.whole))
        found.append(path)
        if len(found) == most:
            break
    return found


def _walk(folder: str, deeper: int, seen: set[str]) -> Iterator[str]:
    """Model files in a folder and those below; a folder that links to one above it is entered once."""
    real = os.path.realpath(folder)
    if real in seen:
        return
    seen.add(real)
    try:
        with os.scandir(folder) as entries:
            listed = sorted(entries, key=lambda entry: entry.name.lower())
    except OSError as error:
        if len(seen) == 1:
            reason = error.strerror or "unknown reason"
            raise ModelFileError(f"The folder {os.path.basename(real)} cannot be read: {reason}.") from error
        return
    for entry in listed:
        if entry.name.startswith("."):
            continue
        if entry.is_dir():
            if deeper:
                yield from _walk(entry.path, deeper - 1, seen)
        elif entry.name.lower().endswith(SUFFIXES) and entry.is_file():
            yield entry.path


def siblings(path: str | os.PathLike[str], model: Component, folder: str | os.PathLike[str] | None = None) -> Siblings:
    """Other quantisations of a model.

    Args:
        path: of its file.
        model: what its header says.
        folder: where to look, folders below it included; None for the model's own folder alone.

    Raises:
        ModelFileError: the folder cannot be read.
    """
    own = os.path.realpath(path)
    paths = model_files(os.path.dirname(own) if folder is None else folder, folder is not None)
    near = [
        other for other in paths if os.path.realpath(other) != own and same_name(model.name, os.path.basename(other))
    ]
    found: dict[str, Component] = {}
    for other in near[:MOST_HEADERS]:
        candidate = _readable(other)
        if candidate is not None and candidate.format != model.format and same_model(model, candidate):
            found.setdefault(candidate.format, candidate)
    ordered = sorted(found.values(), key=lambda one: -one.weights_bytes)
    return Siblings(tuple(ordered), len(near) <= MOST_HEADERS and len(paths) < MOST_FILES)


def _readable(path: str) -> Component | None:
    try:
        found = component(path)
    except ModelFileError:
        return None
    return None if found.broken else found


def same_model(one: Component, other: Component) -> bool:
    """Whether two headers are of one family with the same lengths and the same numbers of blocks."""
    a, b = one.identity, other.identity
    if a.family is None or (a.family, a.kind) != (b.family, b.kind):
        return False
    common = a.sizes.keys() & b.sizes.keys()
    return len(one.main_blocks) == len(other.main_blocks) and all(a.sizes[key] == b.sizes[key] for key in common)


def same_name(one: str, other: str) -> bool:
    """Whether two file names agree in the words that tell trainings apart, and in a version that both have."""
    a, b = _told(one), _told(other)
    versions = a[1], b[1]
    return a[0] == b[0] and (not all(versions) or versions[0] == versions[1])


def _told(name: str) -> tuple[frozenset[str], Sequence[str]]:
    """The telling words of a name, and its versions."""
    stem = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", os.path.splitext(name)[0]).lower()
    stem = _FORMAT.sub(" ", re.sub(r"[-\s]", "_", stem))
    versions = [".".join(found) for found in _VERSION.findall(stem)]
    words: set[str] = {ALIKE.get(word) or word for word in _WORD.findall(stem)}
    return frozenset(word for word in words if word in TELLING or (len(word) == 4 and word.isdigit())), versions
