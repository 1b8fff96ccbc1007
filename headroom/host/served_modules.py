"""The pack's JavaScript modules are asked for anew after an update.

ComfyUI tells browsers to keep no ``.js`` and no ``.css`` (middleware/cache_middleware.py 0.30.0) and says nothing of
``.mjs``. A browser then guesses, and keeps a module for a tenth of its age: after an update the new entry would import
old modules, and a missing export ends all of the pack's interface until a hard reload.
"""

from __future__ import annotations

from pathlib import Path

from aiohttp import web

PACK = Path(__file__).parents[2].name
"""The folder's name, under which ComfyUI serves ``js``."""


def register(app: web.Application) -> None:
    """Before the server has started."""
    app.on_response_prepare.append(_ask_anew)


async def _ask_anew(request: web.Request, response: web.StreamResponse) -> None:
    """An unchanged module is answered with 304, so that this costs no transfer."""
    if request.path.endswith(".mjs") and request.path.startswith(f"/extensions/{PACK}/"):
        response.headers.setdefault("Cache-Control", "no-cache")
