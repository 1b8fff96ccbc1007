"""What one sampling step needs: who batches what, how the range grows, and what stays unknown."""

from __future__ import annotations

from dataclasses import replace

import pytest

from headroom.core.activation import ROWS, ActivationNeed, Step, activation_need, goes_together
from headroom.core.families import FAMILIES
from headroom.core.families.identity import Identity
from headroom.core.units import GIB, MIB

WAN = Identity(
    "diffusion model",
    "known",
    "Wan 14B",
    family="WAN21_T2V",
    sizes={"ffn_dim": 13824},
    hidden_size=5120,
    memory_factor=5120 / 2222,
    memory_factor_fp16=5120 / 2222,
)
FLUX = Identity("diffusion model", "known", "Flux", family="Flux", hidden_size=3072, memory_factor=3.1)
SDXL = Identity("diffusion model", "known", "SDXL", family="SDXL", hidden_size=320, memory_factor=0.8)
VIDEO = Step((1, 16, 21, 60, 104), "bf16")
SQUARE = Step((1, 16, 128, 128), "bf16")


def ends(model: Identity, step: Step) -> tuple[int, int]:
    """Both ends of the range."""
    need = activation_need(model, step)
    assert need.low_bytes is not None
    assert need.high_bytes is not None
    return need.low_bytes, need.high_bytes


def test_wan_at_480p():
    """32760 tokens with three tensors of 5120 and two of 13824 values; up to 11.2 widths and a fifth more."""
    low, high = ends(WAN, VIDEO)
    assert low == 32760 * (3 * 5120 + 2 * 13824) * 2
    assert high == int(32760 * 11.2 * 5120 * 2 * 1.2)


def test_the_wan_step_that_failed_on_16_gb_would_have_needed_at_least_what_it_had_and_asked_for():
    """1280x1280, 81 frames: 8.23 GiB allocated, 3.46 GiB asked for (ComfyUI #13598)."""
    low, high = ends(WAN, Step((1, 16, 21, 160, 160), "bf16"))
    assert low < (8.23 + 3.46) * GIB < high < 1.5 * (8.23 + 3.46) * GIB
    # What it asked for is one feed-forward of every token.
    assert round(134400 * 13824 * 2 / GIB, 2) == 3.46


def test_the_host_wants_room_for_two_prompts_and_makes_do_with_one():
    need = activation_need(WAN, VIDEO)
    assert need.reserved_least_bytes == int((21 * 60 * 104 * 2 * 0.01 * 5120 / 2222) * MIB)
    assert need.reserved_by_host_bytes == int((2 * 21 * 60 * 104 * 2 * 0.01 * 5120 / 2222) * MIB)


@pytest.mark.parametrize(
    ("cfg", "together", "passes", "prompts"),
    [(1.0, None, 1, 1), (1.0, True, 1, 1), (6.0, True, 1, 2), (6.0, False, 2, 2), (6.0, None, 2, 2)],
)
def test_how_often_a_step_goes_through_the_weights(cfg, together, passes, prompts):
    """Streamed weights cross the bus once for each pass; WanVideoWrapper runs the prompts apart."""
    need = activation_need(WAN, replace(VIDEO, cfg=cfg, together=together))
    assert (need.passes_per_step, need.prompts_per_step) == (passes, prompts)


def test_two_prompts_together_take_twice_the_memory_of_one():
    one = ends(FLUX, SQUARE)
    apart = ends(FLUX, replace(SQUARE, cfg=4, together=False))
    together = ends(FLUX, replace(SQUARE, cfg=4, together=True))
    either = ends(FLUX, replace(SQUARE, cfg=4))
    assert apart == one
    assert together == (2 * one[0], pytest.approx(2 * one[1], abs=1))
    assert either == (one[0], together[1])


def test_when_the_host_puts_both_prompts_into_one_pass():
    """comfy/samplers.py 0.30.0: half as much again as its number for both has to be free."""
    assert goes_together(2 * GIB, 3 * GIB + 1)
    assert not goes_together(2 * GIB, 3 * GIB)


def test_a_reference_of_the_same_size_is_as_much_as_the_picture():
    """Flux Kontext: 4096 tokens more."""
    alone, edited = (activation_need(FLUX, replace(SQUARE, references=refs)) for refs in ((), ((1, 16, 128, 128),)))
    assert alone.low_bytes is not None
    assert edited.low_bytes is not None
    assert edited.low_bytes - alone.low_bytes == 14 * 3072 * 4096 * 2
    assert alone.reserved_by_host_bytes is not None
    assert edited.reserved_by_host_bytes == int((4 * 128 * 128 * 2 * 0.01 * 3.1) * MIB)


def test_a_longer_text_costs_where_it_is_in_the_sequence():
    short, long = (ends(FLUX, replace(SQUARE, text_tokens=tokens))[0] for tokens in (256, 512))
    assert long - short == 15 * 3072 * 256 * 2
    assert ends(WAN, VIDEO)[0] == ends(WAN, replace(VIDEO, text_tokens=512))[0]


def test_a_latent_that_does_not_fill_its_patches_is_padded():
    assert ends(FLUX, replace(SQUARE, latent=(1, 16, 127, 127)))[0] == ends(FLUX, SQUARE)[0]


def test_a_batch_and_fp32_cost_their_factor():
    sdxl = Step((1, 4, 128, 128), "fp16")
    low, _ = ends(SDXL, sdxl)
    assert low == int(128 * 128 * 15.75 * 320 * 2)
    assert ends(SDXL, replace(sdxl, latent=(3, 4, 128, 128)))[0] == 3 * low
    assert ends(SDXL, replace(sdxl, dtype="fp32"))[0] == 2 * low


def test_fp8_matrices_have_activations_in_bf16():
    assert ends(FLUX, replace(SQUARE, dtype="fp8")) == ends(FLUX, SQUARE)


def test_attention_in_slices_adds_its_smallest_slice():
    """The host takes as many slices as it needs, at most 64, each held three times."""
    fused, split = (ends(FLUX, replace(SQUARE, attention=kind))[0] for kind in ("fused", "split"))
    tokens = 4096 + 256
    assert split - fused == 24 * tokens * tokens * 2 * 3 // 64
    need = activation_need(FLUX, replace(SQUARE, attention="split"))
    assert need.reserved_least_bytes == int((128 * 128 * 0.15 * 3.1) * MIB)


def test_a_family_that_was_not_analysed_keeps_the_host_s_number():
    other = replace(FLUX, family="ACEStep", memory_factor=2.0)
    need = activation_need(other, SQUARE)
    assert (need.low_bytes, need.high_bytes) == (None, None)
    assert need.source.startswith("unknown")
    assert need.reserved_by_host_bytes == int((2 * 128 * 128 * 2 * 0.01 * 2.0) * MIB)


def test_a_file_whose_width_is_not_known_has_no_range():
    assert activation_need(replace(FLUX, hidden_size=None), SQUARE).low_bytes is None


def test_every_family_of_the_rows_is_one_of_the_table():
    named = [family for row in ROWS for family in row.families]
    assert set(named) <= FAMILIES.keys()
    for row in ROWS:
        assert row.low
        assert row.what
        assert row.waste > 1


def test_a_dtype_that_no_model_computes_in_is_refused():
    with pytest.raises(ValueError, match="int4"):
        activation_need(FLUX, replace(SQUARE, dtype="int4"))


def test_a_range_that_is_upside_down_is_refused():
    with pytest.raises(ValueError, match="upside down"):
        ActivationNeed(1, 1, 3, 2, 1, 1, "analysis: nonsense")
