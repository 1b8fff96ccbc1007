"""Models that are connected to a node as components and stages: from the loaded objects, no file is read again."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from ..core.activation import Attention, Step
from ..core.budget import Stage
from ..core.component import Component, component_of
from ..core.errors import HeadroomError, VaeWithoutWeights
from ..core.needs import ENCODER_SOURCE, ENCODER_WORK, with_work
from ..core.static_load import StaticLoader
from ..core.tensorinfo import ModelFile, TensorInfo
from ..core.vae_formulas import vae_of
from ..core.vae_need import decode_need
from .loaded_models import file_name

DTYPES = {
    "float16": "F16",
    "bfloat16": "BF16",
    "float32": "F32",
    "float8_e4m3fn": "F8_E4M3",
    "float8_e5m2": "F8_E5M2",
    "uint8": "U8",
    "int8": "I8",
}
SHORT = {"F16": "fp16", "BF16": "bf16", "F32": "fp32"}
MOST_DEPTH = 6


def model_component(patcher: Any) -> Component:
    """The diffusion model of a MODEL, as its file's header would show it; some 10 to 30 ms for a large one.

    Raises:
        HeadroomError: there is none in it.
    """
    module = getattr(patcher.model, "diffusion_model", None)
    if module is None:
        raise HeadroomError(f"The model input holds no diffusion model: it is a {type(patcher.model).__name__}.")
    return _component(module, file_name(patcher) or type(patcher.model).__name__)


def sampling(patcher: Any, latent: Any, attention: Attention, loader: StaticLoader | None = None) -> Stage:
    """Sampling with a MODEL; its work is known where a latent is connected and the family is one of ours.

    Args:
        patcher: the MODEL.
        latent: the LATENT, or None.
        attention: fused or split.
        loader: how weights are loaded where dynamic VRAM is off.
    """
    model = model_component(patcher)
    stage = Stage(
        name="Sampling",
        part=model.name,
        weights_bytes=int(patcher.model_size()) + lora_bytes(patcher),
        low_bytes=None,
        high_bytes=None,
        least_weights_bytes=model.largest_tensor_bytes,
        source="" if latent is not None else "unknown without a connected latent",
    )
    shapes = latent_shapes(latent)
    if not shapes or model.identity.latent is None:
        return with_work(stage, model, None, loader)
    dtype = SHORT.get(DTYPES.get(str(patcher.model.get_dtype_inference()).removeprefix("torch."), ""), "bf16")
    # Whether the sampler will use cfg is not known here: both prompts are counted.
    step = Step(shapes[0], dtype, attention, cfg=2.0, streams=shapes[1:])
    return with_work(stage, model, step, loader)


def encoding(clip: Any) -> Stage:
    """Text encoding with a CLIP."""
    low, high = ENCODER_WORK
    name = file_name(clip.patcher) or type(clip.cond_stage_model).__name__
    return Stage("Text encoding", name, int(clip.patcher.model_size()), low, high, source=ENCODER_SOURCE)


def decoding(vae: Any, latent: Any, amd: bool) -> Stage:
    """The decode of a latent with a VAE; the host's own number always, a range where its kind is known.

    Raises:
        VaeWithoutWeights: the file that it was loaded from holds none.
    """
    if getattr(vae, "first_stage_model", None) is None:
        raise VaeWithoutWeights("The vae input holds no weights: the file has none. Load one with Load VAE.")
    weights = int(vae.patcher.model_size())
    stage = Stage("Decode", _vae_name(vae), weights, None, None, least_weights_bytes=weights)
    shapes = latent_shapes(latent)
    if not shapes:
        return replace(stage, source="unknown without a connected latent")
    shape = (1, *shapes[0][1:])
    reserved = _try(lambda: int(vae.memory_used_decode(shape, vae.vae_dtype)))
    stage = replace(stage, reserved_bytes=reserved, source="unknown: not measured for this kind of VAE")
    ours = vae_of(_component(vae.first_stage_model, stage.part).identity)
    dtype = SHORT.get(DTYPES.get(str(vae.vae_dtype).removeprefix("torch."), ""), "fp32")
    if ours is None:
        return stage
    need = decode_need(ours, shape, dtype, amd=amd)
    return replace(stage, low_bytes=need.low_bytes, high_bytes=need.high_bytes, source=need.source)


def lora_bytes(patcher: Any) -> int:
    """Bytes of the LoRA weights that wait to be merged; each tensor counted once (ComfyUI #4343)."""
    seen: dict[int, int] = {}
    for found in _tensors(list(getattr(patcher, "patches", {}).values()), 0):
        seen[id(found)] = found.nbytes
    return sum(seen.values())


def _tensors(value: Any, depth: int) -> Iterator[Any]:
    """Tensors in nested lists, tuples and the host's weight adapters."""
    if depth > MOST_DEPTH:
        return
    if hasattr(value, "nbytes") and hasattr(value, "dtype"):
        yield value
    elif isinstance(value, list | tuple):
        for one in value:
            yield from _tensors(one, depth + 1)
    elif hasattr(value, "weights"):
        yield from _tensors(value.weights, depth + 1)


def _component(module: Any, name: str) -> Component:
    state = module.state_dict()
    tensors = dict(_header(state))
    size = sum(tensor.size_bytes for tensor in tensors.values())
    packed = any(hasattr(tensor, "tensor_type") for tensor in state.values())
    return component_of(ModelFile(name, "gguf" if packed else "safetensors", tensors, file_bytes=size))


def _header(state: Mapping[str, Any]) -> Iterator[tuple[str, TensorInfo]]:
    """Names and shapes; a GGUF tensor tells the shape that it stands for."""
    for name, tensor in state.items():
        if not hasattr(tensor, "dtype"):
            continue
        shape = tuple(getattr(tensor, "tensor_shape", tensor.shape))
        dtype = DTYPES.get(str(tensor.dtype).removeprefix("torch."), str(tensor.dtype).removeprefix("torch.").upper())
        yield name, TensorInfo(name, dtype, shape, int(tensor.nbytes))


def latent_shapes(latent: Any) -> tuple[tuple[int, ...], ...]:
    """The shape of every stream of a LATENT; empty without one."""
    samples = None if latent is None else latent.get("samples")
    if samples is None:
        return ()
    parts = samples.unbind() if getattr(samples, "is_nested", False) else [samples]
    return tuple(tuple(part.shape) for part in parts)


def _vae_name(vae: Any) -> str:
    return file_name(vae.patcher) or type(vae.first_stage_model).__name__


def _try(read: Any) -> Any:
    """A formula of the host that fails on a shape (TripoSplat's) is no number."""
    try:
        return read()
    except Exception:
        logging.debug("Headroom: the host's number for a decode is unknown", exc_info=True)
        return None
