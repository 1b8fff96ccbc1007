"""An encode as the ladder sees it: images in, latents out; the host cuts its tiles in pixels."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from ...core.errors import EncodeFailed
from ...core.tiles import Tile
from ...core.vae import ENCODE_ROWS
from ..ladder.job import Job
from ..ladder.kinds import VaeKind
from ..ladder.options import LadderHost, Words
from ..ladder.watch import WatchedModule

WORDS = Words(
    noun="encode",
    done="Encoded",
    going_on="Encoding",
    item="image",
    damaged="The VAE's weights may be damaged, or its file has no encoder: load another file.",
    rescue="The images are not saved here: if they cost a run to make, put Save Image before this node.",
)


class EncodeJob(Job):
    """A batch of images [B, H, W, C] for one VAE, cropped as the host does it.

    A video VAE takes them as the frames of one video, so that there is one item; one that the host calls ``not_video``
    as a batch of single frames.
    """

    words = WORDS
    error = EncodeFailed
    retry_methods = ("encode_tiled_", "encode_tiled_1d", "encode_tiled_3d", "_encode_tiled_owned")
    formula = "memory_used_encode"
    rows = ENCODE_ROWS
    judges_result = True  # A latent is small, and format_encoded comes after what the module returned.

    def __init__(self, vae: Any, kind: VaeKind, pixels: torch.Tensor) -> None:
        self.pixels = pixels
        self.one_video = kind.dims == 3 and not getattr(vae, "not_video", False)
        images, height, width, _ = pixels.shape
        self._frames_in = images if self.one_video else 1
        time = (max(1, vae.downscale_ratio[0](self._frames_in)),) if kind.dims == 3 else ()
        items = 1 if self.one_video else images
        super().__init__(vae, kind, (items, kind.channels, *time, *(max(1, s // kind.ratio) for s in (height, width))))

    def items_of(self, images: frozenset[int]) -> frozenset[int]:
        """The items that hold these images."""
        return (frozenset({0}) if images else frozenset()) if self.one_video else images

    def watch(self, private: Any, watched: WatchedModule, judge: Callable[[torch.Tensor], None]) -> None:
        """What the module returns: the host hands it on without a step that hides anything."""
        watched.on_output = judge

    def whole(self, private: Any, items: Sequence[int]) -> torch.Tensor:
        """Latents [B, C, H, W] or [B, C, T, H, W]."""
        return private.encode(self._part(items))

    def own_tiles(self, private: Any, items: Sequence[int]) -> torch.Tensor:
        """As ``whole``."""
        return private.encode_tiled(self._part(items))

    def tiled(self, private: Any, item: int, tile: Tile) -> torch.Tensor:
        """One latent, as its tiles blend."""
        private.format_encoded = None
        ratio = self.kind.ratio
        side = tile.side * ratio
        arguments: dict[str, int] = {"tile_x": side, "tile_y": side, "overlap": tile.overlap * ratio}
        if tile.frames is not None:
            longer = self.vae.upscale_ratio[0]
            arguments |= {"tile_t": longer(tile.frames), "overlap_t": longer(tile.frame_overlap or 1)}
        return private.encode_tiled(self._part([item]), **arguments)

    def finished(self, blend: torch.Tensor) -> torch.Tensor:
        """The blend after the VAE's own last step, which few have."""
        finish = getattr(self.vae, "format_encoded", None)
        return blend if finish is None else finish(blend)

    def piece(self, tile: Tile | None) -> tuple[int, ...]:
        """In pixels."""
        _, height, width, channels = self.pixels.shape
        frames = self._frames_in
        if tile is not None:
            height, width = (min(tile.side * self.kind.ratio, length) for length in (height, width))
            if tile.frames is not None:
                frames = min(self.vae.upscale_ratio[0](tile.frames), frames)
        return (1, channels, *((frames,) if self.kind.dims == 3 else ()), height, width)

    def corner(self) -> EncodeJob | None:
        """Two latent frames of 8 x 8."""
        if self.frames == 1:
            return None
        side, frames = 8 * self.kind.ratio, self.vae.upscale_ratio[0](2)
        return EncodeJob(self.vae, self.kind, self.pixels[:frames, :side, :side])

    def rescue(self, host: LadderHost) -> str | None:
        """Nothing: the images are another node's output, and a run that made them can save them there."""
        return None

    def _part(self, items: Sequence[int]) -> torch.Tensor:
        if len(items) == self.items:
            return self.pixels
        return self.pixels[items[0] : items[0] + 1] if len(items) == 1 else self.pixels[list(items)]
