"""Test-only: images, masks and audio with a fault at a place that is told, and garbage of a size that is told."""

from __future__ import annotations

import gc

import torch
from comfy_api.latest import io


class BadMedia(io.ComfyNode):
    """Noise in place of the image, mask or audio that comes in, with one value all over a part of it."""

    @classmethod
    def define_schema(cls) -> io.Schema:
        """``place`` is an index or a range for each dimension: "0,512:1024,0:512"; more of them behind ";"."""
        return io.Schema(
            node_id="TestBadMedia",
            category="test",
            inputs=[
                io.AnyType.Input("media"),
                io.String.Input("place", default="0"),
                io.String.Input("value", default="nan"),
            ],
            outputs=[io.AnyType.Output()],
        )

    @classmethod
    def execute(cls, media, place, value) -> io.NodeOutput:
        """Noise between 0.1 and 0.9 in the shape of the input, which stays."""
        given = media["waveform"] if isinstance(media, dict) else media
        bad = 0.1 + 0.8 * torch.rand(given.shape, generator=torch.Generator().manual_seed(5))
        for one in place.split(";"):
            parts = [[int(n) if n else None for n in part.split(":")] for part in one.split(",")]
            bad[tuple(slice(*part) if len(part) > 1 else part[0] for part in parts)] = float(value)
        return io.NodeOutput({**media, "waveform": bad} if isinstance(media, dict) else bad)


class Garbage(io.ComfyNode):
    """Leaves memory in a reference cycle, as nodes in the field do: only a full garbage collection frees it."""

    @classmethod
    def define_schema(cls) -> io.Schema:
        """``mib`` are really used, so that they count in the resident set."""
        return io.Schema(
            node_id="TestGarbage",
            category="test",
            inputs=[io.AnyType.Input("anything"), io.Int.Input("mib", default=256, min=1, max=4096)],
            outputs=[io.AnyType.Output()],
        )

    @classmethod
    def execute(cls, anything, mib) -> io.NodeOutput:
        """In the oldest generation, so that no small collection takes it before Free Memory does."""

        class Cycle:
            pass

        one = Cycle()
        one.itself, one.memory = one, torch.ones(mib, 2**20, dtype=torch.uint8)
        gc.collect()
        return io.NodeOutput(anything)


NODES = [BadMedia, Garbage]
