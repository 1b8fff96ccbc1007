"""Several files as one model."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

from ..tensorinfo import Fault, ModelFile, TensorInfo
from .faults import Faults
from .limits import Limits

Value = TypeVar("Value")


@dataclass
class Parts:
    """The files of one model as they are read, and what is wrong with the set."""

    name: str
    faults: Faults
    models: list[ModelFile] = field(default_factory=list)

    def joined(self, limits: Limits) -> ModelFile:
        """All parts as one model; a tensor that two of them have is a fault, and the last of it counts."""
        tensors: dict[str, TensorInfo] = {}
        repeated: list[str] = []
        for part in self.models:
            repeated += [name for name in part.tensors if name in tensors]
            tensors.update(part.tensors)
            if len(tensors) > limits.tensors:
                self.faults.add("too-many-tensors", count=f"{len(tensors):,}", limit=f"{limits.tensors:,}")
                break
        self.faults.add_names("duplicate-names", list(dict.fromkeys(repeated)))
        formats = Counter(part.format for part in self.models)
        return ModelFile(
            self.name,
            formats.most_common(1)[0][0] if formats else "unknown",
            tensors,
            _first(part.metadata for part in self.models),
            sum(part.header_bytes for part in self.models),
            sum(part.file_bytes for part in self.models),
            (*self.faults.found, *(fault for part in self.models for fault in part.faults)),
            _first(part.files for part in self.models),
            _first(part.notes for part in self.models),
        )


def _first(tables: Iterable[Mapping[str, Value]]) -> dict[str, Value]:
    """All tables as one; of a key that several have, the first."""
    result: dict[str, Value] = {}
    for table in tables:
        for key, value in table.items():
            result.setdefault(key, value)
    return result


def under(folder: str, model: ModelFile) -> ModelFile:
    """The model with its folder in front of every name: tensors, metadata, files, faults."""
    front = f"{folder}/"
    return replace(
        model,
        tensors={front + name: replace(tensor, name=front + name) for name, tensor in model.tensors.items()},
        metadata={front + key: value for key, value in model.metadata.items()},
        files={front + name: size for name, size in model.files.items()},
        notes={front + name: text for name, text in model.notes.items()},
        faults=_under(front, model.faults),
    )


def _under(front: str, faults: Sequence[Fault]) -> tuple[Fault, ...]:
    return tuple(replace(fault, file=front + fault.file) for fault in faults)
