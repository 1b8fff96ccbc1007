"""The images and the mask that an encode is given, judged before any rung is tried."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from ...core.choices import REPLACE, STOP
from ...core.errors import ImageError, NonFiniteImage
from ...core.ranges import named
from ..finite import bad_indices, count, is_finite


@dataclass(frozen=True)
class Prepared:
    """What is encoded."""

    pixels: torch.Tensor
    tolerated: frozenset[int] = frozenset()
    """Images that are bad and encoded all the same."""
    notices: Sequence[str] = ()


def prepare(pixels: torch.Tensor, rule: str) -> Prepared:
    """The images, once they are known to be sound or to be wanted as they are.

    Args:
        pixels: [B, H, W, C].
        rule: what to do when they hold NaN or Inf, one of BAD_IMAGE_RULES.

    Raises:
        NonFiniteImage: they do, and the run is to stop. No precision of the VAE could help.
        ImageError: these are no images, or there are none.
    """
    shape = list(pixels.shape)
    if pixels.ndim != 4:
        raise ImageError(
            f"The pixels input has shape {shape}; images have 4 dimensions [batch, height, width, channels]. "
            "Connect the IMAGE output of another node."
        )
    if pixels.numel() == 0:
        raise ImageError(f"The pixels input is empty (shape {shape}): there is nothing to encode.")
    if is_finite(pixels):
        return Prepared(pixels)
    bad = bad_indices(pixels)
    where = _where("image", bad, shape[0], pixels)
    if rule == STOP:
        raise NonFiniteImage(
            f"The pixels input is already bad: {where}. The VAE is not the cause and no precision can help; put an "
            "Image Guard behind the nodes before this one to see where it begins."
        )
    told = where[0].upper() + where[1:]
    if rule == REPLACE:
        replaced = torch.nan_to_num(pixels, nan=0.0, posinf=0.0, neginf=0.0)
        return Prepared(replaced, notices=(f"{told}: {count(pixels).bad:,} values replaced by 0 before the encode",))
    notice = f"{told}: encoded anyway, the latent of that part is not sound"
    return Prepared(pixels, frozenset(bad), (notice,))


def check_mask(mask: torch.Tensor, images: int | None) -> None:
    """Refuses a mask that cannot be used.

    Args:
        mask: [H, W] or [B, H, W].
        images: how many images it is laid over; None where nothing is laid under it here.

    Raises:
        NonFiniteImage: it holds NaN or Inf.
        ImageError: it is no mask, or neither one for all images nor one for each.
    """
    if mask.ndim < 2 or mask.numel() == 0:
        raise ImageError(f"The mask input has shape {list(mask.shape)}: a mask has at least a height and a width.")
    masks = mask.reshape(-1, *mask.shape[-2:])
    if not is_finite(masks):
        raise NonFiniteImage(
            f"The mask input is already bad: {_where('mask', bad_indices(masks), masks.shape[0], masks)}. "
            "Put an Image Guard behind the nodes before this one to see where it begins."
        )
    if images is not None and masks.shape[0] not in (1, images):
        raise ImageError(
            f"The mask input holds {masks.shape[0]} masks for {named_count(images)}: connect one for all or one for "
            "each."
        )


def named_count(images: int) -> str:
    """``1 image``, ``4 images``."""
    return f"{images} image" + ("s" if images != 1 else "")


def _where(noun: str, bad: Sequence[int], total: int, values: torch.Tensor) -> str:
    """``images 1 and 3 of 4 hold NaN``, ``the image holds Inf``."""
    found = count(values)
    what = " and ".join(name for name, number in (("NaN", found.nan), ("Inf", found.inf)) if number)
    subject = named(noun, bad, total) if total > 1 else f"the {noun}"
    return f"{subject} {'holds' if len(bad) == 1 else 'hold'} {what}"
