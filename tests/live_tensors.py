"""Counts the bytes of live tensors while code runs, on the CPU or on the meta device.

On meta nothing is computed, so that a model of full size at full resolution is walked in a second and what is counted
is what its code keeps: exact for tensors, blind for what kernels take beside them (convolution workspaces, the
allocator's rounding).
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import torch
from torch.multiprocessing.reductions import StorageWeakRef
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_iter


class LiveTensors(TorchDispatchMode):
    """Within it, ``peak_bytes`` is the most that tensors made within it had at once; ``at_peak`` says which."""

    def __init__(self, picked: float = 1.0) -> None:
        """``picked``: the share of rows that a mask picks on the meta device, where it has no values: an expert's."""
        super().__init__()
        self._picked = picked
        self._live: dict[int, tuple[StorageWeakRef, int, str]] = {}
        # A weak reference keeps the address of what has gone from being given to something new, which would not count.
        self._known: dict[int, StorageWeakRef] = {}
        self.live_bytes = self.peak_bytes = 0
        self.at_peak: list[tuple[int, str]] = []
        self.peak_op = ""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        for leaf in tree_iter((args, kwargs)):
            # What comes from outside, such as inputs and weights, is not of the run.
            if isinstance(leaf, torch.Tensor):
                storage = leaf.untyped_storage()
                if storage._cdata not in self._live and storage._cdata not in self._known:
                    self._known[storage._cdata] = StorageWeakRef(storage)
        result = self._leaving(func, args, kwargs or {})
        if result is None:
            result = self._masked(func, args)
        if result is None:
            result = func(*args, **(kwargs or {}))
        self._purge()
        for leaf in tree_iter(result):
            if isinstance(leaf, torch.Tensor):
                self._add(leaf, str(func))
        if self.live_bytes > self.peak_bytes:
            self.peak_bytes = self.live_bytes
            self.peak_op = str(func)
            self.at_peak = sorted(((size, text) for _, size, text in self._live.values()), reverse=True)
        return result

    @staticmethod
    def _leaving(func: Any, args: Any, kwargs: Any) -> Any:
        """What is moved from the meta device to another one: it has no values, so a stand-in of one element arrives."""
        device = kwargs.get("device")
        if func is torch.ops.aten._to_copy.default and args[0].is_meta and device is not None and device.type != "meta":
            return torch.empty(1, dtype=kwargs.get("dtype") or args[0].dtype).expand(args[0].shape)
        if func is torch.ops.aten.copy_.default and args[1].is_meta and not args[0].is_meta:
            return args[0]
        return None

    def _masked(self, func: Any, args: Any) -> Any:
        """Rows read or written by a mask that has no values."""
        if func not in (torch.ops.aten.index.Tensor, torch.ops.aten.index_put_.default) or not args[0].is_meta:
            return None
        (mask, *rest) = args[1]
        if rest or mask is None or mask.dtype != torch.bool or mask.dim() != 1:
            return None
        if func is torch.ops.aten.index_put_.default:
            return args[0]
        return args[0].new_empty((int(mask.shape[0] * self._picked), *args[0].shape[1:]))

    def _add(self, tensor: Any, op: str) -> None:
        storage = tensor.untyped_storage()
        key = storage._cdata
        if key in self._live or key in self._known:
            return
        size = storage.nbytes()
        self._live[key] = (StorageWeakRef(storage), size, f"{op} {tuple(tensor.shape)} {tensor.dtype}")
        self.live_bytes += size

    def _purge(self) -> None:
        for key in [key for key, (ref, _, _) in self._live.items() if ref.expired()]:
            self.live_bytes -= self._live.pop(key)[1]


def peak_of(run: Callable[[], Any], picked: float = 1.0) -> LiveTensors:
    """Runs something without gradients and says what lived at its peak, results included; ``picked`` as above."""
    watch = LiveTensors(picked)
    with torch.no_grad(), watch:
        run()
    return watch


@contextmanager
def as_on_a_card(
    norms_are_one_kernel: bool = True, total_bytes: int = 24 * 2**30, values: bool = False
) -> Iterator[None]:
    """Makes the host's modules run as on a card with fused attention, on tensors that have no values.

    Attention makes its result and nothing else. ``norms_are_one_kernel``: so does an RMS norm, as on CUDA; else it is
    taken apart into the tensors that torch makes where it has no kernel for it. ``values``: the tensors have values,
    so attention and norms are torch's own.
    """
    import comfy.ldm.modules.attention as attention
    import comfy.ldm.modules.diffusionmodules.model as blocks
    import comfy.model_management
    import comfy.ops

    def fused(query: Any, key: Any, value: Any, *_: Any, **__: Any) -> Any:
        return query.new_empty((*query.shape[:-1], value.shape[-1]))

    item = torch.Tensor.item
    with pytest.MonkeyPatch.context() as patch:
        if not values:
            patch.setattr(torch.nn.functional, "scaled_dot_product_attention", fused)
            patch.setattr(comfy.ops, "scaled_dot_product_attention", fused)
        patch.setattr(torch.Tensor, "item", lambda tensor: 1 if tensor.is_meta else item(tensor))
        patch.setattr(comfy.model_management, "get_free_memory", lambda *_, **__: 2**40)
        patch.setattr(comfy.model_management, "get_total_memory", lambda *_, **__: total_bytes)
        if norms_are_one_kernel and not values:
            for owner in (torch.nn.functional, torch):
                patch.setattr(owner, "rms_norm", lambda tensor, *_, **__: torch.empty_like(tensor))
        for module in list(sys.modules.values()):
            if getattr(module, "__name__", "").startswith("comfy."):
                for name in ("optimized_attention", "optimized_attention_masked"):
                    if hasattr(module, name):
                        patch.setattr(module, name, attention.attention_pytorch)
                if hasattr(module, "vae_attention"):
                    patch.setattr(module, "vae_attention", lambda: blocks.pytorch_attention)
        yield
