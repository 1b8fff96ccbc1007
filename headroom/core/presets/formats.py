"""How the tensors of a model are stored in a format: its matrices packed, the rest as it is."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from ..tensorinfo import TensorInfo

BYTES = {"F32": 4, "F16": 2, "BF16": 2, "F8_E4M3": 1}
#: Values per block and bytes per block of GGUF's types (the gguf package's GGML_QUANT_SIZES).
GGUF_BLOCKS = {"Q8_0": (32, 34), "Q4_K": (256, 144)}


@dataclass(frozen=True)
class Format:
    """One way to store a model."""

    id: str
    word: str
    """In the name of a preset."""
    packed: str
    """Of the matrices in blocks."""
    rest: str
    """Of everything else."""
    gguf: bool = False
    everywhere: bool = False
    """Matrices outside of blocks are packed too; token embeddings are not."""


FORMATS: Mapping[str, Format] = {
    row.id: row
    for row in (
        Format("fp32", "fp32", "F32", "F32"),
        Format("fp16", "fp16", "F16", "F16"),
        Format("bf16", "bf16", "BF16", "BF16"),
        # As ComfyUI's own fp8_scaled files: Wan 14B with all matrices in fp8 is staged as 13631 MiB (ComfyUI #13234).
        Format("fp8", "fp8", "F8_E4M3", "BF16", everywhere=True),
        Format("q8", "GGUF Q8_0", "Q8_0", "F16", gguf=True),
        # Files called Q4_K_M keep some matrices in Q6_K and are a tenth larger.
        Format("q4", "GGUF Q4_K", "Q4_K", "F16", gguf=True),
    )
}


def tensor(name: str, shape: tuple[int, ...], in_block: bool, format_: Format) -> TensorInfo:
    """A tensor of a model as a format stores it."""
    packs = in_block or (format_.everywhere and "embed_tokens" not in name and not name.startswith("shared."))
    dtype = format_.packed if packs and len(shape) == 2 and name.endswith("weight") else format_.rest
    elements = math.prod(shape)
    if dtype not in GGUF_BLOCKS:
        return TensorInfo(name, dtype, shape, elements * BYTES[dtype])
    values, size = GGUF_BLOCKS[dtype]
    if shape[-1] % values:
        return TensorInfo(name, format_.rest, shape, elements * BYTES[format_.rest])
    return TensorInfo(name, dtype, shape, elements // values * size)
