"""The pack in a newer frontend than the host's own: panels broke with frontend updates (cases.md MEM-12)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import pytest
from comfy_server import ComfyServer, Servers
from ui_cards import cards, close_tab, decode_that_fails, keep_picture, new_tab, open_panel, polls
from ui_samples import chain
from uikit import MODES, NEWER_FRONTEND, Frontend, newer_frontend


@pytest.fixture(scope="module")
def newer_server(servers: Servers) -> ComfyServer:
    """The host with the newer frontend."""
    return servers.get("--front-end-root", str(newer_frontend(servers.host)))


@pytest.fixture
def newer(frontend: Frontend, newer_server: ComfyServer) -> Iterator[Frontend]:
    """A tab of the newer frontend with the panel open; an error of our files in the console fails the test."""
    opened = new_tab(frontend, newer_server.url)
    yield opened
    close_tab(opened)
    assert not opened.problems


@pytest.fixture
def keep(newer: Frontend, request: pytest.FixtureRequest) -> Callable[..., None]:
    return lambda name="": keep_picture(newer, f"{request.node.name} {name}")


def test_it_is_the_newer_one(newer: Frontend) -> None:
    assert newer.evaluate("() => window.__COMFYUI_FRONTEND_VERSION__") == NEWER_FRONTEND


def test_panel_and_meter_show_the_servers_numbers(
    newer: Frontend, newer_server: ComfyServer, keep: Callable[..., None]
) -> None:
    total = newer_server.get("/headroom/snapshot")["ram"]["total_bytes"] / 2**30
    assert f"{total:.1f}\u00a0GiB" in newer.page.inner_text("[data-section=now]")
    assert newer.page.locator(".hr-meter button .us").inner_text().endswith(f"/{total:.1f}")
    keep()
    newer.page.click(".hr-meter button")
    newer.page.wait_for_selector(".hr-panel", state="detached")
    newer.page.click("[aria-label^='Headroom: memory and warnings']")
    open_panel(newer)


def test_a_failed_node_has_its_card(newer: Frontend) -> None:
    newer.load(decode_that_fails(1))
    assert newer.run() == "execution_error"
    newer.page.wait_for_selector("[data-section=failure] .hr-card")
    assert cards(newer, "failure")[0]["title"].startswith("VAE Decode ran out of VRAM")
    newer.page.get_by_role("button", name="Show the node").click()
    assert newer.evaluate("() => Object.values(app.canvas.selected_nodes).map((node) => String(node.id))") == ["4"]


@pytest.mark.parametrize("mode", MODES)
def test_a_report_is_on_its_node(newer: Frontend, mode: str) -> None:
    newer.look(mode, "dark")
    newer.load(chain())
    assert newer.run() == "execution_success"
    (report,) = newer.reports().values()
    assert (report["level"], report["title"]) == ("ok", "Clean")


def test_settings_and_language_reach_the_panel(newer: Frontend) -> None:
    newer.setting("Headroom.Meter", False)
    try:
        newer.page.wait_for_selector(".hr-meter", state="hidden")
    finally:
        newer.setting("Headroom.Meter", True)
    newer.setting("Comfy.Locale", "zh")
    try:
        polls(newer, 2)
        assert re.search("[\u4e00-\u9fff]", newer.page.inner_text(".hr-panel [data-section=now] h3"))
    finally:
        newer.setting("Comfy.Locale", "en")
