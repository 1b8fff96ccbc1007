"""Folders of diffusers: several components in one model, each with its folder in front of its names."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TypeVar

from ..tensorinfo import TensorInfo
from .identity import Identity, Part

SEPARATOR = "/"
#: Components that are the diffusion model; Wan 2.2 and others have a second one.
MAIN = ("transformer", "unet", "prior", "decoder", "transformer_2")

Value = TypeVar("Value")
Identify = Callable[[Mapping[str, TensorInfo], Mapping[str, str], Mapping[str, str]], Identity]


def is_pipeline(tensors: Mapping[str, TensorInfo]) -> bool:
    """Whether the names begin with folders, as ``headers`` gives them for a pipeline."""
    first = next(iter(tensors), "")
    return SEPARATOR in first and all(SEPARATOR in name for name in tensors)


def identify_pipeline(
    tensors: Mapping[str, TensorInfo], metadata: Mapping[str, str], notes: Mapping[str, str], identify: Identify
) -> Identity:
    """The diffusion model of a pipeline, with all components as parts."""
    folders = dict.fromkeys(name.partition(SEPARATOR)[0] for name in tensors)
    found = {
        folder: identify(_below(folder, tensors), _below(folder, metadata), _below(folder, notes)) for folder in folders
    }
    parts = tuple(
        Part(part.kind, folder + SEPARATOR, part.row, part.name, part.tensors, part.size_bytes)
        for folder, part in found.items()
    )
    main = next((folder for folder in MAIN if folder in found and found[folder].kind == "diffusion model"), None)
    if main is None:
        return Identity("checkpoint", "unknown", "pipeline of an unknown model", parts=parts)
    model, start = found[main], main + SEPARATOR
    stacks = tuple(replace(stack, stem=start + stack.stem) for stack in model.stacks)
    return replace(model, kind="checkpoint", prefix=start + model.prefix, stacks=stacks, parts=parts)


def _below(folder: str, table: Mapping[str, Value]) -> dict[str, Value]:
    start = folder + SEPARATOR
    return {name[len(start) :]: value for name, value in table.items() if name.startswith(start)}
