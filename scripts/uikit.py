"""ComfyUI's own frontend in a headless Chromium: for the UI tests and for the pictures."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import hostkit
import npmkit

NO_CHROMIUM = "no Chromium here: install Chromium or Chrome, or name one in HEADROOM_CHROMIUM"
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "msedge")
FLAGS = (
    *("--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
)
READY = """
  window.app?.vueAppReady && app.extensionManager && app.isGraphReady !== false && (app.rootGraph ?? app.graph)
"""
MODEL_FILES = (".safetensors", ".sft", ".gguf", ".ckpt", ".pt", ".pth")
MODES = {"canvas": False, "nodes2": True}
#: Every Headroom report in the open workflow: node id -> what it shows.
REPORTS = """() => {
  const found = {};
  const visit = (graph, path) => {
    for (const node of graph.nodes) {
      const element = node.widgets?.find((widget) => widget.name === "headroom_report")?.element;
      if (element) {
        found[path + node.id] = {
          title: element.querySelector(".title").lastChild.textContent,
          spoken: element.querySelector(".title .vh")?.textContent ?? "",
          level: element.querySelector(".hd").dataset.level,
          figure: element.querySelector(".hd .num")?.textContent ?? "",
          text: element.textContent,
          pending: element.hasAttribute("data-pending"),
        };
      }
      if (node.subgraph) visit(node.subgraph, `${path}${node.id}:`);
    }
  };
  visit(app.rootGraph, "");
  return found;
}"""


def find_chromium() -> str | None:
    """The browser to use; None where there is none."""
    named = os.environ.get("HEADROOM_CHROMIUM")
    if named:
        return named
    return next(filter(None, map(shutil.which, BROWSERS)), None)


class Frontend:
    """One open browser tab with ComfyUI in it."""

    def __init__(self, page: Any) -> None:
        self.page = page
        self.problems: list[str] = []
        """Errors on the page that name one of our files."""
        page.on("console", self._note_message)
        page.on("pageerror", lambda error: self._note(f"{error}\n{error.stack}"))

    def _note_message(self, message: Any) -> None:
        if message.type in {"error", "warning"}:
            self._note(f"{message.text} ({message.location.get('url', '')})")

    def _note(self, text: str) -> None:
        if "headroom" in text.lower():
            self.problems.append(text)

    def open(self, url: str) -> None:
        """Goes to a running ComfyUI and waits until its frontend is ready."""
        self.page.goto(url)
        self.page.wait_for_function(READY, timeout=60_000)
        # The start-up workflow is loaded last; a graph that is loaded before it would be replaced.
        self.page.wait_for_function("app.extensionManager.workflow.activeWorkflow?.changeTracker", timeout=60_000)
        self.settle()

    def settle(self) -> None:
        """Waits until the frames that follow a change of layout are drawn."""
        self.page.evaluate("new Promise((done) => setTimeout(() => requestAnimationFrame(() => done()), 250))")

    def evaluate(self, script: str, value: Any = None) -> Any:
        """Runs a script in the page."""
        return self.page.evaluate(script, value)

    def setting(self, name: str, value: Any) -> None:
        """Changes one of the frontend's settings."""
        self.evaluate("([name, value]) => app.extensionManager.setting.set(name, value)", [name, value])

    def look(self, mode: str, palette: str) -> None:
        """``canvas`` or ``nodes2``, and a colour palette by its id."""
        self.setting("Comfy.VueNodes.Enabled", MODES[mode])
        self.setting("Comfy.ColorPalette", palette)
        self.settle()

    def load(self, workflow: dict[str, Any]) -> None:
        """Opens a workflow in the UI format."""
        self.evaluate("(workflow) => app.loadGraphData(workflow)", workflow)
        self.settle()

    def send(self, event: str, data: Any) -> None:
        """An event as if the server had sent it."""
        script = "([event, detail]) => window.comfyAPI.api.api.dispatchEvent(new CustomEvent(event, { detail }))"
        self.evaluate(script, [event, data])

    def run(self, timeout_s: float = 60) -> str:
        """Queues the open workflow and waits for its end: the name of the last event."""
        ended = self.evaluate(
            """async (timeout) => {
              const api = window.comfyAPI.api.api;
              const ends = ["execution_success", "execution_error", "execution_interrupted"];
              const ended = new Promise((done) => {
                for (const end of ends) {
                  // A blocked node is an error event too, but the run goes on.
                  api.addEventListener(end, ({ detail }) => detail.exception_type === "ExecutionBlocked" || done(end));
                }
                setTimeout(() => done("timeout"), timeout);
              });
              await app.queuePrompt(0, 1);
              return Object.keys(app.extensionManager.lastNodeErrors ?? {}).length ? "refused" : ended;
            }""",
            timeout_s * 1000,
        )
        self.settle()
        return ended

    def reports(self) -> dict[str, dict[str, Any]]:
        """What every Headroom node shows, by its execution id."""
        return self.evaluate(REPORTS)

    def fit(self, zoom: float | None = None) -> None:
        """Brings the whole graph into view; with ``zoom``, at that scale."""
        self.evaluate(
            """async (zoom) => {
              await app.extensionManager.command.execute("Comfy.Canvas.FitView");
              if (zoom) app.canvas.ds.changeScale(zoom, undefined, false);
              app.canvas.setDirty(true, true);
            }""",
            zoom,
        )
        self.page.wait_for_timeout(500)


@contextmanager
def browser_page(executable: str, width: int = 1600, height: int = 1000, sharp: bool = False) -> Iterator[Any]:
    """A page in a headless browser; ``sharp``: with two pixels of the screen to each of the page."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=executable, headless=True, args=list(FLAGS))
        viewport: Any = {"width": width, "height": height}
        yield browser.new_page(viewport=viewport, device_scale_factor=2 if sharp else 1)
        browser.close()


def graph(nodes: list[dict[str, Any]], links: list[list[Any]] | None = None) -> dict[str, Any]:
    """A workflow in the UI format from nodes and links."""
    filled = [
        {"flags": {}, "order": order, "mode": 0, "inputs": [], "outputs": [], "properties": {}, **node}
        for order, node in enumerate(nodes)
    ]
    last = {"last_node_id": max(node["id"] for node in nodes), "last_link_id": len(links or [])}
    return {**last, "nodes": filled, "links": links or [], "groups": [], "config": {}, "extra": {}, "version": 0.4}


def needs_models(workflow: dict[str, Any]) -> bool:
    """Whether a workflow names a model file, so that it cannot run on every install."""
    values = [value for node in workflow["nodes"] for value in node.get("widgets_values") or []]
    return any(isinstance(value, str) and value.endswith(MODEL_FILES) for value in values)


#: The accessibility checker.
AXE = "axe-core@4.10.3"


def axe_script() -> Path | None:
    """The accessibility checker as one script; None where there is no npm.

    Raises:
        SetupError: npm could not fetch it.
    """
    folder = npmkit.package(AXE, "axe.min.js")
    return None if folder is None else folder / "axe.min.js"


#: A newer frontend than the host's own, which the host can serve; the UI is tried with both.
NEWER_FRONTEND = "1.58.1"


def newer_frontend(host: hostkit.Host) -> Path:
    """The folder for ``--front-end-root``; downloaded once, and not installed.

    Raises:
        SetupError: pip could not fetch it.
    """
    target = hostkit.home() / "downloads" / f"frontend-{NEWER_FRONTEND}"
    static = target / "comfyui_frontend_package" / "static"
    if not (static / "index.html").is_file():
        with tempfile.TemporaryDirectory(prefix="headroom-") as folder:
            package = f"comfyui-frontend-package=={NEWER_FRONTEND}"
            command = [host.python, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", folder, package]
            hostkit.run_step(f"fetching the frontend {NEWER_FRONTEND}", command)
            # Unpacked aside, so that an interrupted run leaves no half of it where the next one looks.
            made = target.with_name(f"{target.name}.{os.getpid()}")
            with zipfile.ZipFile(next(Path(folder).glob("*.whl"))) as wheel:
                wheel.extractall(made)
        shutil.rmtree(target, ignore_errors=True)
        made.rename(target)
    return static


SHOTS = Path(__file__).resolve().parent.parent / "tests" / "ui" / "shots"


def main(script: str, work: Callable[[hostkit.Host, str, list[str]], None]) -> int:
    """What a script with a browser does: finds or makes the host, goes on in the Python that has the driver, works.

    ``work(host, browser, arguments)``; the exit status is returned.
    """
    browser = find_chromium()
    if browser is None:
        return hostkit.fail(NO_CHROMIUM)
    try:
        host = hostkit.require_host()
        tools = hostkit.tools_python(host)
    except hostkit.SetupError as error:
        return hostkit.fail(error)
    if Path(sys.prefix).resolve() != tools.parent.parent.resolve():
        return subprocess.run([str(tools), script, *sys.argv[1:]], check=False).returncode
    work(host, browser, sys.argv[1:])
    return 0
