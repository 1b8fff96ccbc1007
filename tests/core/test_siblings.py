"""Other quantisations of a model: what counts as the same model, and what a folder costs."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from fakes.model_files import write_sparse

from headroom.core import siblings as module
from headroom.core.component import component
from headroom.core.errors import ModelFileError
from headroom.core.siblings import model_files, same_name, siblings

HIGH = "wan2.2_t2v_high_noise_14B_fp16.safetensors"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (HIGH, "wan2.2_t2v_high_noise_14B_fp8_scaled.safetensors"),
        (HIGH, "Wan2.2-T2V-A14B-HighNoise-Q4_K_M.gguf"),
        (HIGH, "Wan2_2-T2V-A14B_HIGH_fp8_e4m3fn_scaled_KJ.safetensors"),
        ("flux1-dev.safetensors", "flux1-dev-Q8_0.gguf"),
        ("flux1-dev.safetensors", "flux1-dev-fp8.safetensors"),
        ("qwen_image_edit_2509_fp8_e4m3fn.safetensors", "Qwen-Image-Edit-2509-Q4_K_S.gguf"),
        ("z_image_turbo_bf16.safetensors", "z_image_turbo-Q5_0.gguf"),
        ("ltx-video-13b-v0.9.7-distilled.safetensors", "ltx-video-13b-v0.9.7-distilled-fp8.safetensors"),
        ("model 1.safetensors", "model-1-nvfp4.safetensors"),
    ],
)
def test_these_names_are_of_one_model(one: str, other: str) -> None:
    assert same_name(one, other)
    assert same_name(other, one)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (HIGH, "wan2.2_t2v_low_noise_14B_fp8_scaled.safetensors"),
        (HIGH, "Wan2.2-T2V-A14B-LowNoise-Q4_K_M.gguf"),
        (HIGH, "wan2.1_t2v_14B_fp8_scaled.safetensors"),
        ("wan2.1_t2v_14B_fp16.safetensors", "wan2.2_t2v_14B_fp8.safetensors"),
        ("flux1-dev.safetensors", "flux1-kontext-dev-Q8_0.gguf"),
        ("flux1-dev.safetensors", "flux1-krea-dev_fp8_scaled.safetensors"),
        ("qwen_image_fp8_e4m3fn.safetensors", "qwen_image_edit_fp8_e4m3fn.safetensors"),
        ("qwen_image_edit_fp8_e4m3fn.safetensors", "qwen_image_edit_2509_fp8_e4m3fn.safetensors"),
        ("ltx-video-13b-dev-0.9.7.safetensors", "ltx-video-13b-distilled-0.9.7.safetensors"),
    ],
)
def test_these_have_the_same_shapes_and_are_not(one: str, other: str) -> None:
    """Nothing in the header tells them apart: a plan that took the wrong one would change the picture."""
    assert not same_name(one, other)
    assert not same_name(other, one)


def test_the_siblings_beside_a_file(models: Path) -> None:
    """High noise has two, largest first; low noise and the 1.3B model are none of them."""
    path = models / "diffusion_models" / HIGH
    found = siblings(path, component(path))
    assert [one.name for one in found.found] == [
        "wan2.2_t2v_high_noise_14B_fp8_scaled.safetensors",
        "Wan2.2-T2V-A14B-HighNoise-Q4_K_M.gguf",
    ]
    assert found.complete


def test_a_models_folder_is_searched_to_its_depth(models: Path, tmp_path: Path) -> None:
    """The file lies elsewhere; the folder has its quantisations two levels down, and a copy that is no other format."""
    path = tmp_path / HIGH
    os.link(models / "diffusion_models" / HIGH, path)
    assert [one.format for one in siblings(path, component(path), models).found] == ["fp8_e4m3_scaled", "Q4_K"]
    assert siblings(path, component(path)).found == ()


def test_damaged_files_and_other_families_are_left_out(models: Path, tmp_path: Path) -> None:
    path = tmp_path / "wan_14B_fp16.safetensors"
    os.link(models / "diffusion_models" / HIGH, path)
    (tmp_path / "wan_14B_fp8.safetensors").write_bytes(b"")
    os.link(models / "diffusion_models" / "wan2.1_t2v_1.3B_fp16.safetensors", tmp_path / "wan_14B_bf16.safetensors")
    os.link(models / "vae" / "wan_2.1_vae.safetensors", tmp_path / "wan_14B_Q8_0.safetensors")
    assert siblings(path, component(path)).found == ()


def test_the_number_of_headers_is_bounded(models: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a model.safetensors"
    os.link(models / "diffusion_models" / HIGH, path)
    for number in range(5):
        (tmp_path / f"b model {number}_fp8.safetensors").write_bytes(b"")
    monkeypatch.setattr(module, "MOST_HEADERS", 5)
    assert siblings(path, component(path)).complete
    monkeypatch.setattr(module, "MOST_HEADERS", 4)
    assert not siblings(path, component(path)).complete


def test_the_model_files_of_a_folder(tmp_path: Path) -> None:
    small = {"a": ("F16", (4,))}
    for name in ("B.SAFETENSORS", "a.gguf", "c.ckpt", "notes.txt", ".hidden.safetensors"):
        write_sparse(tmp_path / name, small)
    for number in (1, 2, 3):
        write_sparse(tmp_path / f"s-0000{number}-of-00003.safetensors", small)
    (tmp_path / "below" / "deeper").mkdir(parents=True)
    write_sparse(tmp_path / "below" / "deeper" / "d.sft", small)
    names = [os.path.basename(path) for path in model_files(tmp_path)]
    assert names == ["a.gguf", "B.SAFETENSORS", "c.ckpt", "s-00001-of-00003.safetensors"]
    assert [os.path.basename(path) for path in model_files(tmp_path, recursive=True)] == [
        *names[:2],
        "d.sft",
        *names[2:],
    ]
    assert len(model_files(tmp_path, recursive=True, most=3)) == 3


def test_a_link_to_a_folder_above_does_not_go_round_in_circles(tmp_path: Path) -> None:
    write_sparse(tmp_path / "a.safetensors", {"a": ("F16", (4,))})
    (tmp_path / "below").mkdir()
    try:
        (tmp_path / "below" / "up").symlink_to(tmp_path, target_is_directory=True)
    except OSError:
        pytest.skip("links need a right that only on Windows is missing")
    assert len(model_files(tmp_path, recursive=True)) == 1


def test_a_folder_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ModelFileError, match="The folder nowhere cannot be read: No such file"):
        model_files(tmp_path / "nowhere")
