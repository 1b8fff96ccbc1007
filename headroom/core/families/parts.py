"""The models in a checkpoint, each by the beginning of its names.

Source: vae_key_prefix, text_encoder_key_prefix and clip_vision_prefix of the classes in comfy/supported_models.py
0.30.0, and the host's names for what it saves.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from . import others, text_encoders, vaes
from .identity import Identity, Kind, Part
from .index import Header, Index
from .plain import Row, identify_row

#: (beginning, kind, whether what follows up to the next dot belongs to it). The first that fits counts.
BEGINNINGS: tuple[tuple[str, Kind, bool], ...] = (
    ("first_stage_model.", "vae", False),
    ("vae.", "vae", False),
    ("audio_vae.", "vae", False),
    ("vocoder.", "vae", False),
    ("pretransform.model.", "vae", False),
    ("conditioner.embedders.1.encoder.", "vae", False),
    ("conditioner.embedders.0.open_clip.model.visual.", "clip vision", False),
    ("conditioner.main_image_encoder.model.", "clip vision", False),
    ("embedder.model.visual.", "clip vision", False),
    ("cond_stage_model.model.visual.", "clip vision", False),
    ("clip_l_vision.", "clip vision", False),
    ("cond_stage_model.", "text encoder", False),
    ("conditioner.embedders.", "text encoder", True),
    ("text_encoders.", "text encoder", True),
    ("text_encoder.", "text encoder", False),
)
STARTS = tuple(start for start, _, _ in BEGINNINGS)
#: What may stand between a part's beginning and the names of the rows.
INNER = ("", "transformer.", "model.", "autoencoder.")
VISUAL = "visual."
ROWS: dict[str, tuple[Row, ...]] = {
    "vae": vaes.ROWS,
    "text encoder": text_encoders.ROWS,
    "clip vision": others.VISION,
}


def with_parts(index: Index, found: Identity) -> Identity:
    """The identity of a file with its parts, where it has more than a diffusion model."""
    if found.kind not in {"diffusion model", "unknown"} or not any(start[:-1] in index.paths for start in STARTS):
        return found
    groups = group(index, found)
    if not any(kind in ROWS for kind, _ in groups):
        return found
    parts = tuple(describe(index, found, kind, prefix, names) for (kind, prefix), names in groups.items())
    name = found.name if found.kind == "diffusion model" else "checkpoint of an unknown model"
    return replace(found, kind="checkpoint", name=name, parts=parts)


def group(index: Index, found: Identity) -> dict[tuple[str, str], list[str]]:
    """All names by the part that they belong to."""
    groups: dict[tuple[str, str], list[str]] = {}
    main = found.prefix if found.kind == "diffusion model" else None
    for name in index.tensors:
        if main and name.startswith(main):
            key = ("diffusion model", main)
        elif name.startswith(STARTS):
            key = part_of(name)
        else:
            key = ("diffusion model", "") if main == "" else ("other", "")
        groups.setdefault(key, []).append(name)
    return groups


def part_of(name: str) -> tuple[str, str]:
    """Kind and prefix of the part that a name belongs to."""
    start, kind, deeper = next(row for row in BEGINNINGS if name.startswith(row[0]))
    if not deeper:
        return kind, start
    return kind, f"{start}{name[len(start) :].partition('.')[0]}."


def describe(index: Index, found: Identity, kind: str, prefix: str, names: list[str]) -> Part:
    """One part: what it is, as far as its names tell, and its bytes."""
    row, name = "", kind
    if kind == "diffusion model":
        row, name = found.row, found.name
    else:
        known = next(_known(index, kind, prefix), None)
        if known is not None:
            row, name = known.row, known.name
    size = sum(index.tensors[each].size_bytes for each in names)
    return Part(kind, prefix, row, name, len(names), size)


def _known(index: Index, kind: str, prefix: str) -> Iterator[Identity]:
    starts = [prefix + inner for inner in INNER]
    if prefix.endswith(VISUAL):
        # The rows for OpenCLIP's names begin with this themselves.
        starts.append(prefix.removesuffix(VISUAL))
    for start in starts:
        identity = identify_row("unknown", ROWS.get(kind, ()), Header(index, start))
        if identity is not None:
            yield identity
