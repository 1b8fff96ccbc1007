"""VAE Encode (Safe) on real VAE objects of the host, in process: its own encode beside it, and what must not change."""

from __future__ import annotations

import copy
import importlib
import types

import pytest
import torch

CPU = torch.device("cpu")


@pytest.fixture(scope="module")
def models(servers):
    """The folder of tiny models."""
    return servers.models / "vae"


@pytest.fixture
def load(pack, models):
    """Loads a tiny VAE as the host's VAELoader does, in a chosen dtype."""
    import comfy.sd
    import comfy.utils

    def loaded(name: str, dtype: torch.dtype = torch.float32):
        path = str(models / f"{name}.safetensors")
        vae = comfy.sd.VAE(sd=comfy.utils.load_torch_file(path), dtype=dtype)
        vae.patcher.cached_patcher_init = (comfy.sd.load_vae_patcher, (path, None, None))
        return vae

    return loaded


@pytest.fixture
def ours(pack):
    """A module of the pack as the host imports it."""

    def module(name: str):
        return importlib.import_module(f"{pack.__name__}.{name}")

    return module


@pytest.fixture
def encode(ours):
    """The ladder on the real host, without a lesson of another test."""
    host = ours("headroom.host.ladder").ComfyLadderHost()
    memory = ours("headroom.tensors.ladder.memory").LadderMemory()
    options = ours("headroom.tensors.ladder.options").Options

    def safely(vae, pixels, **chosen):
        ladder = ours("headroom.tensors.encode.ladder")
        return ladder.encode_safely(vae, pixels, host, options(**chosen), memory=memory)

    return safely


def images(number: int, height: int = 32, width: int = 32) -> torch.Tensor:
    """The same random images each time."""
    return torch.rand((number, height, width, 3), generator=torch.Generator().manual_seed(5))


# ---- the ladder on real VAEs ----


@pytest.mark.parametrize(
    ("name", "number"), [("kl_overflow_encoder", 1), ("tiny_taesd", 3), ("tiny_wan", 5), ("tiny_wan", 1)]
)
def test_a_sound_encode_is_the_host_s_to_the_last_bit_and_draws_no_random_number(load, encode, name, number):
    """Samplers behind it that take the global random state would give another picture."""
    with torch.inference_mode():
        vae, pixels = load(name), images(number)
        before, kept = torch.get_rng_state(), pixels.clone()
        encoded = encode(vae, pixels)
        assert torch.equal(torch.get_rng_state(), before)
        assert torch.equal(encoded.latent, vae.encode(pixels))
        assert torch.equal(pixels, kept)
        assert [attempt.how for attempt in encoded.attempts] == ["fp32, full frame"]


def test_an_encoder_that_overflows_in_fp16_is_exact_in_fp32(load, encode):
    """SDXL's VAE (madebyollin/sdxl-vae-fp16-fix), at another size than over HTTP and as a batch."""
    with torch.inference_mode():
        vae, pixels = load("kl_overflow_encoder", torch.float16), images(2, 24, 16)
        assert vae.encode(pixels).isnan().all()
        encoded = encode(vae, pixels)
        expected = load("kl_overflow_encoder").encode(pixels)
        assert (encoded.latent - expected).abs().max() <= 1e-3 * expected.abs().max()
        assert [attempt.dtype for attempt in encoded.attempts] == ["fp16", "fp32"]
        assert vae.vae_dtype is torch.float16
        assert vae.encode(pixels).isnan().all()


def test_a_wider_encode_takes_the_weights_of_the_file(load, encode):
    with torch.inference_mode():
        pixels = images(2)
        encoded = encode(load("tiny_taesd", torch.bfloat16), pixels, precision="fp32")
        rounded = load("tiny_taesd", torch.bfloat16)
        rounded.patcher.cached_patcher_init = None
        expected = load("tiny_taesd").encode(pixels)
        assert torch.equal(encoded.latent, expected)
        assert not torch.equal(encode(rounded, pixels, precision="fp32").latent, expected)


@pytest.mark.parametrize(("name", "number", "sizes"), [("tiny_taesd", 2, {}), ("tiny_wan", 5, {"tile_t": 9999})])
def test_tiles_are_those_of_the_host(load, encode, name, number, sizes):
    with torch.inference_mode():
        vae, pixels = load(name), images(number, 96, 64)
        encoded = encode(vae, pixels, start="tiled", smallest_tile_px=64)
        assert [attempt.how for attempt in encoded.attempts] == ["fp32, 64 px tiles, overlap 16"]
        assert encoded.approximate
        expected = vae.encode_tiled(pixels, tile_x=64, tile_y=64, overlap=16, **sizes)
        assert torch.equal(encoded.latent, expected)


def test_tiles_in_two_precisions_add_up(load, encode):
    """Zeros for the tiles of the other pass: three grids, each with its own weights, then divided by three."""
    bad = (1, 6, 12)

    def patched(vae, answer):
        """The VAE with a module that has ``answer`` for the bad ones of its tiles."""

        def encode_with_bad_tiles(self, pixels):
            call, self.calls = self.calls, self.calls + 1
            narrow = pixels.dtype is torch.bfloat16
            return answer(self, pixels) if narrow and call in bad else type(self).encode(self, pixels)

        module = copy.deepcopy(vae.first_stage_model)
        module.calls, module.encode = 0, types.MethodType(encode_with_bad_tiles, module)
        vae.first_stage_model, vae.patcher = module, type(vae.patcher)(module, CPU, CPU)
        return vae

    with torch.inference_mode():
        pixels = images(1, 96, 96)
        broken = patched(load("tiny_taesd", torch.bfloat16), lambda module, x: type(module).encode(module, x) / 0)
        encoded = encode(broken, pixels, start="tiled", smallest_tile_px=64)
        assert encoded.attempts[0].reason.endswith("in 3 of 14 tiles")
        wide = copy.deepcopy(load("tiny_taesd", torch.bfloat16).first_stage_model).float()
        mixed = patched(load("tiny_taesd", torch.bfloat16), lambda _module, x: wide.encode(x.float()))
        expected = mixed.encode_tiled(pixels, tile_x=64, tile_y=64, overlap=16)
        assert mixed.first_stage_model.calls == 14
        # The blends differ in the pixels that a bf16 tile is given: process_input rounds, the wide pass does not.
        assert (encoded.latent - expected).abs().max() <= 2e-3 * expected.abs().max()
        narrow = load("tiny_taesd", torch.bfloat16).encode_tiled(pixels, tile_x=64, tile_y=64, overlap=16)
        untouched = expected == narrow
        assert 0.2 < untouched.float().mean() < 0.9
        assert torch.equal(encoded.latent[untouched], narrow[untouched])


def test_the_private_copy_leaves_the_vae_as_it_was(load, encode):
    with torch.inference_mode():
        vae = load("tiny_taesd", torch.float16)
        before = dict(vae.__dict__)
        weights = {name: weight.clone() for name, weight in vae.first_stage_model.state_dict().items()}
        for chosen in ({}, {"precision": "fp32"}, {"start": "tiled", "smallest_tile_px": 64}):
            encode(vae, images(1, 96, 64), **chosen)
        assert vae.__dict__ == before
        assert all(torch.equal(weight, weights[name]) for name, weight in vae.first_stage_model.state_dict().items())


# ---- masks ----


@pytest.mark.parametrize("channels", [3, 4])
def test_pixels_are_greyed_out_by_the_host_s_own_node(load, ours, channels):
    """Its code runs, not a copy of it: a host that changes it is followed."""
    from nodes import VAEEncodeForInpaint

    inpaint = ours("headroom.host.inpaint")
    with torch.inference_mode():
        vae = load("tiny_taesd")
        pixels = torch.rand((2, 37, 45, channels), generator=torch.Generator().manual_seed(6))
        mask = torch.zeros(1, 20, 20)
        mask[:, 5:15, 5:15] = 1
        kept = pixels.clone()
        grey, noise_mask = inpaint.greyed_out(vae, pixels, mask, 6)
        assert torch.equal(pixels, kept)
        assert grey.shape == (2, 32, 40, channels)
        assert (grey[:, 16, 20, :3] == 0.5).all()
        stock = VAEEncodeForInpaint().encode(vae, pixels, mask, 6)[0]
        assert torch.equal(vae.encode(grey), stock["samples"])
        assert torch.equal(noise_mask, stock["noise_mask"])


# ---- a file without an encoder ----


@pytest.mark.parametrize(
    ("keys", "alone"),
    [
        (["decoder.conv_in.weight", "post_quant_conv.weight", "quant_conv.weight"], True),
        (["decoder.conv_in.weight", "encoder.conv_in.weight"], False),
        (["first_stage_model.decoder.conv_in.weight", "cond_stage_model.text_encoder.x"], True),
        (["first_stage_model.decoder.conv_in.weight", "first_stage_model.encoder.conv_in.weight"], False),
        (["vae.decoder.x", "vae.encoder.x", "model.diffusion_model.decoder.x"], False),
        (["taesd_encoder.0.weight", "taesd_decoder.1.weight"], False),
        (["blocks.2.blocks.3.stack.5.weight"], True),
        (["layers.4.layers.1.attn_block.attn.qkv.weight"], False),
        (["pixel_space_vae"], False),
        ([], False),
    ],
)
def test_a_decoder_alone_is_known_by_its_keys(ours, keys, alone):
    assert ours("headroom.host.vae_file").decoder_alone(keys) is alone


def test_a_vae_without_an_encoder_is_known_by_its_file(load, ours, models, tmp_path):
    """ComfyUI only logs the missing keys; the encoder is then whatever lay in memory."""
    from safetensors.torch import load_file, save_file

    known = ours("headroom.host.vae_file").has_no_encoder
    assert known(load("tiny_kl"))
    assert not known(load("kl_overflow_encoder"))
    assert not known(load("tiny_wan"))
    assert not known(load("tiny_taesd"))
    vae = load("tiny_kl")
    for init in (None, (None, ()), (None, (None,)), (None, ("/gone.safetensors",)), (None, ("model.ckpt",))):
        vae.patcher.cached_patcher_init = init
        assert not known(vae), "what is not known is not refused"
    vae.patcher.cached_patcher_init = (None, (str(tmp_path / "new.safetensors"),))
    save_file(
        {f"vae.{key}": w for key, w in load_file(models / "tiny_kl.safetensors").items()}, tmp_path / "new.safetensors"
    )
    assert known(vae)
    save_file({"vae.decoder.x": torch.zeros(1), "vae.encoder.x": torch.zeros(1)}, tmp_path / "new.safetensors")
    assert not known(vae), "a file that was replaced is read again"


# ---- the node ----


def test_only_the_inputs_of_the_stock_node_are_required(ours):
    schema = ours("nodes.vae_encode").VaeEncodeSafe.define_schema()
    required = [entry.id for entry in schema.inputs if not entry.optional]
    assert required == ["pixels", "vae"]
    assert [entry.get_io_type() for entry in schema.outputs] == ["LATENT", "STRING"]


def test_the_words_of_saved_workflows_are_these(ours):
    """They stand in files of users: a changed word makes the host refuse the workflow."""
    schema = ours("nodes.vae_encode").VaeEncodeSafe.define_schema()
    options = {entry.id: list(entry.options) for entry in schema.inputs if getattr(entry, "options", None)}
    assert options == {
        "start": ["auto", "full frame", "tiled"],
        "precision": ["auto", "at least bf16", "fp32"],
        "allow_cpu": ["images only", "always", "never"],
        "bad_image": ["stop the run", "replace values", "encode anyway"],
        "mask_mode": ["inpaint (grey out)", "noise mask only"],
    }


def test_the_report_of_a_failed_encode_says_what_to_do(ours):
    job, report = ours("headroom.tensors.encode.job"), ours("headroom.tensors.ladder.report")
    attempt = ours("headroom.tensors.ladder.options").Attempt
    tried = [attempt("fp32, full frame", "fp32", "cpu", (0,), "out of memory", "out of memory", 1.0)]
    text = "The encode failed after 1 attempt: out of memory. Close other programs. Tried: fp32, full frame."
    failed = report.failed_report(text, job.WORDS, tried)
    assert failed.title == "Failed: out of memory"
    assert failed.as_text().splitlines()[-1] == text.partition(" Tried")[0]
    assert report.failed_report("No.", job.WORDS).title == "Not encoded"
