"""ComfyUI killed in the middle of a prompt, over HTTP: the next start says so, with the right node, and only there."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import hostkit
import pytest
from comfy_server import ComfyServer, Servers

GIB = 2**30


def prompt(seconds: float) -> dict[str, Any]:
    """A latent through a VAE that takes its time, into a picture."""
    fault = {"oom_above": 0, "nan_items": "", "nan_call": -1, "no_weights": False, "known_file": False}
    return {
        "1": {"class_type": "EmptyLatentImage", "inputs": {"width": 64, "height": 64, "batch_size": 1}},
        "2": {"class_type": "VAELoader", "inputs": {"vae_name": "tiny_kl.safetensors"}},
        "3": {"class_type": "TestFaultyVAE", "inputs": {"vae": ["2", 0], **fault, "seconds": seconds}},
        "4": {"class_type": "VAEDecode", "inputs": {"samples": ["1", 0], "vae": ["3", 0]}},
        "5": {"class_type": "SaveImage", "inputs": {"images": ["4", 0], "filename_prefix": "x"}},
    }


def journals(server: ComfyServer) -> list[Path]:
    """The files that the marker has written; none while nothing runs."""
    return sorted((server.base / "user" / "__headroom").glob("*"))


def wait_for(condition: Any) -> None:
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def kill_in_the_decode(server: ComfyServer) -> None:
    """Queues a prompt without a client id, as a script does, and ends the process once its decode runs."""
    server.post("/prompt", {"prompt": prompt(600.0)})
    wait_for(lambda: any(b"VAEDecode" in path.read_bytes() for path in journals(server)))
    server.process.kill()
    server.process.wait()


def last_run(server: ComfyServer) -> dict[str, Any] | None:
    return server.get("/headroom/snapshot")["last_run"]


@pytest.fixture(scope="module", params=[(), ("--cache-none",)], ids=["default cache", "no cache"])
def killed(request: pytest.FixtureRequest, host: hostkit.Host, tmp_path_factory: Any) -> Iterator[ComfyServer]:
    """A host that was killed in a decode, dead; what another folder does is none of its business."""
    pool = Servers(host, tmp_path_factory.mktemp("killed"))
    server = pool.get(*request.param)
    assert last_run(server) is None
    assert server.run(prompt(0.0)).status == "success"
    assert journals(server) == [], "between prompts there is no file"
    kill_in_the_decode(server)
    yield server
    pool.close()


def started_again(host: hostkit.Host, server: ComfyServer, port: int) -> ComfyServer:
    return ComfyServer(host, server.base, server.flags, port)


def test_the_next_start_names_the_node_and_a_finished_run_ends_it(host: hostkit.Host, killed: ComfyServer):
    """RAM-05, exit code 137: the log of a killed ComfyUI just stops."""
    assert len(journals(killed)) == 1
    again = started_again(host, killed, killed.port)
    try:
        found = last_run(again)
        assert found is not None
        assert (found["finished"], found["node"], found["oom_kills_rose"]) == (False, "VAEDecode #4", False)
        assert 0.05 * GIB < found["ram_bytes"] < 20 * GIB
        assert time.time() - 600 < found["ended_at"] < time.time()
        assert "last-run-unfinished" in [one["id"] for one in again.get("/headroom/advice")["advice"]]
        assert again.run(prompt(0.0)).status == "success"
        found = last_run(again)
        assert found is not None
        assert (found["finished"], found["node"]) == (True, None)
        assert journals(again) == []
    finally:
        again.close()


def test_an_instance_on_another_port_has_nothing_to_do_with_it(host: hostkit.Host, servers: Servers):
    """Two instances can share the user's folder."""
    first = servers.get()
    left = first.base / "user" / "__headroom" / "run-1-1-1.jsonl"
    left.parent.mkdir(exist_ok=True)
    left.write_text('{"at": 1.0}\n{"node": "KSampler #3"}\n')
    assert first.run(prompt(0.0)).status == "success"
    found = last_run(first)
    assert found is not None
    assert found["finished"] is True
    assert left.exists()
    left.unlink()


def test_two_running_instances_with_one_folder_do_not_take_each_others_journal(servers: Servers, host: hostkit.Host):
    """The file of a running prompt is locked, so nobody takes its process for dead."""
    first = servers.get()
    first.post("/prompt", {"prompt": prompt(6.0 + time.monotonic() % 1)})
    wait_for(lambda: any(b"VAEDecode" in path.read_bytes() for path in journals(first)))
    (journal,) = journals(first)
    # The same name as another process on the same port would look for, in another container, say.
    beside = journal.with_name(f"run-{first.port}-1-1.jsonl")
    beside.write_bytes(journal.read_bytes())
    second = started_again(host, first, 0)
    try:
        assert last_run(second) is None
        assert second.run(prompt(0.0)).status == "success"
        assert {journal, beside} >= set(journals(first))
        assert beside in journals(first)
    finally:
        second.close()
        beside.unlink(missing_ok=True)


def test_a_run_that_fails_or_is_interrupted_has_ended(server: ComfyServer):
    bad = prompt(0.0)
    bad["3"]["inputs"]["no_weights"] = True
    assert server.run(bad).status == "error"
    found = last_run(server)
    assert found is not None
    assert found["finished"] is True
    assert server.run(prompt(3.0), interrupt_on="executing").status == "error"
    assert journals(server) == []


def test_every_prompt_of_a_queue_has_a_journal_of_its_own(server: ComfyServer):
    """The provider steps aside while nodes run, and comes back for the next one."""
    for number in range(3):
        server.post("/prompt", {"prompt": prompt(0.4 + number / 100)})
    names = set()

    def done() -> bool:
        names.update(path.name for path in journals(server))
        queue = server.get("/queue")
        return not queue["queue_running"] and not queue["queue_pending"]

    wait_for(done)
    assert len(names) == 3
    assert journals(server) == []
    assert "Cache provider" not in server.log()
