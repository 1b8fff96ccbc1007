"""What lives at the peak of a VAE: the rows of vae_peaks against the host's own classes, without values."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch
from live_tensors import as_on_a_card, peak_of

from headroom.core.families import identify
from headroom.core.units import GIB
from headroom.core.vae import DECODE_ROWS, ENCODE_ROWS, pixel_frames, row_for
from headroom.core.vae_formulas import vae_of
from headroom.core.vae_need import decode_need

DATA = Path(__file__).resolve().parent.parent.parent / "data" / "families"
CASES = {case["id"]: case for case in json.loads((DATA / "vaes.json").read_text("utf-8"))["vaes"]}

#: Case -> latent height and width, latent frames.
DECODED: dict[str, tuple[tuple[int, int], tuple[int, ...]]] = {
    "kl": ((96, 128), (1,)),
    "kl-plain": ((128, 128), (1,)),
    "kl-x4": ((128, 96), (1,)),
    "flux2": ((64, 64), (1,)),
    "taesd": ((128, 128), (1,)),
    "stage-a": ((128, 128), (1,)),
    "stage-c": ((24, 24), (1,)),
    "mage": ((64, 64), (1,)),
    "hunyuan-image": ((64, 64), (1,)),
    "hunyuan-refiner": ((64, 64), (1,)),
    "wan-2.1": ((60, 80), (1, 2, 3, 5, 21)),
    "wan-2.2": ((44, 80), (1, 2, 3, 9)),
    "hunyuan-video": ((60, 90), (1, 2, 3, 4, 5, 21)),
    "hunyuan-video-1.5": ((30, 53), (1, 2, 3, 4, 5, 21)),
    "cogvideox": ((60, 90), (1, 2, 4, 5, 13)),
    "mochi": ((60, 106), (1, 2, 9)),
    "cosmos": ((64, 64), (2, 6, 16)),
    "tiny-video": ((60, 80), (1, 5, 21, 41)),
    "tiny-video-16": ((44, 80), (1, 5, 31)),
    "tiny-video-hv15": ((30, 53), (1, 5, 33)),
}
ENCODED: dict[str, tuple[tuple[int, int], tuple[int, ...]]] = {
    "kl": ((768, 1024), (1,)),
    "kl-plain": ((512, 512), (1,)),
    "kl-x4": ((512, 512), (1,)),
    "flux2": ((1024, 1024), (1,)),
    "svd": ((576, 1024), (1,)),
    "taesd": ((512, 512), (1,)),
    "stage-a": ((512, 512), (1,)),
    "stage-c": ((1024, 1024), (1,)),
    "mage": ((1024, 1024), (1,)),
    "hunyuan-image": ((1024, 1024), (1,)),
    "hunyuan-refiner": ((512, 512), (1,)),
    "wan-2.1": ((480, 832), (1, 2, 3, 5, 21)),
    "wan-2.2": ((704, 1280), (1, 2, 3, 9)),
    "hunyuan-video": ((480, 720), (1, 2, 3, 9)),
    "hunyuan-video-1.5": ((480, 848), (1, 2, 3, 5, 9)),
    "cogvideox": ((480, 720), (1, 2, 3, 5, 9)),
    "mochi": ((480, 848), (1,)),
    "ltx": ((512, 768), (1, 2, 4, 13)),
    "tiny-video": ((480, 640), (1, 5, 21)),
    "tiny-video-16": ((704, 1280), (1, 5, 21)),
    "tiny-video-hv15": ((480, 848), (1, 5, 21)),
}
#: How far a row may be from the count; CogVideoX's depends on whether the frames are even.
CLOSE = 0.02


@pytest.fixture(scope="session")
def vae_on_meta(oracle: ModuleType, vae_names: Any, valueless: Any) -> Callable[[str], Any]:
    """The host's VAE of a case in bf16, without weights; each once per run."""
    done: dict[str, Any] = {}

    def cached(id_: str) -> Any:
        import comfy.sd

        if id_ not in done:
            names = vae_names(CASES[id_])
            with as_on_a_card(), valueless(), torch.device("meta"):
                done[id_] = comfy.sd.VAE(sd=dict(names), device=torch.device("cpu"), dtype=torch.bfloat16)
            done[id_].first_stage_model.to("meta")
        return done[id_]

    return cached


def live_bytes(vae: Any, shape: tuple[int, ...], encode: bool = False, total_bytes: int = 24 * GIB) -> int:
    """Live bytes at the peak of one decode or encode."""
    module = vae.first_stage_model
    options: dict[str, Any] = {}
    if getattr(module, "comfy_has_chunked_io", False):
        buffer = torch.empty(1).expand(module.decode_output_shape(shape)) if not encode else None
        options = {"device": torch.device("meta")} if encode else {"output_buffer": buffer}
    given = torch.empty(shape, device="meta", dtype=torch.bfloat16)
    method = module.encode if encode else module.decode
    with as_on_a_card(total_bytes=total_bytes), torch.device("meta"):
        return peak_of(lambda: method(given, **options)).peak_bytes


def shape_of(vae: Any, sides: tuple[int, int], frames: int, channels: int) -> tuple[int, ...]:
    """A batch of one."""
    return (1, channels, *((frames,) if vae.latent_dim == 3 else ()), *sides)


@pytest.mark.parametrize("id_", DECODED)
def test_what_lives_in_a_decode(id_: str, vae_on_meta: Any):
    vae, row_id = vae_on_meta(id_), CASES[id_]["row"]
    sides, lengths = DECODED[id_]
    for frames in lengths:
        row = row_for(DECODE_ROWS, row_id, frames)
        assert row is not None
        live = live_bytes(vae, shape_of(vae, sides, frames, vae.latent_channels))
        assert row.values(frames) * sides[0] * sides[1] * 2 == pytest.approx(live, rel=CLOSE), frames


@pytest.mark.parametrize("id_", ENCODED)
def test_what_lives_in_an_encode(id_: str, vae_on_meta: Any):
    vae, row_id = vae_on_meta(id_), CASES[id_]["row"]
    sides, lengths = ENCODED[id_]
    for frames in lengths:
        row = row_for(ENCODE_ROWS, row_id, frames)
        assert row is not None
        live = live_bytes(vae, shape_of(vae, sides, pixel_frames(row_id, frames), 3), encode=True)
        assert row.values(frames) * sides[0] * sides[1] * 2 == pytest.approx(live, rel=CLOSE), frames


def test_a_batch_of_svd_is_its_frames(vae_on_meta: Any):
    row = row_for(DECODE_ROWS, "svd", 1)
    assert row is not None
    live = live_bytes(vae_on_meta("svd"), (14, 4, 72, 128))
    assert row.values(1) * 72 * 128 * 2 * 14 == pytest.approx(live, rel=CLOSE)


def test_every_row_is_counted():
    for rows, counted in ((DECODE_ROWS, DECODED), (ENCODE_ROWS, ENCODED)):
        ids = {CASES[id_]["row"] for id_ in counted} | {"svd", "stage-c-previewer", "stage-c-encoder"}
        for row in rows:
            assert set(row.rows) <= ids, row.rows


@pytest.mark.parametrize("id_", ["ltx", "ltx-2"])
@pytest.mark.parametrize("total_bytes", [6 * GIB, 24 * GIB], ids=["6-gib", "24-gib"])
def test_ltx_in_chunks_stays_in_its_range(id_: str, total_bytes: int, vae_on_meta: Any, vae_names: Any, to_header: Any):
    """The host reserves 23 GiB for 512x768x97 frames; a card with 6 GiB decodes it in less than 3."""
    ours = vae_of(identify(to_header(vae_names(CASES[id_]))))
    assert ours is not None
    for frames, height, width in ((1, 16, 24), (2, 22, 40), (13, 34, 60)):
        shape = (1, 128, frames, height, width)
        live = live_bytes(vae_on_meta(id_), shape, total_bytes=total_bytes)
        need = decode_need(ours, shape, "bf16")
        assert need.low_bytes is not None
        assert need.high_bytes is not None
        assert need.low_bytes <= live <= need.high_bytes, shape


@pytest.mark.parametrize(("id_", "shape"), [("taesd", (1, 4, 16, 16)), ("kl-x4", (1, 4, 8, 8)), ("kl", (1, 4, 8, 8))])
def test_the_count_without_values_is_the_count_with_them(
    id_: str, shape: tuple[int, ...], vae_on_meta: Any, vae_names: Any
):
    """The same class with real values on the CPU has the same tensors alive at its peak."""
    import comfy.sd

    names = {name: torch.zeros(tensor.shape) for name, tensor in vae_names(CASES[id_]).items()}
    with as_on_a_card():
        real = comfy.sd.VAE(sd=names, device=torch.device("cpu"), dtype=torch.bfloat16)
        counted = peak_of(lambda: real.first_stage_model.decode(torch.zeros(shape, dtype=torch.bfloat16)))
    assert counted.peak_bytes == pytest.approx(live_bytes(vae_on_meta(id_), shape), rel=0.01)
