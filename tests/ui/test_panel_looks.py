"""How the panel and the meter look: widths, zoom, themes, high contrast, Chinese, and what axe-core says of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from comfy_server import ComfyServer
from npmkit import NO_NPM
from panel_page import PanelPage
from panel_samples import card, loaded, machine, rtx3060, rtx4080
from ui_samples import HTML
from uikit import SHOTS, Frontend, axe_script

#: Parts of the panel that are cut off, or lie beyond its edge.
CUT_OFF = """() => {
  const panel = document.querySelector(".hr-panel");
  const edge = panel.getBoundingClientRect().right;
  const parts = [...panel.querySelectorAll("*:not(.vh, .nd, svg *)")].filter((part) => part.checkVisibility());
  return [
    ...(panel.scrollWidth > panel.clientWidth ? ["the panel scrolls sideways"] : []),
    ...parts.filter((part) => part.getBoundingClientRect().right > edge + 0.5)
      .map((part) => part.outerHTML.slice(0, 120)),
    ...parts.filter((part) => part.matches("dt, dd, .num, b") && part.scrollWidth > part.clientWidth + 1)
      .map((part) => `cut: ${part.textContent}`),
  ];
}"""
#: How every part of a bar is drawn, and whether a critical card has its sign.
FORCED = """() => {
  const look = (part) => {
    const style = getComputedStyle(part);
    const { backgroundColor, backgroundImage, boxShadow, outlineStyle, borderStyle } = style;
    return [backgroundColor, backgroundImage, boxShadow, outlineStyle, borderStyle].join();
  };
  const sign = document.querySelector(".hr-meter .it[data-level=error] .sg svg:last-child");
  return {
    parts: [...document.querySelector(".hr-bar").querySelectorAll("i:not([hidden])")].map(look),
    sign: sign && getComputedStyle(sign).display !== "none" && getComputedStyle(sign).color,
    behind: getComputedStyle(document.querySelector(".hr-panel")).backgroundColor,
  };
}"""


def test_a_models_name_stays_text(panel: PanelPage, real: dict[str, Any]):
    panel.show(machine(real, rtx4080(name=HTML), models=[loaded(HTML, HTML, 1, 1)]))
    assert panel.page.inner_text(".hr-model .n") == HTML
    assert panel.ui.evaluate("document.querySelectorAll('.hr-panel img, .hr-meter img').length") == 0
    assert panel.ui.evaluate("window.injected") is None


@pytest.mark.parametrize("palette", ["dark", "light"])
@pytest.mark.parametrize("width", [280, 297, 312])
def test_nothing_is_cut_off_at_narrow_widths(
    panel: PanelPage, real: dict[str, Any], shoot: Callable[..., None], width: int, palette: str
):
    panel.ui.look("canvas", palette)
    panel.show(machine(real, rtx4080(), rtx3060()))
    panel.width(width)
    shoot()
    wide = panel.ui.evaluate(CUT_OFF)
    panel.width(None)
    assert wide == []


def test_at_200_percent_it_is_still_whole(
    server: ComfyServer, real: dict[str, Any], opened: Callable[[], Frontend], request: pytest.FixtureRequest
):
    """A window of 1600 x 1000 at 200 % is one of 800 x 500 to the page."""
    window = opened()
    window.page.set_viewport_size({"width": 800, "height": 500})
    window.open(server.url)
    page = PanelPage(window)
    page.show(machine(real, rtx4080(), rtx3060()))
    window.page.screenshot(path=SHOTS / f"{request.node.name}.png")
    assert window.evaluate(CUT_OFF) == []
    last = window.page.locator(".hr-foot")
    last.scroll_into_view_if_needed()
    box = last.bounding_box()
    assert box is not None
    assert 0 <= box["y"] < 500, "the last line cannot be reached"
    assert len(page.meter()) == 3


def test_in_a_high_contrast_theme_parts_and_signs_can_be_told_apart(
    panel: PanelPage, real: dict[str, Any], shoot: Callable[..., None]
):
    panel.page.emulate_media(forced_colors="active")
    try:
        sizes = {"total": 12, "free": 0.1, "used": 11.9, "own": 11, "torch_allocated": 11, "torch_reserved": 11.1}
        short = card(1, "NVIDIA GeForce RTX 3060", sizes={**sizes, "evictable": 0})
        panel.show(machine(real, rtx4080(), short))
        shoot()
        found = panel.ui.evaluate(FORCED)
        assert len(set(found["parts"])) == 6, found["parts"]
        assert found["sign"], "the critical card has no sign"
        assert found["sign"] != found["behind"]
    finally:
        panel.page.emulate_media(forced_colors="none")


def test_it_speaks_chinese_and_english_again(panel: PanelPage, real: dict[str, Any], shoot: Callable[..., None]):
    panel.show(machine(real, rtx4080(), rtx3060()))
    panel.ui.setting("Comfy.Locale", "zh")
    try:
        panel.until(lambda: panel.status_line()["title"] == "正常")
        panel.refresh()
        shoot()
        assert panel.status_line()["detail"] == "剩余 15.1 GiB 显存, 27.5 GiB 内存"
        assert panel.blocks()["RTX 4080"]["available"] == {
            "可用": "15.1",
            "可腾出": "8.4",
            "torch 缓存": "5.5",
            "空闲": "1.2",
        }
        left = panel.page.inner_text(".hr-panel")
        assert [word for word in ("Held", "Free", "Loaded", "Unload", "Peak", "left") if word in left] == []
    finally:
        panel.ui.setting("Comfy.Locale", "en")
    panel.until(lambda: panel.status_line()["title"] == "Fine")
    assert panel.status_line()["title"] == "Fine"


def test_the_host_shows_our_settings_and_nodes_in_chinese(
    ui: Frontend, server: ComfyServer, opened: Callable[[], Frontend]
):
    ui.setting("Comfy.Locale", "zh")
    try:
        chinese = opened()
        chinese.open(server.url)
        chinese.evaluate("app.extensionManager.command.execute('Comfy.ShowSettingsDialog')")
        chinese.page.get_by_text("Headroom", exact=True).last.click()
        chinese.page.wait_for_selector("text=顶栏仪表")
        assert chinese.page.get_by_text("两次读取之间的秒数").count() == 1
        titles = chinese.evaluate("LiteGraph.registered_node_types.HeadroomVAEDecode.title")
        assert titles == "VAE 解码（安全）"
    finally:
        ui.setting("Comfy.Locale", "en")


@pytest.mark.parametrize("palette", ["dark", "light", "solarized", "nord", "arc", "github"])
def test_the_accessibility_checker_finds_nothing(panel: PanelPage, real: dict[str, Any], palette: str):
    script = axe_script()
    if script is None:
        pytest.skip(NO_NPM)
    panel.ui.look("canvas", palette)
    sizes = {"total": 16, "free": 0.3, "used": 15.7, "own": 12.9, "torch_allocated": 12.4, "torch_reserved": 12.4}
    short = card(
        1, "NVIDIA GeForce RTX 3090", sizes={**sizes, "evictable": 0}, reasons={"programs": "not permitted here"}
    )
    panel.show(machine(real, rtx4080(), short))
    panel.page.click("[aria-label='What the words mean']")
    panel.page.add_script_tag(path=str(script))
    found = panel.ui.evaluate(
        """async () => {
          const { violations } = await axe.run({ include: [[".hr-panel"], [".hr-meter"]] });
          const told = (node) => `${node.html.slice(0, 160)} ${node.failureSummary}`;
          return violations.map((one) => [one.id, ...one.nodes.map(told)]);
        }"""
    )
    panel.page.click("[aria-label='What the words mean']")
    assert found == []
