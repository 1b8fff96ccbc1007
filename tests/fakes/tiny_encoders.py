"""Makes random-weight VAEs with an encoder that the real ComfyUI accepts; those of tiny_models.py have a decoder only.

Usage: python tiny_encoders.py COMFYUI_FOLDER TARGET_FOLDER. TARGET gets ``vae/`` (a models folder). The Wan VAE of
tiny_models.py has both halves already.

``tiny_taesd`` is TAESD with random weights (10 MB), for what needs many pixels.

``kl_overflow_encoder`` is the SD/SDXL autoencoder: the decoder of ``tiny_kl`` and an encoder of the real width, 128
channels, since the host finds out the width of the decoder alone (comfy/sd.py 0.30.0). In fp16 the encoder overflows as
SDXL's VAE does, by the same means as in tiny_models.py; the decoder does not. The file is in fp16 to keep it at 75 MB.
"""

from __future__ import annotations

import sys
from pathlib import Path

import torch
from tiny_models import OVERFLOW_FACTOR, fill, tiny_kl

#: Where the residual stream is added to: scaled there, everything in between is, and normalisation divides it out.
ADDS = ("encoder.conv_in.", ".conv2.", "mid.attn_1.proj_out.")
ONLY_BIAS = ("nin_shortcut", "downsample.conv")


def kl_encoder(seed: int = 11) -> dict[str, torch.Tensor]:
    """The encoder half of the SD/SDXL autoencoder."""
    from comfy.ldm.modules.diffusionmodules.model import Encoder

    config = {
        "double_z": True, "z_channels": 4, "resolution": 256, "in_channels": 3, "out_ch": 3, "ch": 128,
        "ch_mult": [1, 2, 4, 4], "num_res_blocks": 2, "attn_resolutions": [], "dropout": 0.0,
    }  # fmt: skip
    return {f"encoder.{name}": value for name, value in fill(Encoder(**config), seed).items()}


def kl_overflow_encoder() -> dict[str, torch.Tensor]:
    """An encoder that overflows in fp16 and a decoder that does not."""
    weights = tiny_kl()
    for name, value in kl_encoder().items():
        bias = name.endswith("bias") and any(part in name for part in ONLY_BIAS)
        weights[name] = value * OVERFLOW_FACTOR if bias or any(part in name for part in ADDS) else value
    return {name: value.half() for name, value in weights.items()}


def tiny_taesd(seed: int = 12) -> dict[str, torch.Tensor]:
    """TAESD, both halves in one file."""
    from comfy.taesd.taesd import TAESD

    weights = fill(TAESD(), seed)
    return {**weights, "vae_scale": torch.tensor(1.0), "vae_shift": torch.tensor(0.0)}


def main(comfyui: Path, target: Path) -> None:
    """Writes everything below ``target``."""
    sys.path.insert(0, str(comfyui))
    sys.argv = ["main.py", "--cpu"]  # the host reads its flags at import, and without a GPU it needs this one
    import comfy.options

    comfy.options.enable_args_parsing()
    from safetensors.torch import save_file

    (target / "vae").mkdir(parents=True, exist_ok=True)
    models = {"tiny_taesd": tiny_taesd(), "kl_overflow_encoder": kl_overflow_encoder()}
    for name, weights in models.items():
        plain = {key: value.detach().contiguous() for key, value in weights.items()}
        save_file(plain, target / "vae" / f"{name}.safetensors")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
