"""The routes in a server of their own: what they cost ComfyUI's event loop."""

from __future__ import annotations

import asyncio
import importlib
import importlib.util
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

LIBRARY = Path(__file__).resolve().parents[2] / "headroom"
ALONE = "headroom_routes_alone"
OURS = {"Content-Type": "application/json", "X-Headroom": "1"}


class Importers:
    """Notes on which thread each of our modules is imported, and finds nothing."""

    def __init__(self) -> None:
        self.threads: dict[str, int] = {}

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> None:
        if name.startswith(ALONE):
            self.threads[name.removeprefix(f"{ALONE}.")] = threading.get_ident()


@pytest.fixture
def importers() -> Iterator[Importers]:
    """Notes taken from now on."""
    found = Importers()
    sys.meta_path.insert(0, found)
    yield found
    sys.meta_path.remove(found)


@pytest.fixture
def routes(pack: ModuleType, importers: Importers) -> Iterator[ModuleType]:
    """The routes of a library that has been asked nothing yet, whatever other tests have."""
    spec = importlib.util.spec_from_file_location(
        ALONE, LIBRARY / "__init__.py", submodule_search_locations=[str(LIBRARY)]
    )
    assert spec is not None
    sys.modules[ALONE] = importlib.util.module_from_spec(spec)
    yield importlib.import_module(f"{ALONE}.host.routes")
    for name in [name for name in sys.modules if name.startswith(ALONE)]:
        del sys.modules[name]


@pytest.mark.parametrize(
    ("verb", "path", "body", "status", "needs"),
    [
        ("GET", "/headroom/snapshot?advice=1", None, 200, "host.answers"),
        ("GET", "/headroom/advice", None, 200, "host.answers"),
        ("GET", "/headroom/run", None, 200, "host.recorder"),
        ("POST", "/headroom/unload", {"unknown": 1}, 422, "host.queue_actions"),
        ("POST", "/headroom/free", {"unknown": 1}, 422, "host.queue_actions"),
    ],
)
def test_the_first_request_does_not_hold_the_event_loop_up(
    routes: ModuleType, importers: Importers, verb: str, path: str, body: Any, status: int, needs: str
):
    """What a request needs is imported with the first one: 44 ms, in which no other page and no preview was served."""
    from aiohttp import web
    from aiohttp.test_utils import TestClient, TestServer

    async def ask() -> int:
        table = web.RouteTableDef()
        routes.register(table)
        app = web.Application()
        app.add_routes(table)
        before = set(importers.threads)
        async with TestClient(TestServer(app)) as client:
            answer = await client.request(verb, path, json=body, headers=OURS if body else None)
            assert answer.status == status, await answer.text()
        assert needs in set(importers.threads) - before
        on_the_loop = {name for name, thread in importers.threads.items() if thread == threading.get_ident()}
        assert on_the_loop - before == set()
        return answer.status

    assert asyncio.run(ask()) == status
