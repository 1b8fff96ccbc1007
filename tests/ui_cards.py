"""The panel's cards for the UI tests: a tab with the panel open, answers changed on their way, looks into it."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from typing import Any

import pytest
from npmkit import NO_NPM
from uikit import SHOTS, Frontend, axe_script, graph

ROUTE = "**/headroom/snapshot*"
HTML = "<img src=x onerror=injected=1>"

#: One card as it is shown: what is hidden for the eye (``.vh``) is in ``spoken``.
CARDS = """(section) => [...document.querySelectorAll(`.hr-panel [data-section=${section}] .hr-card`)].map((card) => {
  const text = (query) => card.querySelector(query)?.textContent ?? null;
  return {
    rule: card.dataset.rule ?? null,
    level: card.querySelector("h4 [data-level]").dataset.level,
    spoken: text("h4 .vh"),
    title: card.querySelector("h4 .t > span:last-child").textContent,
    open: card.querySelector("h4 button")?.getAttribute("aria-expanded") ?? null,
    visible: card.querySelector(":scope > div").checkVisibility(),
    body: card.querySelector(":scope > div").innerText,
    command: text(".hr-code:not([hidden]) code"),
    codes: [...card.querySelectorAll("code")].map((code) => code.textContent),
    links: [...card.querySelectorAll("a")].map(({ href, rel, textContent }) => ({ href, rel, text: textContent })),
  };
})"""
#: Parts of what is shown that are wider than their place.
TOO_WIDE = """() => [...document.querySelectorAll(".hr-panel .hr-card, .hr-panel .hr-card *")]
  .filter((one) => getComputedStyle(one).display !== "inline" && !one.closest("svg") && !one.classList.contains("vh"))
  .filter((one) => one.checkVisibility() && one.scrollWidth > one.clientWidth + 1)
  .map((one) => one.outerHTML.slice(0, 120))"""


#: Counts the toasts that tell of something new; they go by themselves, so that a look afterwards can be too late.
WATCH_TOASTS = """
  window.toasts = new Set();
  new MutationObserver(() => {
    for (const toast of document.querySelectorAll("[role=alert]")) {
      if (toast.textContent.includes("Open Headroom to see the fix")) window.toasts.add(toast);
    }
  }).observe(document, { childList: true, subtree: true });
"""


def open_panel(ui: Frontend) -> None:
    """Opens the panel and waits for the first answer in it."""
    if not ui.evaluate("() => Boolean(document.querySelector('.hr-panel'))"):
        ui.evaluate("() => { app.extensionManager.command.execute('Workspace.ToggleSidebarTab.headroom'); }")
    ui.page.wait_for_selector(".hr-panel .hr-foot:not(:empty)")
    ui.page.wait_for_function("!document.querySelector('.hr-panel [data-status=first]')")


def new_tab(ui: Frontend, url: str, width: int = 1200, height: int = 1000) -> Frontend:
    """A browser tab of its own, with nothing remembered, with the panel open."""
    browser = ui.page.context.browser
    opened = Frontend(browser.new_page(viewport={"width": width, "height": height}))
    opened.page.add_init_script(WATCH_TOASTS)
    opened.open(url)
    opened.look("canvas", "dark")
    open_panel(opened)
    return opened


def close_tab(ui: Frontend) -> None:
    """Closes a tab of ``new_tab``, also while an answer is on its way."""
    ui.page.unroute_all(behavior="ignoreErrors")
    ui.page.context.close()


def toasts(ui: Frontend) -> int:
    """How many told of something new since the page was loaded."""
    return ui.evaluate("() => window.toasts.size")


def reload(ui: Frontend) -> None:
    """The same tab again, with what the browser and the server remember."""
    url = ui.page.url.partition("#")[0]
    # A page that has put a name behind "#" would only scroll to it.
    ui.page.goto("about:blank")
    ui.open(url)
    open_panel(ui)


def cards(ui: Frontend, section: str = "warnings") -> list[dict[str, Any]]:
    """The cards of a section, in order."""
    return ui.evaluate(CARDS, section)


def change_answers(ui: Frontend, change: Callable[[dict[str, Any]], None]) -> None:
    """From now on every answer is changed before the page has it; returns once one has come."""
    ui.page.unroute(ROUTE)

    def changed(route: Any) -> None:
        answer = route.fetch()
        found = answer.json()
        change(found)
        route.fulfill(response=answer, json=found)

    ui.page.route(ROUTE, changed)
    polls(ui, 1)


def keep_picture(ui: Frontend, name: str) -> None:
    """Keeps a picture of the whole panel as a test artefact; the window is made as high as the panel for it."""
    SHOTS.mkdir(exist_ok=True)
    size = ui.page.viewport_size
    height = ui.evaluate("() => document.querySelector('.hr-panel').scrollHeight")
    ui.page.set_viewport_size({**size, "height": height + 120})
    ui.settle()
    ui.page.locator(".hr-panel").screenshot(path=SHOTS / f"{re.sub(r'[^A-Za-z0-9]+', '-', name).strip('-')}.png")
    ui.page.set_viewport_size(size)


def polls(ui: Frontend, count: int) -> None:
    """Waits until so many answers have come and are drawn."""
    for _ in range(count):
        with ui.page.expect_response(ROUTE):
            pass
    ui.settle()


def accessibility_faults(ui: Frontend, section: str) -> list[Any]:
    """What axe-core finds in a section of the panel."""
    script = axe_script()
    if script is None:
        if os.environ.get("CI"):
            pytest.fail(NO_NPM)
        pytest.skip(NO_NPM)
    ui.page.add_script_tag(path=script)
    return ui.evaluate(
        """async (section) => {
          const found = await axe.run(`.hr-panel [data-section=${section}]`, { resultTypes: ["violations"] });
          return found.violations.map(({ id, nodes }) => [id, nodes.map((node) => [node.html, node.failureSummary])]);
        }""",
        section,
    )


def advice(rule: str, severity: str = "warning", **fields: Any) -> dict[str, Any]:
    """An advice as the server sends it."""
    texts = {"title": f"Title of {rule}", "why": f"Why of {rule}.", "fix": "Do it.", "check": "It is done."}
    rest = {"rank": 100, "command": "", "source": "source", "link": "", "params": {"added": [], "removed": []}}
    return {"id": rule, "severity": severity, **texts, **rest, **fields}


def decode_that_fails(number: int = 0) -> dict[str, Any]:
    """ComfyUI's own VAE Decode on a VAE that is out of memory at any size; ``number`` makes it another workflow."""
    samples, vae = {"name": "samples", "type": "LATENT"}, {"name": "vae", "type": "VAE"}
    nodes = [
        {"type": "LoadLatent", "widgets_values": ["image_48.latent"]},
        {"type": "VAELoader", "widgets_values": ["tiny_kl.safetensors"]},
        {
            "type": "TestFaultyVAE",
            "inputs": [{**vae, "link": 2}],
            "widgets_values": [1, "", -1, number / 1000, False, True],
        },
        {"type": "VAEDecode", "inputs": [{**samples, "link": 1}, {**vae, "link": 3}]},
        {"type": "PreviewImage", "inputs": [{"name": "images", "type": "IMAGE", "link": 4}]},
    ]
    kinds = ["LATENT", "VAE", "VAE", "IMAGE"]
    for place, node in enumerate(nodes, 1):
        node |= {"id": place, "pos": [330 * place, 0], "size": [300, 120]}
    for node, kind, link in zip(nodes, kinds, (1, 2, 3, 4)):
        node["outputs"] = [{"name": kind, "type": kind, "links": [link]}]
    links = [[1, 1, 0, 4, 0, "LATENT"], [2, 2, 0, 3, 0, "VAE"], [3, 3, 0, 4, 1, "VAE"], [4, 4, 0, 5, 0, "IMAGE"]]
    return graph(nodes, links)
