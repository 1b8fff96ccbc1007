"""Model files as the flag rules see them: by their headers, never by their names."""

from __future__ import annotations

from pathlib import Path

import pytest
from core.test_blocks import wan
from fakes.host_headers import diffusion
from fakes.model_files import write_sparse

from headroom.core.component import component, component_of
from headroom.core.flags import advise
from headroom.core.flags.parsing import read
from headroom.core.flags.versions import table_for
from headroom.core.launchline import Machine, read_line, snapshot_of
from headroom.core.needs import Run
from headroom.core.planned import Given, loaded_in, planned
from headroom.core.readings import WorkflowModel
from headroom.core.tensorinfo import ModelFile

GIB, MIB = 2**30, 2**20


def test_a_checkpoint_brings_its_text_encoders_and_its_vae(models: Path) -> None:
    """4897.05 MiB of UNet, 1560.80 of text encoders and 159.56 of VAE in ComfyUI's log."""
    found = planned(component(models / "checkpoints" / "sd_xl_base_1.0.safetensors"))
    assert [(one.kind, round((one.size_bytes or 0) / MIB)) for one in found] == [
        *(("diffusion", 4897), ("text encoder", 1561), ("vae", 160)),
    ]
    assert (found[0].family, found[0].dtype, found[0].fp8, found[0].scaled) == ("SDXL", "fp16", False, None)


def test_scaled_fp8_is_told_from_plain(models: Path) -> None:
    """ComfyUI keeps scaled files as they are and widens plain ones (comfy/model_management.py 0.30.0, unet_dtype)."""
    scaled = planned(component(models / "diffusion_models" / "wan2.2_t2v_high_noise_14B_fp8_scaled.safetensors"))
    assert [(one.kind, one.family, one.fp8, one.scaled) for one in scaled] == [("diffusion", "WAN21_T2V", True, True)]
    tensors = wan(matrices="F8_E4M3")
    size = sum(tensor.size_bytes for tensor in tensors.values())
    plain = planned(component_of(ModelFile("x.safetensors", "safetensors", tensors, header_bytes=8, file_bytes=size)))
    assert [(one.dtype, one.fp8, one.scaled, one.size_bytes) for one in plain] == [("fp8_e4m3", True, False, size)]


def test_a_gguf_file_is_one_by_its_content(models: Path, tmp_path: Path) -> None:
    copy = tmp_path / "named.safetensors"
    copy.symlink_to(models / "diffusion_models" / "Wan2.2-T2V-A14B-HighNoise-Q4_K_M.gguf")
    (found,) = planned(component(copy))
    assert (found.gguf, found.family, found.dtype, found.fp8) == (True, "WAN21_T2V", "Q4_K", False)


def test_other_files_are_what_they_are(models: Path) -> None:
    kinds = {"text_encoders": "text encoder", "vae": "vae", "loras": "lora"}
    for folder, kind in kinds.items():
        (path,) = (models / folder).iterdir()
        assert [one.kind for one in planned(component(path))] == [kind]


def test_what_a_person_says_wins(models: Path) -> None:
    path = models / "vae" / "wan_2.1_vae.safetensors"
    (found,) = planned(component(path), kind="diffusion", family="QwenImage")
    assert (found.kind, found.family) == ("diffusion", "QwenImage")
    checkpoint = component(models / "checkpoints" / "sd_xl_base_1.0.safetensors")
    assert [one.kind for one in planned(checkpoint, kind="vae")] == ["vae"]


def test_a_file_that_nobody_can_read_has_its_length(tmp_path: Path) -> None:
    """It is still loaded into the same memory, or fails for a reason that ``inspect`` tells."""
    path = tmp_path / "model.safetensors"
    path.write_bytes(b"<!DOCTYPE html>" + bytes(985))
    assert planned(component(path)) == (WorkflowModel("diffusion", size_bytes=1000),)


def test_with_a_run_each_model_has_its_work(models: Path) -> None:
    """Of two models both, of a size alone nothing; the VAE is the one given, or the one that goes with the model."""
    unets = models / "diffusion_models"
    files = [component(unets / f"wan2.2_t2v_{noise}_noise_14B_fp8_scaled.safetensors") for noise in ("high", "low")]
    given = [Given(planned(one), one) for one in files]
    sized = Given((WorkflowModel("diffusion", size_bytes=GIB),))
    assert all(one.peak_high_bytes is None for one in loaded_in([*given, sized]))
    video = Run(832, 480, 81)
    found = loaded_in([sized, *given], video)
    assert [one.kind for one in found] == ["diffusion", "diffusion", "diffusion", "vae"]
    assert found[0].peak_high_bytes is None
    assert (found[1].peak_high_bytes or 0) > (found[1].peak_low_bytes or 0) > GIB
    assert found[2].peak_high_bytes == found[1].peak_high_bytes
    assert (found[3].size_bytes, found[3].peak_high_bytes) == (None, loaded_in(given, video)[2].peak_high_bytes)
    vae = component(models / "vae" / "wan_2.1_vae.safetensors")
    with_file = loaded_in([*given, Given(planned(vae), vae)], video)
    assert [(one.kind, one.size_bytes) for one in with_file[2:]] == [("vae", vae.weights_bytes)]
    assert with_file[2].peak_high_bytes == found[3].peak_high_bytes


def test_with_a_run_a_checkpoint_has_one_vae(models: Path) -> None:
    checkpoint = component(models / "checkpoints" / "sd_xl_base_1.0.safetensors")
    found = loaded_in([Given(planned(checkpoint), checkpoint)], Run(1024, 1024))
    assert [one.kind for one in found] == ["diffusion", "text encoder", "vae"]
    assert (found[2].peak_high_bytes or 0) > (found[2].size_bytes or 0)


def advised(line: str, machine: Machine) -> list[str]:
    text, table = read_line(line), table_for()
    return [advice.id for advice in advise(snapshot_of(text, read(text.argv, table), table, machine))]


@pytest.mark.parametrize(
    ("dtype", "card", "expected"),
    [("F16", 6, ["fp32-doubles"]), ("F16", 12, []), ("F32", 12, []), ("F8_E4M3", 6, ["fp8-upcast"])],
)
def test_the_rules_see_what_the_header_says(tmp_path: Path, dtype: str, card: int, expected: list[str]) -> None:
    """SDXL's UNet has 4.8 GiB in 16 bit. A file that is fp32 already does not double; plain fp8 takes four times."""
    path = write_sparse(tmp_path / "unet.safetensors", diffusion("SDXL", dtype=dtype))
    machine = Machine(vram_bytes=card * GIB, gpu="NVIDIA RTX 2060", models=planned(component(path)))
    assert advised("python main.py --fp32-unet", machine) == expected


def test_unscaled_fp8_wan_with_sage_attention_is_known_before_it_is_loaded(models: Path) -> None:
    """NAN-11: ComfyUI #9223; QwenLM/Qwen-Image #68."""
    plain = WorkflowModel("diffusion", "WAN21_T2V", 14 * GIB, fp8=True, scaled=False)
    assert advised("python main.py --use-sage-attention", Machine(models=(plain,))) == ["sage-nan"]
    scaled = planned(component(models / "diffusion_models" / "wan2.2_t2v_low_noise_14B_fp8_scaled.safetensors"))
    assert advised("python main.py --use-sage-attention", Machine(models=scaled)) == []
