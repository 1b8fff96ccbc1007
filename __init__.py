"""Headroom: a ComfyUI node pack against NaN output and out-of-memory. Nothing is imported until ComfyUI asks."""

from __future__ import annotations

from typing import Any

WEB_DIRECTORY = "./js"

__all__ = ["WEB_DIRECTORY", "comfy_entrypoint"]


async def comfy_entrypoint() -> Any:
    """The pack's extension (ComfyUI's V3 entry point); empty, with one line in the log, on a host that is too old."""
    from .headroom.host.compat import extension_for

    def nodes() -> tuple[type, ...]:
        from .nodes import NODES

        return NODES

    return extension_for(nodes)
