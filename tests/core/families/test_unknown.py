"""Files that no row fits: still bytes and blocks, and never a guess."""

from __future__ import annotations

import pytest

from headroom.core.blocks import split
from headroom.core.families import identify
from headroom.core.tensorinfo import TensorInfo


def header(*tensors: tuple[str, int]) -> dict[str, TensorInfo]:
    """Names and bytes."""
    return {name: TensorInfo(name, "F16", (size // 2,), size) for name, size in tensors}


def test_block_like_repeats():
    tensors = header(
        *((f"net.stages.{n}.layers.{k}.weight", 100 + n) for n in range(3) for k in range(4)),
        ("net.stem.weight", 64),
        ("net.out.weight", 32),
    )
    identity = identify(tensors)
    assert (identity.kind, identity.status, identity.name) == ("unknown", "unknown", "unknown model")
    assert [(stack.stem, stack.count, stack.role) for stack in identity.stacks] == [("net.stages.", 3, "repeat")]
    blocks = split(tensors, identity)
    assert blocks.stacks[0].block_bytes == (400, 404, 408)
    assert blocks.outside_bytes == 96
    assert identity.size_bytes == blocks.total_bytes == 1308


def test_longcat_video_s_48_blocks():
    """SWAP-14. The host has no class for it, but a wrapper that swaps its blocks loads it."""
    own = header(*((f"blocks.{n}.attn.qkv.weight", 10) for n in range(48)), ("x_embedder.proj.weight", 6))
    identity = identify(own)
    assert identity.status == "unknown"
    assert [(stack.stem, stack.count) for stack in identity.stacks] == [("blocks.", 48)]


def test_numbers_that_are_glued_to_a_word_need_a_longer_row():
    few = header(("a.conv0.weight", 2), ("a.conv1.weight", 2), ("a.conv2.weight", 2))
    assert identify(few).stacks == ()
    more = header(*((f"a.block{n}.weight", 2) for n in range(4)))
    assert [(stack.stem, stack.count) for stack in identify(more).stacks] == [("a.block", 4)]


@pytest.mark.parametrize(
    "names",
    [
        [],
        ["weight"],
        [".", "..", "a.", ".b", "0.1.2", ""],
        ["model.", "net.", "model.diffusion_model."],
        ["blocks.99999999999999999999.x.weight"],
        ["ünïcödé.0.é", "a\u0000b.1.c"],
        ["a." * 500 + "weight"],
    ],
)
def test_odd_names_do_no_harm(names: list[str]):
    tensors = header(*((name, 8) for name in names))
    identity = identify(tensors)
    assert identity.status == "unknown"
    assert identity.tensors == len(names)
    assert split(tensors, identity).total_bytes == 8 * len(names)


@pytest.mark.parametrize(
    "text", ["", "{", "[]", '{"transformer": 3}', '{"transformer": {"dim": null}}', "\u0000", "[" * 5000]
)
def test_odd_metadata_does_no_harm(text: str):
    tensors = header(("head.modulation", 8), ("patch_embedding.weight", 8))
    identity = identify(tensors, {"config": text, "_quantization_metadata": text})
    assert (identity.kind, identity.architecture, identity.status) == ("diffusion model", "wan", "broken")


@pytest.mark.parametrize("number", ["9" * 20, "9" * 5000, "999999", "²", "٣"])
def test_a_block_of_an_absurd_number_costs_nothing(number: str):
    """A row of names is never counted out up to a number that a hostile file gives."""
    names = ("head.modulation", f"blocks.{number}.x.weight", f"lora_unet_blocks_{number}_x.lora_down.weight")
    tensors = header(*((name, 8) for name in names))
    assert split(tensors, identify(tensors)).total_bytes == 24
    lora = header((names[2], 8))
    assert identify(lora).kind == "lora"


def test_shapes_that_are_too_short_are_not_read():
    """A scalar where a matrix is expected: no index error, and no family."""
    tensors = {
        name: TensorInfo(name, "F16", (), 2)
        for name in ("head.modulation", "head.head.weight", "patch_embedding.weight", "blocks.0.ffn.0.weight")
    }
    identity = identify(tensors)
    assert identity.status == "broken"
    assert identity.hidden_size is None
