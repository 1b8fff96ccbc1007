"""A private VAE with the same weights in a wider precision, or on another device.

The module is copied rather than built anew from the file: a new one would lose what other nodes did to it (circular
padding for seamless textures, for instance), and for some VAEs (TAEHV, LTX) the host's constructor does not find the
same kind again from a state dict. Then the copy's weights, rounded when the VAE was loaded, are replaced by those in
the file, each only where its rounding is exactly what is loaded: a weight that somebody changed stays changed.
"""

from __future__ import annotations

import copy
import logging
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import comfy.model_management as management
import comfy.model_patcher
import comfy.sd
import comfy.utils
import torch

from . import memory

_NATIVE_OF_MODULE = ("dynamic_vbars", "dynamic_pins", "dynamic_patchers")
_NATIVE_OF_LAYER = ("_v", "_v_signature", "_pins", "_pin_state")
"""What the host's dynamic VRAM hangs onto modules (comfy/model_patcher.py 0.30.0): handles of native memory that must
never be copied, since both copies would free it."""
_CHECKPOINT_PREFIXES = ("first_stage_model.", "vae.")


def widened(vae: Any, dtype: torch.dtype, device: torch.device) -> Any:
    """A copy of ``vae`` that computes in ``dtype`` on ``device``; the one given keeps its weights and its dtype.

    Its weights are taken out of the device first (the host loads them again when they are needed), so that the two
    never lie there side by side.
    """
    if vae.device.type != "cpu":
        memory.unload(vae.patcher)
    module = _copied(vae.first_stage_model)
    exact = _exact_weights(module, vae)
    module.to(dtype)
    with torch.no_grad():
        for name, weight in _weights(module):
            if name in exact:
                weight.copy_(exact[name])
    if hasattr(management, "archive_model_dtypes"):
        management.archive_model_dtypes(module)
    private = copy.copy(vae)
    private.first_stage_model = module
    private.vae_dtype, private.device = dtype, device
    # The static patcher, also under dynamic VRAM: this copy lives for one decode and is loaded as a whole.
    private.patcher = comfy.model_patcher.ModelPatcher(module, device, vae.patcher.offload_device)
    private.size = None
    logging.info(
        "Headroom: VAE in %s on %s for this decode (%d weights exact from the file)", dtype, device, len(exact)
    )
    return private


def _copied(module: torch.nn.Module) -> torch.nn.Module:
    """A deep copy without the native handles of dynamic VRAM."""
    memo: dict[int, Any] = {}
    for name in _NATIVE_OF_MODULE:
        if hasattr(module, name):
            memo[id(getattr(module, name))] = None
    for layer in module.modules():
        for name in _NATIVE_OF_LAYER:
            if name in layer.__dict__:
                memo[id(layer.__dict__[name])] = None
    duplicate = copy.deepcopy(module, memo)
    for layer in duplicate.modules():
        for name in (*_NATIVE_OF_MODULE, *_NATIVE_OF_LAYER):
            layer.__dict__.pop(name, None)
    return duplicate


def _exact_weights(module: torch.nn.Module, vae: Any) -> dict[str, torch.Tensor]:
    """The file's values of those weights whose loaded values are exactly their rounding."""
    try:
        source = _from_file(vae)
    except Exception:
        logging.debug("Headroom: the VAE's file could not be read again", exc_info=True)
        return {}
    exact = {}
    for name, loaded in _weights(module):
        original = source.get(name)
        if original is None or original.shape != loaded.shape or not original.dtype.is_floating_point:
            continue
        if original.dtype != loaded.dtype and torch.equal(original.to(loaded.dtype), loaded.to("cpu")):
            exact[name] = original
    return exact


def _weights(module: torch.nn.Module) -> Iterator[tuple[str, torch.Tensor]]:
    yield from module.named_parameters()
    yield from module.named_buffers()


def _from_file(vae: Any) -> Mapping[str, torch.Tensor]:
    """The weights as the file has them, by the names of the module; empty where the file is not known.

    ``cached_patcher_init`` holds the loader's name and arguments (nodes.py VAELoader and comfy/sd.py 0.30.0).
    """
    init = getattr(vae.patcher, "cached_patcher_init", None)
    if init is None:
        return {}
    loader, arguments = init[0].__name__, init[1]
    if loader == "load_vae_patcher":
        weights, metadata = comfy.utils.load_torch_file(arguments[0], return_metadata=True)
        fresh = comfy.sd.VAE(sd=weights, metadata=metadata, dtype=torch.float32, device=torch.device("cpu"))
        return fresh.first_stage_model.state_dict() if fresh.first_stage_model is not None else {}
    if loader == "load_checkpoint_vae_patcher":
        return _from_checkpoint(Path(arguments[0]))
    return {}


def _from_checkpoint(path: Path) -> Mapping[str, torch.Tensor]:
    """Only the VAE's part of a checkpoint; a pickled one is not read again, it may be several GB."""
    if path.suffix.lower() not in (".safetensors", ".sft"):
        return {}
    import safetensors

    weights: dict[str, torch.Tensor] = {}
    with safetensors.safe_open(path, framework="pt", device="cpu") as file:
        for key in file.keys():  # noqa: SIM118  a safetensors file cannot be iterated
            for prefix in _CHECKPOINT_PREFIXES:
                if key.startswith(prefix):
                    weights[key.removeprefix(prefix)] = file.get_tensor(key)
    return weights
