"""A test-only node pack for the real host: VAEs that fail as told, and a look at a VAE's state.

Never part of the product: it is linked into the test host's custom_nodes by tests/comfy_server.py.
"""

from __future__ import annotations

import copy
import hashlib
import time
import types

import torch
from comfy_api.latest import ComfyExtension, io

from . import bad_media, bad_model, images, side_by_side

OOM_TEXT = (
    "CUDA out of memory. Tried to allocate 3.10 GiB. GPU 0 has a total capacity of 15.47 GiB of which 1.90 GiB is free."
)


class FaultyVAE(io.ComfyNode):
    """The VAE that comes in, copied, with a module that fails as told."""

    @classmethod
    def define_schema(cls) -> io.Schema:
        """The faults: out of memory above an area, NaN in items or in one call while narrower than fp32, slowness."""
        return io.Schema(
            node_id="TestFaultyVAE",
            category="test",
            inputs=[
                io.Vae.Input("vae"),
                io.Int.Input("oom_above", default=0, min=0, max=10**9),
                io.String.Input("nan_items", default=""),
                io.Int.Input("nan_call", default=-1, min=-1, max=10**9),
                io.Float.Input("seconds", default=0.0),
                io.Boolean.Input("no_weights", default=False),
                io.Boolean.Input("known_file", default=False),
            ],
            outputs=[io.Vae.Output()],
        )

    @classmethod
    def execute(cls, vae, oom_above, nan_items, nan_call, seconds, no_weights, known_file) -> io.NodeOutput:
        """Copies the module (so that the loader's cached VAE stays sound) and puts the fault into the copy."""
        faulty = copy.copy(vae)
        if no_weights:
            faulty.first_stage_model = None
            return io.NodeOutput(faulty)
        module = copy.deepcopy(vae.first_stage_model)
        module.test_items = [int(item) for item in nan_items.split(",") if item.strip()]
        module.test_calls = 0

        def with_faults(sound):
            def decode_or_encode(self, given, *args, **kwargs):
                call, self.test_calls = self.test_calls, self.test_calls + 1
                time.sleep(seconds)
                if oom_above and given.shape[-1] * given.shape[-2] > oom_above:
                    raise torch.OutOfMemoryError(OOM_TEXT)
                out = sound(self, given, *args, **kwargs)
                if given.dtype is not torch.float32:
                    for item in self.test_items:
                        out[item, 0, ..., 0] = float("nan")
                    if call == nan_call:
                        out.fill_(float("nan"))
                return out

            return types.MethodType(decode_or_encode, module)

        for name in ("decode", "encode"):
            setattr(module, name, with_faults(getattr(type(module), name)))
        faulty.first_stage_model = module
        faulty.patcher = type(vae.patcher)(module, vae.patcher.load_device, vae.patcher.offload_device)
        if known_file:
            faulty.patcher.cached_patcher_init = vae.patcher.cached_patcher_init
        return io.NodeOutput(faulty)


class VaeState(io.ComfyNode):
    """A fingerprint of everything about a VAE that a decode must leave alone."""

    @classmethod
    def define_schema(cls) -> io.Schema:
        """``after`` and ``after_latent`` only order the run: this node looks once they are there."""
        return io.Schema(
            node_id="TestVaeState",
            category="test",
            inputs=[
                io.Vae.Input("vae"),
                io.Image.Input("after", optional=True),
                io.Latent.Input("after_latent", optional=True),
                io.Boolean.Input("encoder", default=False, optional=True),
            ],
            outputs=[io.String.Output()],
            is_output_node=True,
            not_idempotent=True,
        )

    @classmethod
    def fingerprint_inputs(cls, **_inputs) -> float:
        """Looks anew each time."""
        return time.monotonic()

    @classmethod
    def execute(cls, vae, after=None, after_latent=None, encoder=False) -> io.NodeOutput:
        """Weights bit for bit, dtype, attributes, and what the patcher says of itself."""
        digest = hashlib.sha256()
        for name, weight in sorted(vae.first_stage_model.state_dict().items()):
            if name.startswith("encoder.") and not encoder:
                continue  # Some tiny VAEs have no encoder weights; theirs is uninitialised memory.
            digest.update(name.encode())
            digest.update(str(weight.dtype).encode())
            digest.update(weight.detach().cpu().contiguous().view(torch.uint8).numpy().tobytes())
        flags = [
            module.comfy_cast_weights
            for module in vae.first_stage_model.modules()
            if hasattr(module, "comfy_cast_weights")
        ]
        facts = [
            digest.hexdigest(), str(vae.vae_dtype), str(vae.device), sorted(vae.__dict__), vae.patcher.model_size(),
            str(vae.patcher.patches_uuid), sorted(vae.patcher.object_patches), sum(flags),
        ]  # fmt: skip
        return io.NodeOutput(repr(facts), ui={"text": [repr(facts)]})


class NanLatent(io.ComfyNode):
    """The latent that comes in with one NaN at a place that is told."""

    @classmethod
    def define_schema(cls) -> io.Schema:
        """``place`` is an index for each dimension."""
        return io.Schema(
            node_id="TestNanLatent",
            category="test",
            inputs=[io.Latent.Input("samples"), io.String.Input("place", default="0,0,0,0")],
            outputs=[io.Latent.Output()],
        )

    @classmethod
    def execute(cls, samples, place) -> io.NodeOutput:
        """A copy; the input stays."""
        bad = samples["samples"].clone()
        bad[tuple(int(index) for index in place.split(","))] = float("nan")
        return io.NodeOutput({**samples, "samples": bad})


class FaultyExtension(ComfyExtension):
    """The test-only nodes."""

    async def get_node_list(self) -> list[type[io.ComfyNode]]:
        """All of them."""
        own = [FaultyVAE, VaeState, NanLatent]
        return [*own, *bad_model.NODES, *bad_media.NODES, *images.NODES, *side_by_side.NODES]


def comfy_entrypoint() -> FaultyExtension:
    """ComfyUI's V3 entry point."""
    return FaultyExtension()
