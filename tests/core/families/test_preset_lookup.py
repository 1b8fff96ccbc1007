"""A well-known model by what a person types for it."""

from __future__ import annotations

import pytest

from headroom.core.presets import PRESETS, Preset, close_names, matching, short_name


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("example: Flux.1 dev, fp8", "Flux.1 dev, fp8"),
        ("Flux.1 dev, fp8", "Flux.1 dev, fp8"),
        ("flux.1 DEV, FP8", "Flux.1 dev, fp8"),
        ("  flux 1 dev fp8 ", "Flux.1 dev, fp8"),
        ("Example: sdxl BASE, fp16", "SDXL base, fp16"),
        ("wan-2.2-14b-text-to-video-gguf-q4_k", "Wan 2.2 14B text to video, GGUF Q4_K"),
        # A name alone is several models, and another name is none.
        ("Flux.1 dev", None),
        ("SDXL", None),
        ("", None),
        ("flux1-dev.safetensors", None),
    ],
)
def test_capitals_blanks_and_commas_do_not_count(text: str, name: str | None) -> None:
    found = matching(text)
    assert (None if found is None else short_name(found)) == name


@pytest.mark.parametrize("preset", PRESETS, ids=short_name)
def test_every_preset_is_found_by_its_own_name_and_no_other(preset: Preset) -> None:
    for text in (preset.name, short_name(preset), short_name(preset).upper()):
        assert matching(text) == preset


@pytest.mark.parametrize(
    ("text", "first", "count"),
    [
        ("Flux.1 dev", "Flux.1 dev, bf16", 4),
        ("SDXL", "SDXL base, fp16", 4),
        ("sdxl vae", "SDXL VAE, fp32", 2),
        ("Stable Difusion 1.5", None, None),
        ("Flux.1 dev, fp4", "Flux.1 dev, bf16", None),
        ("Wann 2.2 5B", "Wan 2.2 5B, fp16", None),
        ("Chrome", "Chroma, bf16", None),
        ("wan", "Wan 2.2 14B text to video, fp16", 6),
        ("xyz", None, 0),
        ("...", None, 0),
    ],
)
def test_what_comes_close_is_named(text: str, first: str | None, count: int | None) -> None:
    found = close_names(text)
    assert first is None or found[0] == first
    assert count is None or len(found) == count
    assert len(found) <= 6
    assert all(matching(name) for name in found), "what is named can be typed"
