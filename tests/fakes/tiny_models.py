"""Makes tiny random-weight models that the real ComfyUI accepts, and latents with faults.

Usage: python tiny_models.py COMFYUI_FOLDER TARGET_FOLDER. TARGET gets ``vae/`` (a models folder) and ``input/``.

``tiny_kl_overflow`` is the same decoder with its inner activations scaled by 2**14, so that they pass fp16's largest
value (65504) and nothing else changes: group normalisation divides the factor out again. In fp32 it gives the
picture of ``tiny_kl``; in fp16 every pixel becomes NaN. The real SDXL VAE fails in fp16 for the same reason.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import torch

OVERFLOW_FACTOR = 2.0**14


def fill(module: torch.nn.Module, seed: int) -> dict[str, torch.Tensor]:
    """A state dict of random weights with the scale of a usual initialisation; ComfyUI's layers skip theirs."""
    generator = torch.Generator().manual_seed(seed)
    weights = {}
    for name, old in module.state_dict().items():
        if old.ndim <= 1 or name.endswith("gamma"):
            base = 1.0 if name.endswith(("weight", "gamma")) else 0.0
            weights[name] = base + 0.05 * torch.randn(old.shape, generator=generator)
        else:
            fan_in = old[0].numel()
            weights[name] = torch.randn(old.shape, generator=generator) * (1.0 / fan_in) ** 0.5
    return weights


def tiny_kl(seed: int = 1) -> dict[str, torch.Tensor]:
    """The decoder half of the SD/SDXL autoencoder with 32 channels instead of 128 (12 MiB)."""
    from comfy.ldm.modules.diffusionmodules.model import Decoder

    config = {
        "double_z": True, "z_channels": 4, "resolution": 256, "in_channels": 3, "out_ch": 3, "ch": 32,
        "ch_mult": [1, 2, 4, 4], "num_res_blocks": 2, "attn_resolutions": [], "dropout": 0.0,
    }  # fmt: skip
    weights = {f"decoder.{name}": value for name, value in fill(Decoder(**config), seed).items()}
    weights["post_quant_conv.weight"] = torch.eye(4).reshape(4, 4, 1, 1).contiguous()
    weights["post_quant_conv.bias"] = torch.zeros(4)
    weights["quant_conv.weight"] = torch.eye(8).reshape(8, 8, 1, 1).contiguous()
    weights["quant_conv.bias"] = torch.zeros(8)
    return weights


def overflowing(weights: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """The same picture in fp32, NaN in fp16: everything that adds to the residual stream is scaled."""
    scaled = {}
    for name, value in weights.items():
        adds = any(part in name for part in ("decoder.conv_in.", ".conv2.", "mid.attn_1.proj_out."))
        bias = name.endswith("bias") and any(part in name for part in ("nin_shortcut", "upsample.conv"))
        scaled[name] = value * OVERFLOW_FACTOR if adds or bias else value.clone()
    return scaled


def tiny_wan(seed: int = 2) -> dict[str, torch.Tensor]:
    """The Wan 2.1 video autoencoder with dim 8 instead of 96 (4 MiB)."""
    from comfy.ldm.wan.vae import WanVAE

    config = {
        "dim": 8, "z_dim": 16, "dim_mult": [1, 2, 4, 4], "num_res_blocks": 2, "attn_scales": [],
        "temperal_downsample": [False, True, True], "image_channels": 3, "conv_out_channels": 3, "dropout": 0.0,
    }  # fmt: skip
    return fill(WanVAE(**config), seed)


def faulty_latents() -> dict[str, torch.Tensor]:
    """Latents for LoadLatent by file name; the faults stand in the names."""
    generator = torch.Generator().manual_seed(3)

    def sound(*shape: int) -> torch.Tensor:
        return torch.randn(shape, generator=generator)

    video = sound(1, 16, 5, 4, 4)
    video[0, 3, 2, 1, 1] = float("nan")
    batch = sound(4, 4, 8, 8)
    batch[1] = float("nan")
    batch[3] = float("nan")
    one = sound(1, 4, 8, 8)
    one[0, 2, 5, 5] = float("nan")
    return {
        "video_nan_frame_2": video,
        "video_sound": sound(1, 16, 3, 4, 4),
        "batch_nan_1_3": batch,
        "one_nan": one,
        "batch_sound": sound(4, 4, 8, 8),
        "one_sound": sound(1, 4, 4, 4),
        "image_48": sound(1, 4, 48, 48),
        "sixteen_channels": sound(1, 16, 8, 8),
        "batch_tiny": sound(2, 4, 2, 2),
        "pixels": sound(1, 3, 32, 32),
        "video_16": sound(1, 16, 3, 16, 16),
        "video_4ch": sound(1, 4, 3, 16, 16),
        "audio_shape": sound(1, 4, 8),
        "empty_batch": sound(0, 4, 8, 8),
    }


def main(comfyui: Path, target: Path) -> None:
    """Writes everything below ``target``."""
    sys.path.insert(0, str(comfyui))
    sys.argv = ["main.py", "--cpu"]  # the host reads its flags at import, and without a GPU it needs this one
    import comfy.options

    comfy.options.enable_args_parsing()
    from safetensors.torch import save_file

    for folder in ("vae", "input", "vae_approx"):
        (target / folder).mkdir(parents=True, exist_ok=True)
    kl = tiny_kl()
    models = {"tiny_kl": kl, "tiny_kl_overflow": overflowing(kl), "tiny_wan": tiny_wan()}
    for name, weights in models.items():
        plain = {key: value.detach().contiguous() for key, value in weights.items()}
        save_file(plain, target / "vae" / f"{name}.safetensors")
    # A VAE with a finite file and a NaN weight: no precision can help, and nothing may claim that it did.
    broken = {key: value.clone() for key, value in kl.items()}
    broken["decoder.conv_out.bias"][0] = float("nan")
    save_file(broken, target / "vae" / "tiny_kl_broken.safetensors")
    # A checkpoint's worth of keys without any VAE among them.
    save_file({"some.other.weight": torch.zeros(2)}, target / "vae" / "no_vae.safetensors")
    for name, latent in faulty_latents().items():
        content = {"latent_tensor": latent, "latent_format_version_0": torch.tensor([])}
        save_file(content, target / "input" / f"{name}.latent", metadata={"prompt": json.dumps({})})


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
