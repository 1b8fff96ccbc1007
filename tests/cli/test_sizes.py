"""Sizes, counts and models as they are typed: what is meant is taken, what is not is said."""

from __future__ import annotations

import argparse
from pathlib import Path

import pytest

from headroom.cli import sizes

GIB = 2**30


@pytest.mark.parametrize(
    ("text", "expected"),
    [("12", 12 * GIB), ("12GB", 12 * GIB), ("8192MiB", 8 * GIB), ("1024", 1024 * GIB), ("8192GiB", 8192 * GIB)],
)
def test_a_size(text: str, expected: int) -> None:
    assert sizes.size(text) == expected


@pytest.mark.parametrize("text", ["8192", "24564", "1024.5"])
def test_what_nvidia_smi_shows_is_not_taken_for_gib(text: str) -> None:
    """8192 GiB without a word: every model fits then."""
    with pytest.raises(argparse.ArgumentTypeError, match=f"did you mean {text}MiB"):
        sizes.size(text)


@pytest.mark.parametrize("text", ["1024x768", "1024X768", "1024\u00d7768", "1024 \u00d7 768", "1024*768"])
def test_a_size_in_pixels(text: str) -> None:
    assert sizes.pixels(text) == (1024, 768)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("1024", "is no size in pixels"),
        ("0x5", "is no size in pixels"),
        ("100000x5", "99999 pixels at most"),
        ("9" * 5000 + "x5", "is no size in pixels"),
    ],
)
def test_no_size_in_pixels(text: str, said: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError, match=said):
        sizes.pixels(text)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("9999999999", "is too large: 999999 is the most"),
        ("-1", "is no whole number from 0 on"),
        ("1.5", "is no whole number from 0 on"),
    ],
)
def test_a_count_that_cannot_be_taken_says_why(text: str, said: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError, match=said):
        sizes.count(text)
    assert sizes.count("999999") == 999_999


def test_a_model_that_is_nothing_names_the_examples_that_come_close() -> None:
    with pytest.raises(argparse.ArgumentTypeError, match=r"no example and no size like 12GiB.*`SDXL base, fp16`"):
        sizes.model("SDXL")
    with pytest.raises(argparse.ArgumentTypeError, match="did you mean 8192MiB"):
        sizes.model("vae=8192")


def test_an_example_whatever_its_capitals_and_a_file_of_that_name_before_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    family = sizes.model("sdxl BASE, fp16").models[0].family
    assert family == "SDXL"
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sdxl base, fp16").write_bytes(b"GGUF")
    assert sizes.model("sdxl base, fp16").models[0].size_bytes == 4, "the file that is here"
