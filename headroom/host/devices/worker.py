"""One background thread for questions that may hang: a driver that lost its card can take minutes to say so."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class Late(Exception):
    """The answer did not come in time, or that of an earlier question is still awaited."""


class _Task(Generic[T]):
    def __init__(self, job: Callable[[], T]) -> None:
        self.job = job
        self.done = threading.Event()
        self.answer: T | None = None
        self.error: BaseException | None = None

    def run(self) -> None:
        try:
            self.answer = self.job()
        except BaseException as error:
            self.error = error
        finally:
            self.done.set()


class Worker:
    """A thread that starts with the first question and never keeps the process from ending."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._lock = threading.Lock()
        self._tasks: queue.SimpleQueue[_Task[Any]] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        self._last: _Task[Any] | None = None

    def ask(self, job: Callable[[], T], seconds: float) -> T:
        """The answer of ``job``, which runs on the thread; whatever it raises.

        Raises:
            Late: there is none after ``seconds``; further questions are refused at once until it has come.
        """
        task = _Task(job)
        with self._lock:
            if self._last is not None and not self._last.done.is_set():
                raise Late
            self._last = task
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(target=self._run, name=self._name, daemon=True)
                self._thread.start()
            self._tasks.put(task)
        if not task.done.wait(seconds):
            raise Late
        if task.error is not None:
            try:
                raise task.error
            finally:
                # Raised here it has this thread's frames, down to the node that asks, and with them the node's tensors;
                # the task is kept until the next question. Nobody else waits for this one.
                task.error = None
        return task.answer  # pyright: ignore[reportReturnType]

    def _run(self) -> None:
        while True:
            self._tasks.get().run()
