"""The latent that a decode is given: one tensor of it, judged before any rung is tried."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from ...core.choices import REPLACE, STOP
from ...core.errors import NonFiniteLatent
from ...core.latent import LatentCheck
from ...core.latent_words import part
from .. import repair
from ..latent_check import check
from ..layouts import Layout, read


@dataclass(frozen=True)
class Prepared:
    """What is decoded."""

    samples: torch.Tensor
    check: LatentCheck
    tolerated: frozenset[int] = frozenset()
    """Items that are bad and decoded all the same."""
    notices: Sequence[str] = ()


def prepare(latent: Mapping[str, Any], rule: str) -> Prepared:
    """The first stream of a LATENT, as the host's VAEDecode takes it; of an audio-video latent that is the video.

    Args:
        latent: the LATENT.
        rule: what to do when it holds NaN or Inf, one of BAD_LATENT_RULES.

    Raises:
        NonFiniteLatent: it does, and the run is to stop. No precision of the VAE could help.
        LatentError, UnknownLayout: this is no latent.
    """
    whole = read(latent)
    stream = whole.streams[0]
    layout = Layout(stream.tensor, False, (stream,))
    found = check(layout, {})
    if found.finite:
        empty = stream.tensor.numel() > 0 and not bool(stream.tensor.any())
        notices = ("All values are zero: an empty latent, no sampler ran on it",) if empty else ()
        return Prepared(stream.tensor, found, notices=notices)
    where = part(found)
    if rule == STOP:
        raise NonFiniteLatent(
            f"The samples input is already bad: {where[0].lower()}{where[1:]}. The VAE is not the cause and no "
            "precision can help; put a Latent Guard behind each sampler to see where it begins."
        )
    if rule == REPLACE:
        samples, replaced = repair.replace(layout)
        return Prepared(samples, found, notices=(f"{where}: {replaced:,} values replaced before the decode",))
    notice = f"{where}: decoded anyway, that part of the picture is not sound"
    return Prepared(stream.tensor, found, frozenset(found.bad_items), (notice,))
