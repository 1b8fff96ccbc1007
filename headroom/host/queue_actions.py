"""Unloading models and freeing memory over HTTP, done by ComfyUI's own prompt worker between two prompts.

Only that thread may touch models: the host's queue has flags for it, which it looks at when no prompt runs. So an
action that is asked for while a prompt is about to start comes after it, and never into the middle of it.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from ..core.freeing import Moment

WAIT_SECONDS, PAUSE_SECONDS = 20.0, 0.02
DONE = "headroom_done"
"""A flag that the host does not know: when it is taken, what was asked before it is done."""


class UnknownField(Exception):
    """The request names something that this action does not have."""


class Busy(Exception):
    """The prompt worker did not get to it; what was asked is taken back."""


def unload(body: Mapping[str, Any]) -> Mapping[str, Any]:
    """Unloads every model; the next prompt loads what it needs."""
    return _act(body, {"unload_models": True})


def free(body: Mapping[str, Any]) -> Mapping[str, Any]:
    """Drops the outputs that ComfyUI keeps of nodes and empties torch's cache; models stay loaded."""
    # In this order: free_memory alone, seen by the worker before the second one is there, unloads the models too.
    return _act(body, {"unload_models": False, "free_memory": True})


def _act(body: Mapping[str, Any], flags: Mapping[str, bool]) -> Mapping[str, Any]:
    if body:
        raise UnknownField(f"Unknown: {', '.join(sorted(map(str, body)))[:200]}. This action takes no fields.")
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


def _have_taken(queue: Any, flags: Mapping[str, bool]) -> None:
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
