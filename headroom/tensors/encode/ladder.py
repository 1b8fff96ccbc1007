"""Encodes images so that the latent is there, sound and whole; the way up is in ``headroom/tensors/ladder``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from ..ladder.climb import climb
from ..ladder.memory import LadderMemory
from ..ladder.options import Attempt, Climbed, LadderHost, Options
from .job import EncodeJob
from .kinds import fitted, kind_of

SESSION = LadderMemory()
"""The lessons of the running ComfyUI about encodes."""


@dataclass
class Encoded(Climbed):
    """What came out, and how."""

    @property
    def latent(self) -> torch.Tensor:
        """[B, C, H, W] or [B, C, T, H, W], as the stock encode gives it."""
        return self.out


def encode_safely(
    vae: Any,
    pixels: torch.Tensor,
    host: LadderHost,
    options: Options | None = None,
    *,
    tolerated: frozenset[int] = frozenset(),
    memory: LadderMemory = SESSION,
    on_attempt: Callable[[Sequence[Attempt]], None] | None = None,
) -> Encoded:
    """Encodes images, whatever it takes.

    Args:
        vae: the host's VAE object; it leaves as it came.
        pixels: [B, H, W, C]; for a video VAE these are the frames of one video.
        host: the running ComfyUI.
        options: what the user chose.
        tolerated: images that are known to be bad and that are encoded all the same.
        memory: lessons of this session.
        on_attempt: called after each attempt with all attempts so far.

    Raises:
        ImageError, WrongVae, VaeWithoutWeights: the inputs cannot be encoded; nothing was tried.
        EncodeFailed: every rung failed.
    """
    kind = kind_of(vae)
    job = EncodeJob(vae, kind, fitted(vae, kind, pixels))
    items = job.items_of(tolerated)
    return Encoded(
        **vars(climb(job, host, options or Options(), tolerated=items, memory=memory, on_attempt=on_attempt))
    )
