"""What other browsers hear of a run that is not theirs: nothing."""

from __future__ import annotations

import asyncio
import json
import time
from typing import Any

from comfy_server import ComfyServer

BAD = {
    "1": {"class_type": "LoadLatent", "inputs": {"latent": "video_nan_frame_2.latent"}},
    "2": {"class_type": "HeadroomLatentGuard", "inputs": {"samples": ["1", 0]}},
    "3": {"class_type": "SaveLatent", "inputs": {"samples": ["2", 0], "filename_prefix": "x"}},
}


def test_the_run_of_a_script_puts_no_report_on_the_nodes_of_an_open_browser(server: ComfyServer) -> None:
    """A prompt without a client is nobody's; the host sends its own events of it to nobody too."""
    heard = asyncio.run(_heard_by_another(server))
    assert "status" in heard, "the other browser is connected"
    assert "headroom.report" not in heard


async def _heard_by_another(server: ComfyServer) -> list[str]:
    import aiohttp

    names: list[str] = []
    async with aiohttp.ClientSession() as session, session.ws_connect(f"{server.url}/ws?clientId=another") as socket:
        queued = await asyncio.to_thread(server.post, "/prompt", {"prompt": BAD})
        ended = asyncio.create_task(_ended(server, queued["prompt_id"]))
        until = time.monotonic() + 60
        while time.monotonic() < until:
            try:
                message = await socket.receive(timeout=0.5)
            except asyncio.TimeoutError:
                if ended.done():
                    break
                continue
            if message.type is aiohttp.WSMsgType.TEXT:
                names.append(json.loads(message.data)["type"])
        assert (await ended)["status"]["status_str"] == "error"
    return names


async def _ended(server: ComfyServer, prompt_id: str) -> dict[str, Any]:
    while True:
        history = await asyncio.to_thread(server.get, f"/history/{prompt_id}")
        if prompt_id in history:
            return history[prompt_id]
        await asyncio.sleep(0.1)


def test_a_report_says_of_which_class_its_node_is(server: ComfyServer) -> None:
    """Another workflow can be open than the one that runs, with another node under the same id."""
    run = server.run(BAD)
    sent = [data for name, data in run.events if name == "headroom.report"]
    assert [(data["node"], data["type"]) for data in sent] == [("2", "HeadroomLatentGuard")]
