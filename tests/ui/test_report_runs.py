"""Which report a node shows, and when: runs, errors, the cache, undo, tabs, subgraphs."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest
from ui_samples import GUARD, SAMPLES, chain, decode_short_of_memory, guards, sample, undo
from uikit import MODES, Frontend


@pytest.mark.parametrize("mode", MODES)
def test_a_run_fills_the_report_and_a_cached_run_fills_it_again(
    ui: Frontend, shoot: Callable[..., None], mode: str
) -> None:
    ui.look(mode, "dark")
    ui.load(chain())
    assert ui.run() == "execution_success"
    first = ui.reports()["2"]
    assert (first["level"], first["title"]) == ("ok", "Clean")
    ui.load(chain())
    assert ui.reports()["2"]["title"] == "Not run yet"
    assert ui.run() == "execution_success"
    again = ui.reports()["2"]
    assert (again["level"], again["title"], again["figure"]) == ("ok", "Clean", first["figure"])
    assert "ran at " in again["text"], "a report from the cache says its age"
    shoot()


def test_an_error_keeps_its_report_also_over_an_undo(ui: Frontend, shoot: Callable[..., None]) -> None:
    ui.load(chain("one_nan.latent"))
    assert ui.run() == "execution_error"
    failed = ui.reports()["2"]
    assert failed["level"] == "error"
    assert "NaN" in failed["text"]
    shoot()
    undo(ui)
    assert ui.reports()["2"]["title"] == failed["title"]


def test_an_error_without_a_report_shows_its_message(ui: Frontend) -> None:
    ui.load(guards())
    ui.send("execution_start", {"prompt_id": "a", "timestamp": int(time.time() * 1000)})
    ui.send("headroom.report", {"node": "2", "report": sample("3")})
    message = "samples has 16 channels, this VAE takes 4. Connect `ae.safetensors`.\n"
    for node in ("1", "2"):
        error = {"prompt_id": "a", "node_id": node, "node_type": GUARD, "exception_message": message}
        ui.send("execution_error", {**error, "exception_type": "ValueError", "traceback": [], "executed": []})
    shown = ui.reports()
    assert (shown["1"]["level"], shown["1"]["title"]) == ("error", "samples has 16 channels, this VAE takes 4")
    assert "Connect ae.safetensors." in shown["1"]["text"]
    assert shown["2"]["title"] == SAMPLES["3"][1], "the node's own report says more than the message"


def test_what_another_workflow_reports_is_not_put_on_the_open_ones_node(ui: Frontend) -> None:
    """The run of one tab goes on while another is open, and ids are small numbers in both."""
    ui.load(guards())
    ui.send("execution_start", {"prompt_id": "a", "timestamp": int(time.time() * 1000)})
    ui.send("headroom.report", {"node": "1", "type": "HeadroomVAEDecode", "report": sample("3")})
    error = {"prompt_id": "a", "node_id": "2", "node_type": "KSampler", "exception_message": "Allocation on device"}
    ui.send("execution_error", {**error, "exception_type": "OOM", "traceback": [], "executed": []})
    assert {report["title"] for report in ui.reports().values()} == {"Not run yet"}
    ui.send("headroom.report", {"node": "1", "type": GUARD, "report": sample("3")})
    assert ui.reports()["1"]["title"] == SAMPLES["3"][1]


def test_a_report_does_not_wait_for_a_run_that_is_over(ui: Frontend) -> None:
    ui.load(guards())
    now = int(time.time() * 1000)
    ui.send("execution_start", {"prompt_id": "a", "timestamp": now - 60_000})
    ui.send("headroom.report", {"node": "2", "type": GUARD, "report": sample("2")})
    ui.send("execution_start", {"prompt_id": "b", "timestamp": now})
    ui.send("executing", "2")
    assert ui.reports()["2"]["pending"] is True
    ui.send("execution_success", {"prompt_id": "b", "timestamp": now})
    assert ui.reports()["2"]["pending"] is False


def test_the_last_report_does_not_look_current_while_the_node_runs(ui: Frontend, shoot: Callable[..., None]) -> None:
    ui.load(guards())
    now = int(time.time())
    ui.send("execution_start", {"prompt_id": "a", "timestamp": (now - 60) * 1000})
    ui.send("headroom.report", {"node": "2", "report": {**sample("3"), "made_at": now - 59}})
    ui.send("execution_start", {"prompt_id": "b", "timestamp": now * 1000})
    for node in ("1", "2"):
        ui.send("executing", node)
    shown = ui.reports()
    assert (shown["1"]["title"], shown["1"]["pending"]) == ("Not run yet", False)
    assert (shown["2"]["title"], shown["2"]["pending"]) == (SAMPLES["3"][1], True)
    assert shown["2"]["spoken"] == "Before this run: "
    shoot()
    ui.send("headroom.report", {"node": "2", "report": sample("2")})
    assert (ui.reports()["2"]["title"], ui.reports()["2"]["pending"]) == ("Clean", False)


def test_attempts_are_shown_while_the_decode_runs_and_stay_when_it_is_interrupted(
    ui: Frontend, shoot: Callable[..., None]
) -> None:
    ui.load(decode_short_of_memory(seconds=1.0))
    ui.evaluate("() => { app.queuePrompt(0, 1); }")
    title = "() => document.querySelector('.hr-report .title').textContent"
    ui.page.wait_for_function(f"({title})().includes('Attempt 1')")
    shoot("running")
    ui.evaluate("window.comfyAPI.api.api.interrupt()")
    ui.page.wait_for_function(f"({title})().includes('Interrupted')")
    shown = ui.reports()["4"]
    assert (shown["level"], shown["title"]) == ("info", "Interrupted")
    assert "out of memory" in shown["text"]


def test_a_blocked_node_says_what_blocked_it(ui: Frontend) -> None:
    workflow = chain("batch_nan_1_3.latent", "block this branch")
    workflow["nodes"][3]["type"] = "HeadroomVAEDecode"
    ui.load(workflow)
    assert ui.run() == "execution_success"
    shown = ui.reports()
    assert shown["2"]["title"] == "Items 1 and 3 of 4 are NaN; branch blocked"
    assert shown["2"]["title"] in shown["4"]["title"]
    assert shown["4"]["level"] == "error"


def test_reports_come_back_after_a_change_of_tabs_and_are_not_copied(ui: Frontend) -> None:
    ui.load(chain())
    ui.run()
    ui.evaluate("app.extensionManager.command.execute('Comfy.NewBlankWorkflow')")
    ui.settle()
    assert ui.reports() == {}
    ui.evaluate("app.extensionManager.command.execute('Workspace.PreviousOpenedWorkflow')")
    ui.settle()
    assert ui.reports()["2"]["title"] == "Clean"
    ui.evaluate(
        """() => {
          const node = app.rootGraph.getNodeById("2");
          app.canvas.copyToClipboard([node]);
          app.canvas.pasteFromClipboard({ position: [0, 400] });
        }"""
    )
    ui.settle()
    shown = ui.reports()
    assert [shown[node]["title"] for node in sorted(shown)] == ["Clean", "Not run yet"]


def test_a_node_in_a_subgraph_gets_its_report(ui: Frontend) -> None:
    ui.load(chain())
    ui.evaluate("() => { app.rootGraph.convertToSubgraph(new Set([app.rootGraph.getNodeById('2')])); }")
    ui.settle()
    assert ui.run() == "execution_success"
    [(path, report)] = ui.reports().items()
    assert ":" in path
    assert report["title"] == "Clean"
    undo(ui)
    assert ui.reports()[path]["title"] == "Clean"
