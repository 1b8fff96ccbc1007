"""One model of a run, from its file's header: what it is, its bytes by block, how it is packed."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from .blocks import Blocks, StackBytes, split
from .families import identify
from .families.identity import Identity
from .headers import read
from .headers.quant import FormatTotal, quantisation
from .tensorinfo import Fault, ModelFile

#: How a format of weights is called in running text; others keep their own name.
SHORT = {"F16": "fp16", "BF16": "bf16", "F32": "fp32", "F8_E4M3": "fp8", "F8_E5M2": "fp8"}


@dataclass(frozen=True)
class Component:
    """A model file, or the model that a checkpoint is mostly made of."""

    name: str
    """The file's name without its folder."""
    identity: Identity
    blocks: Blocks
    file_bytes: int
    formats: Sequence[FormatTotal]
    """Largest first."""
    parameters: int | None
    largest_tensor_bytes: int
    """Of the main model: the least that has to be on the card at once while weights are streamed."""
    gguf: bool = False
    faults: Sequence[Fault] = ()
    repeated_tensor_bytes: int = 0
    """The largest size that three of those tensors have: layers under way at once where weights are fetched ahead."""
    mapped: bool = False
    """A .safetensors file, which ComfyUI maps where dynamic VRAM is on: see ``ram_room``."""

    @property
    def broken(self) -> bool:
        """A loader would stumble over the file."""
        return any(not fault.notice for fault in self.faults)

    @property
    def weights_bytes(self) -> int:
        """Bytes of the main model: of a checkpoint, the diffusion model."""
        return self.blocks.total_bytes - self.blocks.others_bytes

    @property
    def main_blocks(self) -> tuple[int, ...]:
        """Bytes of every block that a swap moves, in the order in which they run."""
        return tuple(size for stack in self._swapped() for size in stack.block_bytes)

    @property
    def vace_blocks(self) -> tuple[int, ...]:
        """Bytes of every VACE block."""
        return tuple(size for stack in self.blocks.of("vace") for size in stack.block_bytes)

    @property
    def outside_bytes(self) -> int:
        """What stays on the card in a block swap: outside of blocks, refiners, adapters."""
        return self.weights_bytes - sum(self.main_blocks) - sum(self.vace_blocks)

    @property
    def format(self) -> str:
        """What most of its bytes are stored in: ``bf16``, ``fp8_e4m3_scaled``, ``Q4_K``."""
        return SHORT.get(self.formats[0].format, self.formats[0].format) if self.formats else "unknown"

    def part_bytes(self, kind: str) -> int:
        """Bytes of the parts of a kind in a checkpoint; 0 for a file of one model."""
        return sum(part.size_bytes for part in self.identity.parts if part.kind == kind)

    def _swapped(self) -> tuple[StackBytes, ...]:
        """The main stacks, or those of repeats where the file is not known."""
        found = self.blocks.of("main")
        return found or self.blocks.of("repeat")[:1]


def component(path: str | os.PathLike[str]) -> Component:
    """The model at ``path``: a file, a shard or the index of several, a diffusers folder.

    Raises:
        ModelFileError: there is no model file, or it may not be read. A broken file gives faults instead.
    """
    return component_of(read(path))


def component_of(model: ModelFile) -> Component:
    """The component that a header describes."""
    identity = identify(model.tensors, model.metadata, model.notes)
    packed = quantisation(model)
    sizes = _sizes(model, identity)
    return Component(
        name=model.name,
        identity=identity,
        blocks=split(model.tensors, identity),
        file_bytes=model.file_bytes,
        formats=packed.formats,
        parameters=packed.parameters,
        largest_tensor_bytes=max(sizes, default=0),
        repeated_tensor_bytes=max((size for size, count in Counter(sizes).items() if count >= 3), default=0),
        gguf=model.format == "gguf",
        faults=tuple(model.faults),
        mapped=model.format == "safetensors",
    )


def _sizes(model: ModelFile, identity: Identity) -> Sequence[int]:
    """Bytes of the main model's tensors; of all where a checkpoint's main model has no beginning of its own."""
    sizes: Mapping[str, int] = {name: tensor.size_bytes for name, tensor in model.tensors.items()}
    main = [size for name, size in sizes.items() if name.startswith(identity.prefix)]
    return main or list(sizes.values())
