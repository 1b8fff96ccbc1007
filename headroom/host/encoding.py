"""What comes before and after an encode: the VAE, the mask, and the LATENT that ComfyUI expects."""

from __future__ import annotations

from typing import Any

from ..core.choices import GREY_OUT
from ..core.errors import VaeWithoutEncoder
from ..tensors.encode.image_input import Prepared, check_mask
from ..tensors.encode.kinds import fitted, kind_of
from ..tensors.encode.ladder import Encoded
from . import inpaint
from .vae_file import has_no_encoder


def check_vae(vae: Any) -> None:
    """A VAE that cannot be used is named before images that cannot."""
    kind_of(vae)
    if has_no_encoder(vae):
        raise VaeWithoutEncoder(
            "The file of the vae input holds a decoder and no encoder, so it cannot encode images. Load the full VAE."
        )


def masked(vae: Any, prepared: Prepared, mask: Any, mode: str, grow: int) -> tuple[Any, Any]:
    """The pixels to encode, and the noise mask if mode inpaint gives one."""
    if mask is None:
        return prepared.pixels, None
    greys = mode == GREY_OUT
    check_mask(mask, prepared.pixels.shape[0] if greys else None)
    if not greys:
        return prepared.pixels, None
    fitted(vae, kind_of(vae), prepared.pixels)  # The host's node fails on too few channels without saying so.
    return inpaint.greyed_out(vae, prepared.pixels, mask, grow)


def as_latent(encoded: Encoded, mask: Any, noise_mask: Any) -> dict[str, Any]:
    """The LATENT as the stock nodes give it: with a noise mask only where there is a mask."""
    latent = {"samples": encoded.latent}
    if noise_mask is not None:
        return {**latent, "noise_mask": noise_mask}
    return latent if mask is None else inpaint.with_noise_mask(latent, mask)
