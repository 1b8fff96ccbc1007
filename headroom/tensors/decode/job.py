"""A decode as the ladder sees it: latents in, pictures out; tiles in latent elements."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from ...core.errors import DecodeFailed
from ...core.tiles import Tile
from ...core.vae import DECODE_ROWS
from ..ladder.job import Job
from ..ladder.kinds import VaeKind
from ..ladder.options import LadderHost, Words
from ..ladder.watch import WatchedModule

WORDS = Words(
    noun="decode",
    done="Decoded",
    going_on="Decoding",
    item="item",
    damaged="The VAE's weights may be damaged: load another file.",
    rescue=(
        "The latent is saved as {saved} in the output folder: move it to the input folder and open it with Load Latent."
    ),
)


class DecodeJob(Job):
    """One latent [B, C, H, W] or [B, C, T, H, W] for one VAE."""

    words = WORDS
    error = DecodeFailed
    retry_methods = ("decode_tiled_", "decode_tiled_1d", "decode_tiled_3d", "_decode_tiled_owned")
    formula = "memory_used_decode"
    rows = DECODE_ROWS
    judges_result = False  # It was judged in process_output, and a picture is 64 times the latent: a scan costs.

    def __init__(self, vae: Any, kind: VaeKind, samples: torch.Tensor, original: torch.Tensor | None = None) -> None:
        """``original`` is the latent as it came in, which is what is saved."""
        super().__init__(vae, kind, samples.shape)
        self.samples = samples
        self._original = samples if original is None else original

    def watch(self, private: Any, watched: WatchedModule, judge: Callable[[torch.Tensor], None]) -> None:
        """In ``process_output``, which every path of the host calls, and before it clamps Inf away."""
        finish = private.process_output

        def judge_then_finish(images: torch.Tensor) -> torch.Tensor:
            judge(images)
            return finish(images)

        private.process_output = judge_then_finish

    def whole(self, private: Any, items: Sequence[int]) -> torch.Tensor:
        """Pictures [B, H, W, C] or videos [B, T, H, W, C]."""
        return private.decode(self._part(items))

    def own_tiles(self, private: Any, items: Sequence[int]) -> torch.Tensor:
        """As ``whole``."""
        return private.decode_tiled(self._part(items))

    def tiled(self, private: Any, item: int, tile: Tile) -> torch.Tensor:
        """One picture or video, not clamped."""
        private.process_output = lambda blend: blend
        arguments: dict[str, int] = {"tile_x": tile.side, "tile_y": tile.side, "overlap": tile.overlap}
        if tile.frames is not None:
            arguments |= {"tile_t": tile.frames, "overlap_t": tile.frame_overlap or 1}
        return private.decode_tiled(self.samples[item : item + 1], **arguments)

    def finished(self, blend: torch.Tensor) -> torch.Tensor:
        """The blend, brought to 0..1 by the VAE's own last step, which works with the channels second."""
        return self.vae.process_output(blend.movedim(-1, 1)).movedim(1, -1)

    def piece(self, tile: Tile | None) -> tuple[int, ...]:
        """In latent elements."""
        if tile is None:
            return (1, *self.latent_shape[1:])
        frames = () if len(self.latent_shape) == 4 else (min(tile.frames or self.frames, self.frames),)
        sides = (min(tile.side, length) for length in self.latent_shape[-2:])
        return (1, self.latent_shape[1], *frames, *sides)

    def corner(self) -> DecodeJob | None:
        """Two latent frames of 8 x 8."""
        return DecodeJob(self.vae, self.kind, self.samples[:1, :, :2, :8, :8]) if self.frames > 1 else None

    def rescue(self, host: LadderHost) -> str | None:
        """Saves the latent: a sampling can take hours."""
        return host.save_latent(self._original)

    def _part(self, items: Sequence[int]) -> torch.Tensor:
        return self.samples if len(items) == self.items else self.samples[list(items)]
