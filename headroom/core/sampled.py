"""What is sampled: the latent of a run, and the sound or the camera that goes through the same model beside it.

The host packs them into one row of values (pack_latents in comfy/utils.py 0.30.0), so that its own number then counts
their channels too; see ``activation_host.packed``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

from .families.identity import Latent
from .vae_formula_table import minimax_frames

Shape = tuple[int, ...]

#: LTX-2's sound, by comfy/ldm/lightricks/vae/audio_vae.py and causal_audio_autoencoder.py 0.30.0: 8 channels, 64 mel
#: bins in fours, and 16,000 samples a second in hops of 160, again in fours.
LTX_CHANNELS, LTX_BINS, LTX_PER_SECOND = 8, 16, 25
#: What LTXVEmptyLatentAudio (comfy_extras/nodes_lt_audio.py 0.30.0) has by itself, and the official templates with it.
#: Another rate hardly matters: the sound is a hundredth of the values of a picture of 720p.
LTX_FRAME_RATE = 25
#: MiniMax H3, by comfy_extras/nodes_minimax_h3.py 0.30.0: (batch, 24, frames, height, width), (batch, 32, 2, length).
MINIMAX_CHANNELS, MINIMAX_SOUND, MINIMAX_FRAME_RATE, MINIMAX_PER_SECOND = 24, (32, 2), 24, 40
MINIMAX_CYCLE, MINIMAX_FIRST = 17, 5
#: Frames per latent one where the host's latent format says nothing of it and its VAE does (comfy/sd.py 0.30.0).
BY_THE_VAE: Mapping[str, float] = {"SeedVR2": 4}


def latent_frames(latent: Latent, frames: int) -> int:
    """Frames of a video latent; what does not divide is rounded up, as the host's nodes do or ask for."""
    if latent.format == "MiniMaxH3AV":
        cycles = math.ceil(max(0, frames - MINIMAX_FIRST) / MINIMAX_CYCLE)
        return cycles * 5 + 2
    return math.ceil((frames - 1) / _temporal(latent)) + 1


def _temporal(latent: Latent) -> float:
    return BY_THE_VAE.get(latent.format, latent.temporal)


def frames_made(latent: Latent, frames: int) -> int:
    """Frames that come out where a run asks for ``frames``."""
    count = latent_frames(latent, frames)
    return minimax_frames(count) if latent.format == "MiniMaxH3AV" else int((count - 1) * _temporal(latent)) + 1


def _ltx(picture: Shape, frames: int) -> tuple[Shape, ...]:
    """LTXVEmptyLatentAudio: (batch, channels, length, bins); it takes the frames as they are asked for."""
    return picture, (picture[0], LTX_CHANNELS, math.ceil(frames / LTX_FRAME_RATE * LTX_PER_SECOND), LTX_BINS)


def _minimax(picture: Shape, frames: int) -> tuple[Shape, ...]:
    """EmptyMiniMaxH3LatentAV; the sound is as long as the frames that come out."""
    length = round(minimax_frames(picture[2]) / MINIMAX_FRAME_RATE * MINIMAX_PER_SECOND)
    return (picture[0], MINIMAX_CHANNELS, *picture[2:]), (picture[0], *MINIMAX_SOUND, length)


def _triposplat(picture: Shape, frames: int) -> tuple[Shape, ...]:
    """Always 8,192 points of 16 values and a camera of 5, whatever the picture (comfy_extras/nodes_triposplat.py)."""
    return (picture[0], 8192, 16), (picture[0], 1, 5)


#: By the host's latent format: what is sampled together, the main latent first.
TOGETHER: Mapping[str, Callable[[Shape, int], tuple[Shape, ...]]] = {
    "LTXAV": _ltx,
    "MiniMaxH3AV": _minimax,
    "TripoSplat": _triposplat,
}


def sampled(latent: Latent, shape: Shape, frames: int) -> tuple[Shape, ...]:
    """All latents that a run samples, the main one first.

    Args:
        latent: what the family's latents are like.
        shape: the main latent of the run.
        frames: of the run, as asked for.
    """
    together = TOGETHER.get(latent.format)
    return (shape,) if together is None else together(shape, frames)
