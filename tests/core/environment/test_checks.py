"""What holds for every check: its two environments, its texts, its silence where nothing is known."""

from __future__ import annotations

import sys
from dataclasses import fields, replace
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from environment_cases import (
    AMD,
    CASES,
    CPU,
    GIB,
    GTX_1080,
    NONE,
    PYTHONS,
    ROCM,
    RTX_4090,
    Case,
    blind,
    env,
    packages,
)

from headroom.core.environment import CHAINS, diagnose
from headroom.core.environment.readings import Disk, Driver, Environment, Machine, Package, Python, Torch
from headroom.core.flags.advice import Advice
from headroom.core.flags.catalogue import RULES

CHECKS = [check for chain in CHAINS for check in chain]
#: The same thing, told by a flag rule over a snapshot and by a check over the environment: the second one is shown.
TOLD_TWICE = {"driver-mismatch", "nvml-lost", "two-comfyui"}
EVERY_CASE = [(check, case) for check, cases in CASES.items() for case in cases]


def ids(environment: Environment) -> list[str]:
    return [finding.id for finding in diagnose(environment)]


def said(environment: Environment, check: str) -> Advice:
    return next(finding for finding in diagnose(environment) if finding.id == check)


def texts(finding: Advice) -> str:
    return "\n".join((finding.title, finding.why, finding.fix, finding.command, finding.check))


def test_every_check_and_every_variant_has_its_environments():
    missing = {check.id for check in CHECKS} ^ set(CASES)
    assert missing == set()
    for check in CHECKS:
        assert {case.variant for case in CASES[check.id]} >= set(check.variants), check.id


def test_ids_and_places_are_taken_once():
    assert len({check.id for check in CHECKS}) == len(CHECKS)
    assert len({check.rank for check in CHECKS}) == len(CHECKS)
    assert {rule.id for rule in RULES} & {check.id for check in CHECKS} == TOLD_TWICE


@pytest.mark.parametrize(("check", "case"), EVERY_CASE, ids=[f"{check}-{case.variant}" for check, case in EVERY_CASE])
def test_the_environment_brings_the_check_and_its_neighbour_does_not(check: str, case: Case):
    assert check in ids(case.brings)
    found = said(case.brings, check)
    assert case.says in texts(found)
    assert (found.params.get("variant") or "") == case.variant
    again = [one for one in diagnose(case.quiet) if one.id == check]
    assert [one.params.get("variant", "") for one in again if one.params.get("variant", "") == case.variant] == []


@pytest.mark.parametrize(("check", "case"), EVERY_CASE, ids=[f"{check}-{case.variant}" for check, case in EVERY_CASE])
def test_its_texts_are_whole(check: str, case: Case):
    found = said(case.brings, check)
    assert all((found.title, found.why, found.fix, found.check, found.source))
    assert not found.title.endswith(".")
    assert found.why.endswith((".", ":", '"')) or "said" in found.params or "error" in found.params
    assert "{" not in texts(found)
    assert "None" not in texts(found)


def test_a_healthy_machine_has_no_finding():
    assert diagnose(env()) == ()


@pytest.mark.parametrize("platform", ["windows", "linux", "wsl", "macos", ""])
def test_nothing_known_nothing_said(platform: str):
    """A Python without anything, on a machine that tells nothing."""
    assert diagnose(Environment(Python("3.12.3"), Machine(platform))) == ()


@pytest.mark.parametrize("unknown", [field.name for field in fields(Machine) if field.name != "platform"])
def test_an_unknown_of_the_machine_is_not_a_no(unknown: str):
    assert diagnose(env(machine={unknown: {} if unknown == "variables" else None if unknown != "disks" else ()})) == ()


def test_findings_stand_in_the_order_in_which_a_person_should_look():
    """First the Python, then torch, then packages, then the rest: with the wrong torch nothing else matters yet."""
    everything = blind(
        python={"version": "3.9.1"},
        torch=CPU,
        packages=packages(Package("pynvml", "11.5.0"), comfy_aimdo="0.3.0"),
        machine={"disks": (Disk("output", GIB // 2, 100 * GIB),)},
    )
    assert ids(everything) == ["python-too-old", "torch-cpu-build", "comfy-package", "disk-full", "pynvml-package"]


def test_of_the_reasons_why_torch_is_blind_only_the_first_is_told():
    """A CPU build is one whatever CUDA_VISIBLE_DEVICES says; "restart the machine" would send the user away."""
    found = blind(torch=CPU, machine={"variables": {"CUDA_VISIBLE_DEVICES": ""}})
    assert ids(found) == ["torch-cpu-build"]


def test_a_driver_at_fault_is_told_once_and_not_as_a_torch_that_sees_nothing():
    """MEM-18, gpustat #147: "restart", and no second advice beside it."""
    for code, check in ((9, "driver-not-loaded"), (18, "driver-mismatch"), (999, "nvml-lost"), (15, "driver-silent")):
        assert ids(blind(driver=Driver(code))) == [check]


def test_without_torch_the_driver_is_still_judged():
    """A Python beside ComfyUI's, on a machine whose driver was updated."""
    bare = Environment(Python("3.12.3"), Machine("linux", gpu_makes=("nvidia",)), driver=Driver(18))
    assert ids(bare) == ["driver-mismatch"]


def test_what_is_installed_in_another_python_is_not_judged():
    """other-python alone: "install comfy-aimdo" would put it where ComfyUI never looks."""
    elsewhere = env(torch=Torch(), packages=(Package("numpy", "1.19.0"),), comfyui=PYTHONS)
    assert ids(elsewhere) == ["other-python"]


def test_windows_gets_a_path_that_its_console_takes():
    portable = {**PYTHONS, "pythons": ("../python_embeded/python.exe",)}
    found = env(torch=Torch(), packages=(), comfyui=portable, machine={"platform": "windows"})
    assert said(found, "other-python").command == (
        '..\\python_embeded\\python.exe "custom_nodes/My Pack/headroom" doctor'
    )


@pytest.mark.parametrize(
    ("driver", "cards", "index"),
    [
        ((13, 0), (RTX_4090,), "cu130"),
        ((13, 1), (RTX_4090,), "cu130"),
        ((12, 8), (RTX_4090,), "cu126"),
        ((13, 0), (GTX_1080,), "cu126"),
        ((13, 0), (RTX_4090, GTX_1080), "cu126"),
        (None, (RTX_4090,), "cu130"),
    ],
)
def test_the_torch_to_install_is_one_that_driver_and_card_can_run(
    driver: object, cards: tuple[object, ...], index: str
):
    """ComfyUI 0.30.0, README: cu126 "supports Nvidia 10 series and older"; ComfyUI #6226: a driver that is too old."""
    found = blind(torch=CPU, driver={"cuda": driver, "cards": cards})
    assert said(found, "torch-cpu-build").command.endswith(f"/whl/{index}")


def test_an_nvidia_card_beside_an_amd_one_is_the_one_that_counts():
    """A Ryzen's own graphics make no machine an AMD one."""
    both = blind(torch=CPU, machine={"gpu_makes": ("amd", "nvidia")}, driver=NONE)
    assert "cu130" in said(both, "torch-cpu-build").command


def test_the_portable_build_gets_its_own_pip():
    """ComfyUI #2427: `pip install` there goes to another Python, and nothing changes."""
    portable = blind(torch=CPU, python={"kind": "embedded"})
    assert said(portable, "torch-cpu-build").command.splitlines()[0] == (
        "python_embeded\\python.exe -s -m pip uninstall -y torch torchvision torchaudio"
    )


@pytest.mark.parametrize(
    ("value", "hidden"),
    [("", True), ("-1", True), ("1", True), ("1,0", True), ("0", False), ("0,7", False), ("GPU-bbbb2222", False)],
)
def test_a_variable_hides_all_cards_by_its_first_entry(value: str, hidden: bool):
    """CUDA reads the list up to the first entry that is no card (CUDA C++ Programming Guide, CUDA_VISIBLE_DEVICES)."""
    found = blind(machine={"variables": {"CUDA_VISIBLE_DEVICES": value}})
    assert ("gpu-hidden" in ids(found)) is hidden


def test_a_rocm_build_reads_its_own_variable():
    hidden = {**AMD, "kfd": "there", "variables": {"HIP_VISIBLE_DEVICES": "-1"}}
    assert ids(blind(torch=ROCM, driver=NONE, machine=hidden)) == ["gpu-hidden"]


def test_torch_says_itself_that_the_driver_is_too_old():
    """An old driver has no function that tells its CUDA: torch's words tell (Fooocus #1313, found version 11040)."""
    told = {"said": "CUDA initialization: The NVIDIA driver on your system is too old (found version 11040)."}
    found = blind(driver={"cuda": None, "version": "470.86"}, torch=told)
    assert said(found, "driver-too-old").title == "The NVIDIA driver 470.86 is too old for torch 2.14.1+cu130"


@pytest.mark.parametrize(
    ("listed", "capability", "served"),
    [
        (("sm_80",), (8, 6), True),
        (("sm_86",), (8, 0), False),
        (("sm_90a",), (9, 0), True),
        (("compute_90",), (12, 0), True),
        (("sm_90",), (12, 0), False),
        (("sm_75", "sm_120"), (8, 9), False),
        ((), (3, 5), True),
    ],
)
def test_code_for_one_card_runs_on_later_ones_of_its_generation(
    listed: tuple[str, ...], capability: tuple[int, int], served: bool
):
    """NVIDIA, CUDA binary compatibility: within a major version upwards; PTX on all that come later."""
    card = replace(RTX_4090, capability=capability)
    found = env(torch={"architectures": listed}, driver={"cards": (card,)})
    assert ("torch-no-kernels" not in ids(found)) is served


def test_folders_on_one_disk_are_one_finding():
    one = Disk("models", GIB // 4, 100 * GIB)
    found = env(machine={"disks": (one, replace(one, folder="output"), replace(one, folder="temp"))})
    assert ids(found) == ["disk-full"]


def test_a_long_list_is_cut_and_its_length_told():
    many = [Package(f"pack-{number}", "1.0", ("numpy<2",)) for number in range(9)]
    found = said(env(packages=packages(*many)), "numpy-demand")
    assert found.title.startswith("numpy is 2.4.6, and 9 of the installed packages")
    assert "pack-5 1.0 (numpy<2) and 3 more." in found.why


def test_a_demand_that_nobody_can_read_is_no_finding():
    odd = Package("odd", "1.0", ("numpy @ file:///wheels/numpy.whl", "numpy=>2", "numpy; what?", "numpy>2;extra=='x'"))
    assert ids(env(packages=packages(odd))) == []


def test_params_hold_the_figures_of_the_text():
    """A program, or a translation, makes its own sentence of them."""
    disk = env(machine={"disks": (Disk("output", GIB // 2, 100 * GIB),)})
    assert said(disk, "disk-full").params == {
        "folder": "output",
        "free_bytes": 536870912,
        "what": "pictures and videos",
    }
