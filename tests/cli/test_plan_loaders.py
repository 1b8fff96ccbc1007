"""``headroom plan`` by loader: what streams where, and what a wrapper cannot load."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

REPO = Path(__file__).resolve().parent.parent.parent
GIB = 2**30
WAN = ("Wan 2.2 14B text to video, fp8", "--size", "832x480", "--frames", "81", "--cfg", "3.5")


def run(*args: str) -> subprocess.CompletedProcess[str]:
    """The command, in a Python without site-packages."""
    return subprocess.run(
        [sys.executable, "-S", "-m", "headroom", "plan", *args],
        cwd=REPO,
        capture_output=True,
        encoding="utf-8",
        check=False,
        env={**os.environ, "PYTHONIOENCODING": "utf-8"},
    )


def sampling(*args: str) -> dict[str, Any]:
    """The first stage of sampling in ``--json``."""
    done = run(*args, "--json")
    assert done.stderr == ""
    return next(one for one in json.loads(done.stdout)["stages"] if one["role"] == "diffusion")


def test_ltx_2_with_its_sound_streams_twice_a_step_on_8_gib() -> None:
    """The host packs picture and sound, and counts the channels then: 5.71 GiB, where 0.04 were shown."""
    found = sampling("LTX-2 19B, fp8", "--card", "8", "--size", "1280x720", "--frames", "121", "--cfg", "4")
    assert found["reserved_by_host_bytes"] / GIB == pytest.approx(5.71, abs=0.01)
    assert found["passes_per_step"] == 2


@pytest.mark.parametrize("card", [("--no-dynamic-vram",), ("--gpu", "Radeon RX 7900 XTX")])
def test_without_dynamic_vram_more_is_streamed_than_the_work_would_ask_for(card: tuple[str, ...]) -> None:
    """10.81 GiB less 5.90 for one prompt, and 0.33 for layers under way: 8.75 of 13.33 GiB cross the link, twice.

    On AMD's cards it is the default; two fifths of the room are less than those 4.58 GiB.
    """
    found = sampling(*WAN, "--card", "12", *card)
    assert found["copied_low_bytes"] == found["copied_high_bytes"]
    assert found["copied_low_bytes"] / GIB == pytest.approx(2 * 8.75, abs=0.05)
    by_page = sampling(*WAN, "--card", "12")
    assert by_page["copied_high_bytes"] / GIB == pytest.approx(13.4, abs=0.1)


def test_a_wrapper_that_cannot_load_the_model_is_no_plan() -> None:
    done = run("Flux.1 dev, fp8", "--card", "8", "--loader", "wan-wrapper", "--size", "1024x1024")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.strip().endswith(
        "cannot be planned with --loader wan-wrapper. WanVideoWrapper loads Wan models alone, and this is Flux.1 dev."
    )
    assert run("Flux.1 dev, fp8", "--card", "24", "--loader", "musubi-tuner", "--size", "512x512").returncode == 0


def test_two_models_of_two_kinds_are_said_to_be_that() -> None:
    done = run("Wan 2.2 14B text to video, fp8", "Flux.1 dev, fp8", "--card", "24", "--size", "512x512")
    assert "Flux.1 dev are of two kinds" in " ".join(done.stdout.split())
    same = run("Wan 2.2 14B text to video, fp8", "Wan 2.1 1.3B, fp16", "--card", "24", "--size", "512x512")
    assert "of two kinds" not in " ".join(same.stdout.split())
