"""The panel beside a real ComfyUI: its numbers are the server's, and its buttons do what they say."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable
from typing import Any

from comfy_server import ComfyServer
from panel_page import PanelPage, plain
from panel_samples import GIB, card, gib, machine, rtx3060, rtx4080
from ui_samples import decode_short_of_memory
from uikit import Frontend

SLOW = {"oom_above": 0, "nan_items": "", "nan_call": -1, "no_weights": False, "known_file": True}


def shown(size: int) -> str:
    return f"{size / GIB:.1f}"


def decode(seconds: float) -> dict[str, Any]:
    """A prompt of another client that loads a model and takes this long."""
    size = {"width": 64 + 8 * (time.monotonic_ns() % 8), "height": 64, "batch_size": 1}
    return {
        "latent": {"class_type": "EmptyLatentImage", "inputs": size},
        "vae": {"class_type": "VAELoader", "inputs": {"vae_name": "tiny_kl.safetensors"}},
        "slow": {"class_type": "TestFaultyVAE", "inputs": {"vae": ["vae", 0], **SLOW, "seconds": seconds}},
        "decode": {"class_type": "VAEDecode", "inputs": {"samples": ["latent", 0], "vae": ["slow", 0]}},
        "image": {"class_type": "SaveImage", "inputs": {"images": ["decode", 0], "filename_prefix": "x"}},
    }


def run_aside(server: ComfyServer, prompt: dict[str, Any]) -> None:
    """Runs a prompt of another client; on a thread, since the browser's driver has this one's event loop."""
    thread = threading.Thread(target=server.run, args=(prompt,))
    thread.start()
    thread.join()


# ---- opening, and the numbers ----


def test_it_opens_from_the_sidebar_and_shows_the_servers_numbers(
    panel: PanelPage, server: ComfyServer, shoot: Callable[..., None]
):
    # What failed last is told until the next run begins.
    run_aside(server, decode(0.0))
    panel.page.click(".headroom-tab-button")
    panel.page.wait_for_selector(".hr-panel")
    with panel.page.expect_response(re.compile("/headroom/snapshot")) as answered:
        pass
    answer = answered.value.json()
    panel.ui.settle()
    shoot()
    ram = answer["ram"]
    block = panel.blocks()["RAM"]
    assert block["total"] == f"{shown(ram['total_bytes'])} GiB"
    assert block["figures"]["Available"] == shown(min(ram["available_bytes"], ram["total_bytes"]))
    assert block["figures"]["Machine"] == shown(ram["machine_bytes"])
    assert panel.status_line()["title"] in {"Fine", f"{shown(ram['available_bytes'])} GiB RAM left"}
    assert f"ComfyUI {answer['host']['version']}" in panel.page.inner_text(".hr-foot")
    assert "No GPU in use: ComfyUI was started with --cpu." in panel.section("now")


def test_the_numbers_move_with_the_server_and_nothing_else_does(panel: PanelPage, real: dict[str, Any]):
    full, busy = machine(real, rtx4080()), machine(real, rtx4080())
    busy["devices"][0] |= {"free_bytes": gib(0.9), "used_bytes": gib(15.1), "utilisation_percent": 100}
    busy["devices"][0] |= {"torch_allocated_bytes": gib(5.1), "evictable_bytes": gib(3.8), "temperature_celsius": 71}
    panel.show(full)
    boxes = """() => [...document.querySelectorAll(".hr-panel .hr-dev, .hr-panel .hr-sec, .hr-meter .it")].map(
      (part) => { const box = part.getBoundingClientRect(); return [box.x, box.y, box.width, box.height]; })"""
    before, figures = panel.ui.evaluate(boxes), panel.blocks()["RTX 4080"]["figures"]
    panel.show(busy)
    after = panel.blocks()["RTX 4080"]["figures"]
    assert (figures["Busy"], after["Busy"], after["Temp"]) == ("0 %", "100 %", "71 °C")
    assert panel.ui.evaluate(boxes) == before


def test_two_gpus_add_up_and_the_second_is_compact(panel: PanelPage, real: dict[str, Any], shoot: Callable[..., None]):
    panel.show(machine(real, rtx4080(), rtx3060()))
    shoot()
    blocks = panel.blocks()
    first, second = blocks["RTX 4080"], blocks["RTX 3060"]
    assert (first["sub"], first["total"], first["open"]) == ("GPU 0", "16.0 GiB", True)
    assert first["held"] == {"Held": "0.9", "Weights": "0.2", "Working": "0.2", "Other": "0.5"}
    assert first["available"] == {"Available": "15.1", "Evictable": "8.4", "Torch cache": "5.5", "Free": "1.2"}
    assert (second["sub"], second["open"], second["figures"]["Available"]) == ("GPU 1", False, "11.5")
    for block in (first, second, blocks["RAM"]):
        for table in (block["held"], block["available"]):
            whole, *parts = [round(float(text) * 10) for text in table.values()]
            assert sum(parts) == whole
    assert [part.removeprefix("is-") for part in first["bar"]] == [
        *("weights", "working", "other", "evictable", "cache", "free")
    ]
    assert panel.status_line()["detail"] == "15.1 GiB VRAM, 27.5 GiB RAM left"


def test_what_is_unknown_says_so_and_why(panel: PanelPage, real: dict[str, Any], shoot: Callable[..., None]):
    sizes = {"total": 9.5, "free": 2.5, "used": 7, "own": 6, "torch_allocated": 6.1, "torch_reserved": 7}
    why = "this card does not tell"
    reasons = {"utilisation_percent": why, "temperature_celsius": why, "evictable_bytes": "this ComfyUI does not tell"}
    panel.show(machine(real, card(0, "NVIDIA A100 MIG 2g.10gb", sizes=sizes, reasons=reasons), models=[]))
    shoot()
    block = panel.blocks()["A100 MIG 2g.10gb"]
    assert block["available"] == {"Available": "≥ 3.4", "Evictable": "n/a", "Torch cache": "0.9", "Free": "2.5"}
    assert (block["figures"]["Busy"], block["figures"]["Temp"]) == ("n/a", "n/a")
    assert block["notes"] == ["Evictable: this ComfyUI does not tell", f"Busy, Temp: {why}"]
    assert panel.status_line()["detail"].startswith("at least 3.4 GiB VRAM")


def test_little_left_is_told_by_word_and_sign(panel: PanelPage, real: dict[str, Any], shoot: Callable[..., None]):
    sizes = {"total": 16, "free": 0.3, "used": 15.7, "own": 12.9, "torch_allocated": 12.4, "torch_reserved": 12.4}
    panel.show(machine(real, card(sizes={**sizes, "evictable": 0}), models=[]))
    shoot()
    status = panel.status_line()
    assert (status["id"], status["level"], status["title"]) == ("critical", "error", "0.3 GiB VRAM left")
    item = panel.meter()[0]
    assert (item["level"], item["left"]) == ("error", "0.3 left")
    assert (
        panel.ui.evaluate("getComputedStyle(document.querySelector('.hr-meter .sg svg:last-child')).display") == "block"
    )
    assert "critical" in panel.page.get_attribute(".hr-meter button", "aria-label")


def test_one_pool_of_memory_is_counted_once(panel: PanelPage, real: dict[str, Any], shoot: Callable[..., None]):
    sizes = {"total": 36, "free": 14.2, "used": 21.8, "own": 14.4, "torch_allocated": 14.4, "torch_reserved": 15.5}
    apple = card(0, "Apple GPU", kind="mps", unified=True, sizes={**sizes, "evictable": 0})
    panel.show(machine(real, apple, models=[]))
    shoot()
    assert list(panel.blocks()) == ["Apple GPU"]
    assert panel.status_line()["detail"] == "15.3 GiB VRAM left"
    assert [item["name"] for item in panel.meter()] == ["VRAM"]


def test_the_first_reading_has_its_place_and_no_numbers(
    panel: PanelPage, server: ComfyServer, opened: Callable[[], Frontend]
):
    late = opened()
    late.page.route(re.compile("/headroom/snapshot"), lambda route: None)
    late.open(server.url)
    other = PanelPage(late)
    other.open()
    assert other.status_line() == {"id": "first", "level": "off", "title": "Reading the machine", "detail": ""}
    assert other.blocks() == {}
    assert late.problems == []


def test_a_peak_is_kept_until_it_is_reset(panel: PanelPage, real: dict[str, Any]):
    panel.show(machine(real, rtx4080()))
    lower = machine(real, rtx4080())
    lower["devices"][0] |= {"free_bytes": gib(6), "used_bytes": gib(10), "torch_reserved_bytes": gib(0.9)}
    panel.show(lower)
    peak = "document.querySelector('.hr-facts > div:nth-child(2) dd').textContent"
    assert panel.ui.evaluate(peak) == "14.8"
    panel.page.click(".hr-facts .ib")
    assert panel.ui.evaluate(peak) == "10.0"


# ---- runs ----


def test_a_running_prompt_disables_the_buttons_and_says_why(
    panel: PanelPage, server: ComfyServer, shoot: Callable[..., None]
):
    panel.show(None)
    running = threading.Thread(target=server.run, args=(decode(6.0),))
    running.start()
    off = "document.querySelector('.hr-acts button').getAttribute('aria-disabled')"
    try:
        panel.until(lambda: "Not while a prompt runs." in panel.section("models"))
        shoot()
        assert "Not while a prompt runs." in panel.section("models")
        assert panel.ui.evaluate(off) == "true"
        described = panel.page.get_attribute(".hr-acts button", "aria-describedby")
        assert panel.page.inner_text(f"#{described}") == "Not while a prompt runs."
        assert panel.status_line()["title"] == "A prompt is running"
        panel.asked.clear()
        panel.page.click(".hr-acts button", force=True)
        panel.ui.settle()
        assert [url for url in panel.asked if "unload" in url] == []
    finally:
        running.join()
    panel.until(lambda: panel.ui.evaluate(off) is None)
    assert panel.ui.evaluate(off) is None


def test_unload_all_really_unloads_and_says_what_was_freed(panel: PanelPage, server: ComfyServer):
    run_aside(server, decode(0.0))
    panel.show(None)
    panel.until(lambda: "tiny_kl.safetensors" in panel.section("models"))
    panel.page.click("text=Unload all")
    panel.until(lambda: "Freed" in panel.section("models"))
    assert re.search(r"Freed [\d.<]+ GiB RAM; models unloaded: \d", panel.section("models"))
    panel.until(lambda: "No model loaded." in panel.section("models"))
    assert server.get("/headroom/snapshot")["models"] == []


def test_one_model_is_unloaded_alone(panel: PanelPage, server: ComfyServer):
    both, other = decode(0.0), decode(0.0)
    other["vae"]["inputs"]["vae_name"] = "tiny_taesd.safetensors"
    for name, node in other.items():
        links = {
            key: [f"2 {value[0]}", 0] if isinstance(value, list) else value for key, value in node["inputs"].items()
        }
        both[f"2 {name}"] = {**node, "inputs": links}
    run_aside(server, both)
    panel.show(None)
    panel.until(lambda: "tiny_taesd.safetensors" in panel.section("models"))
    panel.page.click("[aria-label='Unload tiny_kl.safetensors']")
    panel.until(lambda: "tiny_kl.safetensors" not in panel.section("models"))
    names = [model["name"] for model in server.get("/headroom/snapshot")["models"]]
    assert "tiny_kl.safetensors" not in names
    assert "tiny_taesd.safetensors" in names


def test_the_timeline_names_the_nodes_of_a_run(panel: PanelPage, shoot: Callable[..., None]):
    panel.show(None)
    panel.ui.load(decode_short_of_memory(seconds=0.1))
    assert panel.ui.run() == "execution_success"
    panel.refresh()
    shoot()
    nodes = panel.ui.evaluate("[...document.querySelectorAll('.hr-lane .nd')].map((node) => node.textContent)")
    assert any("VAE Decode" in name for name in nodes)
    readout = panel.page.inner_text(".hr-read")
    assert re.search(r"Peak [\d.]+\sGiB RAM of ComfyUI", readout)
    panel.page.click("text=This run")
    assert panel.page.get_attribute("text=This run", "aria-pressed") == "true"
    plot = panel.page.locator(".hr-plot").bounding_box()
    block = panel.page.locator(".hr-lane .nd", has_text="VAE Decode").last.bounding_box()
    assert plot is not None
    assert block is not None
    panel.page.mouse.move(block["x"] + block["width"] / 2, plot["y"] + 20)
    panel.ui.settle()
    shoot("readout")
    pointed = panel.page.inner_text(".hr-read")
    assert re.match(r"\d\d:\d\d:\d\d VAE Decode", pointed)
    panel.page.mouse.move(900, 600)
    panel.page.click("text=5 min")


# ---- the head ----


def test_copy_report_is_whole_and_redacted(panel: PanelPage, server: ComfyServer):
    panel.show(None)
    panel.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    panel.page.click("[aria-label='Copy report']")
    panel.page.wait_for_selector("[aria-label='Copied']")
    report = panel.ui.evaluate("navigator.clipboard.readText()")
    assert report.startswith("### Headroom report")
    assert f"ComfyUI {server.get('/headroom/snapshot')['host']['version']}" in report
    assert str(server.base.parent) not in report
    panel.page.wait_for_selector("[aria-label='Copy report']", timeout=5000)


def test_help_explains_the_words_and_settings_open(panel: PanelPage, shoot: Callable[..., None]):
    panel.show(None)
    panel.page.click("[aria-label='What the words mean']")
    shoot("help")
    assert "what the next allocation can get" in panel.page.inner_text(".hr-help")
    panel.page.click("[aria-label='What the words mean']")
    assert not panel.page.is_visible(".hr-help")
    panel.page.click("[aria-label='Headroom settings']")
    panel.page.get_by_text("Headroom", exact=True).last.click()
    panel.page.wait_for_selector("text=Meter in the top bar")
    panel.ui.settle()
    shoot("settings")
    panel.page.keyboard.press("Escape")
    panel.ui.settle()


# ---- the keyboard ----


def test_everything_is_reached_and_used_by_keyboard(
    server: ComfyServer, real: dict[str, Any], opened: Callable[[], Frontend]
):
    panel = PanelPage(opened())
    panel.ui.open(server.url)
    panel.show(machine(real, rtx4080(), rtx3060()))
    panel.page.focus("[aria-label='Copy report']")
    focused = """() => {
      const part = document.activeElement;
      const inside = part.closest(".hr-panel") !== null;
      return [inside, part.getAttribute("aria-label") ?? part.querySelector(".t, b")?.textContent ?? part.textContent];
    }"""
    walk = []
    for _ in range(40):
        inside, name = plain(panel.ui.evaluate(focused))
        if not inside:
            break
        walk.append(name)
        panel.page.keyboard.press("Tab")
    assert walk == [
        *("Copy report", "Headroom settings", "What the words mean"),
        *("Now", "RTX 4080", "Reset the peak of GPU 0, NVIDIA GeForce RTX 4080", "RTX 3060"),
        *("Last minutes", "GPU 0", "GPU 1", "Memory over time"),
        *("Loaded models", *(f"Unload {model['name']}" for model in machine(real, rtx4080(), rtx3060())["models"])),
        *("Unload all", "Free cache"),
    ]
    panel.page.focus("[data-section=now] h3 button")
    panel.page.keyboard.press("Enter")
    assert panel.page.get_attribute("[data-section=now] h3 button", "aria-expanded") == "false"
    assert not panel.page.is_visible(".hr-dev:not(.hr-ghost)")
    panel.page.keyboard.press("Space")
    assert panel.page.is_visible(".hr-dev:not(.hr-ghost)")
    panel.page.focus(".hr-plot")
    panel.page.keyboard.press("ArrowLeft")
    first = panel.page.get_attribute(".hr-plot", "aria-valuetext")
    assert "held" in str(first)
    assert panel.page.inner_text(".hr-read") == first
    panel.page.keyboard.press("Home")
    assert panel.page.get_attribute(".hr-plot", "aria-valuetext") != first
    panel.page.keyboard.press("Escape")
    assert "Peak" in panel.page.inner_text(".hr-read")


def test_a_closed_section_stays_closed_over_a_reload(server: ComfyServer, opened: Callable[[], Frontend]):
    page = PanelPage(opened())
    page.ui.open(server.url)
    page.show(None)
    page.page.click("[data-section=timeline] h3 button")
    page.ui.open(server.url)
    page.show(None)
    assert page.page.get_attribute("[data-section=timeline] h3 button", "aria-expanded") == "false"
    assert page.page.get_attribute("[data-section=now] h3 button", "aria-expanded") == "true"


def test_the_reading_does_not_take_the_focus(panel: PanelPage, real: dict[str, Any]):
    panel.show(machine(real, rtx4080(), rtx3060()))
    panel.page.focus("text=Unload all")
    panel.refresh()
    panel.refresh()
    assert panel.ui.evaluate("document.activeElement.textContent") == "Unload all"
