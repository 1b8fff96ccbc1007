"""Tells when a prompt begins, when a node does, and when the prompt has ended, through the host's own hooks.

A cache provider hears that a prompt begins, a progress handler that a node does; both work for prompts without a client
id and under ``--cache-none``. While nodes run the provider is not registered: the host computes its cache keys for any
provider, which made 60 nodes in a row 14 times slower (0.30.0: 73 ms, 990 with one). The end is that of the task that
runs the prompt. Between prompts there is nothing to do.
"""

from __future__ import annotations

import asyncio
import functools
import logging
from collections.abc import Callable
from typing import Any, Protocol

ATTEMPTS, PAUSE_SECONDS = 100, 0.02
"""For the host to have made the registry of this prompt; it is there at the first attempt in 0.18.2 to 0.30.0."""


class Listener(Protocol):
    """Called on the thread that runs the prompt; what it raises is logged and goes no further."""

    @property
    def name(self) -> str:
        """Under which the host keeps it: one listener per name."""
        ...

    def begin(self) -> None:
        """A prompt begins."""
        ...

    def end(self) -> None:
        """The prompt has ended: done, failed or interrupted."""
        ...


class NodeListener(Listener, Protocol):
    """One that hears of nodes by their labels, and needs no handler of its own."""

    def node(self, label: str) -> None:
        """A node begins, as the reports name it: ``KSampler #3``."""
        ...


HandlerFor = Callable[[Any, Any], Any]
"""Makes the progress handler of one prompt from the listener and the host's registry of that prompt."""


def listen(listener: Listener, handler_for: HandlerFor | None = None) -> bool:
    """From now on the listener is told of every prompt; False where this host cannot tell (before 0.18).

    Args:
        handler_for: makes its handler; without one the listener must be a ``NodeListener``.
    """
    try:
        from comfy_execution.cache_provider import register_cache_provider
    except ImportError:
        return False
    register_cache_provider(provider_for(listener, handler_for))
    return True


def guarded(action: Callable[..., Any], *arguments: Any) -> Any:
    """Nothing may reach the host: an error in one of its handlers ends its prompt worker."""
    try:
        return action(*arguments)
    except Exception:
        logging.debug("Headroom: a listener failed", exc_info=True)
        return None


def provider_for(listener: Listener, handler_for: HandlerFor | None = None) -> Any:
    """A cache provider that caches nothing."""
    from comfy_execution import cache_provider

    make_handler = functools.partial(handler_for or _handler, listener)

    class Provider(cache_provider.CacheProvider):
        waits = False
        """Not registered, until the task that runs the prompt is done."""

        async def on_lookup(self, context: Any) -> None:
            return None

        async def on_store(self, context: Any, value: Any) -> None:
            return None

        def should_cache(self, context: Any, value: Any = None) -> bool:
            return False

        def on_prompt_start(self, prompt_id: str) -> None:
            guarded(listener.begin)
            guarded(self._step_aside, prompt_id)

        def on_prompt_end(self, prompt_id: str) -> None:
            # Heard only where the prompt does not run in a task of its own.
            if not self.waits:
                guarded(listener.end)

        def _step_aside(self, prompt_id: str) -> None:
            loop, task = asyncio.get_running_loop(), asyncio.current_task()
            if task is not None:
                cache_provider.unregister_cache_provider(self)
                self.waits = True
                task.add_done_callback(lambda _: guarded(self._come_back))
            # The host makes the registry of nodes right after this call, before it first waits.
            loop.call_soon(guarded, _watch_nodes, make_handler, prompt_id, ATTEMPTS)

        def _come_back(self) -> None:
            self.waits = False
            cache_provider.register_cache_provider(self)
            listener.end()

    return Provider()


def _watch_nodes(make: Callable[[Any], Any], prompt_id: str, attempts: int) -> None:
    """Adds our handler to this prompt's registry; on the thread that runs the prompt."""
    from comfy_execution import progress

    registry = progress.get_progress_state()
    if registry.prompt_id == prompt_id:
        progress.add_progress_handler(make(registry))
    elif attempts > 1:
        again = (guarded, _watch_nodes, make, prompt_id, attempts - 1)
        asyncio.get_running_loop().call_later(PAUSE_SECONDS, *again)


def _handler(listener: NodeListener, registry: Any) -> Any:
    from comfy_execution.progress import ProgressHandler

    class Handler(ProgressHandler):
        def start_handler(self, node_id: str, state: Any, prompt_id: str) -> None:
            guarded(lambda: listener.node(label(registry.dynprompt, node_id)))

    return Handler(listener.name)


def label(dynprompt: Any, node_id: str) -> str:
    """As the reports name nodes: the class and the number that the user sees, also for a node of an expanded one."""
    return f"{dynprompt.get_node(node_id)['class_type']} #{dynprompt.get_display_node_id(node_id)}"
