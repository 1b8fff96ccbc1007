"""Test-only: a MODEL that goes bad at a given step, and a look at a model's state."""

from __future__ import annotations

import comfy.patcher_extension
import torch
from comfy_api.latest import io


class BadModel(io.ComfyNode):
    """A model whose forward pass gives NaN at one step of the schedule, unless it computes in fp32."""

    @classmethod
    def define_schema(cls) -> io.Schema:
        """``step`` counts from 1; ``items`` limits the NaN to some batch items; ``always`` is bad in fp32 too."""
        return io.Schema(
            node_id="TestBadModel",
            category="test",
            inputs=[
                io.Model.Input("model"),
                io.Int.Input("step", default=3, min=1, max=10000),
                io.String.Input("items", default=""),
                io.Boolean.Input("always", default=False),
            ],
            outputs=[io.Model.Output()],
        )

    @classmethod
    def execute(cls, model, step, items, always) -> io.NodeOutput:
        """Through the host's own wrapper around the forward pass, which gets the latent in the compute dtype."""
        clone = model.clone()
        chosen = [int(item) for item in items.split(",") if item.strip()]

        def forward(executor, x, *args, **kwargs):
            out = executor(x, *args, **kwargs)
            options = next(a for a in (*args, *kwargs.values()) if isinstance(a, dict) and "sample_sigmas" in a)
            wanted, now = float(options["sample_sigmas"][step - 1]), float(options["sigmas"].flatten()[0])
            if abs(now - wanted) > 1e-4 * now or (x.dtype is torch.float32 and not always):
                return out
            out = out.clone()
            size = out.shape[0] // len(options["cond_or_uncond"])
            for index in range(out.shape[0]):
                if not chosen or index % size in chosen:
                    out[index] = float("nan")
            return out

        clone.add_wrapper(comfy.patcher_extension.WrappersMP.DIFFUSION_MODEL, forward)
        return io.NodeOutput(clone)


class ModelState(io.ComfyNode):
    """What a MODEL says of itself; ``after`` only orders the run."""

    @classmethod
    def define_schema(cls) -> io.Schema:
        """Looks once the latent is there."""
        return io.Schema(
            node_id="TestModelState",
            category="test",
            inputs=[io.Model.Input("model"), io.Latent.Input("after", optional=True)],
            outputs=[io.String.Output()],
            is_output_node=True,
        )

    @classmethod
    def execute(cls, model, after=None) -> io.NodeOutput:
        """Wrappers, patches and the dtype it computes in."""
        wrappers = {kind: sorted(map(str, keys)) for kind, keys in model.wrappers.items() if keys}
        facts = [wrappers, sorted(model.object_patches), str(model.patches_uuid), sorted(model.model_options)]
        facts.append(str(model.get_model_object("manual_cast_dtype")))
        return io.NodeOutput(repr(facts), ui={"text": [repr(facts)]})


class LatentBits(io.ComfyNode):
    """A latent's values as text, for comparing two runs bit for bit."""

    @classmethod
    def define_schema(cls) -> io.Schema:
        """An output node."""
        return io.Schema(
            node_id="TestLatentBits",
            category="test",
            inputs=[io.Latent.Input("samples")],
            outputs=[],
            is_output_node=True,
        )

    @classmethod
    def execute(cls, samples) -> io.NodeOutput:
        """All streams, in fp64 hex."""
        latent = samples["samples"]
        parts = latent.unbind() if latent.is_nested else [latent]
        text = [" ".join(value.hex() for value in part.double().flatten().tolist()) for part in parts]
        return io.NodeOutput(ui={"text": text})


NODES = [BadModel, ModelState, LatentBits]
