"""``headroom flags`` as a process: the three ways to start it, its exit status, its two forms of output."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

REPO = Path(__file__).resolve().parent.parent.parent


def run(*args: str, cwd: Path = REPO, start: tuple[str, ...] = ("-m", "headroom"), stdin: str = "", **env: str):
    """The command, in a Python without site-packages."""
    return subprocess.run(
        [sys.executable, "-S", *start, *args],
        cwd=cwd,
        input=stdin,
        capture_output=True,
        encoding="utf-8",
        check=False,
        env={**os.environ, "PYTHONIOENCODING": "utf-8", **env},
    )


def found(*args: str) -> list[str]:
    return [finding["id"] for finding in json.loads(run("flags", *args, "--json").stdout)["findings"]]


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The pack in a folder with blanks in its name."""
    folder = tmp_path_factory.mktemp("home") / "My Pack 1.2"
    shutil.copytree(REPO / "headroom", folder / "headroom", ignore=shutil.ignore_patterns("__pycache__"))
    (folder / "__init__.py").write_text("raise RuntimeError('the pack itself is not loaded')\n", "utf-8")
    return folder


@pytest.mark.parametrize(
    "start",
    [("-m", "headroom"), ("headroom",), ("-I", "headroom"), ("-I", "-B", "headroom")],
    ids=["module", "folder", "isolated", "isolated and no bytecode"],
)
def test_it_starts_in_every_way_from_a_folder_with_blanks(copy: Path, start: tuple[str, ...]) -> None:
    done = run("flags", "python main.py --lowvram --highvram", cwd=copy, start=start)
    assert (done.returncode, done.stderr) == (1, "")
    assert "is refused" in done.stdout


def test_it_starts_from_elsewhere(copy: Path, tmp_path: Path) -> None:
    done = run("flags", "python main.py", cwd=tmp_path, start=("-I", str(copy / "headroom")))
    assert (done.returncode, done.stderr) == (0, "")


def test_nothing_but_the_standard_library_is_loaded() -> None:
    code = (
        "import sys; before = set(sys.modules); sys.argv = ['headroom', 'flags', 'python main.py --lowvram']\n"
        "from headroom.cli import main\n"
        "main()\n"
        "loaded = {name.partition('.')[0] for name in set(sys.modules) - before} - {'headroom'}\n"
        "print(sorted(loaded - set(sys.stdlib_module_names)))"
    )
    done = subprocess.run(
        [sys.executable, "-S", "-c", code], cwd=REPO, capture_output=True, encoding="utf-8", check=True
    )
    assert done.stdout.splitlines()[-1] == "[]"


@pytest.mark.parametrize(
    ("args", "status"),
    [
        (["python main.py"], 0),
        (["python main.py --listen --port 8188"], 0),
        (["python main.py --lowvram"], 1),
        (["python main.py --medvram"], 1),
        (["echo hello"], 2),
        (["nowhere/start.bat"], 2),
        (["python main.py", "--vram", "twelve"], 2),
        (["python main.py", "--version", "new"], 2),
        (["python main.py", "--models", "no/such.safetensors"], 2),
        ([], 2),
    ],
)
def test_the_exit_status(args: list[str], status: int) -> None:
    done = run("flags", *args)
    assert done.returncode == status
    assert bool(done.stderr) is (status == 2)
    assert "Traceback" not in done.stderr


def test_a_line_that_is_fine_says_so() -> None:
    done = run("flags", "python main.py --listen", "--gpu", "RTX 3060")
    assert done.stdout == "ComfyUI 0.30.0 gets: --listen\nFine: nothing to say about this line.\n"


def test_a_finding_in_words() -> None:
    lines = run("flags", "X=1 python 'my main.py' --help; python main.py --lowvram --port 1").stdout.splitlines()
    assert lines[0] == "ComfyUI 0.30.0 gets: --lowvram --port 1"
    assert lines[1].startswith("Taken for granted: an NVIDIA card")
    assert lines[3] == "Note: `--lowvram` has no effect here"
    assert lines[5].startswith("  Fix: Start without `--lowvram`.")
    assert lines[6] == "      X=1 python 'my main.py' --help; python main.py --port 1"


def test_json_is_ascii_and_has_the_fields_of_the_interface() -> None:
    done = run("flags", "python main.py --reserve-vram -1", "--vram", "8GiB", "--ram", "32", "--json")
    answer = json.loads(done.stdout)
    assert done.stdout.isascii()
    assert set(answer) == {"kind", "version", "argv", "memory_limit", "assumed", "findings", "fixed"}
    assert answer["fixed"] == "python main.py"
    assert set(answer["findings"][0]) == {
        *("id", "severity", "rank", "title", "why", "fix", "command", "check", "source", "link", "params"),
    }
    assert answer["findings"][0]["params"]["value"] == -1


def test_a_file(tmp_path: Path) -> None:
    bat = tmp_path / "run nvidia.bat"
    bat.write_bytes(b"python main.py --fp16-vae ^\r\n  --reserve-vram 2\r\npause\r\n--lowvram\r\n")
    done = run("flags", str(bat))
    assert done.returncode == 1
    assert "`--lowvram` on line 4 is not applied: it stands behind `pause`" in done.stdout
    assert "      python main.py --fp16-vae ^\n        --reserve-vram 2 --lowvram\n" in done.stdout
    unit = tmp_path / "comfy.service"
    unit.write_text("[Service]\nExecStart=/v/bin/python main.py --normalvram\nMemoryMax=8G\n", "utf-8")
    assert found(str(unit)) == ["removed-flag"]
    assert found(str(unit), "--version", "0.18.2") == []
    assert found(str(unit), "--version", "0.18.2", "--ram", "64", "--models", "14GiB") == [
        *("cgroup-unread", "memory-limit-low"),
    ]


def test_a_binary_file_is_bad_input(tmp_path: Path) -> None:
    program = tmp_path / "start.bat"
    program.write_bytes(b"MZ\0\0")
    done = run("flags", str(program))
    assert (done.returncode, "not a text file" in done.stderr) == (2, True)


def test_standard_input() -> None:
    done = run("flags", "-", "--json", stdin="python main.py \\\n --lowvram\n")
    assert json.loads(done.stdout)["argv"] == ["--lowvram"]


def test_models_by_size_kind_family_and_file(tmp_path: Path) -> None:
    line = "python main.py --highvram"
    assert found(line, "--vram", "12GB", "--models", "16.1GiB") == ["resident-too-large"]
    assert found(line, "--vram", "24GiB", "--models", "16.1GiB", "te=5GiB") == []
    assert found(line, "--vram", "24GiB", "--models", "16.1GiB", "te=7GiB") == ["resident-too-large"], "beside it"
    assert found("python main.py --gpu-only", "--vram", "24", "--models", "17GiB", "te=6GiB") == ["resident-too-large"]
    assert found("python main.py --use-sage-attention", "--models", "QwenImage=20GiB") == ["sage-nan"]
    file = tmp_path / "model=1.gguf"
    file.write_bytes(b"GGUF")
    os.truncate(file, 14 * 2**30)
    assert found("python main.py --async-offload", "--models", f"diffusion={file}") == ["async-gguf"]
    assert found(line, "--card", "12GiB", "--models", f"diffusion={file}") == ["resident-too-large"]


def test_models_are_read_from_their_headers(models: Path) -> None:
    """The family and the packing of a file, whatever it is called; a well-known model goes by its name alone."""
    unets = models / "diffusion_models"
    fp8 = unets / "wan2.2_t2v_high_noise_14B_fp8_scaled.safetensors"
    gguf = unets / "Wan2.2-T2V-A14B-HighNoise-Q4_K_M.gguf"
    assert found("python main.py --async-offload", "--models", str(fp8)) == []
    assert found("python main.py --async-offload", "--models", str(gguf)) == ["async-gguf"]
    pair = [str(unets / f"wan2.2_t2v_{noise}_noise_14B_fp8_scaled.safetensors") for noise in ("high", "low")]
    machine = ("--vram", "16", "--ram", "24", "--models", *pair)
    assert found("python main.py", *machine) == [], "mapped files"
    assert found("python main.py --novram", *machine) == ["ram-switch"]
    checkpoint = str(models / "checkpoints" / "sd_xl_base_1.0.safetensors")
    assert found("python main.py --fp16-vae", "--gpu", "RTX 3060", "--models", checkpoint) == ["fp16-vae-overflow"]
    assert found("python main.py --highvram", "--vram", "12", "--models", "Wan 2.2 14B text to video, fp8") == [
        "resident-too-large"
    ]


def test_with_a_size_the_work_of_a_run_counts_too() -> None:
    """13.3 GiB of weights fit a card of 16 GiB, and a video beside them does not."""
    wan = ("--models", "Wan 2.2 14B text to video, fp8")
    assert found("python main.py --highvram", "--vram", "16", *wan) == []
    video = ("--size", "832x480", "--frames", "81")
    assert found("python main.py --highvram", "--vram", "16", *wan, *video) == ["resident-too-large"]
    assert found("python main.py --cpu-vae", "--vram", "24", *wan, *video) == ["cpu-vae-slow"]
    assert found("python main.py --cpu-vae", "--vram", "4", *wan, *video) == [], "the decode takes up to 5.4 GiB"
    assert "no `--size` is given" in run("flags", "python main.py", *wan).stdout
    assert "--size" not in run("flags", "python main.py", *wan, *video).stdout


def test_several_findings_end_with_one_line_that_has_all_changes() -> None:
    done = run("flags", "python main.py --medvram --xformers --listen")
    assert done.stdout.endswith("\nAll of it changed:\n      python main.py --listen\n")
    assert "All of it" not in run("flags", "python main.py --medvram --listen").stdout
    # Also where it is what the worst finding alone asks for.
    both = run("flags", "python main.py --foo-bar 3 --reserve-vram 2 --highvram --lowvram")
    assert "All of it changed:\n" in both.stdout


def test_every_stage_counts_beside_a_model_that_stays() -> None:
    """Wan 2.2 14B in fp8, 1280x720, 81 frames on 24 GiB, of which a run can have 22.4, was fine with --highvram."""
    names = ("--models", "Wan 2.2 14B text to video, fp8", "UMT5-XXL (Wan), fp8", "Wan 2.1 VAE, bf16")
    run_ = ("--size", "1280x720", "--frames", "81", "--vram")
    assert found("python main.py --highvram", *names, *run_, "24") == ["resident-may-not-fit"]
    assert found("python main.py --highvram", *names, *run_, "16") == ["resident-too-large"]
    assert found("python main.py --highvram", *names, *run_, "48") == []
    assert found("python main.py", *names, *run_, "24") == []


def test_sdxl_and_fp16_vae_by_size_alone() -> None:
    line = "python main.py --fp16-vae"
    assert found(line, "--models", "SDXL=6.5GiB", "--vram", "8") == ["fp16-vae-overflow"]
    assert found(line) == ["fp16-vae-alone"]
    assert found(line, "--models", "Flux.1 dev, fp8") == []


def test_a_size_that_was_given_is_not_said_to_be_missing() -> None:
    said = run("flags", "python main.py", "--models", "vae=0.2GiB", "--size", "832x480").stdout
    assert "no `--size` is given" not in said
    assert "as a size alone does not tell" in said


def test_a_compose_file(tmp_path: Path) -> None:
    file = tmp_path / "docker-compose.yml"
    file.write_text(
        "services:\n  ui:\n    command:\n      - main.py\n      - --normalvram\n    mem_limit: 8g\n", "utf-8"
    )
    assert found(str(file)) == ["removed-flag"]
    assert found(str(file), "--ram", "64", "--models", "14GiB") == ["removed-flag", "cgroup-unread", "memory-limit-low"]


@pytest.mark.parametrize("words", [["--lowvram"], ["python", "main.py", "--lowvram"]])
def test_a_line_without_quotes_is_asked_for_with_them(words: list[str]) -> None:
    """argparse takes the flags of ComfyUI for ours."""
    done = run("flags", *words)
    assert done.returncode == 2
    assert 'Put the start line of ComfyUI in quotes: "python main.py --lowvram"' in done.stderr


def test_the_card_s_name_counts() -> None:
    assert found("python main.py --force-fp16", "--gpu", "NVIDIA GeForce GTX 1650") == ["fp16-16xx"]
    assert found("python main.py --fast-disk", "--gpu", "AMD Radeon RX 7900 XTX") == ["headroom-static", "rocm-dynamic"]


def test_a_terminal_without_utf_8_gets_plain_signs() -> None:
    done = run("flags", "python main.py --reserve-vram -1", "--vram", "8", PYTHONIOENCODING="ascii")
    assert done.returncode == 1
    assert "keeps -0.2 GiB free" in done.stdout


def test_help_names_the_command() -> None:
    assert "flags" in run("--help").stdout
    assert run("flags", "--help").returncode == 0
    assert run().returncode == 2
    assert run("--version").stdout.startswith("Headroom ")


def test_a_reader_that_has_seen_enough_is_no_error() -> None:
    """``headroom ... | head -1``."""
    command = [sys.executable, "-S", "-m", "headroom", "flags", "python main.py --lowvram --highvram"]
    with subprocess.Popen(command, cwd=REPO, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == b""
