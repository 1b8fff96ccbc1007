"""What the routes say goes into issues and screenshots: no key, no user name, no home, no absolute path."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import hostkit
import pytest
import torch
from comfy_server import ComfyServer, Servers
from safetensors.torch import save_file

USER = "alice-q7x"
TOKEN = "hf_QwErTyUiOpAsDfGhJkLzXc"
PASSWORD = "pa55w0rd-q7x"
ABSOLUTE = re.compile(r"(?:^|[\s=,\"'(])(?:/|\\\\|[A-Za-z]:[\\/](?!/))")
#: Of the routes, as a page or a script asks them.
ROUTES = ("/headroom/snapshot", "/headroom/advice", "/headroom/run")


def texts(found: Any) -> Iterator[str]:
    """Every text in a JSON value, names of fields too."""
    if isinstance(found, str):
        yield found
    elif isinstance(found, list | dict):
        for one in found if isinstance(found, list) else [*found, *found.values()]:
            yield from texts(one)


@pytest.fixture(scope="module")
def started(host: hostkit.Host, servers: Servers, tmp_path_factory: Any) -> Iterator[ComfyServer]:
    """A host in the home of a user with a telling name, with a key and a password on its command line."""
    home = tmp_path_factory.mktemp("machine") / "home" / USER
    base = home / "AI stuff" / "ComfyUI"
    hostkit.link_pack(base / "custom_nodes", "ComfyUI-Headroom")
    (base / "custom_nodes" / "faulty_nodes").symlink_to(Path(__file__).parent.parent / "fakes" / "faulty_nodes")
    for folder in ("input", "output", "user/default", "models/vae", "models/diffusion_models"):
        (base / folder).mkdir(parents=True)
    (base / "models" / "vae" / "good.safetensors").symlink_to(servers.models / "vae" / "tiny_kl.safetensors")
    # Of no model that the host knows: its error names the whole path.
    save_file({"nothing.weight": torch.zeros(4, 4)}, base / "models" / "diffusion_models" / "odd.safetensors")
    flags = (
        *("--comfy-api-base", f"https://{USER}:{PASSWORD}@api.example.org/v1"),
        *("--feature-flag", f"api_key={TOKEN}", "--feature-flag", f"home=/home/{USER}/x"),
        *("--output-directory", str(base / "output"), "--reserve-vram", "-1"),
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOME", str(home))
        patch.setenv("USER", USER)
        server = ComfyServer(host, base, flags)
    yield server
    server.close()


def prompt(vae: str, **fault: Any) -> dict[str, Any]:
    faults = {"oom_above": 0, "nan_items": "", "nan_call": -1, "no_weights": False, "known_file": True, "seconds": 0.0}
    return {
        "latent": {"class_type": "EmptyLatentImage", "inputs": {"width": 64, "height": 64, "batch_size": 1}},
        "vae": {"class_type": "VAELoader", "inputs": {"vae_name": vae}},
        "faulty": {"class_type": "TestFaultyVAE", "inputs": {"vae": ["vae", 0], **faults, **fault}},
        "decode": {"class_type": "VAEDecode", "inputs": {"samples": ["latent", 0], "vae": ["faulty", 0]}},
        "image": {"class_type": "SaveImage", "inputs": {"images": ["decode", 0], "filename_prefix": "x"}},
    }


def answers(server: ComfyServer) -> dict[str, Any]:
    """What every route says, of a snapshot that was taken after now."""
    time.sleep(0.6)
    return {path: server.get(path) for path in ROUTES}


def check(server: ComfyServer, found: dict[str, Any]) -> None:
    """Nothing in it tells who and where."""
    for path, answer in found.items():
        for text in texts(answer):
            assert not ABSOLUTE.search(text), (path, text)
            for secret in (USER, TOKEN, PASSWORD, str(server.base)):
                assert secret not in text, (path, text)


def test_the_planted_words_are_where_a_program_sees_them(started: ComfyServer):
    """The check below means something: ComfyUI's own route shows all of them."""
    shown = json.dumps(started.get("/system_stats"))
    assert all(word in shown for word in (USER, TOKEN, PASSWORD, str(started.base)))


def test_as_it_starts(started: ComfyServer):
    found = answers(started)
    check(started, found)
    host = found["/headroom/snapshot"]["host"]
    assert "--comfy-api-base" in host["argv"]
    assert "https://***@api.example.org/v1" in host["argv"]
    assert [one["id"] for one in found["/headroom/advice"]["advice"]] == ["reserve-negative"]
    assert "--reserve-vram" not in found["/headroom/advice"]["advice"][0]["command"]


def test_after_a_run(started: ComfyServer):
    assert started.run(prompt("good.safetensors")).status == "success"
    found = answers(started)
    check(started, found)
    # Names of files are what a person needs, and stay.
    assert [model["name"] for model in found["/headroom/snapshot"]["models"]] == ["good.safetensors"]


def test_after_an_error_that_names_the_whole_path(started: ComfyServer):
    odd = prompt("good.safetensors")
    odd["unet"] = {"class_type": "UNETLoader", "inputs": {"unet_name": "odd.safetensors", "weight_dtype": "default"}}
    odd["state"] = {"class_type": "TestModelState", "inputs": {"model": ["unet", 0]}}
    done = started.run(odd)
    assert str(started.base) in done.error["exception_message"]
    found = answers(started)
    check(started, found)
    assert "odd.safetensors" in found["/headroom/snapshot"]["failure"]["message"]


def test_after_an_out_of_memory(started: ComfyServer):
    assert started.run(prompt("good.safetensors", oom_above=1)).status == "error"
    found = answers(started)
    check(started, found)
    assert found["/headroom/snapshot"]["failure"]["kind"] == "out-of-memory"
