"""All architectures of diffusion models, in the order in which they are tried."""

from __future__ import annotations

from . import diffusers, flux, hunyuan, image, image_more, sound_and_sight, unet, video, video_more, wan
from .rows import Architecture, Family

ARCHITECTURES: tuple[Architecture, ...] = (
    *unet.ARCHITECTURES,
    *hunyuan.ARCHITECTURES,
    *flux.ARCHITECTURES,
    *wan.ARCHITECTURES,
    *image.ARCHITECTURES,
    *image_more.ARCHITECTURES,
    *video.ARCHITECTURES,
    *video_more.ARCHITECTURES,
    *sound_and_sight.ARCHITECTURES,
    # The host converts these names only where it knows no other.
    *diffusers.ARCHITECTURES,
)

#: By the host's class name.
FAMILIES: dict[str, Family] = {
    family.id: family for row in ARCHITECTURES if row.style == "comfy" for family in row.families
}
