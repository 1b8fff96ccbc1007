"""VAE Decode (Safe) in the real ComfyUI, over HTTP: black pictures, out of memory, and what stays as it was."""

from __future__ import annotations

import io
import re

import numpy as np
import pytest
from PIL import Image
from safetensors import safe_open

FP16 = "--fp16-vae"
BF16 = "--bf16-vae"


def graph(latent: str, vae: str = "tiny_kl.safetensors", node: str = "HeadroomVAEDecode", fault=None, **options):
    """LoadLatent and VAELoader into a decode node and PreviewImage; ``fault`` goes between loader and decode."""
    prompt = {
        "latent": {"class_type": "LoadLatent", "inputs": {"latent": f"{latent}.latent"}},
        "vae": {"class_type": "VAELoader", "inputs": {"vae_name": vae}},
        "decode": {"class_type": node, "inputs": {"samples": ["latent", 0], "vae": ["vae", 0], **options}},
        "image": {"class_type": "PreviewImage", "inputs": {"images": ["decode", 0]}},
    }
    if fault is not None:
        sound = {
            "oom_above": 0,
            "nan_items": "",
            "nan_call": -1,
            "seconds": 0.0,
            "no_weights": False,
            "known_file": False,
        }
        prompt["faulty"] = {"class_type": "TestFaultyVAE", "inputs": {"vae": ["vae", 0], **sound, **fault}}
        prompt["decode"]["inputs"]["vae"] = ["faulty", 0]
    return prompt


def pictures(server, run, node="image") -> list[np.ndarray]:
    """The previewed images as int16 arrays [H, W, 3]."""
    found = []
    for image in run.outputs[node]["images"]:
        query = f"filename={image['filename']}&subfolder={image['subfolder']}&type={image['type']}"
        data = server.get_bytes(f"/view?{query}")
        found.append(np.asarray(Image.open(io.BytesIO(data)).convert("RGB")).astype(np.int16))
    return found


def attempts(run) -> list[tuple[str, str, str]]:
    """The attempts in the node's report."""
    facts = run.report("decode")["facts"]
    return [(a["how"], a["outcome"], a["reason"].replace("\u00a0", " ")) for a in facts["attempts"]]


def sound(run):
    """The run, once it is known to have ended well."""
    assert run.status == "success", run.error.get("exception_message")
    return run


# ---- precision ----


def test_a_black_picture_of_the_stock_node_comes_out_right(servers):
    """SDXL's VAE in fp16: all NaN, a black PNG and no error (madebyollin/sdxl-vae-fp16-fix, InvokeAI #2580)."""
    half, full = servers.get(FP16), servers.get()
    overflow = "tiny_kl_overflow.safetensors"
    stock = sound(half.run(graph("one_sound", overflow, node="VAEDecode")))
    assert pictures(half, stock)[0].max() == 0, "the stock node gives the black picture that this is about"

    safe = sound(half.run(graph("one_sound", overflow)))
    truth = sound(full.run(graph("one_sound", overflow, node="VAEDecode")))
    ours, expected = pictures(half, safe)[0], pictures(full, truth)[0]
    assert expected.std() > 10, "the reference is a picture"
    assert np.abs(ours - expected).max() <= 1
    assert attempts(safe) == [
        ("fp16, full frame", "not finite", "NaN in the output"),
        ("fp32, full frame", "finished", "finished"),
    ]
    report = safe.report("decode")
    assert report["title"] == "Decoded in fp32"
    assert any("`--fp16-vae`" in block.get("text", "") for block in report["blocks"])


def test_the_vae_stays_bit_for_bit_what_it_was(servers):
    """The VAE object lives in the host's cache: a change would be in every later picture of the session."""
    server = servers.get(FP16)
    for vae in ("tiny_kl.safetensors", "tiny_kl_overflow.safetensors"):
        before = sound(server.run(with_state(graph("one_sound", vae, node="VAEDecode"))))
        safe = sound(server.run(with_state(graph("one_sound", vae, precision="fp32"))))
        after = sound(server.run(with_state(graph("one_sound", vae, node="VAEDecode"))))
        states = [run.outputs["state"]["text"][0] for run in (before, safe, after)]
        assert states[0] == states[1] == states[2]


def with_state(prompt):
    """Adds a look at the VAE once the image is there."""
    prompt["state"] = {"class_type": "TestVaeState", "inputs": {"vae": ["vae", 0], "after": ["decode", 0]}}
    return prompt


def test_a_stock_decode_after_ours_gives_what_it_gave_before(servers):
    """Still fp16, still black, and for a sound VAE still the same picture: nothing leaks into the session."""
    server = servers.get(FP16)
    for vae in ("tiny_kl_overflow.safetensors", "tiny_kl.safetensors"):
        prompt = graph("batch_tiny", vae, node="VAEDecode")
        before = pictures(server, sound(server.run(prompt)))
        sound(server.run(graph("batch_tiny", vae, precision="fp32", start="full frame")))
        server.post("/free", {"free_memory": True})  # Drops the host's cache of outputs, so that it decodes anew.
        anew = sound(server.run(prompt))
        assert not any(name == "execution_cached" and data["nodes"] for name, data in anew.events)
        for old, new in zip(before, pictures(server, anew), strict=True):
            assert np.array_equal(old, new)


def test_only_the_two_bad_items_of_four_are_decoded_again(servers):
    """Two of four images black (ComfyUI #13116)."""
    server = servers.get(BF16)
    run = sound(server.run(graph("batch_sound", fault={"nan_items": "1,3", "known_file": True})))
    report = run.report("decode")
    assert [attempt["items"] for attempt in report["facts"]["attempts"]] == [[0, 1, 2, 3], [1, 3]]
    assert attempts(run)[0] == ("bf16, full frame", "not finite", "NaN in items 1 and 3 of 4")
    assert report["title"] == "Decoded; items 1 and 3 in fp32"
    ours = pictures(server, run)
    narrow = pictures(server, sound(server.run(graph("batch_sound", node="VAEDecode"))))
    wide = pictures(servers.get(), sound(servers.get().run(graph("batch_sound", node="VAEDecode"))))
    for item in (0, 2):
        assert np.array_equal(ours[item], narrow[item])
    for item in (1, 3):
        assert np.abs(ours[item] - wide[item]).max() <= 1


def test_only_the_bad_tile_is_decoded_again(servers):
    """7th of 9 tiles black (ComfyUI #9871). The others keep their bf16 values: no seam appears between precisions."""
    server = servers.get(BF16)
    options = {"start": "tiled", "smallest_tile": 128}
    faulty = sound(server.run(graph("image_48", fault={"nan_call": 6}, **options)))
    assert attempts(faulty)[0][2].startswith("NaN in 1 of ")
    assert [attempt[1] for attempt in attempts(faulty)] == ["not finite", "finished"]
    whole = sound(server.run(graph("image_48", **options)))
    difference = np.abs(pictures(server, faulty)[0] - pictures(server, whole)[0])
    assert difference.max() < 30, "blended with the same weights; only the precision of one tile differs"
    assert (difference == 0).mean() > 0.5


def test_damaged_weights_end_in_an_error_and_not_in_black(server):
    run = server.run(graph("one_sound", "tiny_kl_broken.safetensors"))
    assert run.status == "error"
    assert "weights may be damaged" in run.error["exception_message"]
    assert run.report("decode")["level"] == "error"


# ---- space ----


def test_out_of_memory_goes_on_in_tiles_and_the_host_s_silent_retry_never_runs(server):
    """48x48 latents: the host's retry takes tiles of 64, which is the full frame again."""
    marks = len(server.log())
    run = sound(server.run(graph("image_48", fault={"oom_above": 2000})))
    assert attempts(run) == [
        ("fp32, full frame", "out of memory", "out of memory: asked 3.1 GiB, had 1.9 GiB"),
        ("fp32, 256 px tiles, overlap 64", "finished", "finished"),
    ]
    assert run.report("decode")["title"] == "Decoded in tiles: approximate"
    assert "Ran out of memory when regular VAE decoding" not in server.log()[marks:]
    stock = graph("image_48", node="VAEDecodeTiled", tile_size=256, overlap=64, temporal_size=64, temporal_overlap=8)
    assert np.array_equal(pictures(server, run)[0], pictures(server, sound(server.run(stock)))[0])


def test_every_rung_failing_saves_the_latent_and_says_where(server):
    """OOM at decode after 15 hours of sampling (WanVideoWrapper #1476): nothing is lost."""
    run = server.run(graph("image_48", fault={"oom_above": 1}, smallest_tile=128))
    assert run.status == "error"
    message = run.error["exception_message"]
    name = re.search(r"latents/headroom_\d+_\.latent", message)
    assert name, message
    with (
        safe_open(server.base / "output" / name.group(), "pt") as saved,
        safe_open(server.base / "input" / "image_48.latent", "pt") as given,
    ):
        assert (saved.get_tensor("latent_tensor") == given.get_tensor("latent_tensor")).all()
        assert "latent_format_version_0" in saved.keys()  # noqa: SIM118
    (server.base / "input" / "back.latent").write_bytes((server.base / "output" / name.group()).read_bytes())
    back, first = (sound(server.run(graph(name, node="VAEDecode"))) for name in ("back", "image_48"))
    assert np.array_equal(pictures(server, back)[0], pictures(server, first)[0])


def test_an_interrupt_stops_between_tiles_and_the_queue_lives_on(server):
    slow = graph("image_48", fault={"seconds": 0.3}, start="tiled", smallest_tile=64)
    run = server.run(slow, interrupt_on="progress")
    assert run.events[-1][0] == "execution_interrupted"
    sound(server.run(graph("one_sound")))


# ---- the happy path ----


@pytest.mark.parametrize(
    ("latent", "vae"),
    [
        ("one_sound", "tiny_kl.safetensors"),
        ("batch_sound", "tiny_kl.safetensors"),
        ("video_sound", "tiny_wan.safetensors"),
        ("one_sound", "pixel_space"),
    ],
)
def test_a_stock_decode_can_be_replaced_by_the_class_name_alone(server, latent, vae):
    """Nothing else in the prompt changes, and the picture is the same to the last bit."""
    if vae == "pixel_space":
        latent = "pixels"
    stock = sound(server.run(graph(latent, vae, node="VAEDecode")))
    ours = sound(server.run(graph(latent, vae)))
    assert len(pictures(server, ours)) == len(pictures(server, stock))
    for mine, theirs in zip(pictures(server, ours), pictures(server, stock), strict=True):
        assert np.array_equal(mine, theirs)
    assert ours.report("decode")["title"] == "Decoded as it is"


def test_a_cached_decode_shows_its_report_again(server):
    prompt = graph("batch_sound")
    sound(server.run(prompt))
    again = sound(server.run(prompt))
    assert again.report("decode")["title"] == "Decoded as it is"


def test_a_video_that_does_not_fit_is_tiled_in_space_and_whole_in_time(server):
    """Blinking with Wan when it is cut in time (ComfyUI #7116)."""
    run = sound(server.run(graph("video_16", "tiny_wan.safetensors", fault={"oom_above": 200}, smallest_tile=64)))
    assert [attempt[1] for attempt in attempts(run)] == ["out of memory", "finished"]
    assert "at a time" not in attempts(run)[1][0]
    assert len(pictures(server, run)) == 9


def test_a_video_latent_into_an_image_vae_gives_its_first_frame(server):
    """ComfyUI #7786: the host's full path takes frame 0, its tiled path raises."""
    for start in ("full frame", "tiled"):
        run = sound(server.run(graph("video_4ch", start=start, smallest_tile=64)))
        assert len(pictures(server, run)) == 1
        assert "only the first frame" in run.report("decode")["facts"]["notices"][0]


def test_a_zero_latent_is_decoded_with_a_notice(server):
    """An empty latent wired straight into the decode (ComfyUI-GGUF #217) is normal, not a fault."""
    prompt = graph("one_sound")
    prompt["latent"] = {"class_type": "EmptyLatentImage", "inputs": {"width": 64, "height": 64, "batch_size": 1}}
    run = sound(server.run(prompt))
    assert "All values are zero" in run.report("decode")["facts"]["notices"][0]


# ---- bad input ----


@pytest.mark.parametrize(
    ("prompt", "words"),
    [
        (graph("sixteen_channels"), "16 channels, this VAE (AutoencoderKL) takes 4"),
        (graph("one_sound", fault={"no_weights": True}), "holds no VAE weights"),
        (graph("one_nan"), "already bad: the latent holds NaN. The VAE is not the cause"),
        (graph("batch_nan_1_3"), "already bad: items 1 and 3 of 4 are NaN"),
        (graph("video_nan_frame_2", "tiny_wan.safetensors"), "already bad: frame 2 of 5 holds NaN"),
        (graph("audio_shape"), "image latent has 4 dimensions"),
        (graph("empty_batch"), "is empty"),
    ],
    ids=["wrong channels", "no weights", "NaN latent", "NaN items", "NaN frame", "unknown layout", "empty batch"],
)
def test_bad_input_is_one_sentence_with_the_remedy_and_the_next_prompt_runs(server, prompt, words):
    run = server.run(prompt)
    assert run.status == "error"
    assert words in run.error["exception_message"]
    assert run.error["node_id"] == "decode"
    assert run.report("decode")["level"] == "error"
    sound(server.run(graph("one_sound", start="full frame")))


def test_a_bad_latent_can_be_repaired_or_decoded_all_the_same(server):
    repaired = sound(server.run(graph("one_nan", bad_latent="replace values")))
    assert pictures(server, repaired)[0].std() > 10
    assert "1 values replaced" in repaired.report("decode")["facts"]["notices"][0]
    anyway = sound(server.run(graph("batch_nan_1_3", bad_latent="decode anyway")))
    assert [picture.max() for picture in pictures(server, anyway)][1::2] == [0, 0]
    assert attempts(anyway) == [("fp32, full frame", "finished", "finished")]
