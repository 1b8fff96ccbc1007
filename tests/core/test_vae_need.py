"""What a decode or encode needs: whole, in tiles, with its output, in the dtype that the host picks."""

from __future__ import annotations

import pytest

from headroom.core.families.identity import Identity, Latent, Part
from headroom.core.tiles import Tile
from headroom.core.units import GIB, MIB
from headroom.core.vae_dtype import VaeDevice, pick_dtype
from headroom.core.vae_formulas import Vae, vae_for_model, vae_of
from headroom.core.vae_need import VaeNeed, decode_need, encode_need, largest_tile

SDXL = Vae("kl", "AutoencoderKL", 4, 2, 8, 1)
FLUX2 = Vae("flux2", "AutoencoderKL", 128, 2, 16, 1)
WAN = Vae("wan-2.1", "WanVAE", 16, 3, 8, 4)
LTX = Vae("ltx", "VideoVAE", 128, 3, 32, 8)
MOCHI = Vae("mochi", "VideoVAE", 12, 3, 8, 6)
HUNYUAN = Vae("hunyuan-video", "AutoencoderKL", 16, 3, 8, 4)
MINIMAX = Vae("minimax", "MiniMaxH3VideoVAE", 24, 3, 16, 4)
SOUND = Vae("oobleck", "AudioOobleckVAE", 64, 1, 1, 2048)


def test_sdxl_at_1024():
    """The host reserves 4.25 GiB in bf16; 3232 MB were held by the allocator (InvokeAI PR#7674)."""
    need = decode_need(SDXL, (1, 4, 128, 128), "bf16")
    assert need.reserved_by_host_bytes == 2178 * 128 * 128 * 64 * 2
    assert need.low_bytes is not None
    assert need.high_bytes is not None
    assert need.low_bytes < 3_232_000_000 < need.high_bytes
    assert need.output_bytes == 3 * 1024 * 1024 * 4
    assert need.output_on_device is False
    assert need.source.startswith("measured")


def test_a_batch_is_decoded_item_by_item_but_its_output_is_there_at_once():
    one, four = (decode_need(SDXL, (batch, 4, 64, 64), "fp32") for batch in (1, 4))
    assert (one.low_bytes, one.high_bytes) == (four.low_bytes, four.high_bytes)
    assert four.output_bytes == 4 * 3 * 512 * 512 * 4


def test_fp32_takes_twice_what_half_precision_takes():
    half, full = (decode_need(SDXL, (1, 4, 64, 64), dtype) for dtype in ("bf16", "fp32"))
    assert half.low_bytes is not None
    assert full.low_bytes == 2 * half.low_bytes


def test_a_narrower_decoder_takes_less():
    """A finetune of a quarter of the width: 56.6 KiB per latent element instead of 226.5, measured on the CPU."""
    narrow = Vae("kl", "AutoencoderKL", 4, 2, 8, 1, {"decoder_width": 32})
    need = decode_need(narrow, (1, 4, 64, 64), "fp32", on_cpu=True)
    assert need.low_bytes is not None
    assert need.high_bytes is not None
    assert need.low_bytes < 56.6 * 1024 * 4096 < need.high_bytes


def test_amd_reserves_more_and_may_take_more():
    plain, amd = (decode_need(FLUX2, (1, 128, 64, 64), "bf16", amd=amd) for amd in (False, True))
    assert amd.reserved_by_host_bytes == int(2178 * 64 * 64 * 64 * 2 * 4 * 2.73)
    assert plain.low_bytes == amd.low_bytes
    assert plain.high_bytes is not None
    assert amd.high_bytes is not None
    # FLUX.2 at 1024x1024 on a Radeon W7900: 6.70 GiB (InvokeAI #9519).
    assert plain.high_bytes < 6.70 * GIB < amd.high_bytes


def test_frames_cost_a_rolling_decoder_little():
    """HunyuanVideo: from five latent frames on only the output grows."""
    short, long = (decode_need(HUNYUAN, (1, 16, frames, 60, 90), "bf16") for frames in (5, 33))
    assert short.low_bytes is not None
    assert long.low_bytes is not None
    assert long.low_bytes < 1.06 * short.low_bytes
    assert long.output_bytes == 3 * 129 * 480 * 720 * 4


def test_frames_cost_mochi_all_of_it():
    short, long = (decode_need(MOCHI, (1, 12, frames, 60, 106), "bf16") for frames in (5, 25))
    assert short.low_bytes is not None
    assert long.low_bytes is not None
    assert long.low_bytes > 5 * short.low_bytes


def test_a_wrapper_that_joins_frames_on_the_card_needs_them_there_twice():
    """Wan 2.1 in WanVideoWrapper: 3497 frames die of the output alone (WanVideoWrapper #1826, PR#2042)."""
    latent = (1, 16, 875, 60, 80)
    host, wrapper = (decode_need(WAN, latent, "bf16", joined_on_device=joined) for joined in (False, True))
    video = 3 * 3497 * 640 * 480 * 2
    assert host.high_bytes is not None
    assert wrapper.high_bytes is not None
    assert wrapper.high_bytes - host.high_bytes == 2 * video
    assert wrapper.high_bytes > 24 * GIB


def test_gpu_only_keeps_the_output_on_the_card():
    latent = (2, 16, 21, 60, 104)
    away, there = (decode_need(WAN, latent, "bf16", output_on_device=on) for on in (False, True))
    output = 2 * 3 * 81 * 480 * 832 * 4
    assert there.output_bytes == output
    assert there.output_on_device
    assert away.low_bytes is not None
    assert there.low_bytes == max(away.low_bytes + output, 2 * output)


def test_half_precision_intermediates_halve_the_output():
    assert decode_need(SDXL, (1, 4, 64, 64), "bf16", output_itemsize=2).output_bytes == 3 * 512 * 512 * 2


def test_ltx_needs_a_fraction_of_what_is_reserved():
    """512x768, 97 frames: the host reserves 5.7 GiB for it, and 23 GiB for 1024x1536."""
    need = decode_need(LTX, (1, 128, 13, 32, 48), "bf16")
    assert need.reserved_by_host_bytes == 1200 * 13 * 32 * 48 * 512 * 2
    assert need.low_bytes is not None
    assert need.low_bytes < 2 * GIB


def test_sound_has_the_host_s_number_and_no_range():
    need = decode_need(SOUND, (1, 64, 1024), "fp16")
    assert need.reserved_by_host_bytes == 1000 * 1024 * 2048 * 2
    assert (need.low_bytes, need.high_bytes) == (None, None)
    assert need.output_bytes == 2 * 1024 * 2048 * 4
    assert need.source.startswith("unknown")


def test_an_encode_counts_pixels():
    """FLUX.1 3072x3072: 18.8 GiB (InvokeAI, low-VRAM guide)."""
    need = encode_need(SDXL, (1, 3, 3072, 3072), "bf16")
    assert need.reserved_by_host_bytes == 1767 * 3072 * 3072 * 2
    assert need.low_bytes is not None
    assert need.high_bytes is not None
    assert need.low_bytes < 18.8 * GIB < need.high_bytes
    assert need.output_bytes == 4 * 384 * 384 * 4


def test_an_encode_of_a_video_knows_its_latent_frames():
    need = encode_need(WAN, (1, 3, 81, 480, 832), "bf16")
    assert need.output_bytes == 16 * 21 * 60 * 104 * 4
    # 2201 values and half a one per latent frame, for each pixel of a frame, two bytes each.
    assert need.low_bytes == int((2201 + 0.5 * 21) * 480 * 832 * 2)


def test_a_tile_needs_its_share():
    """Qwen-Image 2560x1440: 19.91 GiB whole, 0.55 GiB in tiles of 256 pixels (InvokeAI PR#9427)."""
    latent = (1, 16, 1, 180, 320)
    whole, tiled = (decode_need(WAN, latent, "bf16", tile=tile) for tile in (None, Tile(32, 8)))
    assert whole.high_bytes is not None
    assert tiled.high_bytes is not None
    assert tiled.high_bytes == pytest.approx(whole.high_bytes * 32 * 32 / (180 * 320), abs=1)
    assert tiled.high_bytes < 0.55 * GIB
    assert tiled.reserved_by_host_bytes == 2200 * 32 * 32 * 64 * 2


@pytest.mark.parametrize(("free_gib", "side"), [(24, None), (9, 192), (4, 128), (1.9, 96), (1.2, 64)])
def test_the_largest_tile_that_fits(free_gib: float, side: int | None):
    """SDXL decoded at 2048x2048 in bf16: up to 12.9 GiB whole; each latent element of a tile takes up to 206 KiB."""
    need = largest_tile(SDXL, (1, 4, 256, 256), "bf16", int(free_gib * GIB))
    assert need is not None
    assert (need.tile.side if need.tile else None) == side
    assert need.high_bytes is not None
    assert need.high_bytes <= free_gib * GIB


def test_where_not_even_the_smallest_tile_fits():
    assert largest_tile(SDXL, (1, 4, 256, 256), "bf16", 100 * MIB) is None


def test_a_caller_cannot_tile_sound_or_a_vae_that_tiles_by_itself():
    assert largest_tile(SOUND, (1, 64, 1024), "fp16", 100 * GIB) is None
    assert largest_tile(MINIMAX, (1, 24, 7, 48, 84), "fp16", 100 * GIB) is None


def test_only_a_vae_that_is_not_causal_is_cut_in_time():
    """Wan is: a tile that starts in the middle of the video decodes to other frames."""
    small = largest_tile(LTX, (1, 128, 33, 64, 64), "bf16", int(0.5 * GIB))
    assert small is not None
    assert small.tile is not None
    assert small.tile.frames is not None
    for free in (1, 2, 3, 4):
        need = largest_tile(WAN, (1, 16, 33, 128, 128), "bf16", free * GIB)
        assert need is None or need.tile is None or need.tile.frames is None


def test_an_encode_in_tiles():
    need = largest_tile(WAN, (1, 16, 21, 90, 160), "bf16", 2 * GIB, direction="encode")
    assert need is not None
    assert need.direction == "encode"
    assert need.tile is not None
    assert need.high_bytes is not None
    assert need.high_bytes <= 2 * GIB


def test_a_still_picture_of_a_video_vae_has_one_frame():
    """Qwen-Image: its latent may come without the length of one."""
    assert decode_need(WAN, (1, 16, 64, 64), "bf16") == decode_need(WAN, (1, 16, 1, 64, 64), "bf16")
    assert encode_need(WAN, (1, 3, 512, 512), "bf16") == encode_need(WAN, (1, 3, 1, 512, 512), "bf16")
    assert decode_need(SDXL, (1, 4, 7, 64, 64), "bf16") == decode_need(SDXL, (1, 4, 64, 64), "bf16")


def test_a_range_that_is_upside_down_is_refused():
    with pytest.raises(ValueError, match="upside down"):
        VaeNeed("decode", "bf16", None, 1, 3, 2, 1, False, "analysis: nonsense")


def test_a_dtype_that_no_vae_computes_in_is_refused():
    with pytest.raises(ValueError, match="fp8"):
        decode_need(SDXL, (1, 4, 64, 64), "fp8")


# --- which VAE --------------------------------------------------------------------------------------------------------


def test_a_checkpoint_s_vae_has_the_channels_of_its_latent():
    parts = (
        Part("diffusion model", "model.diffusion_model.", "SDXL", "SDXL", 1, 1),
        Part("vae", "first_stage_model.", "kl", "SD VAE", 1, 1),
    )
    latent = Latent("SDXL", 4, 2, 8, 1)
    vae = vae_of(Identity("checkpoint", "known", "SDXL", latent=latent, parts=parts))
    assert vae is not None
    assert (vae.row, vae.channels) == ("kl", 4)


def test_what_is_no_vae_has_none():
    assert vae_of(Identity("text encoder", "known", "T5")) is None
    assert vae_for_model(Identity("diffusion model", "known", "?")) is None


# --- which dtype ------------------------------------------------------------------------------------------------------

CARD = VaeDevice(cpu=False, fp16=True, bf16=True)
TURING = VaeDevice(cpu=False, fp16=True, bf16=False)
GTX_1660 = VaeDevice(cpu=False, fp16=False, bf16=False)
CPU = VaeDevice(cpu=True)


@pytest.mark.parametrize(
    ("vae", "flags", "device", "dtype"),
    [
        (SDXL, (), CARD, "bf16"),
        # RTX 2080: the KL kind has no fp16 among its dtypes, so it is fp32 and takes twice the memory.
        (SDXL, (), TURING, "fp32"),
        (WAN, (), TURING, "fp16"),
        (WAN, (), GTX_1660, "fp32"),
        (WAN, ("--force-fp16",), GTX_1660, "fp16"),
        (SDXL, ("--force-fp16",), TURING, "fp32"),
        (WAN, ("--force-fp32",), CARD, "fp32"),
        (SDXL, (), CPU, "fp32"),
        # The flag is obeyed on the CPU and by VAEs that overflow.
        (SDXL, ("--fp16-vae",), CPU, "fp16"),
        (LTX, ("--bf16-vae", "--force-fp32"), TURING, "bf16"),
        (SDXL, (), VaeDevice(cpu=False), None),
    ],
)
def test_the_dtype_is_the_host_s_choice(vae: Vae, flags: tuple[str, ...], device: VaeDevice, dtype: str | None):
    """comfy/model_management.py 0.30.0, vae_dtype."""
    assert pick_dtype(vae, flags, device) == dtype
