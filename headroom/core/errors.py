"""Every error that Headroom raises on purpose.

HeadroomError
  LatentError             the latent that came in cannot be used
    NonFiniteLatent       it holds NaN or Inf
    UnknownLayout         its shape is none that ComfyUI uses
  VaeError                the VAE that came in cannot decode this latent
    VaeWithoutWeights     the file or checkpoint held no VAE
    WrongVae              channels or kind do not fit
  DecodeFailed            every rung of the ladder failed; names the saved latent

Texts are for the person at the screen: what was wrong, with the value, and what to do.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


class HeadroomError(Exception):
    """Base of all errors raised on purpose."""


class LatentError(HeadroomError):
    """The latent that came in cannot be used."""


class NonFiniteLatent(LatentError):
    """The latent holds NaN or Inf."""


class UnknownLayout(LatentError):
    """The latent's shape is none that ComfyUI uses."""


class VaeError(HeadroomError):
    """The VAE that came in cannot decode this latent."""


class VaeWithoutWeights(VaeError):
    """The file or checkpoint held no VAE."""


class WrongVae(VaeError):
    """The VAE's channels or kind do not fit the latent."""


class DecodeFailed(HeadroomError):
    """Every rung of the decode ladder failed; ``attempts`` are those that were made."""

    def __init__(self, text: str, attempts: Sequence[Any] = ()) -> None:
        super().__init__(text)
        self.attempts: tuple[Any, ...] = tuple(attempts)
