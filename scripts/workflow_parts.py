"""What the bundled workflows are made of: nodes, links, and model files with their addresses.

The files are those that ComfyUI's own templates use, so that its missing-model dialog can offer them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

HUGGING_FACE = "https://huggingface.co"
WAN = f"{HUGGING_FACE}/Comfy-Org/Wan_2.2_ComfyUI_Repackaged/resolve/main/split_files"


@dataclass(frozen=True)
class File:
    """A model file, where ComfyUI expects it and where it comes from."""

    name: str
    directory: str
    url: str

    def as_json(self) -> dict[str, str]:
        """The entry of a node's ``properties.models``."""
        return {"name": self.name, "url": self.url, "directory": self.directory}


@dataclass(frozen=True)
class Node:
    """A node; ``links`` are input name -> "key of the other node.name of its output"."""

    key: str
    type: str
    at: tuple[int, int]
    values: dict[str, Any] = field(default_factory=dict)
    links: dict[str, str] = field(default_factory=dict)
    title: str = ""
    files: Sequence[File] = ()
    size: tuple[int, int] | None = None


@dataclass(frozen=True)
class Workflow:
    """One file in workflows/; the name is what the template browser shows."""

    name: str
    nodes: Sequence[Node]

    @property
    def files(self) -> list[File]:
        """Every model that it needs."""
        return [file for node in self.nodes for file in node.files]


SDXL = File(
    "sd_xl_base_1.0.safetensors",
    "checkpoints",
    f"{HUGGING_FACE}/stabilityai/stable-diffusion-xl-base-1.0/resolve/main/sd_xl_base_1.0.safetensors",
)
INPAINT = File(
    "512-inpainting-ema.safetensors",
    "checkpoints",
    f"{HUGGING_FACE}/Comfy-Org/stable_diffusion_2.1_repackaged/resolve/main/512-inpainting-ema.safetensors",
)
FLUX = File(
    "flux1-dev.safetensors",
    "diffusion_models",
    f"{HUGGING_FACE}/Comfy-Org/flux1-dev/resolve/main/flux1-dev.safetensors",
)
CLIP_L = File(
    "clip_l.safetensors",
    "text_encoders",
    f"{HUGGING_FACE}/comfyanonymous/flux_text_encoders/resolve/main/clip_l.safetensors",
)
T5 = File(
    "t5xxl_fp16.safetensors",
    "text_encoders",
    f"{HUGGING_FACE}/comfyanonymous/flux_text_encoders/resolve/main/t5xxl_fp16.safetensors",
)
AE = File(
    "ae.safetensors",
    "vae",
    f"{HUGGING_FACE}/Comfy-Org/Lumina_Image_2.0_Repackaged/resolve/main/split_files/vae/ae.safetensors",
)
UMT5 = File(
    "umt5_xxl_fp8_e4m3fn_scaled.safetensors",
    "text_encoders",
    f"{HUGGING_FACE}/Comfy-Org/Wan_2.1_ComfyUI_repackaged/resolve/main/split_files/text_encoders/"
    "umt5_xxl_fp8_e4m3fn_scaled.safetensors",
)
WAN_VAE = File("wan_2.1_vae.safetensors", "vae", f"{WAN}/vae/wan_2.1_vae.safetensors")


def wan_model(noise: str) -> File:
    """One of the two halves of Wan 2.2 14B text to video."""
    name = f"wan2.2_t2v_{noise}_noise_14B_fp8_scaled.safetensors"
    return File(name, "diffusion_models", f"{WAN}/diffusion_models/{name}")


def note(at: tuple[int, int], text: str, size: tuple[int, int] = (390, 300)) -> Node:
    """What to look at, in the graph itself."""
    return Node("note", "MarkdownNote", at, {"": text.strip()}, title="What to look at", size=size)


def text(key: str, at: tuple[int, int], words: str, clip: str, title: str) -> Node:
    """A prompt."""
    return Node(key, "CLIPTextEncode", at, {"text": words}, {"clip": clip}, title, size=(400, 160))


def model_guard(key: str, at: tuple[int, int], model: str) -> Node:
    """Restarts in a wider dtype, the mode that costs nobody a night."""
    return Node(key, "HeadroomModelGuard", at, {"mode": "restart in a wider dtype"}, {"model": model}, size=(320, 140))
