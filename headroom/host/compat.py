"""Which hosts the pack loads on, and what an older one is told."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Sequence
from typing import Any

MINIMUM_VERSION = (0, 16, 3)


def host_version() -> tuple[int, ...] | None:
    """ComfyUI's version as numbers, None where it does not say."""
    try:
        from comfyui_version import __version__
    except ImportError:
        return None
    parts = []
    for part in str(__version__).split("."):
        if not part.isdigit():
            break
        parts.append(int(part))
    return tuple(parts) or None


def extension_for(nodes: Callable[[], Sequence[type]]) -> Any:
    """An extension with the nodes that ``nodes`` imports; empty on a host below the minimum version."""
    from comfy_api.latest import ComfyExtension

    version = host_version()
    usable = version is None or version >= MINIMUM_VERSION
    if not usable:
        shown, wanted = (".".join(map(str, v)) for v in (version or (), MINIMUM_VERSION))
        logging.error("Headroom needs ComfyUI %s or newer; this is %s. Update ComfyUI to use its nodes.", wanted, shown)

    class HeadroomExtension(ComfyExtension):
        async def on_load(self) -> None:
            if usable:
                _start()

        async def get_node_list(self) -> list[Any]:
            return list(nodes()) if usable else []

    return HeadroomExtension()


def _start() -> None:
    """What the pack adds to a running server: its routes, the record of a run, and the notice of one that never ends.

    Nodes work without them, so a fault here costs no more than that.
    """
    server = getattr(getattr(sys.modules.get("server"), "PromptServer", None), "instance", None)
    if server is None:
        return
    try:
        from . import recorder, routes, runmarker, served_modules

        routes.register(server.routes)
        served_modules.register(server.app)
        runmarker.register()
        recorder.register()
    except Exception:
        logging.exception("Headroom: its routes could not be added; the nodes work without them")
