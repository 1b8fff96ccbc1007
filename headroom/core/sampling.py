"""What a watched sampling run found, as plain data, and which step a sigma belongs to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .latent import LatentCheck


@dataclass(frozen=True)
class Fault:
    """The first evaluation of the model whose denoised result was not finite."""

    step: int
    """Counted from 1."""
    steps: int
    sigma: float
    evaluation: int
    """Calls of the model so far in this run, this one included; several per step in heun, dpm_2 and others."""
    check: LatentCheck


@dataclass(frozen=True)
class SamplingRun:
    """One pass through the schedule."""

    dtype: str
    """What the model computed in: fp16, bf16, fp32."""
    steps: int
    evaluations: int
    seconds: float
    fault: Fault | None = None


def step_of(sigma: float, sigmas: Sequence[float]) -> int:
    """The step, from 1, in which the model is evaluated at ``sigma``; ``sigmas`` is the schedule, falling.

    The last entry that is not below ``sigma``: exact for samplers that evaluate on the schedule, and the step in which
    they lie for points between (dpm_2, dpmpp_sde). The second evaluation of heun is at the next entry and counts there.
    A schedule that rises (unsampling) counts in the same way from its other end.
    """
    steps = len(sigmas) - 1
    if steps < 1:
        return 1
    rising = sigmas[-1] > sigmas[0]
    reached = 0
    for place, entry in enumerate(sigmas[:-1]):
        if (entry <= sigma * (1 + 1e-4)) if rising else (entry >= sigma * (1 - 1e-4)):
            reached = place
    return reached + 1
