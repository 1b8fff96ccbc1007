"""A model file as a plan sees it: its bytes by what a swap moves, what stays, and what is another model."""

from __future__ import annotations

from pathlib import Path

import pytest
from core.test_blocks import tensor, wan
from fakes.model_files import TEXT, gguf, text, value, write_sparse
from fakes.model_files import tensor as gguf_tensor

from headroom.core.component import Component, component, component_of
from headroom.core.errors import ModelFileError
from headroom.core.tensorinfo import Fault, ModelFile, TensorInfo

MIB = 2**20


def of(tensors: dict[str, TensorInfo], format_: str = "safetensors", faults: tuple[Fault, ...] = ()) -> Component:
    """The component of a header."""
    size = sum(each.size_bytes for each in tensors.values())
    return component_of(
        ModelFile("model.safetensors", format_, tensors, header_bytes=8, file_bytes=size + 8, faults=faults)
    )


def test_blocks_vace_and_the_rest_add_up() -> None:
    """SWAP-14: Wan 14B has 40 blocks, VACE 15 of its own."""
    tensors = wan(vace=15)
    found = of(tensors)
    assert (len(found.main_blocks), len(found.vace_blocks)) == (40, 15)
    assert sum(found.main_blocks) + sum(found.vace_blocks) + found.outside_bytes == found.weights_bytes
    assert found.weights_bytes == found.file_bytes - 8
    # Outside: embeddings, time, head and the patch embeddings of both; nothing of a block.
    outside = [each for name, each in tensors.items() if not name.startswith(("blocks.", "vace_blocks."))]
    assert found.outside_bytes == sum(each.size_bytes for each in outside)


@pytest.mark.parametrize(
    ("matrices", "format_"), [("F16", "fp16"), ("BF16", "bf16"), ("F8_E4M3", "fp8_e4m3"), ("F32", "fp32")]
)
def test_the_format_is_what_most_bytes_are_in(matrices: str, format_: str) -> None:
    """Wan keeps its patch embedding in fp32 and its norms in fp16, whatever the matrices are."""
    assert of(wan(layers=2, matrices=matrices)).format == format_


def test_the_largest_tensor_is_that_of_the_diffusion_model(models: Path) -> None:
    """SDXL's checkpoint: a token table of CLIP-G (49,408 x 1,280) is larger than any layer of the UNet."""
    found = component(models / "checkpoints" / "sd_xl_base_1.0.safetensors")
    assert found.largest_tensor_bytes == 1280 * 2560 * 9 * 2
    assert found.largest_tensor_bytes < 49408 * 1280 * 2


def test_a_checkpoint_is_its_diffusion_model_and_names_the_others(models: Path) -> None:
    """4897.05 MiB of UNet, 1560.80 of text encoders and 159.56 of VAE in ComfyUI's log."""
    found = component(models / "checkpoints" / "sd_xl_base_1.0.safetensors")
    assert found.weights_bytes / MIB == pytest.approx(4897.05, abs=0.01)
    assert found.part_bytes("text encoder") / MIB == pytest.approx(1560.80, abs=0.01)
    assert found.part_bytes("vae") / MIB == pytest.approx(159.56, abs=0.01)
    assert found.part_bytes("clip vision") == 0
    total = found.weights_bytes + found.part_bytes("text encoder") + found.part_bytes("vae")
    assert total == found.blocks.total_bytes
    assert sum(found.main_blocks) + found.outside_bytes == found.weights_bytes


def test_gguf_blocks_are_as_large_as_they_are_stored(models: Path) -> None:
    """SWAP-28 (ComfyUI-GGUF #264): 8 GB of Q4_K and not the 28 GB that its elements would be in fp16."""
    found = component(models / "diffusion_models" / "Wan2.2-T2V-A14B-LowNoise-Q4_K_M.gguf")
    assert (found.gguf, found.format, len(found.main_blocks)) == (True, "Q4_K", 40)
    assert (
        found.parameters
        == component(models / "diffusion_models" / "wan2.2_t2v_low_noise_14B_fp16.safetensors").parameters
    )
    assert 4.5 * (found.parameters or 0) / 8 < found.weights_bytes < 4.6 * (found.parameters or 0) / 8


def test_an_unknown_model_has_its_repeats_as_blocks() -> None:
    tensors = {f"layers.{n}.weight": tensor(f"layers.{n}.weight", (64, 64)) for n in range(12)}
    tensors["out"] = tensor("out", (100,))
    found = of(tensors)
    assert found.identity.kind == "unknown"
    assert found.main_blocks == (64 * 64 * 2,) * 12
    assert found.outside_bytes == 200


def test_what_only_is_odd_does_not_break_a_file() -> None:
    odd = Fault("padded", "Unused behind the last tensor: 1 byte.", notice=True)
    bad = Fault("truncated", "Truncated: 1 byte missing.")
    tensors = {"a": tensor("a", (4,))}
    assert not of(tensors, faults=(odd,)).broken
    assert of(tensors, faults=(odd, bad)).broken


def test_a_file_without_tensors_has_no_bytes_and_no_format(tmp_path: Path) -> None:
    (tmp_path / "empty.safetensors").write_bytes(b"")
    found = component(tmp_path / "empty.safetensors")
    assert (found.weights_bytes, found.largest_tensor_bytes, found.format, found.main_blocks) == (0, 0, "unknown", ())
    assert found.broken
    with pytest.raises(ModelFileError, match="No such file"):
        component(tmp_path / "missing.safetensors")


def test_shards_are_one_model(tmp_path: Path) -> None:
    for number in (1, 2):
        write_sparse(tmp_path / f"m-0000{number}-of-00002.safetensors", {f"layer.{number}": ("F16", (1000,))})
    found = component(tmp_path / "m-00001-of-00002.safetensors")
    assert (found.name, found.weights_bytes) == ("m.safetensors", 4000)
    assert found.file_bytes == sum(path.stat().st_size for path in tmp_path.iterdir())


def test_a_gguf_text_encoder(tmp_path: Path) -> None:
    data = gguf(
        [value("general.architecture", TEXT, text("t5encoder"))],
        [gguf_tensor("enc.blk.0.attn_q.weight", [256, 4], 12, 0)],
        bytes(4 * 144),
    )
    (tmp_path / "t5.gguf").write_bytes(data)
    found = component(tmp_path / "t5.gguf")
    assert (found.gguf, found.weights_bytes, found.parameters) == (True, 4 * 144, 1024)
