"""The README's pictures of the panel: a real ComfyUI in which sample numbers of other machines are answered."""

from __future__ import annotations

import copy
import dataclasses
import io
import json
import re
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import hostkit
import uikit

# The pack's folder last: its ``nodes`` must not hide ComfyUI's module of that name.
sys.path += [str(hostkit.REPO / "tests"), str(hostkit.REPO)]

MEDIA = hostkit.REPO / "media"
ROUTE = re.compile(r"/headroom/snapshot")
TOGGLE = "Workspace.ToggleSidebarTab.headroom"
WORKFLOW = hostkit.REPO / "workflows" / "Guarded_Wan_2.2_14B_Text_to_Video.json"
#: The page's clock goes this much further with each answer: five minutes of readings in little more than one.
STEP_SECONDS = 3.0
CLOCK = "window.pictureShift = 0; const now = Date.now; Date.now = () => now() + window.pictureShift;"
#: The node of a title beside the panel, large enough to be read.
LOOK_AT = """(title) => {
  const [x, y] = app.rootGraph.nodes.find((node) => node.title === title).pos;
  app.canvas.ds.scale = 0.8;
  app.canvas.ds.offset = [420 / 0.8 - x, 180 / 0.8 - y];
  app.canvas.setDirty(true, true);
}"""
ON_THE_WAY = 12
#: Where the run is, by the number of the reading: which node runs, and how much of the card is in GiB
#: weights in use, working memory, evictable weights, torch's cache.
PHASES: tuple[tuple[int, str, tuple[float, float, float, float]], ...] = (
    (0, "", (0.0, 0.0, 0.0, 0.1)),
    (6, "High noise", (8.4, 3.1, 0.0, 0.6)),
    (27, "Low noise", (7.9, 3.1, 1.2, 0.6)),
    (48, "VAE Decode (Safe)", (0.3, 8.1, 4.6, 0.9)),
    (60, "", (0.0, 0.2, 8.6, 5.5)),
)
#: How long the decode takes, and the most that it holds.
DECODE_SECONDS, DECODE_GIB = 38.1, 8.4
LAST_READING = 74
OTHERS_GIB = 0.5
COLOURS = 256


def phase(number: int) -> tuple[str, tuple[float, float, float, float]]:
    """What runs at a reading, and the card's parts."""
    found = next(one for one in reversed(PHASES) if one[0] <= number)
    node, (weights, working, evictable, cache) = found[1], found[2]
    # Work swells and falls a little from step to step.
    sway = 0.25 * ((number * 7) % 5) if working > 1 else 0.0
    return node, (weights, working + sway, evictable, cache)


def reading(real: dict[str, Any], number: int) -> dict[str, Any]:
    """The answer of a machine with two GPUs in the middle of, or after, a run."""
    from flag_cases import CASES
    from panel_samples import card, gib, loaded, machine, rtx3060

    from headroom.core.flags import advise

    node, (weights, working, evictable, cache) = phase(number)
    used = OTHERS_GIB + weights + working + evictable + cache
    sizes = {"total": 16, "used": used, "free": 16 - used, "own": used - 0.3, "others": 0.3}
    sizes |= {"torch_allocated": working, "torch_reserved": working + cache, "evictable": evictable}
    busy = {"utilisation_percent": 98 if node else 0, "temperature_celsius": 71 if node else 52}
    first = card(sizes=sizes, driver="580.82", programs=[], **busy)
    models = [
        loaded("wan2.2_t2v_low_noise_14B_fp8_scaled.safetensors", "diffusion", 13.3, weights + evictable),
        loaded("umt5_xxl_fp8_e4m3fn_scaled.safetensors", "text encoder", 6.3, 6.3, "cuda:1"),
    ]
    advice = [one.as_json() for one in advise(CASES["lowvram-noop"].brings)]
    found = machine(real, first, rtx3060(), models=models, advice=advice)
    found["ram"]["own_bytes"] = gib(18 + min(number, 46) / 5)
    found["host"] |= {"running": bool(node), "flags": ["--lowvram"], "argv": ["--lowvram"]}
    return found


class Answers:
    """Answers in the server's place, each from ``make`` by its number."""

    def __init__(self, frontend: uikit.Frontend, make: Callable[[int], dict[str, Any]]) -> None:
        self.frontend, self.make, self.count = frontend, make, 0
        frontend.page.unroute(ROUTE)
        frontend.page.route(ROUTE, self._answer)

    def _answer(self, route: Any) -> None:
        route.fulfill(status=200, content_type="application/json", body=json.dumps(self.make(self.count)))
        self.count += 1

    def wait(self, count: int) -> None:
        """Until so many answers were given and the last is drawn."""
        while self.count < count:
            self.frontend.page.wait_for_timeout(50)
        self.frontend.settle()


def opened(browser: Any, url: str, width: int, height: int, palette: str) -> uikit.Frontend:
    """A window of its own with the panel open and nothing remembered."""
    context = browser.new_context(viewport={"width": width, "height": height}, device_scale_factor=2)
    frontend = uikit.Frontend(context.new_page())
    frontend.page.add_init_script(CLOCK)
    frontend.open(url)
    frontend.look("canvas", palette)
    frontend.setting("Comfy.Minimap.Visible", False)
    frontend.setting("Headroom.IgnoredRules", [])
    return frontend


def show_workflow(frontend: uikit.Frontend) -> list[tuple[str, str]]:
    """Opens the workflow without the host's complaints about missing models; title and id of its nodes."""
    frontend.load(json.loads(WORKFLOW.read_text("utf-8")))
    frontend.page.keyboard.press("Escape")
    frontend.evaluate("for (const node of app.rootGraph.nodes) node.has_errors = false")
    frontend.evaluate("app.extensionManager.toast.removeAll()")
    return frontend.evaluate("app.rootGraph.nodes.map((node) => [node.title, String(node.id)])")


def follow_run(frontend: uikit.Frontend, real: dict[str, Any], nodes: list[tuple[str, str]]) -> None:
    """Answers a run from its start to after its end, with the host's events of it."""
    ran: list[str] = []
    ids = dict(nodes)

    def make(number: int) -> dict[str, Any]:
        return reading(real, min(number, LAST_READING))

    answers = Answers(frontend, make)
    for number in range(LAST_READING + 1):
        node, _ = phase(number)
        if node and not ran:
            frontend.send("execution_start", {"prompt_id": "picture"})
        if node and ran[-1:] != [node]:
            frontend.send("executing", ids[node])
            ran.append(node)
        if ran and not node and ran[-1]:
            frontend.send("executing", None)
            frontend.send("execution_success", {"prompt_id": "picture"})
            send_reports(frontend, nodes)
            ran.append("")
        answers.wait(number + 1)
        frontend.evaluate(f"window.pictureShift += {STEP_SECONDS * 1000}")


def send_reports(frontend: uikit.Frontend, nodes: list[tuple[str, str]]) -> None:
    """What the guards and the decode say once they have run well."""
    reports = {"Latent Guard": clean_latent(), "VAE Decode (Safe)": decoded()}
    for title, node in nodes:
        if title in reports:
            frontend.send("headroom.report", {"node": node, "report": reports[title].as_json()})


def clean_latent() -> Any:
    """Latent Guard's report on a sound latent."""
    from headroom.core.report import Report, Text

    where = "1 item, 16 ch, 21 frames, 60×104, fp16, cuda:0, from KSamplerAdvanced #15"
    return Report("ok", "Clean", "0.8 ms", (Text(where, muted=True),), made_at=time.time())


def decoded() -> Any:
    """The decode's report, in its own words."""
    import torch

    from headroom.tensors.decode.job import WORDS
    from headroom.tensors.ladder.options import Attempt, Climbed
    from headroom.tensors.ladder.report import finished_report

    peak = int(DECODE_GIB * 2**30)
    once = Attempt("bf16, full frame", "bf16", "cuda:0", (0,), "finished", "", DECODE_SECONDS, peak)
    return finished_report(Climbed(torch.empty(0), [once]), WORDS)


def panel_picture(browser: Any, url: str, real: dict[str, Any]) -> None:
    """``panel.png``: beside a workflow, after a run; the warning closed."""
    frontend = opened(browser, url, 1120, 1210, "dark")
    nodes = show_workflow(frontend)
    frontend.page.route(ROUTE, lambda route: route.abort())
    frontend.evaluate(f"() => {{ app.extensionManager.command.execute('{TOGGLE}'); }}")
    frontend.page.wait_for_selector(".hr-panel")
    frontend.evaluate(LOOK_AT, "Low noise")
    follow_run(frontend, real, nodes)
    for button in frontend.page.query_selector_all(".hr-card h4 button[aria-expanded=true]"):
        button.click()
    frontend.page.mouse.move(700, 700)
    frontend.evaluate("document.activeElement.blur()")
    frontend.evaluate("app.extensionManager.toast.removeAll()")
    frontend.settle()
    save(frontend.page.screenshot(), "panel.png")
    frontend.page.context.close()


def failure_picture(browser: Any, url: str, real: dict[str, Any]) -> None:
    """``panel-failure.png``: what just failed on a 12 GB card."""
    from panel_failure import AT, ON_A_CARD
    from panel_samples import gib, machine
    from ui_cards import decode_that_fails

    failure = json.loads(json.dumps(dataclasses.asdict(dataclasses.replace(ON_A_CARD, at=AT)), default=list))
    # ComfyUI has unloaded everything since.
    freed = {"used_bytes": gib(2.8), "free_bytes": gib(9.2), "own_bytes": gib(0.5), "evictable_bytes": 0}
    freed |= {"torch_allocated_bytes": 0, "torch_reserved_bytes": 0, "reasons": {}}
    found = machine(real, copy.deepcopy(failure["devices"][0]) | freed, models=[], failure=failure)
    frontend = opened(browser, url, 1200, 1000, "dark")
    frontend.load(decode_that_fails())
    Answers(frontend, lambda _: found)
    frontend.evaluate(f"() => {{ app.extensionManager.command.execute('{TOGGLE}'); }}")
    frontend.page.wait_for_selector(".hr-panel [data-section=failure] .hr-card")
    frontend.settle()
    save(part_of(frontend, "failure"), "panel-failure.png")
    frontend.page.context.close()


def light_picture(browser: Any, url: str, real: dict[str, Any]) -> None:
    """``panel-light.png``: light theme, as narrow as the sidebar goes."""
    frontend = opened(browser, url, 1200, 1300, "light")
    running = {"running_node": {"id": "13", "type": "KSamplerAdvanced"}}
    answers = Answers(frontend, lambda _: {**reading(real, ON_THE_WAY), **running})
    frontend.evaluate(f"() => {{ app.extensionManager.command.execute('{TOGGLE}'); }}")
    frontend.page.wait_for_selector(".hr-panel .hr-card")
    # What runs for another browser is believed at the second answer.
    answers.wait(answers.count + 2)
    save(part_of(frontend, "warnings"), "panel-light.png")
    frontend.look("canvas", "dark")
    frontend.page.context.close()


def part_of(frontend: uikit.Frontend, last: str) -> bytes:
    """The panel from its head to the end of a section."""
    frontend.evaluate("document.activeElement.blur()")
    box = frontend.evaluate(
        """(last) => {
          const panel = document.querySelector(".hr-panel").getBoundingClientRect();
          const end = document.querySelector(`.hr-panel [data-section=${last}]`).getBoundingClientRect();
          return { x: panel.x, y: panel.y, width: panel.width, height: end.bottom - panel.y };
        }""",
        last,
    )
    return frontend.page.screenshot(clip=box)


def save(png: bytes, name: str) -> None:
    """Keeps a picture with few colours: a third of the size, and nothing that the eye misses."""
    from PIL import Image

    target = MEDIA / name
    picture = Image.open(io.BytesIO(png)).convert("RGB")
    picture.quantize(COLOURS, dither=Image.Dither.NONE).save(target, optimize=True)
    hostkit.say(f"wrote {target} ({target.stat().st_size // 1024} KiB)")


def make(browser: Any, server: Any) -> None:
    """All three."""
    sys.path.insert(0, str(Path(hostkit.REPO) / "tests" / "core" / "flags"))
    real = server.get("/headroom/snapshot?advice=1")
    panel_picture(browser, server.url, real)
    failure_picture(browser, server.url, real)
    light_picture(browser, server.url, real)
