"""Unloading models and freeing memory over HTTP, done by ComfyUI's own prompt worker between two prompts.

Only that thread may touch models: the host's queue has flags for it (queue_flags.py), which it looks at when no prompt
runs. So an action that is asked for while a prompt is about to start comes after it, and never into the middle of it.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from typing import Any

from ..core.freeing import Moment
from .queue_flags import FREE, UNLOAD, Flag, put, take_back, taken

WAIT_SECONDS, PAUSE_SECONDS = 20.0, 0.02
DONE = "headroom_done"
"""A flag that the host does not know: when it is taken, what was asked before it is done."""

_one_at_a_time = threading.Lock()
"""The queue has one place for each flag: of two actions at once one would be lost, and answered as done."""


class UnknownField(Exception):
    """The request names something that this action does not have."""


class UnknownModel(Exception):
    """No such model is loaded any more."""


class Busy(Exception):
    """The prompt worker did not get to it; what was asked is taken back."""

    def __init__(self) -> None:
        super().__init__("ComfyUI is busy with a prompt. Try again when it has ended.")


def unload(body: Mapping[str, Any]) -> Mapping[str, Any]:
    """Unloads every model, or the one that ``model`` names; the next prompt loads what it needs."""
    _check_fields(body, "model")
    if "model" not in body:
        return _act(lambda: {UNLOAD: Flag(True, _unload_all)})
    return _act(lambda: {UNLOAD: _unload_one(str(body["model"]))})


def free(body: Mapping[str, Any]) -> Mapping[str, Any]:
    """Drops the outputs that ComfyUI keeps of nodes and empties torch's cache; models stay loaded."""
    _check_fields(body)
    return _act(lambda: {UNLOAD: Flag(False), FREE: Flag(True)})


def _unload_all() -> None:
    from . import memory

    memory.unload_all()


def _unload_one(model_id: str) -> Flag:
    """The host's worker knows only "all models"; its answer is no, so that the others stay."""
    from .loaded_models import patcher_of

    def act() -> None:
        import comfy.model_management as management

        from . import memory

        patcher = patcher_of(model_id)
        if patcher is not None:
            memory.unload(patcher)
            management.soft_empty_cache()

    if patcher_of(model_id) is None:
        raise UnknownModel("This model is not loaded any more.")
    return Flag(False, act)


def _check_fields(body: Mapping[str, Any], *known: str) -> None:
    unknown = sorted(map(str, set(body) - set(known)))
    if unknown:
        takes = f"takes {', '.join(known)}" if known else "takes no fields"
        raise UnknownField(f"Unknown: {', '.join(unknown)[:200]}. This action {takes}.")


def _act(flags: Callable[[], Mapping[str, Flag]]) -> Mapping[str, Any]:
    """One action after the other; what it freed, and None for that where it could not be measured."""
    if not _one_at_a_time.acquire(timeout=WAIT_SECONDS):
        raise Busy
    try:
        queue = _queue()
        before, models_before = _measured(), _models()
        asked = flags()
        if not _have_taken(queue, asked):
            raise Busy
        # What was asked is carried out from here on, whatever follows.
        after = _measured() if _have_taken(queue, {DONE: Flag(True)}, until_a_prompt_runs=True) else None
        return {**_freed(before, after), "models_before": models_before, "models_after": _models() if after else None}
    finally:
        _one_at_a_time.release()


def _freed(before: Moment, after: Moment | None) -> Mapping[str, int | None]:
    if after is None:
        return {"vram_freed_bytes": None, "ram_freed_bytes": None}
    ram = None if before.ram_bytes is None or after.ram_bytes is None else before.ram_bytes - after.ram_bytes
    return {"vram_freed_bytes": before.vram_bytes - after.vram_bytes, "ram_freed_bytes": ram}


def _queue() -> Any:
    from server import PromptServer

    return PromptServer.instance.prompt_queue


def _have_taken(queue: Any, flags: Mapping[str, Flag], until_a_prompt_runs: bool = False) -> bool:
    """Sets flags and waits until the worker has taken them; False where it has not in time, and they are taken back.

    Set again and again: a worker that is busy with the flags before does not hear it, and then sleeps.

    Args:
        until_a_prompt_runs: wait no longer than that.
    """
    deadline = time.monotonic() + WAIT_SECONDS
    while True:
        put(queue, flags)
        time.sleep(PAUSE_SECONDS)
        late = time.monotonic() > deadline or (until_a_prompt_runs and queue.currently_running)
        if late or taken(queue, flags):
            return not take_back(queue, flags)


def _measured() -> Moment:
    import comfy.model_management as management

    from . import memory

    patchers = [patcher for patcher in (entry.model for entry in management.current_loaded_models) if patcher]
    return memory.measured(memory.used_devices(), patchers)


def _models() -> int:
    import comfy.model_management as management

    return len(management.current_loaded_models)
