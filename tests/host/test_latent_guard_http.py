"""The Latent Guard in the real ComfyUI over HTTP: what stops, what goes on, and what the browser is told."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from comfy_server import ComfyServer, Run
from safetensors.torch import load_file

GUARD = "HeadroomLatentGuard"


def graph(latent: str, prefix: str = "guarded", **options: Any) -> dict[str, Any]:
    """LoadLatent, the guard, SaveLatent, and its report into PreviewAny."""
    return {
        "1": {"class_type": "LoadLatent", "inputs": {"latent": f"{latent}.latent"}},
        "2": {"class_type": GUARD, "inputs": {"samples": ["1", 0], **options}},
        "3": {"class_type": "SaveLatent", "inputs": {"samples": ["2", 0], "filename_prefix": prefix}},
        "4": {"class_type": "PreviewAny", "inputs": {"source": ["2", 1]}},
    }


def saved(server: ComfyServer, run: Run) -> torch.Tensor:
    """The latent that SaveLatent wrote in this run."""
    (entry,) = run.outputs["3"]["latents"]
    return load_file(server.base / "output" / entry["subfolder"] / entry["filename"])["latent_tensor"]


def given(server: ComfyServer, latent: str) -> torch.Tensor:
    """The latent that LoadLatent read."""
    return load_file(Path(server.base) / "input" / f"{latent}.latent")["latent_tensor"]


def test_a_nan_in_one_frame_stops_the_run_and_the_next_one_in_the_queue_runs(server: ComfyServer) -> None:
    """NAN-06, ComfyUI #16313: the frame is named."""
    bad = server.post("/prompt", {"prompt": graph("video_nan_frame_2", "a")})
    good = server.run(graph("video_sound", "b"))
    assert good.status == "success"
    assert good.report("2")["title"] == "Clean"
    stopped = server.get(f"/history/{bad['prompt_id']}")[bad["prompt_id"]]
    assert stopped["status"]["status_str"] == "error"
    assert stopped["outputs"] == {}
    (error,) = [data for name, data in stopped["status"]["messages"] if name == "execution_error"]
    assert error["node_type"] == GUARD
    assert error["exception_type"].endswith("NonFiniteLatent")
    assert error["exception_message"].startswith("Frame 2 of 5 holds NaN. Likely: ")


def test_before_the_error_the_report_is_on_the_node(server: ComfyServer) -> None:
    run = server.run(graph("video_nan_frame_2"))
    assert run.status == "error"
    names = [name for name, _ in run.events]
    assert names.index("headroom.report") < names.index("execution_error")
    report = run.report("2")
    assert (report["level"], report["title"]) == ("error", "Frame 2 of 5 holds NaN")
    assert report["facts"]["streams"][0]["bad"][0]["frames"] == [2]
    assert report["facts"]["source"] == "LoadLatent #1"
    assert report["blocks"][-1]["text"] == "1 item, 16 ch, 5 frames, 4×4, fp32, cpu, from LoadLatent #1"


def test_all_that_is_on_the_error_is_one_or_two_sentences_and_a_cause(server: ComfyServer) -> None:
    message = server.run(graph("batch_nan_1_3")).error["exception_message"].strip()
    assert message == (
        "Items 1 and 3 of 4 are NaN. "
        "Likely: a sampler or scheduler that does not suit the model, a LoRA or a damaged model file; the settings do "
        "not tell which. Try the template's sampler settings, then without LoRAs."
    )


def test_a_blocked_branch_fails_alone(server: ComfyServer) -> None:
    """0.30 fails the whole prompt on a blocked node without outputs (yolain/ComfyUI-Easy-Use #1023)."""
    prompt = graph("one_nan", mode="block this branch")
    prompt["5"] = {"class_type": "LoadLatent", "inputs": {"latent": "one_sound.latent"}}
    prompt["6"] = {"class_type": "SaveLatent", "inputs": {"samples": ["5", 0], "filename_prefix": "beside"}}
    run = server.run(prompt)
    blocked = {data["node_id"]: data for name, data in run.events if name == "execution_error"}
    assert blocked
    assert set(blocked) <= {"3", "4"}
    for data in blocked.values():
        assert data["exception_type"] == "ExecutionBlocked"
        assert "The latent holds NaN; branch blocked. Likely: " in data["exception_message"]
    assert run.status == "success"
    assert "3" not in run.outputs
    assert run.outputs["6"]["latents"]
    assert run.report("2")["title"] == "The latent holds NaN; branch blocked"
    assert server.run(graph("one_sound")).status == "success"


def test_dropping_keeps_two_of_four(server: ComfyServer) -> None:
    """NAN-02, ComfyUI #13116."""
    run = server.run(graph("batch_nan_1_3", mode="drop bad items"))
    assert run.status == "success"
    assert run.report("2")["title"] == "Items 1 and 3 of 4 are NaN; kept 0 and 2"
    assert torch.equal(saved(server, run), given(server, "batch_nan_1_3")[[0, 2]])


def test_dropping_the_only_video_stops(server: ComfyServer) -> None:
    """NAN-32, WanVideoWrapper #1256: never a video with fewer frames."""
    run = server.run(graph("video_nan_frame_2", mode="drop bad items"))
    assert run.status == "error"
    assert run.error["exception_message"].startswith("Frame 2 of 5 holds NaN; no item is left to keep. Likely: ")


def test_replacing_changes_only_the_bad_value(server: ComfyServer) -> None:
    run = server.run(graph("one_nan", mode="replace values"))
    assert run.report("2")["title"] == "The latent holds NaN; repaired 1 value"
    before, after = given(server, "one_nan"), saved(server, run)
    channel = before[0, 2].flatten()
    mean = channel[~channel.isnan()].double().mean().item()
    assert after[0, 2, 5, 5].item() == pytest.approx(mean, abs=1e-6)
    assert torch.equal(after[~before.isnan()], before[~before.isnan()])


def test_reporting_only_passes_the_bad_latent_on(server: ComfyServer) -> None:
    run = server.run(graph("one_nan", mode="report only"))
    assert run.status == "success"
    assert run.report("2")["level"] == "error"
    assert int(saved(server, run).isnan().sum()) == 1
    assert run.outputs["4"]["text"][0].startswith("The latent holds NaN (")


def test_a_clean_latent_passes_and_its_report_comes_again_from_the_cache(server: ComfyServer) -> None:
    prompt = graph("batch_sound", "cached")
    first = server.run(prompt)
    assert first.report("2")["title"] == "Clean"
    assert torch.equal(saved(server, first), given(server, "batch_sound"))
    again = server.run(prompt)
    (cached,) = [data["nodes"] for name, data in again.events if name == "execution_cached"]
    assert "2" in cached
    sent = [data for name, data in again.events if name == "executed" and data["node"] == "2"]
    assert [data["output"]["headroom"][0]["title"] for data in sent] == ["Clean"]
    assert again.report("2")["made_at"] == first.report("2")["made_at"]


def test_an_audio_video_latent_names_its_bad_stream_and_keeps_its_type(server: ComfyServer) -> None:
    """NAN-26: Lightricks/ComfyUI-LTXVideo #523. NAN-28, NAN-30: still nested behind the guard (ComfyUI #13692)."""
    prompt = {
        "1": {
            "class_type": "EmptyLTXVLatentVideo",
            "inputs": {"width": 64, "height": 64, "length": 9, "batch_size": 1},
        },
        "2": {"class_type": "EmptyLatentAudio", "inputs": {"seconds": 1.0, "batch_size": 1}},
        "3": {"class_type": "TestNanLatent", "inputs": {"samples": ["2", 0], "place": "0,3,5"}},
        "4": {"class_type": "LTXVConcatAVLatent", "inputs": {"video_latent": ["1", 0], "audio_latent": ["3", 0]}},
        "5": {"class_type": GUARD, "inputs": {"samples": ["4", 0], "mode": "report only"}},
        "6": {"class_type": "LTXVSeparateAVLatent", "inputs": {"av_latent": ["5", 0]}},
        "7": {"class_type": "SaveLatent", "inputs": {"samples": ["6", 0], "filename_prefix": "video"}},
        "8": {"class_type": GUARD, "inputs": {"samples": ["4", 0], "mode": "replace values"}},
        "9": {"class_type": "LTXVSeparateAVLatent", "inputs": {"av_latent": ["8", 0]}},
        "10": {"class_type": "SaveLatent", "inputs": {"samples": ["9", 1], "filename_prefix": "audio"}},
    }
    run = server.run(prompt)
    assert run.status == "success", run.error.get("exception_message")
    report = run.report("5")
    assert report["title"] == "Stream 1 (audio) holds NaN"
    assert [stream["bad"] == [] for stream in report["facts"]["streams"]] == [True, False]
    assert run.report("8")["title"] == "Stream 1 (audio) holds NaN; repaired 1 value"


def test_the_node_is_listed_where_users_look_for_it(server: ComfyServer) -> None:
    info = server.get(f"/object_info/{GUARD}")[GUARD]
    assert (info["display_name"], info["category"]) == ("Latent Guard", "Headroom")
    assert list(info["input"]["required"]) == ["samples"]
    assert info["output"] == ["LATENT", "STRING"]
    kind, options = info["input"]["optional"]["mode"]
    modes = options["options"] if kind == "COMBO" else kind
    assert modes[0] == options["default"] == "stop the run"
    assert modes[1:] == ["block this branch", "drop bad items", "replace values", "report only"]
