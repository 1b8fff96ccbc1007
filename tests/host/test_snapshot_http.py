"""The snapshot and the actions in the real ComfyUI over HTTP: what is shown, and who may act when."""

from __future__ import annotations

import json
import re
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import hostkit
import pytest
from comfy_server import ComfyServer, Servers

if TYPE_CHECKING:
    from fakes.nvml.build import FakeDriver

MIB = 2**20
OURS = {"Content-Type": "application/json", "X-Headroom": "1"}
ACTIONS = ["/headroom/unload", "/headroom/free"]
ABSOLUTE = re.compile(r"(?:^|[\s=,\"'])(?:/|\\\\|[A-Za-z]:[\\/](?!/))")


def decode(seconds: float = 0.0, prefix: str = "x") -> dict[str, Any]:
    """A latent through a VAE that takes its time, into a picture."""
    fault = {"oom_above": 0, "nan_items": "", "nan_call": -1, "no_weights": False, "known_file": True}
    return {
        "latent": {"class_type": "EmptyLatentImage", "inputs": {"width": 64, "height": 64, "batch_size": 1}},
        "vae": {"class_type": "VAELoader", "inputs": {"vae_name": "tiny_kl.safetensors"}},
        "slow": {"class_type": "TestFaultyVAE", "inputs": {"vae": ["vae", 0], **fault, "seconds": seconds}},
        "decode": {"class_type": "VAEDecode", "inputs": {"samples": ["latent", 0], "vae": ["slow", 0]}},
        "image": {"class_type": "SaveImage", "inputs": {"images": ["decode", 0], "filename_prefix": prefix}},
    }


def post(server: ComfyServer, path: str, data: bytes = b"{}", **headers: str) -> tuple[int, dict[str, Any]]:
    """Status and JSON of a POST with exactly these headers beside ours; an empty one is left out."""
    sent = {**OURS, **{name.replace("_", "-"): value for name, value in headers.items()}}
    request = urllib.request.Request(server.url + path, data, {name: value for name, value in sent.items() if value})
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.status, json.loads(answer.read())
    except urllib.error.HTTPError as error:
        return error.code, json.loads(error.read() or b"{}")


def texts(found: Any) -> Iterator[str]:
    """Every text in a JSON value."""
    if isinstance(found, str):
        yield found
    elif isinstance(found, list | dict):
        for one in found if isinstance(found, list) else [*found, *found.values()]:
            yield from texts(one)


class Running:
    """A prompt that is being executed until the block ends, and what the server says meanwhile."""

    def __init__(self, server: ComfyServer, seconds: float) -> None:
        self.server = server
        # Another time each run, or the host would take its result from the cache.
        prompt = decode(seconds + time.monotonic_ns() % 10**6 / 10**9)
        self._thread = threading.Thread(target=server.run, args=(prompt,))

    def __enter__(self) -> None:
        self._thread.start()
        deadline = time.monotonic() + 60
        while not self.server.get("/headroom/snapshot")["host"]["running"]:
            assert time.monotonic() < deadline, "the prompt never started"
            time.sleep(0.05)

    def __exit__(self, *_: object) -> None:
        self._thread.join()


# ---- what is shown ----


def test_after_a_run_the_loaded_model_is_there(server: ComfyServer):
    assert server.run(decode()).status == "success"
    found = server.get("/headroom/snapshot")
    model = next(one for one in found["models"] if one["name"] == "tiny_kl.safetensors")
    assert (model["kind"], model["class_name"], model["dtype"]) == ("vae", "AutoencoderKL", "fp32")
    assert (model["device"], model["dynamic"], model["gguf"]) == ("cpu", False, False)
    assert model["size_bytes"] == model["resident_bytes"] > MIB
    assert (found["host"]["running"], found["last_run"]["finished"]) == (False, True)


def test_the_host_is_what_it_says_itself(server: ComfyServer, host: hostkit.Host):
    found, own = server.get("/headroom/snapshot"), server.get("/system_stats")["system"]
    assert found["host"]["version"] == own["comfyui_version"] == host.version
    assert found["host"]["versions"]["torch"] == own["pytorch_version"]
    assert (found["host"]["dynamic_vram"], found["host"]["dynamic_vram_reason"]) == (False, None)
    assert (found["host"]["vram_state"], found["host"]["cache"], found["host"]["streams"]) == ("DISABLED", "ram", 0)
    assert {"--cpu", "--base-directory"} <= set(found["host"]["flags"])
    assert found["host"]["args"]["cpu"] is True
    assert found["ram"]["machine_bytes"] == own["ram_total"]
    assert 0 < found["ram"]["own_bytes"] < found["ram"]["total_bytes"]


def test_a_host_on_the_cpu_has_one_device_that_shares_the_ram(server: ComfyServer):
    found = server.get("/headroom/snapshot")
    (device,) = found["devices"]
    assert (device["kind"], device["unified"], device["total_bytes"]) == ("cpu", True, found["ram"]["total_bytes"])


def test_without_a_cause_there_is_no_advice(server: ComfyServer):
    assert server.get("/headroom/advice") == {"advice": []}


def test_the_routes_are_there_under_the_other_prefix_too(server: ComfyServer):
    assert server.get("/api/headroom/snapshot")["host"]["version"]


def test_no_answer_names_a_folder(server: ComfyServer):
    """Its own base directory, the models' and the home are all on the command line."""
    found = server.get("/headroom/snapshot")
    faults = [text for text in texts(found) if ABSOLUTE.search(text) or str(Path.home()) in text]
    assert faults == []
    assert str(server.base.parent) not in json.dumps(found)


def test_it_goes_on_answering_while_a_prompt_runs(server: ComfyServer):
    seen = []
    with Running(server, seconds=2.0):
        for _ in range(5):
            found = server.get("/headroom/snapshot")
            seen.append((found["host"]["running"], found["taken_at"]))
            time.sleep(0.3)
    assert [running for running, _ in seen[:3]] == [True] * 3
    assert len({taken for _, taken in seen}) > 1


# ---- the driver ----


@pytest.fixture(scope="module")
def with_driver(
    servers: Servers, compiled_driver: FakeDriver, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[ComfyServer, FakeDriver]]:
    """A host of its own whose NVIDIA driver is the fake one, through the real nvidia-ml-py."""
    from fakes.nvml.build import FakeDriver

    folder = tmp_path_factory.mktemp("driver")
    driver = FakeDriver(compiled_driver.library, folder / "scenario")
    driver.play("two_cards")
    pool = Servers(servers.host, folder)
    with pytest.MonkeyPatch.context() as patch:
        for name, value in driver.environment().items():
            patch.setenv(name, value)
        running = pool.get()
    yield running, driver
    pool.close()


def fresh(server: ComfyServer) -> dict[str, Any]:
    """A snapshot that was taken after now."""
    now = time.time()
    while True:
        found = server.get("/headroom/snapshot")
        if found["taken_at"] > now:
            return found
        time.sleep(0.1)


def test_the_real_binding_shows_two_cards_with_their_own_figures(with_driver: tuple[ComfyServer, FakeDriver]):
    """MEM-07: different used -> different values. ComfyUI runs on the CPU here, so it uses neither."""
    server, driver = with_driver
    driver.play("two_cards")
    cards = fresh(server)["unused_devices"]
    assert [(card["name"], card["used_bytes"] // MIB, card["temperature_celsius"]) for card in cards] == [
        ("NVIDIA GeForce RTX 3060", 2048 + 256, 40.0),
        ("NVIDIA GeForce RTX 4090", 12288 + 512, 61.0),
    ]


def test_a_lost_card_comes_back_and_no_scenario_stops_the_answers(with_driver: tuple[ComfyServer, FakeDriver]):
    server, driver = with_driver
    for scenario in ("healthy", "gb10", "mig", "mig_denied", "bad_name", "no_process_memory", "host_pids", "idle"):
        driver.play(scenario)
        assert len(fresh(server)["unused_devices"]) == 1, scenario
    driver.play("lost")
    (card,) = fresh(server)["unused_devices"]
    assert (card["temperature_celsius"], card["reasons"]["device"]) == (None, "the driver has lost the card")
    driver.play("healthy")
    (card,) = fresh(server)["unused_devices"]
    assert (card["temperature_celsius"], card["reasons"]) == (61.0, {})


def test_programs_are_shown_by_name_alone(with_driver: tuple[ComfyServer, FakeDriver]):
    """The driver tells a whole command line, with a folder in it."""
    server, driver = with_driver
    driver.play("healthy")
    text = json.dumps(fresh(server))
    assert "ollama" in text
    assert "alice" not in text
    assert "/usr" not in text


# ---- the actions ----


def test_unloading_lets_every_model_go(server: ComfyServer):
    server.run(decode(prefix="before unloading"))
    status, answer = post(server, "/headroom/unload")
    assert (status, answer["models_before"] > 0, answer["models_after"]) == (200, True, 0)
    assert fresh(server)["models"] == []


def test_freeing_drops_the_kept_outputs_and_leaves_models(server: ComfyServer):
    prompt = decode(prefix="before freeing")
    server.run(prompt)
    assert "decode" in cached(server, prompt)
    status, answer = post(server, "/headroom/free")
    assert (status, answer["models_after"]) == (200, answer["models_before"])
    assert cached(server, prompt) == []


def cached(server: ComfyServer, prompt: dict[str, Any]) -> list[str]:
    """Nodes that the host did not run again."""
    run = server.run(prompt)
    return next(data["nodes"] for name, data in run.events if name == "execution_cached")


@pytest.mark.parametrize("path", ACTIONS)
def test_nothing_is_done_while_a_prompt_runs(server: ComfyServer, path: str):
    with Running(server, seconds=1.5):
        status, answer = post(server, path)
    assert (status, answer["code"]) == (409, "running")


@pytest.mark.parametrize("path", ACTIONS)
@pytest.mark.parametrize(
    ("headers", "status", "code"),
    [
        ({"Origin": "https://evil.example"}, 403, None),
        ({"Origin": "https://evil.example", "Host": "192.168.1.5:8188"}, 403, "origin"),
        ({"Origin": "http://192.168.1.5:9999", "Host": "192.168.1.5:8188"}, 403, "origin"),
        ({"Origin": "null", "Host": "192.168.1.5:8188"}, 403, "origin"),
        ({"Sec_Fetch_Site": "same-site"}, 403, "origin"),
        ({"X_Headroom": ""}, 403, "header"),
        ({"X_Headroom": "yes"}, 403, "header"),
        ({"Content_Type": "text/plain"}, 400, "content_type"),
        ({"Content_Type": "application/x-www-form-urlencoded"}, 400, "content_type"),
    ],
)
def test_a_request_of_another_page_is_refused(
    server: ComfyServer, path: str, headers: dict[str, str], status: int, code: str | None
):
    found = post(server, path, **headers)
    assert (found[0], found[1].get("code")) == (status, code), found


@pytest.mark.parametrize("origin", ["https://evil.example", "null"])
def test_it_is_refused_too_where_the_hosts_own_check_is_off(servers: Servers, origin: str):
    """``--enable-cors-header`` answers every page; ComfyUI's own check is then not there at all."""
    open_to_all = servers.get("--enable-cors-header")
    assert post(open_to_all, "/headroom/unload", Origin=origin)[1]["code"] == "origin"
    assert post(open_to_all, "/headroom/unload", Origin=open_to_all.url)[0] == 200


def test_the_page_that_the_server_served_may_act(server: ComfyServer):
    assert post(server, "/headroom/free", Origin=server.url, Sec_Fetch_Site="same-origin")[0] == 200


@pytest.mark.parametrize("path", ACTIONS)
@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        (b"", 200, None),
        (b"not json", 400, "json"),
        (b"[" * 60000, 400, "json"),
        (b"[]", 422, "object"),
        (b'{"models": []}', 422, "unknown_field"),
        (b'{"x": "' + b"y" * 65536 + b'"}', 413, "too_large"),
    ],
)
def test_a_body_that_is_not_understood_does_nothing(
    server: ComfyServer, path: str, body: bytes, status: int, code: str | None
):
    found = post(server, path, body)
    assert (found[0], found[1].get("code")) == (status, code), found
