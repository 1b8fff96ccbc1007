"""The tables themselves: unique ids, every row reached, every row with its source."""

from __future__ import annotations

import json
from itertools import chain
from pathlib import Path
from typing import Any

import pytest

from headroom.core.cause_table import FP16_OVERFLOWS
from headroom.core.families import ARCHITECTURES, FAMILIES, controlnets, identify, others, text_encoders, vaes
from headroom.core.families.common import LATENTS
from headroom.core.families.unet import DIFFUSERS_SHAPES

DATA = Path(__file__).resolve().parent.parent.parent / "data" / "families"
PLAIN = {
    "vaes": vaes.ROWS,
    "text encoders": text_encoders.ROWS,
    "controlnets": controlnets.ROWS,
    "image encoders": others.VISION,
    "style models": others.STYLE,
    "upscalers": others.UPSCALERS,
}
NATIVE = [row for row in ARCHITECTURES if row.style == "comfy"]


@pytest.mark.parametrize("table", PLAIN)
def test_ids_of_plain_rows_are_unique_and_have_sources(table: str):
    rows = PLAIN[table]
    assert len({row.id for row in rows}) == len(rows)
    assert all(row.source and row.name and row.sign.keys for row in rows)


def test_architectures_have_ids_of_their_own_sources_and_parts():
    assert len({row.id for row in ARCHITECTURES}) == len(ARCHITECTURES)
    for row in ARCHITECTURES:
        assert row.source, row.id
        assert row.sign.keys, row.id
        assert row.parts, row.id
        assert row.stacks, row.id
        assert row.hidden in row.facts, row.id


def test_a_family_belongs_to_one_architecture():
    """In ComfyUI's names; the same row serves other names of it. SeedVR2 has two layouts and one row each."""
    ids = [(family.id, row.group) for row in NATIVE for family in row.families]
    assert len({family for family, _ in ids}) == len(set(ids)) == len(FAMILIES)


def test_diffusers_rows_name_the_same_families():
    for row in ARCHITECTURES:
        if row.style == "diffusers":
            assert {family.id for family in row.families} <= FAMILIES.keys()


def test_what_a_family_depends_on_is_read(all_cases: Any, build: Any):
    """Every key of ``when``, of the memory formula and of the size's word is a fact of its architecture; a value that
    only metadata sets is named in ``config``."""
    sizes = {case.cls: identify(build(case).tensors, case.metadata).sizes for case in all_cases}
    for row in NATIVE:
        for family in row.families:
            found = sizes[family.id].keys() | set(row.config)
            wanted = {*family.when, *filter(None, [family.memory.per]), *([row.size[0]] if row.size else [])}
            assert wanted <= found, (family.id, wanted - found)


def test_every_architecture_family_and_latent_format_is_reached(all_cases: Any, build: Any):
    """No row is dead: some header of the corpus leads to it."""
    reached, rows, latents = set(), set(), set()
    for case in all_cases:
        made = build(case)
        identity = identify(made.tensors, case.metadata)
        reached.add(identity.family)
        rows |= {row.id for row in ARCHITECTURES if row.sign.fits(made.header)}
        if identity.latent:
            latents.add(identity.latent.format)
    assert reached == FAMILIES.keys()
    assert rows == {row.id for row in NATIVE}
    # Playground's is chosen by keys beside the model: test_checkpoints.py.
    assert latents == LATENTS.keys() - {"SDXL_Playground_2_5"}


def test_every_size_has_its_words_in_some_name(all_cases: Any, build: Any):
    """A word for a size that no header has is a typing error; a name never shows an empty brace."""
    names = [identify(build(case).tensors, case.metadata).name for case in all_cases]
    assert not [name for name in names if "{" in name or "  " in name or name.endswith(" ")]
    for row in NATIVE:
        if row.size and any("{size}" in family.name for family in row.families):
            for word in row.size[1].values():
                alone = [cut for cut in names if word in cut]
                known = word in {"small", "base", "giant"}  # of Depth Anything, one of which is in the corpus
                assert alone or known, (row.id, word)


def test_usual_numbers_of_blocks_are_those_of_the_corpus(all_cases: Any, build: Any):
    """No case is remarked on; a number that no case has is a published file's."""
    for case in all_cases:
        assert identify(build(case).tensors, case.metadata).remarks == (), case.name


def test_no_row_of_another_kind_claims_a_diffusion_model(all_cases: Any, build: Any):
    """The order in which the kinds are tried then decides nothing."""
    from headroom.core.families.index import Header

    for case in all_cases:
        index = build(case).header.index
        for kind, rows in PLAIN.items():
            for prefix in ("", "model.", "params_ema."):
                claimed = [row.id for row in rows if row.sign.fits(Header(index, prefix))]
                assert claimed == [], (case.name, kind)


def test_models_that_overflow_in_fp16_are_those_of_the_cause_table():
    """One list for the guard and one for the estimates: they must not differ."""
    named = {family.id for family in FAMILIES.values() if family.fp16_overflow}
    assert named >= FP16_OVERFLOWS
    # The host leaves fp16 out for these two for that reason, and says so.
    assert named - FP16_OVERFLOWS == {"Lens", "HiDreamO1"}
    assert all("fp16" not in FAMILIES[family].dtypes for family in named)


def test_the_diffusers_shapes_are_families():
    assert set(DIFFUSERS_SHAPES.values()) <= FAMILIES.keys()


def test_every_file_of_the_corpus_says_where_its_numbers_come_from():
    for path in DATA.glob("*.json"):
        data = json.loads(path.read_text("utf-8"))
        if "cases" in data:
            assert data["class"] == path.stem
            assert all(case["source"] and case["id"] for case in data["cases"])
            assert len({case["id"] for case in data["cases"]}) == len(data["cases"])
        elif "source" not in data:
            assert path.name == "exceptions.json"


def test_rows_of_the_vae_table_have_shapes():
    assert all(row.shape is not None and row.family for row in vaes.ROWS)


def test_no_fact_is_named_twice_in_two_ways():
    """The width of a model is always under ``hidden``; a fact of that name exists where formulas need it."""
    names = set(chain.from_iterable(row.facts for row in ARCHITECTURES))
    assert {"dim", "hidden_size", "model_channels"} <= names
