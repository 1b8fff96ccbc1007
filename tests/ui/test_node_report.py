"""How the report on a node looks and behaves, in canvas and in Nodes 2.0; the reports are made up."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from comfy_server import ComfyServer
from ui_samples import GUARD, HTML, SAMPLES, chain, element_of, guards, sample
from uikit import MODES, Frontend


@pytest.mark.parametrize("palette", ["dark", "light"])
@pytest.mark.parametrize("mode", MODES)
def test_every_state_is_drawn(ui: Frontend, shoot: Callable[..., None], mode: str, palette: str) -> None:
    ui.look(mode, palette)
    ui.load(guards())
    for node in SAMPLES:
        ui.send("headroom.report", {"node": node, "report": sample(node)})
    ui.settle()
    ui.fit(1.0)
    shoot()
    shown = ui.reports()
    assert (shown["1"]["title"], shown["1"]["level"]) == ("Not run yet", "off")
    assert {node: (report["level"], report["title"]) for node, report in shown.items() if node in SAMPLES} == {
        node: SAMPLES[node][:2] for node in SAMPLES
    }
    assert "Likely: fp16 overflow in SDXL at 1024×1024. Try --bf16-unet." in shown["3"]["text"]
    assert element_of(ui, "3", "(element) => element.querySelector('code').textContent") == "--bf16-unet"
    for node in shown:
        fits = element_of(
            ui,
            node,
            """(element, node) => {
              const { scale } = app.canvas.ds;
              const height = (part) => part.getBoundingClientRect().height / scale;
              const inNodes2 = element.closest("[data-node-id]");
              return {
                wide: element.scrollWidth > element.clientWidth,
                scrolls: element.scrollHeight > element.clientHeight,
                height: height(element),
                nodeHeight: inNodes2 ? height(inNodes2) : node.size[1],
                tabIndex: element.tabIndex,
              };
            }""",
        )
        assert not fits["wide"], f"node {node} scrolls sideways"
        assert fits["scrolls"] == (node == "5"), f"node {node}: {fits}"
        assert (fits["tabIndex"] == 0) == fits["scrolls"]
        assert fits["height"] <= 241
        assert fits["height"] < fits["nodeHeight"]


@pytest.mark.parametrize("palette", ["dark", "light", "solarized", "nord", "arc", "github"])
def test_text_and_icons_have_contrast(ui: Frontend, palette: str) -> None:
    ui.look("canvas", palette)
    ui.load(guards())
    for node in SAMPLES:
        ui.send("headroom.report", {"node": node, "report": sample(node)})
    ui.settle()
    least = ui.evaluate(
        """() => {
          const context = Object.assign(document.createElement("canvas"), { width: 1, height: 1 }).getContext("2d");
          const light = (color) => {
            context.fillStyle = color;
            context.fillRect(0, 0, 1, 1);
            const [r, g, b] = [...context.getImageData(0, 0, 1, 1).data].map((value) => {
              const share = value / 255;
              return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
            });
            return 0.2126 * r + 0.7152 * g + 0.0722 * b;
          };
          const contrast = (a, b) => (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
          const least = { text: 99, icon: 99 };
          for (const element of document.querySelectorAll(".hr-report")) {
            const surface = light(getComputedStyle(element).backgroundColor);
            for (const part of element.querySelectorAll(".title, .num, p, td, th, code, li")) {
              const style = getComputedStyle(part);
              const own = style.backgroundColor;
              const behind = part.matches("li.bad") ? light(own) : surface;
              least.text = Math.min(least.text, contrast(light(style.color), behind));
            }
            const icon = element.querySelector("svg");
            least.icon = Math.min(least.icon, contrast(light(getComputedStyle(icon).color), surface));
          }
          return least;
        }"""
    )
    assert least["text"] >= 4.5
    assert least["icon"] >= 3


@pytest.mark.parametrize("mode", MODES)
def test_text_is_never_taken_for_html(ui: Frontend, mode: str) -> None:
    ui.look(mode, "dark")
    ui.load(guards())
    ui.send("headroom.report", {"node": "6", "report": sample("6")})
    ui.settle()
    assert ui.reports()["6"]["title"] == HTML
    assert element_of(ui, "6", "(element) => element.querySelectorAll('img').length") == 0
    assert ui.evaluate("window.injected") is None


def test_a_new_node_is_wide_enough_and_keeps_a_saved_size(ui: Frontend) -> None:
    ui.load(guards(2, (420, 500)))
    sizes = "app.rootGraph.nodes.map((node) => [...node.size])"
    assert ui.evaluate(sizes) == [[420, 500], [420, 500]]
    ui.send("headroom.report", {"node": "1", "report": sample("5")})
    ui.settle()
    assert ui.evaluate(sizes) == [[420, 500], [420, 500]]
    ui.evaluate("(type) => app.rootGraph.add(LiteGraph.createNode(type))", GUARD)
    ui.settle()
    assert ui.evaluate(sizes)[2][0] >= 300


def test_a_node_grows_for_its_report_and_does_not_shrink_again(ui: Frontend) -> None:
    ui.load(guards(1))
    height = "app.rootGraph.nodes[0].size[1]"
    low = ui.evaluate(height)
    ui.send("headroom.report", {"node": "1", "report": sample("5")})
    ui.settle()
    high = ui.evaluate(height)
    ui.send("headroom.report", {"node": "1", "report": sample("2")})
    ui.settle()
    assert high > low + 100
    assert ui.evaluate(height) == high


def test_neither_the_saved_workflow_nor_the_prompt_holds_the_report(ui: Frontend) -> None:
    ui.load(chain())
    ui.send("headroom.report", {"node": "2", "report": sample("3")})
    prompt = ui.evaluate("app.graphToPrompt()")
    assert prompt["output"]["2"]["inputs"] == {"samples": ["1", 0], "mode": "stop the run"}
    saved = next(node for node in prompt["workflow"]["nodes"] if node["id"] == 2)
    assert saved["widgets_values"] == ["stop the run"]
    assert "headroom_report" not in str(prompt["workflow"])


def test_the_wheel_scrolls_a_long_report_and_zooms_over_a_short_one(ui: Frontend) -> None:
    ui.load(guards(2))
    for node, of in (("1", "5"), ("2", "2")):
        ui.send("headroom.report", {"node": node, "report": sample(of)})
    ui.settle()
    ui.fit(1.0)
    moved = {}
    for node in ("1", "2"):
        centre = """(element) => {
          const box = element.getBoundingClientRect();
          return [box.x + box.width / 2, box.y + box.height / 2];
        }"""
        state = "(element) => [element.scrollTop, app.canvas.ds.scale]"
        ui.page.mouse.move(*element_of(ui, node, centre))
        before = element_of(ui, node, state)
        ui.page.mouse.wheel(0, 60)
        ui.settle()
        moved[node] = [old != new for old, new in zip(before, element_of(ui, node, state))]
    assert moved == {"1": [True, False], "2": [False, True]}


def test_the_page_loads_one_script_and_it_finds_the_rest(ui: Frontend, server: ComfyServer) -> None:
    """Every .js file in the folder would be loaded as an extension of its own."""
    ours = [path for path in server.get("/extensions") if "Headroom" in path]
    assert ours == ["/extensions/ComfyUI-Headroom/headroom.js"]
    assert ui.evaluate("app.extensions.filter((extension) => extension.name.startsWith('Headroom')).length") == 1
    assert ui.evaluate("getComputedStyle(document.querySelector('link[href$=\"headroom.css\"]')).display") is not None
