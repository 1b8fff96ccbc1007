"""What lives at the peak of one pass, per architecture: how many values each token has in live tensors at once.

Counted on the classes of ComfyUI 0.30.0 at full size, and held to them by tests/core/families/test_activation_peaks.py:
``low`` with norms as one kernel, as CUDA has them, ``high`` with norms whose fp32 copies are tensors of their own.
A number is in widths of the model: a feed-forward of four widths that keeps its input and its output is 8.
"""

from __future__ import annotations

from .activation_peak import FULL, TWO, PeakRow, Phase, same
from .activation_unets import CASCADE, UNETS

_SINGLE = "single block: its wide linear (7 widths), queries and keys before and after their rotation, values, x"
_GATED_SINGLE = "single block: its wide linear (9 widths), the gate's two halves (6), attention and x"
_FLUX_LOW, _FLUX_HIGH = (Phase(14, 15),), (Phase(15.2, 16.2),)

FLUX = (
    PeakRow(
        ("FluxSchnell",),
        TWO,
        (Phase(21, 22),),
        (Phase(21.3, 22.3),),
        "single block: its wide linear (11 widths), the gate's two halves (8), attention and x",
        256,
        when={"task": "Ovis-Image"},
    ),
    PeakRow(("Flux", "FluxInpaint", "FluxSchnell"), TWO, _FLUX_LOW, _FLUX_HIGH, _SINGLE, 256),
    PeakRow(("LongCatImage", "Chroma"), TWO, _FLUX_LOW, _FLUX_HIGH, _SINGLE, 512),
    PeakRow(
        ("ChromaRadiance",),
        (1, 16, 16),
        (Phase(19.2), Phase(14, 15)),
        (Phase(39.2, 1), Phase(15.2, 16.2)),
        "the pixel layers after the blocks, each pixel with values of its own",
        512,
    ),
    PeakRow(("Flux2",), FULL, (Phase(17, 18),), (Phase(17.4, 18.4),), _GATED_SINGLE, 512),
)

_WAN = "feed-forward before and after its activation, its input, x and the embedding; or the fp32 copies of a norm"
_WAN_LOW, _WAN_HIGH = (Phase(3, 0, 2),), (Phase(3.2, 0.1, 2), Phase(11.2))

WAN = (
    PeakRow(
        (
            "WAN21_T2V",
            "WAN21_I2V",
            "WAN21_FunControl2V",
            "WAN21_Camera",
            "WAN21_FlowRVS",
            "WAN22_T2V",
            "WAN22_Camera",
            "WAN22_Animate",
            "WAN22_S2V",
            "WAN22_WanDancer",
            "WAN21_SCAIL",
            "WAN21_SCAIL2",
        ),
        TWO,
        _WAN_LOW,
        _WAN_HIGH,
        _WAN,
    ),
    PeakRow(("WAN21_HuMo",), TWO, (Phase(4, 0, 2),), (Phase(4.2, 0.1, 2), Phase(11.2)), _WAN),
    PeakRow(
        ("WAN21_Vace",),
        TWO,
        (Phase(6, 0, 2),),
        (Phase(6.2, 0.1, 2), Phase(13.2)),
        _WAN + "; the control blocks keep three more",
    ),
)

HUNYUAN = (
    PeakRow(
        ("HunyuanVideo", "HunyuanVideoI2V", "HunyuanVideoSkyreelsI2V", "HunyuanImage21", "HunyuanImage21Refiner"),
        "patch_size",
        (same(14),),
        (same(15.3),),
        _SINGLE,
        256,
    ),
    PeakRow(
        ("HunyuanVideo15", "HunyuanVideo15_SR_Distilled"),
        "patch_size",
        (Phase(11, 1),),
        (Phase(11.4, 1.5),),
        "feed-forward of the picture before and after its activation (8 widths), its input, x and the joined attention",
        # Text, glyphs and the pictures' vision tokens.
        1049,
    ),
    PeakRow(
        ("HunyuanDiT", "HunyuanDiT1"),
        TWO,
        (Phase(33.5),),
        (Phase(35.2, 1),),
        "feed-forward before and after its activation, and the twenty outputs that wait for the second half",
        head_width=88,
    ),
)

_IMAGE_FEED_FORWARD = "feed-forward of the picture before and after its activation (8 widths), its input and x"
_PIXELS = "the pixel layers after the blocks, 256 pixels of 16 values each for a token; or the fp32 copies of a norm"
_GATED = "gated feed-forward: both halves, the activation and their product, its input and x"

IMAGES = (
    PeakRow(
        ("SD3",),
        TWO,
        (Phase(21, 4),),
        (Phase(21.2, 4.6),),
        "feed-forward (8 widths), queries, keys and values, and the joined attention",
        154,
        when={"hidden_size": 2432},
        head_width=64,
    ),
    PeakRow(
        ("SD3",),
        TWO,
        (Phase(19, 4),),
        # 3.5 medium has a second attention in its blocks, and its header's width is that of 3 medium.
        (Phase(29.6, 5),),
        "feed-forward (8 widths), queries, keys and values, and the joined attention",
        154,
        when={"hidden_size": 1536},
        head_width=64,
    ),
    PeakRow(("QwenImage",), TWO, (Phase(11, 2),), (Phase(11.2, 5.2),), _IMAGE_FEED_FORWARD, 256),
    PeakRow(("MageFlow",), FULL, (Phase(11, 2),), (Phase(11.4, 5.2),), _IMAGE_FEED_FORWARD, 256),
    PeakRow(
        ("JoyImage",), TWO, (Phase(16, 4),), (Phase(16.7, 4.5),), _IMAGE_FEED_FORWARD + ", norms and joined q", 256
    ),
    PeakRow(("ZImage",), TWO, (Phase(15.6), same(14.6)), (Phase(16, 0.3), same(14.9)), _GATED, 128),
    PeakRow(("ZImagePixelSpace",), (1, 32, 32), (Phase(15, 14.6),), (Phase(16.7, 15),), _GATED, 128),
    PeakRow(("Lumina2",), TWO, (Phase(21), same(20)), (Phase(21.5, 0.3), same(20.4)), _GATED, 256, head_width=96),
    PeakRow(("AuraFlow",), TWO, (same(11.9),), (same(12.1),), _GATED, 256, head_width=256),
    PeakRow(("PixArtAlpha", "PixArtSigma"), TWO, (Phase(12),), (Phase(12.1, 1.1),), _IMAGE_FEED_FORWARD, head_width=72),
    PeakRow(("Omnigen2",), TWO, (same(15),), (same(15.6),), _GATED, 256, head_width=120),
    PeakRow(("Boogu",), TWO, (Phase(18, 1),), (Phase(18.7, 2),), _GATED, 256, head_width=120),
    PeakRow(("ErnieImage",), FULL, (Phase(14, 13),), (Phase(14.2, 14),), _GATED, 256),
    PeakRow(("Lens",), FULL, (Phase(10.2, 1),), (Phase(12.6, 7),), _GATED, 256, head_width=64),
    PeakRow(("Ideogram4",), FULL, (same(14.6),), (same(15.1),), _GATED, 256, head_width=256),
    PeakRow(
        ("HiDream",),
        TWO,
        # Low where the four experts share the tokens evenly, high where all tokens choose the same one.
        (Phase(12.7, 92),),
        (Phase(17.4, 108),),
        "experts: each token twice, before and after (4 widths), the gated feed-forward of those that chose the same "
        "one, and the texts of all 48 layers",
        128,
    ),
    PeakRow(
        ("HiDreamO1",),
        (1, 32, 32),
        (Phase(14.7, 12),),
        # Of the text, in the first step, keys and values of all layers.
        (Phase(16.2, 32),),
        _GATED,
        128,
    ),
    PeakRow(("PixelDiTT2I",), (1, 16, 16), (Phase(30.3, 0.8),), (Phase(41.5, 1.2),), _PIXELS, 300, head_width=64),
    # And the small picture, for every second block or for every one.
    PeakRow(("PiD",), (1, 16, 16), (Phase(37.2, 0.8),), (Phase(48.5, 1.2),), _PIXELS, 300, head_width=64),
    PeakRow(
        ("Krea2",),
        TWO,
        (same(8.9),),
        (same(10.7),),
        "attention: queries and keys before and after their rotation, values, gate and x",
        256,
    ),
    PeakRow(
        ("Kandinsky5Image", "Kandinsky5"),
        TWO,
        # Of long videos it takes the feed-forward in pieces.
        (Phase(7),),
        (Phase(11.3, 0.3),),
        _IMAGE_FEED_FORWARD,
        256,
        head_width=64,
    ),
)

VIDEOS = (
    PeakRow(("LTXV",), FULL, (Phase(12),), (Phase(13.1, 0.1),), _IMAGE_FEED_FORWARD + ", rotations (2)", head_width=64),
    PeakRow(("LTXAV",), FULL, (Phase(13),), (Phase(14.1, 0.1),), _IMAGE_FEED_FORWARD + ", rotations (3)"),
    PeakRow(
        ("GenmoMochi",),
        TWO,
        (Phase(15.5),),
        (Phase(15.7, 1),),
        "gated feed-forward (10.7 widths), its input, attention, x, and rotations (1)",
        256,
    ),
    PeakRow(
        ("CosmosT2IPredict2", "CosmosI2VPredict2", "Anima"),
        TWO,
        (Phase(12),),
        # In fp16 it keeps x in fp32 (comfy/ldm/cosmos/predict2.py 0.30.0).
        (Phase(17.5, 0.5),),
        _IMAGE_FEED_FORWARD + " and two more",
    ),
    PeakRow(
        ("CosmosT2V", "CosmosI2V"),
        TWO,
        (Phase(12),),
        (Phase(12.3, 0.2),),
        "rotation of the keys in fp32 (6 widths), queries, keys and values, their sums and x",
    ),
    PeakRow(
        ("SeedVR2",),
        TWO,
        # The text stands in every window: more of it where they are small.
        (Phase(21.6),),
        (Phase(23.8),),
        "queries, keys and values as they are, by window and once more by window with the text (16 widths), and x",
    ),
    PeakRow(
        ("MiniMaxH3",),
        TWO,
        (Phase(11.9, 11.3),),
        (Phase(12.2, 12.5),),
        "gated feed-forward: both halves in one (5.3 widths), their product, its input and x",
        256,
    ),
    PeakRow(
        ("CogVideoX_T2V", "CogVideoX_I2V", "CogVideoX_Inpaint"),
        "patch_size_t",
        (Phase(19, 15),),
        (Phase(19.3, 15.3),),
        "feed-forward (8 widths), queries, keys and values in three forms, the joined norm and x",
        226,
        head_width=64,
    ),
)

ROWS: tuple[PeakRow, ...] = (*UNETS, *CASCADE, *FLUX, *WAN, *HUNYUAN, *IMAGES, *VIDEOS)
