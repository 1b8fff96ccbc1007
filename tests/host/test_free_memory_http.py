"""Free Memory in the real ComfyUI over HTTP: its figures against the process's own, and what the host then does."""

from __future__ import annotations

from typing import Any

import psutil
from comfy_server import ComfyServer, Run

FREE = "HeadroomFreeMemory"
MIB = 2**20
#: What the resident set of the server may differ by between the node's reading and the test's: 0.1 MiB was measured;
#: the history entry, the websocket messages and the encoding of a 32 px preview lie between them.
TOLERANCE = 16 * MIB


def graph(free: str = "models not connected here", mib: int = 256, **options: Any) -> dict[str, Any]:
    """Two VAEs are loaded and used, then garbage of ``mib`` is left, then Free Memory is #7 on the picture's way."""
    return {
        "1": {"class_type": "LoadLatent", "inputs": {"latent": "one_sound.latent"}},
        "2": {"class_type": "VAELoader", "inputs": {"vae_name": "tiny_kl.safetensors"}},
        "3": {"class_type": "VAEDecode", "inputs": {"samples": ["1", 0], "vae": ["2", 0]}},
        "4": {"class_type": "TestGarbage", "inputs": {"anything": ["3", 0], "mib": mib}},
        "7": {"class_type": FREE, "inputs": {"anything": ["4", 0], "free": free, **options}},
        "8": {"class_type": "PreviewImage", "inputs": {"images": ["7", 0]}},
        "9": {"class_type": "PreviewAny", "inputs": {"source": ["7", 1]}},
    }


def resident(server: ComfyServer) -> int:
    """The server process's resident set, read from outside."""
    return psutil.Process(server.process.pid).memory_info().rss


def facts(run: Run) -> dict[str, Any]:
    assert run.status == "success", run.error.get("exception_message")
    return run.report("7")["facts"]


def unload(server: ComfyServer) -> None:
    """Every test starts with no model loaded and no output cached."""
    server.run(
        {"1": graph()["1"], "7": {"class_type": FREE, "inputs": {"anything": ["1", 0], "free": "host cache too"}}}
        | LAST
    )


LAST = {"9": {"class_type": "PreviewAny", "inputs": {"source": ["7", 1]}}}


def test_the_figures_agree_with_the_processs_own(server: ComfyServer) -> None:
    """256 MiB of garbage are held in a reference cycle, which only a garbage collection frees."""
    unload(server)
    run = server.run(graph(mib=256))
    after = resident(server)
    found = facts(run)
    assert abs(found["ram_after_bytes"] - after) < TOLERANCE
    assert abs(found["ram_before_bytes"] - found["ram_after_bytes"] - 256 * MIB) < TOLERANCE
    assert found["ram_freed_bytes"] == found["ram_before_bytes"] - found["ram_after_bytes"]
    report = run.report("7")
    assert report["level"] == "ok"
    assert report["title"].startswith("Freed 2")
    assert report["title"].endswith("\u00a0MiB RAM")


def test_on_the_cpu_unloading_a_model_claims_nothing(server: ComfyServer) -> None:
    """ladder.md A4: the resident set is 953 MiB before and after an eviction on the CPU."""
    unload(server)
    server.run({key: node for key, node in graph().items() if key in "123"} | {"8": preview("3")})
    loaded = resident(server)
    prompt = {key: node for key, node in graph("all models").items() if key != "4"}
    prompt["7"]["inputs"]["anything"] = ["3", 0]
    run = server.run(prompt)
    found = facts(run)
    (model,) = found["models"]
    assert (model["name"], model["device"]) == ("AutoencoderKL (tiny_kl.safetensors)", "cpu")
    assert (model["fate"], model["after_bytes"]) == ("unloaded", 0)
    assert model["size_bytes"] == model["before_bytes"] > 100 * MIB
    assert abs(found["ram_freed_bytes"]) < TOLERANCE
    assert resident(server) > loaded - TOLERANCE
    report = run.report("7")
    assert (report["level"], report["title"]) == ("info", "No RAM was freed")
    assert any("frees no RAM" in block.get("text", "") for block in report["blocks"])


def preview(source: str) -> dict[str, Any]:
    return {"class_type": "PreviewImage", "inputs": {"images": [source, 0]}}


def test_what_is_connected_stays_loaded_and_the_rest_goes(server: ComfyServer) -> None:
    unload(server)
    prompt = graph(vae=["2", 0], mib=1)
    prompt["10"] = {"class_type": "LoadLatent", "inputs": {"latent": "video_sound.latent"}}
    prompt["11"] = {"class_type": "VAELoader", "inputs": {"vae_name": "tiny_wan.safetensors"}}
    prompt["12"] = {"class_type": "VAEDecode", "inputs": {"samples": ["10", 0], "vae": ["11", 0]}}
    prompt["13"] = {"class_type": "ImageBatch", "inputs": {"image1": ["3", 0], "image2": ["12", 0]}}
    prompt["4"]["inputs"]["anything"] = ["13", 0]
    run = server.run(prompt)
    fates = {model["name"].partition(" ")[0]: model["fate"] for model in facts(run)["models"]}
    assert fates == {"AutoencoderKL": "kept", "WanVAE": "unloaded"}
    assert "kept: connected to vae" in run.outputs["9"]["text"][0]


def test_the_vae_that_passes_through_stays_and_still_decodes(server: ComfyServer) -> None:
    """The output takes the type of the input: it links to a VAE input."""
    unload(server)
    prompt = {key: node for key, node in graph().items() if key in "123"}
    prompt["7"] = {"class_type": FREE, "inputs": {"anything": ["2", 0]}}
    prompt["5"] = {"class_type": "VAEDecode", "inputs": {"samples": ["1", 0], "vae": ["7", 0]}}
    prompt["8"], prompt["6"] = preview("3"), preview("5")
    prompt |= LAST
    run = server.run(prompt)
    assert run.status == "success"
    first, second = (
        server.get_bytes(f"/view?filename={run.outputs[n]['images'][0]['filename']}&type=temp") for n in "86"
    )
    assert first == second


def test_all_models_may_go_and_the_next_decode_is_the_same(server: ComfyServer) -> None:
    unload(server)
    prompt = graph("all models", mib=1)
    prompt["5"] = {"class_type": "VAEDecode", "inputs": {"samples": ["1", 0], "vae": ["12", 0]}}
    prompt["12"] = {"class_type": FREE, "inputs": {"anything": ["2", 0], "free": "all models"}}
    prompt["6"] = preview("5")
    run = server.run(prompt)
    assert run.status == "success"
    first, second = (
        server.get_bytes(f"/view?filename={run.outputs[n]['images'][0]['filename']}&type=temp") for n in "86"
    )
    assert first == second


def cached(run: Run) -> set[str]:
    (nodes,) = [data["nodes"] for name, data in run.events if name == "execution_cached"]
    return set(nodes)


def test_it_runs_once_and_not_again_while_nothing_changes(server: ComfyServer) -> None:
    """A fingerprint that changed would run every node behind it at each queue."""
    prompt = graph("torch cache only", mib=2)
    first, again = server.run(prompt), server.run(prompt)
    assert {"1", "2", "3", "4", "7", "8"} <= cached(again)
    assert again.report("7")["made_at"] == first.report("7")["made_at"]


def test_the_host_cache_goes_after_the_prompt_and_everything_runs_anew(server: ComfyServer) -> None:
    prompt = graph("host cache too", mib=3)
    run = server.run(prompt)
    assert facts(run)["drops_cached_outputs"] is True
    assert "when this prompt has ended" in run.outputs["9"]["text"][0]
    again = server.run(prompt)
    assert cached(again) == set()
    assert facts(again)["drops_cached_outputs"] is True


def test_the_other_choices_leave_the_host_cache(server: ComfyServer) -> None:
    unload(server)
    server.run(graph("all models", mib=4))
    assert cached(server.run(graph("all models", mib=5))) >= {"1", "2", "3"}


def test_without_a_card_no_vram_is_claimed(server: ComfyServer) -> None:
    found = facts(server.run(graph("torch cache only", mib=6)))
    assert found["devices"] == []
    assert found["vram_before_bytes"] is None
    assert found["vram_freed_bytes"] is None


def test_the_node_is_listed_with_the_types_it_takes(server: ComfyServer) -> None:
    info = server.get(f"/object_info/{FREE}")[FREE]
    assert (info["display_name"], info["category"]) == ("Free Memory", "Headroom")
    assert info["input"]["required"]["anything"][1]["template"]["allowed_types"] == "*"
    assert list(info["input"]["optional"]) == ["free", "model", "clip", "vae"]
    assert info["output_matchtypes"] == ["passed", None]
