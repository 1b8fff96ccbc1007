"""The flags of ComfyUI's prompt queue, set beside those of others: ``POST /free`` of ComfyUI itself sets the same ones.

The queue has one place for each flag, and its prompt worker takes all of them at once after a prompt, or when one is
set while it sleeps. Ours carry what the ones that they took the place of asked for, and give the place back.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Any

UNLOAD, FREE = "unload_models", "free_memory"
"""The flags that the worker knows. It asks their values each time it takes them, and where the first is not set the
second stands for it: ``if flags.get("unload_models", free_memory)`` (main.py 0.16.3 to 0.30.0)."""


class Flag:
    """A value that is told apart from any other's, and that may act on the worker's thread when the worker asks it.

    ``asked`` is True from then on.
    """

    def __init__(self, says: bool, act: Callable[[], None] | None = None) -> None:
        self.asked = False
        self.replaced: Any = None
        """What was in its place; None where nothing was."""
        self.others = False
        """Somebody else asks for the same."""
        self._says, self._act = says, act

    def __bool__(self) -> bool:
        # The flag may be set, and so asked, more than once; an exception here would end the prompt worker.
        first, self.asked = not self.asked, True
        if first and self._act is not None:
            try:
                self._act()
            except Exception:
                logging.exception("Headroom: what was asked for over HTTP could not be done")
        return self._says or self.others


def put(queue: Any, flags: Mapping[str, Flag]) -> None:
    """Sets all of them at once, and wakes the worker; also those that are set already."""
    with queue.mutex:
        there = queue.get_flags(reset=False)
        for name, flag in flags.items():
            if there.get(name) is not flag:
                flag.replaced = there.get(name)
        foreign = {**there, **{name: flag.replaced for name, flag in flags.items()}}
        if UNLOAD in flags:
            wish = foreign[UNLOAD] if foreign[UNLOAD] is not None else foreign.get(FREE)
            flags[UNLOAD].others = bool(wish)
        for name, flag in flags.items():
            queue.set_flag(name, flag)


def taken(queue: Any, flags: Mapping[str, Flag]) -> bool:
    """Whether the worker has taken them, and not only what somebody else has put in their place."""
    there = queue.get_flags(reset=False)
    return all(flag.asked if name in {UNLOAD, FREE} else name not in there for name, flag in flags.items())


def take_back(queue: Any, flags: Mapping[str, Flag]) -> bool:
    """Removes ours, where they still are, and puts back what was there before; False where the worker has had them."""
    with queue.mutex:
        too_late = taken(queue, flags)
        for name, flag in flags.items():
            if queue.flags.get(name) is not flag:
                continue
            if flag.replaced is None:
                del queue.flags[name]
            else:
                queue.flags[name] = flag.replaced
        return not too_late
