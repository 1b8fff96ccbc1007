"""The record of a run and of what it failed with, in the real ComfyUI over HTTP."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from comfy_server import ComfyServer, Servers

GIB, MIB = 2**30, 2**20


def decode(seconds: float = 0.0, oom_above: int = 0, decoder: str = "VAEDecode", **inputs: Any) -> dict[str, Any]:
    """A batch of two latents through a VAE that is slow or runs out of memory, into pictures."""
    # Never the same twice, or the host would take its result from the cache.
    seconds += time.monotonic_ns() % 10**6 / 10**9
    fault = {"nan_items": "", "nan_call": -1, "no_weights": False, "known_file": True}
    fault |= {"oom_above": oom_above, "seconds": seconds}
    return {
        "latent": {"class_type": "EmptyLatentImage", "inputs": {"width": 64, "height": 64, "batch_size": 2}},
        "vae": {"class_type": "VAELoader", "inputs": {"vae_name": "tiny_kl.safetensors"}},
        "faulty": {"class_type": "TestFaultyVAE", "inputs": {"vae": ["vae", 0], **fault}},
        "decode": {"class_type": decoder, "inputs": {"samples": ["latent", 0], "vae": ["faulty", 0], **inputs}},
        "image": {"class_type": "SaveImage", "inputs": {"images": ["decode", 0], "filename_prefix": "x"}},
    }


def fresh(server: ComfyServer) -> dict[str, Any]:
    """A snapshot that was taken after now."""
    now = time.time()
    while True:
        found = server.get("/headroom/snapshot")
        if found["taken_at"] > now:
            return found
        time.sleep(0.1)


def without_models(server: ComfyServer) -> None:
    """Other tests have left models loaded; the host lets go of them in its own time."""
    server.post("/free", {"unload_models": True, "free_memory": True})
    deadline = time.monotonic() + 30
    while fresh(server)["models"]:
        assert time.monotonic() < deadline, "the models stay loaded"


def run_of(server: ComfyServer) -> dict[str, Any]:
    return server.get("/headroom/run")["run"]


def test_a_run_is_told_node_by_node(server: ComfyServer):
    done = server.run(decode(seconds=0.2))
    assert done.status == "success"
    run = run_of(server)
    assert (run["prompt_id"], run["state"], run["nodes_left_out"]) == (done.prompt_id, "finished", 0)
    assert time.time() - 60 < run["began_at"] < time.time()
    nodes = {node["id"]: node for node in run["nodes"]}
    assert nodes["decode"]["type"] == "VAEDecode"
    assert 0.2 <= nodes["decode"]["seconds"] <= run["seconds"]
    assert MIB < nodes["decode"]["ram_bytes"] < 64 * GIB
    # The nodes run one after the other.
    assert 0.9 * run["seconds"] < sum(node["seconds"] for node in run["nodes"]) <= run["seconds"]
    assert {node["state"] for node in run["nodes"]} == {"finished"}
    # No GPU here: unknown, not zero.
    assert run["vram_peak_bytes"] is None
    assert set(run["cached"]) | set(nodes) == {"latent", "vae", "faulty", "decode", "image"}


def test_what_comes_from_the_cache_is_named(server: ComfyServer):
    prompt = decode()
    server.run(prompt)
    done = server.run(prompt)
    run = run_of(server)
    assert (run["prompt_id"], run["nodes"]) == (done.prompt_id, [])
    assert sorted(run["cached"]) == ["decode", "faulty", "image", "latent", "vae"]


def test_a_run_is_told_while_it_goes_on(server: ComfyServer):
    server.post("/prompt", {"prompt": decode(seconds=1.5)})
    deadline = time.monotonic() + 30
    while True:
        run = run_of(server)
        running = [node["id"] for node in run["nodes"] if node["state"] == "running"]
        if run["state"] == "running" and running == ["decode"]:
            break
        assert time.monotonic() < deadline, run
        time.sleep(0.05)
    while server.get("/queue")["queue_running"]:
        time.sleep(0.05)
    assert run_of(server)["state"] == "finished"


def test_an_interrupted_run_is_no_failure(server: ComfyServer):
    server.run(decode(seconds=2.0), interrupt_on="executing")
    run = run_of(server)
    assert run["state"] == "interrupted"
    assert run["nodes"][-1]["state"] == "interrupted"
    found = fresh(server)
    assert (found["failure"], found["last_run"]["finished"], found["last_run"]["error"]) == (None, True, None)


def test_an_out_of_memory_is_told_with_what_was_loaded_then(server: ComfyServer):
    """By the time that the browser hears of it ComfyUI has unloaded every model (execution.py 0.30.0)."""
    without_models(server)
    done = server.run(decode(oom_above=1))
    assert done.error["exception_type"] == "torch.OutOfMemoryError"
    found = fresh(server)
    failure = found["failure"]
    assert found["models"] == []
    # ComfyUI has first tried again in tiles by itself, with the same end.
    assert [model["name"] for model in failure["models"]] == ["tiny_kl.safetensors"]
    assert failure["models"][0]["resident_bytes"] > MIB
    assert (failure["kind"], failure["memory"]) == ("out-of-memory", "vram")
    assert (failure["node_id"], failure["node_type"]) == ("decode", "VAEDecode")
    assert (failure["asked_bytes"], failure["free_bytes"]) == (int(3.1 * GIB), int(1.9 * GIB))
    assert failure["message"].startswith("CUDA out of memory. Tried to allocate 3.10 GiB.")
    assert [device["kind"] for device in failure["devices"]] == ["cpu"]
    assert failure["ram"]["total_bytes"] == found["ram"]["total_bytes"]
    assert time.time() - 60 < failure["at"] < time.time()
    assert failure["running_seconds"] > 0
    assert [fix["id"] for fix in failure["fixes"]] == ["safe-decode", "smaller-batch", "smaller-size"]
    assert failure["fixes"][1]["params"] == {"batch": 2, "smaller": 1}
    assert found["last_run"]["error"] == failure["message"]
    run = run_of(server)
    assert (run["state"], run["nodes"][-1]["id"], run["nodes"][-1]["state"]) == ("error", "decode", "error")


def test_it_is_kept_until_the_next_run_begins(server: ComfyServer):
    server.run(decode(oom_above=1))
    assert fresh(server)["failure"] is not None
    server.run(decode())
    found = fresh(server)
    assert (found["failure"], found["last_run"]["error"]) == (None, None)


def test_a_failure_brings_no_advice_by_itself(server: ComfyServer):
    server.run(decode(oom_above=1))
    fresh(server)
    assert server.get("/headroom/advice") == {"advice": []}


def test_a_nan_that_a_guard_stops_is_told_as_one(server: ComfyServer):
    prompt = decode()
    prompt["nan"] = {"class_type": "TestNanLatent", "inputs": {"samples": ["latent", 0], "place": "0,1,2,3"}}
    prompt["guard"] = {"class_type": "HeadroomLatentGuard", "inputs": {"samples": ["nan", 0], "mode": "stop the run"}}
    prompt["decode"]["inputs"]["samples"] = ["guard", 0]
    done = server.run(prompt)
    assert done.status == "error", "the guard's default is to stop the run"
    failure = fresh(server)["failure"]
    assert (failure["kind"], failure["memory"], failure["node_type"]) == ("nan", None, "HeadroomLatentGuard")
    assert failure["fixes"][0]["id"] == "nan-model-guard"


def test_another_error_is_told_without_a_fix_and_without_a_path(server: ComfyServer):
    prompt = decode()
    prompt["vae"]["inputs"]["vae_name"] = "tiny_kl.safetensors"
    prompt["faulty"]["inputs"]["no_weights"] = True
    assert server.run(prompt).status == "error"
    failure = fresh(server)["failure"]
    assert (failure["kind"], failure["fixes"]) == ("other", [])
    assert str(server.base) not in json.dumps(failure)


@pytest.mark.parametrize(
    "flags", [("--cache-none",), ("--cpu-vae", "--verbose", "CRITICAL")], ids=["no cache", "silent"]
)
def test_it_is_told_under_other_flags_too(servers: Servers, flags: tuple[str, ...]):
    """``--cache-none`` has no cache to provide for; ``--verbose CRITICAL`` writes no record of the error."""
    server = servers.get(*flags)
    server.run(decode(oom_above=1))
    found = fresh(server)
    failure = found["failure"]
    assert (failure["kind"], failure["node_id"], failure["asked_bytes"]) == ("out-of-memory", "decode", int(3.1 * GIB))
    assert run_of(server)["state"] == "error"
    silent = "--verbose" in flags
    assert bool(failure["models"]) is not silent
    assert bool(failure["devices"]) is not silent


# ---- nodes that run side by side ----


def side_by_side(first: dict[str, Any], second: dict[str, Any]) -> dict[str, Any]:
    """Two asynchronous nodes, of which the second begins 0.1 s later: the host begins what is ready in any order."""
    number = time.monotonic_ns()
    waits = {"error": "", "number": number}
    return {
        "before": {"class_type": "TestWaits", "inputs": {**waits, "seconds": 0.1}},
        "first": {"class_type": "TestWaits", "inputs": {**waits, "number": number + 1, **first}},
        "second": {"class_type": "TestWaitsToo", "inputs": {**waits, "after": ["before", 0], **second}},
    }


@pytest.mark.parametrize(("raiser", "kind"), [("first", "TestWaits"), ("second", "TestWaitsToo")])
def test_of_nodes_side_by_side_the_one_that_raised_is_blamed(server: ComfyServer, raiser: str, kind: str):
    """The host does not say when an asynchronous node goes on: the one that began last looked like the one that ran."""
    fault = {"seconds": 0.5, "error": "CUDA out of memory. Tried to allocate 2.00 GiB."}
    sound = {"seconds": 2.0}
    done = server.run(side_by_side(*((fault, sound) if raiser == "first" else (sound, fault))))
    assert (done.status, done.error["node_id"]) == ("error", raiser)
    assert [node["id"] for node in run_of(server)["nodes"]][-1] == "second"
    found = fresh(server)
    failure = found["failure"]
    assert (failure["node_id"], failure["node_type"]) == (raiser, kind)
    assert (failure["kind"], failure["asked_bytes"]) == ("out-of-memory", 2 * GIB)
    assert failure["devices"] != [], "the readings of that moment are kept"
    # How long it has run is known of the one that began last; of another it is unknown, and not what that one took.
    assert (failure["running_seconds"] is not None) == (raiser == "second")
    assert found["last_run"]["error"] == failure["message"]


def test_nodes_side_by_side_have_each_their_own_time(server: ComfyServer):
    done = server.run(side_by_side({"seconds": 1.0}, {"seconds": 0.4}))
    assert done.status == "success"
    run = run_of(server)
    times = {node["id"]: node["seconds"] for node in run["nodes"]}
    assert 1.0 <= times["first"] <= run["seconds"]
    assert 0.4 <= times["second"] < times["first"]
    assert {node["state"] for node in run["nodes"]} == {"finished"}
