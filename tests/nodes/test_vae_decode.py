"""VAE Decode (Safe) on real VAE objects of the host, in process: wider weights, reports, and what must not change."""

from __future__ import annotations

import copy

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

    def loaded(name: str, dtype: torch.dtype):
        path = str(models / f"{name}.safetensors")
        vae = comfy.sd.VAE(sd=comfy.utils.load_torch_file(path), dtype=dtype)
        vae.patcher.cached_patcher_init = (comfy.sd.load_vae_patcher, (path, None, None))
        return vae

    return loaded


@pytest.fixture
def widened(pack):
    """The function under test, from the pack as the host imports it."""
    import importlib

    return importlib.import_module(f"{pack.__name__}.headroom.host.widen").widened


def decoder(vae) -> dict[str, torch.Tensor]:
    """The weights that are in the tiny file; its encoder is uninitialised memory."""
    return {name: w for name, w in vae.first_stage_model.state_dict().items() if not name.startswith("encoder.")}


@pytest.mark.parametrize("narrow", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("name", ["tiny_kl", "tiny_wan"])
def test_wider_weights_are_those_of_the_file_and_not_the_rounded_ones(load, widened, name, narrow):
    """From rounded bf16 weights the picture is up to 9e-3 off, more than 2 of 255."""
    with torch.inference_mode():
        vae, truth = load(name, narrow), load(name, torch.float32)
        wide = widened(vae, torch.float32, CPU)
        mine, theirs = decoder(wide), decoder(truth)
        assert mine.keys() == theirs.keys()
        assert all(torch.equal(mine[key], theirs[key]) for key in theirs)
        shape = (1, 4, 4, 4) if name == "tiny_kl" else (1, 16, 2, 4, 4)
        latent = torch.randn(shape, generator=torch.Generator().manual_seed(5))
        assert torch.equal(wide.decode(latent), truth.decode(latent))


def test_a_weight_that_somebody_changed_stays_changed(load, widened):
    """Merged or patched VAEs: the file no longer says what is loaded."""
    with torch.inference_mode():
        vae = load("tiny_kl", torch.float16)
        changed = vae.first_stage_model.state_dict()["decoder.conv_out.bias"]
        changed.add_(1.0)
        wide = widened(vae, torch.float32, CPU)
        assert torch.equal(decoder(wide)["decoder.conv_out.bias"], changed.float())


def test_circular_padding_of_a_seamless_vae_is_kept(load, widened):
    """Packs for seamless textures set padding_mode on the module; a VAE built anew from the file would lose it."""
    with torch.inference_mode():
        vae = load("tiny_kl", torch.float16)
        vae.first_stage_model = copy.deepcopy(vae.first_stage_model)
        vae.first_stage_model.decoder.conv_in.padding_mode = "circular"
        assert widened(vae, torch.float32, CPU).first_stage_model.decoder.conv_in.padding_mode == "circular"


def test_the_file_gone_the_loaded_weights_serve(load, widened):
    with torch.inference_mode():
        vae = load("tiny_kl", torch.float16)
        vae.patcher.cached_patcher_init = (vae.patcher.cached_patcher_init[0], ("/gone.safetensors", None, None))
        wide = widened(vae, torch.float32, CPU)
        assert wide.vae_dtype is torch.float32
        assert all(torch.equal(w, decoder(vae)[name].float()) for name, w in decoder(wide).items())


def test_a_checkpoint_is_read_only_for_its_vae(load, widened, models, tmp_path):
    from safetensors.torch import load_file, save_file

    weights = load_file(models / "tiny_kl.safetensors")
    path = tmp_path / "checkpoint.safetensors"
    save_file({f"first_stage_model.{key}": w for key, w in weights.items()} | {"model.x": torch.zeros(3)}, path)
    with torch.inference_mode():
        import comfy.sd

        vae = load("tiny_kl", torch.float16)
        vae.patcher.cached_patcher_init = (comfy.sd.load_checkpoint_vae_patcher, (str(path),))
        wide = decoder(widened(vae, torch.float32, CPU))
        assert torch.equal(wide["decoder.conv_in.weight"], weights["decoder.conv_in.weight"])


def test_the_copy_takes_nothing_of_dynamic_vram_along(load, widened):
    """Its handles own native memory: two owners free it twice. Not run on a GPU: the handles here are stand-ins."""

    class Handle:
        def __deepcopy__(self, memo):
            raise AssertionError("a native handle was copied")

    with torch.inference_mode():
        vae = load("tiny_kl", torch.float16)
        vae.first_stage_model.dynamic_vbars = {CPU: Handle()}
        vae.first_stage_model.decoder.conv_in._v = Handle()
        vae.first_stage_model.decoder.conv_in._v_signature = Handle()
        try:
            wide = widened(vae, torch.float32, CPU)
        finally:
            kept = vae.first_stage_model.decoder.conv_in.__dict__.pop("_v")
        assert isinstance(kept, Handle)
        assert "_v" not in wide.first_stage_model.decoder.conv_in.__dict__
        assert not hasattr(wide.first_stage_model, "dynamic_vbars")


def test_a_private_vae_leaves_no_trace_in_the_host(load, pack):
    """A patcher that outlives the decode gives the host's "memory leak" warnings and holds memory."""
    import importlib

    import comfy.model_management as management

    host = importlib.import_module(f"{pack.__name__}.headroom.host.ladder").ComfyLadderHost()
    with torch.inference_mode():
        vae = load("tiny_kl", torch.float16)
        private = host.widened(vae, torch.float32, CPU)
        private.decode(torch.zeros(1, 4, 4, 4))
        assert any(entry.model is private.patcher for entry in management.current_loaded_models)
        host.release(private)
        assert not any(entry.model is private.patcher for entry in management.current_loaded_models)


def test_eviction_spares_this_vae_and_its_clones(load, pack):
    """free_memory compares patchers by identity; a clone of ours would be thrown out with the others."""
    import importlib

    import comfy.model_management as management

    host = importlib.import_module(f"{pack.__name__}.headroom.host.ladder").ComfyLadderHost()
    with torch.inference_mode():
        vae, other = load("tiny_kl", torch.float32), load("tiny_wan", torch.float32)
        for one in (other, vae):
            management.load_models_gpu([one.patcher])
        cloned = copy.copy(vae)
        cloned.patcher = vae.patcher.clone()
        host.evict_others(cloned)
        loaded = [entry.model for entry in management.current_loaded_models]
        assert vae.patcher in loaded
        assert other.patcher not in loaded


def test_the_report_of_one_attempt_is_one_line(pack):
    from headroom.core.vae import Peak
    from headroom.tensors.decode.job import WORDS
    from headroom.tensors.decode.ladder import Decoded
    from headroom.tensors.ladder.options import Attempt
    from headroom.tensors.ladder.report import finished_report

    gib = 2**30
    attempt = Attempt("bf16, full frame", "bf16", "cuda:0", (0,), "finished", "finished", 14.6, int(5.2 * gib))
    peak = Peak(6 * gib, int(4.8 * gib), int(5.7 * gib), "measured: somewhere")
    report = finished_report(Decoded(torch.zeros(1), [attempt], peak=peak), WORDS)
    assert (report.level, report.title, report.figure) == ("ok", "Decoded as it is", "14.6\u00a0s")
    assert report.as_text().splitlines()[1] == (
        "bf16, full frame, peak 5.2 GiB; estimate 4.8–5.7 GiB for the full frame"
    )


def test_the_report_of_several_attempts_numbers_them_with_their_reasons(pack):
    from headroom.tensors.decode.job import WORDS
    from headroom.tensors.decode.ladder import Decoded
    from headroom.tensors.ladder.options import Attempt
    from headroom.tensors.ladder.report import finished_report

    gib = 2**30
    attempts = [
        Attempt("bf16, full frame", "bf16", "cuda:0", (0,), "out of memory", "out of memory: asked 3.1 GiB", 0.8, None),
        Attempt(
            "bf16, 512 px tiles, overlap 128", "bf16", "cuda:0", (0,), "finished", "finished", 42.2, int(11.9 * gib)
        ),
    ]
    decoded = Decoded(torch.zeros(1), attempts, approximate=True, saved_latent="latents/headroom_00001_.latent")
    report = finished_report(decoded, WORDS)
    assert report.level == "info"
    assert report.as_text().splitlines() == [
        "Decoded in tiles: approximate (43.0\u00a0s)",
        "1. bf16, full frame (time 0.8\u00a0s): out of memory: asked 3.1 GiB",
        "2. bf16, 512 px tiles, overlap 128 (time 42.2\u00a0s; peak 11.9\u00a0GiB): finished",
        "The latent is saved as `latents/headroom_00001_.latent`.",
    ]
