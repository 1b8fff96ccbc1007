"""Torch: is it there, does it load, is it the build for this card, does it see it."""

from __future__ import annotations

import re

from ..flags.rule import Params, Wording
from .check import Check, once
from .readings import Card, Environment
from .wheels import REINSTALL, ROCM_INDEX, SEES_IT, XPU_INDEX, blind, cuda_index, is_windows, makes_of

#: What hides cards from each build, in the order of the runtime.
HIDING = {
    "cuda": ("CUDA_VISIBLE_DEVICES",),
    "rocm": ("ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES"),
}


def _torch_missing(environment: Environment) -> Params | None:
    found = environment.comfyui
    if found is None or found.origin == "running" or "torch" in environment.installed or environment.foreign:
        return None
    return {"python": environment.python.version, "index": cuda_index(environment)}


def _torch_broken(environment: Environment) -> Params | None:
    error = environment.torch.error
    if error is None:
        return None
    dll = re.search(r"WinError (?:126|127|1114)|DLL load failed", error) is not None
    return {"error": error, "version": environment.torch.version or "", **({"variant": "dll"} if dll else {})}


def _cpu_build(environment: Environment) -> Params | None:
    makes = makes_of(environment)
    if not blind(environment) or environment.torch.built_for != "cpu":
        return None
    params = {"version": environment.torch.version, "index": cuda_index(environment)}
    if "nvidia" in makes or environment.driver.works:
        return params
    amd = "amd" in makes and environment.machine.platform == "linux"
    return {**params, "index": ROCM_INDEX, "variant": "amd"} if amd else None


def _other_make(environment: Environment) -> Params | None:
    torch, makes = environment.torch, makes_of(environment)
    params = {"version": torch.version, "index": ROCM_INDEX, "variant": "amd"}
    if not blind(environment):
        return None
    if torch.built_for == "cuda" and environment.driver.code is None and "amd" in makes and "nvidia" not in makes:
        return params
    nvidia = torch.built_for == "rocm" and "nvidia" in makes and "amd" not in makes
    return {**params, "index": cuda_index(environment), "variant": "nvidia"} if nvidia else None


def _hidden(environment: Environment) -> Params | None:
    """CUDA reads the list up to the first entry that is none, so a bad first one hides all cards."""
    if not blind(environment):
        return None
    count = len(environment.driver.cards) if environment.driver.works else None
    for name in HIDING.get(environment.torch.built_for or "", ()):
        value = environment.machine.variables.get(name)
        first = (value or "").split(",")[0].strip()
        beyond = name == "CUDA_VISIBLE_DEVICES" and first.isdigit() and count is not None and int(first) >= count
        if value is not None and (first in {"", "-1"} or beyond):
            return {"variable": name, "given": value, **({"variant": "windows"} if is_windows(environment) else {})}
    return None


def _no_gpu(environment: Environment) -> Params | None:
    none_listed = environment.machine.gpu_makes is not None and not environment.machine.gpu_makes
    return {} if blind(environment) and none_listed and environment.driver.code is None else None


def _blind(environment: Environment) -> Params | None:
    """What is left over; where the driver itself is at fault another check speaks."""
    if not blind(environment) or environment.driver.code not in {None, 0}:
        return None
    torch = environment.torch
    params = {"version": torch.version or "", "said": torch.said or "It gives no reason.", "index": XPU_INDEX}
    return {**params, **({"variant": "cpu"} if torch.built_for == "cpu" else {})}


def _serves(architectures: tuple[str, ...], card: Card) -> bool:
    """As torch.cuda._check_cubins (2.14.1) and for PTX: code for one major version runs on its later minors."""
    major, minor = card.capability or (0, 0)
    for name in architectures:
        found = re.fullmatch(r"(sm|compute)_(\d+)(\d)[a-z]?", name)
        if found is None:
            continue
        built = int(found[2]), int(found[3])
        if (built[0] == major and built[1] <= minor) or (found[1] == "compute" and built <= (major, minor)):
            return True
    return False


def _no_kernels(environment: Environment) -> Params | None:
    torch = environment.torch
    listed = tuple(torch.architectures)
    for card in environment.driver.cards if torch.built_for == "cuda" and listed else ():
        if card.capability is not None and not _serves(listed, card):
            newest = max((int(number) for name in listed for number in re.findall(r"_(\d+)", name)), default=0)
            newer = card.capability[0] * 10 + card.capability[1] > newest
            return {
                **{"card": card.name or "The card", "version": torch.version or "", "listed": " ".join(listed)},
                "needs": f"sm_{card.capability[0]}{card.capability[1]}",
                "index": cuda_index(environment),
                **({"variant": "newer"} if newer else {}),
            }
    return None


BUILD = (
    Check(
        id="torch-missing",
        severity="problem",
        rank=12,
        when=once(_torch_missing),
        title="This Python {python} has no torch",
        why="ComfyUI does not start without it. If ComfyUI runs elsewhere, it has another Python.",
        fix="Run this with the Python that starts ComfyUI; if that is this one, install torch.",
        command="{pip} install torch torchvision torchaudio --index-url {index}",
        check="ComfyUI starts.",
        source="Comfy-Org/ComfyUI-Manager #1667",
    ),
    Check(
        id="torch-broken",
        severity="problem",
        rank=15,
        when=once(_torch_broken),
        title="torch {version} is installed and cannot be loaded",
        why="It says: {error}",
        fix="Install it again; half of an update, or a file that another package replaced, does this.",
        command="{pip} install --force-reinstall --no-deps torch",
        check='`python -c "import torch"` prints nothing.',
        source="ComfyUI #989, #4172",
        variants={
            "dll": Wording(
                fix=(
                    "A library of Windows is missing beside it: install the Visual C++ Redistributable (x64), then "
                    "torch again if that does not help."
                ),
                command="winget install Microsoft.VCRedist.2015+.x64",
            )
        },
    ),
    Check(
        id="torch-cpu-build",
        severity="problem",
        rank=22,
        when=once(_cpu_build),
        title="This torch is a CPU build: {version}",
        why=(
            "There is an NVIDIA card, and this build of torch cannot use any. pip installs it where the index for CUDA "
            'is not named, often as a requirement of a node pack; ComfyUI then stops with "Torch not compiled with '
            'CUDA enabled".'
        ),
        fix="Install the build for CUDA in its place.",
        command=REINSTALL,
        check=SEES_IT,
        source="ComfyUI #2427, #7932, #8431",
        variants={
            "amd": Wording(
                why="There is an AMD card, and this build of torch cannot use any.",
                fix="Install the build for ROCm in its place, if ROCm supports the card.",
            )
        },
    ),
    Check(
        id="torch-other-make",
        severity="problem",
        rank=23,
        when=once(_other_make),
        title="torch {version} is built for another make of card",
        why='It is built for NVIDIA, and the card is an AMD one: "Found no NVIDIA driver" is what ComfyUI says then.',
        fix="Install the build for ROCm in its place; a node pack's requirements can have replaced it.",
        command=REINSTALL,
        check=SEES_IT,
        source="ComfyUI #5122, #2058",
        variants={
            "nvidia": Wording(
                why="It is built for AMD (ROCm), and the card is an NVIDIA one.",
                fix="Install the build for CUDA in its place.",
            )
        },
    ),
    Check(
        id="gpu-hidden",
        severity="problem",
        rank=24,
        when=once(_hidden),
        title='{variable} is "{given}": it hides every GPU',
        why="torch sees only the cards that this variable lists, up to the first entry that is no card.",
        fix="Remove the variable, or give the number of a card: 0 is the first.",
        command="unset {variable}",
        check=SEES_IT,
        source="KeYang8/WITT #34; syorami/DDC-transfer-learning #3",
        variants={
            "windows": Wording(command="set {variable}=", fix="Remove the variable (system settings, or the .bat).")
        },
    ),
    Check(
        id="no-gpu",
        severity="warning",
        rank=25,
        when=once(_no_gpu),
        title="The system lists no GPU",
        why="ComfyUI does not start here without `--cpu`, and with it a picture takes minutes.",
        fix="In a virtual machine or container, hand the card over to it. Else start with `--cpu`.",
        command="python main.py --cpu",
        check="`lspci` lists the card.",
        source="comfy/model_management.py 0.30.0, get_torch_device; README, --cpu",
    ),
)

BLIND = Check(
    id="torch-blind",
    severity="problem",
    rank=38,
    when=once(_blind),
    title="torch {version} sees no GPU",
    why="{said}",
    fix="Restart the machine; a driver that was updated or that lost the card does this.",
    check=SEES_IT,
    source="ComfyUI #4615; microsoft/WSL #9092; pytorch/pytorch #84550",
    variants={
        "cpu": Wording(
            title="This torch is a CPU build: {version}",
            why="It uses no GPU of any make. ComfyUI does not start with it except with `--cpu`.",
            fix="If there is a card, install the build for it: below for Intel's, for others see ComfyUI's README.",
            command=REINSTALL,
            check="ComfyUI's first lines name the card.",
        )
    },
)

KERNELS = Check(
    id="torch-no-kernels",
    severity="problem",
    rank=32,
    when=once(_no_kernels),
    title="torch {version} holds no code for {card}",
    why=(
        'The card needs {needs}, and this build has {listed}. The first sampling then stops with "no kernel image is '
        'available for execution on the device".'
    ),
    fix="Newer builds leave older cards out: install one that still has them.",
    command=REINSTALL,
    check="A picture comes out.",
    source="ComfyUI #7677, #9650, #7380",
    variants={"newer": Wording(fix="The card is newer than this torch: install a newer one.")},
)
