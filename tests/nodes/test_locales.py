"""ComfyUI's translation tables: every node, input and output is there in both languages, as ComfyUI can read it."""

from __future__ import annotations

import importlib
import json
import re
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from node_texts import node_texts

LOCALES = Path(__file__).resolve().parents[2] / "locales"
LANGUAGES = ("en", "zh")
#: vue-i18n's syntax: links, parameters, plural forms. A text with one of them is shown wrongly or not at all.
SYNTAX = re.compile(r"[@{}|]")
HAN = re.compile(r"[\u4e00-\u9fff]")


def table(language: str, name: str) -> dict[str, Any]:
    return json.loads((LOCALES / language / f"{name}.json").read_text("utf-8"))


def leaves(found: Any, path: str = "") -> dict[str, str]:
    """Every text by its place."""
    if isinstance(found, dict):
        return {key: text for name, value in found.items() for key, text in leaves(value, f"{path}/{name}").items()}
    return {path: found}


@pytest.fixture(scope="module")
def texts(pack: ModuleType) -> dict[str, Any]:
    """What the nodes themselves say."""
    return node_texts(importlib.import_module(f"{pack.__name__}.nodes").NODES)


def test_the_english_texts_are_the_nodes_own(texts: dict[str, Any]):
    assert table("en", "nodeDefs") == texts, "run scripts/locales"


def test_every_text_of_a_node_is_there_in_chinese(texts: dict[str, Any]):
    chinese = leaves(table("zh", "nodeDefs"))
    assert sorted(chinese) == sorted(leaves(texts))
    spoken = {place: text for place, text in chinese.items() if place.endswith(("/tooltip", "/description"))}
    # A tooltip may be a name alone ("VAE.").
    assert [place for place, text in spoken.items() if not HAN.search(text) and len(text) > 6] == []


@pytest.mark.parametrize("name", ["main", "settings", "commands", "nodeDefs"])
def test_both_languages_have_the_same_texts_and_none_breaks_the_hosts_reader(name: str):
    found = {language: leaves(table(language, name)) for language in LANGUAGES}
    assert sorted(found["en"]) == sorted(found["zh"])
    broken = [
        (language, place) for language in LANGUAGES for place, text in found[language].items() if SYNTAX.search(text)
    ]
    assert broken == []
    assert all(text for texts in found.values() for text in texts.values())
