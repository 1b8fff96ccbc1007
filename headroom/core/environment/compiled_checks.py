"""Compiled packages that fit only one other: torchvision with its torch, everything with its numpy."""

from __future__ import annotations

from collections.abc import Iterator

from ..flags.rule import Params, Wording
from .check import Check, once
from .package_checks import named
from .readings import Environment
from .requirements import Requirement
from .versions import fits, parse

#: Compiled packages -> their first version that runs with numpy 2 (numpy/numpy #26191 and each one's release notes).
#: Older ones that were not yet held back by ``numpy<2`` in their metadata load and then fail or crash.
FIRST_FOR_NUMPY_2 = {
    **dict.fromkeys(
        ("opencv-python", "opencv-python-headless", "opencv-contrib-python", "opencv-contrib-python-headless"),
        "4.10.0.84",  # opencv/opencv #26779
    ),
    **dict.fromkeys(("onnxruntime", "onnxruntime-gpu", "onnxruntime-directml"), "1.19.0"),
    "torch": "2.3.0",
    "scipy": "1.13.0",
    "scikit-learn": "1.4.2",
    "scikit-image": "0.23.0",
    "pandas": "2.2.2",
    "matplotlib": "3.8.4",
    "numba": "0.60.0",
    "pyarrow": "16.0.0",
    "h5py": "3.11.0",
    "pywavelets": "1.6.0",
    "numexpr": "2.10.0",
}


def _torch_companions(environment: Environment) -> Iterator[Params]:
    """torchvision and torchaudio hold compiled parts that fit one torch."""
    torch = environment.installed.get("torch")
    if torch is None or environment.foreign:
        return
    for package, requirement in environment.demands("torch"):
        if package.name not in {"torchvision", "torchaudio"}:
            continue
        params = {"package": package.name, "version": package.version, "torch": torch.version}
        if fits(torch.version, requirement.demand) is False:
            yield {**params, "wanted": requirement.demand}
        elif package.name == "torchvision" and _other_build(package.version, torch.version):
            yield {**params, "variant": "build"}


def _other_build(one: str, other: str) -> bool:
    """Both say what they are built for (``+cu130``, ``+cpu``), and it is not the same."""
    first, second = parse(one), parse(other)
    return (
        first is not None and second is not None and bool(first.local and second.local) and first.local != second.local
    )


def _numpy_demands(environment: Environment) -> Params | None:
    version = environment.version("numpy")
    if version is None or environment.foreign:
        return None
    unmet = [
        f"{package.name} {package.version} (numpy{requirement.demand})"
        for package, requirement in environment.demands("numpy")
        if fits(version, requirement.demand) is False
    ]
    return {"numpy": version, "packages": named(sorted(unmet)), "count": len(unmet)} if unmet else None


def _numpy_abi(environment: Environment) -> Params | None:
    """Quiet about what its own metadata holds back: the demand is told already."""
    numpy = parse(environment.version("numpy") or "")
    if numpy is None or numpy.release[0] < 2 or environment.foreign:
        return None
    told = {package.name for package, one in environment.demands("numpy") if _refuses_2(one)}
    old = [
        f"{package.name} {package.version} ({first})"
        for name, first in FIRST_FOR_NUMPY_2.items()
        if (package := environment.installed.get(name)) is not None
        and name not in told
        and fits(package.version, f"<{first}")
    ]
    names = [entry.partition(" ")[0] for entry in old]
    version = environment.version("numpy")
    return {"numpy": version, "packages": named(old), "upgrade": " ".join(names)} if old else None


def _refuses_2(requirement: Requirement) -> bool:
    return fits("2.0.0", requirement.demand) is False


CHECKS = (
    Check(
        id="torch-companion",
        severity="problem",
        rank=48,
        when=_torch_companions,
        title="{package} {version} is built for another torch than {torch}",
        why=(
            'It asks for torch{wanted}. Its compiled part then does not load: "operator torchvision::nms does not '
            "exist\" ends ComfyUI's start."
        ),
        fix="Install the three again, all from one index.",
        command="{pip} install --upgrade --force-reinstall --no-deps torch torchvision torchaudio",
        check="`{pip} check` does not name it.",
        source="utensils/comfyui-nix #46; ROCm/legacy-rocm-build #5899; pytorch/pytorch #157648",
        variants={
            "build": Wording(
                why=(
                    "One is built for the CPU or another CUDA than the other: \"Could not run 'torchvision::nms' with "
                    "arguments from the 'CUDA' backend\"."
                ),
                fix="Install the two again from one index, the one of the torch that is wanted.",
            )
        },
    ),
    Check(
        id="numpy-demand",
        severity="warning",
        rank=62,
        when=once(_numpy_demands),
        title="numpy is {numpy}, and {count} of the installed packages ask for another",
        why="{packages}. A package compiled for another numpy fails when it is loaded, and its nodes are missing.",
        fix="Update those packages; where there is no newer one, only their node packs are concerned.",
        command="{pip} check",
        check="`{pip} check` names none of them.",
        source="ComfyUI #5614, PR#4121; Gourieff/comfyui-reactor-node #482",
    ),
    Check(
        id="numpy-abi",
        severity="warning",
        rank=64,
        when=once(_numpy_abi),
        title="numpy is {numpy}, and packages are installed that were compiled for numpy 1",
        why=(
            '{packages}; in brackets the first version for numpy 2. They say "compiled using NumPy 1.x cannot be run" '
            "and may crash."
        ),
        fix="Update them rather than go back to numpy 1.",
        command="{pip} install --upgrade {upgrade}",
        check="ComfyUI's log no longer has that text.",
        source="ComfyUI #5289, PR#4121; numpy/numpy #26191; kijai/ComfyUI-WanAnimatePreprocess #26",
    ),
)
