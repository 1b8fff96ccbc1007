"""Who may not act, in the real ComfyUI started as people start it for their network; see test_snapshot_http too."""

from __future__ import annotations

import json
import threading
import time
import urllib.error
import urllib.request
from typing import Any

import pytest
from comfy_server import ComfyServer, Servers

ACTIONS = ["/headroom/unload", "/headroom/free", "/api/headroom/unload"]
LAN = "192.168.1.5:8188"


def post(server: ComfyServer, path: str, **headers: str) -> tuple[int, str | None]:
    """Status and code of a POST with our headers and these."""
    sent = {"Content-Type": "application/json", "X-Headroom": "1", **headers}
    request = urllib.request.Request(server.url + path, b"{}", {name: value for name, value in sent.items() if value})
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.status, json.loads(answer.read()).get("code")
    except urllib.error.HTTPError as error:
        return error.code, json.loads(error.read() or b"{}").get("code")


@pytest.fixture(scope="module", params=["--enable-cors-header", "--listen"])
def open_server(request: pytest.FixtureRequest, servers: Servers) -> ComfyServer:
    """One that answers every page, and one that answers the network."""
    return servers.get(request.param)


@pytest.mark.parametrize("path", ACTIONS)
@pytest.mark.parametrize(
    ("sent_to", "origin"),
    [
        (LAN, "https://evil.example"),
        (LAN, "http://192.168.1.5:9999"),
        (LAN, "http://192.168.1.6:8188"),
        (LAN, "null"),
        ("evil.example", "https://other.example"),
    ],
)
def test_a_page_of_another_server_does_nothing(open_server: ComfyServer, path: str, sent_to: str, origin: str):
    assert post(open_server, path, Host=sent_to, Origin=origin) == (403, "origin")


@pytest.mark.parametrize("path", ACTIONS)
def test_a_form_of_another_page_has_no_such_header(open_server: ComfyServer, path: str):
    """A form, or a script without permission, cannot send it."""
    assert post(open_server, path, **{"X-Headroom": ""}) == (403, "header")
    plain = {"Content-Type": "text/plain"}
    assert post(open_server, path, **plain) == (400, "content_type")


def test_the_servers_own_page_acts_over_the_network(open_server: ComfyServer):
    assert post(open_server, "/headroom/free", Host=LAN, Origin=f"http://{LAN}") == (200, None)


def test_nothing_is_done_by_a_look(open_server: ComfyServer):
    """A picture's address in a page of another server is a GET."""
    for path in ACTIONS:
        with pytest.raises(urllib.error.HTTPError) as error:
            open_server.get(path)
        assert error.value.code in {404, 405}


def test_nothing_is_done_while_a_prompt_runs(open_server: ComfyServer):
    fault = {"oom_above": 0, "nan_items": "", "nan_call": -1, "no_weights": False, "known_file": True}
    seconds = 1.5 + time.monotonic_ns() % 10**6 / 10**9
    prompt: dict[str, Any] = {
        "latent": {"class_type": "EmptyLatentImage", "inputs": {"width": 64, "height": 64, "batch_size": 1}},
        "vae": {"class_type": "VAELoader", "inputs": {"vae_name": "tiny_kl.safetensors"}},
        "slow": {"class_type": "TestFaultyVAE", "inputs": {"vae": ["vae", 0], **fault, "seconds": seconds}},
        "decode": {"class_type": "VAEDecode", "inputs": {"samples": ["latent", 0], "vae": ["slow", 0]}},
        "image": {"class_type": "SaveImage", "inputs": {"images": ["decode", 0], "filename_prefix": "x"}},
    }
    thread = threading.Thread(target=open_server.run, args=(prompt,))
    thread.start()
    deadline = time.monotonic() + 60
    while "decode" not in [node["id"] for node in ((open_server.get("/headroom/run")["run"] or {}).get("nodes", ()))]:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    answers = [post(open_server, path) for path in ACTIONS]
    thread.join()
    assert answers == [(409, "running")] * len(ACTIONS)
    # What was refused is not done later either.
    time.sleep(0.6)
    assert open_server.get("/headroom/snapshot")["models"] != []
