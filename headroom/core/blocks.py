"""How a file's bytes lie: per block of each stack, outside the blocks, and in the other models of a checkpoint.

A block swap moves blocks, so a plan for one needs their real sizes: UNets' blocks differ by a factor of ten, quantised
files leave some layers alone, VACE has a stack of its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from .families.identity import Identity
from .families.index import DIGITS, LONGEST_NUMBER
from .tensorinfo import TensorInfo


@dataclass(frozen=True)
class StackBytes:
    """One numbered row of blocks."""

    stem: str
    """The names' beginning up to the number, prefix included."""
    role: str
    """As ``StackFound.role``: main, vace, side or repeat."""
    numbers: tuple[int, ...]
    """The blocks that are there; 0 to count-1 in a whole file."""
    block_bytes: tuple[int, ...]
    """In the order of ``numbers``."""

    @property
    def count(self) -> int:
        """Blocks that are there."""
        return len(self.numbers)

    @property
    def total_bytes(self) -> int:
        """All blocks together."""
        return sum(self.block_bytes)

    @property
    def uneven(self) -> bool:
        """Whether the largest block is larger than the smallest by more than a tenth."""
        return max(self.block_bytes) * 10 > min(self.block_bytes) * 11


@dataclass(frozen=True)
class Blocks:
    """A file's bytes, each counted once."""

    stacks: tuple[StackBytes, ...]
    outside_bytes: int
    """Of the main model, what is in no block: embeddings, modulation, the last layer."""
    others_bytes: int
    """The other models of a checkpoint."""
    total_bytes: int
    """The file's data bytes."""

    def __post_init__(self) -> None:
        counted = sum(stack.total_bytes for stack in self.stacks) + self.outside_bytes + self.others_bytes
        if counted != self.total_bytes:
            raise ValueError(f"blocks and the rest are {counted} bytes, the file has {self.total_bytes}")

    def of(self, role: str) -> tuple[StackBytes, ...]:
        """The stacks of a role."""
        return tuple(stack for stack in self.stacks if stack.role == role)


def split(tensors: Mapping[str, TensorInfo], identity: Identity) -> Blocks:
    """The bytes of a file by block.

    Args:
        tensors: every tensor of the file, as they were given to ``identify``.
        identity: what it is.
    """
    sizes: list[dict[int, int]] = [{} for _ in identity.stacks]
    outside = others = 0
    alone = identity.kind != "checkpoint"
    for name, tensor in tensors.items():
        for found, stack in zip(sizes, identity.stacks):
            number = block_number(name, stack.stem)
            if number is not None:
                found[number] = found.get(number, 0) + tensor.size_bytes
                break
        else:
            if alone or _is_main(name, identity):
                outside += tensor.size_bytes
            else:
                others += tensor.size_bytes
    rows = tuple(
        StackBytes(stack.stem, stack.role, tuple(sorted(found)), tuple(found[number] for number in sorted(found)))
        for found, stack in zip(sizes, identity.stacks)
    )
    return Blocks(rows, outside, others, sum(tensor.size_bytes for tensor in tensors.values()))


def block_number(name: str, stem: str) -> int | None:
    """The number of the block that a tensor belongs to; None where it belongs to none of this stem."""
    if not name.startswith(stem):
        return None
    end = len(stem)
    while end < len(name) and name[end] in DIGITS:
        end += 1
    whole = len(stem) < end <= len(stem) + LONGEST_NUMBER and name[end : end + 1] == "."
    return int(name[len(stem) : end]) if whole else None


def _is_main(name: str, identity: Identity) -> bool:
    """Whether a tensor of a checkpoint belongs to its diffusion model."""
    models = (part for part in identity.parts if part.kind == "diffusion model")
    main = next((part for part in models if identity.prefix.startswith(part.prefix)), None)
    if main is None:
        return False
    if main.prefix:
        return name.startswith(main.prefix)
    starts = tuple(part.prefix for part in identity.parts if part.prefix)
    return not name.startswith(starts)
