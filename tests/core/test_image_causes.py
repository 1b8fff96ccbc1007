"""Where NaN in an image may come from, by the node above and the launch flags."""

from __future__ import annotations

from dataclasses import replace

import pytest

from headroom.core.facts import Facts
from headroom.core.image import Bad, MediaCheck, Medium
from headroom.core.image_causes import likely
from headroom.core.latent import Counts

KNOWN = frozenset({"--fp16-vae", "--bf16-vae", "--fp32-vae", "--fp16-intermediates", "--force-fp16"})
PLAIN = Facts("decode", known_flags=KNOWN)


def check(medium: Medium = "image", nan: int = 48, inf: int = 0) -> MediaCheck:
    counts = Counts(48, nan, inf, 0, None, None)
    return MediaCheck(medium, (1, 4, 4, 3), "fp32", "cpu", bad=(Bad(0, counts),))


def texts(facts: Facts = PLAIN, found: MediaCheck | None = None, source: str = "") -> list[str]:
    return [cause.text for cause in likely(facts, found or check(), source)]


@pytest.mark.parametrize("source", ["VAEDecode #8", "VAEDecodeTiled #8"])
def test_behind_a_plain_decode_the_safe_one_is_to_take_its_place(source: str) -> None:
    assert texts(source=source) == [
        f"an overflow in the VAE, or a latent that was NaN already. Put VAE Decode (Safe) in the place of {source}: it "
        "tells which."
    ]


def test_behind_another_node_both_are_named() -> None:
    assert texts(source="ImageScale #3") == [
        "ImageScale #3, or the VAE decode before it. Put VAE Decode (Safe) in the place of VAE Decode."
    ]


def test_where_the_source_is_unknown() -> None:
    assert texts() == ["the VAE decode, or a node behind it. Put VAE Decode (Safe) in the place of VAE Decode."]


def test_the_safe_decode_is_not_suggested_to_who_has_it() -> None:
    (text,) = texts(source="HeadroomVAEDecode #4")
    assert text.startswith("a latent that was NaN already")
    assert "in the place of" not in text


def test_a_flag_that_fits_comes_first() -> None:
    """VAE-07, NAN-20: ComfyUI #9547, #15436: bf16 in the VAE on AMD."""
    facts = replace(PLAIN, vendor="amd", flags=frozenset({"--bf16-vae"}))
    assert texts(facts)[0] == (
        "bf16 in the VAE fails on some AMD cards and ROCm versions. Try `--fp32-vae` in place of `--bf16-vae`."
    )
    assert len(texts(facts)) == 2


def test_the_diffusion_models_dtype_says_nothing_about_the_vae() -> None:
    assert texts(replace(PLAIN, dtype="fp16")) == texts(PLAIN)


def test_inf_alone_under_fp16_intermediates_names_that_flag() -> None:
    facts = replace(PLAIN, flags=frozenset({"--fp16-intermediates"}))
    assert "`--fp16-intermediates`" in texts(facts, check(nan=0, inf=3))[0]
    assert not any("fp16-intermediates" in text for text in texts(facts, check(nan=1, inf=3)))


def test_a_mask_has_nothing_to_do_with_a_vae() -> None:
    facts = replace(PLAIN, flags=frozenset({"--fp16-vae"}))
    assert texts(facts, check("mask"), "ThresholdMask #2") == [
        "ThresholdMask #2, or what it was given. Put an Image Guard before it."
    ]
    assert texts(facts, check("mask")) == [
        "the node that made the mask, or what it was given. Put an Image Guard before it."
    ]


def test_audio_is_sent_to_the_latent_guard() -> None:
    """NAN-24: ComfyUI #16249, the latent was NaN."""
    assert texts(found=check("audio"), source="VAEDecodeAudio #5") == [
        "a latent that was NaN already, or an overflow in the audio VAE. Put a Latent Guard before the decode."
    ]


def test_nothing_claims_that_the_latent_was_finite() -> None:
    assert all("the latent was finite" not in text for text in texts())


def test_a_finite_image_has_no_cause() -> None:
    assert likely(PLAIN, MediaCheck("image", (1, 4, 4, 3), "fp32", "cpu"), "") == ()
