"""A ComfyUI without Headroom: its /system_stats as an environment and a snapshot."""

from __future__ import annotations

import json
from typing import Any

from headroom.core.environment import diagnose
from headroom.core.environment.as_json import advice_of, environment_json
from headroom.core.environment.redaction import json_without_users, redacted
from headroom.core.environment.stats import environment_of, snapshot_of
from headroom.core.flags import advise
from headroom.core.snapshot_json import cleaner

GIB = 2**30


def stats(*argv: str, **system: Any) -> dict[str, Any]:
    """As ComfyUI 0.30.0 answers on Windows with an RTX 3060."""
    return {
        "system": {
            "os": "win32",
            "ram_total": 32 * GIB,
            "ram_free": 20 * GIB,
            "comfyui_version": "0.30.0",
            "comfy_package_versions": [
                {"name": "comfyui-frontend-package", "installed": "1.40.0", "required": "1.47.12"},
                {"name": "comfy-aimdo", "installed": None, "required": "0.4.11"},
                {"name": "comfy-kitchen", "installed": "0.2.26", "required": "0.2.26"},
            ],
            "python_version": "3.13.2 (tags/v3.13.2:4f8bb39, Feb  4 2025, 15:23:48) [MSC v.1942 64 bit (AMD64)]",
            "pytorch_version": "2.9.0+cu130",
            "embedded_python": True,
            "argv": ["ComfyUI\\main.py", "--windows-standalone-build", *argv],
            **system,
        },
        "devices": [
            {
                **{"name": "cuda:0 NVIDIA GeForce RTX 3060 : cudaMallocAsync", "type": "cuda", "index": 0},
                **{"vram_total": 12 * GIB, "vram_free": 9 * GIB, "torch_vram_total": GIB, "torch_vram_free": 0},
            }
        ],
    }


def test_the_start_line_and_the_card_are_read():
    found = snapshot_of(stats("--reserve-vram", "2"), 1.5)
    assert found.host.argv == ("--windows-standalone-build", "--reserve-vram", "2")
    assert (found.host.version, found.host.platform, found.host.args["reserve_vram"]) == ("0.30.0", "windows", 2.0)
    (card,) = found.devices
    assert (card.name, card.kind, card.total_bytes, card.free_bytes) == (
        *("NVIDIA GeForce RTX 3060", "cuda"),
        *(12884901888, 9663676416),
    )
    assert (found.ram.total_bytes, found.ram.available_bytes, found.host.dynamic_vram) == (
        34359738368,
        21474836480,
        None,
    )


def test_its_flags_are_judged():
    """A negative reserve is accepted by argparse; Windows and the card are known."""
    assert [one.id for one in advise(snapshot_of(stats("--reserve-vram", "-1"), 0))] == ["reserve-negative"]
    assert advise(snapshot_of(stats(), 0)) == ()


def test_its_packages_are_judged_as_its_own_python_would_be():
    found = diagnose(environment_of(stats()))
    assert [(one.id, one.params["package"]) for one in found] == [
        ("comfy-package", "comfyui-frontend-package"),
        ("comfy-package", "comfy-aimdo"),
    ]
    assert found[0].command == ('python_embeded\\python.exe -s -m pip install "comfyui-frontend-package==1.47.12"')


def test_a_rocm_build_is_told_by_its_version():
    amd = stats(pytorch_version="2.9.0+rocm7.2", os="linux")
    assert snapshot_of(amd, 0).devices[0].kind == "rocm"


def test_an_answer_of_another_form_is_no_error():
    """Another server on that port, an older ComfyUI."""
    for odd in ({}, {"system": [], "devices": {}}, {"system": {"argv": "x", "ram_total": "much"}, "devices": [1, {}]}):
        assert diagnose(environment_of(odd)) == ()
        assert snapshot_of(odd, 0).host.argv == ()
    older = stats()
    del older["system"]["comfy_package_versions"]
    assert diagnose(environment_of(older)) == ()


def test_the_environment_as_json_lists_what_a_reader_asks_for():
    found = json.loads(json.dumps(environment_json(environment_of(stats()))))
    assert found["packages"] == {
        "comfy-kitchen": "0.2.26",
        "comfyui-frontend-package": "1.40.0",
        "torch": "2.9.0+cu130",
    }
    assert (found["package_count"], found["python"]["version"], found["machine"]["platform"]) == (
        3,
        "3.13.2",
        "windows",
    )
    assert set(found) == {
        *("python", "machine", "packages", "package_count", "torch", "driver", "comfyui", "pynvml_is_folder"),
        "not_looked_at",
    }


def test_names_and_keys_are_taken_out_and_packages_keep_theirs():
    """`comfyui-` begins Comfy's keys as well as ComfyUI's packages."""
    planted = stats(pytorch_version="2.9 from C:\\Users\\Alice Liddell\\wheels by alice, hf_abcdefghijklmnop")
    clean = redacted(environment_of(planted), cleaner(True, "C:\\Users\\Alice Liddell"), ("alice",))
    assert clean.version("torch") == "2.9 from %USERPROFILE%\\wheels by (user), ***"
    assert clean.version("comfyui-frontend-package") == "1.40.0"
    key = "comfyui-0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
    assert cleaner(False)(f"with {key} in it") == "with *** in it"


def test_a_user_whose_name_is_a_common_word_costs_no_text():
    assert json_without_users({"root": ["python and root", 3, None]}, ("root", "py")) == {
        "root": ["python and root", 3, None]
    }


def test_what_a_terminal_would_obey_is_taken_out():
    """Another program's answer is printed: no colours, no title, no bell."""
    assert json_without_users("a\x1b[31mred\x07\r\n\tb", ()) == "a[31mred\n\tb"


def test_advice_from_elsewhere_is_read_as_far_as_it_is_one():
    answer = {"advice": [{"id": "x", "severity": "odd", "rank": "1", "title": "T", "params": 3}, "no", None]}
    (found,) = advice_of(answer)
    assert (found.id, found.severity, found.rank, found.title, found.params) == ("x", "warning", 999, "T", {})
    assert advice_of(None) == advice_of({"advice": 3}) == ()
