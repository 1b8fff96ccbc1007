"""What ``inspect`` says of a file to programs. The names are an interface."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from ..core.component import Component
from ..core.families.identity import Identity
from ..core.tensorinfo import Fault


def as_json(one: Component) -> dict[str, Any]:
    """The file: bytes as whole numbers, null for what is not known."""
    identity = one.identity
    return {
        "file": one.name,
        "kind": identity.kind,
        "status": identity.status,
        "name": identity.name,
        "family": identity.family,
        "architecture": identity.architecture or None,
        "style": identity.style,
        "format": one.format,
        "file_bytes": one.file_bytes,
        "tensors": identity.tensors,
        "tensor_bytes": one.blocks.total_bytes,
        "parameters": one.parameters,
        **_bytes(one),
        **_traits(identity),
        "faults": [_fault(fault) for fault in one.faults],
        "missing": list(identity.faults),
        "remarks": list(identity.remarks),
    }


def _bytes(one: Component) -> dict[str, Any]:
    """Where the bytes are: by format, by block, by the models of a checkpoint."""
    return {
        "formats": [
            {"format": row.format, "layers": row.layers, "parameters": row.parameters, "bytes": row.size_bytes}
            for row in one.formats
        ],
        "blocks": [
            {"stem": stack.stem, "role": stack.role, "count": stack.count, "block_bytes": list(stack.block_bytes)}
            for stack in one.blocks.stacks
        ],
        "outside_bytes": one.blocks.outside_bytes,
        "others_bytes": one.blocks.others_bytes,
        "parts": [
            {"kind": part.kind, "name": part.name, "prefix": part.prefix, "bytes": part.size_bytes}
            for part in one.identity.parts
        ],
    }


def _traits(identity: Identity) -> dict[str, Any]:
    """What follows from the family."""
    latent = None if identity.latent is None else asdict(identity.latent)
    return {
        "latent": None if latent is None else {**latent, "format": latent["format"] or None},
        "dtypes": list(identity.dtypes),
        "fp16_overflow": identity.fp16_overflow or None,
        "memory_factor": identity.memory_factor,
        "memory_formula": identity.memory_formula or None,
        "sizes": {key: list(value) if isinstance(value, tuple) else value for key, value in identity.sizes.items()},
        "fits": list(identity.fits),
        "undetermined": identity.undetermined or None,
    }


def _fault(fault: Fault) -> dict[str, Any]:
    text = fault.text.replace("\u00a0", " ")
    return {"id": fault.id, "file": fault.file or None, "text": text, "notice": fault.notice}
