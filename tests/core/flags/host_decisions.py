"""What ComfyUI itself decides under given flags on a card that is only pretended: run as a program.

    python host_decisions.py COMFYUI < lines of JSON: [card, argv]

Loads comfy.model_management anew for each line, with a torch whose questions about the card are answered from
``CARDS``. Nothing is allocated; the answers are dtypes and devices as text.
"""

from __future__ import annotations

import collections
import json
import logging
import sys
import types
from pathlib import Path
from typing import Any

CARDS = {
    "RTX 4090": ("NVIDIA GeForce RTX 4090", (8, 9), 24),
    "RTX 3060": ("NVIDIA GeForce RTX 3060", (8, 6), 12),
    "RTX 2060": ("NVIDIA GeForce RTX 2060", (7, 5), 6),
    "GTX 1660": ("NVIDIA GeForce GTX 1660 SUPER", (7, 5), 6),
    "GTX 1080": ("NVIDIA GeForce GTX 1080", (6, 1), 8),
}
SDXL_PARAMETERS = 2_600_000_000
QWEN_PARAMETERS = 20_000_000_000


def pretend(torch: Any, card: str) -> None:
    """Answers what ComfyUI asks torch about the card."""
    name, (major, minor), gib = CARDS[card]
    total = gib * 2**30
    properties = types.SimpleNamespace(name=name, major=major, minor=minor, total_memory=total)
    torch.version.cuda = "12.8"
    torch.cuda.current_device = lambda: 0
    torch.cuda.device_count = lambda: 1
    torch.cuda.is_available = lambda: True
    torch.cuda.get_device_properties = lambda device=None: properties
    torch.cuda.get_device_name = lambda device=None: name
    torch.cuda.mem_get_info = lambda device=None: (total - 2**29, total)
    torch.cuda.memory_stats = lambda device=None: collections.defaultdict(int)
    torch.cuda.is_bf16_supported = lambda *args, **kwargs: True


def decide(torch: Any, argv: list[str]) -> dict[str, Any]:
    """The host's own functions under these flags."""
    for name in [name for name in sys.modules if name == "comfy" or name.startswith("comfy.")]:
        del sys.modules[name]
    sys.argv = ["main.py", *argv]
    import comfy.options

    comfy.options.enable_args_parsing()
    import comfy.cli_args
    import comfy.model_management as host

    every, no_fp16 = [torch.float16, torch.bfloat16, torch.float32], [torch.bfloat16, torch.float32]
    card = torch.device("cuda:0")

    def model(file: Any, supported: list[Any], parameters: int) -> list[str]:
        stored = host.unet_dtype(model_params=parameters, supported_dtypes=supported, weight_dtype=file)
        cast = host.unet_manual_cast(stored, card, supported)
        return [str(stored)[6:], str(cast or stored)[6:]]

    static_text_encoder = str(host.text_encoder_device())
    comfy.memory_management.aimdo_enabled = True
    return {
        "sdxl": model(torch.float16, every, SDXL_PARAMETERS),
        "sdxl_fp8_file": model(torch.float8_e4m3fn, every, SDXL_PARAMETERS),
        "qwen": model(torch.bfloat16, no_fp16, QWEN_PARAMETERS),
        "kl_vae": str(host.vae_dtype(host.vae_device(), no_fp16))[6:],
        "vae_device": str(host.vae_device()),
        "text_encoder_static": static_text_encoder,
        "text_encoder_dynamic": str(host.text_encoder_device()),
        "unet_offload": str(host.unet_offload_device()),
        "streams": host.NUM_STREAMS,
        "wants_dynamic": comfy.cli_args.enables_dynamic_vram(),
        "inference_bytes": str(host.minimum_inference_memory()),
        "reserve_bytes": str(host.extra_reserved_memory()),
    }


def main() -> None:
    """One answer per line, as one JSON list."""
    sys.path.insert(0, str(Path(sys.argv[1])))
    lines = [json.loads(line) for line in sys.stdin]
    import torch

    logging.disable(logging.CRITICAL)
    answers = []
    for card, argv in lines:
        pretend(torch, card)
        answers.append(decide(torch, argv))
    sys.stdout.write(json.dumps(answers) + "\n")


if __name__ == "__main__":
    main()
