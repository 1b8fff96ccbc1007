"""The one question: what is this file, from its tensors' names, shapes and dtypes alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from ..tensorinfo import TensorInfo
from . import controlnets, others, text_encoders, vaes
from .diffusion import identify_diffusion, identify_remains
from .identity import Identity, StackFound
from .index import Header, Index
from .loras import identify_lora
from .parts import with_parts
from .pipelines import identify_pipeline, is_pipeline
from .plain import identify_row

#: What upscalers' files put in front of their names.
WRAPPERS = ("", "params_ema.", "params.", "module.")
UNKNOWN = "unknown model"
#: Rows of names that count as blocks in a file that is not known.
SHORTEST, SHORTEST_GLUED = 2, 4


def identify(
    tensors: Mapping[str, TensorInfo],
    metadata: Mapping[str, str] | None = None,
    notes: Mapping[str, str] | None = None,
) -> Identity:
    """What a file is.

    Args:
        tensors: every tensor of the file, as ``ModelFile.tensors``.
        metadata: the texts of its header; a few families are only told by them.
        notes: ``ModelFile.notes``: how packed weights are packed.
    """
    if is_pipeline(tensors):
        found = identify_pipeline(tensors, metadata or {}, notes or {}, identify)
    else:
        index = Index(tensors, metadata, notes)
        found = next((identity for identity in guesses(index) if identity is not None), None) or unknown(index)
        found = with_parts(index, found)
    size = sum(tensor.size_bytes for tensor in tensors.values())
    return replace(found, tensors=len(tensors), size_bytes=size)


def guesses(index: Index) -> Iterator[Identity | None]:
    """What the file may be, the surest first.

    Adapters and ControlNets come before models, since they use a model's own names.
    """
    header = Header(index)
    yield identify_lora(index)
    yield identify_row("controlnet", controlnets.ROWS, header)
    yield identify_row("style model", others.STYLE, header)
    yield identify_diffusion(index)
    yield identify_row("vae", vaes.ROWS, header)
    yield identify_row("text encoder", text_encoders.ROWS, header)
    yield identify_row("clip vision", others.VISION, header)
    for wrapper in WRAPPERS:
        yield identify_row("upscaler", others.UPSCALERS, Header(index, wrapper))
    yield identify_remains(index)


def unknown(index: Index) -> Identity:
    """A file that no row fits, with the repeats in its names: blocks, as far as one can tell."""
    return Identity("unknown", "unknown", UNKNOWN, stacks=tuple(repeats(index)))


def repeats(index: Index) -> Iterator[StackFound]:
    """Numbered rows of names from 0 on, the outermost ones; the longest first.

    A number that is glued to a word (``conv1``, ``conv2``) counts only in a longer row.
    """
    found = [
        StackFound(stem, len(numbers), "repeat")
        for stem, numbers in index.numbers.items()
        if len(numbers) >= (SHORTEST if stem.endswith(".") else SHORTEST_GLUED)
        and numbers == set(range(len(numbers)))
        and not any(part.isdigit() for part in stem.split("."))
    ]
    return iter(sorted(found, key=lambda stack: (-stack.count, stack.stem)))
