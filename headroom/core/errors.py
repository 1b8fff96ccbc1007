"""Every error that Headroom raises on purpose.

HeadroomError
  LatentError             the latent that came in cannot be used
    NonFiniteLatent       it holds NaN or Inf
    UnknownLayout         its shape is none that ComfyUI uses
  NonFiniteSampling       a sampling step gave NaN or Inf
  ImageError              the images, the mask or the audio that came in cannot be used
    NonFiniteImage        they hold NaN or Inf
    OddImage              they are finite, but black, constant or silent, and the user asked to stop then
  VaeError                the VAE that came in cannot decode this latent or encode these images
    VaeWithoutWeights     the file or checkpoint held no VAE
    VaeWithoutEncoder     the file held a decoder alone
    WrongVae              channels or kind do not fit
  LadderFailed            every rung of a ladder failed
    DecodeFailed          the decode's; names the saved latent
    EncodeFailed          the encode's
  ModelFileError          there is no model file that could be read: missing, no permission, a folder without one

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


class NonFiniteSampling(HeadroomError):
    """A sampling step gave NaN or Inf."""


class ImageError(HeadroomError):
    """The images, the mask or the audio that came in cannot be used."""


class NonFiniteImage(ImageError):
    """The images, the mask or the audio hold NaN or Inf."""


class OddImage(ImageError):
    """They are finite, but black, constant or silent, and the user asked to stop then."""


class VaeError(HeadroomError):
    """The VAE that came in cannot decode this latent or encode these images."""


class VaeWithoutWeights(VaeError):
    """The file or checkpoint held no VAE."""


class VaeWithoutEncoder(VaeError):
    """The file held a decoder alone."""


class WrongVae(VaeError):
    """The VAE's channels or kind do not fit the latent or the images."""


class LadderFailed(HeadroomError):
    """Every rung of a ladder failed; ``attempts`` are those that were made."""

    def __init__(self, text: str, attempts: Sequence[Any] = ()) -> None:
        super().__init__(text)
        self.attempts: tuple[Any, ...] = tuple(attempts)


class DecodeFailed(LadderFailed):
    """Every rung of the decode ladder failed."""


class EncodeFailed(LadderFailed):
    """Every rung of the encode ladder failed."""


class ModelFileError(HeadroomError):
    """There is no model file to read: missing, no permission, a folder without one. A bad file gives faults instead."""
