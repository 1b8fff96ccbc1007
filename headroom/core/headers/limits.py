"""How much of a file is looked at: a header comes from the net, and a damaged or hostile one must cost little."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Limits:
    """Upper bounds, all inclusive. Far above every known model, low enough for memory and time to stay bounded."""

    header_bytes: int = 100_000_000
    """Of a safetensors header, without its 8 bytes of length: the format's own limit (safetensors/src/tensor.rs)."""
    tensors: int = 200_000
    """Of one model. The UNet of SDXL has 1,680, Qwen-Image 1,933; language models of many experts some ten thousand."""
    dimensions: int = 32
    """Of one tensor; torch itself stops at 64, GGUF at 4."""
    number: int = 2**48
    """Largest offset, size or product of a shape: 256 TiB."""
    json_depth: int = 8
    """Of a header, an index or a note; a safetensors header needs 3."""
    unchecked_json_bytes: int = 4 * 2**20
    """A longer JSON text has its values counted before Python objects are made of them."""
    json_values: int = 2_000_000
    """Values in one JSON text; a safetensors header has 8 per tensor, counted by commas and brackets."""
    metadata_value_bytes: int = 2**20
    """A longer metadata value is left out: training logs and thumbnails, which nothing here reads."""
    metadata_bytes: int = 8 * 2**20
    """All metadata values that are kept."""
    note_bytes: int = 4096
    """Of one ``comfy_quant`` tensor; they hold about 30 bytes."""
    notes: int = 20_000
    """How many of those are read; one per quantised layer."""
    gguf_header_bytes: int = 2**28
    """From the start of a GGUF file to its first tensor; vocabulary and merges of a large one take 20 MB."""
    gguf_values: int = 65_536
    """Metadata values of a GGUF file; models for ComfyUI have at most some hundred."""
    gguf_strings: int = 4_000_000
    """Texts in the arrays of a GGUF file; a vocabulary of 256k tokens with its merges has 512k."""
    directory_bytes: int = 2**25
    """Of a zip directory: about 100 bytes per tensor."""
    pickle_bytes: int = 2**25
    """Of the pickle in a checkpoint that names its tensors: some 100 KB."""
    pickle_steps: int = 1_000_000
    """Instructions of that pickle: about 40 per tensor."""
    pickle_values: int = 1_000_000
    """Values that are looked at to find the tensors among them."""
    index_bytes: int = 2**25
    """Of an ``index.json`` or ``model_index.json``."""
    shards: int = 1_000
    """Files of one model."""


LIMITS = Limits()
