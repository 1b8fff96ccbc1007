"""Recognised but broken: a family's names with a part missing; and what differs without being broken."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from headroom.core.families import ARCHITECTURES, identify
from headroom.core.families.damage import gaps_in
from headroom.core.tensorinfo import TensorInfo

Headers = Callable[[str], dict[str, TensorInfo]]


@pytest.fixture
def header_of(all_cases: Any, build: Any) -> Headers:
    """The header of the first case of a class."""
    return lambda cls: dict(build(next(case for case in all_cases if case.cls == cls)).tensors)


def without(tensors: dict[str, TensorInfo], *starts: str) -> dict[str, TensorInfo]:
    """A header without the names that start so."""
    return {name: tensor for name, tensor in tensors.items() if not name.startswith(starts)}


def block(name: str, stem: str = "blocks.") -> int:
    """The block that a name belongs to; -1 outside the blocks."""
    head, _, _ = name.removeprefix(stem).partition(".")
    return int(head) if name.startswith(stem) and head.isdigit() else -1


def test_the_first_of_two_shards(header_of: Headers):
    """Half of the blocks and no head: the name that says "Wan" is in the other file."""
    shard = {
        name: tensor
        for name, tensor in header_of("WAN21_T2V").items()
        if block(name) < 20 and not name.startswith("head.")
    }
    identity = identify(shard)
    assert (identity.status, identity.kind, identity.architecture) == ("broken", "diffusion model", "wan")
    assert identity.family is None
    assert "head.modulation is missing" in identity.faults
    assert [stack.count for stack in identity.stacks] == [20]


def test_the_second_of_two_shards(header_of: Headers):
    shard = {
        name: tensor for name, tensor in header_of("WAN21_T2V").items() if block(name) >= 20 or name.startswith("head.")
    }
    identity = identify(shard)
    assert (identity.status, identity.architecture) == ("broken", "wan")
    assert "patch_embedding.weight is missing" in identity.faults
    assert "blocks.N: 0 to 19 missing" in identity.faults


def test_a_hole_in_the_blocks(header_of: Headers):
    tensors = without(
        header_of("QwenImage"), "transformer_blocks.7.", "transformer_blocks.9.", "transformer_blocks.10."
    )
    identity = identify(tensors)
    assert (identity.status, identity.family) == ("broken", "QwenImage")
    assert identity.faults == ("transformer_blocks.N: 7, 9 to 10 missing",)


def test_a_block_with_tensors_missing(header_of: Headers):
    tensors = header_of("WAN21_T2V")
    del tensors["blocks.3.ffn.0.weight"], tensors["blocks.3.ffn.2.weight"]
    identity = identify(tensors)
    assert (identity.status, identity.family) == ("broken", "WAN21_T2V")
    assert identity.faults == ("blocks.3 has no ffn.0.weight and 1 more",)


def test_all_blocks_of_a_stack_are_missing(header_of: Headers):
    identity = identify(without(header_of("Flux"), "single_blocks."))
    assert identity.status == "broken"
    assert "all single_blocks.N are missing" in identity.faults


def test_fewer_blocks_than_any_published_file_is_odd_but_loads(header_of: Headers):
    """A pruned model has whole blocks numbered from 0 and everything else: the host loads it as it is. Whether the rest
    was cut off on purpose cannot be told."""
    tensors = {name: tensor for name, tensor in header_of("WAN21_T2V").items() if block(name) < 20}
    identity = identify(tensors)
    assert (identity.status, identity.family) == ("known", "WAN21_T2V")
    assert identity.remarks == ("20 blocks.N where published files have 30 or 40 or 48: pruned, or incomplete",)
    assert identity.stacks[0].count == 20


PARTS = [(row, part) for row in ARCHITECTURES if row.style == "comfy" for part in row.parts]


@pytest.mark.parametrize(("row", "part"), PARTS, ids=lambda value: getattr(value, "id", value))
def test_a_part_that_is_missing_is_named(row: Any, part: str, all_cases: Any, build: Any):
    """Every part of every architecture: a file without it is broken and says so, or is no longer recognised at all."""
    families = {family.id for family in row.families}
    made = next(one for one in (build(case) for case in all_cases if case.cls in families) if row.sign.fits(one.header))
    whole, start = made.tensors, made.header.prefix + part
    less = {name: t for name, t in whole.items() if name != start and not name.startswith(f"{start}.")}
    assert len(less) < len(whole), f"no file of {row.id} has {part}"
    identity = identify(less)
    if identity.architecture == row.group:
        assert identity.status == "broken"
        # Its own name, or that of a tensor in it that the facts are read from.
        assert any(fault.startswith(part) for fault in identity.faults), identity.faults
    else:
        assert identity.status != "known"


TRACES = [(row, trace) for row in ARCHITECTURES if row.style == "comfy" for trace in row.traces]


@pytest.fixture(scope="module")
def owners(all_cases: Any, build: Any) -> dict[str, set[str]]:
    """Trace -> the architectures whose files have it."""
    found: dict[str, set[str]] = {trace: set() for _, trace in TRACES}
    for case in all_cases:
        header = build(case).header
        group = next(row.group for row in ARCHITECTURES if row.sign.fits(header))
        for trace in found:
            if header.prefix + trace in header.index.numberless:
                found[trace].add(group)
    return found


@pytest.mark.parametrize(("row", "trace"), TRACES, ids=lambda value: getattr(value, "id", value))
def test_a_trace_names_its_architecture(row: Any, trace: str, owners: dict[str, set[str]]):
    """A trace is in files of its architecture; where it is in others too, their own rows are tried first or the name
    says so."""
    assert row.group in owners[trace], "no file has it"
    assert owners[trace] == {row.group} or row.remains


def test_scales_that_only_some_blocks_have_are_no_damage(header_of: Headers):
    """Quantised files leave the first and last blocks alone."""
    tensors = header_of("WAN21_T2V")
    for n in range(2, 38):
        name = f"blocks.{n}.ffn.0.weight"
        tensors[name] = replace(tensors[name], dtype="F8_E4M3", size_bytes=tensors[name].elements)
        for end in ("weight_scale", "input_scale", "comfy_quant"):
            tensors[f"blocks.{n}.ffn.0.{end}"] = TensorInfo(f"blocks.{n}.ffn.0.{end}", "F32", (), 4)
    identity = identify(tensors)
    assert (identity.status, identity.faults) == ("known", ())


@pytest.mark.parametrize(
    ("numbers", "text"),
    [
        ({0, 1, 2}, ""),
        (set(), ""),
        ({3, 4}, "0 to 2"),
        ({0, 2, 5}, "1, 3 to 4"),
        ({999_999}, "0 to 999998"),
    ],
)
def test_gaps(numbers: set[int], text: str):
    assert gaps_in(numbers) == text


def test_a_known_architecture_of_a_shape_that_the_host_has_no_class_for(
    header_of: Headers, oracle: Any, to_header: Any
):
    """SDXL with other depths: the host says no match, Headroom says what it is like and keeps its blocks."""
    tensors = header_of("SDXL")
    at = "input_blocks.7.1.transformer_blocks."
    more = {name.replace(f"{at}0.", f"{at}10."): t for name, t in tensors.items() if name.startswith(f"{at}0.")}
    tensors |= {name: replace(tensor, name=name) for name, tensor in more.items()}
    identity = identify(tensors)
    assert (identity.status, identity.family, identity.architecture) == ("unknown", None, "unet")
    assert identity.remarks == ("ComfyUI 0.30.0 has no class for a model of this shape",)
    assert [stack.count for stack in identity.stacks] == [9, 3, 9]
