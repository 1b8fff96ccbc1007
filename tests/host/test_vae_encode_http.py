"""VAE Encode (Safe) in the real ComfyUI, over HTTP: NaN latents, out of memory, masks, and what stays as it was."""

from __future__ import annotations

import io

import numpy as np
import pytest
import torch
from PIL import Image
from safetensors.torch import load_file

FP16 = "--fp16-vae"
BF16 = "--bf16-vae"
OVERFLOW = "kl_overflow_encoder.safetensors"
TAESD = "tiny_taesd.safetensors"
WAN = "tiny_wan.safetensors"
NO_FAULT = {
    "oom_above": 0, "nan_items": "", "nan_call": -1, "seconds": 0.0, "no_weights": False, "known_file": False,
}  # fmt: skip


def graph(
    vae=TAESD, node="HeadroomVAEEncode", fault=None, mask=None, number=1, size=(32, 32), channels=3, bad="", **given
):
    """TestImages and VAELoader into an encode node and TestLatentFile; ``fault`` goes between loader and encode.

    ``mask`` is (number, height, width); ``given`` are the encode node's other inputs.
    """
    height, width = size
    pixels = {"number": number, "height": height, "width": width, "channels": channels, "seed": 7, "bad": bad}
    prompt = {
        "images": {"class_type": "TestImages", "inputs": {**pixels, "value": "nan"}},
        "vae": {"class_type": "VAELoader", "inputs": {"vae_name": vae}},
        "encode": {"class_type": node, "inputs": {"pixels": ["images", 0], "vae": ["vae", 0], **given}},
        "file": {"class_type": "TestLatentFile", "inputs": {"samples": ["encode", 0]}},
    }
    if fault is not None:
        prompt["faulty"] = {"class_type": "TestFaultyVAE", "inputs": {"vae": ["vae", 0], **NO_FAULT, **fault}}
        prompt["encode"]["inputs"]["vae"] = ["faulty", 0]
    if mask is not None:
        prompt["mask"] = {"class_type": "TestMask", "inputs": dict(zip(("number", "height", "width"), mask))}
        prompt["encode"]["inputs"]["mask"] = ["mask", 0]
    return prompt


def stock(vae=TAESD, **more):
    """The same with the host's own node."""
    return graph(vae, node="VAEEncode", **more)


def stock_tiled(tile: int, overlap: int, temporal: int = 64, **more):
    """The host's node that always tiles; its sizes are pixels, as ours."""
    sizes = {"tile_size": tile, "overlap": overlap, "temporal_size": temporal, "temporal_overlap": 8}
    return graph(node="VAEEncodeTiled", **sizes, **more)


def latent(server, run) -> dict[str, torch.Tensor]:
    """The LATENT's tensors."""
    return load_file(server.base / "output" / sound(run).outputs["file"]["text"][0])


def encoded(server, prompt) -> torch.Tensor:
    """The samples that a prompt ends with."""
    return latent(server, server.run(prompt))["samples"]


def attempts(run) -> list[tuple[str, str, str]]:
    """The attempts in the node's report."""
    facts = run.report("encode")["facts"]
    return [(a["how"], a["outcome"], a["reason"].replace("\u00a0", " ")) for a in facts["attempts"]]


def sound(run):
    """The run, once it is known to have ended well."""
    assert run.status == "success", run.error.get("exception_message")
    return run


def off_by(ours: torch.Tensor, expected: torch.Tensor) -> float:
    """The largest difference, relative to the largest value."""
    assert ours.shape == expected.shape
    assert ours.isfinite().all()
    return ((ours - expected).abs().max() / expected.abs().max()).item()


# ---- precision ----


def test_the_nan_latent_of_the_stock_node_comes_out_right(servers):
    """SDXL's VAE in fp16: all NaN and no error; what is sampled from it is black (madebyollin/sdxl-vae-fp16-fix)."""
    half, full = servers.get(FP16), servers.get()
    assert encoded(half, stock(OVERFLOW)).isnan().all(), "the stock node gives the latent that this is about"
    run = half.run(graph(OVERFLOW))
    ours, expected = latent(half, run)["samples"], encoded(full, stock(OVERFLOW))
    assert expected.std() > 0.1, "the reference is a latent"
    assert off_by(ours, expected) < 1e-3
    assert attempts(run) == [
        ("fp16, full frame", "not finite", "NaN in the output"),
        ("fp32, full frame", "finished", "finished"),
    ]
    report = run.report("encode")
    assert report["title"] == "Encoded in fp32"
    assert any("`--fp16-vae`" in block.get("text", "") for block in report["blocks"])


def test_the_vae_stays_bit_for_bit_what_it_was(servers):
    """The VAE object lives in the host's cache: a change would be in every later picture of the session."""
    server = servers.get(FP16)
    states = []
    for prompt in (stock(OVERFLOW), graph(OVERFLOW), graph(OVERFLOW, start="tiled", size=(128, 128)), stock(OVERFLOW)):
        state = {"vae": ["vae", 0], "after_latent": ["encode", 0], "encoder": True}
        prompt["state"] = {"class_type": "TestVaeState", "inputs": state}
        states.append(sound(server.run(prompt)).outputs["state"]["text"][0])
    assert len(set(states)) == 1


def test_a_stock_encode_after_ours_gives_what_it_gave_before(servers):
    """Still fp16, still NaN, and for a sound VAE still the same latent: nothing leaks into the session."""
    server = servers.get(FP16)
    for vae in (OVERFLOW, TAESD):
        before = encoded(server, stock(vae, number=2))
        sound(server.run(graph(vae, number=2, precision="fp32", start="full frame")))
        server.post("/free", {"free_memory": True})  # Drops the host's cache of outputs, so that it encodes anew.
        anew = server.run(stock(vae, number=2))
        assert not any(name == "execution_cached" and data["nodes"] for name, data in anew.events)
        assert torch.equal(before, latent(server, anew)["samples"]) or before.isnan().all()


def test_only_the_two_bad_images_of_four_are_encoded_again(servers):
    server = servers.get(BF16)
    run = server.run(graph(number=4, fault={"nan_items": "1,3", "known_file": True}))
    ours = latent(server, run)["samples"]
    report = run.report("encode")
    assert [attempt["items"] for attempt in report["facts"]["attempts"]] == [[0, 1, 2, 3], [1, 3]]
    assert attempts(run)[0] == ("bf16, full frame", "not finite", "NaN in images 1 and 3 of 4")
    assert report["title"] == "Encoded; images 1 and 3 in fp32"
    narrow, wide = encoded(server, stock(number=4)), encoded(servers.get(), stock(number=4))
    assert not torch.equal(narrow, wide)
    assert torch.equal(ours[::2], narrow[::2])
    assert off_by(ours[1::2], wide[1::2]) < 1e-5, "the wider weights are those of the file"


def test_only_the_bad_tile_is_encoded_again(servers):
    """7th of 9 tiles bad (ComfyUI #9871). The others keep their fp16 values: no seam appears between precisions."""
    server = servers.get(FP16)  # In the bf16 host the test before taught that this file wants fp32.
    size = (96, 96)
    run = server.run(graph(size=size, fault={"nan_call": 6, "known_file": True}, start="tiled", smallest_tile=64))
    ours = latent(server, run)["samples"]
    assert attempts(run)[0][2].startswith("NaN in 1 of ")
    assert [attempt[1] for attempt in attempts(run)] == ["not finite", "finished"]
    narrow, wide = (encoded(host, stock_tiled(64, 16, size=size)) for host in (server, servers.get()))
    assert off_by(ours, wide) <= off_by(narrow, wide) + 1e-6
    same = (ours == narrow).float().mean()
    assert 0.5 < same < 1


# ---- space ----


def test_out_of_memory_goes_on_in_tiles_and_the_host_s_silent_retry_never_runs(server):
    """For images of up to 512 px the host's retry with 512 px tiles is the full frame again, and cannot help."""
    marks = len(server.log())
    run = server.run(graph(number=2, size=(96, 96), fault={"oom_above": 96 * 96 - 1}, smallest_tile=64))
    ours = latent(server, run)["samples"]
    assert attempts(run) == [
        ("fp32, full frame", "out of memory", "out of memory: asked 3.1 GiB, had 1.9 GiB"),
        ("fp32, full frame, one by one", "out of memory", "out of memory: asked 3.1 GiB, had 1.9 GiB"),
        ("fp32, 64 px tiles, overlap 16", "finished", "finished"),
    ]
    assert run.report("encode")["title"] == "Encoded in tiles: approximate"
    assert "Ran out of memory when regular VAE encoding" not in server.log()[marks:]
    assert torch.equal(ours, encoded(server, stock_tiled(64, 16, number=2, size=(96, 96))))


def test_a_video_that_does_not_fit_is_tiled_in_space_and_whole_in_time(server):
    """Blinking with Wan when it is cut in time (ComfyUI #7116)."""
    video = {"number": 5, "size": (96, 64)}
    run = server.run(graph(WAN, fault={"oom_above": 64 * 64}, smallest_tile=64, **video))
    ours = latent(server, run)["samples"]
    assert [attempt[1] for attempt in attempts(run)] == ["out of memory", "finished"]
    assert "at a time" not in attempts(run)[1][0]
    assert ours.shape == (1, 16, 2, 12, 8)
    # Nothing is cut in time, but the stock node weighs its frames, which rounds differently.
    assert off_by(ours, encoded(server, stock_tiled(64, 16, vae=WAN, temporal=4096, **video))) < 1e-5


def test_every_rung_failing_says_what_to_do(server):
    run = server.run(graph(size=(128, 128), fault={"oom_above": 1}, smallest_tile=64))
    assert run.status == "error"
    message = run.error["exception_message"]
    assert "Save Image before this node" in message
    assert "set smallest_tile lower" in message
    assert "latent is saved" not in message
    sound(server.run(graph(start="full frame")))


def test_an_interrupt_stops_between_tiles_and_the_queue_lives_on(server):
    slow = graph(size=(192, 192), fault={"seconds": 0.3}, start="tiled", smallest_tile=64)
    run = server.run(slow, interrupt_on="progress")
    assert run.events[-1][0] == "execution_interrupted"
    sound(server.run(graph(number=2, start="full frame")))


# ---- the happy path ----


@pytest.mark.parametrize(
    ("vae", "images"),
    [
        (OVERFLOW, {"size": (40, 32)}),
        (TAESD, {"number": 3, "size": (64, 48)}),
        (TAESD, {"size": (45, 53)}),
        (TAESD, {"number": 2, "channels": 4}),
        (WAN, {"number": 5}),
        (WAN, {"number": 1}),
        (WAN, {"number": 6, "size": (37, 32)}),
        ("pixel_space", {"number": 2}),
    ],
    ids=["KL", "batch", "odd size", "alpha", "video", "one frame", "odd video", "pixel space"],
)
def test_a_stock_encode_can_be_replaced_by_the_class_name_alone(server, vae, images):
    """Nothing else in the prompt changes, and the latent is the same to the last bit."""
    theirs = latent(server, server.run(stock(vae, **images)))
    run = server.run(graph(vae, **images))
    ours = latent(server, run)
    assert ours.keys() == theirs.keys() == {"samples"}
    assert torch.equal(ours["samples"], theirs["samples"])
    assert run.report("encode")["title"] == "Encoded as it is"


def pictures(server, run) -> list[np.ndarray]:
    """The previewed images."""
    found = []
    for image in sound(run).outputs["image"]["images"]:
        query = f"filename={image['filename']}&subfolder={image['subfolder']}&type={image['type']}"
        found.append(np.asarray(Image.open(io.BytesIO(server.get_bytes(f"/view?{query}"))).convert("RGB")))
    return found


@pytest.mark.parametrize(
    ("vae", "images"),
    [(OVERFLOW, {"number": 2}), (TAESD, {"number": 2, "size": (64, 64)}), (WAN, {"number": 5})],
    ids=["KL", "TAESD", "Wan"],
)
def test_a_round_trip_through_both_safe_nodes_is_the_stock_round_trip(server, vae, images):
    found = []
    for encode, decode in (("VAEEncode", "VAEDecode"), ("HeadroomVAEEncode", "HeadroomVAEDecode")):
        prompt = graph(vae, node=encode, **images)
        prompt["decode"] = {"class_type": decode, "inputs": {"samples": ["encode", 0], "vae": ["vae", 0]}}
        prompt["image"] = {"class_type": "PreviewImage", "inputs": {"images": ["decode", 0]}}
        run = server.run(prompt)
        found.append((latent(server, run)["samples"], pictures(server, run)))
    (their_latent, their_pictures), (our_latent, our_pictures) = found
    assert torch.equal(our_latent, their_latent)
    assert len(our_pictures) == len(their_pictures) == images["number"]
    assert all(np.array_equal(*pair) for pair in zip(our_pictures, their_pictures))


def test_a_cached_encode_shows_its_report_again(server):
    prompt = graph(number=3)
    sound(server.run(prompt))
    assert sound(server.run(prompt)).report("encode")["title"] == "Encoded as it is"


# ---- masks ----


@pytest.mark.parametrize("grow", [0, 6, 7])
@pytest.mark.parametrize(
    ("vae", "number", "size", "mask"),
    [
        (OVERFLOW, 1, (32, 32), (1, 32, 32)),
        (TAESD, 1, (45, 53), (1, 64, 64)),
        (TAESD, 3, (64, 48), (1, 64, 48)),
        (TAESD, 3, (64, 48), (3, 64, 48)),
        (WAN, 5, (36, 32), (1, 40, 40)),
    ],
    ids=["KL", "other sizes", "one mask for all", "a mask each", "video"],
)
def test_an_inpainting_encode_is_that_of_the_stock_node(server, vae, number, size, mask, grow):
    """Grey under the mask, cropped, the grown noise mask: all to the last bit."""
    images = {"number": number, "size": size, "mask": mask, "grow_mask_by": grow}
    theirs = latent(server, server.run(graph(vae, node="VAEEncodeForInpaint", **images)))
    run = server.run(graph(vae, **images))
    ours = latent(server, run)
    assert ours.keys() == theirs.keys() == {"samples", "noise_mask"}
    for name in theirs:
        assert torch.equal(ours[name], theirs[name])
    assert run.report("encode")["title"] == "Encoded as it is"


@pytest.mark.parametrize(("number", "mask"), [(1, (1, 32, 32)), (2, (3, 20, 24))])
def test_a_noise_mask_alone_is_that_of_set_latent_noise_mask(server, number, mask):
    """The images are not greyed out, and the mask is neither grown nor cropped."""
    prompt = stock(number=number, size=(45, 32))
    prompt["mask"] = {"class_type": "TestMask", "inputs": dict(zip(("number", "height", "width"), mask))}
    prompt["set"] = {"class_type": "SetLatentNoiseMask", "inputs": {"samples": ["encode", 0], "mask": ["mask", 0]}}
    prompt["file"]["inputs"]["samples"] = ["set", 0]
    theirs = latent(server, server.run(prompt))
    ours = latent(server, server.run(graph(number=number, size=(45, 32), mask=mask, mask_mode="noise mask only")))
    assert ours.keys() == theirs.keys() == {"samples", "noise_mask"}
    for name in theirs:
        assert torch.equal(ours[name], theirs[name])


def test_an_inpainting_encode_that_is_nan_comes_out_right(servers):
    half, full = servers.get(FP16), servers.get()
    given = {"number": 2, "mask": (1, 32, 32), "grow_mask_by": 6}
    expected = latent(full, full.run(graph(OVERFLOW, node="VAEEncodeForInpaint", **given)))
    ours = latent(half, half.run(graph(OVERFLOW, **given)))
    assert off_by(ours["samples"], expected["samples"]) < 1e-3
    assert torch.equal(ours["noise_mask"], expected["noise_mask"])


def test_masks_that_do_not_fit_the_images_are_named(server):
    """The stock node fails too, with torch's words."""
    given = {"number": 2, "mask": (3, 32, 32), "grow_mask_by": 6}
    theirs = server.run(graph(node="VAEEncodeForInpaint", **given))
    ours = server.run(graph(**given))
    assert theirs.status == ours.status == "error"
    assert "3 masks for 2 images: connect one for all or one for each" in ours.error["exception_message"]


# ---- bad input ----


@pytest.mark.parametrize(
    ("prompt", "words"),
    [
        (graph(fault={"no_weights": True}), "holds no VAE weights"),
        (graph("tiny_kl.safetensors"), "holds a decoder and no encoder"),
        (graph(bad="0"), "already bad: the image holds NaN. The VAE is not the cause"),
        (graph(number=4, bad="1,3"), "already bad: images 1 and 3 of 4 hold NaN"),
        (graph(WAN, number=5, bad="2"), "already bad: image 2 of 5 holds NaN"),
        (graph(number=0), "is empty"),
        (graph(size=(7, 300)), "300×7: this VAE (TAESD) needs 8 pixels"),
        (graph(channels=1), "1 channels, this VAE (TAESD) takes 3"),
        (graph(channels=1, mask=(1, 32, 32)), "1 channels, this VAE (TAESD) takes 3"),
    ],
    ids=["no weights", "no encoder", "NaN image", "NaN images", "NaN frame", "empty", "small", "grey", "grey and mask"],
)
def test_bad_input_is_one_sentence_with_the_remedy_and_the_next_prompt_runs(server, prompt, words):
    run = server.run(prompt)
    assert run.status == "error"
    assert words in run.error["exception_message"]
    assert run.error["node_id"] == "encode"
    assert run.report("encode")["level"] == "error"
    assert run.report("encode")["title"] == "Not encoded"
    sound(server.run(graph(start="full frame")))


def test_bad_images_can_be_repaired_or_encoded_all_the_same(server):
    repaired = server.run(graph(number=4, bad="1,3", bad_image="replace values"))
    clean = encoded(server, stock(number=4))
    ours = latent(server, repaired)["samples"]
    assert ours.isfinite().all()
    assert torch.equal(ours[::2], clean[::2])
    assert "2 values replaced by 0" in repaired.report("encode")["facts"]["notices"][0]
    anyway = server.run(graph(number=4, bad="1,3", bad_image="encode anyway"))
    ours = latent(server, anyway)["samples"]
    assert [bool(item.isnan().any()) for item in ours] == [False, True, False, True]
    assert attempts(anyway) == [("fp32, full frame", "finished", "finished")]
