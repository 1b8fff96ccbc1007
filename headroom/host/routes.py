"""The HTTP interface under ``/headroom/`` (and ``/api/headroom/``, which ComfyUI adds). Nothing blocks its event loop.

GET reads; POST acts, and only for a page that this server served, with our header, and while no prompt runs. What
reads and acts is imported with the first request, on its thread: neither ComfyUI's start nor its event loop pays.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from aiohttp import web

from ..core.origin import same_origin

MOST_BODY_BYTES = 64 * 2**10
HEADER = "X-Headroom"

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class Refusal(Exception):
    """A request that is not carried out."""

    def __init__(self, status: int, code: str, text: str) -> None:
        super().__init__(text)
        self.status, self.code, self.text = status, code, text


def register(routes: web.RouteTableDef) -> None:
    """Adds the routes to ComfyUI's; before it has started to serve."""
    routes.get("/headroom/snapshot")(_guarded(_snapshot))
    routes.get("/headroom/advice")(_guarded(_advice))
    routes.get("/headroom/run")(_guarded(_reading(_run)))
    routes.post("/headroom/unload")(_guarded(_acting("unload")))
    routes.post("/headroom/free")(_guarded(_acting("free")))


async def _snapshot(request: web.Request) -> web.Response:
    """The snapshot; ``?advice=1`` puts the advice beside it."""
    return _answer(await asyncio.to_thread(_read_snapshot, request.query.get("advice") == "1"), 200)


def _read_snapshot(with_advice: bool) -> bytes:
    from . import answers

    return answers.snapshot(with_advice)


async def _advice(_: web.Request) -> web.Response:
    return _answer(await asyncio.to_thread(_read_advice), 200)


def _read_advice() -> bytes:
    from . import answers

    return answers.advice()


def _run() -> Mapping[str, Any]:
    from ..core.snapshot_json import plain_json
    from .recorder import run

    return {"run": plain_json(run(), os.name == "nt", os.path.expanduser("~"))}


def _guarded(handler: Handler) -> Handler:
    """Every fault as our own JSON: a status, a text for people and a code for programs."""

    async def guarded(request: web.Request) -> web.StreamResponse:
        try:
            return await handler(request)
        except Refusal as refusal:
            return _json({"error": refusal.text, "code": refusal.code}, refusal.status)
        except web.HTTPException:
            raise
        except Exception:
            logging.exception("Headroom: %s failed", request.path)
            return _json({"error": "Headroom failed; ComfyUI's log says why.", "code": "internal"}, 500)

    return guarded


def _reading(read: Callable[[], Mapping[str, Any]]) -> Handler:
    """A GET route; the reading and the making of the JSON run on a thread."""

    async def handler(_: web.Request) -> web.Response:
        return _answer(await asyncio.to_thread(lambda: _dumped(read())), 200)

    return handler


def _acting(name: str) -> Handler:
    """A POST route; ``name`` is the function in ``queue_actions`` that acts."""

    async def handler(request: web.Request) -> web.Response:
        _check_sender(request)
        return _json(await asyncio.to_thread(_act, name, await _body(request)), 200)

    return handler


def _act(name: str, body: Mapping[str, Any]) -> Mapping[str, Any]:
    from . import queue_actions
    from .comfy import is_running

    if is_running():
        raise Refusal(409, "running", "A prompt is running. Try again when it has ended.")
    try:
        return getattr(queue_actions, name)(body)
    except queue_actions.UnknownField as error:
        raise Refusal(422, "unknown_field", str(error)) from error
    except queue_actions.UnknownModel as error:
        raise Refusal(404, "unknown_model", str(error)) from error
    except queue_actions.Busy as error:
        raise Refusal(409, "running", str(error)) from error


def _check_sender(request: web.Request) -> None:
    headers = request.headers
    if not same_origin(headers.get("Origin"), headers.get("Host"), headers.get("Sec-Fetch-Site")):
        raise Refusal(403, "origin", "This request comes from a page of another server.")
    if headers.get(HEADER) != "1":
        raise Refusal(403, "header", f"The header {HEADER}: 1 is missing.")
    if request.content_type != "application/json":
        raise Refusal(400, "content_type", "The header Content-Type must be application/json.")


async def _body(request: web.Request) -> Mapping[str, Any]:
    """The JSON object in the body; an empty one for an empty body."""
    if (request.content_length or 0) > MOST_BODY_BYTES:
        raise Refusal(413, "too_large", f"The body may have at most {MOST_BODY_BYTES} bytes.")
    data = await request.content.read(MOST_BODY_BYTES + 1)
    while data and not request.content.at_eof() and len(data) <= MOST_BODY_BYTES:
        data += await request.content.read(MOST_BODY_BYTES + 1 - len(data))
    if len(data) > MOST_BODY_BYTES:
        raise Refusal(413, "too_large", f"The body may have at most {MOST_BODY_BYTES} bytes.")
    try:
        found = json.loads(data) if data.strip() else {}
    except (ValueError, RecursionError) as error:
        raise Refusal(400, "json", "The body is not JSON.") from error
    if not isinstance(found, dict):
        raise Refusal(422, "object", "The body must be a JSON object.")
    return found


def _dumped(answer: Mapping[str, Any]) -> bytes:
    return json.dumps(answer, allow_nan=False).encode()


def _json(answer: Mapping[str, Any], status: int) -> web.Response:
    return _answer(_dumped(answer), status)


def _answer(body: bytes, status: int) -> web.Response:
    headers = {"Cache-Control": "no-store"}
    return web.Response(body=body, status=status, content_type="application/json", charset="utf-8", headers=headers)
