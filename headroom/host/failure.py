"""Hears of the error that a node ends with, at once, and freezes the machine's readings.

When: between a node's exception and the moment that ComfyUI unloads all models because of it, the one thing that
reaches others is its log record "!!! Exception during processing !!!" (execution.py 0.16.3 to 0.30.0): no progress
handler is told of a node that fails, and the message to the browser comes after the unloading. So a handler listens at
Python's root logger while a prompt runs. It looks at records of errors of that thread alone; the exception is the one
being handled. With ``--verbose CRITICAL`` there is no record: then the history tells of the error, without readings.
"""

from __future__ import annotations

import logging
import sys
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from .prompt_hooks import guarded

if TYPE_CHECKING:
    from ..core.readings import Failure
    from ..core.run import NodeRun

T = TypeVar("T")

RECORD = "!!! Exception during processing !!!"
MOST_SECONDS = 4.0
"""For the readings; a driver that hangs is waited for two of them."""
MOST_CHARACTERS = 2000
"""Of a message: some hold a tensor's values."""


class ErrorWatch(logging.Handler):
    """Calls ``told`` with the class and the text of the exception, on the thread that runs the prompt."""

    def __init__(self, told: Callable[[str, str], None]) -> None:
        super().__init__(logging.ERROR)
        self._told = told
        self._thread: int | None = None

    def attach(self) -> None:
        """Listens to this thread from now on."""
        self._thread = threading.get_ident()
        logging.getLogger().addHandler(self)

    def detach(self) -> None:
        """Listens no more."""
        self._thread = None
        logging.getLogger().removeHandler(self)

    def filter(self, record: logging.LogRecord) -> bool:
        """Before any lock is taken: other threads' records are none of its business."""
        return record.thread == self._thread and str(record.msg).startswith(RECORD)

    def emit(self, record: logging.LogRecord) -> None:
        """Keeps words only: the exception would keep the failed node's tensors."""
        guarded(self._tell, record)

    def _tell(self, record: logging.LogRecord) -> None:
        error = sys.exc_info()[1]
        text = record.getMessage().removeprefix(RECORD).strip() if error is None else str(error)
        self._told("" if error is None else _class_name(error), text[:MOST_CHARACTERS])


def _class_name(error: BaseException) -> str:
    return f"{type(error).__module__}.{type(error).__qualname__}"


def now(class_name: str, text: str, node: NodeRun | None, batch: int | None) -> Failure:
    """The failure with the readings of this moment; takes milliseconds, some seconds where the driver hangs."""
    from ..core.failure import failure_at
    from ..core.readings import Snapshot
    from .snapshot import freeze

    moment = _elsewhere(freeze)
    if moment is None:
        return failure_at(Snapshot(time.time()), class_name, text, node, batch)
    return failure_at(moment, class_name, text, node, batch)


def _elsewhere(read: Callable[[], T]) -> T | None:
    """What is read on a thread of its own; None where it fails, or takes too long.

    Here the failed node's exception is being handled, and whatever else is raised now would hold on to it, with its
    frames and all their tensors. The readings keep such an exception: why there is no driver.
    """
    answers: list[T | None] = []
    thread = threading.Thread(target=lambda: answers.append(guarded(read)), name="headroom-failure", daemon=True)
    thread.start()
    thread.join(MOST_SECONDS)
    return answers[0] if answers else None


def of_another_node(heard: Failure, told: Failure, batch: int | None) -> Failure:
    """A failure as it was heard, with the node that the history tells of, and what can be done about that one."""
    from dataclasses import replace

    from ..core.failure import with_fixes
    from .comfy import read_host

    moved = replace(heard, node_id=told.node_id, node_type=told.node_type, running_seconds=None)
    return with_fixes(moved, read_host(), batch)


def afterwards(prompt_id: str | None) -> tuple[str, Failure | None, list[str]] | None:
    """How a run ended by ComfyUI's history: its state, what it failed with, and the nodes that were cached.

    None where the history does not have it: not yet, or no longer.
    """
    messages = _messages(prompt_id)
    if messages is None:
        return None
    state, failure, cached = "finished", None, []
    for event, data in messages:
        if event == "execution_cached":
            cached = [str(node) for node in data.get("nodes", ())]
        elif event == "execution_interrupted":
            state = "interrupted"
        elif event == "execution_error":
            state, failure = "error", _late(data)
    return state, failure, cached


def _messages(prompt_id: str | None) -> Any:
    queue = getattr(getattr(sys.modules.get("server"), "PromptServer", None), "instance", None)
    history = getattr(getattr(queue, "prompt_queue", None), "history", {})
    entry = history.get(prompt_id) or {}
    return (entry.get("status") or {}).get("messages")


def _late(data: Any) -> Failure:
    from ..core.failure import failure_at
    from ..core.readings import Snapshot
    from ..core.run import NodeRun
    from .comfy import read_host

    node = NodeRun(str(data.get("node_id")), str(data.get("node_id")), str(data.get("node_type")), 0.0, 0.0, "error")
    at = data["timestamp"] / 1000 if "timestamp" in data else time.time()
    late = Snapshot(at, read_host())
    text = str(data.get("exception_message", "")).strip()[:MOST_CHARACTERS]
    return failure_at(late, str(data.get("exception_type", "")), text, node, None, late=True)
