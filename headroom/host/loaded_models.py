"""The models that ComfyUI keeps loaded, and how much of each device they hold. Only cheap questions.

Models under dynamic VRAM are read with the calls that walk no pages (``ModelVBAR.loaded_size``); comfy-aimdo's
``analyze`` and ``vbars_analyze`` are never called. Dynamic models: not yet verified on a GPU, only with stand-ins.
"""

from __future__ import annotations

import itertools
import logging
import sys
import weakref
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import PurePath
from typing import Any

from ..core.readings import LoadedModel

PAGE_BYTES = 32 * 2**20
"""Of dynamic VRAM (comfy_aimdo 0.4.11, VBAR_PAGE_SIZE)."""
PINNED = 2
"""The bit of a page that a running layer uses (ModelVBAR.get_residency)."""


@dataclass(frozen=True)
class Held:
    """What models hold on one device, in bytes."""

    dynamic_resident: int = 0
    evictable: int = 0
    pages: int = 0
    """Part of ``dynamic_resident`` that torch does not count."""


@dataclass(frozen=True)
class _Traits:
    """What does not change while a model is loaded."""

    kind: str
    class_name: str
    dtype: str | None
    compute_dtype: str | None
    quantised: bool | None
    gguf: bool
    family: str | None


#: By the model itself, so that the walk over its weights is made once and is forgotten with it.
_traits: weakref.WeakKeyDictionary[Any, _Traits] = weakref.WeakKeyDictionary()
_ids: weakref.WeakKeyDictionary[Any, str] = weakref.WeakKeyDictionary()
_numbers = itertools.count(1)


def read_models(running: bool | None) -> tuple[tuple[LoadedModel, ...], Mapping[str, Held]]:
    """Every loaded model, the newest first, and what they hold by torch's name of the device ("cuda:0").

    Args:
        running: a prompt is being executed: then a model in use counts as not evictable, and no pages are looked at.
    """
    models: list[LoadedModel] = []
    held: dict[str, Held] = {}
    for entry in list(getattr(sys.modules.get("comfy.model_management"), "current_loaded_models", ())):
        try:
            found = _read(entry, bool(running))
        except Exception:
            logging.debug("Headroom: a loaded model cannot be read", exc_info=True)
            continue
        if found is not None:
            model, part = found
            models.append(model)
            before = held.get(model.device or "", Held())
            held[model.device or ""] = Held(
                before.dynamic_resident + part.dynamic_resident,
                before.evictable + part.evictable,
                before.pages + part.pages,
            )
    return tuple(models), held


def streamed_bytes() -> int | None:
    """Weights of the diffusion models in use that do not lie on their card: every step copies them to it.

    None where none is in use on a card. Not yet verified on a GPU.
    """
    found: list[int] = []
    for entry in list(getattr(sys.modules.get("comfy.model_management"), "current_loaded_models", ())):
        patcher = entry.model
        if patcher is None or entry.device.type == "cpu" or not getattr(entry, "currently_used", True):
            continue
        if _traits_of(patcher).kind == "diffusion":
            found.append(max(0, int(patcher.model_size()) - int(patcher.loaded_size())))
    return max(found, default=None)


def patcher_of(model_id: str) -> Any:
    """The patcher of a loaded model by its ``LoadedModel.id``; None where it is gone. Let go of it soon."""
    for entry in list(getattr(sys.modules.get("comfy.model_management"), "current_loaded_models", ())):
        patcher = entry.model
        if patcher is not None and _ids.get(patcher.model) == model_id:
            return patcher
    return None


def _id_of(model: Any) -> str:
    if model not in _ids:
        _ids[model] = str(next(_numbers))
    return _ids[model]


def _read(entry: Any, running: bool) -> tuple[LoadedModel, Held] | None:
    """One model; None for one that is gone and only waits to be collected.

    The patcher is let go of at once: its last holder runs its destructor, which must not be this thread.
    """
    patcher = entry.model
    if patcher is None:
        return None
    dynamic, resident = bool(patcher.is_dynamic()), int(patcher.loaded_size())
    traits = _traits_of(patcher)
    model = LoadedModel(
        name=file_name(patcher),
        kind=traits.kind,
        class_name=traits.class_name,
        dtype=traits.dtype,
        compute_dtype=traits.compute_dtype,
        size_bytes=int(patcher.model_size()),
        resident_bytes=resident,
        device=str(entry.device),
        dynamic=dynamic,
        quantised=traits.quantised,
        gguf=traits.gguf,
        lora_patches=len(patcher.patches),
        family=traits.family,
        id=_id_of(patcher.model),
    )
    if entry.device.type == "cpu":
        return model, Held()
    if not dynamic:
        in_use = running and bool(getattr(entry, "currently_used", True))
        # With --highvram and --gpu-only an unloaded model's weights stay where they are.
        stays = getattr(patcher, "offload_device", None) == patcher.load_device
        return model, Held(evictable=0 if in_use or stays else resident)
    pages = max(0, resident - int(patcher.model.model_loaded_weight_memory))
    locked = 0 if running else _locked_pages(patcher) * PAGE_BYTES
    return model, Held(resident, max(0, pages - locked), pages)


def _locked_pages(patcher: Any) -> int:
    """Pages of dynamic VRAM that cannot go; reads a byte per page. Not yet verified on a GPU."""
    try:
        vbar = patcher.model.dynamic_vbars.get(patcher.load_device)
        return 0 if vbar is None else sum(1 for page in vbar.get_residency() if page & PINNED)
    except Exception:
        logging.debug("Headroom: the pages of a model are unknown", exc_info=True)
        return 0


def file_name(patcher: Any) -> str | None:
    """The file that the host's loader was given; the first of several text encoders."""
    _, arguments, *_ = getattr(patcher, "cached_patcher_init", None) or (None, ())
    path = arguments[0] if arguments else None
    path = path[0] if isinstance(path, list | tuple) and path else path
    return PurePath(str(path).replace("\\", "/")).name if isinstance(path, str) else None


def _traits_of(patcher: Any) -> _Traits:
    model = patcher.model
    known = _traits.get(model)
    if known is None:
        known = _look(patcher, model)
        if known.dtype is not None:
            _traits[model] = known
    return known


def _look(patcher: Any, model: Any) -> _Traits:
    base = getattr(sys.modules.get("comfy.model_base"), "BaseModel", ())
    stored = _stored(model)
    largest = max(stored, key=lambda name: stored[name], default=None)
    traits = _Traits(
        kind=_kind(model),
        class_name=type(model).__name__,
        dtype=largest,
        compute_dtype=largest,
        quantised=any(getattr(weight, "_qdata", None) is not None for weight in model.parameters()),
        gguf=type(patcher).__name__ == "GGUFModelPatcher" or "gguf" in stored,
        family=None,
    )
    if not isinstance(model, base):
        return traits
    from ..tensors.names import dtype_name

    cast = model.manual_cast_dtype or model.get_dtype()
    family = type(model.model_config).__name__
    return replace(traits, kind="diffusion", compute_dtype=dtype_name(cast), family=family)


def _kind(model: Any) -> str:
    """By what the model can do; the host's list has no kinds."""
    if hasattr(model, "encode_token_weights"):
        return "text encoder"
    return "vae" if callable(getattr(model, "decode", None)) else "other"


def _stored(model: Any) -> Counter[str]:
    """Bytes by what they are stored in."""
    found: Counter[str] = Counter()
    for weight in model.parameters():
        found[_storage(weight)] += int(weight.nbytes)
    return found


def _storage(weight: Any) -> str:
    """fp16, bf16, fp32, fp8, int8; nvfp4 and the like by their layout; ``gguf`` for ComfyUI-GGUF's tensors."""
    from ..tensors.names import dtype_name

    if hasattr(weight, "tensor_type"):
        return "gguf"
    layout = str(getattr(weight, "_layout_cls", "")).lower()
    packed = next((known for known in ("nvfp4", "mxfp8", "w4a4") if known in layout), None)
    inner = getattr(weight, "_qdata", None)
    name = dtype_name((weight if inner is None else inner).dtype)
    return packed or ("fp8" if name.startswith("float8") else name)
