"""The bundled workflows: whole, found by ComfyUI's template browser, and running where they need no model."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from comfy_server import ComfyServer
from uikit import Frontend, needs_models

FOLDER = Path(__file__).resolve().parents[2] / "workflows"
WORKFLOWS = sorted(FOLDER.glob("*.json"))
#: The pack's folder in the test host's custom_nodes; the template browser lists workflows under it.
SOURCE = "ComfyUI-Headroom"
MOST_THUMBNAIL_BYTES = 150 * 1024

each_workflow = pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)


def read(path: Path) -> dict[str, Any]:
    return json.loads(path.read_text("utf-8"))


def test_there_is_a_workflow() -> None:
    assert WORKFLOWS


def test_the_folder_holds_only_workflows_and_their_thumbnails() -> None:
    """ComfyUI lists every .json in it as a template."""
    thumbnails = [path.with_suffix(".jpg").name for path in WORKFLOWS]
    assert sorted(path.name for path in FOLDER.iterdir()) == sorted([*(path.name for path in WORKFLOWS), *thumbnails])


@each_workflow
def test_a_workflow_and_its_thumbnail_can_be_shown(path: Path) -> None:
    assert re.fullmatch(r"[A-Za-z0-9_.-]+", path.stem), "the frontend does not encode the name in the address"
    thumbnail = path.with_suffix(".jpg").read_bytes()
    assert thumbnail.startswith(b"\xff\xd8\xff")
    assert len(thumbnail) < MOST_THUMBNAIL_BYTES


@each_workflow
def test_every_link_joins_two_slots_of_one_type(path: Path) -> None:
    workflow = read(path)
    assert workflow["version"] == 0.4
    nodes = {node["id"]: node for node in workflow["nodes"]}
    for link, start, output, end, input_, kind in workflow["links"]:
        source, target = nodes[start]["outputs"][output], nodes[end]["inputs"][input_]
        assert link in source["links"]
        assert target["link"] == link
        assert {kind, source["type"]} == {kind}
        # "*" is an input that takes anything, as VRAM Budget's and Preview Any's.
        assert {kind, "*"} & set(target["type"].split(","))
    linked = [slot["link"] for node in nodes.values() for slot in node["inputs"] if slot.get("link") is not None]
    assert sorted(linked) == sorted(link[0] for link in workflow["links"])


@each_workflow
def test_a_workflow_says_what_to_look_at(path: Path) -> None:
    assert any(node["type"] in {"Note", "MarkdownNote"} for node in read(path)["nodes"])


@each_workflow
def test_the_template_browser_lists_it_with_its_thumbnail(server: ComfyServer, path: Path) -> None:
    assert path.stem in server.get("/api/workflow_templates")[SOURCE]
    thumbnail = server.get_bytes(f"/api/workflow_templates/{SOURCE}/{path.stem}.jpg")
    assert thumbnail == path.with_suffix(".jpg").read_bytes()


@each_workflow
def test_it_opens_from_the_templates_and_runs_if_it_needs_no_model(
    frontend: Frontend, ui: Frontend, shoot: Callable[..., None], server: ComfyServer, path: Path
) -> None:
    ui.open(f"{server.url}/?template={path.stem}&source={SOURCE}")
    ui.page.wait_for_function("(count) => app.rootGraph.nodes.length === count", arg=len(read(path)["nodes"]))
    ui.settle()
    missing = ui.evaluate(
        "app.rootGraph.nodes.filter((node) => !(node.type in LiteGraph.registered_node_types)).map((node) => node.type)"
    )
    assert missing == []
    if needs_models(read(path)):
        return
    assert ui.run() == "execution_success"
    ui.fit()
    shoot()
    reports = ui.reports()
    assert reports
    assert all(report["level"] != "off" for report in reports.values())


def test_the_guard_example_drops_the_bad_latent_and_both_decodes_finish(ui: Frontend, server: ComfyServer) -> None:
    ui.load(read(FOLDER / "Latent_Guard_and_Safe_Decode.json"))
    assert ui.run() == "execution_success"
    shown = {node: report["title"] for node, report in ui.reports().items()}
    assert shown == {
        "14": "Clean",
        "15": "Item 1 of 2 holds Inf; kept 0",
        "16": "Decoded as it is",
        "17": "Decoded as it is",
    }
    pictures = ui.evaluate("['18', '19'].map((node) => app.nodeOutputs[node].images.length)")
    assert pictures == [1, 1]
    ui.evaluate(
        "() => { app.rootGraph.getNodeById('15').widgets.find(({ name }) => name === 'mode').value = 'stop the run'; }"
    )
    assert ui.run() == "execution_error"
    assert ui.reports()["15"]["level"] == "error"
