"""The tensor types of GGUF with their sizes as whole numbers: rounded bits per weight are wrong by up to 12 %.

The truth is ``GGML_QUANT_SIZES`` of the ``gguf`` package; this is 0.19.0. The package is not needed to read a file, but
a newer one that is installed adds the types that it knows.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple


class BlockType(NamedTuple):
    """A tensor type: ``elements`` neighbours in a row are stored together in ``size_bytes``."""

    name: str
    elements: int
    size_bytes: int


TYPES = {
    0: BlockType("F32", 1, 4),
    1: BlockType("F16", 1, 2),
    2: BlockType("Q4_0", 32, 18),
    3: BlockType("Q4_1", 32, 20),
    6: BlockType("Q5_0", 32, 22),
    7: BlockType("Q5_1", 32, 24),
    8: BlockType("Q8_0", 32, 34),
    9: BlockType("Q8_1", 32, 40),
    10: BlockType("Q2_K", 256, 84),
    11: BlockType("Q3_K", 256, 110),
    12: BlockType("Q4_K", 256, 144),
    13: BlockType("Q5_K", 256, 176),
    14: BlockType("Q6_K", 256, 210),
    15: BlockType("Q8_K", 256, 292),
    16: BlockType("IQ2_XXS", 256, 66),
    17: BlockType("IQ2_XS", 256, 74),
    18: BlockType("IQ3_XXS", 256, 98),
    19: BlockType("IQ1_S", 256, 50),
    20: BlockType("IQ4_NL", 32, 18),
    21: BlockType("IQ3_S", 256, 110),
    22: BlockType("IQ2_S", 256, 82),
    23: BlockType("IQ4_XS", 256, 136),
    24: BlockType("I8", 1, 1),
    25: BlockType("I16", 1, 2),
    26: BlockType("I32", 1, 4),
    27: BlockType("I64", 1, 8),
    28: BlockType("F64", 1, 8),
    29: BlockType("IQ1_M", 256, 56),
    30: BlockType("BF16", 1, 2),
    34: BlockType("TQ1_0", 256, 54),
    35: BlockType("TQ2_0", 256, 66),
    39: BlockType("MXFP4", 32, 17),
    40: BlockType("NVFP4", 64, 36),
    41: BlockType("Q1_0", 128, 18),
}


def block_type(number: int) -> BlockType | None:
    """The type with this number, None where neither this table nor an installed ``gguf`` package knows it."""
    return TYPES.get(number) or installed_types().get(number)


@lru_cache(maxsize=1)
def installed_types() -> dict[int, BlockType]:
    """The types of the ``gguf`` package; empty where it is missing. Importing it takes longer than reading a file."""
    try:
        from gguf.constants import GGML_QUANT_SIZES
    except ImportError:
        return {}
    return {int(type_): BlockType(type_.name, *sizes) for type_, sizes in GGML_QUANT_SIZES.items()}
