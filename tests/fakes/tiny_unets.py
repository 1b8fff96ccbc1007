"""Makes tiny random-weight diffusion models that the real ComfyUI accepts and detects as SD 2.0 (26 M parameters).

Usage: python tiny_unets.py COMFYUI_FOLDER TARGET_FOLDER. Conditioning needs no text encoder: the host's
LotusConditioning gives one of the right width.

``tiny_sd20_overflow`` is the same model with everything that adds to its residual stream scaled by 2**14, so that its
activations pass fp16's largest value (65504) although its weights (up to about 14000) do not; normalisation divides the
factor out again. In fp32 and bf16 it gives what ``tiny_sd20`` gives, in fp16 NaN from the first step on.
"""

from __future__ import annotations

import sys
from pathlib import Path

import torch

OVERFLOW_FACTOR = 2.0**14
CONFIG = {
    "image_size": 32, "in_channels": 4, "out_channels": 4, "model_channels": 320, "num_res_blocks": [2],
    "channel_mult": [1], "transformer_depth": [1, 1], "transformer_depth_output": [1, 1, 1],
    "transformer_depth_middle": 1, "num_heads": -1, "num_head_channels": 64, "use_spatial_transformer": True,
    "context_dim": 1024, "use_linear_in_transformer": True, "use_checkpoint": False, "legacy": False,
    "adm_in_channels": None,
}  # fmt: skip


def tiny_sd20(seed: int = 4) -> dict[str, torch.Tensor]:
    """Random weights with the scale of a usual initialisation; ComfyUI's layers skip theirs."""
    import comfy.ops
    from comfy.ldm.modules.diffusionmodules.openaimodel import UNetModel

    model = UNetModel(**CONFIG, operations=comfy.ops.disable_weight_init, dtype=torch.float32)
    generator = torch.Generator().manual_seed(seed)
    weights = {}
    for name, old in model.state_dict().items():
        if old.ndim <= 1:
            weights[name] = (1.0 if name.endswith("weight") else 0.0) + 0.02 * torch.randn(
                old.shape, generator=generator
            )
        else:
            weights[name] = torch.randn(old.shape, generator=generator) * (1.0 / old[0].numel()) ** 0.5
    return weights


def overflowing(weights: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """Everything that adds to the residual stream, and the biases of what only passes it on, scaled."""
    scaled = {}
    for name, value in weights.items():
        adds = name.startswith("input_blocks.0.0.") or ".out_layers.3." in name or ".proj_out." in name
        passes = name.endswith("bias") and (
            ".skip_connection." in name or ".op." in name or name.endswith(".conv.bias")
        )
        scaled[name] = value * OVERFLOW_FACTOR if adds or passes else value.clone()
    return scaled


def main(comfyui: Path, target: Path) -> None:
    """Writes ``diffusion_models/`` below ``target``."""
    sys.path.insert(0, str(comfyui))
    sys.argv = ["main.py", "--cpu"]  # the host reads its flags at import, and without a GPU it needs this one
    import comfy.options

    comfy.options.enable_args_parsing()
    from safetensors.torch import save_file

    folder = target / "diffusion_models"
    folder.mkdir(parents=True, exist_ok=True)
    weights = tiny_sd20()
    for name, state in (("tiny_sd20", weights), ("tiny_sd20_overflow", overflowing(weights))):
        save_file({key: value.half().contiguous() for key, value in state.items()}, folder / f"{name}.safetensors")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
