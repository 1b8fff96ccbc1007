"""Free Memory: unloads what was asked for through the host's own functions, and measures before and after."""

from __future__ import annotations

import logging
import sys
import weakref
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePath
from typing import Any

import comfy.controlnet
import comfy.model_management as management
import comfy.model_patcher

from ..core.choices import CACHE, NOT_CONNECTED, OUTPUTS, PASSED
from ..core.freeing import Fate, Freed, ModelFate, Moment
from . import memory


@dataclass(frozen=True)
class _Seen:
    """A loaded model before anything was freed; only weak references, so that it can go."""

    entry: Any
    patcher: Any
    """A weak reference; None where the model was dead already."""
    name: str
    size: int | None
    before: int | None
    kept_by: str
    passes: bool


def free_memory(choice: str, connected: Mapping[str, Any]) -> Freed:
    """Frees what ``choice`` (one of ``core.freeing.CHOICES``) says and tells what came of it.

    Args:
        connected: the node's inputs by name; what passes through as ``core.freeing.PASSED``.
    """
    inputs = {name: list(patchers_of(value)) for name, value in connected.items()}
    seen = [_seen(entry, inputs) for entry in management.current_loaded_models]
    devices = memory.used_devices()
    references = [one.patcher for one in seen if one.patcher is not None]
    before = memory.measured(devices, _alive(references))
    keep = [patcher for patchers in inputs.values() for patcher in patchers] if choice == NOT_CONNECTED else []
    memory.evict([] if choice == CACHE else dict.fromkeys(one.entry.device for one in seen), keep)
    before, after = _paired(before, memory.measured(devices, _alive(references)))
    models = () if choice == CACHE else tuple(_fate(one, kept=choice == NOT_CONNECTED) for one in seen)
    return Freed(choice, before, after, models, drops_outputs=choice == OUTPUTS and _drop_outputs_later())


def patchers_of(value: Any) -> Iterator[Any]:
    """The model patchers behind a MODEL, CLIP, VAE, CLIP_VISION, CONTROL_NET or GUIDER, with those they load along."""
    own = [value, getattr(value, "patcher", None), getattr(value, "model_patcher", None)]
    if isinstance(value, comfy.controlnet.ControlBase):
        own.extend(value.get_models())
    for patcher in own:
        if isinstance(patcher, comfy.model_patcher.ModelPatcher):
            yield patcher
            yield from patcher.get_nested_additional_models()


def _paired(before: Moment, after: Moment) -> tuple[Moment, Moment]:
    """Only devices that could be read both times: a reading that failed must not look like memory that was freed."""
    lost = sorted({*before.unreadable, *after.unreadable})
    first, last = (
        replace(moment, devices=[one for one in moment.devices if one.device not in lost], unreadable=lost)
        for moment in (before, after)
    )
    return first, last


def _alive(references: Sequence[Any]) -> list[Any]:
    return [patcher for patcher in (reference() for reference in references) if patcher is not None]


def _seen(entry: Any, inputs: Mapping[str, Sequence[Any]]) -> _Seen:
    patcher = entry.model
    if patcher is None:
        module = entry.real_model() if entry.real_model is not None else None
        size = None if module is None else int(management.module_size(module))
        return _Seen(entry, None, "no name" if module is None else type(module).__name__, size, None, "", False)
    holders = [name for name, patchers in inputs.items() if any(memory.is_of(entry, one) for one in patchers)]
    return _Seen(
        entry=entry,
        patcher=weakref.ref(patcher),
        name=_name(patcher),
        size=int(patcher.model_size()),
        before=int(patcher.loaded_size()),
        kept_by=next((name for name in holders if name != PASSED), "" if not holders else PASSED),
        passes=PASSED in holders,
    )


def _name(patcher: Any) -> str:
    """The model's class, with the name of its file where the host knows it."""
    name = type(patcher.model).__name__
    _, arguments, *_ = getattr(patcher, "cached_patcher_init", None) or (None, ())
    path = arguments[0] if arguments else None
    path = path[0] if isinstance(path, list | tuple) and path else path
    return f"{name} ({PurePath(path).name})" if isinstance(path, str) else name


def _fate(one: _Seen, kept: bool) -> ModelFate:
    listed = any(one.entry is entry for entry in management.current_loaded_models)
    patcher = one.patcher() if one.patcher is not None else None
    fate: Fate
    if listed:
        fate = "dead" if patcher is None else "kept" if kept and one.kept_by else "still loaded"
    else:
        fate = "gone" if patcher is None else "parked" if _is_parked(patcher) else "unloaded"
    return ModelFate(
        name=one.name,
        device=str(one.entry.device),
        fate=fate,
        size_bytes=one.size,
        before_bytes=one.before,
        after_bytes=_loaded(patcher, one) if listed else one.size if fate == "parked" else 0,
        kept_by=one.kept_by,
        passes=one.passes,
        pinned_bytes=_pinned(patcher),
    )


def _is_parked(patcher: Any) -> bool:
    """Its weights lie on the card when it is unloaded too."""
    return patcher.load_device.type != "cpu" and patcher.offload_device == patcher.load_device


def _loaded(patcher: Any, one: _Seen) -> int | None:
    return one.size if patcher is None else int(patcher.loaded_size())


def _pinned(patcher: Any) -> int:
    """RAM pinned for a model under dynamic VRAM; hosts before 0.27 do not count it."""
    try:
        return int(patcher.pinned_memory_size()) if hasattr(patcher, "pinned_memory_size") else 0
    except Exception:
        logging.debug("Headroom: pinned memory of a model is unknown", exc_info=True)
        return 0


def _drop_outputs_later() -> bool:
    """Asks the prompt worker to drop its cached outputs, as POST /free does; it looks when the prompt has ended."""
    # Where no server runs (tests, scripts) there is none to import either.
    server = getattr(sys.modules.get("server"), "PromptServer", None)
    queue = getattr(getattr(server, "instance", None), "prompt_queue", None)
    if queue is None:
        return False
    queue.set_flag("free_memory", True)
    return True
