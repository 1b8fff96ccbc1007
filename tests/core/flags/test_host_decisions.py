"""What the rules claim about ComfyUI, asked of ComfyUI: its own functions under the flags, on a pretended card.

Not verified on a GPU: the card is a stand-in, only the decisions are the host's.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import hostkit
import pytest

SCRIPT = Path(__file__).parent / "host_decisions.py"
LINES = {
    "as it comes": ("RTX 4090", []),
    "force-fp32 fp16-unet": ("RTX 4090", ["--force-fp32", "--fp16-unet"]),
    "force-fp32 bf16-unet": ("RTX 4090", ["--force-fp32", "--bf16-unet"]),
    "force-fp32 fp8-unet": ("RTX 4090", ["--force-fp32", "--fp8_e4m3fn-unet"]),
    "force-fp32": ("RTX 4090", ["--force-fp32"]),
    "fp32-unet": ("RTX 4090", ["--fp32-unet"]),
    "force-fp16": ("RTX 4090", ["--force-fp16"]),
    "force-fp16 fp32-unet": ("RTX 4090", ["--force-fp16", "--fp32-unet"]),
    "force-fp16 bf16-unet": ("RTX 4090", ["--force-fp16", "--bf16-unet"]),
    "force-fp16 fp8-unet": ("RTX 4090", ["--force-fp16", "--fp8_e4m3fn-unet"]),
    "cpu-vae": ("RTX 4090", ["--cpu-vae"]),
    "cpu-vae fp16-vae": ("RTX 4090", ["--cpu-vae", "--fp16-vae"]),
    "lowvram": ("RTX 4090", ["--lowvram"]),
    "novram": ("RTX 4090", ["--novram"]),
    "novram enable": ("RTX 4090", ["--novram", "--enable-dynamic-vram"]),
    "both dynamic": ("RTX 4090", ["--enable-dynamic-vram", "--disable-dynamic-vram"]),
    "highvram": ("RTX 4090", ["--highvram"]),
    "highvram smart": ("RTX 4090", ["--highvram", "--disable-smart-memory"]),
    "async both": ("RTX 4090", ["--async-offload", "4", "--disable-async-offload"]),
    "reserve negative": ("RTX 4090", ["--reserve-vram", "-1"]),
    "reserve nan": ("RTX 4090", ["--reserve-vram", "nan"]),
    "1660": ("GTX 1660", []),
    "1660 fp16-unet": ("GTX 1660", ["--fp16-unet"]),
    "1660 force-fp16": ("GTX 1660", ["--force-fp16"]),
    "1080 fp16-unet": ("GTX 1080", ["--fp16-unet"]),
    "2060": ("RTX 2060", []),
    "2060 fp16-unet": ("RTX 2060", ["--fp16-unet"]),
    "3060": ("RTX 3060", []),
    "3060 bf16-unet": ("RTX 3060", ["--bf16-unet"]),
}


@pytest.fixture(scope="module")
def decided(host: hostkit.Host) -> dict[str, dict[str, Any]]:
    """All answers, from one process that loads torch once."""
    done = subprocess.run(
        [host.python, "-I", str(SCRIPT), str(host.path)],
        input="\n".join(json.dumps(line) for line in LINES.values()),
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return dict(zip(LINES, json.loads(done.stdout), strict=True))


def test_force_fp32_stores_what_the_unet_flag_says_and_computes_fp32(decided: dict[str, Any]) -> None:
    """force-fp32-low-unet: the catalogue said "runs fp16", and only the storage does."""
    for line, stored in (
        ("force-fp32 fp16-unet", "float16"),
        ("force-fp32 bf16-unet", "bfloat16"),
        ("force-fp32 fp8-unet", "float8_e4m3fn"),
    ):
        assert decided[line]["sdxl"] == [stored, "float32"]
        assert decided[line]["kl_vae"] == "float32"
        assert decided[line]["text_encoder_dynamic"] == "cpu"


def test_force_fp32_and_fp32_unet(decided: dict[str, Any]) -> None:
    """fp32-doubles: only --force-fp32 moves the text encoder; it leaves fp8 files as they are."""
    assert decided["force-fp32"]["sdxl"] == decided["fp32-unet"]["sdxl"] == ["float32", "float32"]
    assert decided["force-fp32"]["text_encoder_dynamic"] == "cpu"
    assert decided["fp32-unet"]["text_encoder_dynamic"] == "cuda:0"
    assert decided["force-fp32"]["sdxl_fp8_file"] == ["float8_e4m3fn", "float32"]
    assert decided["fp32-unet"]["sdxl_fp8_file"] == ["float32", "float32"]


def test_force_fp16_loses_to_wider_flags_and_beats_fp8(decided: dict[str, Any]) -> None:
    """FLAG-15; force-fp16-wide-unet and force-fp16-beats-fp8."""
    assert decided["force-fp16 fp32-unet"]["sdxl"] == ["float32", "float32"]
    assert decided["force-fp16 bf16-unet"]["sdxl"] == ["bfloat16", "bfloat16"]
    assert decided["force-fp16 fp8-unet"]["sdxl"] == ["float16", "float16"]
    assert decided["force-fp16"]["sdxl_fp8_file"] == ["float16", "float16"]


def test_force_fp16_leaves_a_kl_vae_alone(decided: dict[str, Any]) -> None:
    assert decided["force-fp16"]["kl_vae"] == decided["as it comes"]["kl_vae"] == "bfloat16"


def test_fp16_vae_holds_on_the_cpu(decided: dict[str, Any]) -> None:
    """FLAG-18; cpu-vae-fp16."""
    assert (decided["cpu-vae"]["vae_device"], decided["cpu-vae"]["kl_vae"]) == ("cpu", "float32")
    assert (decided["cpu-vae fp16-vae"]["vae_device"], decided["cpu-vae fp16-vae"]["kl_vae"]) == ("cpu", "float16")


def test_lowvram_moves_the_text_encoder_and_nothing_else_unless_dynamic(decided: dict[str, Any]) -> None:
    """FLAG-01; lowvram-noop and lowvram-text-encoder."""
    plain, lowvram = decided["as it comes"], decided["lowvram"]
    assert {key for key in plain if plain[key] != lowvram[key]} == {"text_encoder_static"}
    assert lowvram["text_encoder_static"] == "cpu"


def test_which_flags_turn_dynamic_vram_off(decided: dict[str, Any]) -> None:
    """FLAG-03, FLAG-04; novram-overruled, dynamic-both."""
    assert decided["as it comes"]["wants_dynamic"] is True
    assert decided["highvram"]["wants_dynamic"] is decided["novram"]["wants_dynamic"] is False
    assert decided["novram enable"]["wants_dynamic"] is decided["both dynamic"]["wants_dynamic"] is True
    assert decided["novram"]["text_encoder_static"] == "cpu"
    assert decided["novram enable"]["text_encoder_dynamic"] == "cuda:0"


def test_highvram_offloads_to_the_card_itself(decided: dict[str, Any]) -> None:
    """highvram-no-smart-memory."""
    assert decided["highvram smart"]["unet_offload"] == "cuda:0"
    assert decided["as it comes"]["unet_offload"] == "cpu"


def test_disable_async_offload_wins(decided: dict[str, Any]) -> None:
    assert decided["as it comes"]["streams"] == 2
    assert decided["async both"]["streams"] == 0


def test_what_a_reserve_does_to_the_estimate(decided: dict[str, Any]) -> None:
    """FLAG-11; reserve-negative and reserve-nan."""
    assert float(decided["as it comes"]["inference_bytes"]) == pytest.approx(0.8 * 2**30 + 400 * 2**20)
    assert float(decided["reserve negative"]["inference_bytes"]) == pytest.approx(-0.2 * 2**30)
    assert decided["reserve nan"]["inference_bytes"] == "nan"


def test_on_the_16_series_only_force_fp16_computes_in_fp16(decided: dict[str, Any]) -> None:
    """FLAG-17, NAN-10; fp16-16xx. With --fp16-unet the weights are fp16 and ComfyUI computes in fp32."""
    assert decided["1660"]["sdxl"] == decided["1660 fp16-unet"]["sdxl"] == ["float16", "float32"]
    assert decided["1660 force-fp16"]["sdxl"] == ["float16", "float16"]
    assert decided["1660"]["kl_vae"] == "float32"


@pytest.mark.skipif(sys.platform == "win32", reason="ComfyUI uses fp16 on this card only on Windows")
def test_pascal_outside_windows_computes_in_fp32(decided: dict[str, Any]) -> None:
    assert decided["1080 fp16-unet"]["sdxl"] == ["float16", "float32"]


def test_without_bf16_qwen_needs_no_flag(decided: dict[str, Any]) -> None:
    """fp16-no-bf16-model: without the fp16 flag ComfyUI keeps 16-bit weights and computes in fp32."""
    assert decided["2060"]["qwen"] == ["bfloat16", "float32"]
    assert decided["2060 fp16-unet"]["qwen"] == ["float16", "float16"]


def test_an_fp8_file_is_widened_where_fp8_cannot_be_computed_and_it_fits(decided: dict[str, Any]) -> None:
    """fp8-upcast."""
    assert decided["as it comes"]["sdxl_fp8_file"][0] == "float8_e4m3fn"
    assert decided["3060"]["sdxl_fp8_file"] == ["float16", "float16"]
    assert decided["3060 bf16-unet"]["sdxl_fp8_file"] == ["bfloat16", "bfloat16"]
