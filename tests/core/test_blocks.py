"""Bytes per block: they add up to the file, and agree with what ComfyUI and its wrappers have logged."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from headroom.core.blocks import Blocks, StackBytes, block_number, split
from headroom.core.families import identify
from headroom.core.tensorinfo import TensorInfo

MIB = 2**20
BYTES = {"F16": 2, "BF16": 2, "F32": 4, "F8_E4M3": 1}


def tensor(name: str, shape: Iterable[int], dtype: str = "F16") -> TensorInfo:
    """A tensor of a header."""
    shape = tuple(shape)
    size = BYTES[dtype]
    for length in shape:
        size *= length
    return TensorInfo(name, dtype, shape, size)


def wan(
    dim: int = 5120,
    ffn: int = 13824,
    layers: int = 40,
    in_dim: int = 16,
    image: bool = False,
    matrices: str = "F16",
    vace: int = 0,
) -> dict[str, TensorInfo]:
    """The header of a Wan 2.x file: the shapes of comfy/ldm/wan/model.py 0.30.0, patch embedding in fp32 as the host
    keeps it, matrices in the dtype given and everything else in fp16."""

    def linear(name: str, outs: int, ins: int) -> list[TensorInfo]:
        return [tensor(f"{name}.weight", (outs, ins), matrices), tensor(f"{name}.bias", (outs,))]

    def block(at: str) -> list[TensorInfo]:
        found = [
            tensor(f"{at}.modulation", (1, 6, dim)),
            *linear(f"{at}.ffn.0", ffn, dim),
            *linear(f"{at}.ffn.2", dim, ffn),
        ]
        for attention, extra in (("self_attn", ()), ("cross_attn", ("k_img", "v_img") if image else ())):
            for part in ("q", "k", "v", "o", *extra):
                found += linear(f"{at}.{attention}.{part}", dim, dim)
            norms = ("norm_q", "norm_k", *(("norm_k_img",) if extra else ()))
            found += [tensor(f"{at}.{attention}.{norm}.weight", (dim,)) for norm in norms]
        return [*found, tensor(f"{at}.norm3.weight", (dim,)), tensor(f"{at}.norm3.bias", (dim,))]

    found = [
        tensor("patch_embedding.weight", (dim, in_dim, 1, 2, 2), "F32"),
        tensor("patch_embedding.bias", (dim,), "F32"),
        *linear("text_embedding.0", dim, 4096),
        *linear("text_embedding.2", dim, dim),
        *linear("time_embedding.0", dim, 256),
        *linear("time_embedding.2", dim, dim),
        *linear("time_projection.1", 6 * dim, dim),
        *linear("head.head", 64, dim),
        tensor("head.modulation", (1, 2, dim)),
    ]
    for n in range(layers):
        found += block(f"blocks.{n}")
    for n in range(vace):
        found += block(f"vace_blocks.{n}") + linear(f"vace_blocks.{n}.after_proj", dim, dim)
    if vace:
        found += [
            tensor("vace_patch_embedding.weight", (dim, 96, 1, 2, 2)),
            *linear("vace_blocks.0.before_proj", dim, dim),
        ]
    if image:
        found += [tensor("img_emb.proj.0.bias", (1280,))]
    return {each.name: each for each in found}


def blocks_of(tensors: dict[str, TensorInfo]) -> Blocks:
    """Identified and split."""
    return split(tensors, identify(tensors))


def bare(tensors: dict[str, TensorInfo]) -> int:
    """Bytes that ComfyUI's log leaves out: it counts the weights of layers, not what is a parameter by itself, which is
    the ``modulation`` of every block and of the head."""
    return sum(each.size_bytes for name, each in tensors.items() if name.endswith("modulation"))


def test_wan_14b_in_fp16_is_what_comfyui_logs():
    """27251.41 MiB (#13598)."""
    tensors = wan()
    logged = blocks_of(tensors).total_bytes - bare(tensors)
    assert logged / MIB == pytest.approx(27251.41, abs=0.005)
    # The bf16 file has the norms of queries and keys in fp32: 27252.97.
    norms = sum(each.size_bytes for name, each in tensors.items() if "norm_q" in name or "norm_k" in name)
    assert (logged + norms) / MIB == pytest.approx(27252.97, abs=0.005)


def test_wan_14b_in_fp8_text_to_video():
    """SWAP-04: 13409.26 MiB in 40 blocks of 335.23."""
    (stack,) = blocks_of(wan(matrices="F8_E4M3")).of("main")
    assert stack.count == 40
    assert stack.total_bytes / MIB == pytest.approx(13409.26, abs=0.005)
    assert {round(size / MIB, 2) for size in stack.block_bytes} == {335.23}
    assert not stack.uneven


def test_wan_14b_in_fp8_image_to_video():
    """SWAP-03: 15410.43 MiB in 40 blocks of 385.26; the image's keys and values make the difference."""
    (stack,) = blocks_of(wan(matrices="F8_E4M3", image=True, in_dim=36)).of("main")
    assert stack.total_bytes / MIB == pytest.approx(15410.43, abs=0.005)
    assert {round(size / MIB, 2) for size in stack.block_bytes} == {385.26}


def test_wan_22_in_fp8_as_staged():
    """13631 MiB (ComfyUI #13234): all matrices in fp8, high and low noise alike."""
    tensors = wan(matrices="F8_E4M3", in_dim=36)
    assert (blocks_of(tensors).total_bytes - bare(tensors)) / MIB == pytest.approx(13631, abs=0.5)


@pytest.mark.parametrize(
    ("tensors", "counts"),
    [
        (wan(), {"main": 40}),
        (wan(1536, 8960, 30), {"main": 30}),
        (wan(3072, 14336, 30, in_dim=48), {"main": 30}),
        (wan(4096, 11008, 48), {"main": 48}),
        (wan(vace=8), {"main": 40, "vace": 8}),
        (wan(1536, 8960, 30, vace=15), {"main": 30, "vace": 15}),
    ],
    ids=["14B", "1.3B", "5B", "48 blocks", "VACE 14B", "VACE 1.3B"],
)
def test_wan_s_numbers_of_blocks(tensors: dict[str, TensorInfo], counts: dict[str, int]):
    """SWAP-14. VACE's blocks are a stack of their own."""
    blocks = blocks_of(tensors)
    assert {stack.role: stack.count for stack in blocks.stacks} == counts


def test_vace_blocks_are_not_counted_among_the_others():
    blocks = blocks_of(wan(vace=8))
    (vace,) = blocks.of("vace")
    (main,) = blocks.of("main")
    assert vace.stem == "vace_blocks."
    assert min(vace.block_bytes) > max(main.block_bytes)
    # The first one has a layer in front.
    assert vace.block_bytes[0] - vace.block_bytes[1] == (5120 * 5120 + 5120) * 2
    assert main.total_bytes == blocks_of(wan()).of("main")[0].total_bytes


def numbered(*stacks: tuple[str, int], more: Iterable[str] = ()) -> dict[str, TensorInfo]:
    """A header of few names: one small tensor per block, and what a family is recognised by."""
    names = [f"{stem}{n}.weight" for stem, count in stacks for n in range(count)]
    return {name: tensor(name, (2, 2)) for name in (*names, *more)}


FLUX = (
    "double_blocks.0.img_attn.norm.key_norm.weight",
    "img_in.weight",
    "txt_in.weight",
    "guidance_in.in_layer.weight",
)


@pytest.mark.parametrize(
    ("tensors", "architecture", "counts"),
    [
        (numbered(("double_blocks.", 19), ("single_blocks.", 38), more=FLUX), "flux", (19, 38)),
        (numbered(("double_blocks.", 8), ("single_blocks.", 38), more=FLUX), "flux", (8, 38)),
        (numbered(("transformer_blocks.", 60), more=("txt_norm.weight",)), "qwen_image", (60,)),
        (
            numbered(("transformer_blocks.", 28), more=("adaln_single.emb.timestep_embedder.linear_1.bias",)),
            "ltx",
            (28,),
        ),
        (numbered(("blocks.", 48), more=("t5_yproj.weight",)), "mochi", (48,)),
    ],
    ids=["Flux", "Flex", "Qwen-Image", "LTX", "Mochi"],
)
def test_blocks_are_counted_by_their_names(tensors: dict[str, TensorInfo], architecture: str, counts: tuple[int, ...]):
    """SWAP-18, SWAP-20. Also where the rest of the file is missing: a count is never taken from a table."""
    identity = identify(tensors)
    assert identity.architecture == architecture
    assert tuple(stack.count for stack in split(tensors, identity).of("main")) == counts


def test_uneven_blocks_stay_as_they_are():
    names = {
        "input_blocks.0.0.weight": (320, 4, 3, 3),
        "input_blocks.1.0.in_layers.0.weight": (320,),
        "input_blocks.2.0.op.weight": (320, 320, 3, 3),
        "middle_block.0.x": (8,),
        "output_blocks.0.0.x": (4,),
        "time_embed.0.weight": (2, 2),
        "out.2.weight": (4, 320),
    }
    tensors = {name: tensor(name, shape) for name, shape in names.items()}
    blocks = blocks_of(tensors)
    first = blocks.stacks[0]
    assert first.stem == "input_blocks."
    assert first.block_bytes == (320 * 4 * 9 * 2, 640, 320 * 320 * 9 * 2)
    assert first.uneven
    assert blocks.outside_bytes == (4 + 4 * 320) * 2
    assert blocks.total_bytes == sum(each.size_bytes for each in tensors.values())


def test_blocks_behind_a_hole_are_still_in_their_stack():
    """The host would count three; the bytes of the others are in no other place."""
    tensors = numbered(("blocks.", 3), more=("head.modulation", "blocks.7.weight", "blocks.8.weight"))
    (stack,) = blocks_of(tensors).of("main")
    assert stack.numbers == (0, 1, 2, 7, 8)
    assert stack.count == 5
    assert stack.block_bytes == (8,) * 5


@pytest.mark.parametrize(
    ("name", "stem", "number"),
    [
        ("blocks.7.ffn.weight", "blocks.", 7),
        ("blocks.12.x", "blocks.", 12),
        ("blocks.block3.x", "blocks.block", 3),
        ("blocks.7", "blocks.", None),
        ("blocks.x.1", "blocks.", None),
        ("blocks.7x.y", "blocks.", None),
        ("blocks.٧.x", "blocks.", None),
        ("vace_blocks.7.x", "blocks.", None),
    ],
)
def test_the_number_of_a_block(name: str, stem: str, number: int | None):
    assert block_number(name, stem) == number


def test_bytes_that_do_not_add_up_are_refused():
    stack = StackBytes("blocks.", "main", (0, 1), (10, 10))
    assert Blocks((stack,), outside_bytes=5, others_bytes=0, total_bytes=25).total_bytes == 25
    with pytest.raises(ValueError, match="25 bytes, the file has 26"):
        Blocks((stack,), outside_bytes=5, others_bytes=0, total_bytes=26)


def test_an_empty_file_has_no_blocks():
    blocks = split({}, identify({}))
    assert (blocks.stacks, blocks.total_bytes) == ((), 0)
