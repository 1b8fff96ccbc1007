"""The Chinese texts in js/strings say what the rules say, over the same parameters; the numbers look the same too."""

from __future__ import annotations

import json
import os
import re
import shutil
import string
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from flag_cases import CASES

from headroom.core.failure import FIXES
from headroom.core.flags import Advice, advise
from headroom.core.flags.catalogue import RULES
from headroom.core.flags.rule import Rule
from headroom.core.flags.wording import word

REPO = Path(__file__).resolve().parents[3]
EXPORT = REPO / "tests" / "js" / "advice_export.mjs"
NO_NODE = "no Node.js here: install Node.js 20 or newer"
CHINESE = re.compile(r"[\u4e00-\u9fff]")
FLAG = re.compile(r"--[a-z][\w-]*")
CODE = re.compile(r"`([^`]+)`")
NUMBER = re.compile(r"\d+(?:\.\d+)*")
BY_ID = {rule.id: rule for rule in RULES}
ALL_ADVICE = [(advice, BY_ID[advice.id]) for case in CASES.values() for advice in advise(case.brings)]
#: Our nodes as each language calls them: what the user finds in the menu.
NODE_NAMES = {
    language: {
        node: texts["display_name"]
        for node, texts in json.loads((REPO / "locales" / language / "nodeDefs.json").read_text("utf-8")).items()
    }
    for language in ("en", "zh")
}
VARIANTS = [(rule.id, variant) for rule in RULES for variant in ("", *rule.variants)]


def said(rule: Rule) -> dict[str, str]:
    """Every text of a rule that can be shown; one that cannot is left out."""
    texts = {"title": rule.title, "why": rule.why, "fix": rule.fix, "check": rule.check}
    texts["otherwise"] = rule.otherwise if rule.add else ""
    return {name: text for name, text in texts.items() if text}


def words_of(advice: Advice) -> dict[str, Any]:
    return {**advice.params, "comfyui": "ComfyUI 0.30.0"}


#: Names and values that no snapshot of the rules has: ties, units on both sides of their limits, lists.
SPOKEN: tuple[tuple[str, Any, str], ...] = (
    ("size_bytes", 2**28, "0.2\u00a0GiB"),
    ("size_bytes", 3 * 2**28, "0.8\u00a0GiB"),
    ("size_bytes", 12 * 2**30 + 2**28, "12.2\u00a0GiB"),
    ("size_bytes", -(2**28), "\u22120.2\u00a0GiB"),
    ("size_bytes", 2**30 // 10, "0.1\u00a0GiB"),
    ("size_bytes", 2**30 // 10 - 1, "102\u00a0MiB"),
    ("size_bytes", 0, "0.0\u00a0GiB"),
    ("run_seconds", 0.00001, "<0.1\u00a0ms"),
    ("run_seconds", 0.25, "250.0\u00a0ms"),
    ("run_seconds", 119.94, "119.9\u00a0s"),
    ("run_seconds", 150, "2.5\u00a0min"),
    ("run_seconds", 7200, "2.0\u00a0h"),
    ("value", 2.0, "2"),
    ("value", -1.5, "-1.5"),
    ("factor", 3.75, "3.75"),
    ("factor", 0.125, "0.12"),
    ("factor", 20, "20"),
    ("flags", ["--a", "--b 2", "c"], "`--a`, `--b 2` and c"),
    ("on", True, "yes"),
)


def templates() -> Iterator[tuple[str, dict[str, Any], str]]:
    """English templates with their parameters, and what Python makes of them."""
    for advice, rule in ALL_ADVICE:
        rule = rule.for_variant(advice.params.get("variant"))
        for name in ("title", "why", "check"):
            if "comfyui" not in getattr(rule, name):
                yield getattr(rule, name), words_of(advice), getattr(advice, name)
    for name, value, text in SPOKEN:
        yield f"({{{name}}})", {name: value}, f"({text})"


@pytest.fixture(scope="module")
def answer() -> dict[str, Any]:
    """What the browser's modules hold and make."""
    node = shutil.which("node")
    if node is None:
        if os.environ.get("CI"):
            pytest.fail(NO_NODE)
        pytest.skip(NO_NODE)
    question = {
        "advice": [advice.as_json() for advice, _ in ALL_ADVICE],
        "filled": [{"template": template, "params": params} for template, params, _ in templates()],
    }
    done = subprocess.run([node, EXPORT], input=json.dumps(question), capture_output=True, encoding="utf-8", check=True)
    return json.loads(done.stdout)


def fields(text: str) -> set[str]:
    return {name for _, name, _, _ in string.Formatter().parse(text) if name is not None}


def numbers(text: str) -> set[str]:
    return set(NUMBER.findall(re.sub(r"\{\w+\}", "", text)))


def test_no_rule_is_translated_that_is_not_there(answer: dict[str, Any]) -> None:
    """A rule that was renamed would leave its Chinese behind."""
    found = {
        (rule, variant) for rule, texts in answer["tables"]["advice"].items() for variant in texts.get("variants", ())
    }
    assert set(answer["tables"]["advice"]) == set(BY_ID)
    assert found - set(VARIANTS) == set()


@pytest.mark.parametrize(("rule", "variant"), VARIANTS)
def test_every_text_has_its_chinese_with_the_same_parameters(answer: dict[str, Any], rule: str, variant: str) -> None:
    """Without it a Chinese user reads half a card in English, or a card without its numbers."""
    english = said(BY_ID[rule].for_variant(variant))
    texts = answer["tables"]["advice"][rule]
    chinese = {**texts, **texts.get("variants", {}).get(variant, {})}
    chinese.pop("variants", None)
    chinese = {name: text for name, text in chinese.items() if text}
    assert set(chinese) == set(english)
    for name, text in english.items():
        assert_says_the_same(chinese[name], text)


def assert_says_the_same(chinese: str, english: str) -> None:
    """Parameters, flags, machine words and numbers; more no program can tell."""
    assert CHINESE.search(chinese), chinese
    assert fields(chinese) == fields(english), chinese
    assert set(FLAG.findall(chinese)) == set(FLAG.findall(english)), chinese
    assert set(CODE.findall(chinese)) == set(CODE.findall(english)), chinese
    assert numbers(chinese) == numbers(english), chinese
    for node, name in NODE_NAMES["en"].items():
        assert (name not in english) or (NODE_NAMES["zh"][node] in chinese), chinese


def test_every_fix_of_a_failure_has_its_chinese(answer: dict[str, Any]) -> None:
    assert set(answer["tables"]["fixes"]) == {row.id for row in FIXES}
    for row in FIXES:
        assert_says_the_same(answer["tables"]["fixes"][row.id], row.text)


def test_every_advice_is_filled_in_chinese(answer: dict[str, Any]) -> None:
    for (advice, _), chinese in zip(ALL_ADVICE, answer["chinese"], strict=True):
        for name in ("title", "why", "fix", "check"):
            english, text = getattr(advice, name), chinese[name]
            assert bool(text) == bool(english), (advice.id, name)
            assert not english or CHINESE.search(text), (advice.id, name, text)
            assert "{" not in text, (advice.id, name, text)


def test_the_flags_of_a_fix_are_the_same(answer: dict[str, Any]) -> None:
    """What is added and what is left out must never change places."""
    for (advice, _), chinese in zip(ALL_ADVICE, answer["chinese"], strict=True):
        assert set(FLAG.findall(chinese["fix"])) == set(FLAG.findall(advice.fix)), (advice.id, chinese["fix"])
        first = chinese["fix"].split("。")[0]
        added, removed = advice.params["added"], advice.params["removed"]
        if added and removed:
            assert first.index(added[0]) < first.index("代替") < first.index(removed[0]), advice.id
        elif added or removed:
            assert ("加上" if added else "去掉") in first, advice.id


def test_sizes_times_and_lists_are_written_as_in_english(answer: dict[str, Any]) -> None:
    """The same size as 12.2 GiB in one language and 12.3 GiB in the other would look like a change."""
    assert answer["filled"] == [expected for _, _, expected in templates()]


@pytest.mark.parametrize(("name", "value", "text"), SPOKEN)
def test_the_server_writes_them_so(name: str, value: Any, text: str) -> None:
    assert word(name, value) == text


def test_a_translated_phrase_is_one_that_the_server_sends(answer: dict[str, Any]) -> None:
    sources = "".join(path.read_text("utf-8") for path in (REPO / "headroom").rglob("*.py"))
    assert [phrase for phrase in answer["tables"]["phrases"] if f'"{phrase}"' not in sources] == []
