"""The three planning nodes in the real ComfyUI: files by name, links into a wrapper, readings of this machine."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import psutil
import pytest
from comfy_server import ComfyServer, Run, Servers
from fakes.model_files import framed, header_of, write_sparse

GIB = 2**30
MIB = 2**20
WAN = "example: Wan 2.2 14B text to video, fp8"
RUN = {"width": 832, "height": 480, "frames": 81, "batch": 1, "cfg": 3.5}
SWAP = {**RUN, "model_file": WAN, "loader": "WanVideoWrapper", "target": "fit the card", "target_gib": 0.0}
LOADER = {"class_type": "UNETLoader", "inputs": {"unet_name": "tiny_sd20.safetensors", "weight_dtype": "default"}}
LAST = {"class_type": "PreviewAny", "inputs": {"source": ["1", 4]}}
#: Of a card of 16 GiB programs get 15.47 (ComfyUI #13598), without the GPU context of 0.4 GiB and the 400 MiB that
#: ComfyUI keeps free on Linux.
OFFERED = 15.47 / 16
KEPT = int(0.4 * GIB) + 400 * MIB


def swap(**inputs: Any) -> dict[str, Any]:
    """The estimator alone."""
    return {"1": {"class_type": "HeadroomBlockSwap", "inputs": {**SWAP, **inputs}}, "2": LAST}


def facts(run: Run, node: str = "1") -> dict[str, Any]:
    assert run.status == "success", run.error.get("exception_message")
    return run.report(node)["facts"]


def test_the_numbers_go_into_the_wan_wrapper_s_inputs(server: ComfyServer) -> None:
    links = {"blocks_to_swap": ["1", 0], "vace_blocks_to_swap": ["1", 2], "prefetch_blocks": ["1", 3]}
    stub = {"class_type": "TestWanBlockSwap", "inputs": {**links, "offload_img_emb": False}}
    run = server.run({**swap(vram_gib=12.0, prefetch=1), "3": stub})
    found = facts(run)
    given = run.outputs["3"]["given"][0]
    assert given["blocks_to_swap"] == found["blocks_to_swap"]
    assert (given["vace_blocks_to_swap"], given["prefetch_blocks"]) == (0, 1)
    assert found["blocks"] == 40
    assert found["blocks_to_swap"] + found["blocks_resident"] == 40
    # It fits, and with one more resident block (335.23 MiB, WanVideoWrapper #1272) it would not.
    assert found["room_bytes"] == int(12 * GIB * OFFERED) - KEPT
    assert 0 <= found["room_bytes"] - found["need_bytes"][1] < 336 * MIB
    assert found["under_way_bytes"] == pytest.approx(2 * 335.23 * MIB, rel=0.01)


def test_a_smaller_card_swaps_more_and_a_large_one_nothing(server: ComfyServer) -> None:
    swapped = [facts(server.run(swap(vram_gib=size)))["blocks_to_swap"] for size in (8.0, 12.0, 16.0, 80.0)]
    assert swapped == sorted(swapped, reverse=True)
    assert len(set(swapped)) == 4
    assert swapped[-1] == 0


@pytest.mark.parametrize(
    ("target", "gib", "room"), [("use at most (GiB)", 9.0, 9 * GIB), ("leave free (GiB)", 2.0, None)]
)
def test_a_target_takes_the_place_of_the_card(server: ComfyServer, target: str, gib: float, room: int | None) -> None:
    run = server.run(swap(vram_gib=16.0, target=target, target_gib=gib))
    assert facts(run)["need_bytes"][1] <= (room or int(16 * GIB * OFFERED) - KEPT - 2 * GIB)
    assert "Swap" in run.report("1")["title"]


def test_comfyui_s_own_loader_needs_no_swap(server: ComfyServer) -> None:
    run = server.run(swap(loader="ComfyUI", vram_gib=12.0))
    found = facts(run)
    assert (found["leave_it_to_dynamic_vram"], found["blocks_to_swap"], found["blocks_resident"]) == (True, 0, 40)
    assert run.report("1")["title"] == "Leave it to dynamic VRAM: set nothing"


def test_without_a_card_it_asks_for_one(server: ComfyServer) -> None:
    run = server.run(swap())
    assert facts(run)["blocks_to_swap"] == 0
    assert "`vram_gib`" in run.report("1")["blocks"][0]["text"]


def test_a_connected_model_takes_the_place_of_the_file(server: ComfyServer) -> None:
    run = server.run({**swap(model=["4", 0], vram_gib=4.0, frames=1), "4": LOADER})
    assert (facts(run)["family"], facts(run)["model"]) == ("SD20", "tiny_sd20.safetensors")


@pytest.mark.parametrize("loader", ["TestWanModelLoader", "TestWanLaterModelLoader"])
def test_load_device_and_force_offload_link_to_the_wrapper(server: ComfyServer, loader: str) -> None:
    """The host compares a list of choices as it is: only a type that fits everything goes into another pack's list."""
    advice = {"class_type": "HeadroomOffload", "inputs": {**RUN, "model_file": WAN, "vram_gib": 12.0, "ram_gib": 64.0}}
    prompt = {
        "1": advice,
        "2": {"class_type": loader, "inputs": {"load_device": ["1", 1]}},
        "3": {"class_type": "TestWanSampler", "inputs": {"force_offload": ["1", 2]}},
    }
    run = server.run(prompt)
    assert facts(run)["placements"][0]["park"] == "RAM, pinned"
    # 13.3 GiB of weights do not fit 12 GiB.
    assert run.outputs["2"]["given"] == [{"load_device": "offload_device"}]
    assert run.outputs["3"]["given"] == [{"force_offload": True}]


def test_two_wan_models_in_32_gb_of_ram(server: ComfyServer) -> None:
    """ComfyUI #10771: two fp8 models of 13.3 GiB and a text encoder of 6.3 in 32 GB of RAM: killed, in 0.3.67.

    A card that is typed in beside no card is one of NVIDIA's with dynamic VRAM, where files are mapped: a part is read
    again, and no flag is to be set.
    """
    inputs = {
        **RUN,
        "model_file": WAN,
        "second_model": WAN,
        "text_encoder": "example: UMT5-XXL (Wan), fp8",
        "vae": "example: Wan 2.1 VAE, bf16",
        "vram_gib": 16.0,
        "ram_gib": 32.0,
    }
    prompt = {
        "1": {"class_type": "HeadroomOffload", "inputs": inputs},
        "2": {"class_type": "PreviewAny", "inputs": {"source": ["1", 3]}},
    }
    run = server.run(prompt)
    found = facts(run)
    assert run.outputs["2"]["text"] == [""]
    assert found["ram_bytes"] <= found["ram_for_models_bytes"] == 28 * GIB
    assert [one["role"] for one in found["placements"]] == ["text encoder", "diffusion", "diffusion", "vae"]
    assert run.report("1")["title"] == "RAM holds a part of the models; the rest is read from disk again"


def budget(**inputs: Any) -> dict[str, Any]:
    """A budget where a sampler would come."""
    return {
        "3": {"class_type": "VAELoader", "inputs": {"vae_name": "tiny_kl.safetensors"}},
        "4": LOADER,
        "5": {"class_type": "EmptyLatentImage", "inputs": {"width": 512, "height": 512, "batch_size": 1}},
        "1": {"class_type": "HeadroomBudget", "inputs": {"anything": ["5", 0], **inputs}},
        "2": {"class_type": "PreviewAny", "inputs": {"source": ["1", 1]}},
        "6": {"class_type": "PreviewAny", "inputs": {"source": ["1", 2]}},
        "7": {"class_type": "PreviewAny", "inputs": {"source": ["1", 3]}},
        "8": {"class_type": "PreviewAny", "inputs": {"source": ["1", 4]}},
        "9": {"class_type": "SaveLatent", "inputs": {"samples": ["1", 0], "filename_prefix": "budget"}},
    }


def numbers(run: Run) -> tuple[float, float, str]:
    """free_gib, headroom_gib and fits as the next node gets them."""
    free, left, fits = (run.outputs[node]["text"][0] for node in ("6", "7", "8"))
    return float(free), float(left), fits


def test_with_nothing_connected_headroom_is_what_can_be_had(server: ComfyServer) -> None:
    run = server.run(budget())
    free, left, fits = numbers(run)
    assert free == left
    assert fits.lower() == "true"
    assert free == pytest.approx(psutil.virtual_memory().available / GIB, abs=1.5)
    who = facts(run)["holders"]
    parts = ("others_bytes", "held_bytes", "evictable_bytes", "cache_bytes", "free_bytes")
    assert sum(who[part] for part in parts) == who["total_bytes"]


def test_with_nothing_connected_headroom_is_what_the_panel_calls_available(server: ComfyServer) -> None:
    """The panel's RAM is that of the snapshot; other programs on this machine move it between the two readings."""
    before = server.get("/headroom/snapshot")["ram"]
    _, left, _ = numbers(server.run(budget()))
    after = server.get("/headroom/snapshot")["ram"]
    readings = [min(ram["available_bytes"], ram["total_bytes"]) / GIB for ram in (before, after)]
    assert min(readings) - 0.5 <= left <= max(readings) + 0.5


def test_what_is_connected_counts_by_its_largest_stage(server: ComfyServer) -> None:
    run = server.run(budget(model=["4", 0], vae=["3", 0], latent=["5", 0]))
    found = facts(run)
    assert [stage["name"] for stage in found["stages"]] == ["Sampling", "Decode"]
    # On the CPU no weights leave the RAM: those of the other model count beside the larger need.
    weights = sum(stage["weights_bytes"] for stage in found["stages"])
    work = max(stage["work_bytes"][1] for stage in found["stages"])
    assert found["headroom_bytes"] == found["holders"]["available_bytes"] - weights - work
    assert "all weights stay in RAM" in str(run.report("1")["blocks"])
    # AutoencoderKL: the host's formula on 64x64 in fp32 (comfy/sd.py 0.30.0).
    assert found["stages"][1]["reserved_by_host_bytes"] == 2178 * 64 * 64 * 64 * 4
    assert numbers(run)[2].lower() == "true"


def test_without_a_latent_what_is_left_is_at_most_that(server: ComfyServer) -> None:
    run = server.run(budget(model=["4", 0]))
    assert facts(run)["at_most"] is True
    assert run.report("1")["figure"].startswith("at most ")
    assert numbers(run)[2].lower() == "false"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of diffusion models: files as long as real ones, with next to nothing on the disk."""
    folder = tmp_path_factory.mktemp("more models") / "diffusion_models"
    folder.mkdir()
    return folder


@pytest.fixture(scope="module")
def with_folder(servers: Servers, folder: Path) -> ComfyServer:
    """A server that has this folder too."""
    config = folder.parent / "paths.yaml"
    config.write_text(f"more:\n  base_path: {folder.parent}\n  diffusion_models: diffusion_models\n", "utf-8")
    blocks = {f"blocks.{number}.weight": ("F16", (1024, 1024)) for number in range(7)}
    write_sparse(folder / "mine.safetensors", blocks)
    (folder / "cut.safetensors").write_bytes(framed(header_of(blocks), b"short"))
    (folder / "page.safetensors").write_bytes(b"<!DOCTYPE html><html>Sign in</html>")
    return servers.get("--extra-model-paths-config", str(config))


def test_a_file_is_found_by_its_name_and_read_again_when_it_has_changed(with_folder: ComfyServer, folder: Path) -> None:
    run = with_folder.run(swap(model_file="mine.safetensors", vram_gib=8.0))
    assert (facts(run)["blocks"], facts(run)["family"]) == (7, None)
    assert "not known for this model" in str(run.report("1")["blocks"])
    write_sparse(folder / "mine.safetensors", {f"blocks.{n}.weight": ("F16", (1024, 1024)) for n in range(9)})
    os.utime(folder / "mine.safetensors", (1, 1))
    assert facts(with_folder.run(swap(model_file="mine.safetensors", vram_gib=8.0)))["blocks"] == 9


@pytest.mark.parametrize(
    ("name", "words"), [("cut.safetensors", "Truncated"), ("page.safetensors", "A web page instead of a model")]
)
def test_a_broken_file_is_named_for_what_it_is(with_folder: ComfyServer, name: str, words: str) -> None:
    run = with_folder.run(swap(model_file=name, vram_gib=8.0))
    assert run.status == "error"
    message = run.error["exception_message"]
    assert name in message
    assert words in message
    assert "Traceback" not in message


@pytest.mark.parametrize("name", ["../paths.yaml", "/etc/passwd", "nobody.safetensors"])
def test_a_name_outside_of_the_folders_is_refused_by_the_host(with_folder: ComfyServer, name: str) -> None:
    with pytest.raises(AssertionError, match="Value not in list"):
        with_folder.run(swap(model_file=name))


def test_neither_file_nor_model_is_one_clear_line(server: ComfyServer) -> None:
    run = server.run(swap(model_file="(a connected model)"))
    assert run.error["exception_message"].strip().startswith("Neither a file is chosen nor a model connected")
