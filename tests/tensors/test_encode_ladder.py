"""The encode ladder in its full order, device axis included, on a VAE and a host that fail as told.

What it shares with the decode is walked in test_ladder.py; here is each rung once more in this direction, and what is
different: images in, tiles in pixels, video as one item, nothing to save.
"""

from __future__ import annotations

import re

import pytest
import torch
from fakes.scripted_vae import (
    GIB,
    Interrupted,
    ScriptedHost,
    ScriptedVae,
    VideoVAE,
    WanVAE,
    out_of_memory,
    thinned,
)

from headroom.core.choices import ENCODE_ANYWAY, REPLACE, STOP
from headroom.core.errors import EncodeFailed, ImageError, NonFiniteImage, VaeWithoutWeights, WrongVae
from headroom.tensors.decode.ladder import decode_safely
from headroom.tensors.encode.image_input import check_mask, prepare
from headroom.tensors.encode.ladder import encode_safely
from headroom.tensors.ladder.memory import LadderMemory
from headroom.tensors.ladder.options import Options

FP16, BF16, FP32 = torch.float16, torch.bfloat16, torch.float32
NAN, INF = float("nan"), float("inf")


def images(number: int, height: int, width: int, channels: int = 3) -> torch.Tensor:
    """Values that bf16 and fp16 hold exactly, so that every precision gives the same latent."""
    values = torch.arange(number * height * width * channels).reshape(number, height, width, channels) % 31
    return values.float() / 64


def latent_of(pixels: torch.Tensor, video: bool = False) -> torch.Tensor:
    """What a sound encode gives."""
    second = pixels.movedim(-1, 1)
    return thinned(second.movedim(1, 0).unsqueeze(0) if video else second)


def go(vae, pixels, host=None, options=None, **more):
    """Runs the ladder without any lesson of another test."""
    host = host or ScriptedHost(vae.log)
    return encode_safely(vae, pixels, host, options or Options(), memory=more.pop("memory", LadderMemory()), **more)


def steps(encoded) -> list[tuple[str, str]]:
    """The attempts as (what, outcome)."""
    return [(attempt.how, attempt.outcome) for attempt in encoded.attempts]


def calls(vae) -> list[str]:
    """The calls of the encoder."""
    return [entry for entry in vae.log if entry.startswith("encode")]


def bad_in(narrow, items=None, value=NAN):
    """One bad value in the given images (all if None) while the dtype is one of ``narrow``."""

    def rule(call):
        if call.dtype not in narrow:
            return None
        out = thinned(call.samples).float()
        for item in range(out.shape[0]) if items is None else items:
            out[item, 0, ..., 0, 0] = value
        return out

    return rule


# ---- the happy path ----


def test_a_sound_encode_is_one_attempt_and_disturbs_nothing():
    vae, pixels = ScriptedVae(), images(2, 64, 96)
    encoded = go(vae, pixels)
    assert torch.equal(encoded.latent, latent_of(pixels))
    assert steps(encoded) == [("bf16, full frame", "finished")]
    assert vae.log == ["encode (2, 3, 64, 96) bfloat16 cuda:0"]
    assert (encoded.approximate, encoded.saved_latent) == (False, None)


def test_the_host_is_asked_for_what_the_stock_encode_asks_for():
    """A larger reservation would evict models that the stock node leaves alone."""
    vae = ScriptedVae()
    go(vae, images(1, 64, 96))
    assert vae.seen_reservations == [64 * 96 * 20 * 2]


def test_images_are_cropped_as_the_host_does_it():
    """The crop is even on both sides, and an alpha channel is left away."""
    vae, pixels = ScriptedVae(), images(1, 70, 67, channels=4)
    encoded = go(vae, pixels)
    assert torch.equal(encoded.latent, latent_of(pixels[:, 3:67, 1:65, :3]))


# ---- the precision axis ----


def test_nan_in_fp16_goes_to_bf16_where_the_card_has_it():
    """SDXL's VAE is NaN in fp16 and fine in bf16 (madebyollin/sdxl-vae-fp16-fix)."""
    vae, pixels = ScriptedVae(bad_in({FP16}), dtype=FP16), images(1, 64, 64)
    encoded = go(vae, pixels)
    assert steps(encoded) == [("fp16, full frame", "not finite"), ("bf16, full frame", "finished")]
    assert encoded.attempts[0].reason == "NaN in the output"
    assert torch.equal(encoded.latent, latent_of(pixels))
    assert "evict others" not in vae.log, "NaN asks for precision, not for space"


def test_nan_in_fp16_skips_bf16_on_a_card_without_it():
    """InvokeAI #2580, #4083, #4454."""
    vae = ScriptedVae(bad_in({FP16}), dtype=FP16)
    encoded = go(vae, images(1, 64, 64), ScriptedHost(vae.log, bf16=False))
    assert [attempt.dtype for attempt in encoded.attempts] == ["fp16", "fp32"]


def test_only_the_bad_images_of_a_batch_are_encoded_again():
    vae, pixels = ScriptedVae(bad_in({BF16}, items=(1, 3), value=INF)), images(4, 64, 64)
    encoded = go(vae, pixels)
    assert torch.equal(encoded.latent, latent_of(pixels))
    assert encoded.attempts[0].reason == "Inf in images 1 and 3 of 4"
    assert steps(encoded)[1] == ("fp32, images 1 and 3, full frame", "finished")
    assert vae.log == [
        "encode (4, 3, 64, 64) bfloat16 cuda:0",
        "widen to float32 on cuda:0",
        "encode (2, 3, 64, 64) float32 cuda:0",
        "release",
    ]


def test_bad_images_are_named_across_batch_chunks():
    """The host encodes a large batch in chunks; image 2 of the second chunk is image 5 of the batch."""

    def rule(call):
        return None if call.dtype is FP32 or call.number == 0 else bad_in({BF16}, items=(2,))(call)

    encoded = go(ScriptedVae(rule, batch=3), images(6, 64, 64))
    assert encoded.attempts[0].reason == "NaN in image 5 of 6"
    assert encoded.attempts[1].items == (5,)


def test_a_bad_value_that_the_vae_s_last_step_hides_is_seen():
    vae = ScriptedVae(bad_in({BF16}))
    vae.format_encoded = lambda latent: latent.nan_to_num(0)
    assert [attempt.outcome for attempt in go(vae, images(1, 64, 64)).attempts] == ["not finite", "finished"]


@pytest.mark.parametrize("start", ["full frame", "tiled"])
def test_a_bad_value_that_the_vae_s_last_step_makes_is_seen(start):
    """A cast to fp16 between the module and the latent (--fp16-intermediates) turns large values into Inf."""
    vae = ScriptedVae(lambda call: thinned(call.samples).float() + 7e4 if call.dtype is BF16 else None)
    vae.format_encoded = lambda latent: latent.half().float()
    encoded = go(vae, images(1, 128, 128), options=Options(start=start, smallest_tile_px=64))
    assert [attempt.outcome for attempt in encoded.attempts] == ["not finite", "finished"]
    assert encoded.attempts[0].reason == "Inf in the output"


def test_a_blend_that_is_bad_although_its_tiles_are_sound_is_seen():
    """An overlap that the host cannot blend gives 0/0: the check does not rest on our own arithmetic."""

    class Unblended(ScriptedVae):
        def encode_tiled_(self, *given):
            return super().encode_tiled_(*given) * (NAN if self.vae_dtype is BF16 else 1)

    encoded = go(Unblended(), images(1, 128, 128), options=Options(start="tiled", smallest_tile_px=64))
    assert steps(encoded) == [
        ("bf16, 64 px tiles, overlap 16", "not finite"),
        ("fp32, 64 px tiles, overlap 16", "finished"),
    ]
    assert encoded.latent.isfinite().all()


def test_nan_in_every_precision_fails_and_says_what_to_do():
    """Damaged weights, or an encoder that the file never had; nothing is saved, nothing was made here."""
    vae = ScriptedVae(bad_in({FP16, BF16, FP32}), dtype=FP16)
    with pytest.raises(
        EncodeFailed, match=r"failed after 3 attempts: NaN.*no encoder: load another.*Save Image"
    ) as info:
        go(vae, images(1, 64, 64))
    assert [attempt.dtype for attempt in info.value.attempts] == ["fp16", "bf16", "fp32"]
    assert "save latent" not in vae.log


# ---- the space axis ----


def test_the_full_order_of_rungs_ends_on_the_cpu():
    """As it is, others evicted, the largest tile, smaller tiles, CPU in fp32; there is no latent to save."""
    vae, pixels = ScriptedVae(out_of_memory(0, device="cuda:0")), images(1, 768, 768)
    encoded = go(vae, pixels)
    assert steps(encoded) == [
        ("bf16, full frame", "out of memory"),
        ("bf16, full frame, others evicted", "out of memory"),
        ("bf16, 512 px tiles, overlap 128, others evicted", "out of memory"),
        ("bf16, 384 px tiles, overlap 96, others evicted", "out of memory"),
        ("bf16, 256 px tiles, overlap 64, others evicted", "out of memory"),
        ("fp32 on the CPU, full frame", "finished"),
    ]
    assert torch.equal(encoded.latent, latent_of(pixels))
    assert encoded.attempts[0].reason.replace("\u00a0", " ") == "out of memory: asked 3.1 GiB, had 1.9 GiB"
    assert "save latent" not in vae.log
    assert not encoded.approximate, "the latent that counts was encoded whole"


def test_a_batch_is_encoded_one_by_one_before_it_is_cut_into_tiles():
    vae, pixels = ScriptedVae(out_of_memory(256 * 256)), images(4, 256, 256)
    encoded = go(vae, pixels)
    assert steps(encoded) == [
        ("bf16, full frame", "out of memory"),
        ("bf16, full frame, one by one, others evicted", "finished"),
    ]
    assert torch.equal(encoded.latent, latent_of(pixels))


def test_images_that_are_done_are_kept_when_a_later_one_does_not_fit():
    def rule(call):
        if call.samples.shape[0] > 1 or (call.number >= 3 and call.area > 200 * 200):
            raise torch.OutOfMemoryError("CUDA out of memory.")

    vae, pixels = ScriptedVae(rule), images(4, 256, 256)
    encoded = go(vae, pixels, options=Options(smallest_tile_px=64))
    assert encoded.attempts[2].items == (2, 3)
    assert torch.equal(encoded.latent, latent_of(pixels))
    assert encoded.approximate


def test_the_silent_retry_of_the_host_is_never_reached():
    """It takes 512 px tiles whatever the size, which for images of up to 512 px is the full frame again."""
    vae = ScriptedVae(out_of_memory(512 * 512 - 1))
    encoded = go(vae, images(1, 512, 512))
    assert steps(encoded)[-1] == ("bf16, 384 px tiles, overlap 96, others evicted", "finished")
    full = [entry for entry in calls(vae) if "512, 512" in entry]
    assert len(full) == 2, "once as it is, once with the others evicted, and no third time by the host"


class Recording(ScriptedVae):
    """Keeps the sizes that each tiled encode was given."""

    def encode_tiled(self, pixels, **sizes):
        """The host's explicit tiled encode."""
        self.log.append(f"tiles {sizes}")
        return super().encode_tiled(pixels, **sizes)


def test_tiles_are_given_to_the_host_in_pixels():
    vae = Recording()
    go(vae, images(1, 768, 768), options=Options(start="tiled"))
    assert vae.log[0] == "tiles {'tile_x': 512, 'tile_y': 512, 'overlap': 128}"
    assert vae.seen_reservations == [512 * 512 * 20 * 2], "and the host is asked for the tile's memory only"


@pytest.mark.parametrize(
    "error",
    [
        RuntimeError("MPS backend out of memory (MPS allocated: 16.91 GB, other allocations: 1.2 GB)"),
        RuntimeError("[enforce fail at alloc_cpu.cpp:127] DefaultCPUAllocator: can't allocate memory"),
        MemoryError(),
    ],
    ids=lambda error: type(error).__name__ + str(error)[:12],
)
def test_out_of_memory_that_the_host_does_not_recognise_is_recognised(error):
    """MPS: ComfyUI #13976."""

    def rule(call):
        if call.number == 0:
            raise error

    encoded = go(ScriptedVae(rule), images(1, 64, 64))
    assert [attempt.outcome for attempt in encoded.attempts] == ["out of memory", "finished"]


def test_out_of_memory_outside_the_encoder_is_recognised():
    """While the weights are loaded, where the formula is used: the host catches it and would retry in tiles."""
    vae, failures = ScriptedVae(), [torch.OutOfMemoryError("CUDA out of memory.")]
    formula = vae.memory_used_encode

    def load(shape, dtype):
        if failures:
            raise failures.pop()
        return formula(shape, dtype)

    vae.memory_used_encode = load
    encoded = go(vae, images(1, 64, 64), options=Options(start="full frame"))
    assert [attempt.outcome for attempt in encoded.attempts] == ["out of memory", "finished"]
    assert len(calls(vae)) == 1


@pytest.mark.parametrize(
    "error",
    [RuntimeError("Given groups=1, expected input to have 3 channels"), ValueError("range() arg 3 must not be zero")],
)
def test_other_errors_are_never_swallowed(error):
    def rule(call):
        raise error

    for start in ("full frame", "tiled"):
        with pytest.raises(type(error), match=re.escape(str(error)[:15])):
            go(ScriptedVae(rule), images(1, 128, 128), options=Options(start=start, smallest_tile_px=64))


def test_only_the_bad_tile_is_encoded_again():
    """7th of 9 tiles bad (ComfyUI #9871): that tile alone, in the next precision."""

    def rule(call):
        return torch.full_like(thinned(call.samples).float(), NAN) if call.dtype is BF16 and call.number == 6 else None

    vae, pixels = ScriptedVae(rule), images(1, 768, 768)
    tight = ScriptedHost(vae.log, free={"cuda:0": 3_000_000, "cpu": GIB})
    encoded = go(vae, pixels, tight, Options(start="tiled"))
    assert encoded.attempts[0].how == "bf16, 256 px tiles, overlap 64"
    assert encoded.attempts[0].reason == "NaN in 1 of 9 tiles"
    assert [entry for entry in calls(vae) if "float32" in entry] == ["encode (1, 3, 256, 256) float32 cuda:0"]
    assert torch.equal(encoded.latent, latent_of(pixels))


def test_a_grid_that_is_bad_from_the_start_is_given_up_early():
    vae = ScriptedVae(bad_in({BF16}))
    encoded = go(vae, images(1, 768, 768), options=Options(start="tiled", smallest_tile_px=64))
    assert len([entry for entry in calls(vae) if "bfloat16" in entry]) == 3
    assert encoded.attempts[-1].outcome == "finished"


# ---- where to start ----


def kl_formula(shape, dtype):
    """The host's formula for AutoencoderKL (comfy/sd.py 0.30.0)."""
    return 1767 * shape[2] * shape[3] * dtype.itemsize


@pytest.mark.parametrize(
    ("free", "spills", "tiled"),
    [(16 * GIB, True, True), (16 * GIB, False, False), (5 * GIB, False, True), (24 * GIB, True, False)],
)
def test_an_encode_that_cannot_fit_is_tiled_at_once(free, spills, tiled):
    """FLUX.1 3072x3072 took 18.8 GiB (InvokeAI). Where the driver spills silently no error comes (ComfyUI #5737)."""
    vae = ScriptedVae()
    vae.memory_used_encode = kl_formula
    host = ScriptedHost(vae.log, free={"cuda:0": free, "cpu": 64 * GIB}, spills_silently=spills)
    encoded = go(vae, images(1, 3072, 3072), host)
    assert ("px tiles" in encoded.attempts[0].how) is tiled
    assert any("Tiled from the start" in notice for notice in encoded.notices) is tiled


def test_a_kind_that_nobody_measured_is_tried_whole():
    vae = ScriptedVae(module=WanVAE)
    vae.memory_used_encode = lambda shape, dtype: 900 * GIB
    assert steps(go(vae, images(5, 64, 64))) == [("bf16, full frame", "finished")]


def test_a_streaming_vae_is_not_judged_by_the_host_s_formula():
    vae = ScriptedVae()
    vae.first_stage_model.comfy_has_chunked_io = True
    vae.memory_used_encode = lambda shape, dtype: 389 * GIB
    encoded = go(vae, images(1, 64, 64))
    assert steps(encoded) == [("bf16, full frame", "finished")]
    assert (encoded.peak.low_bytes, encoded.peak.reserved_by_host_bytes) == (None, 389 * GIB)


# ---- video ----


def test_a_video_vae_takes_the_images_as_one_video():
    vae, pixels = ScriptedVae(bad_in({BF16}), module=WanVAE), images(9, 64, 64)
    encoded = go(vae, pixels)
    assert torch.equal(encoded.latent, latent_of(pixels, video=True))
    assert encoded.latent.shape == (1, 4, 3, 8, 8)
    assert encoded.attempts[0].reason == "NaN in the output"
    assert calls(vae) == ["encode (1, 3, 9, 64, 64) bfloat16 cuda:0", "encode (1, 3, 9, 64, 64) float32 cuda:0"]


def test_a_video_vae_for_images_takes_each_image_as_a_single_frame():
    """The host's ``not_video``: then one bad image is encoded again, not all."""
    vae, pixels = ScriptedVae(bad_in({BF16}, items=(1,)), module=VideoVAE), images(3, 64, 64)
    vae.not_video = True
    encoded = go(vae, pixels)
    assert torch.equal(encoded.latent, latent_of(pixels).unsqueeze(2))
    assert calls(vae) == ["encode (3, 3, 1, 64, 64) bfloat16 cuda:0", "encode (1, 3, 1, 64, 64) float32 cuda:0"]


def test_a_causal_video_vae_is_never_cut_in_time():
    """Blinking at temporal tile edges with Wan (ComfyUI #7116)."""
    vae = ScriptedVae(out_of_memory(0, device="cuda:0"), module=WanVAE)
    with pytest.raises(EncodeFailed):
        go(vae, images(17, 256, 256), options=Options(smallest_tile_px=64))
    assert {entry.split(", ")[2] for entry in calls(vae)} == {"17"}


def test_a_video_vae_that_is_not_causal_is_cut_in_time_last():
    """HunyuanVideo: the temporal tile is what counts (HunyuanVideoWrapper #65); 9 latent frames are 33 frames."""

    def rule(call):
        if call.samples.shape[2] > 13:
            raise torch.OutOfMemoryError("CUDA out of memory.")

    vae, pixels = Recording(rule, module=VideoVAE), images(33, 320, 320)
    encoded = go(vae, pixels)
    assert encoded.attempts[-2].how == "bf16, 256 px tiles, overlap 64, 8 latent frames at a time, others evicted"
    assert steps(encoded)[-1] == (
        "bf16, 256 px tiles, overlap 64, 4 latent frames at a time, others evicted",
        "finished",
    )
    sizes = [entry for entry in vae.log if entry.startswith("tiles")][-1]
    assert sizes == "tiles {'tile_x': 256, 'tile_y': 256, 'overlap': 64, 'tile_t': 13, 'overlap_t': 5}"
    assert torch.equal(encoded.latent, latent_of(pixels, video=True))


def test_video_tiles_move_a_progress_bar():
    vae = ScriptedVae(module=WanVAE)
    go(vae, images(5, 512, 512), options=Options(start="tiled"))
    assert "progress bar of 4" in vae.log
    assert vae.log[-1] == "progress 4"


def test_a_video_vae_with_its_own_tiling_keeps_it():
    """SeedVR2, MiniMax H3: tiles are by design (Wan2GP #2367); SeedVR2 scales its latent last."""
    vae = ScriptedVae(out_of_memory(100 * 100), module=VideoVAE)
    vae.handles_tiling, vae.format_encoded = True, lambda latent: latent * 2
    vae.first_stage_model.encode_tiled = lambda pixels: thinned(pixels).float()
    pixels = images(5, 128, 128)
    encoded = go(vae, pixels)
    assert steps(encoded)[-1] == ("bf16, the VAE's own tiles, others evicted", "finished")
    assert not encoded.approximate
    assert torch.equal(encoded.latent, latent_of(pixels, video=True) * 2)


def test_the_vae_s_last_step_is_taken_once_on_tiles_too():
    vae, pixels = ScriptedVae(module=WanVAE), images(5, 256, 256)
    vae.format_encoded = lambda latent: latent * 2
    encoded = go(vae, pixels, options=Options(start="tiled", smallest_tile_px=64))
    assert torch.equal(encoded.latent, latent_of(pixels, video=True) * 2)


# ---- the CPU ----


def test_a_video_does_not_go_to_the_cpu_unless_asked():
    vae = ScriptedVae(out_of_memory(0, device="cuda:0"), module=WanVAE)
    with pytest.raises(EncodeFailed, match="Set allow_cpu to always"):
        go(vae, images(5, 64, 64))
    assert not any("cpu" in entry for entry in vae.log)


def test_a_video_that_may_go_to_the_cpu_says_how_long_it_will_take():
    vae, pixels = ScriptedVae(out_of_memory(0, device="cuda:0"), module=WanVAE), images(9, 96, 96)
    encoded = go(vae, pixels, options=Options(allow_cpu="always"))
    assert torch.equal(encoded.latent, latent_of(pixels, video=True))
    assert any(notice.startswith("Encoding on the CPU takes about") for notice in encoded.notices)
    assert any(entry.startswith("Headroom: Encoding on the CPU takes about") for entry in vae.log)
    assert [entry for entry in calls(vae) if "cpu" in entry] == [
        "encode (1, 3, 5, 64, 64) float32 cpu",
        "encode (1, 3, 9, 96, 96) float32 cpu",
    ]


def test_never_means_never():
    vae = ScriptedVae(out_of_memory(0, device="cuda:0"))
    with pytest.raises(EncodeFailed):
        go(vae, images(1, 64, 64), options=Options(allow_cpu="never"))
    assert not any("cpu" in entry for entry in calls(vae))


def test_a_vae_on_the_cpu_has_no_eviction_and_no_cpu_rung():
    vae = ScriptedVae(out_of_memory(320 * 320), dtype=FP32, device="cpu")
    encoded = go(vae, images(1, 384, 384))
    assert steps(encoded) == [
        ("fp32, full frame", "out of memory"),
        ("fp32, 256 px tiles, overlap 64", "finished"),
    ]
    assert "evict others" not in vae.log


# ---- lessons ----


def test_what_worked_is_where_the_next_encode_starts():
    vae, memory = ScriptedVae(bad_in({BF16})), LadderMemory()
    go(vae, images(1, 64, 64), memory=memory)
    again = go(vae, images(1, 64, 64), memory=memory)
    assert steps(again) == [("fp32, full frame", "finished")]
    assert again.notices == ("Started in fp32: bf16 was not finite earlier in this session",)


def test_an_encode_teaches_a_decode_nothing():
    """An encoder can overflow where its decoder does not; a decode in fp32 for nothing takes twice the memory."""
    vae = ScriptedVae(lambda call: bad_in({BF16})(call) if call.samples.shape[1] == 3 else None)
    encode_safely(vae, images(1, 64, 64), ScriptedHost(vae.log))
    decoded = decode_safely(vae, torch.zeros(1, 4, 8, 8), ScriptedHost(vae.log))
    assert [attempt.dtype for attempt in decoded.attempts] == ["bf16"]


# ---- what stays as it was ----


def test_the_vae_and_the_images_stay_as_they_were():
    def rule(call):
        out_of_memory(511 * 511)(call)
        return bad_in({FP16})(call)

    vae, pixels = ScriptedVae(rule, dtype=FP16), images(1, 512, 512)
    before, kept = dict(vae.__dict__), pixels.clone()
    encoded = go(vae, pixels)
    assert len(encoded.attempts) == 4
    assert vae.__dict__ == before
    assert torch.equal(pixels, kept)


def test_an_interrupt_between_tiles_ends_it_at_once():
    vae = ScriptedVae()
    with pytest.raises(Interrupted):
        go(vae, images(1, 768, 768), ScriptedHost(vae.log, interrupt_after=3), Options("tiled", 64))
    assert len(calls(vae)) == 2


def test_the_private_vae_is_given_back_whatever_happens():
    vae = ScriptedVae(bad_in({BF16, FP32}))
    with pytest.raises(EncodeFailed):
        go(vae, images(1, 64, 64))
    assert vae.log.count("release") == 1


def test_a_tolerated_image_is_encoded_and_kept_as_it_comes():
    vae = ScriptedVae(bad_in({BF16, FP32}, items=(0,)))
    encoded = go(vae, images(2, 64, 64), tolerated=frozenset({0}))
    assert [attempt.outcome for attempt in encoded.attempts] == ["finished"]
    assert encoded.latent[0].isnan().any()
    assert not encoded.latent[1].isnan().any()


def test_a_tolerated_frame_makes_its_video_tolerated():
    vae = ScriptedVae(bad_in({BF16, FP32}), module=WanVAE)
    assert steps(go(vae, images(5, 64, 64), tolerated=frozenset({3}))) == [("bf16, full frame", "finished")]


# ---- bad input ----


@pytest.mark.parametrize(
    ("pixels", "words"),
    [
        (torch.zeros(1, 7, 300, 3), r"300×7.*needs 8 pixels"),
        (torch.zeros(1, 64, 64, 1), r"1 channels.*takes 3.*RGB"),
    ],
)
def test_images_that_cannot_be_encoded_are_refused_before_any_rung(pixels, words):
    vae = ScriptedVae()
    with pytest.raises(ImageError, match=words):
        go(vae, pixels)
    assert vae.log == []


def test_a_vae_that_cannot_be_used_is_refused():
    empty, audio = ScriptedVae(), ScriptedVae()
    empty.first_stage_model, audio.extra_1d_channel = None, 16
    with pytest.raises(VaeWithoutWeights, match="no VAE weights"):
        go(empty, images(1, 64, 64))
    with pytest.raises(WrongVae, match="takes no images"):
        go(audio, images(1, 64, 64))


@pytest.mark.parametrize(
    ("shape", "words"),
    [((64, 64, 3), r"\[64, 64, 3\].*4 dimensions"), ((1, 5, 64, 64, 3), "4 dimensions"), ((0, 64, 64, 3), "is empty")],
)
def test_what_is_no_batch_of_images_is_refused(shape, words):
    with pytest.raises(ImageError, match=words):
        prepare(torch.zeros(shape), ENCODE_ANYWAY)


def spoilt() -> torch.Tensor:
    """Images 1 and 3 of 4 are bad."""
    pixels = images(4, 16, 16)
    pixels[1, 2, 3, 0], pixels[3] = INF, NAN
    return pixels


def test_bad_images_stop_the_run_and_the_vae_is_not_blamed():
    with pytest.raises(NonFiniteImage, match=r"already bad: images 1 and 3 of 4 hold NaN and Inf\. The VAE is not"):
        prepare(spoilt(), STOP)
    with pytest.raises(NonFiniteImage, match=r"already bad: the image holds NaN\."):
        prepare(spoilt()[3:], STOP)


def test_bad_values_can_be_replaced_by_0():
    pixels = spoilt()
    prepared = prepare(pixels, REPLACE)
    assert prepared.notices == ("Images 1 and 3 of 4 hold NaN and Inf: 769 values replaced by 0 before the encode",)
    assert torch.equal(prepared.pixels, torch.where(pixels.isfinite(), pixels, 0))
    assert pixels[1, 2, 3, 0] == INF, "the images that came in stay as they are"
    assert prepared.tolerated == frozenset()


def test_bad_images_can_be_encoded_all_the_same():
    prepared = prepare(spoilt(), ENCODE_ANYWAY)
    assert prepared.tolerated == {1, 3}
    assert "encoded anyway" in prepared.notices[0]


def test_sound_images_pass_untouched():
    pixels = images(2, 16, 16)
    prepared = prepare(pixels, STOP)
    assert prepared.pixels is pixels
    assert (prepared.tolerated, prepared.notices) == (frozenset(), ())


@pytest.mark.parametrize(
    ("mask", "number", "words"),
    [
        (torch.zeros(3, 16, 16), 4, r"3 masks for 4 images"),
        (torch.zeros(4, 16, 16), 1, r"4 masks for 1 image:"),
        (torch.full((2, 16, 16), NAN), 2, r"masks 0 and 1 of 2 hold NaN"),
        (torch.full((16, 16), INF), 2, r"the mask holds Inf"),
        (torch.zeros(0, 16, 16), 1, r"\[0, 16, 16\]"),
    ],
)
def test_a_mask_that_cannot_be_used_is_refused(mask, number, words):
    with pytest.raises(ImageError, match=words):
        check_mask(mask, number)


def test_a_mask_that_can_be_used_is_not_refused():
    """One for all, one for each, and without a limit where nothing is laid under it."""
    for mask, number in ((torch.zeros(16, 16), 4), (torch.zeros(1, 8, 8), 4), (torch.zeros(4, 8, 8), 4)):
        check_mask(mask, number)
    check_mask(torch.zeros(3, 16, 16), None)
