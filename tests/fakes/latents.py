"""Latents for the tests: nested stand-ins that can do no more than the product may ask of them."""

from __future__ import annotations

from collections.abc import Sequence

import torch


class BareNested:
    """A nested latent with ``is_nested``, ``ndim`` and ``unbind()`` only, as the crashes in the field had it.

    No clone, dim, reshape or shape: LBH-123-AI/Comfyui_Minimax_h3_latent_Upscaler #13, #15, #22, #47, #56.
    """

    is_nested = True

    def __init__(self, tensors: Sequence[torch.Tensor]) -> None:
        assert isinstance(tensors, list), "comfy.nested_tensor.NestedTensor is built from a list"
        self._tensors = list(tensors)

    @property
    def ndim(self) -> int:
        return max(t.ndim for t in self._tensors)

    def unbind(self) -> list[torch.Tensor]:
        return self._tensors
