"""Saves a latent as the host's SaveLatent does, so that Load Latent opens it (nodes.py 0.30.0, SaveLatent)."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import folder_paths
import torch

PREFIX = "latents/headroom"


def save(samples: torch.Tensor, prompt: Any = None) -> str:
    """Writes ``output/latents/headroom_00001_.latent`` and returns that path below the output folder.

    Args:
        samples: the latent, any shape and dtype.
        prompt: the API-format prompt, kept in the file as SaveLatent keeps it; left out under ``--disable-metadata``.

    Raises:
        OSError: the output folder cannot be written.
    """
    import safetensors.torch
    from comfy.cli_args import args

    folder, name, counter, subfolder, _ = folder_paths.get_save_image_path(PREFIX, folder_paths.get_output_directory())
    metadata = None if args.disable_metadata or prompt is None else {"prompt": json.dumps(prompt)}
    target = Path(folder) / f"{name}_{counter:05}_.latent"
    content = {
        "latent_tensor": samples.detach().to("cpu").contiguous(),
        # Its presence tells Load Latent that the values are not scaled by 0.18215.
        "latent_format_version_0": torch.tensor([]),
    }
    scratch = target.with_suffix(".partial")
    safetensors.torch.save_file(content, scratch, metadata=metadata)
    os.replace(scratch, target)
    return f"{subfolder}/{target.name}".lstrip("/").replace("\\", "/")
