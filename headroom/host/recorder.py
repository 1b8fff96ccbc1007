"""Records the last run: which node took how long and how much, and what it failed with. The last one only.

It adds microseconds to a node: memory is read for nodes that run long enough for it not to count, and torch's counter
where there is one. Between prompts it does nothing.
"""

from __future__ import annotations

import functools
import sys
import threading
import time
from collections import deque
from typing import TYPE_CHECKING, Any

from ..core.run import GROWTH_RUNS, Run, RunLog, ram_growth, spilled
from . import failure as failures
from . import runmarker
from .own_memory import resident_bytes
from .peaks import Peaks, capacity
from .prompt_hooks import guarded, listen

if TYPE_CHECKING:
    from ..core.readings import Failure, LastRun, RunningNode
    from ..core.run import NodeRun

LEAST_SECONDS = 0.05
"""A node that ran for less is not asked for its memory: reading it takes some 20 microseconds."""
SAMPLING_SECONDS = 1.0
"""Only a node that ran for as long is asked how much of a model it had to copy: a sampler."""
KEEP_SECONDS = 3600.0
"""A failure that nobody looked at for that long is no news."""


class Recorder:
    """The last run of this process. Written on the thread that runs prompts, read on any."""

    name = "headroom-recorder"

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._log: RunLog | None = None
        self._failure: Failure | None = None
        self._blamed: tuple[str | None, int | None] = (None, None)
        """Of the failure as it was heard: the node by the prompt's own id, and the largest batch."""
        self._resolved = False
        self._peaks = Peaks()
        self._watch = failures.ErrorWatch(self.failed)
        self._registry: Any = None
        self._types: frozenset[str] | None = None
        self._held: deque[int] = deque(maxlen=GROWTH_RUNS)
        self._streamed: int | None = None

    # --- what is heard, on the thread that runs the prompt ---

    def begin(self) -> None:
        """A prompt begins; what is known of the one before goes."""
        self._watch.detach()
        with self._lock:
            self._log = RunLog(time.time(), time.perf_counter())
            self._failure, self._resolved, self._registry, self._streamed = None, False, None, None
        self._watch.attach()
        self._peaks.restart()

    def follow(self, registry: Any) -> Any:
        """The handler that hears this prompt's nodes."""
        types = frozenset(str(node.get("class_type")) for node in registry.dynprompt.original_prompt.values())
        with self._lock:
            if types != self._types:
                self._held.clear()
            self._types, self._registry = types, registry
            if self._log is not None:
                self._log.prompt_id = registry.prompt_id
        return _handler_class()(self)

    def started(self, node_id: str) -> None:
        """A node begins or goes on."""
        now = time.perf_counter()
        if self._log is not None and self._registry is not None:
            graph = self._registry.dynprompt
            shown, kind = graph.get_display_node_id(node_id), graph.get_node(node_id)["class_type"]
            self._log.start(node_id, shown, kind, now, graph.get_parent_node_id(node_id))

    def finished(self, node_id: str) -> None:
        """A node has ended well, or was cached."""
        log, now = self._log, time.perf_counter()
        if log is None:
            return
        whole, peak = self._peaks.read()
        if whole is not None:
            log.peak_bytes = max(whole, log.peak_bytes or 0)
        graph = getattr(self._registry, "dynprompt", None)
        lasted = log.finish(node_id, now, peak, graph.get_parent_node_id(node_id) if graph is not None else None)
        if lasted >= LEAST_SECONDS:
            log.held(node_id, resident_bytes())
        if lasted >= SAMPLING_SECONDS:
            self._look_at_models()

    def _look_at_models(self) -> None:
        from .loaded_models import streamed_bytes

        found = streamed_bytes()
        if found is not None:
            self._streamed = max(found, self._streamed or 0)

    def failed(self, class_name: str, text: str) -> None:
        """A node has raised; models are still where they were."""
        log = self._log
        if log is None:
            return
        now = time.perf_counter()
        node = log.unfinished(now)
        log.end("error", now)
        whole, _ = self._peaks.read()
        if whole is not None:
            log.peak_bytes = max(whole, log.peak_bytes or 0)
        blamed, batch = self._real_id(node), self._batch()
        failure = failures.now(class_name, text, node, batch)
        with self._lock:
            self._failure, self._blamed = failure, (blamed, batch)

    def end(self) -> None:
        """The prompt has ended, in whatever way."""
        self._watch.detach()
        log = self._log
        if log is None:
            return
        now, log.ram_bytes = time.perf_counter(), resident_bytes()
        if log.state == "running":
            log.end("finished" if log.unfinished(now) is None else "interrupted", now)
        with self._lock:
            self._registry = None
            if log.state == "finished" and log.worked and log.ram_bytes is not None:
                self._held.append(log.ram_bytes)

    # --- what is asked, on any thread ---

    def run(self) -> Run | None:
        """The run that goes on, else the last one; None before the first."""
        log = self._log
        if log is None:
            return None
        self._resolve(log)
        return log.run(time.perf_counter())

    def class_of(self, node_id: str) -> str | None:
        """The class of a node of the prompt that runs."""
        registry = self._registry
        return None if registry is None else str(registry.dynprompt.get_node(node_id)["class_type"])

    def running_node(self) -> RunningNode | None:
        """The node that runs now."""
        from ..core.readings import RunningNode

        found = self._log.running() if self._log is not None else None
        return None if found is None else RunningNode(*found)

    def failure(self) -> Failure | None:
        """What the last run failed with; None once it is an hour old, and while the next one runs."""
        log = self._log
        if log is None:
            return None
        self._resolve(log)
        found = self._failure
        return None if found is None or time.time() - found.at > KEEP_SECONDS else found

    def last_run(self, known: LastRun | None) -> LastRun | None:
        """What the marker knows of the last run, with what was measured, where it is the same one."""
        from dataclasses import replace

        log = self._log
        if log is None or known is None or log.state == "running" or known.finished is not True:
            return known
        self._resolve(log)
        with self._lock:
            growth = ram_growth(tuple(self._held))
        return replace(
            known,
            peak_bytes=None if _dynamic() else log.peak_bytes,
            streamed_bytes=self._streamed,
            spilled_bytes=spilled(log.peak_bytes, capacity()) if sys.platform == "win32" else None,
            finite_fp16_decode=_finite_fp16_decode(),
            ram_growth_bytes_per_run=growth,
            error=self._failure.message if self._failure else None,
        )

    def workflow_nodes(self) -> frozenset[str] | None:
        """Class types in the workflow that ran last."""
        return self._types

    def _resolve(self, log: RunLog) -> None:
        """Once the run is in ComfyUI's history: which nodes were cached, whether it was an error after all, and whose.

        Of nodes that run side by side the one that began last is open, and another of them may be the one that raised.
        """
        if self._resolved or log.state == "running":
            return
        told = guarded(failures.afterwards, log.prompt_id)
        if told is None:
            return
        state, failure, cached = told
        with self._lock:
            if self._log is not log or self._resolved:
                return
            self._resolved = True
            log.settle(state, cached)
            heard, (blamed, batch) = self._failure, self._blamed
            if heard is not None and failure is not None and failure.node_id != blamed:
                heard = guarded(failures.of_another_node, heard, failure, batch) or heard
            self._failure = heard or failure

    def _real_id(self, node: NodeRun | None) -> str | None:
        """A node's id in the prompt: that of the one which was expanded into it. The history names nodes so."""
        graph = getattr(self._registry, "dynprompt", None)
        return None if node is None or graph is None else graph.get_real_node_id(node.id)

    def _batch(self) -> int | None:
        prompt = getattr(getattr(self._registry, "dynprompt", None), "original_prompt", {})
        sizes = [node.get("inputs", {}).get("batch_size") for node in prompt.values()]
        return max((size for size in sizes if type(size) is int), default=None)


@functools.cache
def _handler_class() -> Any:
    from comfy_execution.progress import ProgressHandler

    class Handler(ProgressHandler):
        """An exception in it would end ComfyUI's prompt worker."""

        def __init__(self, recorder: Recorder) -> None:
            super().__init__(recorder.name)
            self._recorder = recorder

        def start_handler(self, node_id: str, state: Any, prompt_id: str) -> None:
            guarded(self._recorder.started, node_id)

        def finish_handler(self, node_id: str, state: Any, prompt_id: str) -> None:
            guarded(self._recorder.finished, node_id)

    return Handler


def _dynamic() -> bool:
    return bool(getattr(sys.modules.get("comfy.memory_management"), "aimdo_enabled", False))


def _finite_fp16_decode() -> bool | None:
    """As VAE Decode (Safe) has seen it; True or not known. What was never imported has decoded nothing."""
    ladder = sys.modules.get(f"{__name__.removesuffix('.host.recorder')}.tensors.decode.ladder")
    return True if ladder is not None and ladder.SESSION.finite_fp16 else None


_recorder = Recorder()
run, workflow_nodes, running_node = _recorder.run, _recorder.workflow_nodes, _recorder.running_node


def class_of(node_id: str) -> str | None:
    """The class of a node of the prompt that runs; None where that cannot be told."""
    return guarded(_recorder.class_of, node_id)


def failure() -> Failure | None:
    """What the last run failed with, for an hour."""
    return guarded(_recorder.failure)


def last_run() -> LastRun | None:
    """How the last prompt ended, with what was measured of it."""
    known = runmarker.last_run()
    return guarded(_recorder.last_run, known) or known


def register() -> None:
    """Asks the host to be told of prompts; hosts before 0.18 cannot, and have no record."""
    listen(_recorder, Recorder.follow)
