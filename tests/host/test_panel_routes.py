"""What the panel asks of the server: one answer for all it shows, shared among tabs, and unloading a single model."""

from __future__ import annotations

import importlib
import json
import threading
import time
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from comfy_server import ComfyServer, Servers

OURS = {"Content-Type": "application/json", "X-Headroom": "1"}


def post(server: ComfyServer, path: str, body: Any) -> tuple[int, dict[str, Any]]:
    request = urllib.request.Request(server.url + path, json.dumps(body).encode(), OURS)
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.status, json.loads(answer.read())
    except urllib.error.HTTPError as error:
        return error.code, json.loads(error.read())


def decode(*vaes: str, seconds: float = 0.0) -> dict[str, Any]:
    """A latent through each of these VAEs, into pictures; each keeps its model loaded."""
    fault = {"oom_above": 0, "nan_items": "", "nan_call": -1, "no_weights": False, "known_file": True}
    size = {"width": 64 + 8 * (time.monotonic_ns() % 8), "height": 64, "batch_size": 1}
    prompt: dict[str, Any] = {"latent": {"class_type": "EmptyLatentImage", "inputs": size}}
    for vae in vaes:
        prompt |= {
            f"{vae} load": {"class_type": "VAELoader", "inputs": {"vae_name": vae}},
            f"{vae} slow": {
                "class_type": "TestFaultyVAE",
                "inputs": {"vae": [f"{vae} load", 0], **fault, "seconds": seconds},
            },
            f"{vae} decode": {
                "class_type": "VAEDecode",
                "inputs": {"samples": ["latent", 0], "vae": [f"{vae} slow", 0]},
            },
            f"{vae} image": {
                "class_type": "SaveImage",
                "inputs": {"images": [f"{vae} decode", 0], "filename_prefix": "x"},
            },
        }
    return prompt


def models(server: ComfyServer) -> dict[str, dict[str, Any]]:
    """The loaded models by name, from a reading that was taken after now."""
    now = time.time()
    while True:
        found = server.get("/headroom/snapshot")
        if found["taken_at"] > now:
            return {model["name"]: model for model in found["models"]}
        time.sleep(0.1)


# ---- one answer ----


def test_the_panel_has_snapshot_and_advice_in_one_request(servers: Servers):
    mismatched = servers.get("--cpu-vae", "--fp16-vae")
    both = mismatched.get("/headroom/snapshot?advice=1")
    assert both["host"]["version"]
    assert (
        [one["id"] for one in both["advice"]]
        == [one["id"] for one in mismatched.get("/headroom/advice")["advice"]]
        != []
    )
    assert "advice" not in mismatched.get("/headroom/snapshot")
    assert "advice" not in mismatched.get("/headroom/snapshot?advice=0")


def test_many_tabs_cost_the_server_one_reading_and_one_making_of_the_answer(
    pack: ModuleType, monkeypatch: pytest.MonkeyPatch
):
    answers = importlib.import_module(f"{pack.__name__}.headroom.host.answers")
    source = importlib.import_module(f"{pack.__name__}.headroom.host.snapshot")
    readings = importlib.import_module(f"{pack.__name__}.headroom.core.readings")
    reads, made = [], []

    def read() -> Any:
        reads.append(1)
        time.sleep(0.05)
        return readings.Snapshot(taken_at=1.0)

    whole = answers.snapshot_json
    monkeypatch.setattr(source, "_last", None)
    monkeypatch.setattr(source, "_read", read)
    monkeypatch.setattr(answers, "snapshot_json", lambda *parts: made.append(1) or whole(*parts))
    with ThreadPoolExecutor(8) as pool:
        bodies = set(pool.map(answers.snapshot, [True] * 16))
    assert (len(reads), len(made), len(bodies)) == (1, 1, 1)
    monkeypatch.setattr(source, "KEEP_SECONDS", 0)
    answers.snapshot(True)
    assert (len(reads), len(made)) == (2, 2), "the next reading is made anew"


def test_the_node_that_runs_is_told_to_every_browser(server: ComfyServer):
    """Only the browser that queued a prompt hears the host's events of it."""
    prompt = decode("tiny_kl.safetensors", seconds=2.0)
    running = threading.Thread(target=server.run, args=(prompt,))
    running.start()
    seen = set()
    while running.is_alive():
        found = server.get("/headroom/snapshot")["running_node"]
        if found is not None:
            seen.add((found["id"], found["type"]))
        time.sleep(0.1)
    running.join()
    assert ("tiny_kl.safetensors decode", "VAEDecode") in seen
    assert seen <= {(name, node["class_type"]) for name, node in prompt.items()}
    time.sleep(0.6)
    assert server.get("/headroom/snapshot")["running_node"] is None


# ---- what the browser may keep ----


def test_every_script_of_ours_is_asked_for_anew(server: ComfyServer):
    """ComfyUI says so for .js and .css alone; old modules under a new entry leave no panel, meter or report."""
    folder = Path(__file__).parents[2] / "js"
    names = [
        path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.suffix in {".js", ".mjs", ".css"}
    ]
    assert len(names) > 30
    kept = {}
    for name in names:
        with urllib.request.urlopen(f"{server.url}/extensions/ComfyUI-Headroom/{name}", timeout=60) as answer:
            kept[name] = answer.headers["Cache-Control"]
    assert {name: said for name, said in kept.items() if said not in {"no-cache", "no-store"}} == {}


# ---- one model ----


def test_one_model_goes_and_the_others_stay(server: ComfyServer):
    server.run(decode("tiny_kl.safetensors", "tiny_taesd.safetensors"))
    before = models(server)
    assert {"tiny_kl.safetensors", "tiny_taesd.safetensors"} <= set(before)
    status, answer = post(server, "/headroom/unload", {"model": before["tiny_kl.safetensors"]["id"]})
    after = models(server)
    assert (status, answer["models_before"] - answer["models_after"]) == (200, 1)
    assert set(before) - set(after) == {"tiny_kl.safetensors"}
    assert after["tiny_taesd.safetensors"]["id"] == before["tiny_taesd.safetensors"]["id"], "an id stays the same"
    # The prompt worker still works.
    assert server.run(decode("tiny_kl.safetensors")).status == "success"
    assert "tiny_kl.safetensors" in models(server)


def test_a_model_that_is_gone_is_said_to_be(server: ComfyServer):
    server.run(decode("tiny_kl.safetensors"))
    gone = models(server)["tiny_kl.safetensors"]["id"]
    assert post(server, "/headroom/unload", {})[0] == 200
    status, answer = post(server, "/headroom/unload", {"model": gone})
    assert (status, answer["code"]) == (404, "unknown_model")
    assert post(server, "/headroom/unload", {"model": {"a": 1}})[0] == 404


def test_one_model_stays_too_while_a_prompt_runs(server: ComfyServer):
    server.run(decode("tiny_taesd.safetensors"))
    model_id = models(server)["tiny_taesd.safetensors"]["id"]
    running = threading.Thread(target=server.run, args=(decode("tiny_kl.safetensors", seconds=2.0),))
    running.start()
    while not server.get("/headroom/snapshot")["host"]["running"]:
        time.sleep(0.05)
    status, answer = post(server, "/headroom/unload", {"model": model_id})
    running.join()
    assert (status, answer["code"]) == (409, "running")


def test_only_free_takes_no_model(server: ComfyServer):
    status, answer = post(server, "/headroom/free", {"model": "1"})
    assert (status, answer["code"]) == (422, "unknown_field")
