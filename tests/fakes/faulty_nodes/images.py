"""Test-only nodes around an encode: images and masks that are the same each time, and a LATENT as a file."""

from __future__ import annotations

import uuid
from pathlib import Path

import folder_paths
import torch
from comfy_api.latest import io


class Images(io.ComfyNode):
    """Random images; those that are told hold one bad value each."""

    @classmethod
    def define_schema(cls) -> io.Schema:
        """``bad`` names images, as "1,3"; ``value`` is what they hold: nan or inf."""
        return io.Schema(
            node_id="TestImages",
            category="test",
            inputs=[
                io.Int.Input("number", default=1, min=0),
                io.Int.Input("height", default=32),
                io.Int.Input("width", default=32),
                io.Int.Input("channels", default=3),
                io.Int.Input("seed", default=0),
                io.String.Input("bad", default=""),
                io.String.Input("value", default="nan"),
            ],
            outputs=[io.Image.Output()],
        )

    @classmethod
    def execute(cls, number, height, width, channels, seed, bad, value) -> io.NodeOutput:
        """[number, height, width, channels] in 0..1."""
        pixels = torch.rand((number, height, width, channels), generator=torch.Generator().manual_seed(seed))
        for image in [int(image) for image in bad.split(",") if image.strip()]:
            pixels[image, height // 2, width // 2, 1] = float(value)
        return io.NodeOutput(pixels)


class Mask(io.ComfyNode):
    """Masks with a soft-edged disc."""

    @classmethod
    def define_schema(cls) -> io.Schema:
        """``number`` masks, each a little further right."""
        return io.Schema(
            node_id="TestMask",
            category="test",
            inputs=[
                io.Int.Input("number", default=1),
                io.Int.Input("height", default=32),
                io.Int.Input("width", default=32),
            ],
            outputs=[io.Mask.Output()],
        )

    @classmethod
    def execute(cls, number, height, width) -> io.NodeOutput:
        """[number, height, width] in 0..1."""
        y, x = torch.meshgrid(torch.linspace(-1, 1, height), torch.linspace(-1, 1, width), indexing="ij")
        discs = [(1.5 - 3 * ((x - 0.1 * shift) ** 2 + y**2).sqrt()).clamp(0, 1) for shift in range(number)]
        return io.NodeOutput(torch.stack(discs))


class LatentFile(io.ComfyNode):
    """Every tensor of a LATENT in a file of the output folder: the host's SaveLatent leaves the noise mask away."""

    @classmethod
    def define_schema(cls) -> io.Schema:
        """The file's name is the text."""
        return io.Schema(
            node_id="TestLatentFile",
            category="test",
            inputs=[io.Latent.Input("samples")],
            outputs=[],
            is_output_node=True,
        )

    @classmethod
    def execute(cls, samples) -> io.NodeOutput:
        """As it is, dtype included."""
        from safetensors.torch import save_file

        name = f"{uuid.uuid4().hex}.safetensors"
        tensors = {key: value.detach().contiguous().clone() for key, value in samples.items()}
        save_file(tensors, Path(folder_paths.get_output_directory()) / name)
        return io.NodeOutput(ui={"text": [name]})


NODES = [Images, Mask, LatentFile]
