"""Fixtures of the tests in a real browser with the real host and frontend."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from comfy_server import ComfyServer
from panel_page import PanelPage
from panel_samples import next_series
from uikit import NO_CHROMIUM, SHOTS, Frontend, browser_page, find_chromium


@pytest.fixture(scope="session")
def frontend(server: ComfyServer) -> Iterator[Frontend]:
    """ComfyUI open in a browser; skips visibly where there is none, and fails instead where ``CI`` is set."""
    executable = find_chromium()
    if executable is None:
        if os.environ.get("CI"):
            pytest.fail(NO_CHROMIUM)
        pytest.skip(NO_CHROMIUM)
    with browser_page(executable) as page:
        opened = Frontend(page)
        opened.open(server.url)
        yield opened


@pytest.fixture
def ui(frontend: Frontend) -> Iterator[Frontend]:
    """The open frontend in its default look; a test that leaves an error of our files in the console fails."""
    frontend.look("canvas", "dark")
    frontend.problems.clear()
    yield frontend
    assert not frontend.problems


@pytest.fixture
def shoot(ui: Frontend, request: pytest.FixtureRequest) -> Callable[[str], None]:
    """Keeps a screenshot, named for the test, in a git-ignored folder."""

    def save(name: str = "") -> None:
        SHOTS.mkdir(exist_ok=True)
        stem = re.sub(r"\W+", "-", f"{request.node.name} {name}").strip("-")
        ui.page.screenshot(path=SHOTS / f"{stem}.png")

    return save


@pytest.fixture
def panel(ui: Frontend) -> Iterator[PanelPage]:
    """The closed panel; closed again after the test, and as a browser has it that never saw it."""
    next_series()
    page = PanelPage(ui)
    page.close()
    forget = (
        "for (const key of Object.keys(localStorage)) if (key.startsWith('headroom.')) localStorage.removeItem(key)"
    )
    ui.evaluate(f"() => {{ {forget} }}")
    yield page
    page.leave()


@pytest.fixture
def opened(ui: Frontend) -> Iterator[Callable[[], Frontend]]:
    """Further windows with storage of their own; closed after the test. An error of our files there fails it too."""
    windows: list[Frontend] = []

    def new() -> Frontend:
        context = ui.page.context.browser.new_context(viewport={"width": 1600, "height": 1000})
        windows.append(Frontend(context.new_page()))
        return windows[-1]

    yield new
    for window in windows:
        window.page.context.close()
    assert [problem for window in windows for problem in window.problems] == []


@pytest.fixture
def real(server: ComfyServer) -> dict[str, Any]:
    """What the server answers."""
    return server.get("/headroom/snapshot?advice=1")
