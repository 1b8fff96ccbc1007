"""What the host reserves for sampling, by its own formula (comfy/model_base.py 0.30.0, BaseModel.memory_required).

An area of latent elements, channels left out, times a factor per model. With fused attention it is scaled by the dtype,
without it by a number that is 7.5 times higher at two bytes.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from .families.identity import Identity
from .units import MIB

Shapes = Sequence[Sequence[int]]

ITEMSIZES = {"fp32": 4, "fp16": 2, "bf16": 2, "fp8": 1}
FUSED_PER_BYTE = 0.01
SPLIT = 0.15

#: Families that count reference latents, as comfy/model_base.py 0.30.0 does (extra_conds_shapes): by their area, or by
#: all their values over a number of channels.
BY_AREA = frozenset(
    {
        "Flux",
        "FluxInpaint",
        "FluxSchnell",
        "LongCatImage",
        "Flux2",
        "Chroma",
        "ChromaRadiance",
        "Lumina2",
        "ZImage",
        "ZImagePixelSpace",
    }
)
BY_VALUES: Mapping[str, int] = {
    "Omnigen2": 16,
    "Boogu": 16,
    "QwenImage": 16,
    "JoyImage": 16,
    "Krea2": 16,
    "MageFlow": 128,
    "WAN22_S2V": 16,
    "WAN21_SCAIL": 16,
    "WAN21_SCAIL2": 16,
}
#: Other inputs that a family counts; True: whatever their length, they count as one and a half frames.
OTHERS: Mapping[str, Mapping[str, bool]] = {
    "WAN22_S2V": {"reference_motion": True},
    "WAN21_SCAIL": {"pose_latents": True},
    "WAN21_SCAIL2": {"pose_latents": True, "sam_latents": True, "ref_mask_latents": False},
}
SHORT_FRAMES = 1.5


def itemsize(dtype: str) -> int:
    """Bytes per value. Raises ValueError for a dtype that no model computes in."""
    if dtype not in ITEMSIZES:
        raise ValueError(f"no model computes in {dtype}; it is one of fp32, bf16, fp16 and fp8")
    return ITEMSIZES[dtype]


def packed(latent: Sequence[int], streams: Shapes) -> tuple[int, ...]:
    """The shape that the host samples: latents that are sampled together become one row of values."""
    if not streams:
        return tuple(latent)
    return (latent[0], 1, sum(math.prod(shape[1:]) for shape in (latent, *streams)))


def area(shape: Sequence[float]) -> float:
    """Latent elements without the channels."""
    return shape[0] * math.prod(shape[2:])


def reference_area(family: str, references: Shapes) -> float:
    """What reference latents add; 0 for a family that does not count them."""
    if not references:
        return 0
    if family in BY_AREA:
        return sum(math.prod(shape[2:]) for shape in references)
    if family in BY_VALUES:
        return sum(math.prod(shape) for shape in references) // BY_VALUES[family]
    return 0


def other_area(family: str, conds: Mapping[str, Shapes]) -> float:
    """What a family's other inputs add."""
    total = 0.0
    for name, short in OTHERS.get(family, {}).items():
        for shape in conds.get(name, ()):
            total += shape[0] * SHORT_FRAMES * shape[-2] * shape[-1] if short else area(shape)
    return total


def reserved(factor: float, elements: float, dtype: str, attention: str) -> int:
    """``memory_required`` in bytes for an area."""
    if attention == "fused":
        return int((elements * itemsize(dtype) * FUSED_PER_BYTE * factor) * MIB)
    return int((elements * SPLIT * factor) * MIB)


def reserved_by_host(
    model: Identity,
    latent: Sequence[int],
    dtype: str,
    attention: str = "fused",
    *,
    prompts: int = 2,
    references: Shapes = (),
    prompts_with_references: int | None = None,
    conds: Mapping[str, Shapes] | None = None,
    streams: Shapes = (),
) -> int | None:
    """The host's number for a pass with some prompts in one batch; None where the family's factor is not known.

    Two prompts are what it wants, one is the least that it makes do with (comfy/sampler_helpers.py 0.30.0,
    estimate_memory): the latent's batch is doubled whatever cfg is, and references count for each prompt that has them.

    Args:
        model: the identity of the model's file.
        latent: the sampler's latent, not doubled.
        dtype: fp16, bf16, fp32 or fp8.
        attention: fused or split.
        prompts: 2 or 1.
        references: shapes of reference latents.
        prompts_with_references: of the prompts; None for all.
        conds: other counted inputs by the host's names.
        streams: shapes of latents that are sampled together with it.
    """
    factor = model.memory_factor_fp16 if dtype == "fp16" and model.memory_factor_fp16 else model.memory_factor
    if factor is None:
        return None
    family = model.family or ""
    counted = prompts if prompts_with_references is None else min(prompts, prompts_with_references)
    elements = area(packed(latent, streams)) * prompts
    elements += (reference_area(family, references) + other_area(family, conds or {})) * counted
    return reserved(factor, elements, dtype, attention)
