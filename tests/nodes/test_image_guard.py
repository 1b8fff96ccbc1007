"""The Image Guard as ComfyUI calls it, in this process: its schema, its outputs and its errors."""

from __future__ import annotations

import importlib
import json
import math
from types import ModuleType
from typing import Any

import pytest
import torch

NAN = math.nan
PROMPT = {
    "7": {"class_type": "HeadroomImageGuard", "inputs": {"media": ["8", 0]}},
    "8": {"class_type": "VAEDecode", "inputs": {}},
}
MODES = ["stop the run", "block this branch", "replace values", "report only"]
ODDITIES = ["notice", "stop the run", "ignore"]


@pytest.fixture
def node(pack: ModuleType) -> type:
    """The node's class as the host prepares it for one call, without a server."""
    from comfy_api.latest import io

    hidden = {"hidden_inputs": {io.Hidden.unique_id: "7", io.Hidden.prompt: PROMPT}}
    return pack.nodes.image_guard.ImageGuard.PREPARE_CLASS_CLONE(hidden)


@pytest.fixture
def errors(pack: ModuleType) -> ModuleType:
    """The errors under the pack's own name."""
    return importlib.import_module(f"{pack.__name__}.headroom.core.errors")


def run(node: Any, media: Any, *options: str) -> Any:
    """The node's output; nodes run in inference mode."""
    with torch.inference_mode():
        return node.EXECUTE_NORMALIZED(media, *options)


def images(*bad: int) -> torch.Tensor:
    batch = 0.1 + 0.8 * torch.rand(4, 256, 256, 3, generator=torch.Generator().manual_seed(1))
    for item in bad:
        batch[item] = NAN
    return batch


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("oddities", ODDITIES)
@pytest.mark.parametrize("kind", ["image", "mask", "audio"])
def test_what_is_clean_comes_out_as_the_same_object(node: Any, kind: str, mode: str, oddities: str) -> None:
    batch = images()
    media = {"image": batch, "mask": batch[..., 0], "audio": {"waveform": batch[0, 0, :2], "sample_rate": 8}}[kind]
    out = run(node, media, mode, oddities)
    assert out.args[0] is media
    assert out.args[1].startswith("Clean (")
    assert out.block_execution is None


def test_stopping_is_the_default_and_names_the_images(node: Any, errors: ModuleType) -> None:
    with pytest.raises(errors.NonFiniteImage) as raised:
        run(node, images(1, 3))
    assert str(raised.value) == (
        "Images 1 and 3 of 4 are NaN. Likely: an overflow in the VAE, or a latent that was NaN already. Put VAE Decode "
        "(Safe) in the place of VAEDecode #8: it tells which."
    )


def test_blocking_gives_both_outputs_their_place(node: Any) -> None:
    """ComfyUI 0.30 fails on a blocked V3 node without one value per output."""
    out = run(node, images(1), "block this branch")
    assert len(out.args) == 2
    assert out.block_execution.startswith("Image 1 of 4 is NaN; branch blocked. Likely: ")


def test_replacing_makes_bad_values_black_and_says_how_many(node: Any) -> None:
    batch = images(2)
    out = run(node, batch, "replace values")
    assert out.ui["headroom"][0]["title"] == "Image 2 of 4 is NaN; 196,608 values set to 0"
    assert torch.equal(out.args[0][2], torch.zeros(256, 256, 3))
    assert torch.equal(out.args[0][[0, 1, 3]], batch[[0, 1, 3]])
    assert bool(batch[2].isnan().all())


def test_reporting_passes_the_bad_image_on(node: Any) -> None:
    batch = images(2)
    out = run(node, batch, "report only")
    assert out.args[0] is batch
    assert out.ui["headroom"][0]["level"] == "error"


def test_a_black_image_is_a_notice_and_passes(node: Any) -> None:
    """VAE-06: deepbeepmeep/Wan2GP #2301."""
    batch = images()
    batch[2] = 0
    out = run(node, batch)
    assert out.args[0] is batch
    report = out.ui["headroom"][0]
    assert (report["level"], report["title"]) == ("warn", "Finite, but image 2 of 4 is all black")
    assert report["facts"]["finite"] is True


def test_a_black_tile_stops_the_run_by_choice(node: Any, errors: ModuleType) -> None:
    """VAE-04: ComfyUI #9871."""
    batch = images()
    batch[2, :128, 128:] = 0
    with pytest.raises(errors.OddImage) as raised:
        run(node, batch, "report only", "stop the run")
    assert str(raised.value) == (
        "Finite, but image 2 of 4 has a black area. "
        "A black area of 128×128\u00a0px at x 128, y 0, 25\u00a0% of image 2. "
        "It is exactly 0.0 and not NaN. A tile that failed looks like this, and so does a part meant black."
    )


def test_oddities_can_be_ignored(node: Any) -> None:
    assert run(node, torch.zeros(1, 64, 64, 3), "stop the run", "ignore").ui["headroom"][0]["title"] == "Clean"


@pytest.mark.parametrize("oddities", ODDITIES)
def test_ignoring_oddities_does_not_let_nan_through(node: Any, errors: ModuleType, oddities: str) -> None:
    with pytest.raises(errors.NonFiniteImage):
        run(node, images(0), "stop the run", oddities)


def test_stopping_at_oddities_does_not_stop_at_nan(node: Any) -> None:
    assert run(node, images(0), "report only", "stop the run").ui["headroom"][0]["level"] == "error"


def test_a_former_nan_in_audio_is_told_and_not_called_nan(node: Any) -> None:
    """NAN-24, NAN-25: ComfyUI #16249, #15799."""
    out = run(node, {"waveform": torch.full((1, 2, 48000), -1.0), "sample_rate": 48000})
    assert out.ui["headroom"][0]["title"] == "Finite, but the audio is constant"
    assert "\u22121.00 is the value of the audio" in out.args[1]
    assert "A track that was NaN looks like this once it has been through a 16-bit file." in out.args[1]


def test_the_source_is_named(node: Any) -> None:
    assert run(node, images()).args[1].endswith("4 images, 256×256, 3 ch, fp32, cpu, from VAEDecode #8")


def test_without_a_prompt_around_it_the_node_still_works(pack: ModuleType) -> None:
    assert run(pack.nodes.image_guard.ImageGuard, images()).args[1].startswith("Clean")


def test_an_empty_batch_passes(node: Any) -> None:
    batch = torch.zeros(0, 64, 64, 3)
    out = run(node, batch, "stop the run", "stop the run")
    assert out.args[0] is batch
    assert out.ui["headroom"][0]["title"] == "Empty: there is no image to check"


def test_a_latent_gets_a_clear_error(node: Any, errors: ModuleType) -> None:
    with pytest.raises(errors.ImageError, match="use Latent Guard"):
        run(node, {"samples": torch.zeros(1, 4, 8, 8)})


def test_the_verdict_on_an_image_is_remembered_and_that_on_a_mask_is_not(node: Any, pack: ModuleType) -> None:
    """NAN-15: ComfyUI #4572, the first model fine, the second black."""
    facts = importlib.import_module(f"{pack.__name__}.headroom.host.facts")
    run(node, images())
    assert facts.host_facts("decode").previous_finite is True
    run(node, torch.full((1, 8, 8), NAN), "report only")
    assert facts.host_facts("decode").previous_finite is True
    run(node, images(1), "report only")
    assert facts.host_facts("decode").previous_finite is False


@pytest.mark.parametrize("value", [0.0, 0.5, NAN, math.inf, -math.inf])
def test_every_report_can_be_sent_as_json(node: Any, value: float) -> None:
    audio = {"waveform": torch.full((1, 2, 100), value), "sample_rate": 10}
    for media in (torch.full((2, 64, 64, 3), value), torch.full((1, 8, 8), value * 3), audio):
        json.dumps(run(node, media, "report only").ui, allow_nan=False)


def test_the_schema_takes_three_types_and_gives_the_one_that_came_in(node: Any) -> None:
    from comfy_api.latest import io

    schema = node.GET_SCHEMA()
    assert schema.node_id == "HeadroomImageGuard"
    media = schema.inputs[0]
    assert isinstance(media, io.MatchType.Input)
    assert media.template.as_dict() == {"template_id": "media", "allowed_types": "IMAGE,MASK,AUDIO"}
    assert isinstance(schema.outputs[0], io.MatchType.Output)
    assert schema.outputs[0].template is media.template
    assert schema.inputs[1].options == MODES
    assert schema.inputs[2].options == ODDITIES
    assert all(option.optional for option in schema.inputs[1:])
