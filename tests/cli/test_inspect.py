"""``headroom inspect`` as a process: what it says of sound, damaged, unknown and many files."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from core.headers.test_gguf import FAULTS as GGUF_FAULTS
from core.headers.test_safetensors_faults import FAULTS as SAFETENSORS_FAULTS
from core.headers.test_sniff import FAULTS as OTHER_FAULTS
from fakes.model_files import framed, write_large, write_sparse

from headroom.cli import main

REPO = Path(__file__).resolve().parent.parent.parent
FAULTS = {
    f"{kind}, {name}": (f"model.{'gguf' if kind == 'gguf' else 'safetensors'}", *case)
    for kind, cases in (("safetensors", SAFETENSORS_FAULTS), ("gguf", GGUF_FAULTS), ("other", OTHER_FAULTS))
    for name, case in cases.items()
}
SMALL = {"a.weight": ("F16", (4, 4)), "a.bias": ("F16", (4,))}


def run(*args: str | Path, start: tuple[str, ...] = ("-m", "headroom"), cwd: Path = REPO, **env: str):
    """The command, in a Python without site-packages: no torch, no numpy, no safetensors, no gguf."""
    return subprocess.run(
        [sys.executable, "-S", *start, "inspect", *map(str, args)],
        cwd=cwd,
        capture_output=True,
        encoding="utf-8",
        check=False,
        env={**os.environ, "PYTHONIOENCODING": "utf-8", **env},
    )


def read(*args: str | Path) -> list[dict]:
    """The files of ``--json``."""
    done = run(*args, "--json")
    assert done.stdout.isascii()
    return json.loads(done.stdout)["files"]


def plain(text: str) -> str:
    """With plain spaces."""
    return text.replace("\u00a0", " ")


@pytest.mark.parametrize(
    "start", [("-m", "headroom"), ("headroom",), ("-I", "headroom"), ("-I", "-B", "headroom")], ids=" ".join
)
def test_it_starts_in_every_way_from_a_folder_with_blanks(start: tuple[str, ...], tmp_path: Path) -> None:
    """The module is called ``inspect`` like one of Python's own, which dataclasses need."""
    pack = tmp_path / "My Pack 1.2"
    shutil.copytree(REPO / "headroom", pack / "headroom", ignore=shutil.ignore_patterns("__pycache__"))
    done = run(write_sparse(tmp_path / "a file.safetensors", SMALL), start=start, cwd=pack)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("a file.safetensors\n  unknown model, ")


def test_wan_in_fp8_in_words(models: Path) -> None:
    """SWAP-04: 40 blocks of 335.23 MiB (ComfyUI-WanVideoWrapper #1272; the scales of the file add 0.01)."""
    done = run(models / "diffusion_models" / "wan2.2_t2v_high_noise_14B_fp8_scaled.safetensors")
    lines = plain(done.stdout).splitlines()
    assert lines[:5] == [
        "wan2.2_t2v_high_noise_14B_fp8_scaled.safetensors",
        "  diffusion model, Wan 2.1/2.2 14B text to video (WAN21_T2V), 13.3 GiB",
        "  Latent: Wan21, 16 channels, 8 px a side, 4 frames in one",
        "  Computes in: fp16, bf16, fp32",
        "  Memory factor of ComfyUI: 2.304 = 1 x dim / 2222",
    ]
    assert "  The header cannot tell: Wan 2.1 from 2.2, high from low noise, and the finetune" in lines
    assert "    blocks.            40  335.2 MiB each   13.1 GiB" in lines
    assert max(map(len, lines)) <= 100
    assert (done.returncode, done.stderr) == (0, "")


def test_a_checkpoint_names_the_models_inside(models: Path) -> None:
    """ComfyUI's log says 4897.05 MiB for SDXL's UNet, 1560.80 for its text encoders, 159.56 for the VAE."""
    (found,) = read(models / "checkpoints" / "sd_xl_base_1.0.safetensors")
    parts = {part["name"]: part["bytes"] for part in found["parts"]}
    assert found["family"] == "SDXL"
    assert parts["SDXL"] / 2**20 == pytest.approx(4897.05, abs=0.01)
    assert (parts["CLIP-L"] + parts["CLIP-G"]) / 2**20 == pytest.approx(1560.80, abs=0.01)
    assert parts["SD VAE (SD 1.5, SDXL)"] / 2**20 == pytest.approx(159.56, abs=0.01)
    assert sum(parts.values()) == found["tensor_bytes"]
    text = plain(run(models / "checkpoints" / "sd_xl_base_1.0.safetensors").stdout)
    assert "    text encoder: CLIP-L        235.8 MiB\n" in text
    assert "model.diffusion_model.output_blocks.  9  6.5 MiB to 775.4 MiB, uneven" in text


def test_a_lora_says_its_rank_and_what_it_is_for(models: Path) -> None:
    text = plain(run(models / "loras" / "a lora.safetensors").stdout)
    assert "  LoRA for Wan 2.1/2.2 14B, 100.0 MiB\n  Rank: 32; LoRA" in text
    assert "  For: WAN21_T2V, WAN21_I2V," in text


def test_a_gguf_file_is_the_same_family_with_the_same_blocks(models: Path) -> None:
    """SWAP-28: sizes are those of the quantised blocks, not two bytes per element."""
    (found,) = read(models / "diffusion_models" / "Wan2.2-T2V-A14B-HighNoise-Q4_K_M.gguf")
    assert (found["family"], found["format"], len(found["blocks"][0]["block_bytes"])) == ("WAN21_T2V", "Q4_K", 40)
    # q, k, v, o twice and the two matrices of the feed-forward, 4.5 bits an element; biases and norms in fp32.
    matrices = (8 * 5120 * 5120 + 2 * 5120 * 13824) * 144 // 256
    small = 4 * (6 * 5120 + 8 * 5120 + 13824 + 5120 + 4 * 5120 + 2 * 5120)
    assert set(found["blocks"][0]["block_bytes"]) == {matrices + small}


def test_the_fields_of_the_json(models: Path) -> None:
    """The names are an interface; sizes are whole numbers, what is not known is null."""
    (found,) = read(models / "vae" / "wan_2.1_vae.safetensors")
    assert list(found) == [
        *("path", "file", "kind", "status", "name", "family", "architecture", "style", "format", "file_bytes"),
        *("tensors", "tensor_bytes", "parameters", "formats", "blocks", "outside_bytes", "others_bytes", "parts"),
        *("latent", "dtypes", "fp16_overflow", "memory_factor", "memory_formula", "sizes", "fits", "undetermined"),
        *("faults", "missing", "remarks"),
    ]
    assert found["latent"] == {"format": None, "channels": 16, "dims": 3, "spatial": 8, "temporal": 4}
    assert (found["kind"], found["family"], found["memory_factor"]) == ("vae", "WanVAE", None)
    assert found["tensor_bytes"] == found["outside_bytes"] == sum(row["bytes"] for row in found["formats"])


@pytest.mark.parametrize(("name", "data", "id_", "line"), FAULTS.values(), ids=FAULTS.keys())
def test_every_fault_is_one_line_and_the_exit_status(
    name: str, data: bytes, id_: str, line: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What keeps a loader from the file is 1; what does not (a newer dtype, padding) is a note and 0."""
    path = tmp_path / name
    path.write_bytes(data)
    status = main(["inspect", str(path)])
    said = [text for text in plain(capsys.readouterr().out).splitlines() if text.startswith(("  Fault: ", "  Note: "))]
    assert [text for text in said if line in text] == [f"  {'Fault' if status else 'Note'}: {line}"]
    main(["inspect", "--json", str(path)])
    (found,) = json.loads(capsys.readouterr().out)["files"]
    assert [(fault["id"], fault["text"]) for fault in found["faults"]] == [(id_, line)]
    assert status == (0 if found["faults"][0]["notice"] else 1)
    assert found["file_bytes"] == len(data)


def test_a_damaged_file_ends_the_process_with_1(tmp_path: Path) -> None:
    """CogVideoXWrapper #222: a file of 0 bytes, and "HeaderTooSmall" from the loader."""
    (tmp_path / "vae.safetensors").write_bytes(b"")
    done = run(tmp_path / "vae.safetensors")
    assert (done.returncode, done.stderr) == (1, "")
    assert plain(done.stdout) == (
        "vae.safetensors\n  no model that can be read, 0 bytes\n  Fault: Empty: 0 bytes. Download it again.\n"
    )


def test_a_shard_that_is_missing_is_named(tmp_path: Path) -> None:
    write_sparse(tmp_path / "model-00001-of-00002.safetensors", SMALL)
    done = run(tmp_path / "model-00001-of-00002.safetensors")
    assert done.returncode == 1
    assert "Missing beside it: `model-00002-of-00002.safetensors`" in done.stdout


def test_half_a_model_is_damaged_and_named(models: Path, tmp_path: Path) -> None:
    from fakes.host_headers import diffusion

    half = {name: each for name, each in diffusion("WAN21_T2V", "1.3b").items() if not name.startswith("head.")}
    done = run(write_sparse(tmp_path / "half.safetensors", half))
    assert done.returncode == 1
    assert ", damaged" in done.stdout
    assert "  Fault: " in done.stdout


def test_an_unknown_model_is_no_fault_and_its_bytes_count(tmp_path: Path) -> None:
    tensors = {f"layers.{n}.weight": ("F16", (64, 64)) for n in range(12)} | {"out": ("F32", (10,))}
    path = write_sparse(tmp_path / "new.safetensors", tensors)
    done = run(path)
    assert done.returncode == 0
    assert "Note: no row of Headroom's table fits this header" in done.stdout
    assert "layers.            12  8.0 KiB each  96.0 KiB" in plain(done.stdout)
    (found,) = read(path)
    assert (found["family"], found["latent"], found["memory_factor"]) == (None, None, None)
    assert found["tensor_bytes"] == 12 * 64 * 64 * 2 + 40


def test_what_cannot_be_read_is_2_and_the_rest_is_still_told(tmp_path: Path) -> None:
    path = write_sparse(tmp_path / "there.safetensors", SMALL)
    done = run(tmp_path / "not there.safetensors", path)
    assert done.returncode == 2
    assert done.stderr == "headroom: `not there.safetensors` cannot be read: No such file or directory.\n"
    assert done.stdout.startswith("there.safetensors\n")
    assert run().returncode == 2


def test_a_folder_is_one_table(models: Path, tmp_path: Path) -> None:
    folder = tmp_path / "models"
    shutil.copytree(models / "diffusion_models", folder, copy_function=os.link)
    (folder / "cut.safetensors").write_bytes(framed(b'{"a":{"dtype":"F16","shape":[4],"data_offsets":[0,8]}}', b"1234"))
    (folder / "readme.txt").write_text("no model")
    done = run(folder)
    lines = plain(done.stdout).splitlines()
    assert done.returncode == 1
    assert lines[0].split() == ["file", "size", "format", "what"]
    assert lines[1].split() == ["cut.safetensors", "66", "bytes", "fp16", "DAMAGED,", "unknown", "model"]
    assert lines[2] == "  Fault: Truncated: 4 bytes missing of 70 bytes. Download it again."
    assert len(lines) == 2 + 8
    assert max(map(len, lines)) <= 100
    assert {found["path"] for found in read(folder)} == {path.name for path in folder.iterdir()} - {"readme.txt"}


def test_folders_below_only_when_asked(models: Path) -> None:
    done = run(models)
    assert (done.returncode, done.stdout) == (2, "")
    assert "With --recursive the folders below are searched too." in done.stderr
    found = {item["path"].replace("\\", "/") for item in read(models, "--recursive")}
    assert "vae/wan_2.1_vae.safetensors" in found
    assert len(found) == 11


def test_a_diffusers_folder_is_one_model(tmp_path: Path) -> None:
    folder = tmp_path / "pipeline"
    for part in ("transformer", "vae"):
        (folder / part).mkdir(parents=True)
        (folder / part / "config.json").write_text("{}")
        write_sparse(folder / part / "diffusion_pytorch_model.safetensors", SMALL)
    index = {"transformer": ["diffusers", "A"], "vae": ["diffusers", "B"]}
    (folder / "model_index.json").write_text(json.dumps(index))
    (found,) = read(folder)
    assert (found["tensors"], found["tensor_bytes"]) == (4, 2 * 2 * (16 + 4))


def test_patterns_are_expanded_here_since_windows_shell_does_not(tmp_path: Path) -> None:
    for name in ("b.safetensors", "a.safetensors", "[c].safetensors"):
        write_sparse(tmp_path / name, SMALL)
    assert [found["file"] for found in read(tmp_path / "?.safetensors")] == ["a.safetensors", "b.safetensors"]
    assert [found["file"] for found in read(tmp_path / "[c].safetensors")] == ["[c].safetensors"]
    assert run(tmp_path / "*.gguf").returncode == 2


def test_a_file_of_40_gb_is_read_by_its_header(tmp_path: Path) -> None:
    (found,) = read(write_large(tmp_path / "qwen.safetensors"))
    assert found["file_bytes"] > 40 * 10**9
    assert (found["tensor_bytes"], len(found["blocks"][0]["block_bytes"])) == (
        found["outside_bytes"] + sum(found["blocks"][0]["block_bytes"]),
        60,
    )


@pytest.mark.parametrize("encoding", ["ascii", "cp1252", "cp437"])
def test_a_terminal_without_utf_8_gets_plain_signs(models: Path, encoding: str) -> None:
    done = subprocess.run(
        [sys.executable, "-S", "-m", "headroom", "inspect", str(models / "vae" / "wan_2.1_vae.safetensors")],
        cwd=REPO,
        capture_output=True,
        check=False,
        env={**os.environ, "PYTHONIOENCODING": encoding},
    )
    assert (done.returncode, done.stderr) == (0, b"")
    assert "Wan 2.1 VAE (WanVAE), 242.1 MiB" in plain(done.stdout.decode(encoding))


def test_only_the_standard_library_is_loaded(tmp_path: Path) -> None:
    path = write_sparse(tmp_path / "a.safetensors", SMALL)
    code = (
        f"import sys; before = set(sys.modules); sys.argv = ['headroom', 'inspect', {str(path)!r}]\n"
        "from headroom.cli import main\n"
        "main()\n"
        "loaded = {name.partition('.')[0] for name in set(sys.modules) - before} - {'headroom'}\n"
        "print(sorted(loaded - set(sys.stdlib_module_names)))"
    )
    done = subprocess.run(
        [sys.executable, "-S", "-c", code], cwd=REPO, capture_output=True, encoding="utf-8", check=True
    )
    assert done.stdout.splitlines()[-1] == "[]"
