"""Model files made of a header alone or of a few bytes: sound, damaged, and sparse ones, long but small on the disk."""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

#: Bytes of one element, times two.
HALF_BYTES = {"F64": 16, "I64": 16, "F32": 8, "F16": 4, "BF16": 4, "F8_E4M3": 2, "F8_E5M2": 2, "F8_E8M0": 2}
HALF_BYTES |= {"U8": 2, "I8": 2, "F4": 1, "I32": 8, "BOOL": 2}

#: Numbers of GGUF's value types.
UINT8, UINT32, INT32, FLOAT32, BOOL, TEXT, ARRAY, UINT64 = 0, 4, 5, 6, 7, 8, 9, 10


def framed(header: bytes | Mapping[str, Any], data: bytes = b"") -> bytes:
    """A safetensors file: the length, the header as given, the data."""
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


def header_of(tensors: Mapping[str, tuple[str, Sequence[int]]], metadata: Mapping[str, str] | None = None) -> bytes:
    """A safetensors header: name -> (dtype, shape), one tensor behind the other."""
    header: dict[str, Any] = {} if metadata is None else {"__metadata__": dict(metadata)}
    end = 0
    for name, (dtype, shape) in tensors.items():
        begin, end = end, end + math.prod(shape) * HALF_BYTES[dtype] // 2
        header[name] = {"dtype": dtype, "shape": list(shape), "data_offsets": [begin, end]}
    return json.dumps(header).encode()


def data_bytes_of(tensors: Mapping[str, tuple[str, Sequence[int]]]) -> int:
    """Bytes of all tensors."""
    return sum(math.prod(shape) * HALF_BYTES[dtype] // 2 for dtype, shape in tensors.values())


def write_sparse(
    path: Path, tensors: Mapping[str, tuple[str, Sequence[int]]], metadata: Mapping[str, str] | None = None
) -> Path:
    """A sound safetensors file of full length whose data take no space on the disk."""
    start = framed(header_of(tensors, metadata))
    with path.open("wb") as file:
        file.write(start)
        file.truncate(len(start) + data_bytes_of(tensors))
    return path


def text(value: str | bytes) -> bytes:
    """A text in a GGUF file: its length and its bytes."""
    data = value.encode() if isinstance(value, str) else value
    return struct.pack("<Q", len(data)) + data


def value(key: str, type_: int, data: bytes) -> bytes:
    """A metadata value of a GGUF file."""
    return text(key) + struct.pack("<I", type_) + data


def array(type_: int, items: Sequence[bytes]) -> bytes:
    """An array in a GGUF file."""
    return struct.pack("<IQ", type_, len(items)) + b"".join(items)


def tensor(name: str, sides: Sequence[int], type_: int, offset: int) -> bytes:
    """An entry of a GGUF file's tensor list; ``sides`` in the file's order, columns first."""
    return text(name) + struct.pack(f"<I{len(sides)}QIQ", len(sides), *sides, type_, offset)


def gguf(
    values: Sequence[bytes] = (),
    tensors: Sequence[bytes] = (),
    data: bytes = b"",
    version: int = 3,
    alignment: int = 32,
) -> bytes:
    """A GGUF file."""
    start = b"GGUF" + struct.pack("<IQQ", version, len(tensors), len(values)) + b"".join(values) + b"".join(tensors)
    return start + bytes(-len(start) % alignment) + data


def write_large(path: Path) -> Path:
    """A file of 40 GB: Qwen-Image's 60 blocks with the names and about the sizes that they have."""
    side = 3072
    tensors: dict[str, tuple[str, Sequence[int]]] = {"img_in.weight": ("BF16", (side, 64))}
    for block in range(60):
        front = f"transformer_blocks.{block}"
        for name in ("to_q", "to_k", "to_v", "to_out.0", "add_q_proj", "add_k_proj", "add_v_proj", "to_add_out"):
            tensors[f"{front}.attn.{name}.weight"] = ("BF16", (side, side))
            tensors[f"{front}.attn.{name}.bias"] = ("BF16", (side,))
        for name in ("norm_q", "norm_k", "norm_added_q", "norm_added_k"):
            tensors[f"{front}.attn.{name}.weight"] = ("BF16", (128,))
        for stream in ("img", "txt"):
            for name, factor in (("mod.1", 6), ("mlp.net.0.proj", 4), ("mlp.net.2", 4)):
                tensors[f"{front}.{stream}_{name}.weight"] = ("BF16", (side * factor, side))
                tensors[f"{front}.{stream}_{name}.bias"] = ("BF16", (side * factor,))
    return write_sparse(path, tensors, {"format": "pt"})


def write_vocabulary(path: Path, tokens: int = 262_144) -> Path:
    """A GGUF file of almost nothing but a vocabulary, as Gemma has it: texts, scores, kinds."""
    values = [
        value("general.architecture", TEXT, text("gemma3")),
        value("tokenizer.ggml.tokens", ARRAY, array(TEXT, [text(f"token {index}") for index in range(tokens)])),
        value("tokenizer.ggml.scores", ARRAY, struct.pack("<IQ", FLOAT32, tokens) + bytes(4 * tokens)),
        value("tokenizer.ggml.token_type", ARRAY, struct.pack("<IQ", INT32, tokens) + bytes(4 * tokens)),
    ]
    path.write_bytes(gguf(values, [tensor("token_embd.weight", [256, 3], 12, 0)], bytes(3 * 144)))
    return path
