"""Model files as the flag rules see what a run will load: kind, family, bytes and packing, by the file's header."""

from __future__ import annotations

from collections.abc import Sequence

from .component import Component
from .readings import WorkflowModel

#: What a checkpoint can hold beside its diffusion model, and which the rules ask about.
BESIDE = ("text encoder", "vae")
FP8 = ("fp8_e4m3", "fp8_e5m2")


def planned(found: Component, kind: str | None = None, family: str | None = None) -> Sequence[WorkflowModel]:
    """What a file brings to a run: a checkpoint its diffusion model, text encoders and VAE, another file itself.

    Args:
        kind: as ``WorkflowModel.kind``, where a person says what the file is; it wins over the header, which is not
            always clear. A file that nobody knows counts as a diffusion model.
        family: the same for its family.
    """
    identity = found.identity
    own = _kind(identity.kind) if kind is None else kind
    main = WorkflowModel(
        kind=own,
        family=family or identity.family or None,
        # A file that is broken or not understood has no tensors; its length is all that is known.
        size_bytes=found.weights_bytes or found.file_bytes,
        gguf=found.gguf,
        fp8=found.format.startswith("fp8"),
        scaled=_scaled(found.format),
        dtype=found.format if found.formats else None,
    )
    beside = [WorkflowModel(one, size_bytes=size) for one in BESIDE if own != one and (size := found.part_bytes(one))]
    return (main, *beside)


def _kind(kind: str) -> str:
    return "diffusion" if kind in {"diffusion model", "checkpoint", "unknown"} else kind


def _scaled(stored: str) -> bool | None:
    """None for what is not fp8 at all."""
    return stored not in FP8 if stored.startswith("fp8") else None
