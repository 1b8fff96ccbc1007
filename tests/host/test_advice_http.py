"""``GET /headroom/advice`` of the real ComfyUI: exactly the rules that fit how it was started, and no other.

Only flags that go with ``--cpu`` can be started here; one server per line, with a model loaded.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import hostkit
import pytest
from comfy_server import ComfyServer, Servers

LINES: dict[str, list[str]] = {
    "--cpu-vae --fp16-vae": ["cpu-vae-fp16"],
    "--force-fp32 --fp16-unet": ["force-fp32-low-unet"],
    "--reserve-vram -1": ["reserve-negative"],
    "--reserve-vram nan --force-fp16 --fp32-unet": ["reserve-nan", "force-fp16-wide-unet"],
    "--vram-headroom 2 --fast-disk --async-offload 2 --disable-async-offload": ["async-both", "headroom-static"],
    "--force-fp16 --fp8_e4m3fn-unet --fp16-intermediates": ["force-fp16-beats-fp8", "fp16-intermediates-inf"],
    # What many people give, and what says nothing wrong.
    "--bf16-vae --reserve-vram 2 --use-split-cross-attention --cache-none --preview-method auto": [],
}
PASTED = "--force-fp32 --fp16-unet"


def loaded() -> dict[str, Any]:
    """A picture from a small SD model: UNet, VAE and no text encoder."""
    sampler = {"seed": 1, "steps": 1, "cfg": 1.0, "sampler_name": "euler", "scheduler": "normal", "denoise": 1.0}
    links = {"model": ["unet", 0], "positive": ["cond", 0], "negative": ["cond", 0], "latent_image": ["latent", 0]}
    return {
        "unet": {
            "class_type": "UNETLoader",
            "inputs": {"unet_name": "tiny_sd20.safetensors", "weight_dtype": "default"},
        },
        "cond": {"class_type": "LotusConditioning", "inputs": {}},
        "latent": {"class_type": "EmptyLatentImage", "inputs": {"width": 64, "height": 64, "batch_size": 1}},
        "sample": {"class_type": "KSampler", "inputs": {**sampler, **links}},
        "vae": {"class_type": "VAELoader", "inputs": {"vae_name": "tiny_kl.safetensors"}},
        "decode": {"class_type": "VAEDecode", "inputs": {"samples": ["sample", 0], "vae": ["vae", 0]}},
        "image": {"class_type": "SaveImage", "inputs": {"images": ["decode", 0], "filename_prefix": "x"}},
    }


def advice(server: ComfyServer) -> list[dict[str, Any]]:
    """Of a snapshot that was taken after now."""
    time.sleep(0.6)
    return server.get("/headroom/advice")["advice"]


def ids(server: ComfyServer) -> list[str]:
    return [one["id"] for one in advice(server)]


@pytest.fixture(params=LINES, ids=lambda line: line.replace(" ", "_"))
def started(
    request: pytest.FixtureRequest, servers: Servers, tmp_path_factory: Any
) -> Iterator[tuple[str, ComfyServer]]:
    """A host that goes when its line has been looked at: seven at a time are a lot for a small machine."""
    if request.param == PASTED:
        yield request.param, servers.get(*PASTED.split())
        return
    pool = Servers(servers.host, tmp_path_factory.mktemp("advice"))
    yield request.param, pool.get(*request.param.split())
    pool.close()


def test_with_cpu_alone_nothing_is_said(server: ComfyServer):
    assert server.run(loaded()).status == "success"
    found = server.get("/headroom/snapshot")
    assert {"diffusion", "vae"} <= {model["kind"] for model in found["models"]}
    assert ids(server) == []


def test_exactly_the_rules_that_fit(started: tuple[str, ComfyServer]):
    line, server = started
    assert ids(server) == LINES[line]
    # Neither does a loaded model bring one that is none, and what is said holds with it.
    fp16_on_the_cpu = "fp16-vae" in line or "force-fp16" in line or "fp16-intermediates" in line
    if not fp16_on_the_cpu:  # there it takes minutes
        assert server.run(loaded()).status == "success"
        assert ids(server) == LINES[line]
    for one in advice(server):
        assert one["title"]
        assert one["check"]
        assert str(Path(server.base)) not in str(one)


def test_what_is_to_be_pasted_starts_without_the_rule(servers: Servers, host: hostkit.Host, tmp_path: Path):
    """The fix is followed as it is given: the words of the new start line, and then nothing is said any more."""
    (one,) = advice(servers.get(*PASTED.split()))
    words = one["command"].split()
    kept = tuple(word for word in PASTED.split() if word in words)
    assert kept == ("--fp16-unet",)
    pool = Servers(host, tmp_path)
    try:
        assert ids(pool.get(*kept)) == []
    finally:
        pool.close()
