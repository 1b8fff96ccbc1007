"""LTX-Video's decoder, which works in chunks: its peak depends on the card more than on the length of the video.

Source: comfy/ldm/lightricks/vae/causal_video_autoencoder.py 0.30.0, get_max_chunk_size: 32 MiB of values at 6 GiB of
card memory up to 128 MiB at 24 GiB. Live tensors were counted for both with 1 to 33 latent frames of 8x12 to 34x60
elements, on the VAEs of LTX-Video and LTX-2.
"""

from __future__ import annotations

STREAMED = "analysis: live tensors with the chunks of a 6 GiB card to twice those of a 24 GiB card, ComfyUI 0.30.0"

#: Values per position of one latent frame, and of two or more, whatever the chunks.
ONE_FRAME, FIRST_CHUNK = 90_000, 470_000
#: Values per position and latent frame before chunks bound it; what a 24 GiB card's chunks take, with the frames that
#: wait between chunks for each position. Of LTX-2, the larger of the two.
PER_FRAME, CHUNKS, WAITING = 650_000, 2.2e9, 1.5e6
#: Convolutions beside the live tensors; less than elsewhere, since few tensors of a chunk are of full size.
WORKSPACE = 2.0


def streamed_range(positions: int, frames: int, itemsize: int) -> tuple[int, int]:
    """Low and high bytes of a decode.

    Args:
        positions: height x width of the latent.
        frames: latent frames.
        itemsize: bytes per value.
    """
    low = (ONE_FRAME if frames == 1 else FIRST_CHUNK) * positions * itemsize
    high = min(PER_FRAME * frames * positions, CHUNKS + WAITING * positions) * itemsize * WORKSPACE
    return int(low), int(high)
