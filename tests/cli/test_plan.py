"""``headroom plan`` as a process: real headers, real estimates, a Python without torch."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from fakes.model_files import write_sparse

REPO = Path(__file__).resolve().parent.parent.parent
GIB = 2**30
HIGH, LOW = (f"wan2.2_t2v_{noise}_noise_14B_fp8_scaled.safetensors" for noise in ("high", "low"))
ENCODER = "umt5_xxl_fp8_e4m3fn_scaled.safetensors"
RUN = ("--size", "832x480", "--frames", "81", "--cfg", "6")


def run(*args: str | Path, start: tuple[str, ...] = ("-m", "headroom"), cwd: Path = REPO, **env: str):
    """The command, in a Python without site-packages."""
    return subprocess.run(
        [sys.executable, "-S", *start, "plan", *map(str, args)],
        cwd=cwd,
        capture_output=True,
        encoding="utf-8",
        check=False,
        env={**os.environ, "PYTHONIOENCODING": "utf-8", **env},
    )


def read(*args: str | Path, status: int | None = None) -> dict[str, Any]:
    """The plan of ``--json``."""
    done = run(*args, "--json")
    assert done.stderr == ""
    assert status in (None, done.returncode)
    assert done.stdout.isascii()
    return json.loads(done.stdout)


def text(*args: str | Path, status: int) -> str:
    """The plan for people, with plain spaces and dashes, every line within 100 columns."""
    done = run(*args)
    assert (done.stderr, done.returncode) == ("", status)
    assert max(map(len, done.stdout.splitlines())) <= 100
    return done.stdout.replace("\u00a0", " ").replace("\u2013", "-")


def wan(models: Path, *more: str) -> tuple[str | Path, ...]:
    """Wan 2.2 as ComfyUI's template loads it, by names that are looked up in the models folder."""
    return (HIGH, LOW, "--text-encoder", ENCODER, "--vae", "wan_2.1_vae.safetensors", "--models", models, *RUN, *more)


def test_wan_2_2_on_12_gib_in_words(models: Path) -> None:
    """RAM-01 (ComfyUI #10771): both models, the text encoder and 32 GB of RAM: that was without dynamic VRAM."""
    said = text(*wan(models, "--card", "12GiB", "--ram", "32GiB", "--steps", "20"), status=0)
    lines = said.splitlines()
    assert lines[0] == "Wan 2.1/2.2 14B text to video: 832x480, 81 frames, batch 1, cfg 6"
    assert lines[1] == "Card: 12 GiB, RAM: 32.0 GiB"
    assert "  wan2.2_t2v_high_noise...8_scaled.safetensors  model         fp8_e4m3_scaled  13.3" in lines
    assert "  umt5_xxl_fp8_e4m3fn_scaled.safetensors        text encoder  fp8_e4m3_scaled   6.3" in lines
    for section in ("Models ", "Stages, GiB ", "Block swap", "Between the stages", "Largest that surely fits: "):
        assert sum(line.startswith(section) for line in lines) == 1, section
    assert "Leave it to dynamic VRAM: set nothing." in said
    assert lines[2] == "Verdict: fits the card: weights are streamed; RAM: a part is read from disk again"
    assert "  Text encoding            6.3  gpu      disk, and RAM in part" in lines
    assert "  RAM: all 28.0 GiB that models can have" in lines
    assert "26.6 GiB of both models at once, without the text" in said
    assert "no flag is needed" in " ".join(said.split())
    # ComfyUI 0.30.0 lets go by itself, and with that flag every queue would encode the prompt again (PR#7509).
    assert "--cache-none" not in said
    assert "  All 20 steps copy " in said
    assert "Programs can have 11.6 GiB of 12 GiB" in said


def test_the_json_of_the_same_plan(models: Path) -> None:
    plan = read(*wan(models, "--vram", "12GiB", "--ram", "32GiB"), status=0)
    assert list(plan) == [
        *("run", "card", "ram_bytes", "loader", "link", "models", "variants", "assumptions", "verdict", "ram"),
        *("finding", "stages", "swap", "swap_short_bytes", "offload", "switch", "largest", "choices"),
    ]
    assert (plan["ram"]["verdict"], plan["ram"]["finding"]) == ("reads again", False)
    assert plan["run"] == {"width": 832, "height": 480, "frames": 81, "batch": 1, "cfg": 6.0}
    assert [stage["name"] for stage in plan["stages"]] == [
        *("Text encoding", "Sampling, first model", "Sampling, second model", "Decode")
    ]
    sampling, decode = plan["stages"][1], plan["stages"][3]
    assert 0 < sampling["work_low_bytes"] <= sampling["work_high_bytes"] < 12 * GIB
    # comfy/model_base.py 0.30.0: 2 x 16 ch latent area x 2 bytes x 0.01 x dim/2222 MiB.
    area = 21 * 60 * 104
    assert sampling["reserved_by_host_bytes"] == pytest.approx(2 * area * 2 * 0.01 * 5120 / 2222 * 2**20, rel=1e-6)
    assert sampling["verdict"] == plan["verdict"] == "streams"
    # comfy/sd.py 0.30.0, Wan's VAE: 7000 x 60 x 104 x 64 x 2 bytes of bf16.
    assert decode["reserved_by_host_bytes"] == 7000 * 60 * 104 * 64 * 2
    assert 0 < decode["work_low_bytes"] <= decode["work_high_bytes"]
    assert (plan["switch"]["fits"], plan["switch"]["encoders_bytes"]) == (True, 0)
    assert plan["offload"]["flags"] == []
    assert [row["format"] for row in plan["variants"]] == ["fp16", "fp8_e4m3_scaled", "Q4_K"]
    assert plan["choices"][0]["id"] == "quantisation"
    assert plan["choices"][0]["format"] == "Q4_K"


def test_without_dynamic_vram_the_same_ram_is_a_finding_everywhere(models: Path) -> None:
    """Headline, exit status, JSON, the switch and --tiers said five different things about it."""
    args = wan(models, "--ram", "32GiB", "--no-dynamic-vram")
    said = text(*args, "--card", "12GiB", status=1)
    assert "Verdict: fits the card: weights are streamed; RAM: short, the system may end ComfyUI" in said
    assert "--cache-none" in said
    assert "The price: every queue loads every file" in " ".join(said.split())
    plan = read(*args, "--card", "12GiB", status=1)
    assert (plan["verdict"], plan["ram"]["verdict"], plan["finding"]) == ("streams", "short", True)
    # Files that are smaller, dynamic VRAM, the flag, and RAM: something for the RAM is among what to change.
    assert {"dynamic", "cache-none", "ram"} <= {choice["id"] for choice in plan["choices"]}
    tiers = text(*args, "--tiers", status=1)
    assert next(line for line in tiers.splitlines() if "RAM of 32.0 GiB" in line).split()[-4:] == ["short"] * 4
    assert "have to be in RAM at once" in " ".join(tiers.split())


def test_a_picture_whose_text_encoder_is_read_again_is_no_finding() -> None:
    """Z-Image on 8 GiB with 16 of RAM: --cache-none was recommended, and the exit status was 1."""
    model, encoder = "Z-Image Turbo, bf16", "Qwen3 4B (Z-Image), bf16"
    said = text(model, "--text-encoder", encoder, "--card", "8", "--ram", "16", "--size", "1024x1024", status=0)
    assert "is read from disk as it is needed" in " ".join(said.split())
    assert "cache-none" not in said


def test_weights_from_disk_have_a_disk_s_time() -> None:
    """Flux.2 on 8 GiB with 16 of RAM: "All 20 steps copy 479 GiB, about 20.4 s", from pinned memory."""
    args = ("Flux.2 dev, fp8", "--card", "8", "--ram", "16", "--size", "1024x1024", "--steps", "20")
    said = " ".join(text(*args, status=1).split())
    assert "RAM: too small, weights come from disk in each step" in said
    assert "from an NVMe SSD at 3.0 GB/s" in said
    assert "GiB of RAM in place of 16.0 GiB: then no step reads from disk." in said
    assert "from pinned memory" not in said
    assert "about 20" not in said
    plan = read(*args[:-2], status=1)
    assert plan["stages"][0]["copy_high_seconds"] is None
    low, high = plan["ram"]["disk_low_bytes"], plan["ram"]["disk_high_bytes"]
    assert high - low == pytest.approx(12 * GIB, abs=GIB // 2)


def test_a_setting_that_is_too_small_is_said_to_be_the_cause(models: Path) -> None:
    """--blocks 10 of 40: "Largest that surely fits: 1296x752" and "nothing that was tried makes it fit"."""
    args = (HIGH, "--models", models, *RUN, "--card", "12GiB", "--loader", "wan-wrapper")
    said = text(*args, "--blocks", "10", status=1)
    assert "Verdict: does not fit the card with these settings" in said
    assert "Largest that surely fits with these settings: " in said
    assert "  1. blocks_to_swap " in said
    assert " in place of 10: then it streams " in said
    assert "prefetch_blocks 0 in place of 50: then it streams " in " ".join(
        text(*args, "--prefetch", "50", status=1).split()
    )


def test_steps_are_counted_for_every_card(models: Path) -> None:
    """--tiers took --steps and said nothing about them."""
    said = text(*wan(models, "--tiers", "8,12", "--steps", "20"), status=0)
    row = next(line for line in said.splitlines() if line.startswith("    20 steps take about"))
    assert row.split()[-1] == "s"
    resident = text(*wan(models, "--card", "24", "--steps", "20"), status=0)
    assert "  All 20 steps copy nothing: all weights of sampling stay on the card." in resident


def test_enough_of_everything_is_no_finding(models: Path) -> None:
    plan = read(*wan(models, "--card", "24GiB", "--ram", "128GiB"), status=0)
    assert (plan["finding"], plan["verdict"], plan["switch"]["fits"]) == (False, "resident", True)


def test_more_frames_and_pixels_take_more(models: Path) -> None:
    """VAE-40 (HunyuanVideoWrapper #65): time counts, not only height and width."""
    args = (HIGH, "--models", models, "--card", "80GiB")
    found = [
        read(*args, "--size", size, "--frames", frames)["stages"]
        for size, frames in (("832x480", "81"), ("832x480", "161"), ("1280x720", "161"))
    ]
    for stage in (0, 1):
        work = [(each[stage]["work_low_bytes"], each[stage]["work_high_bytes"]) for each in found]
        assert work == sorted(work)
    assert found[0][0]["work_high_bytes"] < found[1][0]["work_high_bytes"] < found[2][0]["work_high_bytes"]
    assert found[1][1]["work_high_bytes"] < found[2][1]["work_high_bytes"]


def test_the_largest_that_fits_does_fit_and_the_next_does_not(models: Path) -> None:
    args = (HIGH, "--models", models, "--card", "12GiB", "--cfg", "1")
    most = read(*args, "--size", "832x480", "--frames", "81")["largest"]
    fits = [read(*args, "--size", "832x480", "--frames", str(most["frames"] + more))["verdict"] for more in (0, 4)]
    assert fits[0] == "streams"
    assert fits[1] in ("may not fit", "does not fit")
    size = f"{most['width']}x{most['height']}"
    assert read(*args, "--size", size, "--frames", "81")["verdict"] == "streams"


def test_four_cards_side_by_side(models: Path) -> None:
    """The guides' tiers are quoted as claims, and stand beside what the arithmetic gives."""
    said = text(*wan(models, "--tiers", "--ram", "64GiB"), status=0)
    lines = said.splitlines()
    head = next(line for line in lines if line.startswith("  Card"))
    assert head.split() == ["Card", "8", "GiB", "12", "GiB", "16", "GiB", "24", "GiB"]
    rows = {line[2:25].strip() for line in lines}
    for row in (
        "usable",
        "verdict",
        "streams per step, GiB",
        "which takes about",
        "largest at 81 frames",
        "take",
        "with it",
    ):
        assert row in rows, row
    assert "frames at 832x480" in rows
    assert "A guide claims for Wan 2.7, without a measurement: 8 GiB: stills at most;" in said
    plan = read(*wan(models, "--tiers", "12,24"), status=0)
    assert [tier["card"]["stated_bytes"] // GIB for tier in plan["tiers"]] == [12, 24]
    assert [tier["take"]["format"] for tier in plan["tiers"]] == ["Q4_K", "fp8_e4m3_scaled"]
    assert plan["tiers"][0]["largest"]["frames"] < plan["tiers"][1]["largest"]["frames"]
    assert plan["tiers"][1]["claim"] == "full precision, 720p"


# --- block swap ------------------------------------------------------------------------------------------------------


def test_75_blocks_of_40(models: Path) -> None:
    """SWAP-01 (ComfyUI-WanVideoWrapper #898): 55 or 75 blocks had no effect, since the model has 40."""
    args = (HIGH, "--models", models, *RUN, "--card", "12GiB", "--loader", "wan-wrapper", "--blocks", "75")
    said = text(*args, status=1)
    assert "WanVideoWrapper: blocks_to_swap 40 of 40" in said
    assert "75 blocks were asked for and this model has 40: 40 is the most." in said
    (swap,) = read(*args)["swap"]
    assert (swap["blocks"], swap["blocks_to_swap"], swap["blocks_resident"]) == (40, 40, 0)


def test_the_small_wan_has_30(models: Path) -> None:
    """SWAP-02 (ComfyUI-WanVideoWrapper #93): 40 blocks on the 1.3B model."""
    args = ("wan2.1_t2v_1.3B_fp16.safetensors", "--models", models, *RUN, "--card", "8GiB", "--loader", "wan-wrapper")
    (swap,) = read(*args, "--blocks", "40")["swap"]
    assert (swap["blocks"], swap["blocks_to_swap"]) == (30, 30)
    assert swap["notices"] == ["40 blocks were asked for and this model has 30: 30 is the most."]


def test_a_trainer_keeps_one_block(models: Path) -> None:
    """SWAP-16 (musubi-tuner docs): 39 is the most for 14B."""
    args = (HIGH, "--models", models, *RUN, "--card", "8GiB", "--loader", "musubi-tuner", "--blocks", "40")
    (swap,) = read(*args)["swap"]
    assert (swap["blocks_to_swap"], swap["blocks_resident"]) == (39, 1)


@pytest.mark.parametrize(
    ("cls", "case", "blocks"),
    [
        # SWAP-18 (sd-scripts PR#2000): Flex has 8 double blocks beside the 38 single ones, Flux 19.
        ("Flux", "8-double-blocks", 8 + 38),
        ("Flux", "dev", 19 + 38),
        # SWAP-20: what the files themselves have.
        ("QwenImage", "qwen-image", 60),
        ("LTXV", "2b", 28),
        ("GenmoMochi", "preview", 48),
    ],
)
def test_blocks_are_counted_and_never_looked_up(cls: str, case: str, blocks: int, host: Any, tmp_path: Path) -> None:
    from fakes.host_headers import diffusion

    path = write_sparse(tmp_path / "model.safetensors", diffusion(cls, case, "BF16"))
    (model,) = read(path, "--size", "512x512", "--card", "24GiB")["models"]
    assert model["blocks"] == blocks


def test_vace_has_blocks_of_its_own(host: Any, tmp_path: Path) -> None:
    """SWAP-14: Wan 14B's VACE has 8 control blocks beside the 40."""
    from fakes.host_headers import diffusion

    path = write_sparse(tmp_path / "vace.safetensors", diffusion("WAN21_Vace", "14b"))
    plan = read(path, *RUN, "--card", "8GiB", "--loader", "wan-wrapper", "--prefetch", "1")
    assert (plan["models"][0]["blocks"], plan["models"][0]["vace_blocks"]) == (40, 8)
    assert plan["swap"][0]["blocks_to_swap"] == 40
    assert plan["swap"][0]["prefetch_blocks"] == 1


def test_loras_lie_beside_the_weights(models: Path) -> None:
    """SWAP-23 (ComfyUI #4343): a LoRA took 12.2 to 14.3 GB."""
    args = (HIGH, "--models", models, *RUN, "--card", "24GiB")
    alone, with_lora = read(*args), read(*args, "--lora", "a lora.safetensors", "--lora", "a lora.safetensors")
    more = with_lora["stages"][0]["weights_bytes"] - alone["stages"][0]["weights_bytes"]
    assert more == 2 * 40 * 4 * 2 * 32 * 5120 * 2


def test_a_gguf_swap_is_marked_as_less_sure(models: Path) -> None:
    """SWAP-12 (ComfyUI-WanVideoWrapper #1873): does swapping a GGUF do anything?"""
    args = ("Wan2.2-T2V-A14B-LowNoise-Q4_K_M.gguf", "--models", models, *RUN, "--loader", "wan-wrapper")
    assert "GGUF: wrappers unpack blocks as they swap them" in run(*args, "--card", "8GiB").stdout


# --- the machine -----------------------------------------------------------------------------------------------------


def test_the_link_sets_the_time_and_not_the_bytes(models: Path) -> None:
    args = (HIGH, "--models", models, *RUN, "--card", "8GiB")
    slow, fast = read(*args, "--pcie", "3x4"), read(*args, "--pcie", "5.0x16")
    a, b = slow["stages"][0], fast["stages"][0]
    assert a["copied_high_bytes"] == b["copied_high_bytes"] > 0
    # 0.79 and 3.15 GB/s per lane.
    assert a["copy_high_seconds"] == pytest.approx(a["copied_high_bytes"] / (4 * 0.79e9))
    assert b["copy_high_seconds"] == pytest.approx(b["copied_high_bytes"] / (16 * 3.15e9))


def test_what_comfyui_keeps_free_is_taken_off(models: Path) -> None:
    args = (HIGH, "--models", models, *RUN, "--card", "12GiB")
    rooms = [read(*args, *more)["card"]["room_bytes"] for more in ((), ("--windows",), ("--reserve", "2"))]
    assert rooms[0] - rooms[1] == 200 * 2**20
    assert rooms[0] - rooms[2] == 2 * GIB - 400 * 2**20


def test_without_dynamic_vram_the_reason_is_another_one(models: Path) -> None:
    args = (HIGH, "--models", models, *RUN, "--card", "12GiB")
    assert read(*args, "--no-dynamic-vram")["card"]["dynamic_vram"] is False
    assert read(*args, "--gpu", "Radeon RX 7900 XTX")["card"]["dynamic_vram"] is False
    said = text(*args, "--no-dynamic-vram", status=0)
    assert "Set nothing: ComfyUI loads a part of the weights and streams the rest." in said
    assert "dynamic VRAM" not in said.lower().replace("--no-dynamic-vram", "")


def test_a_checkpoint_brings_everything(models: Path) -> None:
    said = text(
        "sd_xl_base_1.0.safetensors", "--models", models, "--size", "1024x1024", "--cfg", "7", "--card", "8", status=0
    )
    assert "  and in it CLIP-G                 text encoder          1.3" in said
    assert "Verdict: fits the card: all that runs stays on it while it runs" in said
    assert "n/a: say the machine's memory, --ram 32GiB" in said
    film = run("sd_xl_base_1.0.safetensors", "--models", models, *RUN, "--card", "8").stdout
    assert "single pictures" in film
    assert "81" not in film


def test_an_unknown_model_gives_n_a_with_the_reason(tmp_path: Path) -> None:
    path = write_sparse(tmp_path / "new.safetensors", {f"layers.{n}.w": ("F16", (512, 512)) for n in range(8)})
    said = text(path, "--size", "1024x1024", "--card", "12GiB", status=0)
    assert "new.safetensors: not known to Headroom, so that only its bytes are." in said
    assert "Verdict: n/a: the work of a stage is not known" in said
    assert "Sampling, work: unknown: the model is not recognised." in said
    assert "Largest that surely fits: none, or not known" in said
    assert "Leave it to dynamic VRAM" not in said


def test_a_truncated_file_is_planned_with_and_is_a_finding(models: Path, tmp_path: Path) -> None:
    path = tmp_path / "wan2.1_t2v_1.3B_fp16.safetensors"
    whole = models / "diffusion_models" / path.name
    with whole.open("rb") as file:
        path.write_bytes(file.read(2**20))
    os.truncate(path, whole.stat().st_size - 5)
    said = text(path, *RUN, "--card", "24GiB", status=1)
    assert "wan2.1_t2v_1.3B_fp16.safetensors: Truncated: 5 bytes missing of " in said


# --- bad input -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("args", "said"),
    [
        ((HIGH, *RUN), "Say which card: --card 12GiB, or --tiers for several."),
        ((HIGH, *RUN, "--card", "twelve"), "'twelve' is no size"),
        ((HIGH, "--card", "12"), "the following arguments are required: --size"),
        ((HIGH, "--size", "832", "--card", "12"), "'832' is no size in pixels: write 832x480"),
        ((HIGH, "--size", "0x480", "--card", "12"), "'0x480' is no size in pixels"),
        ((HIGH, *RUN, "--card", "12", "--frames", "0"), "it has to be at least 1"),
        ((HIGH, *RUN, "--card", "12", "--batch", "-1"), "'-1' is no whole number"),
        ((HIGH, *RUN, "--card", "12", "--cfg", "nan"), "'nan' is no cfg"),
        ((HIGH, *RUN, "--card", "12", "--pcie", "9x16"), "'9x16' is no PCI Express link"),
        ((HIGH, *RUN, "--card", "12", "--reserve", "-1"), "'-1' is no reserve"),
        ((HIGH, *RUN, "--tiers", "8,x"), "'x' is no size"),
        ((HIGH, *RUN, "--card", "12", "--blocks", "4"), "--blocks is a setting of wrappers"),
        ((HIGH, *RUN, "--card", "12", "--prefetch", "4"), "--prefetch is a setting of the Wan wrapper"),
        ((HIGH, *RUN, "--card", "12", "--tiers", "8,16"), "Say one of --card and --tiers"),
        ((HIGH, *RUN, "--card", "12", "--loader", "other"), "invalid choice: 'other'"),
        ((HIGH, LOW, HIGH, *RUN, "--card", "12"), "3 models were given; two that take turns are the most."),
        (("nowhere.safetensors", *RUN, "--card", "12"), "cannot be read: No such file"),
        (("wan_2.1_vae.safetensors", *RUN, "--card", "12"), "is a vae (Wan 2.1 VAE), and MODEL wants a"),
        ((HIGH, "--vae", ENCODER, *RUN, "--card", "12"), "is a text encoder (umt5-xxl), and --vae wants a"),
        ((HIGH, "--lora", LOW, *RUN, "--card", "12"), "and --lora wants a lora"),
    ],
)
def test_bad_input_is_told_and_is_2(args: tuple[str, ...], said: str, models: Path) -> None:
    done = run(*args, "--models", models)
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr
    assert "Traceback" not in done.stderr


def test_an_empty_file_cannot_be_planned_with(tmp_path: Path) -> None:
    (tmp_path / "empty.safetensors").write_bytes(b"")
    done = run(tmp_path / "empty.safetensors", *RUN, "--card", "12")
    assert done.returncode == 2
    assert done.stderr.replace("\u00a0", " ") == (
        "headroom: empty.safetensors cannot be planned with. Empty: 0 bytes. Download it again.\n"
    )


# --- how it starts ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("start", [("-m", "headroom"), ("headroom",), ("-I", "headroom")], ids=" ".join)
def test_it_starts_in_every_way_from_a_folder_with_blanks(start: tuple[str, ...], models: Path, tmp_path: Path) -> None:
    pack = tmp_path / "My Pack 1.2"
    shutil.copytree(REPO / "headroom", pack / "headroom", ignore=shutil.ignore_patterns("__pycache__"))
    done = run(HIGH, "--models", models, *RUN, "--card", "24GiB", start=start, cwd=pack)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("Wan 2.1/2.2 14B text to video: 832x480")


def test_only_the_standard_library_is_loaded(models: Path) -> None:
    argv = ["headroom", "plan", HIGH, "--models", str(models), *RUN, "--tiers"]
    code = (
        f"import sys; before = set(sys.modules); sys.argv = {argv!r}\n"
        "from headroom.cli import main\n"
        "main()\n"
        "loaded = {name.partition('.')[0] for name in set(sys.modules) - before} - {'headroom'}\n"
        "print(sorted(loaded - set(sys.stdlib_module_names)))"
    )
    done = subprocess.run(
        [sys.executable, "-S", "-c", code], cwd=REPO, capture_output=True, encoding="utf-8", check=True
    )
    assert done.stdout.splitlines()[-1] == "[]"


@pytest.mark.parametrize("encoding", ["ascii", "cp1252", "cp437"])
def test_a_terminal_without_utf_8_gets_plain_signs(models: Path, encoding: str) -> None:
    done = subprocess.run(
        [sys.executable, "-S", "-m", "headroom", "plan", HIGH, "--models", str(models), *RUN, "--card", "24GiB"],
        cwd=REPO,
        capture_output=True,
        check=False,
        env={**os.environ, "PYTHONIOENCODING": encoding},
    )
    assert (done.returncode, done.stderr) == (0, b"")
    shown = done.stdout.decode(encoding)
    assert "Card: 24" in shown
    assert "\\u" not in shown


def test_an_example_stands_for_a_file_that_is_not_there_yet() -> None:
    """A run is planned before 30 GB are downloaded; the names are those that the nodes list."""
    example = "Wan 2.2 14B text to video, fp8"
    size = ("--card", "12", "--size", "832x480", "--frames", "81")
    short, full = (read(name, *size, status=0) for name in (example, f"example: {example}"))
    assert short == full
    model = short["models"][0]
    assert model["file"] == f"example: {example}"
    # 13631 MiB: ComfyUI #13234.
    assert model["weights_bytes"] / 2**20 == pytest.approx(13631, rel=0.005)
