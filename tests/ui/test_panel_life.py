"""The panel and the meter over time: when they ask, what they do without an answer, drivers that come and go."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from comfy_server import ComfyServer, Servers
from fakes.nvml.build import FakeDriver, build
from panel_page import PanelPage, plain
from panel_samples import card, machine, rtx3060, rtx4080
from uikit import Frontend

METER = "Headroom.Meter"
SCENARIOS = ["idle", "gb10", "mig", "mig_denied", "bad_name", "no_process_memory", "host_pids"]
HIDE = """(hidden) => {
  const get = () => (hidden ? "hidden" : "visible");
  Object.defineProperty(document, "visibilityState", { configurable: true, get });
  document.dispatchEvent(new Event("visibilitychange"));
}"""


# ---- when it asks ----


def test_closed_and_without_the_meter_nothing_is_asked(panel: PanelPage):
    panel.open()
    panel.refresh()
    panel.ui.setting(METER, False)
    try:
        panel.close()
        panel.ui.settle()
        panel.asked.clear()
        panel.page.wait_for_timeout(5000)
        assert panel.asked == []
        panel.open()
        panel.page.wait_for_timeout(2500)
        assert len(panel.asked) >= 2
    finally:
        panel.ui.setting(METER, True)


def test_a_tab_that_is_not_in_front_asks_nothing(panel: PanelPage):
    panel.show(None)
    panel.ui.evaluate(HIDE, True)
    try:
        panel.ui.settle()
        panel.asked.clear()
        panel.page.wait_for_timeout(4000)
        assert panel.asked == []
    finally:
        panel.ui.evaluate(HIDE, False)
    panel.page.wait_for_timeout(500)
    assert len(panel.asked) == 1, "fresh at once when it is in front again"


def test_once_per_interval_and_the_meter_alone_half_as_often(panel: PanelPage):
    panel.show(None)
    panel.asked.clear()
    panel.page.wait_for_timeout(6000)
    opened = len(panel.asked)
    panel.close()
    panel.refresh()
    panel.asked.clear()
    panel.page.wait_for_timeout(6000)
    assert 4 <= opened <= 7
    assert 2 <= len(panel.asked) <= 4


def test_the_interval_is_a_setting(panel: PanelPage):
    panel.ui.setting("Headroom.RefreshInterval", 5)
    try:
        panel.show(None)
        panel.asked.clear()
        panel.page.wait_for_timeout(6000)
        assert len(panel.asked) <= 2
    finally:
        panel.ui.setting("Headroom.RefreshInterval", 1)


COUNT_CLOCKS = """
  window.clocks = new Set();
  const [begin, end] = [setInterval, clearInterval];
  window.setInterval = (run, ms, ...rest) => {
    const id = begin(run, ms, ...rest);
    if (new Error().stack.includes("/panel/live.mjs")) window.clocks.add(id);
    return id;
  };
  window.clearInterval = (id) => { window.clocks.delete(id); end(id); };
"""


def test_without_an_answer_no_clock_runs_once_nobody_looks(server: ComfyServer, opened: Callable[[], Frontend]):
    """The seconds until the next try go down in an open panel, and nowhere else."""
    window = opened()
    window.page.add_init_script(COUNT_CLOCKS)
    window.open(server.url)
    page = PanelPage(window)
    window.setting(METER, False)
    try:
        page.show(None)
        page.status = 500
        page.until(lambda: window.evaluate("window.clocks.size") == 1)
        assert window.evaluate("window.clocks.size") == 1
        page.close()
        window.settle()
        assert window.evaluate("window.clocks.size") == 0
        # A question that is on its way when the panel is closed, and fails then.
        held: list[Any] = []
        window.page.route(re.compile(r"/headroom/snapshot"), lambda route: held.append(route))
        page.open()
        page.until(lambda: bool(held))
        page.close()
        held[0].fulfill(status=500, body="{}")
        window.settle()
        assert window.evaluate("window.clocks.size") == 0
    finally:
        window.setting(METER, True)
        window.problems.clear()  # the failed requests themselves


# ---- runs ----


def test_a_blocked_node_does_not_end_the_run(panel: PanelPage, real: dict[str, Any]):
    """ComfyUI tells of it by an error event, and goes on with the other branches."""
    panel.show(machine(real, rtx4080(), host={"running": True}))
    panel.ui.send("execution_start", {"prompt_id": "a", "timestamp": 0})
    panel.ui.send("executing", "3")
    blocked = {"prompt_id": "a", "node_id": "2", "node_type": "VAEDecode", "exception_type": "ExecutionBlocked"}
    panel.ui.send("execution_error", {**blocked, "exception_message": "", "traceback": [], "executed": []})
    panel.ui.send("progress", {"value": 5, "max": 20, "prompt_id": "a", "node": "3"})
    panel.until(lambda: panel.status_line()["title"].startswith("Step"))
    assert panel.status_line()["title"].startswith("Step 5 of 20, ")
    panel.ui.send("execution_success", {"prompt_id": "a", "timestamp": 0})


# ---- the meter ----


def test_the_meter_shows_what_is_left_and_opens_the_panel(
    panel: PanelPage, real: dict[str, Any], shoot: Callable[..., None]
):
    panel.show(machine(real, rtx4080(), rtx3060()))
    panel.close()
    shoot()
    assert panel.meter() == [
        {"name": "GPU 0", "left": "15.1 left", "used": "14.8/16.0", "level": "ok"},
        {"name": "GPU 1", "left": "11.5 left", "used": "6.9/12.0", "level": "ok"},
        {"name": "RAM", "left": "27.5 left", "used": "28.5/56.0", "level": "ok"},
    ]
    label = str(panel.page.get_attribute(".hr-meter button", "aria-label"))
    assert label.startswith("Headroom: GPU\u00a00 15.1 left, 14.8/16.0 in use; ")
    assert panel.page.get_attribute(".hr-meter button", "title")
    panel.page.click(".hr-meter button")
    panel.page.wait_for_selector(".hr-panel")


def test_many_gpus_and_a_small_window_fit(panel: PanelPage, real: dict[str, Any], shoot: Callable[..., None]):
    sizes = {"total": 24, "own": 0, "torch_allocated": 0, "torch_reserved": 0, "evictable": 0}
    cards = [
        card(index, f"NVIDIA GeForce RTX 309{index}", sizes={**sizes, "free": free, "used": 24 - free})
        for index, free in enumerate((9, 7, 12, 5))
    ]
    panel.show(machine(real, *cards, models=[]))
    panel.close()
    shoot()
    assert [item["name"] for item in panel.meter()] == ["GPU 1", "GPU 3", "RAM"]
    assert panel.page.inner_text(".hr-meter .mo") == "+2"
    narrow = {"width": 1050, "height": 800}
    panel.page.set_viewport_size(narrow)
    try:
        panel.ui.settle()
        shoot("small")
        names = "[...document.querySelectorAll('.hr-meter .it')].filter((item) => item.checkVisibility())"
        assert plain(panel.ui.evaluate(f"{names}.map((item) => item.firstChild.textContent)")) == ["GPU 3", "RAM"]
    finally:
        panel.page.set_viewport_size({"width": 1600, "height": 1000})


def test_a_frontend_without_its_place_has_no_meter_and_no_error(server: ComfyServer, opened: Callable[[], Frontend]):
    other = opened()

    def without_place(route: Any) -> None:
        body = route.fetch().text()
        changed = body.replace("app.menu?.settingsGroup?.element", "undefined")
        assert changed != body
        route.fulfill(body=changed, content_type="text/javascript")

    other.page.route(re.compile(r"/host\.mjs"), without_place)
    other.open(server.url)
    page = PanelPage(other)
    page.show(None)
    assert page.meter() == []
    assert page.status_line()["id"] != "first"


# ---- no answer ----


@pytest.fixture
def own_server(servers: Servers, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Servers]:
    """A place for a host that may be stopped."""
    pool = Servers(servers.host, tmp_path_factory.mktemp("restarted"))
    yield pool
    pool.close()


def test_it_survives_a_restart_of_the_server(
    own_server: Servers, opened: Callable[[], Frontend], request: pytest.FixtureRequest
):
    from uikit import SHOTS

    first = own_server.get()
    window = opened()
    window.open(first.url)
    page = PanelPage(window)
    page.show(None)
    total = page.blocks()["RAM"]["total"]
    first.close()
    page.until(lambda: page.status_line()["id"] == "noAnswer")
    window.page.wait_for_timeout(1500)
    window.page.screenshot(path=SHOTS / f"{request.node.name}.png")
    status = page.status_line()
    assert (status["title"], status["level"]) == ("No answer from ComfyUI", "off")
    assert re.fullmatch(r"since \d\d:\d\d:\d\d, next try in \d+ s", status["detail"])
    old = page.blocks()["RAM"]
    assert (old["total"], old["old"]) == (total, True), "the last numbers stay, marked old"
    assert page.section("now").splitlines()[1].startswith("as of ")
    assert "Not without an answer from ComfyUI." in page.section("models")
    second = ComfyServer(own_server.host, first.base, own_flags(first), port=first.port)
    try:
        page.until(lambda: page.status_line()["id"] != "noAnswer", seconds=60)
        assert page.status_line()["id"] in {"fine", "tight", "critical"}
        assert page.blocks()["RAM"]["old"] is False
    finally:
        second.close()
    window.problems.clear()  # the failed requests themselves


def own_flags(server: ComfyServer) -> tuple[str, ...]:
    return server.flags


def test_a_server_without_the_route_is_one_calm_line(panel: PanelPage, shoot: Callable[..., None]):
    panel.open()
    panel.status = 404
    panel.until(lambda: panel.status_line()["id"] == "absent")
    shoot()
    assert panel.status_line() == {
        "id": "absent",
        "level": "off",
        "title": "This server has no Headroom routes",
        "detail": "Restart ComfyUI. The nodes still work.",
    }
    panel.asked.clear()
    panel.page.wait_for_timeout(5000)
    assert len(panel.asked) <= 2, "it asks less, not more"
    panel.status = 200
    panel.ui.problems.clear()  # the failed requests themselves


def test_a_panel_that_is_opened_without_an_answer_shows_old_numbers_as_old(
    server: ComfyServer, opened: Callable[[], Frontend]
):
    window = opened()
    window.open(server.url)
    page = PanelPage(window)
    page.until(lambda: page.meter()[0]["level"] != "off")
    page.status = 500
    page.until(lambda: window.page.locator(".hr-meter.hr-old").count() == 1)
    page.open()
    window.settle()
    assert page.status_line()["id"] == "noAnswer"
    assert page.blocks()["RAM"]["old"] is True
    window.problems.clear()  # the failed requests themselves


def test_a_failing_server_is_asked_less_and_found_again(panel: PanelPage):
    panel.show(None)
    panel.status = 500
    panel.until(lambda: panel.status_line()["id"] == "noAnswer")
    panel.asked.clear()
    panel.page.wait_for_timeout(6000)
    assert len(panel.asked) <= 2
    panel.status = 200
    panel.until(lambda: panel.status_line()["id"] != "noAnswer", seconds=30)
    assert panel.status_line()["id"] != "noAnswer"
    panel.ui.problems.clear()


# ---- drivers, through the real binding ----


@pytest.fixture(scope="module")
def with_driver(servers: Servers, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[ComfyServer, FakeDriver]]:
    """A host of its own whose NVIDIA driver is the fake one; it runs on the CPU and uses none of its cards."""
    folder = tmp_path_factory.mktemp("driver")
    driver = build(folder / "nvml", "two_cards")
    pool = Servers(servers.host, folder)
    with pytest.MonkeyPatch.context() as patch:
        for name, value in driver.environment().items():
            patch.setenv(name, value)
        running = pool.get()
    yield running, driver
    pool.close()


def test_two_cards_of_the_driver_are_shown_and_a_lost_one_comes_back(
    with_driver: tuple[ComfyServer, FakeDriver], opened: Callable[[], Frontend], request: pytest.FixtureRequest
):
    from uikit import SHOTS

    server, driver = with_driver
    driver.play("two_cards")
    window = opened()
    window.open(server.url)
    page = PanelPage(window)
    page.show(None)
    blocks = page.blocks()
    small, large = blocks["RTX 3060"], blocks["RTX 4090"]
    assert (small["sub"], small["total"], small["figures"]["In use"]) == ("not used by ComfyUI", "12.0 GiB", "2.2")
    assert (large["total"], large["figures"]["Held"], large["figures"]["Available"]) == ("24.0 GiB", "12.5", "11.5")
    assert (small["figures"]["Temp"], large["figures"]["Temp"]) == ("40 °C", "61 °C")
    driver.play("lost")
    page.until(lambda: any("lost the card" in str(block["notes"]) for block in page.blocks().values()))
    for toggle in window.page.query_selector_all(".hr-dev[data-closed] header button"):
        toggle.click()
    window.page.screenshot(path=SHOTS / f"{request.node.name}.png")
    lost = next(block for block in page.blocks().values() if "The driver has lost the card" in block["notes"])
    assert (lost["figures"]["Held"], lost["figures"]["Temp"], lost["bar"]) == ("n/a", "n/a", ["is-unknown"])
    assert page.blocks()["RAM"]["figures"]["Available"] != "n/a"
    driver.play("two_cards")
    page.until(lambda: all(not block["notes"] for block in page.blocks().values()))
    assert page.blocks()["RTX 4090"]["figures"]["Available"] == "11.5"


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_every_kind_of_driver_is_drawn(
    with_driver: tuple[ComfyServer, FakeDriver], opened: Callable[[], Frontend], scenario: str
):
    server, driver = with_driver
    driver.play(scenario)
    window = opened()
    window.open(server.url)
    page = PanelPage(window)
    now = time.time()
    while server.get("/headroom/snapshot")["taken_at"] < now:
        time.sleep(0.1)
    page.show(None)
    answer = server.get("/headroom/snapshot")
    assert len(page.blocks()) == 1 + len(answer["unused_devices"])
    text = page.section("now")
    assert [word for word in ("undefined", "NaN", "null", "[object") if word in text] == []


# ---- a card that ComfyUI uses is lost ----


def test_a_gpu_that_stops_answering_is_told_first_and_the_rest_goes_on(
    panel: PanelPage, real: dict[str, Any], shoot: Callable[..., None]
):
    panel.show(machine(real, rtx4080()))
    lost = card(sizes={"total": 16}, reasons={"device": "the driver has lost the card"})
    panel.show(machine(real, lost))
    shoot()
    status = panel.status_line()
    assert (status["id"], status["title"]) == ("lost", "GPU 0 stopped answering")
    block = panel.blocks()["RTX 4080"]
    assert (block["figures"]["Held"], block["figures"]["Available"]) == ("n/a", "n/a")
    assert block["notes"] == ["The driver has lost the card"]
    assert panel.blocks()["RAM"]["figures"]["Available"] == "27.5"
    panel.show(machine(real, rtx4080()))
    assert panel.status_line()["id"] == "fine"
