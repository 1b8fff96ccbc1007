"""Versions, demands and markers of packages, against written-out answers and against the package ``packaging``."""

from __future__ import annotations

import itertools

import pytest
from packaging.markers import Marker
from packaging.specifiers import SpecifierSet
from packaging.version import Version as Reference

from headroom.core.environment.markers import holds
from headroom.core.environment.requirements import Requirement, parse_requirement, read_requirements
from headroom.core.environment.versions import fits, parse

IN_ORDER = ["0.9", "1.0.dev3", "1.0a1", "1.0a2.dev1", "1.0a2", "1.0b1", "1.0rc1", "1.0", "1.0.post1", "1.1", "1!0.5"]
VERSIONS = [
    *("1.25.0", "1.26.4", "2", "2.0", "2.0.0rc1", "2.0.1.dev5", "2.4.6", "2.14.1+cu130", "2.14.1", "2.14.0.post1"),
    *("0.4.11", "0.4.2", "4.10.0.84", "13.615.71", "1!2.0", "2.0.post1", "v2.1", "2.0-1", "2.0_beta2"),
]
DEMANDS = [
    *(
        ">=1.25",
        "<2",
        "<2.0.0",
        "<=2.0",
        ">2.0",
        "==2.14.1",
        "==2.14.1+cu130",
        "!=2.0",
        "==2.*",
        "!=1.26.*",
        "~=1.26.0",
    ),
    *("~=2.0", "~=0.4.2", ">=1.25,<2", ">=2.0.0rc1", "<2.0.post2", ">2.0.post0", "===2.14.1", "==1!2.0", "<1!0", ""),
]
MARKERS = [
    'python_version < "3.12"',
    'python_version >= "3.9" and python_version < "3.13"',
    'python_full_version == "3.12.*"',
    'sys_platform == "win32" or platform_machine in "x86_64 aarch64"',
    'platform_system != "Darwin" and (os_name == "nt" or os_name == "posix")',
    'extra == "test"',
    "python_version<'3.7' and platform_python_implementation=='CPython'",
    'sys_platform not in "win32 cygwin"',
    'platform_machine == "arm64" and sys_platform == "darwin"',
]
HERE = {
    "python_version": "3.12",
    "python_full_version": "3.12.3",
    "sys_platform": "linux",
    "platform_system": "Linux",
    "platform_machine": "x86_64",
    "os_name": "posix",
    "platform_python_implementation": "CPython",
}


def test_versions_stand_in_their_order():
    parsed = [parse(text) for text in IN_ORDER]
    assert parsed == sorted(parsed)  # pyright: ignore[reportArgumentType, reportCallIssue]
    assert [text for text in IN_ORDER if parse(text) is None] == []


@pytest.mark.parametrize(("version", "demand"), list(itertools.product(VERSIONS, DEMANDS)))
def test_a_demand_means_what_pip_means(version: str, demand: str):
    """pip counts an installed pre-release as any other."""
    expected = SpecifierSet(demand).contains(Reference(version), prereleases=True)
    if demand.startswith("==="):
        expected = version == "2.14.1"
    assert fits(version, demand) is expected


@pytest.mark.parametrize(
    ("version", "demand", "answer"),
    [
        ("2.4.6", "<2", False),
        ("2.14.1+cu130", "==2.14.1", True),
        ("2.9.0", "(==2.9.0)", True),
        ("1.47.9", "==1.47.12", False),
        ("5.2.0", "!=8.3.*,>=5.3.0", False),
        ("1.10", ">1.9", True),
        ("0.4.11.dev1", ">=0.4.11", False),
    ],
)
def test_demands_of_real_packages(version: str, demand: str, answer: bool):
    """torchvision 0.29.1 writes its demands in brackets; pillow (!=8.3.*,>=5.3.0)."""
    assert fits(version, demand) is answer


@pytest.mark.parametrize(
    ("version", "demand"), [("unknown", ">=1"), ("1.0", ">=latest"), ("1.0", "=>1"), ("1", ">1.*")]
)
def test_what_is_no_version_is_neither_met_nor_unmet(version: str, demand: str):
    assert fits(version, demand) is None


@pytest.mark.parametrize("marker", MARKERS)
def test_a_marker_means_what_pip_means(marker: str):
    assert holds(marker, HERE) is Marker(marker).evaluate({**HERE, "extra": ""})


@pytest.mark.parametrize(
    "marker", ["", "python_version", 'python_version < "3', "(os_name == 'nt'", "os_name == 'nt' os_name", "a ~ b"]
)
def test_a_marker_that_cannot_be_read_is_neither_true_nor_false(marker: str):
    assert holds(marker, HERE) is None


def test_requirements_of_comfyui_are_read():
    """Lines as in ComfyUI 0.30.0, with what others write into such a file."""
    text = (
        "comfyui-frontend-package==1.47.12\ntorch\n\n#non essential dependencies:\n  pydantic~=2.0  # settings\n"
        "--extra-index-url https://download.pytorch.org/whl/cu130\n-r more.txt\n"
        'av>=16.0.0 ; python_version < "3.15"\nSQLAlchemy [asyncio] >= 2.0.0\ngit+https://github.com/x/y.git\n./local\n'
    )
    assert list(read_requirements(text)) == [
        Requirement("comfyui-frontend-package", "==1.47.12"),
        Requirement("torch", ""),
        Requirement("pydantic", "~=2.0"),
        Requirement("av", ">=16.0.0", 'python_version < "3.15"'),
        Requirement("sqlalchemy", ">= 2.0.0"),
    ]


@pytest.mark.parametrize("line", ["name @ https://example.org/x.whl", "", "!", "https://example.org/x.whl"])
def test_an_address_is_no_requirement(line: str):
    assert parse_requirement(line) is None
