"""From a header to a diffusion family: the engine that reads the tables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from .damage import faults_of, remarks_of, stacks_of
from .identity import Identity, Value
from .index import Header, Index, json_object
from .rows import Architecture, Family, first_fit
from .table import ARCHITECTURES

#: Where the tensors of a diffusion model start in files that hold more, and how many names must be there for it
#: (comfy/model_detection.py 0.30.0, unet_prefix_from_state_dict).
PREFIXES: tuple[str, ...] = ("model.diffusion_model.", "model.model.", "net.")
ENOUGH = 5
OTHER_PREFIX = "model."
NO_CLASS = "ComfyUI 0.30.0 has no class for a model of this shape"


def prefix_of(index: Index) -> str:
    """What stands in front of a diffusion model's names; empty where nothing does."""
    if {"detector", "tracker"} <= index.paths:
        return ""
    there = [prefix for prefix in PREFIXES if prefix[:-1] in index.paths]
    counts = {prefix: sum(name.startswith(prefix) for name in index.tensors) for prefix in there}
    best = max(there, key=lambda prefix: counts[prefix], default="")
    if best and counts[best] > ENOUGH:
        return best
    return OTHER_PREFIX if OTHER_PREFIX[:-1] in index.paths else ""


def identify_diffusion(index: Index) -> Identity | None:
    """The family of a model file or a checkpoint; None where no architecture fits."""
    header = Header(index, prefix_of(index))
    row = first_fit(ARCHITECTURES, header)
    return None if row is None else describe(header, row)


def identify_remains(index: Index) -> Identity | None:
    """A file with blocks of an architecture and without what it is recognised by, such as one shard of several."""
    header = Header(index, prefix_of(index))
    for row in ARCHITECTURES:
        if any(header.prefix + trace in index.numberless for trace in row.traces):
            missing = tuple(f"{key} is missing" for key in row.sign.keys if not header.has(key))
            return Identity(
                kind="diffusion model",
                status="broken",
                name=row.remains or row.name,
                architecture=row.group,
                style=row.style,
                prefix=header.prefix,
                stacks=stacks_of(header, row),
                faults=tuple(dict.fromkeys((*missing, *faults_of(header, row)))),
            )
    return None


def describe(header: Header, row: Architecture) -> Identity:
    """All that follows from a header of a known architecture."""
    sizes = read_sizes(header, row)
    family = next((family for family in row.families if family.fits(sizes)), None)
    faults = faults_of(header, row)
    width = sizes.get(row.hidden)
    found = Identity(
        kind="diffusion model",
        status="broken" if faults else "unknown" if family is None else "known",
        name=row.name,
        architecture=row.group,
        style=row.style,
        prefix=header.prefix,
        stacks=stacks_of(header, row),
        sizes=sizes,
        hidden_size=width if isinstance(width, int) else None,
        faults=faults,
        remarks=(*remarks_of(header, row), *(() if family else (NO_CLASS,))),
    )
    return found if family is None else with_family(found, row, family)


def read_sizes(header: Header, row: Architecture) -> Mapping[str, Value]:
    """The facts of an architecture, and what the file's metadata sets over them as the host lets it."""
    sizes = {name: fact.read(header) for name, fact in row.facts.items()}
    if row.reader is not None:
        sizes |= row.reader(header)
    if row.config:
        told = json_object(header.index.metadata.get("config")).get("transformer")
        if isinstance(told, dict):
            sizes |= {key: told[key] for key in row.config if isinstance(told.get(key), int | str | float)}
    return sizes


def with_family(found: Identity, row: Architecture, family: Family) -> Identity:
    """The same with what the family's row says."""
    factor = family.memory.value(found.sizes)
    return replace(
        found,
        name=name_of(row, family, found.sizes),
        row=family.id,
        family=family.id,
        latent=family.latent_for(found.sizes),
        memory_factor=factor,
        memory_factor_fp16=None if factor is None else factor * family.memory.fp16,
        memory_formula=family.memory.formula,
        dtypes=family.dtypes,
        dtypes_note=family.dtypes_note,
        fp16_overflow=family.fp16_overflow,
        undetermined=family.undetermined,
    )


def name_of(row: Architecture, family: Family, sizes: Mapping[str, Value]) -> str:
    """The family's name for people, with the words for its size and task."""
    key, words = row.size or ("", {})
    text = family.name.format(size=words.get(sizes.get(key), ""), task=sizes.get("task", ""))
    return " ".join(text.split())
