"""The Image Guard in the real ComfyUI over HTTP, behind real decodes and with each of its three types."""

from __future__ import annotations

from typing import Any

import pytest
from comfy_server import ComfyServer, Run

GUARD = "HeadroomImageGuard"


def decoded(vae: str = "tiny_kl", latent: str = "image_48") -> dict[str, Any]:
    """LoadLatent #1, VAELoader #2, VAEDecode #3: a picture of 384x384."""
    return {
        "1": {"class_type": "LoadLatent", "inputs": {"latent": f"{latent}.latent"}},
        "2": {"class_type": "VAELoader", "inputs": {"vae_name": f"{vae}.safetensors"}},
        "3": {"class_type": "VAEDecode", "inputs": {"samples": ["1", 0], "vae": ["2", 0]}},
    }


def guarded(source: str = "3", **options: Any) -> dict[str, Any]:
    """The guard as #4 behind ``source``, a preview of the picture and of the report behind it."""
    return {
        "4": {"class_type": GUARD, "inputs": {"media": [source, 0], **options}},
        "5": {"class_type": "PreviewImage", "inputs": {"images": ["4", 0]}},
        "6": {"class_type": "PreviewAny", "inputs": {"source": ["4", 1]}},
    }


def faulty(place: str, value: str = "0", size: int = 512, batch: int = 1) -> dict[str, Any]:
    """Noise of ``size`` pixels a side as #3, with ``value`` at ``place``."""
    empty = {"width": size, "height": size, "batch_size": batch, "color": 0}
    return {
        "1": {"class_type": "EmptyImage", "inputs": empty},
        "3": {"class_type": "TestBadMedia", "inputs": {"media": ["1", 0], "place": place, "value": value}},
    }


def succeeded(run: Run) -> Run:
    assert run.status == "success", run.error.get("exception_message")
    return run


def test_a_sound_decode_is_clean(server: ComfyServer) -> None:
    report = succeeded(server.run({**decoded(), **guarded()})).report("4")
    assert (report["level"], report["title"]) == ("ok", "Clean")
    assert report["blocks"][-1]["text"] == "1 image, 384×384, 3 ch, fp32, cpu, from VAEDecode #3"


def test_a_decode_that_gives_nan_stops_the_run(server: ComfyServer) -> None:
    """NAN-20: ComfyUI #15436: a finite latent, and NaN from the decode."""
    run = server.run({**decoded("tiny_kl_broken"), **guarded()})
    assert run.status == "error"
    assert run.error["exception_type"].endswith("NonFiniteImage")
    message = run.error["exception_message"].strip()
    assert message.startswith("The image holds NaN. Likely: ")
    assert message.endswith("Put VAE Decode (Safe) in the place of VAEDecode #3: it tells which.")
    names = [name for name, _ in run.events]
    assert names.index("headroom.report") < names.index("execution_error")
    assert run.report("4")["facts"]["bad_items"] == [0]
    assert succeeded(server.run({**decoded(), **guarded()})).report("4")["title"] == "Clean"


def test_an_all_black_image_is_told_from_a_nan_one(server: ComfyServer) -> None:
    """VAE-06: deepbeepmeep/Wan2GP #2301: exactly 0.0 and finite is not NaN."""
    black = succeeded(server.run({**faulty("0"), **guarded()})).report("4")
    assert (black["level"], black["title"]) == ("warn", "Finite, but the image is all black")
    assert black["facts"]["finite"] is True
    nan = server.run({**faulty("0", "nan"), **guarded()})
    assert nan.status == "error"
    assert nan.report("4")["title"] == "The image is NaN"


def test_a_black_tile_is_named_and_by_choice_stops_the_run(server: ComfyServer) -> None:
    """VAE-04: ComfyUI #9871, USDU #159."""
    tile = faulty("1,0:256,256:512", batch=2)
    line = "A black area of 256×256\u00a0px at x 256, y 0, 25\u00a0% of image 1"
    report = succeeded(server.run({**tile, **guarded()})).report("4")
    assert report["title"] == "Finite, but image 1 of 2 has a black area"
    assert report["blocks"][0]["text"] == line
    stopped = server.run({**tile, **guarded(oddities="stop the run")})
    assert stopped.error["exception_type"].endswith("OddImage")
    assert line in stopped.error["exception_message"]


def test_a_nan_tile_is_named(server: ComfyServer) -> None:
    """VAE-04: ComfyUI #9871."""
    run = succeeded(server.run({**faulty("0,128:384,0:256", "nan"), **guarded(mode="report only")}))
    facts = run.report("4")["facts"]
    assert facts["bad"][0]["areas"] == [{"x": 0, "y": 128, "width": 256, "height": 256}]


def test_replacing_lets_the_run_end_and_says_how_many(server: ComfyServer) -> None:
    run = succeeded(server.run({**faulty("0,0,0", "inf"), **guarded(mode="replace values")}))
    assert run.report("4")["title"] == "The image holds Inf; 3 values set to 0"
    assert run.outputs["5"]["images"]


def test_a_blocked_branch_fails_alone(server: ComfyServer) -> None:
    """0.30 fails the whole prompt on a blocked node without outputs (yolain/ComfyUI-Easy-Use #1023)."""
    prompt = {**faulty("0", "nan"), **guarded(mode="block this branch")}
    prompt["7"] = {"class_type": "PreviewImage", "inputs": {"images": ["1", 0]}}
    run = server.run(prompt)
    assert run.status == "success"
    blocked = [data for name, data in run.events if name == "execution_error"]
    assert blocked
    assert all(data["exception_type"] == "ExecutionBlocked" for data in blocked)
    assert "5" not in run.outputs
    assert run.outputs["7"]["images"]


@pytest.mark.parametrize("value", [0.0, 1.0])
def test_a_mask_goes_on_as_a_mask(server: ComfyServer, value: float) -> None:
    """VAE-47, for masks: one value throughout is normal. The output links to a MASK input."""
    prompt = {
        "1": {"class_type": "SolidMask", "inputs": {"value": value, "width": 64, "height": 32}},
        "4": {"class_type": GUARD, "inputs": {"media": ["1", 0], "oddities": "stop the run"}},
        "5": {"class_type": "MaskToImage", "inputs": {"mask": ["4", 0]}},
        "6": {"class_type": "PreviewImage", "inputs": {"images": ["5", 0]}},
    }
    report = succeeded(server.run(prompt)).report("4")
    assert (report["title"], report["blocks"][-1]["text"]) == (
        "Clean",
        "1 mask, 64×32, fp32, cpu, from SolidMask #1",
    )


def audio(place: str, value: str) -> dict[str, Any]:
    return {
        "1": {"class_type": "EmptyAudio", "inputs": {"duration": 4.0, "sample_rate": 8000, "channels": 2}},
        "3": {"class_type": "TestBadMedia", "inputs": {"media": ["1", 0], "place": place, "value": value}},
        "4": {"class_type": GUARD, "inputs": {"media": ["3", 0], "mode": "report only"}},
        "5": {"class_type": "PreviewAudio", "inputs": {"audio": ["4", 0]}},
    }


def test_a_silent_track_is_not_nan(server: ComfyServer) -> None:
    """NAN-25: ComfyUI #15799, constant 0.0. The output links to an AUDIO input."""
    report = succeeded(server.run(audio("0", "0"))).report("4")
    assert (report["level"], report["title"]) == ("info", "Finite, but the audio is silent")


def test_a_track_at_minus_one_is_constant_and_not_nan(server: ComfyServer) -> None:
    """NAN-24, NAN-25: ComfyUI #16249, #15799: int16 minimum, which is -1.0."""
    report = succeeded(server.run(audio("0", "-1"))).report("4")
    assert (report["level"], report["title"]) == ("warn", "Finite, but the audio is constant")
    assert report["facts"]["odd"][0]["values"] == [-1.0, -1.0]


def test_nan_in_audio_is_placed_in_seconds(server: ComfyServer) -> None:
    run = server.run({name: node for name, node in audio("0,:,8000:12000", "nan").items() if name != "5"} | PREVIEW)
    report = succeeded(run).report("4")
    assert report["title"] == "The audio holds NaN"
    assert report["facts"]["bad"][0]["spans"] == [{"start": 1.0, "end": 1.5}]


PREVIEW = {"5": {"class_type": "PreviewAny", "inputs": {"source": ["4", 1]}}}


def test_a_latent_that_is_linked_over_the_api_gets_a_clear_error(server: ComfyServer) -> None:
    """The host leaves the types of such an input to the frontend."""
    run = server.run({**decoded(), **guarded("1")})
    assert run.error["exception_type"].endswith("ImageError")
    assert "use Latent Guard" in run.error["exception_message"]


def test_the_report_comes_again_from_the_cache(server: ComfyServer) -> None:
    prompt = {**faulty("0,0:256,0:256", size=640), **guarded()}
    first = succeeded(server.run(prompt))
    again = succeeded(server.run(prompt))
    (cached,) = [data["nodes"] for name, data in again.events if name == "execution_cached"]
    assert "4" in cached
    assert again.report("4")["made_at"] == first.report("4")["made_at"]


def test_the_node_is_listed_with_the_types_it_takes(server: ComfyServer) -> None:
    info = server.get(f"/object_info/{GUARD}")[GUARD]
    assert (info["display_name"], info["category"]) == ("Image Guard", "Headroom")
    kind, options = info["input"]["required"]["media"]
    assert kind == "COMFY_MATCHTYPE_V3"
    assert options["template"]["allowed_types"] == "IMAGE,MASK,AUDIO"
    assert info["output"] == ["COMFY_MATCHTYPE_V3", "STRING"]
    assert info["output_matchtypes"] == ["media", None]
