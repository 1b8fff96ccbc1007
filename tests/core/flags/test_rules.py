"""What holds for every rule: its two snapshots, its texts, its fix, and its silence where a reading is unknown."""

from __future__ import annotations

import dataclasses
import json
import re
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from flag_cases import CASES, snap

from headroom.core.flags import Advice, advise
from headroom.core.flags.catalogue import RULES
from headroom.core.flags.parsing import read
from headroom.core.flags.versions import table_for
from headroom.core.readings import Snapshot

BY_ID = {rule.id: rule for rule in RULES}
#: Not a start line that the parser of the version would take: what it shows is known of a newer ComfyUI only.
NEWER_ONLY = {"fast-disk-both"}
FLAG = re.compile(r"--[a-z][\w-]*")
VERSIONS = ("0.16.3", "0.18.2", "0.24.1", "0.27.0", "0.30.0")


def ids(snapshot: Snapshot) -> list[str]:
    return [advice.id for advice in advise(snapshot)]


def said(snapshot: Snapshot, rule: str) -> Advice:
    return next(advice for advice in advise(snapshot) if advice.id == rule)


def test_every_rule_has_its_two_snapshots() -> None:
    assert set(CASES) == set(BY_ID)
    assert len(BY_ID) == len(RULES)


@pytest.mark.parametrize("rule", CASES)
def test_the_snapshot_brings_the_rule_and_its_neighbour_does_not(rule: str) -> None:
    assert rule in ids(CASES[rule].brings)
    assert rule not in ids(CASES[rule].quiet)


def test_nothing_known_nothing_said() -> None:
    assert advise(Snapshot(0.0)) == ()


@pytest.mark.parametrize("version", [*VERSIONS, None])
def test_a_machine_as_it_comes_gets_no_advice(version: str | None) -> None:
    assert ids(snap(version=version)) == []


def test_on_the_cpu_alone_nothing_is_said() -> None:
    assert ids(snap("--cpu", swap_total_bytes=0, processes=3, total_bytes=8 * 2**30, platform="wsl")) == []


def test_ranks_differ_and_follow_severity() -> None:
    ranks = {severity: [r.rank for r in RULES if r.severity == severity] for severity in ("problem", "warning", "info")}
    assert max(ranks["problem"]) < 200 <= min(ranks["warning"])
    assert max(ranks["warning"]) < 600 <= min(ranks["info"])
    assert len({rule.rank for rule in RULES}) == len(RULES)


def test_what_costs_most_comes_first() -> None:
    both = replace(snap("--lowvram --reserve-vram -1"), last_run=CASES["last-run-unfinished"].brings.last_run)
    assert ids(both) == ["last-run-unfinished", "reserve-negative", "lowvram-noop"]


# --- texts ---


@pytest.mark.parametrize("rule", CASES)
def test_texts_keep_the_house_style(rule: str) -> None:
    advice = said(CASES[rule].brings, rule)
    texts = {"title": advice.title, "why": advice.why, "fix": advice.fix, "check": advice.check}
    for name, text in texts.items():
        assert text, f"{name} is empty"
        assert "!" not in text
        assert not re.search(r"\b(please|we|our|us)\b", text, re.IGNORECASE), text
        assert "{" not in text
        assert "None" not in text.replace("manual cast: None", "")
        assert text.count("`") % 2 == 0
        assert "--" not in re.sub(r"`[^`]*`", "", text), f"a flag outside backticks: {text}"
    assert not advice.title.endswith(".")
    assert advice.why.endswith(".")
    assert len(re.findall(r"\.(?:\s|$)", advice.why.replace("...", ""))) <= 2, "why is at most two sentences"
    assert advice.check.endswith(".")
    assert advice.source


@pytest.mark.parametrize("rule", CASES)
def test_every_variant_can_be_said(rule: str) -> None:
    """A variant that no snapshot of ours reaches is checked for its parameters alone."""
    found = BY_ID[rule]
    for name in found.variants:
        for text in (found.for_variant(name).title, found.for_variant(name).why, found.for_variant(name).fix):
            assert "!" not in text
            assert text.count("`") % 2 == 0


@pytest.mark.parametrize("rule", CASES)
def test_the_advice_is_plain_json(rule: str) -> None:
    found = said(CASES[rule].brings, rule).as_json()
    assert json.loads(json.dumps(found)) == found
    assert set(found) == {
        *("id", "severity", "rank", "title", "why", "fix", "command", "check", "source", "link", "params"),
    }
    assert {"removed", "added"} <= set(found["params"])


def test_the_link_is_the_first_public_report() -> None:
    assert said(CASES["lowvram-noop"].brings, "lowvram-noop").link == (
        "https://github.com/Comfy-Org/ComfyUI/pull/13922"
    )
    assert said(CASES["cgroup-unread"].brings, "cgroup-unread").link == (
        "https://github.com/Comfy-Org/ComfyUI/issues/14938"
    )
    assert said(CASES["novram-overruled"].brings, "novram-overruled").link == ""


# --- the fix ---


@pytest.mark.parametrize("rule", CASES)
def test_the_fix_is_something_to_paste(rule: str) -> None:
    advice = said(CASES[rule].brings, rule)
    if rule in NEWER_ONLY or advice.id in {"blockswap-node", "force-fp16-vae", "force-fp16-wide-unet"}:
        return  # a node to take out, or nothing to do
    assert advice.command
    assert "{" not in advice.command.replace("{print $1}", "").replace('{\\"', "")


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("rule", CASES)
def test_the_changed_line_is_one_that_this_version_takes(rule: str, version: str) -> None:
    before = CASES[rule].brings
    if read(before.host.argv, table_for(version)).faults:
        return  # no ComfyUI of this version starts with it
    snapshot = replace(before, host=replace(before.host, version=version))
    for advice in advise(snapshot):
        if advice.change:
            line = advice.command.partition("main.py")[2].split()
            assert read(line, table_for(version)).faults == []
            assert not set(advice.change.remove) & set(FLAG.findall(advice.command)) - set(advice.change.add)


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("rule", CASES)
def test_no_text_names_a_flag_that_this_version_lacks(rule: str, version: str) -> None:
    before = CASES[rule].brings
    snapshot = replace(before, host=replace(before.host, version=version))
    known = table_for(version).flags | snapshot.host.flags
    for advice in advise(snapshot):
        named = set(FLAG.findall(" ".join([advice.title, advice.why, advice.fix, *advice.change.add])))
        assert named <= known, f"{advice.id} at {version}"


@pytest.mark.parametrize("rule", CASES)
def test_the_parser_that_was_read_counts_more_than_the_table(rule: str) -> None:
    """A fork without any of our flags: nothing is added."""
    before = CASES[rule].brings
    snapshot = replace(before, host=replace(before.host, known_flags=before.host.flags))
    advices = [advice for advice in advise(snapshot) if BY_ID[advice.id].add]
    assert [advice.change.add for advice in advices if advice.change.add] == []
    assert all(advice.fix for advice in advices), "a fix that names no flag of that parser"


def test_no_rule_can_suggest_to_keep_a_model_on_the_card() -> None:
    """FLAG-23: ComfyUI #14340, advice to use --highvram with a model larger than the card."""
    wordings = [rule.for_variant(name) for rule in RULES for name in (None, *rule.variants)]
    added = {word for rule in wordings for template in rule.add for word in template.split()}
    assert not added & {"--highvram", "--gpu-only"}


# --- unknown readings ---


def without(value: Any) -> Iterator[Any]:
    """The same dataclass with one known field made unknown, at any depth."""
    for field in dataclasses.fields(value):
        part = getattr(value, field.name)
        optional = "None" in str(field.type)
        if optional and part is not None:
            yield replace(value, **{field.name: None})
        if dataclasses.is_dataclass(part):
            yield from (replace(value, **{field.name: other}) for other in without(part))
        elif isinstance(part, tuple) and part and dataclasses.is_dataclass(part[0]):
            yield from (replace(value, **{field.name: (other, *part[1:])}) for other in without(part[0]))


@pytest.mark.parametrize("rule", CASES)
def test_a_reading_that_is_unknown_never_breaks_a_rule_nor_brings_another(rule: str) -> None:
    before = set(ids(CASES[rule].brings))
    for snapshot in without(CASES[rule].brings):
        found = set(ids(snapshot))

        assert found <= before, found - before


#: Quiet in a running ComfyUI for as long as nothing reads the open workflow; ``headroom flags --models`` brings them.
WAIT_FOR_THE_WORKFLOW = {"ram-switch", "fp8-upcast", "cpu-vae-slow", "resident-may-not-fit"}


def test_which_rules_wait_for_the_open_workflow() -> None:
    waiting = {rule for rule, case in CASES.items() if rule not in ids(replace(case.brings, workflow_models=None))}
    assert waiting == WAIT_FOR_THE_WORKFLOW


@pytest.mark.parametrize("rule", CASES)
def test_a_rule_needs_what_it_is_about(rule: str) -> None:
    """Without devices, models, RAM and run, only what the flags alone say is left."""
    bare = Snapshot(0.0, host=replace(CASES[rule].brings.host, dynamic_vram=None, reasons={}, versions={}))
    for advice in advise(bare):
        assert advice.id in FROM_FLAGS_ALONE


FROM_FLAGS_ALONE = {
    *("novram-overruled", "dynamic-both", "dynamic-highvram", "async-both", "force-fp32-low-unet", "reserve-nan"),
    *("force-fp16-wide-unet", "force-fp16-beats-fp8", "cpu-vae-fp16", "highvram-no-smart-memory", "fast-disk-both"),
    *("fast-disk-high-ram", "headroom-refused", "reserve-negative", "fp16-intermediates-inf", "cpu-enable-dynamic"),
    *("fast-disk-rotating", "fp16-vae-alone"),
}
