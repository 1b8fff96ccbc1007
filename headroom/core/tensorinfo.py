"""What a model file says about its tensors, without reading one: made by ``headers``, read by everything else."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True)
class TensorInfo:
    """One tensor of a file."""

    name: str
    dtype: str
    """As the file's own format names it: ``F16``, ``BF16``, ``F8_E4M3``, ``U8`` (safetensors), ``Q4_K`` (GGUF)."""
    shape: tuple[int, ...]
    """As torch would show it, rows first; for GGUF in that order too, which is the reverse of the file's."""
    size_bytes: int
    """From the offsets, never computed from dtype and shape."""

    @property
    def elements(self) -> int:
        """Elements as stored; a packed 4-bit tensor has half as many as it has parameters."""
        return math.prod(self.shape)


@dataclass(frozen=True)
class Fault:
    """Something wrong with a file, by name, in one line for the person who has to replace it."""

    id: str
    """Stable: ``empty``, ``truncated``, ``too-long``, ``html``, ``git-lfs-pointer``, ``pickle``, ``bad-json``, ..."""
    text: str
    file: str = ""
    """File name without its folder."""
    notice: bool = False
    """True where the file can be used all the same: an unknown dtype, bytes that no tensor uses."""


@dataclass(frozen=True)
class ModelFile:
    """A model on disk: one file, the shards of one, or a diffusers folder. Paths are kept out of what is shown."""

    name: str
    format: str
    """``safetensors``, ``gguf``, ``pickle-zip``, ``pickle``, ``unknown``; the majority's for a folder."""
    tensors: Mapping[str, TensorInfo]
    metadata: Mapping[str, str] = field(default_factory=dict)
    header_bytes: int = 0
    """All that is no tensor of the model: header, directory, padding, what a training run saved beside the weights."""
    file_bytes: int = 0
    """All files together: header_bytes plus the tensors' bytes where there is no fault."""
    faults: Sequence[Fault] = ()
    files: Mapping[str, int] = field(default_factory=dict)
    """Bytes of each file that was read, by its name; in a diffusers folder with the component's folder in front."""
    notes: Mapping[str, str] = field(default_factory=dict)
    """JSON texts that tensors hold, by the tensor's name: ``X.comfy_quant``, ``X.quant_state.bitsandbytes__nf4``."""

    @property
    def data_bytes(self) -> int:
        """Bytes of all tensors."""
        return sum(tensor.size_bytes for tensor in self.tensors.values())

    @property
    def broken(self) -> bool:
        """Whether something is wrong that a loader would stumble over; a good size does not prove good bytes."""
        return any(not fault.notice for fault in self.faults)
