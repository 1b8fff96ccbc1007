"""Test-only asynchronous nodes: ComfyUI begins the next one while they wait, as its nodes that ask a server do."""

from __future__ import annotations

import asyncio

from comfy_api.latest import io


class Waits(io.ComfyNode):
    """Waits without holding the others up, and raises then if told to."""

    @classmethod
    def define_schema(cls) -> io.Schema:
        """``error`` is the text to raise; empty for none. ``after`` only orders the run, and ``number`` keeps two of
        them apart in the host's cache."""
        return io.Schema(
            node_id="TestWaits",
            category="test",
            inputs=[
                io.Float.Input("seconds", default=0.3),
                io.String.Input("error", default=""),
                io.Int.Input("number", default=0, min=0, max=2**62),
                io.String.Input("after", default="", optional=True),
            ],
            outputs=[io.String.Output()],
            is_output_node=True,
        )

    @classmethod
    async def execute(cls, seconds, error, number, after="") -> io.NodeOutput:
        """Its own text."""
        await asyncio.sleep(seconds)
        if error:
            raise RuntimeError(error)
        return io.NodeOutput(f"waited for {seconds}")


class WaitsToo(Waits):
    """The same under another name."""

    @classmethod
    def define_schema(cls) -> io.Schema:
        """As that of the other."""
        schema = super().define_schema()
        schema.node_id = "TestWaitsToo"
        return schema


NODES = [Waits, WaitsToo]
