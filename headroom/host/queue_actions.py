"""Unloading models and freeing memory over HTTP, done by ComfyUI's own prompt worker between two prompts.

Only that thread may touch models: the host's queue has flags for it, which it looks at when no prompt runs. So an
action that is asked for while a prompt is about to start comes after it, and never into the middle of it.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping
from typing import Any

from ..core.freeing import Moment

WAIT_SECONDS, PAUSE_SECONDS = 20.0, 0.02
DONE = "headroom_done"
"""A flag that the host does not know: when it is taken, what was asked before it is done."""


class UnknownField(Exception):
    """The request names something that this action does not have."""


class UnknownModel(Exception):
    """No such model is loaded any more."""


class Busy(Exception):
    """The prompt worker did not get to it; what was asked is taken back."""


def unload(body: Mapping[str, Any]) -> Mapping[str, Any]:
    """Unloads every model, or the one that ``model`` names; the next prompt loads what it needs."""
    _check_fields(body, "model")
    if "model" not in body:
        return _act({"unload_models": True})
    one = _UnloadOne(str(body["model"]))
    if not one.is_loaded():
        raise UnknownModel("This model is not loaded any more.")
    return _act({"unload_models": one})


def free(body: Mapping[str, Any]) -> Mapping[str, Any]:
    """Drops the outputs that ComfyUI keeps of nodes and empties torch's cache; models stay loaded."""
    _check_fields(body)
    # In this order: free_memory alone, seen by the worker before the second one is there, unloads the models too.
    return _act({"unload_models": False, "free_memory": True})


class _UnloadOne:
    """A flag for the prompt worker that unloads one model when it is looked at.

    The host's worker knows only "all models" (main.py 0.30.0: ``if flags.get("unload_models", ...)``), and only its
    thread may touch them. That question is where it asks this object; the answer is no, so that the others stay.
    """

    def __init__(self, model_id: str) -> None:
        self._model_id, self._done = model_id, False

    def is_loaded(self) -> bool:
        from .loaded_models import patcher_of

        return patcher_of(self._model_id) is not None

    def __bool__(self) -> bool:
        # The flag may be set, and so asked, more than once; an exception here would end the prompt worker.
        if not self._done:
            self._done = True
            try:
                self._unload()
            except Exception:
                logging.exception("Headroom: a model could not be unloaded")
        return False

    def _unload(self) -> None:
        import comfy.model_management as management

        from . import memory
        from .loaded_models import patcher_of

        patcher = patcher_of(self._model_id)
        if patcher is not None:
            memory.unload(patcher)
            management.soft_empty_cache()


def _check_fields(body: Mapping[str, Any], *known: str) -> None:
    unknown = sorted(map(str, set(body) - set(known)))
    if unknown:
        takes = f"takes {', '.join(known)}" if known else "takes no fields"
        raise UnknownField(f"Unknown: {', '.join(unknown)[:200]}. This action {takes}.")


def _act(flags: Mapping[str, Any]) -> Mapping[str, Any]:
    queue = _queue()
    before, models_before = _measured(), _models()
    _have_taken(queue, flags)
    _have_taken(queue, {DONE: True})
    after = _measured()
    freed = None if before.ram_bytes is None or after.ram_bytes is None else before.ram_bytes - after.ram_bytes
    return {
        "vram_freed_bytes": before.vram_bytes - after.vram_bytes,
        "ram_freed_bytes": freed,
        "models_before": models_before,
        "models_after": _models(),
    }


def _queue() -> Any:
    from server import PromptServer

    return PromptServer.instance.prompt_queue


def _have_taken(queue: Any, flags: Mapping[str, Any]) -> None:
    """Sets flags and waits until the worker has taken them.

    Set again and again: a worker that is busy with the flags before does not hear it, and then sleeps.
    """
    deadline = time.monotonic() + WAIT_SECONDS
    while True:
        for name, value in flags.items():
            queue.set_flag(name, value)
        time.sleep(PAUSE_SECONDS)
        if not flags.keys() & queue.get_flags(reset=False).keys():
            return
        if time.monotonic() > deadline:
            for name in flags:
                queue.set_flag(name, False)
            raise Busy("ComfyUI is busy with a prompt. Try again when it has ended.")


def _measured() -> Moment:
    import comfy.model_management as management

    from . import memory

    patchers = [patcher for patcher in (entry.model for entry in management.current_loaded_models) if patcher]
    return memory.measured(memory.used_devices(), patchers)


def _models() -> int:
    import comfy.model_management as management

    return len(management.current_loaded_models)
