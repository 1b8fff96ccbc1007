"""The bundled workflows against the real host: every node exists with these inputs, and all is linked."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

WORKFLOWS = sorted((Path(__file__).resolve().parent.parent.parent / "workflows").glob("*.json"))
WIDGETS = {"INT", "FLOAT", "STRING", "BOOLEAN", "COMBO"}
#: Drawn by the frontend alone; the server does not know them.
FRONTEND_ONLY = {"MarkdownNote", "Note", "Reroute", "PrimitiveNode"}

#: Inputs that the frontend adds to a node by itself.
MADE_BY_THE_FRONTEND = {("LoadImage", "upload")}


@pytest.fixture(scope="module")
def known(server):
    """Every node of the host, by its type."""
    return server.get("/object_info")


def of(path: Path) -> dict:
    """A workflow in the UI format."""
    return json.loads(path.read_text("utf-8"))


def declared(info: dict) -> dict[str, str]:
    """Input names of a node and their types; a combo is a list of words."""
    groups = (info["input"].get(group, {}) for group in ("required", "optional"))
    return {name: spec[0] if isinstance(spec[0], str) else "COMBO" for group in groups for name, spec in group.items()}


def test_there_is_a_workflow_for_every_promise():
    names = {path.stem for path in WORKFLOWS}
    assert names >= {
        "Guarded_SDXL_Text_to_Image",
        "Guarded_Flux_Text_to_Image",
        "Guarded_Wan_2.2_14B_Text_to_Video",
        "Guarded_Inpainting",
    }


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_every_node_exists_with_these_inputs(known, path):
    """A renamed input of a stock node would open as a broken workflow after an update of ComfyUI."""
    for node in of(path)["nodes"]:
        if node["type"] in FRONTEND_ONLY:
            continue
        assert node["type"] in known, f"{node['type']} is not in this ComfyUI"
        names = declared(known[node["type"]])
        for slot in node["inputs"]:
            # "latents.latent0" is the first of the inputs that a dynamic input "latents" grows.
            name = slot["name"].split(".")[0]
            assert name in names or (node["type"], name) in MADE_BY_THE_FRONTEND, f"{node['type']} has no input {name}"


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_what_must_be_linked_is_linked(known, path):
    for node in of(path)["nodes"]:
        if node["type"] in FRONTEND_ONLY:
            continue
        linked = {slot["name"].split(".")[0] for slot in node["inputs"] if slot.get("link") is not None}
        for name, spec in known[node["type"]]["input"].get("required", {}).items():
            has_widget = not isinstance(spec[0], str) or spec[0] in WIDGETS or spec[0].startswith("COMFY_DYNAMIC")
            assert has_widget or name in linked, f"{node['type']}.{name} is not connected"


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_every_model_file_comes_with_its_address(path):
    """The frontend's missing-model dialog offers the download only where the node names it."""
    for node in of(path)["nodes"]:
        named = [value for value in node.get("widgets_values") or [] if str(value).endswith(".safetensors")]
        told = {model["name"]: model for model in node.get("properties", {}).get("models", [])}
        assert set(named) <= set(told), f"{node['type']} names a model file without its address"
        for model in told.values():
            assert model["url"].startswith("https://")
            assert model["url"].endswith(model["name"])


def test_the_wan_workflow_guards_both_models():
    graph = of(next(path for path in WORKFLOWS if "Wan" in path.stem))
    guards = {node["id"] for node in graph["nodes"] if node["type"] == "HeadroomModelGuard"}
    fed = {source for _, source, _, target, _, kind in graph["links"] if kind == "MODEL" and source in guards}
    assert len(guards) == 2
    assert fed == guards


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_every_choice_of_our_nodes_is_one_that_they_offer(known, path):
    """A word that is not in the list opens as a red node and stops the run."""
    for node in of(path)["nodes"]:
        if not node["type"].startswith("Headroom"):
            continue
        groups = (known[node["type"]]["input"].get(group, {}) for group in ("required", "optional"))
        specs = {name: spec for group in groups for name, spec in group.items()}
        widgets = [slot["name"] for slot in node["inputs"] if slot.get("widget")]
        for name, value in zip(widgets, node["widgets_values"], strict=True):
            kind, options = specs[name][0], specs[name][1] if len(specs[name]) > 1 else {}
            offered = kind if isinstance(kind, list) else options.get("options")
            assert offered is None or value in offered, f"{node['type']}.{name} is {value!r}"
