"""The panel and the meter in the page: opening them, answering for the server, reading what they show."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

from uikit import Frontend

TOGGLE = "Workspace.ToggleSidebarTab.headroom"
#: What a block (a GPU, the RAM) shows: its head, and every figure by its word.
BLOCKS = """() => {
  const text = (part, pick) => part.querySelector(pick)?.textContent ?? "";
  const pairs = (part, pick) => Object.fromEntries(
    [...part.querySelectorAll(pick)].map((row) => [text(row, "dt"), text(row, "dd")]),
  );
  return Object.fromEntries([...document.querySelectorAll(".hr-panel .hr-dev:not(.hr-ghost)")].map((block) => [
    text(block, "header b"),
    {
      sub: text(block, "header .mut"),
      total: text(block, "header .num"),
      open: !block.hasAttribute("data-closed"),
      level: block.dataset.level,
      figures: { ...pairs(block, ".hr-split dl > div"), ...pairs(block, ".hr-facts > div") },
      held: pairs(block, ".hr-split dl:first-child > div"),
      available: pairs(block, ".hr-split dl:last-child > div"),
      bar: [...block.querySelectorAll(".hr-bar i:not([hidden])")].map((part) => part.className),
      notes: [...block.querySelectorAll(".hr-note")].map((note) => note.textContent),
      old: block.classList.contains("hr-old"),
    },
  ]));
}"""
METER = """() => [...document.querySelectorAll(".hr-meter .it")].map((item) => ({
  name: item.querySelector(".nm").textContent,
  left: item.querySelector(".lf").textContent,
  used: item.querySelector(".us").textContent,
  level: item.dataset.level,
}))"""


def plain(found: Any) -> Any:
    """With ordinary spaces in place of those that keep a number and its unit on one line."""
    if isinstance(found, str):
        return found.replace("\u00a0", " ")
    if isinstance(found, dict):
        return {plain(key): plain(value) for key, value in found.items()}
    return [plain(one) for one in found] if isinstance(found, list) else found


class PanelPage:
    """The panel in an open frontend."""

    def __init__(self, ui: Frontend) -> None:
        self.ui, self.page = ui, ui.page
        self.answer: dict[str, Any] | None = None
        """What is answered in the server's place; None: the server answers."""
        self.status = 200
        self.asked: list[str] = []
        """Requests to our routes since it was cleared."""
        self._watch = lambda request: self.asked.append(request.url) if "/headroom/" in request.url else None
        self.page.on("request", self._watch)
        self.page.route(re.compile(r"/headroom/snapshot"), self._respond)

    def _respond(self, route: Any) -> None:
        if self.status != 200:
            route.fulfill(status=self.status, body="{}")
        elif self.answer is None:
            route.continue_()
        else:
            route.fulfill(status=200, content_type="application/json", body=json.dumps(self.answer))

    def leave(self) -> None:
        """Closes the panel and lets the server answer again."""
        self.close()
        self.page.remove_listener("request", self._watch)
        self.page.unroute(re.compile(r"/headroom/snapshot"))

    @property
    def is_open(self) -> bool:
        return self.ui.evaluate("document.querySelector('.hr-panel')?.isConnected === true")

    def open(self) -> None:
        if not self.is_open:
            self.ui.evaluate("(id) => app.extensionManager.command.execute(id)", TOGGLE)
        self.page.wait_for_selector(".hr-panel")

    def close(self) -> None:
        if self.is_open:
            self.ui.evaluate("(id) => app.extensionManager.command.execute(id)", TOGGLE)
            self.page.wait_for_selector(".hr-panel", state="detached")

    def show(self, answer: dict[str, Any] | None) -> None:
        """Opens it with this answer and waits until it is drawn."""
        self.answer = answer
        self.open()
        self.refresh()

    def refresh(self) -> None:
        """Waits for the next answer and its drawing."""
        with self.page.expect_response(re.compile(r"/headroom/snapshot"), timeout=30_000):
            pass
        self.ui.settle()

    def until(self, condition: Callable[[], bool], seconds: float = 20) -> None:
        """Waits until something is so; the assertion that it is stays with the caller."""
        for _ in range(int(seconds * 10)):
            if condition():
                return
            self.page.wait_for_timeout(100)

    def status_line(self) -> dict[str, str]:
        """The line that says whether all is well."""
        return plain(
            self.ui.evaluate(
                """() => {
                  const line = document.querySelector(".hr-status");
                  return {
                    id: line.dataset.status,
                    level: line.dataset.level,
                    title: line.querySelector("b").textContent,
                    detail: line.querySelector("p > span").textContent,
                  };
                }"""
            )
        )

    def blocks(self) -> dict[str, dict[str, Any]]:
        """GPUs and RAM by their names."""
        return plain(self.ui.evaluate(BLOCKS))

    def meter(self) -> list[dict[str, Any]]:
        return plain(self.ui.evaluate(METER))

    def section(self, name: str) -> str:
        """All text of a section."""
        return plain(self.page.inner_text(f"[data-section={name}]"))

    def width(self, pixels: int | None) -> None:
        """Makes the panel this wide, as in another frontend or with a classic scrollbar; None: as the host has it."""
        size = "" if pixels is None else f"{pixels}px"
        self.ui.evaluate("(size) => { document.querySelector('.hr-panel').style.inlineSize = size; }", size)
        self.ui.settle()
