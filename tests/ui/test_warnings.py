"""The warning cards in the real frontend: a ComfyUI that was started with flags that do not match."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from comfy_server import ComfyServer, Servers
from ui_cards import (
    HTML,
    ROUTE,
    TOO_WIDE,
    accessibility_faults,
    advice,
    cards,
    change_answers,
    close_tab,
    keep_picture,
    new_tab,
    open_panel,
    polls,
    reload,
    toasts,
)
from uikit import Frontend

FLAGS = (
    *("--cpu-vae", "--fp16-vae", "--reserve-vram", "-1"),
    *("--async-offload", "--disable-async-offload", "--fp16-intermediates"),
)
WARNING, OTHER, NOTE = "cpu-vae-fp16", "async-both", "fp16-intermediates-inf"
#: In the order in which they are shown: warnings by what they cost, then the note.
RULES = ["reserve-negative", WARNING, OTHER, NOTE]
IGNORED = "Headroom.IgnoredRules"
BADGE = "() => app.extensionManager.getSidebarTabs().find((tab) => tab.id === 'headroom').iconBadge ?? null"
FOCUSED = """() => {
  const { activeElement: focused } = document;
  return [focused.closest(".hr-card")?.dataset.rule ?? null, focused.textContent.trim()];
}"""


@pytest.fixture(scope="module")
def mismatched(servers: Servers) -> ComfyServer:
    return servers.get(*FLAGS)


@pytest.fixture
def panel(frontend: Frontend, mismatched: ComfyServer) -> Iterator[Frontend]:
    """A new browser tab on that ComfyUI, nothing dismissed."""
    opened = new_tab(frontend, mismatched.url)
    opened.setting(IGNORED, [])
    polls(opened, 1)
    yield opened
    opened.setting(IGNORED, [])
    close_tab(opened)
    assert not opened.problems


@pytest.fixture
def keep(panel: Frontend, request: pytest.FixtureRequest) -> Callable[..., None]:
    """Keeps a picture of the panel as a test artefact."""
    return lambda name="": keep_picture(panel, f"{request.node.name} {name}")


def told(server: ComfyServer) -> dict[str, dict[str, Any]]:
    return {one["id"]: one for one in server.get("/headroom/advice")["advice"]}


def head(rule: str) -> str:
    return f".hr-card[data-rule={rule}] h4 button"


def in_card(rule: str, selector: str) -> str:
    return f".hr-card[data-rule={rule}] {selector}"


# ---- what is shown ----


def test_each_mismatched_flag_has_its_card_and_the_worst_is_open(
    panel: Frontend, mismatched: ComfyServer, keep: Callable[..., None]
) -> None:
    """rules.md: `--fp16-vae` holds on the CPU too, where older torch cannot do it (stable-diffusion-webui #15779)."""
    shown, server = cards(panel), told(mismatched)
    assert [card["rule"] for card in shown] == RULES
    assert [(card["level"], card["spoken"]) for card in shown] == [("warn", "Warning: ")] * 3 + [("info", "Note: ")]
    assert [card["open"] for card in shown] == ["true", "false", "false", "false"]
    assert [card["visible"] for card in shown] == [True, False, False, False]
    assert {card["rule"]: card["title"] for card in shown} == {
        rule: one["title"].replace("`", "") for rule, one in server.items()
    }
    assert shown[1]["title"] == "--fp16-vae holds on the CPU too"
    panel.page.click(head(WARNING))
    card = cards(panel)[1]
    assert card["command"] == server[WARNING]["command"]
    assert "--cpu-vae" in card["command"]
    assert "--fp16-vae" not in card["command"]
    assert "Fix: Start without --fp16-vae." in card["body"]
    assert 'Check: The log says "VAE load device: cpu"' in card["body"]
    link = "https://github.com/AUTOMATIC1111/stable-diffusion-webui/issues/15779"
    assert card["links"] == [{"href": link, "rel": "noopener noreferrer", "text": link_text(server[WARNING]["source"])}]
    label = panel.page.locator("[data-section=warnings] h3 .vh").text_content()
    assert label == "3 warnings, 1 note"
    keep()


def link_text(source: str) -> str:
    return source.split(";")[0]


def test_what_opened_by_itself_once_does_not_open_again(panel: Frontend) -> None:
    assert cards(panel)[0]["open"] == "true"
    reload(panel)
    assert [card["open"] for card in cards(panel)] == ["false"] * 4


def test_a_new_problem_does_not_open_above_a_card_that_is_being_read(panel: Frontend) -> None:
    change_answers(panel, lambda answer: answer["advice"].insert(0, advice("new-one", "problem")))
    assert [(card["rule"], card["open"]) for card in cards(panel)[:2]] == [("new-one", "false"), (RULES[0], "true")]


def test_the_badge_counts_without_notes(panel: Frontend) -> None:
    assert panel.evaluate(BADGE) == "3"


# ---- copying ----


def test_the_command_is_copied(panel: Frontend, mismatched: ComfyServer, keep: Callable[..., None]) -> None:
    panel.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    command = told(mismatched)["reserve-negative"]["command"]
    copy = panel.page.locator(in_card("reserve-negative", ".hr-code button"))
    assert copy.get_attribute("aria-label") == "Copy the command"
    copy.click()
    panel.page.wait_for_function("document.querySelector('.hr-code button').getAttribute('aria-label') === 'Copied'")
    assert panel.evaluate("() => navigator.clipboard.readText()") == command
    keep()
    panel.page.wait_for_function(
        "document.querySelector('.hr-code button').getAttribute('aria-label') === 'Copy the command'"
    )


def test_a_page_without_the_clipboard_copies_all_the_same(panel: Frontend, mismatched: ComfyServer) -> None:
    """Many open ComfyUI over the LAN without HTTPS, where pages have no `navigator.clipboard`."""
    panel.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    panel.evaluate("() => { navigator.clipboard.writeText = () => Promise.reject(new Error('not allowed')); }")
    panel.page.click(in_card("reserve-negative", ".hr-code button"))
    panel.page.wait_for_function("document.querySelector('.hr-code button').getAttribute('aria-label') === 'Copied'")
    assert panel.evaluate("() => navigator.clipboard.readText()") == told(mismatched)["reserve-negative"]["command"]


def test_where_nothing_may_copy_the_command_is_selected_for_the_keys(panel: Frontend, mismatched: ComfyServer) -> None:
    panel.evaluate(
        """() => {
          navigator.clipboard.writeText = () => Promise.reject(new Error('not allowed'));
          document.execCommand = () => false;
        }"""
    )
    copy = panel.page.locator(in_card("reserve-negative", ".hr-code button"))
    copy.click()
    panel.page.wait_for_function("String(getSelection()) !== ''")
    selected = panel.evaluate("() => String(getSelection()).replaceAll('\\u00a0', ' ')")
    assert selected == told(mismatched)["reserve-negative"]["command"]
    assert copy.get_attribute("aria-label") == "Selected: press Ctrl+C"


# ---- dismissing ----


def test_a_dismissed_card_stays_away_and_can_be_brought_back(panel: Frontend, keep: Callable[..., None]) -> None:
    panel.page.click(head(NOTE))
    panel.page.click(in_card(NOTE, "footer button"))
    assert [card["rule"] for card in cards(panel)] == RULES[:3]
    assert panel.page.locator(".hr-more").inner_text() == "1 dismissed. Show"
    assert panel.evaluate(f"() => app.extensionManager.setting.get('{IGNORED}')") == [NOTE]
    reload(panel)
    assert [card["rule"] for card in cards(panel)] == RULES[:3]
    panel.page.click(".hr-more button")
    assert panel.page.locator(".hr-dismissed li .t").all_inner_texts() == [
        "--fp16-intermediates turns values above 65504 into Inf"
    ]
    keep()
    panel.page.click(".hr-dismissed button")
    assert [card["rule"] for card in cards(panel)] == RULES
    reload(panel)
    assert [card["rule"] for card in cards(panel)] == RULES


def test_with_all_dismissed_the_line_that_brings_them_back_is_at_the_foot(
    panel: Frontend, mismatched: ComfyServer, keep: Callable[..., None]
) -> None:
    panel.setting(IGNORED, RULES[1:])
    polls(panel, 1)
    panel.page.click(in_card(RULES[0], "footer button"))
    assert cards(panel) == []
    assert not panel.page.locator("[data-section=warnings]").is_visible()
    line = panel.page.locator(".hr-foot-more .hr-more")
    assert line.inner_text() == "4 dismissed. Show"
    assert panel.evaluate(FOCUSED) == [None, "Show"], "the focus goes with what is left"
    panel.page.keyboard.press("Enter")
    keep()
    title = told(mismatched)[RULES[0]]["title"].replace("`", "")
    panel.page.locator(".hr-dismissed li", has_text=title).get_by_role("button").click()
    assert panel.page.locator("[data-section=warnings]").is_visible()
    assert [card["rule"] for card in cards(panel)] == RULES[:1]
    assert panel.page.locator("[data-section=warnings] .hr-more").inner_text().startswith("3 dismissed.")
    assert panel.page.locator(".hr-foot-more").inner_text() == ""
    assert panel.evaluate(FOCUSED)[0] == RULES[0]


def test_the_badge_follows_a_dismissal_at_once(panel: Frontend) -> None:
    """Between two polls: the person who dismissed it looks at the number now."""
    assert panel.evaluate(BADGE) == "3"
    panel.page.unroute_all(behavior="wait")
    panel.page.route(ROUTE, lambda route: None)
    panel.page.click(in_card(RULES[0], "footer button"))
    assert panel.evaluate(BADGE) == "2"
    assert panel.page.locator(".headroom-tab-button").inner_text().strip().startswith("2")
    for rule in (WARNING, OTHER):  # each opens by itself when it becomes the worst
        panel.page.click(in_card(rule, "footer button"))
    assert panel.evaluate(BADGE) is None, "a note is not counted"


def test_without_a_warning_there_is_no_section(panel: Frontend) -> None:
    change_answers(panel, lambda answer: answer.update(advice=[]))
    assert not panel.page.locator("[data-section=warnings]").is_visible()


# ---- a poll leaves alone what a person does ----


def counting(panel: Frontend) -> None:
    """Every answer has another number in the first card's texts, as a card about used memory has."""
    count = 0

    def change(answer: dict[str, Any]) -> None:
        nonlocal count
        count += 1
        for one in answer["advice"]:
            if one["id"] == WARNING:
                one["title"] = one["why"] = f"Number {count} of the polls"

    change_answers(panel, change)


def test_a_poll_takes_no_focus_and_closes_no_card(panel: Frontend) -> None:
    panel.page.click(head(WARNING))
    panel.page.focus(in_card(WARNING, "footer button"))
    counting(panel)
    before = cards(panel)[1]["title"]
    polls(panel, 3)
    after = cards(panel)[1]
    assert after["title"] != before
    assert after["open"] == "true"
    assert panel.evaluate(FOCUSED) == [WARNING, "Dismiss"]


def test_what_is_selected_stays_selected_until_the_selection_is_gone(panel: Frontend) -> None:
    panel.page.click(head(WARNING))
    counting(panel)
    panel.evaluate("(query) => getSelection().selectAllChildren(document.querySelector(query))", in_card(WARNING, "p"))
    selected = panel.evaluate("() => String(getSelection())")
    assert selected.startswith("Number ")
    polls(panel, 3)
    assert panel.evaluate("() => String(getSelection())") == selected
    panel.evaluate("() => getSelection().removeAllRanges()")
    polls(panel, 1)
    assert selected not in cards(panel)[1]["body"]


def test_a_new_card_above_moves_no_focus(panel: Frontend) -> None:
    panel.page.focus(head(OTHER))
    change_answers(panel, lambda answer: answer["advice"].insert(0, advice("new-one", "problem")))
    assert [card["rule"] for card in cards(panel)] == ["new-one", *RULES]
    assert panel.evaluate(FOCUSED)[0] == OTHER


def test_a_card_that_goes_with_its_cause_leaves_the_focus_in_the_list(panel: Frontend) -> None:
    panel.page.focus(head(OTHER))
    change_answers(panel, lambda answer: answer.update(advice=[one for one in answer["advice"] if one["id"] != OTHER]))
    assert panel.evaluate(FOCUSED)[0] == NOTE, "the card that took its place"


# ---- news ----


def test_a_new_serious_one_raises_one_toast_also_over_a_reload(panel: Frontend) -> None:
    change_answers(panel, lambda answer: answer["advice"].insert(0, advice("new-one", "problem")))
    polls(panel, 2)
    assert toasts(panel) == 1
    reload(panel)
    polls(panel, 2)
    assert toasts(panel) == 0
    assert cards(panel)[0]["rule"] == "new-one"


def test_warnings_and_notes_raise_none(panel: Frontend) -> None:
    change_answers(panel, lambda answer: answer["advice"].append(advice("new-one", "warning")))
    polls(panel, 1)
    assert toasts(panel) == 0


# ---- texts ----


def test_html_in_the_texts_stays_text(panel: Frontend) -> None:
    texts = dict.fromkeys(("title", "why", "fix", "check", "command", "source"), HTML)
    bad = advice("bad", "problem", **texts, link="javascript:injected=1")
    panel.page.click(head(RULES[0]))
    change_answers(panel, lambda answer: answer["advice"].insert(0, bad))
    card = cards(panel)[0]
    assert (card["title"], card["open"], card["command"]) == (HTML, "true", HTML)
    assert card["body"].count(HTML) == 5
    assert card["links"] == []
    assert panel.evaluate("() => [window.injected ?? null, document.querySelectorAll('.hr-panel img').length]") == [
        None,
        0,
    ]


def test_in_chinese_all_of_a_card_is_chinese(panel: Frontend, keep: Callable[..., None]) -> None:
    panel.setting("Comfy.Locale", "zh")
    try:
        polls(panel, 2)
        panel.page.click(head(WARNING))
        first = cards(panel)[1]
        assert (first["title"], first["spoken"]) == ("--fp16-vae 在 CPU 上同样生效", "警告：")
        assert "解决：启动时去掉 --fp16-vae。" in first["body"]
        assert "--cpu-vae 本来会让 VAE 用 fp32" in first["body"]
        assert "忽略" in first["body"]
        assert panel.evaluate(TOO_WIDE) == []
        keep()
    finally:
        panel.setting("Comfy.Locale", "en")
        polls(panel, 2)


@pytest.mark.parametrize(("palette", "width"), [("dark", 312), ("light", 297), ("dark", 265)])
def test_cards_fit_a_narrow_panel(panel: Frontend, keep: Callable[..., None], palette: str, width: int) -> None:
    """The host's sidebar is 297 px inside with a scrollbar; older frontends go below."""
    panel.look("canvas", palette)
    panel.evaluate("(width) => { document.querySelector('.hr-panel').style.inlineSize = `${width}px`; }", width)
    for rule in RULES[1:]:
        panel.page.click(head(rule))
    panel.settle()
    assert panel.evaluate(TOO_WIDE) == []
    keep()


@pytest.mark.parametrize("palette", ["dark", "light", "solarized"])
def test_axe_finds_nothing_in_the_cards(panel: Frontend, palette: str) -> None:
    panel.look("canvas", palette)
    panel.setting(IGNORED, [NOTE])
    polls(panel, 1)
    panel.page.click(".hr-more button")
    for rule in (WARNING, OTHER):
        panel.page.click(head(rule))
    panel.settle()
    assert accessibility_faults(panel, "warnings") == []


# ---- the keyboard ----


def test_a_card_is_used_by_the_keyboard_alone(panel: Frontend) -> None:
    panel.page.focus(head(WARNING))
    keyboard = panel.page.keyboard
    keyboard.press("Enter")
    assert cards(panel)[1]["open"] == "true"
    walked = []
    for _ in range(4):
        keyboard.press("Tab")
        walked.append(
            panel.evaluate(
                "() => document.activeElement.getAttribute('aria-label') ?? document.activeElement.textContent.trim()"
            )
        )
    assert walked[:3] == ["Copy the command", "AUTOMATIC1111/stable-diffusion-webui #15779", "Dismiss"]
    assert panel.evaluate(FOCUSED)[0] == OTHER
    keyboard.press("Shift+Tab")
    keyboard.press("Enter")
    assert [card["rule"] for card in cards(panel)] == [RULES[0], OTHER, NOTE]
    assert panel.evaluate(FOCUSED)[0] == OTHER, "the focus goes to the next card"
    keyboard.press("Space")
    assert cards(panel)[1]["open"] == "true"


def test_an_open_panel_can_be_closed_and_opened_without_closing_its_cards(panel: Frontend) -> None:
    panel.page.click(head(OTHER))
    for _ in range(2):
        panel.evaluate("() => { app.extensionManager.command.execute('Workspace.ToggleSidebarTab.headroom'); }")
        panel.settle()
    open_panel(panel)
    assert [card["open"] for card in cards(panel)] == ["true", "false", "true", "false"]
