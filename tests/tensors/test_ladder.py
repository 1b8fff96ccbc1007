"""The decode ladder in its full order, device axis included, on a VAE and a host that fail as told.

What breaks for the user if one fails stands in each docstring.
"""

from __future__ import annotations

import gc
import re
import weakref

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
    picture,
)

from headroom.core.errors import DecodeFailed, LatentError, UnknownLayout, VaeWithoutWeights, WrongVae
from headroom.tensors.decode.ladder import decode_safely
from headroom.tensors.ladder.memory import LadderMemory
from headroom.tensors.ladder.options import Options

FP16, BF16, FP32 = torch.float16, torch.bfloat16, torch.float32


def latent(*shape: int) -> torch.Tensor:
    """Values that bf16 and fp16 hold exactly, so that every precision gives the same picture."""
    values = torch.arange(torch.Size(shape).numel()).reshape(shape) % 32
    return values.float() / 64


def go(vae, samples, host=None, options=None, **more):
    """Runs the ladder without any lesson of another test."""
    host = host or ScriptedHost(vae.log)
    return decode_safely(vae, samples, host, options or Options(), memory=more.pop("memory", LadderMemory()), **more)


def steps(decoded) -> list[tuple[str, str]]:
    """The attempts as (what, outcome)."""
    return [(attempt.how, attempt.outcome) for attempt in decoded.attempts]


def nan_in(narrow, items=None):
    """NaN in the given batch items (all if None) while the dtype is one of ``narrow``."""

    def rule(call):
        if call.dtype not in narrow:
            return None
        out = call.samples[:, :3].float() * 2
        for item in range(out.shape[0]) if items is None else items:
            out[item, 0, 0, 0] = float("nan")
        return out

    return rule


def together(*rules):
    """The first rule that has something to say."""

    def rule(call):
        for one in rules:
            out = one(call)
            if out is not None:
                return out
        return None

    return rule


# ---- the happy path ----


def test_a_sound_decode_is_one_attempt_and_disturbs_nothing():
    vae = ScriptedVae()
    samples = latent(2, 4, 16, 16)
    decoded = go(vae, samples)
    assert torch.equal(decoded.images, picture(samples))
    assert steps(decoded) == [("bf16, full frame", "finished")]
    assert vae.log == ["decode (2, 4, 16, 16) bfloat16 cuda:0"]
    assert not decoded.approximate
    assert decoded.saved_latent is None


def test_the_host_is_asked_for_what_the_stock_decode_asks_for():
    """A larger reservation would evict models that the stock node leaves alone."""
    vae = ScriptedVae()
    go(vae, latent(1, 4, 16, 16))
    assert vae.seen_reservations == [16 * 16 * 1000 * 2]


# ---- the precision axis ----


def test_nan_in_fp16_goes_to_bf16_where_the_card_has_it():
    """SDXL's VAE is NaN in fp16 and fine in bf16 (madebyollin/sdxl-vae-fp16-fix): the ladder stops at bf16."""
    vae = ScriptedVae(nan_in({FP16}), dtype=FP16)
    samples = latent(1, 4, 16, 16)
    decoded = go(vae, samples)
    assert steps(decoded) == [("fp16, full frame", "not finite"), ("bf16, full frame", "finished")]
    assert torch.equal(decoded.images, picture(samples))
    assert decoded.attempts[0].reason == "NaN in the output"


def test_nan_in_fp16_skips_bf16_on_a_card_without_it():
    """GPU without bf16: fp16 -> fp32 (InvokeAI #2580, #4083, #4454)."""
    vae = ScriptedVae(nan_in({FP16}), dtype=FP16)
    decoded = go(vae, latent(1, 4, 16, 16), ScriptedHost(vae.log, bf16=False))
    assert [attempt.dtype for attempt in decoded.attempts] == ["fp16", "fp32"]


def test_bf16_is_skipped_for_a_vae_that_does_not_work_in_it():
    vae = ScriptedVae(nan_in({FP16}), dtype=FP16)
    vae.working_dtypes = [FP16, FP32]
    decoded = go(vae, latent(1, 4, 16, 16))
    assert [attempt.dtype for attempt in decoded.attempts] == ["fp16", "fp32"]


def test_nan_in_bf16_is_decoded_again_in_fp32():
    """Blank output in bf16, `--fp32-vae` fixes it (ComfyUI #15436)."""
    vae = ScriptedVae(nan_in({BF16}))
    decoded = go(vae, latent(1, 4, 16, 16))
    assert [attempt.dtype for attempt in decoded.attempts] == ["bf16", "fp32"]
    assert "evict others" not in vae.log, "NaN asks for precision, not for space"


def test_only_the_bad_items_of_a_batch_are_decoded_again():
    """Two of four images black (ComfyUI #13116, sdnext #374): the sound ones are kept as they are."""
    vae = ScriptedVae(nan_in({BF16}, items=(1, 3)))
    samples = latent(4, 4, 16, 16)
    decoded = go(vae, samples)
    assert torch.equal(decoded.images, picture(samples))
    assert [attempt.items for attempt in decoded.attempts] == [(0, 1, 2, 3), (1, 3)]
    assert decoded.attempts[0].reason == "NaN in items 1 and 3 of 4"
    assert vae.log == [
        "decode (4, 4, 16, 16) bfloat16 cuda:0",
        "widen to float32 on cuda:0",
        "decode (2, 4, 16, 16) float32 cuda:0",
        "release",
    ]


def test_bad_items_are_named_across_batch_chunks():
    """The host decodes a large batch in chunks; item 3 of the second chunk is item 5 of the batch."""

    def rule(call):
        if call.dtype is FP32 or call.number == 0:
            return None
        out = call.samples[:, :3].float()
        out[2, 0, 0, 0] = float("inf")
        return out

    vae = ScriptedVae(rule, batch=3)
    decoded = go(vae, latent(6, 4, 16, 16))
    assert decoded.attempts[0].reason == "Inf in item 5 of 6"
    assert decoded.attempts[1].items == (5,)


def test_inf_is_seen_although_the_clamp_would_make_it_white():
    def rule(call):
        return torch.full_like(call.samples[:, :3].float(), float("inf")) if call.dtype is BF16 else None

    vae = ScriptedVae(rule)
    samples = latent(1, 4, 16, 16)
    decoded = go(vae, samples)
    assert torch.equal(decoded.images, picture(samples))


@pytest.mark.parametrize(
    ("own", "precision", "bf16", "expected"),
    [
        (FP16, "auto", True, "fp16"),
        (FP16, "at least bf16", True, "bf16"),
        (FP16, "at least bf16", False, "fp32"),
        (BF16, "at least bf16", True, "bf16"),
        (FP32, "at least bf16", True, "fp32"),
        (FP16, "fp32", True, "fp32"),
        (BF16, "fp32", True, "fp32"),
    ],
)
def test_the_precision_option_is_the_least_that_is_used(own, precision, bf16, expected):
    vae = ScriptedVae(dtype=own)
    decoded = go(vae, latent(1, 4, 16, 16), ScriptedHost(vae.log, bf16=bf16), Options(precision=precision))
    assert [attempt.dtype for attempt in decoded.attempts] == [expected]


def test_nan_in_every_precision_fails_with_the_latent_saved():
    """Damaged weights: no black image, no endless climb, nothing lost."""
    vae = ScriptedVae(nan_in({FP16, BF16, FP32}), dtype=FP16)
    samples = latent(1, 4, 16, 16)
    host = ScriptedHost(vae.log)
    with pytest.raises(
        DecodeFailed, match=r"NaN in the output.*weights may be damaged.*latents/headroom_00001_"
    ) as info:
        go(vae, samples, host)
    assert [attempt.dtype for attempt in info.value.attempts] == ["fp16", "bf16", "fp32"]
    assert torch.equal(host.saved[0], samples)


# ---- the space axis ----


def test_the_full_order_of_rungs_ends_on_the_cpu():
    """As it is, others evicted, the largest tile, smaller tiles, CPU in fp32 with the latent saved before."""
    vae = ScriptedVae(out_of_memory(0, device="cuda:0"))
    samples = latent(1, 4, 96, 96)
    decoded = go(vae, samples, options=Options(smallest_tile_px=256))
    assert steps(decoded) == [
        ("bf16, full frame", "out of memory"),
        ("bf16, full frame, others evicted", "out of memory"),
        ("bf16, 512 px tiles, overlap 128, others evicted", "out of memory"),
        ("bf16, 384 px tiles, overlap 96, others evicted", "out of memory"),
        ("bf16, 256 px tiles, overlap 64, others evicted", "out of memory"),
        ("fp32 on the CPU, full frame", "finished"),
    ]
    assert torch.equal(decoded.images, picture(samples))
    assert decoded.attempts[0].reason.replace("\u00a0", " ") == "out of memory: asked 3.1 GiB, had 1.9 GiB"
    assert vae.log.index("save latent") < vae.log.index("widen to float32 on cpu")
    assert not decoded.approximate, "the picture that counts was decoded whole"


def test_eviction_comes_before_any_loss_of_quality():
    """1.2 GiB needed, 0.8 free, other models hold the rest: unload_all made it pass (ComfyUI #15453, #16299)."""

    def rule(call):
        if host.evictable:
            raise torch.OutOfMemoryError("CUDA out of memory.")

    vae = ScriptedVae(rule)
    host = ScriptedHost(vae.log, free={"cuda:0": int(0.8 * GIB), "cpu": 64 * GIB}, evictable=14 * GIB)
    vae.memory_used_decode = lambda shape, dtype: int(1.2 * GIB)
    decoded = go(vae, latent(1, 4, 64, 64), host)
    assert steps(decoded) == [
        ("bf16, full frame", "out of memory"),
        ("bf16, full frame, others evicted", "finished"),
    ]


def test_a_batch_is_decoded_one_by_one_before_it_is_cut_into_tiles():
    """Tiles change the picture, one at a time does not."""
    vae = ScriptedVae(out_of_memory(32 * 32))
    samples = latent(4, 4, 32, 32)
    decoded = go(vae, samples)
    assert steps(decoded) == [
        ("bf16, full frame", "out of memory"),
        ("bf16, full frame, one by one, others evicted", "finished"),
    ]
    assert torch.equal(decoded.images, picture(samples))


def test_items_that_are_done_are_kept_when_a_later_one_does_not_fit():
    def rule(call):
        if call.samples.shape[0] > 1 or (call.number >= 3 and call.area > 400):
            raise torch.OutOfMemoryError("CUDA out of memory.")

    vae = ScriptedVae(rule)
    samples = latent(4, 4, 32, 32)
    decoded = go(vae, samples, options=Options(smallest_tile_px=64))
    assert decoded.attempts[1].items == (0, 1, 2, 3)
    assert decoded.attempts[2].items == (2, 3)
    assert torch.equal(decoded.images, picture(samples))
    assert decoded.approximate


def test_the_first_tile_is_smaller_than_the_latent():
    """The host's own retry decodes latents of up to 64x64 whole again, which cannot help."""
    vae = ScriptedVae(out_of_memory(64 * 64 - 1))
    decoded = go(vae, latent(1, 4, 64, 64))
    assert steps(decoded)[-1] == ("bf16, 384 px tiles, overlap 96, others evicted", "finished")
    assert decoded.approximate, "group norm differs per tile (ComfyUI #163)"


def test_the_silent_retry_of_the_host_is_never_reached():
    """It would hide the out-of-memory, and its picture would be approximate without a word."""
    vae = ScriptedVae(out_of_memory(64 * 64 - 1))
    go(vae, latent(1, 4, 64, 64))
    full = [entry for entry in vae.log if entry.startswith("decode (1, 4, 64, 64)")]
    assert len(full) == 2, "once as it is, once with the others evicted, and no third time by the host"


@pytest.mark.parametrize(
    "error",
    [
        torch.OutOfMemoryError("HIP out of memory. Tried to allocate 20.00 MiB."),
        RuntimeError("MPS backend out of memory (MPS allocated: 16.91 GB, other allocations: 1.2 GB)"),
        RuntimeError("cuDNN error: CUDNN_STATUS_ALLOC_FAILED"),
        RuntimeError("CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling cublasCreate(handle)"),
        RuntimeError("[enforce fail at alloc_cpu.cpp:127] DefaultCPUAllocator: can't allocate memory"),
        RuntimeError("Could not allocate tensor with 4 bytes. There is not enough GPU video memory available!"),
        RuntimeError("Native API failed. Native API returns: 39 (UR_RESULT_ERROR_OUT_OF_DEVICE_MEMORY)"),
        MemoryError(),
    ],
    ids=lambda error: str(error)[:40] or type(error).__name__,
)
def test_every_backend_s_out_of_memory_is_recognised(error):
    """MPS: ComfyUI #13976; the host's own test knows only the first one."""

    def rule(call):
        if call.number == 0:
            raise error

    decoded = go(ScriptedVae(rule), latent(1, 4, 16, 16))
    assert [attempt.outcome for attempt in decoded.attempts] == ["out of memory", "finished"]


@pytest.mark.parametrize(
    "error",
    [
        RuntimeError("Given groups=1, weight of size [4, 4], expected input to have 4 channels"),
        torch.AcceleratorError("CUDA error: an illegal memory access was encountered"),
        ValueError("range() arg 3 must not be zero"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_other_errors_are_never_swallowed(error):
    def rule(call):
        raise error

    with pytest.raises(type(error), match=re.escape(str(error)[:20])):
        go(ScriptedVae(rule), latent(1, 4, 16, 16))


def test_a_failed_rung_s_tensors_are_gone_before_the_next():
    """Kept frames of a traceback hold VRAM: batch 20 ok, 30 OOM, 20 now OOM (ComfyUI #9830)."""
    kept: list[weakref.ref] = []
    alive: list[bool] = []

    def rule(call):
        if call.number == 0:
            huge = torch.zeros(1000)
            kept.append(weakref.ref(huge))
            raise torch.OutOfMemoryError("CUDA out of memory.")
        alive.append(kept[0]() is not None)

    gc.disable()
    try:
        go(ScriptedVae(rule), latent(1, 4, 16, 16))
    finally:
        gc.enable()
    assert alive == [False]


def test_nan_after_a_tiling_keeps_the_tiling():
    """The two axes are apart: precision goes up, space stays."""
    vae = ScriptedVae(together(out_of_memory(63 * 63), nan_in({FP16})), dtype=FP16)
    decoded = go(vae, latent(1, 4, 64, 64))
    assert steps(decoded) == [
        ("fp16, full frame", "out of memory"),
        ("fp16, full frame, others evicted", "out of memory"),
        ("fp16, 384 px tiles, overlap 96, others evicted", "not finite"),
        ("bf16, 384 px tiles, overlap 96, others evicted", "finished"),
    ]


def test_only_the_bad_tile_is_decoded_again():
    """7th of 9 tiles black on an RX 7800M (ComfyUI #9871): that tile alone, in the next precision."""

    def rule(call):
        if call.dtype is BF16 and call.number == 6:
            return torch.full_like(call.samples[:, :3].float(), float("nan"))
        return None

    vae = ScriptedVae(rule)
    samples = latent(1, 4, 96, 96)
    decoded = go(vae, samples, ScriptedHost(vae.log, free={"cuda:0": 3_000_000, "cpu": GIB}), Options(start="tiled"))
    assert decoded.attempts[0].how == "bf16, 256 px tiles, overlap 64"
    assert decoded.attempts[0].reason == "NaN in 1 of 9 tiles"
    assert decoded.attempts[1].outcome == "finished"
    assert [entry for entry in vae.log if "float32 cuda" in entry and entry.startswith("decode")] == [
        "decode (1, 4, 32, 32) float32 cuda:0"
    ]
    assert torch.equal(decoded.images, picture(samples))


def test_a_grid_that_is_bad_from_the_start_is_given_up_early():
    vae = ScriptedVae(nan_in({BF16}))
    decoded = go(vae, latent(1, 4, 96, 96), ScriptedHost(vae.log), Options(start="tiled", smallest_tile_px=64))
    narrow = [entry for entry in vae.log if entry.startswith("decode") and "bfloat16" in entry]
    assert len(narrow) == 3
    assert decoded.attempts[-1].outcome == "finished"


def test_a_blend_that_is_bad_although_its_tiles_are_sound_is_seen():
    """The clamp would turn its Inf into white. The check does not rest on our own arithmetic of overlaps."""

    class Unblended(ScriptedVae):
        def decode_tiled_(self, *given):
            return super().decode_tiled_(*given) + (float("inf") if self.vae_dtype is BF16 else 0)

    vae, samples = Unblended(), latent(1, 4, 96, 96)
    decoded = go(vae, samples, options=Options(start="tiled"))
    assert [attempt.outcome for attempt in decoded.attempts] == ["not finite", "finished"]
    assert decoded.attempts[0].reason == "Inf in the output"
    assert torch.equal(decoded.images, picture(samples))


# ---- where to start ----


def test_windows_goes_tiled_before_it_spills():
    """SDXL fp32 at 1024x1024 asks 8.5 GiB of a card with 5 GiB free: no exception comes (ComfyUI #5737)."""
    vae = ScriptedVae(dtype=FP32)
    vae.memory_used_decode = lambda shape, dtype: 2178 * shape[2] * shape[3] * 64 * dtype.itemsize
    host = ScriptedHost(vae.log, free={"cuda:0": 5 * GIB, "cpu": 32 * GIB}, spills_silently=True)
    decoded = go(vae, latent(1, 4, 128, 128), host)
    assert steps(decoded) == [("fp32, 768 px tiles, overlap 128", "finished")]
    assert "Tiled from the start" in decoded.notices[0]


def test_linux_tries_the_full_frame_when_it_may_fit():
    vae = ScriptedVae(dtype=FP32)
    vae.memory_used_decode = lambda shape, dtype: 2178 * shape[2] * shape[3] * 64 * dtype.itemsize
    host = ScriptedHost(vae.log, free={"cuda:0": 5 * GIB, "cpu": 32 * GIB})
    assert steps(go(vae, latent(1, 4, 128, 128), host)) == [("fp32, full frame", "finished")]


def test_a_frame_that_cannot_fit_is_tiled_at_once():
    """Qwen VAE, 2048x2048 on 15 GB (InvokeAI PR#9427): 17.2 GiB at least, so no first failure is needed."""
    vae = ScriptedVae(module=WanVAE)
    vae.memory_used_decode = lambda shape, dtype: 2200 * shape[3] * shape[4] * 64 * dtype.itemsize
    host = ScriptedHost(vae.log, free={"cuda:0": 13 * GIB, "cpu": 32 * GIB}, evictable=GIB)
    decoded = go(vae, latent(1, 4, 1, 256, 256), host)
    assert [attempt.outcome for attempt in decoded.attempts] == ["finished"]
    assert "px tiles" in decoded.attempts[0].how


def test_what_others_could_give_back_counts_as_room():
    vae = ScriptedVae(module=WanVAE)
    vae.memory_used_decode = lambda shape, dtype: 2200 * shape[3] * shape[4] * 64 * dtype.itemsize
    host = ScriptedHost(vae.log, free={"cuda:0": 4 * GIB, "cpu": 32 * GIB}, evictable=16 * GIB)
    assert steps(go(vae, latent(1, 4, 1, 256, 256), host)) == [("bf16, full frame", "finished")]


def test_unknown_memory_tries_the_full_frame():
    vae = ScriptedVae()
    host = ScriptedHost(vae.log, free={"cuda:0": None, "cpu": None})
    assert steps(go(vae, latent(1, 4, 64, 64), host)) == [("bf16, full frame", "finished")]


def test_forced_tiles_are_obeyed():
    """force_tiled_decode was ignored there and asked 9 GiB (InvokeAI #7650)."""
    vae = ScriptedVae()
    decoded = go(vae, latent(1, 4, 96, 96), options=Options(start="tiled"))
    assert steps(decoded) == [("bf16, 512 px tiles, overlap 128", "finished")]
    assert vae.seen_reservations == [64 * 64 * 1000 * 2], "and the host is asked for the tile's memory only"


def test_forced_full_frame_starts_there_whatever_the_estimate():
    vae = ScriptedVae(module=WanVAE)
    vae.memory_used_decode = lambda shape, dtype: 900 * GIB
    assert steps(go(vae, latent(1, 4, 1, 64, 64), options=Options(start="full frame"))) == [
        ("bf16, full frame", "finished")
    ]


# ---- kinds of VAE ----


def test_a_vae_with_its_own_tiling_keeps_it():
    """MiniMax H3: 256 px tiles are by design and untiled is worse, 21.5 dB against 36.4 (Wan2GP #2367)."""
    vae = ScriptedVae(out_of_memory(16 * 16), module=VideoVAE)
    vae.handles_tiling = True
    vae.first_stage_model.decode_tiled = lambda samples: samples[:, :3].float() * 2
    samples = latent(1, 4, 3, 32, 32)
    decoded = go(vae, samples)
    assert steps(decoded)[-1] == ("bf16, the VAE's own tiles, others evicted", "finished")
    assert not decoded.approximate
    assert torch.equal(decoded.images, picture(samples))


def test_a_causal_video_vae_is_never_cut_in_time():
    """Blinking at temporal tile edges with Wan (ComfyUI #7116, WanVideoWrapper #523)."""
    vae = ScriptedVae(out_of_memory(0, device="cuda:0"), module=WanVAE)
    with pytest.raises(DecodeFailed):
        go(vae, latent(1, 4, 21, 64, 64), options=Options(smallest_tile_px=64))
    frames = {entry.split(", ")[2] for entry in vae.log if entry.startswith("decode")}
    assert frames == {"21"}


def test_a_video_vae_that_is_not_causal_is_cut_in_time_last():
    """HunyuanVideo: 320x512x65 OOM while 1024x768x49 is fine, the temporal tile is what counts (wrapper #65)."""

    def rule(call):
        if call.samples.shape[2] > 4:
            raise torch.OutOfMemoryError("CUDA out of memory.")

    vae = ScriptedVae(rule, module=VideoVAE)
    decoded = go(vae, latent(1, 4, 9, 64, 64))
    assert decoded.attempts[-2].how == "bf16, 256 px tiles, overlap 64, 8 latent frames at a time, others evicted"
    assert decoded.attempts[-1].how == "bf16, 256 px tiles, overlap 64, 4 latent frames at a time, others evicted"
    assert decoded.attempts[-1].outcome == "finished"


def test_tiles_in_time_are_shorter_than_the_video():
    """Tiled decode failed under 29 frames (ComfyUI #6093): T=5 with a temporal tile of 16."""
    vae = ScriptedVae(out_of_memory(0, device="cuda:0"), module=VideoVAE)
    with pytest.raises(DecodeFailed) as info:
        go(vae, latent(1, 4, 5, 64, 64))
    cut = [attempt.how for attempt in info.value.attempts if "at a time" in attempt.how]
    assert cut == [
        "bf16, 256 px tiles, overlap 64, 4 latent frames at a time, others evicted",
        "bf16, 256 px tiles, overlap 64, 2 latent frames at a time, others evicted",
    ]


def test_a_streaming_vae_is_not_judged_by_the_host_s_formula():
    """LTX streams: its formula says hundreds of GiB and it runs in a few."""
    vae = ScriptedVae(module=WanVAE)
    vae.first_stage_model.comfy_has_chunked_io = True
    vae.memory_used_decode = lambda shape, dtype: 389 * GIB
    assert steps(go(vae, latent(1, 4, 5, 16, 16))) == [("bf16, full frame", "finished")]


def test_a_video_latent_into_an_image_vae_gives_its_first_frame():
    """The host's full path does that, its tiled path raises (ComfyUI #7786)."""
    for start in ("full frame", "tiled"):
        vae = ScriptedVae()
        samples = latent(1, 4, 3, 64, 64)
        decoded = go(vae, samples, options=Options(start=start))
        assert torch.equal(decoded.images, picture(samples[:, :, 0]))
        assert "only the first frame" in decoded.notices[0]


def test_an_image_latent_into_a_video_vae_is_decoded_as_single_frames():
    vae = ScriptedVae(module=WanVAE)
    samples = latent(2, 4, 16, 16)
    decoded = go(vae, samples)
    assert torch.equal(decoded.images, picture(samples).unsqueeze(1))
    assert "single frames" in decoded.notices[0]


# ---- the CPU ----


def test_the_cpu_rung_is_always_fp32():
    """ "slow_conv2d_cpu" not implemented for Half (A1111 #15779)."""
    vae = ScriptedVae(out_of_memory(0, device="cuda:0"), dtype=FP16)
    decoded = go(vae, latent(1, 4, 16, 16))
    assert decoded.attempts[-1].dtype == "fp32"
    assert decoded.attempts[-1].device == "cpu"


def test_a_video_does_not_go_to_the_cpu_unless_asked():
    """It can be hours. The latent is saved and the error says where (WanVideoWrapper #1476: OOM after 15 hours)."""
    vae = ScriptedVae(out_of_memory(0, device="cuda:0"), module=WanVAE)
    samples = latent(1, 4, 5, 16, 16)
    host = ScriptedHost(vae.log)
    with pytest.raises(DecodeFailed, match=r"latents/headroom_00001_\.latent"):
        go(vae, samples, host)
    assert torch.equal(host.saved[0], samples)


def test_a_video_that_may_go_to_the_cpu_says_how_long_it_will_take():
    vae = ScriptedVae(out_of_memory(0, device="cuda:0"), module=WanVAE)
    samples = latent(1, 4, 5, 16, 16)
    decoded = go(vae, samples, options=Options(allow_cpu="always"))
    assert torch.equal(decoded.images, picture(samples))
    assert any(notice.startswith("Decoding on the CPU takes about") for notice in decoded.notices)
    corner, whole = [entry for entry in vae.log if entry.startswith("decode") and "cpu" in entry]
    assert corner == "decode (1, 4, 2, 8, 8) float32 cpu"
    assert whole == "decode (1, 4, 5, 16, 16) float32 cpu"


def test_never_means_never():
    vae = ScriptedVae(out_of_memory(0, device="cuda:0"))
    with pytest.raises(DecodeFailed, match="Set allow_cpu to always"):
        go(vae, latent(1, 4, 16, 16), options=Options(allow_cpu="never"))
    assert not any(entry.startswith("decode") and "cpu" in entry for entry in vae.log)


def test_the_cpu_rung_is_tiled_where_ram_is_short():
    vae = ScriptedVae(out_of_memory(0, device="cuda:0"))
    vae.memory_used_decode = lambda shape, dtype: 2178 * shape[2] * shape[3] * 64 * dtype.itemsize
    host = ScriptedHost(vae.log, free={"cuda:0": 5 * GIB, "cpu": 2 * GIB})
    decoded = go(vae, latent(1, 4, 128, 128), host)
    assert decoded.attempts[-1].how == "fp32 on the CPU, 512 px tiles, overlap 128"
    assert decoded.attempts[-1].outcome == "finished"


def test_a_latent_is_saved_before_a_decode_that_ram_may_not_hold():
    """On the CPU the kernel kills the process: no exception, the run's result is gone."""
    vae = ScriptedVae(dtype=FP32, device="cpu")
    vae.memory_used_decode = lambda shape, dtype: 2178 * shape[2] * shape[3] * 64 * dtype.itemsize
    host = ScriptedHost(vae.log, free={"cpu": GIB})
    decoded = go(vae, latent(1, 4, 128, 128), host, Options(start="full frame"))
    assert vae.log[0] == "save latent"
    assert decoded.saved_latent == "latents/headroom_00001_.latent"


def test_a_vae_on_the_cpu_has_no_eviction_and_no_cpu_rung():
    vae = ScriptedVae(out_of_memory(40 * 40), dtype=FP32, device="cpu")
    decoded = go(vae, latent(1, 4, 48, 48))
    assert steps(decoded) == [
        ("fp32, full frame", "out of memory"),
        ("fp32, 256 px tiles, overlap 64", "finished"),
    ]
    assert "evict others" not in vae.log


# ---- lessons ----


def test_a_precision_that_worked_is_where_the_next_decode_starts():
    vae, memory = ScriptedVae(nan_in({BF16})), LadderMemory()
    go(vae, latent(1, 4, 16, 16), memory=memory)
    again = go(vae, latent(1, 4, 16, 16), memory=memory)
    assert steps(again) == [("fp32, full frame", "finished")]
    assert again.notices == ("Started in fp32: bf16 was not finite earlier in this session",)
    assert steps(go(ScriptedVae(), latent(1, 4, 16, 16), memory=memory)) == [("bf16, full frame", "finished")]


def test_a_sound_picture_in_fp16_is_remembered_until_one_is_not():
    """The advice on `--fp16-vae` is quiet then: a header does not tell the fixed SDXL VAE from the original."""
    vae, memory = ScriptedVae(dtype=FP16), LadderMemory()
    go(vae, latent(1, 4, 16, 16), memory=memory)
    assert memory.finite_fp16
    go(ScriptedVae(), latent(1, 4, 16, 16), memory=memory)
    assert memory.finite_fp16, "a VAE in bf16 says nothing about fp16"
    go(ScriptedVae(nan_in({FP16}), dtype=FP16), latent(1, 4, 16, 16), memory=memory)
    assert not memory.finite_fp16


def test_a_tiling_is_kept_only_while_memory_is_as_short_as_it_was():
    """One bad moment must not degrade a whole session."""
    vae, memory = ScriptedVae(out_of_memory(63 * 63)), LadderMemory()
    low = {"cuda:0": 2 * GIB, "cpu": 32 * GIB}
    go(vae, latent(1, 4, 64, 64), ScriptedHost(vae.log, free=dict(low)), memory=memory)
    again = go(vae, latent(1, 4, 64, 64), ScriptedHost(vae.log, free=dict(low)), memory=memory)
    assert steps(again) == [("bf16, 384 px tiles, overlap 96", "finished")]
    vae.first_stage_model.rule = lambda call: None
    smaller = go(vae, latent(1, 4, 48, 48), ScriptedHost(vae.log, free=dict(low)), memory=memory)
    assert steps(smaller) == [("bf16, full frame", "finished")]
    roomier = {"cuda:0": 3 * GIB, "cpu": 32 * GIB}
    later = go(vae, latent(1, 4, 64, 64), ScriptedHost(vae.log, free=roomier), memory=memory)
    assert steps(later) == [("bf16, full frame", "finished")]


# ---- bad input, interrupt, what stays as it was ----


@pytest.mark.parametrize(
    ("samples", "error", "words"),
    [
        (torch.zeros(1, 16, 8, 8), WrongVae, r"16 channels.*takes 4.*VAE that belongs to the model"),
        (torch.zeros(0, 4, 8, 8), LatentError, r"empty.*\[0, 4, 8, 8\]"),
        (torch.zeros(1, 4, 8), UnknownLayout, r"\[1, 4, 8\].*4 dimensions"),
        (torch.zeros(4), UnknownLayout, r"\[4\]"),
    ],
)
def test_a_latent_that_cannot_be_decoded_is_refused_before_any_rung(samples, error, words):
    """Flux latent into an SD VAE: "expected 4 channels, got 16" after a traceback (ComfyUI #4802, #4900, #5624)."""
    vae = ScriptedVae()
    with pytest.raises(error, match=words):
        go(vae, samples)
    assert vae.log == []


def test_a_vae_without_weights_is_refused():
    """A checkpoint without a VAE gives first_stage_model None and later "VAE is invalid: None"."""
    vae = ScriptedVae()
    vae.first_stage_model = None
    with pytest.raises(VaeWithoutWeights, match="no VAE weights"):
        go(vae, latent(1, 4, 8, 8))


def test_an_audio_vae_is_refused():
    vae = ScriptedVae()
    vae.extra_1d_channel = 16
    with pytest.raises(WrongVae, match="makes no images"):
        go(vae, latent(1, 4, 8, 8))


def test_an_interrupt_between_tiles_ends_it_at_once():
    vae = ScriptedVae()
    host = ScriptedHost(vae.log, interrupt_after=3)
    with pytest.raises(Interrupted):
        go(vae, latent(1, 4, 96, 96), host, Options(start="tiled", smallest_tile_px=64))
    assert len([entry for entry in vae.log if entry.startswith("decode")]) == 2


def test_an_interrupt_between_rungs_is_not_taken_for_a_failure():
    vae = ScriptedVae(nan_in({BF16}))
    host = ScriptedHost(vae.log, interrupt_after=2)
    with pytest.raises(Interrupted):
        go(vae, latent(1, 4, 16, 16), host)
    assert vae.log == ["decode (1, 4, 16, 16) bfloat16 cuda:0"]


def test_the_private_vae_is_given_back_whatever_happens():
    vae = ScriptedVae(nan_in({BF16, FP32}))
    with pytest.raises(DecodeFailed):
        go(vae, latent(1, 4, 16, 16))
    assert vae.log.count("release") == 1


def test_the_vae_that_came_in_leaves_as_it_was():
    vae = ScriptedVae(together(out_of_memory(63 * 63), nan_in({FP16})), dtype=FP16)
    before = dict(vae.__dict__)
    go(vae, latent(1, 4, 64, 64))
    assert vae.__dict__ == before


def test_a_tolerated_item_is_decoded_and_kept_as_it_comes():
    """The user wants to see what a bad latent looks like: no climb, the others are judged as always."""
    vae = ScriptedVae(nan_in({BF16, FP32}, items=(0,)))
    decoded = go(vae, latent(2, 4, 16, 16), tolerated=frozenset({0}))
    assert [attempt.outcome for attempt in decoded.attempts] == ["finished"]
    assert decoded.images[0].isnan().any()
    assert not decoded.images[1].isnan().any()


def test_each_attempt_is_told_while_it_goes_on():
    vae, told = ScriptedVae(nan_in({BF16})), []
    go(vae, latent(1, 4, 16, 16), on_attempt=lambda attempts: told.append(len(attempts)))
    assert told == [1, 2]


def test_video_tiles_move_a_progress_bar():
    vae = ScriptedVae(module=WanVAE)
    go(vae, latent(1, 4, 2, 64, 64), options=Options(start="tiled", smallest_tile_px=256))
    assert "progress bar of 4" in vae.log
    assert vae.log[-1] == "progress 4"
