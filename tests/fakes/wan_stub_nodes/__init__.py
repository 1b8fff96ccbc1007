"""A test-only pack with the inputs that WanVideoWrapper's nodes declare, in its own (V1) style and names.

As in ComfyUI-WanVideoWrapper's nodes.py: INT with limits, BOOLEAN, and a list of two words instead of a type.
"""

from __future__ import annotations

from typing import Any

SECOND_LIST = ["main_device", "offload_device", "a later choice"]


class _Shown:
    """Shows what it was given."""

    RETURN_TYPES = ()
    FUNCTION = "show"
    OUTPUT_NODE = True
    CATEGORY = "test"

    def show(self, **given: Any) -> dict[str, Any]:
        """The inputs as they came."""
        return {"ui": {"given": [given]}}


class BlockSwap(_Shown):
    """The wrapper's block swap."""

    @classmethod
    def INPUT_TYPES(cls) -> dict[str, Any]:  # noqa: N802 -- ComfyUI's name
        """Its inputs."""
        whole = {"min": 0, "max": 40, "step": 1}
        return {
            "required": {
                "blocks_to_swap": ("INT", {"default": 20, **whole}),
                "offload_img_emb": ("BOOLEAN", {"default": False}),
            },
            "optional": {
                "vace_blocks_to_swap": ("INT", {"default": 0, **whole, "max": 15}),
                "prefetch_blocks": ("INT", {"default": 0, **whole}),
            },
        }


class ModelLoader(_Shown):
    """The part of the wrapper's loader that says where to load to."""

    @classmethod
    def INPUT_TYPES(cls) -> dict[str, Any]:  # noqa: N802 -- ComfyUI's name
        """A list of words instead of a type, which the host compares as it is."""
        return {"required": {"load_device": (SECOND_LIST[:2], {"default": "main_device"})}}


class LaterModelLoader(_Shown):
    """The same if the wrapper adds a choice."""

    @classmethod
    def INPUT_TYPES(cls) -> dict[str, Any]:  # noqa: N802 -- ComfyUI's name
        """One word more."""
        return {"required": {"load_device": (SECOND_LIST, {"default": "main_device"})}}


class Sampler(_Shown):
    """The part of the wrapper's sampler that sends the model away."""

    @classmethod
    def INPUT_TYPES(cls) -> dict[str, Any]:  # noqa: N802 -- ComfyUI's name
        """A switch."""
        return {"required": {"force_offload": ("BOOLEAN", {"default": True})}}


NODE_CLASS_MAPPINGS = {
    "TestWanBlockSwap": BlockSwap,
    "TestWanModelLoader": ModelLoader,
    "TestWanLaterModelLoader": LaterModelLoader,
    "TestWanSampler": Sampler,
}
