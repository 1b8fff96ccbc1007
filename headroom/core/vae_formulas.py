"""What the host reserves for a VAE decode or encode, by its own formulas (comfy/sd.py 0.30.0)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from .families import vaes
from .families.identity import Identity, Value
from .vae_formula_table import AMD_RATIO, FORMULAS, MINIMAX_MARGIN, STABLE_AUDIO_3_LARGE, WITH_MARGIN, HostFormula

ITEMSIZES = {"fp32": 4, "fp16": 2, "bf16": 2}

ROWS = {row.id: row for row in vaes.ROWS}

#: The VAE that goes with a latent format of the host (comfy/latent_formats.py 0.30.0).
BY_FORMAT = {
    "SD15": "kl",
    "SDXL": "kl",
    "SDXL_Playground_2_5": "kl",
    "SD_X4": "kl-x4",
    "SC_Prior": "stage-c",
    "SC_B": "stage-a",
    "SD3": "kl-plain",
    "Flux": "kl-plain",
    "Flux2": "flux2",
    "HunyuanImage21": "hunyuan-image",
    "HunyuanImage21Refiner": "hunyuan-refiner",
    "HunyuanVideo": "hunyuan-video",
    "HunyuanVideo15": "hunyuan-video-1.5",
    "Wan21": "wan-2.1",
    "Wan22": "wan-2.2",
    "Mochi": "mochi",
    "LTXV": "ltx",
    "LTXAV": "ltx",
    "Cosmos1CV8x8x8": "cosmos",
    "CogVideoX": "cogvideox",
    "CogVideoX1_5": "cogvideox",
    "SeedVR2": "seedvr2",
    "MiniMaxH3AV": "minimax",
    "ACEAudio": "ace",
    "ACEAudio15": "oobleck-48k",
    "StableAudio1": "oobleck",
    "StableAudio3": "stable-audio-3",
    "Hunyuan3Dv2": "hunyuan3d",
    "Hunyuan3Dv2_1": "hunyuan3d",
    "Hunyuan3Dv2mini": "hunyuan3d",
    "ChromaRadiance": "pixels",
    "ZImagePixelSpace": "pixels",
    "HiDreamO1Pixel": "pixels",
    "PixelDiTPixel": "pixels",
}
#: Families whose VAE is not that of their latent format.
BY_FAMILY = {"SVD_img2vid": "svd", "SV3D_u": "svd", "SV3D_p": "svd", "MageFlow": "mage"}
#: Channels of the VAE that reads them, where the model's latent has others.
FORMAT_CHANNELS = {"HunyuanImage21Refiner": 32, "MiniMaxH3AV": 24}


@dataclass(frozen=True)
class Vae:
    """A VAE as the estimates see it."""

    row: str
    """Id of its row in families/vaes.py."""
    family: str
    """Class of the host's first_stage_model."""
    channels: int
    dims: int
    """1 for sound and point sets, 2 for images, 3 for video."""
    spatial: int
    """Pixels per latent element along one side."""
    temporal: float
    """Frames, or samples of sound, per latent element."""
    sizes: Mapping[str, Value] = field(default_factory=dict)

    @property
    def formula(self) -> HostFormula:
        """The host's formula and what it lets this VAE compute in."""
        if self.row == "stable-audio-3" and self.sizes.get("layers") == 12:
            return STABLE_AUDIO_3_LARGE
        return FORMULAS[self.row]


def itemsize(dtype: str) -> int:
    """Bytes per value. Raises ValueError for a dtype that no VAE computes in."""
    if dtype not in ITEMSIZES:
        raise ValueError(f"no VAE computes in {dtype}; it is one of fp32, bf16 and fp16")
    return ITEMSIZES[dtype]


def vae_of(identity: Identity) -> Vae | None:
    """The VAE that a file is, or that a checkpoint holds; None where there is none."""
    if identity.kind == "vae" and identity.row in FORMULAS and identity.latent is not None:
        return _vae(identity.row, identity.latent.channels, identity.sizes)
    for part in identity.parts:
        if part.kind == "vae" and part.row in FORMULAS:
            return _vae(part.row, identity.latent.channels if identity.latent else None)
    return None


def vae_for_model(model: Identity) -> Vae | None:
    """The VAE that goes with a diffusion model, by its latent format; None where that is not known."""
    if model.latent is None:
        return None
    row = BY_FAMILY.get(model.family or "") or BY_FORMAT.get(model.latent.format)
    if row is None:
        return None
    return _vae(row, FORMAT_CHANNELS.get(model.latent.format, model.latent.channels))


def reserved_decode(vae: Vae, latent: Sequence[int], dtype: str, *, amd: bool = False) -> int | None:
    """The host's ``memory_used_decode`` on a latent's shape; None where the host refuses.

    Args:
        vae: which VAE.
        latent: (batch, channels, [frames,] height, width), (batch, channels, length) for sound; the host ignores the
            batch. A still image of a video VAE has one frame.
        dtype: fp16, bf16 or fp32.
        amd: whether the device is AMD's.
    """
    formula = vae.formula
    if formula.decode is None:
        return None
    # The host takes the first frame of a video for an image VAE.
    shape = (*latent[:2], *latent[3:]) if vae.dims == 2 and len(latent) == 5 else latent
    size = 1 if formula.any_dtype else itemsize(dtype)
    return _bytes(vae, formula.decode(shape) * size, amd and formula.amd_decode)


def reserved_encode(vae: Vae, pixels: Sequence[int], dtype: str, *, amd: bool = False) -> int | None:
    """The host's ``memory_used_encode`` on the pixels' shape, (batch, channels, [frames,] height, width)."""
    formula = vae.formula
    if formula.encode is None:
        return None
    return _bytes(vae, formula.encode(pixels) * itemsize(dtype), amd and formula.amd_encode)


def _bytes(vae: Vae, reserved: float, amd: bool) -> int:
    if vae.row in WITH_MARGIN:
        reserved *= MINIMAX_MARGIN
    return int(reserved * AMD_RATIO if amd else reserved)


def _vae(row: str, channels: int | None, sizes: Mapping[str, Value] | None = None) -> Vae | None:
    shape = ROWS[row].shape
    if shape is None:
        return None
    if channels is None or isinstance(shape.channels, int):
        # Only a part of a checkpoint of an unknown model comes here without channels: no formula depends on them.
        channels = shape.channels if isinstance(shape.channels, int) else 4
    return Vae(row, ROWS[row].family or "", channels, shape.dims, shape.spatial, shape.temporal, sizes or {})
