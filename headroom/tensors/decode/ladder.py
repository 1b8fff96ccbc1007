"""Decodes a latent so that the picture is there, sound and whole; the way up is in ``headroom/tensors/ladder``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from ..ladder.climb import climb
from ..ladder.memory import LadderMemory
from ..ladder.options import Attempt, Climbed, LadderHost, Options
from .job import DecodeJob
from .kinds import fitted, kind_of

SESSION = LadderMemory()
"""The lessons of the running ComfyUI about decodes."""


@dataclass
class Decoded(Climbed):
    """What came out, and how."""

    @property
    def images(self) -> torch.Tensor:
        """[B, H, W, C] or [B, T, H, W, C]."""
        return self.out


def decode_safely(
    vae: Any,
    samples: torch.Tensor,
    host: LadderHost,
    options: Options | None = None,
    *,
    tolerated: frozenset[int] = frozenset(),
    memory: LadderMemory = SESSION,
    on_attempt: Callable[[Sequence[Attempt]], None] | None = None,
) -> Decoded:
    """Decodes a latent, whatever it takes.

    Args:
        vae: the host's VAE object; it leaves as it came.
        samples: [B, C, H, W] or [B, C, T, H, W], any float dtype.
        host: the running ComfyUI.
        options: what the user chose.
        tolerated: batch items whose latent is known to be bad and that are decoded all the same.
        memory: lessons of this session.
        on_attempt: called after each attempt with all attempts so far.

    Raises:
        UnknownLayout, LatentError, WrongVae, VaeWithoutWeights: the inputs cannot be decoded; nothing was tried.
        DecodeFailed: every rung failed; the text names the saved latent.
    """
    kind = kind_of(vae)
    latent, notices = fitted(samples, kind)
    job = DecodeJob(vae, kind, latent, samples)
    climbed = climb(job, host, options or Options(), tolerated=tolerated, memory=memory, on_attempt=on_attempt)
    climbed.notices = (*notices, *climbed.notices)
    return Decoded(**vars(climbed))
