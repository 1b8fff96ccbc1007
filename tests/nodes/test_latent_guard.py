"""The Latent Guard as ComfyUI calls it, in this process: its schema, its outputs and its errors."""

from __future__ import annotations

import dataclasses
import importlib
import json
import math
from types import ModuleType
from typing import Any

import pytest
import torch
from fakes.latents import BareNested

NAN = math.nan
PROMPT = {
    "7": {"class_type": "HeadroomLatentGuard", "inputs": {"samples": ["12", 0]}},
    "12": {"class_type": "KSampler", "inputs": {}},
}


@pytest.fixture
def node(pack: ModuleType) -> type:
    """The node's class as the host prepares it for one call, without a server."""
    from comfy_api.latest import io

    hidden = {"hidden_inputs": {io.Hidden.unique_id: "7", io.Hidden.prompt: PROMPT}}
    return pack.nodes.latent_guard.LatentGuard.PREPARE_CLASS_CLONE(hidden)


@pytest.fixture
def errors(pack: ModuleType) -> ModuleType:
    """The errors under the pack's own name."""

    return importlib.import_module(f"{pack.__name__}.headroom.core.errors")


def run(node: Any, latent: Any, *mode: str) -> Any:
    """The node's output; nodes run in inference mode."""
    with torch.inference_mode():
        return node.EXECUTE_NORMALIZED(latent, *mode)


def batch(*bad: int) -> dict[str, torch.Tensor]:
    samples = torch.linspace(-3, 3, 4 * 4 * 128 * 128).view(4, 4, 128, 128)
    for item in bad:
        samples[item] = NAN
    return {"samples": samples}


@pytest.mark.parametrize(
    "mode", [(), ("stop the run",), ("block this branch",), ("drop bad items",), ("replace values",), ("report only",)]
)
def test_a_clean_latent_comes_out_as_the_same_object(node: Any, mode: tuple[str, ...]) -> None:
    latent = batch()
    out = run(node, latent, *mode)
    assert out.args[0] is latent
    assert out.args[1].startswith("Clean (")
    assert out.block_execution is None
    assert out.ui["headroom"][0]["title"] == "Clean"


def test_stopping_is_the_default_and_names_the_items(node: Any, errors: ModuleType) -> None:
    """NAN-02: ComfyUI #13116."""
    with pytest.raises(errors.NonFiniteLatent, match=r"^Items 1 and 3 of 4 are NaN\. Likely: "):
        run(node, batch(1, 3))


def test_dropping_returns_two_images(node: Any) -> None:
    """NAN-02: ComfyUI #13116."""
    latent = batch(1, 3)
    out = run(node, latent, "drop bad items")
    assert torch.equal(out.args[0]["samples"], latent["samples"][[0, 2]])
    assert out.ui["headroom"][0]["facts"]["kept"] == [0, 2]


def test_blocking_gives_both_outputs_their_place(node: Any) -> None:
    """ComfyUI 0.30 fails on a blocked V3 node without one value per output."""
    out = run(node, batch(1), "block this branch")
    assert len(out.args) == 2
    assert out.block_execution.startswith("Item 1 of 4 is NaN; branch blocked. Likely: ")


def test_repairing_says_how_many(node: Any) -> None:
    """NAN-19: Forge-Neo does it in place and keeps quiet."""
    latent = {"samples": torch.tensor([[[[1.0, 3.0, NAN, math.inf, -math.inf]]]])}
    out = run(node, latent, "replace values")
    assert out.args[0]["samples"].flatten().tolist() == [1.0, 3.0, 2.0, 3.0, -3.0]
    assert "repaired 3 values" in out.args[1]
    assert not bool(torch.isfinite(latent["samples"]).all())


def test_the_node_above_is_named(node: Any) -> None:
    out = run(node, batch(1), "report only")
    assert out.ui["headroom"][0]["facts"]["source"] == "KSampler #12"
    assert out.args[1].endswith("4 items, 4 ch, 128×128, fp32, cpu, from KSampler #12")


def test_without_a_prompt_around_it_the_node_still_works(pack: ModuleType) -> None:
    assert run(pack.nodes.latent_guard.LatentGuard, batch()).args[1].startswith("Clean")


@pytest.mark.parametrize(
    "prompt", [None, {}, {"7": {}}, {"7": {"inputs": {"samples": 3}}}, {"7": {"inputs": {"samples": ["9", 0]}}}]
)
def test_an_unknown_source_is_left_out(pack: ModuleType, prompt: Any) -> None:
    assert pack.nodes.common.source_of(prompt, "7", "samples") == ""


def test_comfys_own_nested_latent_keeps_its_type(node: Any) -> None:
    """NAN-26: ComfyUI #14691. NAN-28 to NAN-30: ComfyUI #13692, ClownsharkBatwing/RES4LYF #234."""
    from comfy.nested_tensor import NestedTensor

    video, audio = torch.zeros(1, 128, 16, 22, 40), torch.ones(1, 8, 100)
    clean = {"samples": NestedTensor([video, audio])}
    assert run(node, clean).args[0] is clean
    audio[0, 3, 50] = NAN
    out = run(node, {"samples": NestedTensor([video, audio])}, "replace values")
    fixed = out.args[0]["samples"]
    assert type(fixed) is NestedTensor
    assert [tuple(part.shape) for part in fixed.unbind()] == [(1, 128, 16, 22, 40), (1, 8, 100)]
    assert torch.equal(fixed.unbind()[1], torch.ones(1, 8, 100))
    assert out.ui["headroom"][0]["title"] == "Stream 1 (audio) holds NaN; repaired 1 value"


def test_a_nested_latent_that_can_do_next_to_nothing_passes(node: Any) -> None:
    """NAN-28: LBH-123-AI/Comfyui_Minimax_h3_latent_Upscaler #13: no clone, dim or reshape."""
    latent = {"samples": BareNested([torch.zeros(1, 24, 5, 4, 4), torch.zeros(1, 32, 2, 40)])}
    assert run(node, latent).args[0] is latent


@pytest.mark.parametrize(
    ("latent", "error", "words"),
    [
        ({}, "LatentError", 'has no "samples"'),
        ({"samples": "x"}, "LatentError", "is a str, not a tensor"),
        ({"samples": torch.zeros(4, 64)}, "UnknownLayout", "[4, 64]"),
    ],
)
def test_what_is_no_latent_gets_a_clear_error(
    node: Any, errors: ModuleType, latent: Any, error: str, words: str
) -> None:
    with pytest.raises(getattr(errors, error)) as raised:
        run(node, latent)
    assert words in str(raised.value)


def test_an_all_nan_latent_is_not_blamed_on_vae_or_gpu(node: Any) -> None:
    """NAN-33: ComfyUI PR#16019, a sampler took the logarithm of a negative number."""
    text = run(node, {"samples": torch.full((1, 4, 8, 8), NAN)}, "report only").args[1]
    assert "sampler or scheduler" in text
    assert "VAE" not in text
    assert "GPU" not in text


def test_the_verdict_is_remembered_for_the_next_run(node: Any, pack: ModuleType) -> None:
    """NAN-15: ComfyUI #4572, the first model fine, the second black."""

    facts = importlib.import_module(f"{pack.__name__}.headroom.host.facts")
    run(node, batch())
    assert facts.host_facts("latent").previous_finite is True
    run(node, batch(1), "report only")
    assert facts.host_facts("latent").previous_finite is False


def test_every_report_can_be_sent_as_json(node: Any) -> None:
    samples = batch(1)["samples"]
    samples[2, 0, 0, 0] = -math.inf
    for latent in (batch(), batch(0, 1, 2, 3), {"samples": samples}, {"samples": torch.zeros(0, 4, 8, 8)}):
        json.dumps(run(node, latent, "report only").ui, allow_nan=False)


def test_the_schema_fits_this_host(node: Any) -> None:
    from comfy_api.latest import io

    schema = node.GET_SCHEMA()
    assert schema.node_id == "HeadroomLatentGuard"
    assert [output.io_type for output in schema.outputs] == ["LATENT", "STRING"]
    has_field = "has_intermediate_output" in {field.name for field in dataclasses.fields(io.Schema)}
    assert getattr(schema, "has_intermediate_output", False) is has_field


def test_on_a_host_without_the_field_it_is_left_out(pack: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    """Schema.has_intermediate_output came with ComfyUI 0.19."""

    @dataclasses.dataclass
    class OldSchema:
        node_id: str

    class OldIo:
        Schema = OldSchema

    monkeypatch.setattr(pack.nodes.common, "io", OldIo)
    assert pack.nodes.common.resends_report() == {}
