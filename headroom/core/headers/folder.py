"""A folder as one model: a diffusers pipeline with its components, or one component with its files."""

from __future__ import annotations

import os
import re
from typing import NamedTuple

from ..errors import ModelFileError
from ..tensorinfo import ModelFile
from .faults import Faults, listed, quoted
from .joined import Parts, under
from .jsontext import JsonFault, parse
from .limits import LIMITS, Limits
from .shards import is_plain, read_shards, shard
from .single import read_header
from .source import opened, reason

PIPELINE = "model_index.json"
CONFIG = "config.json"
#: Names that diffusers and transformers give to weights, the usual one first.
STEMS = ("diffusion_pytorch_model", "model", "pytorch_model")
SUFFIXES = (".safetensors", ".gguf", ".bin")
#: Classes of a pipeline that have no weights.
WEIGHTLESS = re.compile(r"(?:Scheduler|Tokenizer|TokenizerFast|FeatureExtractor|Processor|ProcessorFast)\Z")


class Group(NamedTuple):
    """Files that are one model: a single file, or shards."""

    suffix: str
    stem: str
    variant: str
    """``fp16`` in ``model.fp16.safetensors``; empty for the usual one."""
    shards: int
    """0 for a single file."""


def read_folder(path: str, limits: Limits = LIMITS) -> ModelFile:
    """The model in a folder; the names of a pipeline's tensors begin with the component's, "transformer/".

    Raises:
        ModelFileError: it holds none, or several that do not belong together.
    """
    name = os.path.basename(os.path.abspath(path))
    files, folders = _listing(path, name)
    components = [folder for folder in folders if os.path.isfile(os.path.join(path, folder, CONFIG))]
    if PIPELINE in files or (components and not groups(files)):
        parts = _read_components(path, name, components, PIPELINE in files, limits)
        if parts.models or parts.faults.found:
            return parts.joined(limits)
    if groups(files):
        return _read_group(path, files, limits)
    raise ModelFileError(f"{quoted(name)} holds no model file.")


def _read_components(path: str, name: str, components: list[str], listed_: bool, limits: Limits) -> Parts:
    """The components of a pipeline that have weights.

    Args:
        listed_: whether ``model_index.json`` is there to say which there should be.
    """
    parts = Parts(name, Faults(PIPELINE))
    wanted = _listed_components(os.path.join(path, PIPELINE), parts.faults, limits) if listed_ else []
    there = [part for part in wanted if os.path.isdir(os.path.join(path, part))]
    read: set[str] = set()
    for component in dict.fromkeys([*components, *there]):
        folder = os.path.join(path, component)
        try:
            files = _listing(folder, component)[0]
            if groups(files):
                parts.models.append(under(component, _read_group(folder, files, limits)))
                read.add(component)
        except ModelFileError as error:
            parts.faults.add("file-unreadable", reason=str(error).rstrip("."))
            read.add(component)
    parts.faults.add_names("missing-component", [part for part in wanted if part not in read])
    return parts


def _listing(path: str, name: str) -> tuple[list[str], list[str]]:
    """Names of the files and of the folders in a folder, sorted; hidden ones left out."""
    try:
        with os.scandir(path) as entries:
            found = sorted((entry.name, entry.is_dir()) for entry in entries if not entry.name.startswith("."))
    except (OSError, ValueError) as error:
        raise ModelFileError(f"{quoted(name)} cannot be read: {reason(error)}.") from error
    return [name for name, is_folder in found if not is_folder], [name for name, is_folder in found if is_folder]


def groups(files: list[str]) -> dict[Group, list[str]]:
    """The model files among these, by what belongs together."""
    result: dict[Group, list[str]] = {}
    for file in files:
        one = shard(file)
        whole = one.whole if one else file
        stem, dot, suffix = whole.rpartition(".")
        if f".{suffix}" not in SUFFIXES or not dot:
            continue
        stem, _, variant = stem.partition(".") if stem.partition(".")[0] in STEMS else (stem, "", "")
        result.setdefault(Group(f".{suffix}", stem, variant, one.total if one else 0), []).append(file)
    return result


def _read_group(path: str, files: list[str], limits: Limits) -> ModelFile:
    """The usual group of a folder; the others are named in a notice.

    Raises:
        ModelFileError: no group has a usual name and there are several.
    """
    found = groups(files)
    usual = {group: names for group, names in found.items() if group.stem in STEMS}
    if not usual and len(found) > 1:
        several = listed([quoted(names[0]) for names in found.values()][:3], len(found))
        raise ModelFileError(f"{quoted(os.path.basename(path))} holds several models: {several}. Name one of them.")
    chosen = min(usual or found, key=_preference)
    first = found[chosen][0]
    one = shard(first)
    model = read_shards(path, one, limits) if one else read_header(os.path.join(path, first), limits)
    faults = Faults(model.name)
    faults.add_names("other-variants", [names[0] for group, names in found.items() if group != chosen])
    parts = Parts(model.name, faults, [model])
    return parts.joined(limits)


def _preference(group: Group) -> tuple[int, bool, int, int, str]:
    """Safetensors before others, the usual variant first, whole files before shards: as diffusers chooses."""
    stem = STEMS.index(group.stem) if group.stem in STEMS else len(STEMS)
    return SUFFIXES.index(group.suffix), bool(group.variant), stem, group.shards, group.variant


def _listed_components(path: str, faults: Faults, limits: Limits) -> list[str]:
    """The components of a pipeline that have weights, from ``model_index.json``."""
    with opened(path) as source:
        try:
            if source.size > limits.index_bytes:
                raise JsonFault("bad-index", reason=f"it is {source.size:,} bytes long")
            value = parse(source.read(0, source.size), limits).value
            if not isinstance(value, dict):
                raise JsonFault("bad-index", reason="it is not a table of components")
        except JsonFault as fault:
            faults.add("bad-index", reason=fault.values.get("reason", "it is not a JSON text that can be read"))
            return []
    return [name for name, made_of in value.items() if _has_weights(name, made_of)]


def _has_weights(name: str, made_of: object) -> bool:
    """Whether an entry such as ``"vae": ["diffusers", "AutoencoderKL"]`` stands for weights."""
    if name.startswith("_") or not is_plain(name):
        return False
    if not (isinstance(made_of, list) and len(made_of) == 2 and isinstance(made_of[1], str)):
        return False
    return not WEIGHTLESS.search(made_of[1])
