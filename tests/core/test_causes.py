"""Likely causes: each row against the report it comes from, and the rules that hold for all rows."""

from __future__ import annotations

import itertools
import re
from dataclasses import replace

import pytest

from headroom.core.cause_table import CAUSES
from headroom.core.causes import Cause, rank
from headroom.core.facts import Facts, with_latent
from headroom.core.latent import BadItem, Counts, LatentCheck, StreamCheck

TURING = Facts(
    "latent",
    dtype="fp16",
    device="cuda:0",
    vendor="nvidia",
    gpu_name="NVIDIA GeForce RTX 2060",
    capability=(7, 5),
    bf16=False,
)
ADA = replace(TURING, gpu_name="NVIDIA GeForce RTX 4080", capability=(8, 9), bf16=True)


def given(*flags: str) -> frozenset[str]:
    return frozenset(flags)


def ids(facts: Facts) -> list[str]:
    return [cause.id for cause in rank(facts)]


def said(facts: Facts) -> str:
    """All texts together."""
    return "\n".join(cause.text for cause in rank(facts))


def test_a_flag_that_is_given_is_not_suggested_again() -> None:
    """NAN-07: ComfyUI #9046, all NaN on SDXL although --force-upcast-attention was given."""
    facts = replace(ADA, model_class="SDXL", bad_share=1.0)
    assert "Try `--force-upcast-attention`" in said(facts)
    assert "--force-upcast-attention" not in said(replace(facts, flags=given("--force-upcast-attention")))


@pytest.mark.parametrize("capability", [(7, 0), (7, 5)])
@pytest.mark.parametrize("model", ["QwenImage", "ZImage"])
def test_without_bf16_a_model_that_overflows_gets_fp32(model: str, capability: tuple[int, int]) -> None:
    """NAN-08: ComfyUI #10668, #10751, #10800, PR#12522. NAN-09: Tongyi-MAI/Z-Image #14, #15 (RTX 2060, V100)."""
    facts = replace(TURING, capability=capability, model_class=model)
    assert rank(facts)[0] == Cause(
        "fp16-overflow-known",
        f"fp16 overflow in {model}. Try `--fp32-unet`.",
        {"model": model, "gpu": "NVIDIA GeForce RTX 2060", "fix": "--fp32-unet"},
    )
    assert "bf16" not in said(facts)


def test_under_forced_fp16_the_same_model_keeps_that_flag() -> None:
    """NAN-08: `--force-fp16 --fp32-unet` works (ComfyUI #10668); argparse refuses two of the unet group."""
    facts = replace(TURING, model_class="QwenImage")
    assert "Try `--fp32-unet`." in rank(replace(facts, flags=given("--force-fp16")))[0].text
    refused = rank(replace(facts, flags=given("--fp16-unet")))[0]
    assert "Try `--fp32-unet` in place of `--fp16-unet`." in refused.text
    assert refused.params["replaces"] == ["--fp16-unet"]


def test_with_bf16_it_is_offered() -> None:
    first = rank(replace(ADA, model_class="SDXL", size="1024×1024"))[0]
    assert first.text == "fp16 overflow in SDXL at 1024×1024. Try `--bf16-unet`."


def test_an_unknown_card_is_not_offered_bf16() -> None:
    assert "bf16" not in said(Facts("latent", dtype="fp16"))
    assert "bf16" not in said(Facts("decode", dtype="fp16"))


@pytest.mark.parametrize("dtype", ["bf16", "fp32"])
def test_a_model_that_ran_in_a_wide_dtype_did_not_overflow_in_fp16(dtype: str) -> None:
    assert "fp16" not in said(replace(ADA, dtype=dtype, model_class="QwenImage", flags=given("--force-fp16")))


@pytest.mark.parametrize("name", ["NVIDIA GeForce GTX 1660 SUPER", "NVIDIA GeForce GTX 1650", "NVIDIA T1000"])
def test_forced_fp16_on_the_gtx_16_series_is_named_first(name: str) -> None:
    """NAN-10: ComfyUI #884."""
    first = rank(replace(TURING, dtype=None, gpu_name=name, flags=given("--force-fp16")))[0]
    assert first.id == "fp16-gtx16-forced"
    assert first.text == f"fp16 is broken on the GTX 16 series, and this is a {name}. Start without `--force-fp16`."


def test_the_unet_flag_does_not_make_the_gtx_16_series_compute_in_fp16() -> None:
    """NAN-10: run with ComfyUI 0.30.0, --fp16-unet stores fp16 there and computes in fp32; --force-fp16 does not."""
    card = replace(TURING, dtype=None, gpu_name="NVIDIA GeForce GTX 1660 SUPER")
    assert "fp16" not in said(replace(card, flags=given("--fp16-unet")))
    both = rank(replace(card, flags=given("--force-fp16", "--fp16-unet")))[0]
    assert (both.id, both.params["given"]) == ("fp16-gtx16-forced", ["--force-fp16"])
    # Another card does what the flag says.
    assert "fp16 overflow" in said(replace(TURING, dtype=None, flags=given("--fp16-unet")))
    # A model that was told to compute in fp16 by a node all the same.
    told = rank(replace(card, dtype="fp16", flags=given("--fp16-unet")))[0]
    assert (told.id, told.params["fix"], told.params["replaces"]) == ("fp16-gtx16", "--fp32-unet", ["--fp16-unet"])


def test_fp16_on_the_gtx_16_series_without_a_flag_asks_for_fp32() -> None:
    assert ids(replace(TURING, gpu_name="NVIDIA GeForce GTX 1650"))[0] == "fp16-gtx16"
    assert not any(id_.startswith("fp16-gtx16") for id_ in ids(TURING))


def test_sage_attention_with_qwen_image() -> None:
    """NAN-11: ComfyUI #9223; QwenLM/Qwen-Image #68."""
    facts = replace(ADA, dtype="bf16", model_class="QwenImage", flags=given("--use-sage-attention"))
    assert rank(facts)[0].text == "sage attention in QwenImage. Try without `--use-sage-attention`."
    other = replace(facts, model_class="WAN21_T2V")
    assert ids(other)[0] == "sage-attention-other"
    assert "without `--use-sage-attention`" in rank(other)[0].text


def test_fast_after_a_clean_run_names_both_speed_ups() -> None:
    """NAN-15: ComfyUI #4572, first model fine, second black, `--fast --fp8_e4m3fn-unet`."""
    facts = replace(ADA, dtype="bf16", flags=given("--fast", "--fp8_e4m3fn-unet"), previous_finite=True)
    assert ids(facts)[0] == "fast-second-model"
    assert "`--fast` and `--fp8_e4m3fn-unet`" in rank(facts)[0].text
    first_run = replace(facts, previous_finite=None)
    assert ids(first_run)[0] == "fast"
    assert "`--fast` and `--fp8_e4m3fn-unet`" in rank(first_run)[0].text


def test_xformers_0018_is_named_first_where_it_is_used() -> None:
    """NAN-16: ComfyUI #394, #449."""
    facts = replace(ADA, versions={"xformers": "0.0.18", "torch": "2.0.0"}, attention="xformers")
    assert ids(facts)[0] == "xformers-0018"
    assert "xformers" not in said(replace(facts, attention="pytorch"))
    assert "xformers" not in said(replace(facts, stage="decode"))
    for good in ("0.0.17", "0.0.20", ""):
        assert "xformers" not in said(replace(facts, versions={"xformers": good}))


@pytest.mark.parametrize("dynamic", [None, True])
def test_rdna_2_gets_the_reserve(dynamic: bool | None) -> None:
    """NAN-22: Comfy-Org/comfy-aimdo #94, gfx1030, fixed by --reserve-vram 2."""
    facts = Facts("latent", dtype="bf16", vendor="amd", gpu_arch="gfx1030", dynamic_vram=dynamic)
    assert "Try `--reserve-vram 2`." in rank(facts)[0].text
    assert "--disable-dynamic-vram" not in said(facts)
    assert "--reserve-vram" not in said(replace(facts, flags=given("--reserve-vram")))
    assert "--reserve-vram" not in said(replace(facts, gpu_arch="gfx1201"))


def test_switching_dynamic_vram_off_is_said_only_where_the_parser_has_it() -> None:
    """NAN-22: the host announced that --disable-dynamic-vram will go."""
    facts = Facts("latent", dtype="bf16", vendor="amd", gpu_arch="gfx1030", dynamic_vram=True)
    has_it = replace(facts, known_flags=given("--reserve-vram", "--disable-dynamic-vram"))
    assert "`--reserve-vram 2` or `--disable-dynamic-vram`" in said(has_it)
    assert "--disable-dynamic-vram" not in said(replace(has_it, known_flags=given("--reserve-vram")))
    assert "--disable-dynamic-vram" not in said(replace(has_it, flags=given("--disable-dynamic-vram")))


def test_a_flag_that_this_version_does_not_know_is_not_suggested() -> None:
    facts = replace(TURING, model_class="QwenImage", known_flags=given("--force-fp32"))
    assert ids(facts) == ["unknown"]


def test_an_all_nan_latent_without_a_known_cause_does_not_blame_vae_or_gpu() -> None:
    """NAN-33: ComfyUI PR#16019, a sigma above 1 gave the logarithm of a negative number."""
    (cause,) = rank(Facts("latent", bad_share=1.0))
    assert cause.id == "unknown"
    assert "sampler or scheduler" in cause.text
    assert "VAE" not in cause.text
    assert "GPU" not in cause.text


def test_fp32_unet_is_offered_to_audio_models_that_overflow() -> None:
    """NAN-24: ComfyUI #16249, MiniMax-Music in fp16."""
    assert "Try `--fp32-unet`." in said(Facts("latent", dtype="fp16", vendor="amd", model_class="MiniMaxMusic"))


def test_flash_attention_is_named_where_it_is_used() -> None:
    """NAN-26: ai-bond/flash-attention-v100 #36, #43; ComfyUI #14691: fine without that kernel."""
    facts = replace(TURING, dtype=None, flags=given("--force-fp16", "--use-flash-attention"), bf16=None)
    assert "without `--use-flash-attention`" in said(facts)


@pytest.mark.parametrize(("items", "bad", "part"), [(4, 2, True), (4, 4, False), (1, 1, False), (9, 3, True)])
def test_a_batch_that_fails_in_part_is_asked_to_be_smaller(items: int, bad: int, part: bool) -> None:
    """NAN-02: ComfyUI #13116. NAN-39: AUTOMATIC1111 #5259, 9 black and 3 fine. NAN-41: sdnext #374."""
    assert ("smaller batch" in said(Facts("latent", dtype="bf16", items=items, bad_items=bad))) is part


def test_fp16_intermediates_explain_inf_without_nan() -> None:
    facts = replace(ADA, dtype="bf16", flags=given("--fp16-intermediates"), only_inf=True)
    assert rank(facts)[0].text == "`--fp16-intermediates` turns values above 65504 into Inf. Start without it."
    assert ids(replace(facts, stage="decode"))[0] == "fp16-intermediates"
    assert "fp16-intermediates" not in ids(replace(facts, only_inf=False))


def test_a_decode_in_fp16_by_flag_is_told_to_drop_the_flag() -> None:
    facts = Facts("decode", dtype="fp16", vendor="cpu", bf16=False, flags=given("--fp16-vae"))
    assert rank(facts)[0].text == "this VAE overflows in fp16: start without `--fp16-vae`."


def test_a_decode_in_fp16_by_itself_is_told_the_next_wider_one() -> None:
    """VAE-02: InvokeAI #2580, #4083: no bf16 on the card, so fp32."""
    assert "Try `--fp32-vae`." in rank(replace(TURING, stage="decode"))[0].text
    assert "Try `--bf16-vae`." in rank(replace(ADA, stage="decode"))[0].text


@pytest.mark.parametrize(
    ("flags", "dtype", "text"),
    [
        (given("--bf16-vae"), None, "Try `--fp32-vae` in place of `--bf16-vae`."),
        (given("--bf16-vae", "--use-flash-attention"), "bf16", "Try `--fp32-vae` in place of `--bf16-vae`."),
        (given(), "bf16", "Try `--fp32-vae`."),
    ],
)
def test_a_bf16_decode_on_amd_is_told_fp32(flags: frozenset[str], dtype: str | None, text: str) -> None:
    """VAE-07: ComfyUI #9547. NAN-20: ComfyUI #15436."""
    facts = Facts("decode", dtype=dtype, vendor="amd", flags=flags)
    assert text in rank(facts)[0].text
    assert rank(replace(facts, vendor="nvidia"))[0].id == "unknown-decode"


def test_the_stages_do_not_mix() -> None:
    for facts in (TURING, replace(TURING, flags=given("--fp16-vae", "--bf16-vae"))):
        assert "vae" not in said(facts)
        assert "unet" not in said(replace(facts, stage="decode"))


def test_found_facts_are_added_to_those_of_the_host() -> None:
    counts = Counts(total=64, nan=0, pos_inf=3, neg_inf=1, low=-1.0, high=1.0)
    stream = StreamCheck(0, "image", (2, 4, 4, 8), "fp32", "cpu", (BadItem(1, counts),))
    found = with_latent(replace(ADA, pixel_ratio=8), LatentCheck(False, (stream,)))
    assert (found.items, found.bad_items, found.bad_share, found.only_inf) == (2, 1, 4 / 256, True)
    assert found.size == "64×32"
    assert found.all_bad is False
    assert with_latent(ADA, LatentCheck(False, (stream,))).size is None


#: Every combination of what the rows look at, for the rules that hold for all of them.
MANY = [
    Facts(
        stage,
        dtype=dtype,
        vendor=vendor,
        gpu_name=gpu,
        gpu_arch="gfx1030" if vendor == "amd" else None,
        bf16=bf16,
        flags=flags,
        model_class=model,
        versions={"xformers": "0.0.18"},
        items=4,
        bad_items=2,
        only_inf=True,
        previous_finite=True,
        dynamic_vram=True,
    )
    for stage, dtype, vendor, gpu, bf16, flags, model in itertools.product(
        ("latent", "decode", "encode"),
        (None, "fp16", "bf16"),
        ("nvidia", "amd"),
        (None, "NVIDIA GeForce GTX 1660 SUPER"),
        (None, False, True),
        (
            given(),
            given("--force-fp16", "--fp16-vae", "--fast", "--use-sage-attention", "--fp16-intermediates"),
            given("--fp32-unet", "--bf16-vae", "--dont-upcast-attention", "--use-flash-attention", "--fp8_e5m2-unet"),
        ),
        ("QwenImage", "SDXL"),
    )
]


def test_every_row_is_reached_and_ids_are_unique() -> None:
    names = [row.id for row in CAUSES]
    assert len(set(names)) == len(names)
    assert {cause.id for facts in MANY for cause in rank(facts)} == set(names)


def test_no_row_ever_adds_what_is_given_or_bf16_where_it_is_missing() -> None:
    for facts in MANY:
        for cause in rank(facts):
            fix = cause.params.get("fix", "").split(" ")[0]
            assert fix not in facts.flags
            assert facts.bf16 or "bf16" not in fix
            assert set(cause.params.get("given", ())) <= facts.flags


def test_every_text_is_an_option_in_plain_words() -> None:
    for facts in MANY:
        for cause in rank(facts):
            assert re.search(r"\b([Tt]ry|[Ss]tart without|Install)\b", cause.text)
            assert not re.search(r"please|\bwe\b|!|{|}", cause.text)
            assert cause.text.endswith(".")
            assert cause.text.count("`") % 2 == 0


def test_every_row_says_where_it_comes_from() -> None:
    assert all(re.search(r"#\d+|comfy/|madebyollin/|help text", row.source) for row in CAUSES)
