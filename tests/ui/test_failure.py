"""The card on what just failed, in the real frontend: after a real failure, and with the answers of a 12 GB machine."""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from comfy_server import ComfyServer
from panel_failure import AT, GIB, ON_A_CARD, UNFINISHED
from ui_cards import (
    TOO_WIDE,
    accessibility_faults,
    cards,
    change_answers,
    close_tab,
    decode_that_fails,
    keep_picture,
    new_tab,
    open_panel,
    polls,
    reload,
    toasts,
)
from ui_samples import chain, guards
from uikit import Frontend

from headroom.core.flags import advise
from headroom.core.readings import Ram

IGNORED = "Headroom.IgnoredRules"


@pytest.fixture
def panel(frontend: Frontend, server: ComfyServer) -> Iterator[Frontend]:
    """A new browser tab, nothing dismissed."""
    opened = new_tab(frontend, server.url)
    opened.setting(IGNORED, [])
    yield opened
    opened.setting(IGNORED, [])
    close_tab(opened)
    assert not opened.problems


@pytest.fixture
def keep(panel: Frontend, request: pytest.FixtureRequest) -> Callable[..., None]:
    return lambda name="": keep_picture(panel, f"{request.node.name} {name}")


def fail(panel: Frontend, server: ComfyServer, number: int) -> dict[str, Any]:
    """Runs the workflow that fails in the page; what the server kept of it."""
    panel.load(decode_that_fails(number))
    assert panel.run() == "execution_error"
    panel.page.wait_for_selector("[data-section=failure] .hr-card")
    return server.get("/headroom/snapshot")["failure"]


def shown_failure(panel: Frontend, **changed: Any) -> None:
    """The page gets the failure of a machine with a card in place of its own."""
    failure = json.loads(json.dumps(dataclasses.asdict(dataclasses.replace(ON_A_CARD, **changed)), default=list))
    change_answers(panel, lambda answer: answer.update(failure=failure))


# ---- a real failure ----


def test_a_failed_node_leaves_its_card_with_that_moments_numbers(
    panel: Frontend, server: ComfyServer, keep: Callable[..., None]
) -> None:
    """The error says "CUDA out of memory", 3.10 GiB and 1.90 GiB; with no card to read, the RAM is told."""
    failure = fail(panel, server, 1)
    (card,) = cards(panel, "failure")
    assert card["title"] == "VAE Decode ran out of VRAM: asked 3.1\u00a0GiB, had 1.9\u00a0GiB"
    assert (card["level"], card["spoken"], card["visible"]) == ("error", "Problem: ", True)
    body = card["body"].replace("\u00a0", " ")
    own = failure["ram"]["own_bytes"] / GIB
    found = re.search(r"ComfyUI\s+(\d+\.\d)", body)
    assert found is not None, body
    # The parts are rounded so that they add up, which moves one by less than a tenth.
    assert abs(float(found[1]) - own) <= 0.1
    assert [fix["text"].replace("`", "") in body for fix in failure["fixes"]] == [True] * len(failure["fixes"])
    assert len(failure["fixes"]) > 0
    assert "tiny_kl.safetensors" in body
    rows = panel.page.locator("[data-section=failure] tbody td.num").all_inner_texts()
    total = panel.page.locator("[data-section=failure] thead th.num").inner_text()
    assert sum(round(float(row) * 10) for row in rows) == round(float(total) * 10)
    keep()


def test_the_node_is_called_as_on_the_canvas_and_else_by_its_class(panel: Frontend, server: ComfyServer) -> None:
    workflow = decode_that_fails(7)
    workflow["nodes"][3]["title"] = "My `last` decode"
    panel.load(workflow)
    assert panel.run() == "execution_error"
    panel.page.wait_for_selector("[data-section=failure] .hr-card")
    title = cards(panel, "failure")[0]["title"]
    assert title.startswith("My 'last' decode ran out of VRAM")
    panel.load(chain())
    polls(panel, 2)
    assert cards(panel, "failure")[0]["title"] == title, "another workflow opened: the same failure"
    # Here node 4 is a Latent Guard: what failed has another class, and is not called by this one's title.
    panel.load(guards())
    shown_failure(panel, at=AT + 1)
    assert cards(panel, "failure")[0]["title"].startswith("VAEDecode ran out of VRAM")


def test_it_stays_over_a_reload_and_goes_with_the_next_run(panel: Frontend, server: ComfyServer) -> None:
    fail(panel, server, 2)
    reload(panel)
    assert len(cards(panel, "failure")) == 1
    panel.load(chain())
    assert panel.run() == "execution_success"
    polls(panel, 2)
    assert cards(panel, "failure") == []
    assert not panel.page.locator("[data-section=failure]").is_visible()


def test_one_toast_tells_of_it_and_none_after_a_reload(panel: Frontend, server: ComfyServer) -> None:
    fail(panel, server, 3)
    polls(panel, 2)
    assert toasts(panel) == 1
    reload(panel)
    polls(panel, 2)
    assert toasts(panel) == 0


def test_a_dismissed_one_stays_away_and_the_next_one_comes(panel: Frontend, server: ComfyServer) -> None:
    fail(panel, server, 4)
    panel.page.get_by_role("button", name="Dismiss").last.click()
    assert cards(panel, "failure") == []
    reload(panel)
    polls(panel, 1)
    assert cards(panel, "failure") == []
    fail(panel, server, 5)
    assert len(cards(panel, "failure")) == 1


def test_its_node_is_selected_on_the_canvas(panel: Frontend, server: ComfyServer) -> None:
    fail(panel, server, 6)
    show = panel.page.get_by_role("button", name="Show the node")
    show.click()
    assert panel.evaluate("() => Object.values(app.canvas.selected_nodes).map((node) => String(node.id))") == ["4"]
    panel.load({**chain(), "nodes": chain()["nodes"][:1], "links": []})
    show.click()
    assert panel.page.get_by_text("The node is not in the open workflow.").first.is_visible()


# ---- a machine with a card ----


def test_on_a_card_it_says_who_held_what_and_what_to_do(panel: Frontend, keep: Callable[..., None]) -> None:
    shown_failure(panel)
    (card,) = cards(panel, "failure")
    body = card["body"].replace("\u00a0", " ")
    assert card["title"] == "VAEDecode ran out of VRAM: asked 3.1\u00a0GiB, had 0.3\u00a0GiB"
    table = panel.page.locator("[data-section=failure] tbody tr").all_inner_texts()
    assert [re.sub(r"\s+", " ", row).strip() for row in table] == [
        *("Weights 0.0", "Working 3.0", "Other ollama 2.1 2.7", "Evictable 5.0", "Torch cache 1.0", "Free 0.3"),
    ]
    fixes = panel.page.locator("[data-section=failure] ol li").all_inner_texts()
    assert [re.sub(r"\s+", " ", fix) for fix in fixes] == [
        "Use the node VAE Decode (Safe) here: it decodes in tiles that fit.",
        "Put the node Free Memory before this one: wan2.2_low_noise_14B_fp8.safetensors did no work in this node "
        "and stayed on the card. Gains about 5.0 GiB.",
        "Close Ollama, or stop what it keeps on the card. Gains about 2.1 GiB.",
    ]
    assert "wan2.2_low_noise_14B_fp8.safetensors\n5.0 of 13.0" in body
    assert re.search(r"At \d\d:\d\d:31, 14.2 s after the node began.", body)
    keep()


def test_it_fits_a_narrow_light_panel(panel: Frontend, keep: Callable[..., None]) -> None:
    panel.look("canvas", "light")
    shown_failure(panel)
    panel.evaluate("() => { document.querySelector('.hr-panel').style.inlineSize = '265px'; }")
    panel.page.click("[data-section=failure] summary")
    panel.settle()
    assert panel.evaluate(TOO_WIDE) == []
    keep()


@pytest.mark.parametrize("palette", ["dark", "light"])
def test_axe_finds_nothing_in_it(panel: Frontend, palette: str) -> None:
    panel.look("canvas", palette)
    shown_failure(panel)
    panel.page.click("[data-section=failure] summary")
    panel.settle()
    assert accessibility_faults(panel, "failure") == []


def test_the_errors_words_are_text_and_one_click_away(panel: Frontend) -> None:
    shown_failure(panel)
    words = panel.page.locator("[data-section=failure] .words")
    assert not words.is_visible()
    panel.page.focus("[data-section=failure] summary")
    panel.page.keyboard.press("Enter")
    assert words.inner_text() == ON_A_CARD.message
    assert panel.evaluate("() => [window.injected ?? null, document.querySelectorAll('.hr-panel img').length]") == [
        None,
        0,
    ]
    polls(panel, 2)
    assert words.is_visible(), "a poll must not close it"


def test_a_failure_of_which_nothing_could_be_read_says_so(panel: Frontend) -> None:
    shown_failure(
        panel, devices=(), ram=Ram(), models=(), fixes=(), kind="other", asked_bytes=None, running_seconds=None
    )
    (card,) = cards(panel, "failure")
    assert card["title"] == "VAEDecode failed"
    assert "Nothing could be read at that moment." in card["body"]
    assert "What to do" not in card["body"]


def test_nan_is_told_as_what_it_is(panel: Frontend) -> None:
    shown_failure(panel, kind="nan", memory=None)
    assert cards(panel, "failure")[0]["title"] == "VAEDecode gave NaN or Inf"


def test_in_chinese(panel: Frontend, keep: Callable[..., None]) -> None:
    shown_failure(panel)
    panel.setting("Comfy.Locale", "zh")
    try:
        polls(panel, 2)
        (card,) = cards(panel, "failure")
        body = re.sub(r"\s+", " ", card["body"])
        assert card["title"] == "VAEDecode 显存不足：需要 3.1\u00a0GiB，只有 0.3\u00a0GiB"
        assert "这里改用“VAE 解码（安全）”节点：它会分块解码，保证放得下。" in body
        assert "关闭 Ollama，或让它释放占用的显存。 约可腾出 2.1 GiB。" in body
        assert panel.evaluate(TOO_WIDE) == []
        keep()
    finally:
        panel.setting("Comfy.Locale", "en")
        polls(panel, 2)


# ---- an end without a finish ----


def test_an_end_of_comfyui_in_the_middle_of_a_run_is_told_once(panel: Frontend, keep: Callable[..., None]) -> None:
    """YanWenKun/ComfyUI-Docker #123: the process was killed, and after the start nothing said why."""
    (advice,) = [one.as_json() for one in advise(UNFINISHED) if one.id == "last-run-unfinished"]
    run = {**dataclasses.asdict(UNFINISHED.last_run), "ended_at": AT}
    change_answers(panel, lambda answer: answer.update(failure=None, last_run=run, advice=[advice]))
    (card,) = cards(panel, "failure")
    assert card["title"] == advice["title"].replace("`", "")
    assert advice["why"].replace("\u00a0", " ") in card["body"].replace("\u00a0", " ")
    assert re.match(r"Last sign of it at 2026-01-0\d \d\d:\d\d\.", card["body"]), card["body"]
    assert cards(panel, "warnings") == []
    keep()
    panel.page.get_by_role("button", name="Dismiss").last.focus()
    panel.page.keyboard.press("Enter")
    assert cards(panel, "failure") == []
    assert panel.evaluate("() => document.activeElement.closest('[data-section]')?.dataset.section") == "now"


def test_the_panel_opened_after_the_failure_shows_it_too(panel: Frontend, server: ComfyServer) -> None:
    panel.evaluate("() => { app.extensionManager.command.execute('Workspace.ToggleSidebarTab.headroom'); }")
    panel.load(decode_that_fails(7))
    assert panel.run() == "execution_error"
    open_panel(panel)
    panel.page.wait_for_selector("[data-section=failure] .hr-card")
    assert len(cards(panel, "failure")) == 1
