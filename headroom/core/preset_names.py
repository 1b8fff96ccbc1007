"""Which presets there are. Apart from ``presets``, since the nodes' schemas ask for the names at ComfyUI's start.

A name is part of saved workflows and never changes.
"""

from __future__ import annotations

from typing import Literal

#: Marks what is no file of the user's.
CALLED = "example: {name}, {format}"
#: Words of ``formats.FORMATS``, so that the names are known without it.
WORDS = {
    "fp32": "fp32",
    "fp16": "fp16",
    "bf16": "bf16",
    "fp8": "fp8",
    "q8": "GGUF Q8_0",
    "q4": "GGUF Q4_K",
}
_ALL = ("bf16", "fp8", "q8", "q4")

#: (kind, name, header, formats); a header that two names share is one file used by two families.
LISTED: tuple[tuple[Literal["diffusion", "text encoder", "vae"], str, str, tuple[str, ...]], ...] = (
    ("diffusion", "Wan 2.2 14B text to video", "wan-14b-t2v", ("fp16", "fp8", "q8", "q4")),
    ("diffusion", "Wan 2.2 14B image to video", "wan-14b-i2v", ("fp16", "fp8", "q8", "q4")),
    ("diffusion", "Wan 2.2 5B", "wan-5b", ("fp16", "fp8")),
    ("diffusion", "Wan 2.1 1.3B", "wan-1.3b", ("fp16",)),
    ("diffusion", "LTX-2 19B", "ltx-2-19b", ("bf16", "fp8", "q4")),
    ("diffusion", "LTX-Video 2B", "ltxv-2b", ("bf16",)),
    ("diffusion", "HunyuanVideo", "hunyuan-video", _ALL),
    ("diffusion", "Flux.1 dev", "flux-dev", _ALL),
    ("diffusion", "Flux.2 dev", "flux2-dev", _ALL),
    ("diffusion", "Qwen-Image", "qwen-image", _ALL),
    ("diffusion", "Z-Image Turbo", "z-image", ("bf16", "fp8")),
    ("diffusion", "Chroma", "chroma", _ALL),
    ("diffusion", "SDXL base", "sdxl-base", ("fp16",)),
    ("diffusion", "SD 1.5", "sd-1.5", ("fp16",)),
    ("text encoder", "UMT5-XXL (Wan)", "umt5-xxl", ("fp16", "fp8")),
    ("text encoder", "T5-XXL (Flux, LTX-Video)", "t5-xxl", ("fp16", "fp8")),
    ("text encoder", "CLIP-L", "clip-l", ("fp16",)),
    ("text encoder", "CLIP-G (SDXL)", "clip-g", ("fp16",)),
    ("text encoder", "Qwen2.5-VL 7B (Qwen-Image)", "qwen2.5-vl-7b", ("bf16", "fp8")),
    ("text encoder", "Qwen3 4B (Z-Image)", "qwen3-4b", ("bf16", "fp8")),
    ("text encoder", "Gemma 3 12B (LTX-2)", "gemma3-12b", ("bf16", "fp8")),
    ("text encoder", "Mistral Small 24B (Flux.2)", "mistral-24b-flux2", ("bf16", "fp8")),
    ("vae", "Wan 2.1 VAE", "wan-2.1-vae", ("bf16",)),
    ("vae", "Wan 2.2 VAE", "wan-2.2-vae", ("bf16",)),
    ("vae", "Flux.1 VAE", "kl-16-vae", ("bf16",)),
    ("vae", "SDXL VAE", "kl-4-vae", ("fp32", "fp16")),
    ("vae", "SD 1.5 VAE", "kl-4-vae", ("fp32",)),
)


def names(kind: str) -> list[str]:
    """The names of all presets of a kind, in the order of the table."""
    return [
        CALLED.format(name=name, format=WORDS[format_])
        for found, name, _, formats in LISTED
        if found == kind
        for format_ in formats
    ]
