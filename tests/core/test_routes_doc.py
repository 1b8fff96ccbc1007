"""docs/routes.md says what the routes answer: a field or an error that is not there is one that nobody can rely on."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path
from typing import Any

import pytest

from headroom.core import readings
from headroom.core.flags.advice import Advice
from headroom.core.run import MOST_NODES, NodeRun, Run

REPO = Path(__file__).resolve().parents[2]
TEXT = (REPO / "docs" / "routes.md").read_text("utf-8")
ROUTES = (REPO / "headroom" / "host" / "routes.py").read_text("utf-8")
KINDS = {
    name: kind
    for name, kind in {**vars(readings), "Run": Run, "NodeRun": NodeRun}.items()
    if isinstance(kind, type) and dataclasses.is_dataclass(kind)
}


def section(title: str) -> str:
    """What stands under a heading."""
    found = re.search(rf"^#+ {re.escape(title)}\n(.*?)(?=^#|\Z)", TEXT, re.MULTILINE | re.DOTALL)
    assert found is not None, f"docs/routes.md has no {title}"
    return found[1]


def listed(title: str) -> list[str]:
    """The machine words in the first column of a section's table."""
    rows = [line.split("|")[1] for line in section(title).splitlines() if line.startswith("| `")]
    return [word for row in rows for word in re.findall(r"`([^`]+)`", row)]


@pytest.mark.parametrize("name", KINDS)
def test_every_field_of_an_answer_is_told(name: str) -> None:
    kind: Any = KINDS[name]
    assert listed(name) == [field.name for field in dataclasses.fields(kind)]


def test_the_fields_of_an_advice() -> None:
    fields = Advice("x", "info", 1, "", "", "", "", "", "").as_json()
    assert sorted(listed("GET /headroom/advice")) == sorted(fields)


def test_every_route_and_every_error_is_told() -> None:
    routes = re.findall(r'routes\.(get|post)\("(/headroom/\w+)"\)', ROUTES)
    assert routes
    assert re.findall(r"^## ((?:GET|POST) \S+)", TEXT, re.MULTILINE) == [
        f"{verb.upper()} {path}" for verb, path in routes
    ]
    codes = set(re.findall(r'Refusal\(\d+, "(\w+)"', ROUTES)) | set(re.findall(r'"code": "(\w+)"', ROUTES))
    table = section("Errors").splitlines()
    told = {word for row in table if re.match(r"\| \d", row) for word in re.findall(r"`(\w+)`", row.split("|")[2])}
    assert codes == told
    statuses = set(re.findall(r"Refusal\((\d+),", ROUTES)) | {"500"}
    assert {row.split("|")[1].strip() for row in table if re.match(r"\| \d", row)} == statuses


def test_numbers_are_those_of_the_code() -> None:
    assert f"{MOST_NODES:,}" in section("Run")


def test_the_readme_names_every_route() -> None:
    readme = (REPO / "README.md").read_text("utf-8")
    for path in re.findall(r'routes\.\w+\("(/headroom/\w+)"\)', ROUTES):
        assert f"http://127.0.0.1:8188{path}" in readme
