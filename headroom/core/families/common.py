"""Words that several tables use: latent formats and dtype orders, as the host has them.

Source: comfy/latent_formats.py 0.30.0 (latent_channels, latent_dimensions, spacial_downscale_ratio,
temporal_downscale_ratio) and supported_inference_dtypes in comfy/supported_models.py 0.30.0.
"""

from __future__ import annotations

from .identity import Latent

FP16_FIRST = ("fp16", "bf16", "fp32")
BF16_FIRST = ("bf16", "fp16", "fp32")
NO_FP16 = ("bf16", "fp32")

DETECTION = "comfy/model_detection.py 0.30.0, detect_unet_config"
SUPPORTED = "comfy/supported_models.py 0.30.0"

_ROWS = (
    # format, channels, dims, spatial, temporal
    ("LatentFormat", 4, 2, 8, 1),
    ("SD15", 4, 2, 8, 1),
    ("SDXL", 4, 2, 8, 1),
    ("SDXL_Playground_2_5", 4, 2, 8, 1),
    ("SD_X4", 4, 2, 8, 1),
    ("SC_Prior", 16, 2, 42, 1),
    ("SC_B", 4, 2, 4, 1),
    ("SD3", 16, 2, 8, 1),
    ("StableAudio1", 64, 1, 8, 2048),
    ("StableAudio3", 256, 1, 8, 4096),
    ("Flux", 16, 2, 8, 1),
    ("Flux2", 128, 2, 16, 1),
    ("TripoSplat", 16, 2, 8, 1),
    ("Mochi", 12, 3, 8, 6),
    ("LTXV", 128, 3, 32, 8),
    ("LTXAV", 128, 3, 32, 8),
    ("MiniMaxH3AV", 32, 3, 16, 4),
    ("HunyuanVideo", 16, 3, 8, 4),
    ("HunyuanVideo15", 32, 3, 16, 4),
    ("HunyuanImage21", 64, 2, 32, 1),
    ("HunyuanImage21Refiner", 64, 3, 8, 1),
    ("Cosmos1CV8x8x8", 16, 3, 8, 8),
    ("Wan21", 16, 3, 8, 4),
    ("Wan22", 48, 3, 16, 4),
    ("Hunyuan3Dv2", 64, 1, 8, 1),
    ("Hunyuan3Dv2_1", 64, 1, 8, 1),
    ("Hunyuan3Dv2mini", 64, 1, 8, 1),
    ("ACEAudio", 8, 2, 8, 1),
    ("ACEAudio15", 64, 1, 8, 1764),
    ("SeedVR2", 16, 3, 8, 1),
    ("ChromaRadiance", 3, 2, 1, 1),
    ("ZImagePixelSpace", 3, 2, 1, 1),
    ("HiDreamO1Pixel", 3, 2, 1, 1),
    ("PixelDiTPixel", 3, 2, 1, 1),
    ("CogVideoX", 16, 3, 8, 4),
    ("CogVideoX1_5", 16, 3, 8, 4),
)

LATENTS = {row[0]: Latent(*row) for row in _ROWS}
