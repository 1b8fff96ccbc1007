"""What a run failed with, and what is said to do: real messages, and for every fix a case that has it and one not."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, replace
from typing import Any

import pytest

from headroom.core.failure import FIXES, MOST_FIXES, failure_at
from headroom.core.failure_kind import Kind, kind_of
from headroom.core.readings import Device, Failure, Host, LoadedModel, Program, Ram, Snapshot
from headroom.core.run import NodeRun
from headroom.core.snapshot_json import snapshot_json

GIB, MIB = 2**30, 2**20
OOM = "torch.OutOfMemoryError"
#: ComfyUI #13598: RTX 5070 Ti, 8.23 GiB allocated, 3.46 asked for.
TEXT = (
    "CUDA out of memory. Tried to allocate 3.46 GiB. GPU 0 has a total capacity of 15.47 GiB of which 1.46 GiB is free."
)
CARD = Device(
    0,
    "NVIDIA GeForce RTX 5070 Ti",
    "cuda",
    total_bytes=16 * GIB,
    torch_total_bytes=int(15.47 * GIB),
    free_bytes=GIB,
    torch_allocated_bytes=12 * GIB,
    capability=(12, 0),
)
UNET = LoadedModel(
    "wan.safetensors", "diffusion", "WAN21", "fp16", size_bytes=8 * GIB, resident_bytes=8 * GIB, device="cuda:0"
)
UNET = replace(UNET, dynamic=False)
CLIP = replace(UNET, name="umt5.safetensors", kind="text encoder", size_bytes=6 * GIB, resident_bytes=2 * GIB)
VAE = replace(UNET, name="vae.safetensors", kind="vae", size_bytes=GIB // 4, resident_bytes=GIB // 4)


# ---- the kind ----


@pytest.mark.parametrize(
    ("name", "text", "kind"),
    [
        (OOM, TEXT, Kind("out-of-memory", "vram", int(3.46 * GIB), int(1.46 * GIB))),
        # cudaMallocAsync: the class says it, the words hardly do.
        (OOM, "Allocation on device ", Kind("out-of-memory", "vram")),
        ("torch.AcceleratorError", "CUDA error: out of memory", Kind("out-of-memory", "vram")),
        ("torch.AcceleratorError", "CUDA error: an illegal memory access was encountered", Kind("other")),
        ("RuntimeError", "MPS backend out of memory (MPS allocated: 16.91 GB)", Kind("out-of-memory", "vram")),
        ("RuntimeError", "cuDNN error: CUDNN_STATUS_ALLOC_FAILED", Kind("out-of-memory", "vram")),
        (
            "RuntimeError",
            "[enforce fail at alloc_cpu.cpp:127] err == 0. DefaultCPUAllocator: can't allocate memory: you tried to "
            "allocate 2621440000 bytes. Error code 12 (Cannot allocate memory)",
            Kind("out-of-memory", "ram", 2621440000),
        ),
        ("builtins.MemoryError", "", Kind("out-of-memory", "ram")),
        (
            "numpy._core._exceptions._ArrayMemoryError",
            "Unable to allocate 1.50 GiB for an array with shape (81, 1280, 1280, 3) and data type float32",
            Kind("out-of-memory", "ram", int(1.5 * GIB)),
        ),
        # RAM-13, ComfyUI #8065: not a word of VRAM.
        (
            "OSError",
            "The paging file is too small for this operation to complete. (os error 1455)",
            Kind("out-of-memory", "ram"),
        ),
        # RAM-05: what ended with 137 was most often ended for lack of RAM.
        (
            "subprocess.CalledProcessError",
            "Command 'ffmpeg' returned non-zero exit status 137.",
            Kind("out-of-memory", "ram"),
        ),
        ("subprocess.CalledProcessError", "Command 'x' died with <Signals.SIGKILL: 9>.", Kind("out-of-memory", "ram")),
        ("headroom.core.errors.NonFiniteLatent", "LATENT: 12 % of the values are bad.", Kind("nan")),
        ("pack.core.errors.NonFiniteSampling", "Step 3 of 20.", Kind("nan")),
        ("RuntimeError", "probability tensor contains either `inf`, `nan` or element < 0", Kind("nan")),
        ("modules.devices.NansException", "A tensor with all NaNs was produced in Unet.", Kind("nan")),
        ("ValueError", "Unknown model nano-banana; Infinity is none either", Kind("other")),
        ("RuntimeError", "mat1 and mat2 shapes cannot be multiplied (77x768 and 2048x320)", Kind("other")),
        ("FileNotFoundError", "[Errno 2] No such file or directory: 'x.png'", Kind("other")),
    ],
)
def test_an_error_is_known_by_its_class_and_its_words(name: str, text: str, kind: Kind):
    assert kind_of(name, text) == kind


def test_on_the_cpu_memory_is_ram_unless_the_error_names_a_card():
    assert kind_of("RuntimeError", "out of memory", on_cpu=True).memory == "ram"
    assert kind_of(OOM, TEXT, on_cpu=True).memory == "vram"


# ---- the moment ----


def moment(*models: LoadedModel, card: Device = CARD, host: Host | None = None, **ram: Any) -> Snapshot:
    """The machine when it failed."""
    ram = {"total_bytes": 32 * GIB, "available_bytes": 3 * GIB, "swap_total_bytes": 8 * GIB, **ram}
    known = frozenset({"--cache-none", "--vram-headroom", "--reserve-vram"})
    return Snapshot(5000.0, host or Host(known_flags=known), (card,), ram=Ram(**ram), models=models)


def node(kind: str, display_id: str = "3") -> NodeRun:
    return NodeRun("7.0.1", display_id, kind, 1.0, 42.0, "running")


def test_it_holds_the_readings_of_that_moment_and_the_node_that_the_user_sees():
    found = failure_at(moment(UNET, CLIP), OOM, TEXT, node("KSampler"))
    assert (found.kind, found.memory, found.at) == ("out-of-memory", "vram", 5000.0)
    assert (found.node_id, found.node_type, found.running_seconds) == ("3", "KSampler", 42.0)
    assert (found.asked_bytes, found.free_bytes, found.message) == (int(3.46 * GIB), int(1.46 * GIB), TEXT)
    assert (found.devices, found.models, found.ram.available_bytes) == ((CARD,), (UNET, CLIP), 3 * GIB)


@pytest.mark.parametrize(
    ("text", "free"),
    [("CUDA error: out of memory", GIB), ("DefaultCPUAllocator: not enough memory", 3 * GIB), ("no such file", None)],
)
def test_what_was_free_is_read_where_the_error_does_not_say_it(text: str, free: int | None):
    assert failure_at(moment(), "RuntimeError", text, node("KSampler")).free_bytes == free


def test_an_error_that_was_learnt_of_too_late_has_its_words_alone():
    found = failure_at(Snapshot(9.0), OOM, TEXT, node("KSampler"), late=True)
    assert (found.devices, found.models, found.running_seconds) == ((), (), None)
    assert (found.asked_bytes, found.node_type) == (int(3.46 * GIB), "KSampler")
    assert failure_at(Snapshot(9.0), "", "", None).node_id is None


def test_the_message_is_shown_without_paths_keys_and_home():
    text = "No such file: '/home/alice/secret/model.safetensors' with hf_abcdefghijklmnopqrst"
    found = failure_at(moment(), "OSError", text, node("LoadImage"))
    shown = snapshot_json(replace(moment(), failure=found))["failure"]["message"]
    assert shown == "No such file: '~/secret/model.safetensors' with ***"


def test_it_is_json():
    found = failure_at(moment(UNET, CLIP), OOM, TEXT, node("KSampler"))
    shown = json.loads(json.dumps(snapshot_json(replace(moment(), failure=found)), allow_nan=False))["failure"]
    assert shown["devices"][0]["name"] == CARD.name
    assert [fix["id"] for fix in shown["fixes"]] == [fix.id for fix in found.fixes]
    assert shown["fixes"][0]["params"]["models"] == ["umt5.safetensors"]


# ---- what to do ----


@dataclass(frozen=True)
class Example:
    """A failure that must bring the fix; ``without`` is hardly different and must not."""

    has: Failure
    without: Failure
    expected_bytes: int | None = None


def failed(kind: str, *models: LoadedModel, text: str = TEXT, batch: int | None = None, **parts: Any) -> Failure:
    name = "RuntimeError" if text != TEXT else OOM
    return failure_at(moment(*models, **parts), name, text, node(kind), batch)


def host(*flags: str, dynamic: bool | None = None, **fields: Any) -> Host:
    known = frozenset({"--cache-none", "--vram-headroom", "--reserve-vram"})
    return Host(flags=frozenset(flags), known_flags=known, dynamic_vram=dynamic, **fields)


def programs(*found: Program, **fields: Any) -> Device:
    return replace(CARD, programs=found, **fields)


RAM_TEXT = "DefaultCPUAllocator: can't allocate memory: you tried to allocate 2621440000 bytes."
NAN_TEXT = "a tensor with NaN"
STATIC = host(dynamic=False, reserved_bytes=400 * MIB)
SMALL = replace(UNET, resident_bytes=GIB)

EXAMPLES: dict[str, Example] = {
    "start-without": Example(failed("KSampler", host=host("--highvram")), failed("KSampler", host=host("--lowvram"))),
    "safe-decode": Example(failed("VAEDecode"), failed("HeadroomVAEDecode")),
    "safe-encode": Example(failed("VAEEncode"), failed("VAEDecode")),
    "unload-idle": Example(failed("VAEDecode", VAE, UNET, CLIP), failed("VAEDecode", VAE), 10 * GIB),
    "close-program": Example(
        failed("KSampler", card=programs(Program("C:\\ollama.exe", 3 * GIB, 1), Program("x", GIB, 2))),
        failed("KSampler", card=programs(Program("Xorg", 100 * MIB, 1))),
        3 * GIB,
    ),
    "close-programs": Example(
        failed("KSampler", card=replace(CARD, others_bytes=2 * GIB, others_estimated=True)),
        failed("KSampler", card=replace(CARD, others_bytes=2 * GIB, others_estimated=True, unified=True)),
        2 * GIB,
    ),
    "block-swap": Example(failed("WanVideoSampler"), failed("WanVideoDecode")),
    # Of 12 GiB in torch 8 are weights; 3.46 more were asked for, and half of 7.46 is 3.73.
    "smaller-batch": Example(
        failed("KSampler", UNET, batch=4), failed("KSampler", UNET, batch=1), int(0.5 * (4 * GIB + int(3.46 * GIB)))
    ),
    # 2 GiB short, 0.39 GiB reserved: the next half is 2.5.
    "keep-free": Example(
        failed("KSampler", UNET, host=STATIC),
        failed("KSampler", SMALL, host=STATIC),
        int(2.5 * GIB) - 400 * MIB,
    ),
    # 1 - 49/64 of 7.46 GiB.
    "smaller-size": Example(
        failed("KSampler", UNET), failed("CLIPTextEncode", UNET), int(15 / 64 * (4 * GIB + int(3.46 * GIB)))
    ),
    "page-file": Example(failed("UNETLoader", text="(os error 1455)"), failed("UNETLoader", text=RAM_TEXT)),
    "container-limit": Example(
        failed("KSampler", text=RAM_TEXT, limit_source="cgroup v2"), failed("KSampler", text=RAM_TEXT)
    ),
    "cache-none": Example(
        failed("KSampler", text=RAM_TEXT), failed("KSampler", text=RAM_TEXT, host=host("--cache-none"))
    ),
    "smaller-file": Example(
        failed("KSampler", UNET, text=RAM_TEXT), failed("KSampler", replace(UNET, dtype="fp8"), text=RAM_TEXT), 4 * GIB
    ),
    "add-swap": Example(
        failed("KSampler", text=RAM_TEXT, swap_total_bytes=0),
        failed("KSampler", text=RAM_TEXT, swap_total_bytes=8 * GIB),
    ),
    "ram-smaller": Example(failed("KSampler", text=RAM_TEXT), failed("KSampler")),
    "nan-flags": Example(
        failed("KSampler", text=NAN_TEXT, host=host("--use-sage-attention")),
        failed("VAEDecode", text=NAN_TEXT, host=host("--use-sage-attention")),
    ),
    "nan-safe-vae": Example(failed("VAEDecode", text=NAN_TEXT), failed("KSampler", text=NAN_TEXT)),
    "nan-model-guard": Example(
        failed("HeadroomLatentGuard", text=NAN_TEXT), failed("HeadroomModelGuard", text=NAN_TEXT)
    ),
    "nan-locate": Example(failed("VAEDecode", text=NAN_TEXT), failed("HeadroomLatentGuard", text=NAN_TEXT)),
}


def test_every_fix_has_its_two_cases():
    assert sorted(EXAMPLES) == sorted(row.id for row in FIXES)


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_failure_brings_the_fix_and_its_neighbour_does_not(name: str):
    example = EXAMPLES[name]
    found = next(fix for fix in example.has.fixes if fix.id == name)
    assert found.expected_bytes == pytest.approx(example.expected_bytes, abs=1)
    assert "{" not in found.text
    assert "expected_bytes" not in found.params
    assert name not in [fix.id for fix in example.without.fixes]


@pytest.mark.parametrize("name", EXAMPLES)
def test_there_are_at_most_three_and_each_says_one_thing(name: str):
    for failure in (EXAMPLES[name].has, EXAMPLES[name].without):
        assert len({fix.id for fix in failure.fixes}) == len(failure.fixes) <= MOST_FIXES


def test_another_error_brings_no_fix():
    assert failed("KSampler", UNET, CLIP, text="mat1 and mat2 shapes cannot be multiplied").fixes == ()


def test_nothing_known_makes_no_number():
    bare = failure_at(Snapshot(1.0), OOM, "Allocation on device", node("KSampler"))
    assert [(fix.id, fix.expected_bytes) for fix in bare.fixes] == [("smaller-size", None)]


def test_a_full_card_with_everything_on_it_gets_the_cheap_fixes_first():
    """ComfyUI #15453: models stay when another one is loaded; Ollama holds VRAM with its default keep_alive."""
    card = programs(Program("ollama", 3 * GIB, 7))
    found = failed("VAEDecode", VAE, UNET, CLIP, card=card)
    assert [fix.id for fix in found.fixes] == ["safe-decode", "unload-idle", "close-program"]
    texts = [fix.text for fix in found.fixes]
    assert texts[1] == (
        "Put the node Free Memory before this one: wan.safetensors and umt5.safetensors did no work in this node "
        "and stayed on the card."
    )
    assert texts[2] == "Close Ollama, or stop what it keeps on the card."


def test_a_model_under_dynamic_vram_is_not_counted_as_torchs():
    """Its pages are beside torch: all of torch's 12 GiB were working memory."""
    found = failed("KSampler", replace(UNET, dynamic=True), batch=2)
    batch = next(fix for fix in found.fixes if fix.id == "smaller-batch")
    assert batch.expected_bytes == pytest.approx(0.5 * (12 * GIB + int(3.46 * GIB)), abs=1)


@pytest.mark.parametrize(
    ("given", "flag"),
    [
        (host(dynamic=True), "--vram-headroom 2"),
        (host(dynamic=True, args={"vram_headroom": 1.5}), "--vram-headroom 3.5"),
        (host(dynamic=False, reserved_bytes=400 * MIB), "--reserve-vram 2.5"),
        (
            replace(host(dynamic=True), known_flags=frozenset({"--reserve-vram"}), reserved_bytes=GIB),
            "--reserve-vram 3",
        ),
    ],
)
def test_what_to_keep_free_is_what_lacked_beside_what_is_kept_free_already(given: Host, flag: str):
    """2 GiB lacked: asked for 3.46 with 1.46 free."""
    found = failed("KSampler", UNET, host=given)
    assert next(fix for fix in found.fixes if fix.id == "keep-free").params["flag"] == flag


def test_a_negative_reserve_is_what_to_leave_out():
    """FLAG-11: guides name --reserve-vram -1; it ends in out of memory."""
    given = host("--reserve-vram", args={"reserve_vram": -1.0})
    assert failed("KSampler", UNET, host=given).fixes[0].params["flags"] == ["--reserve-vram"]


def test_a_page_file_that_is_too_small_gets_no_word_of_vram_flags():
    """RAM-13: enlarge the page file, not VRAM advice."""
    found = failed("UNETLoader", UNET, text="The paging file is too small. (os error 1455)")
    assert found.fixes[0].id == "page-file"
    assert not any("--" in fix.text for fix in found.fixes)


def test_texts_are_whole_sentences_about_one_thing():
    for row in FIXES:
        assert row.text.endswith(".")
        assert row.source
        assert not re.search(r"\b(?:please|simply|just)\b", row.text, re.IGNORECASE)
