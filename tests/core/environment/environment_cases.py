"""For each check, and each variant of one, an environment that brings it and a neighbour that does not.

``says`` is a part of its texts, written out. The reports are cited beside the case.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from headroom.core.environment.readings import (
    Card,
    ComfyUI,
    Disk,
    Driver,
    Environment,
    Machine,
    Package,
    Python,
    Running,
    Torch,
)
from headroom.core.environment.requirements import Requirement

GIB = 2**30
ASKED = {
    "comfyui-frontend-package": "==1.47.12",
    "comfyui-workflow-templates": "==0.11.27",
    "comfyui-embedded-docs": "==0.5.9",
    "comfy-aimdo": "==0.4.11",
    "comfy-kitchen": "==0.2.26",
    "torch": "",
    "numpy": ">=1.25.0",
    "einops": "",
    "aiohttp": ">=3.11.8",
}
INSTALLED = {
    "comfyui-frontend-package": "1.47.12",
    "comfyui-workflow-templates": "0.11.27",
    "comfyui-embedded-docs": "0.5.9",
    "comfy-aimdo": "0.4.11",
    "comfy-kitchen": "0.2.26",
    "torch": "2.14.1+cu130",
    "numpy": "2.4.6",
    "einops": "0.8.2",
    "aiohttp": "3.14.5",
    "nvidia-ml-py": "13.615.71",
}
MARKERS = {"python_version": "3.12", "sys_platform": "linux", "platform_system": "Linux"}
RTX_4090 = Card("NVIDIA GeForce RTX 4090", (8, 9))
GTX_1080 = Card("NVIDIA GeForce GTX 1080", (6, 1))
RTX_5080 = Card("NVIDIA GeForce RTX 5080", (12, 0))
CU130 = ("sm_75", "sm_80", "sm_86", "sm_90", "sm_100", "sm_120")
CU126 = ("sm_50", "sm_60", "sm_70", "sm_75", "sm_80", "sm_86", "sm_90")
TORCH = Torch("2.14.1+cu130", None, "cuda", "13.0", True, 1, CU130)
DRIVER = Driver(0, None, "580.95.05", (13, 0), (RTX_4090,))
COMFYUI = ComfyUI("ComfyUI", "0.30.0", "--comfyui", tuple(Requirement(n, d) for n, d in ASKED.items()))
MACHINE = Machine("linux", False, ("nvidia",), kfd="missing", disks=(Disk("models", 400 * GIB, 900 * GIB),), running=())


def packages(*more: Package, without: str = "", **changed: str) -> tuple[Package, ...]:
    """What a healthy ComfyUI has, some of another version (``numpy="1.26.4"``), and more."""
    versions = {**INSTALLED, **{name.replace("_", "-"): version for name, version in changed.items()}}
    return (*(Package(name, version) for name, version in versions.items() if name != without), *more)


def env(**fields: Any) -> Environment:
    """A healthy Linux machine with an RTX 4090; fields of ``Environment``, or of its parts by their names."""
    parts: dict[str, Any] = {"python": Python("3.12.3", "venv", 64, MARKERS), "machine": MACHINE}
    parts |= {"packages": packages(), "torch": TORCH, "driver": DRIVER, "comfyui": COMFYUI, "pynvml_is_folder": False}
    for name, value in fields.items():
        parts[name] = replace(parts[name], **value) if isinstance(value, dict) else value
    return Environment(**parts)


def blind(**fields: Any) -> Environment:
    """The same where torch sees no GPU."""
    torch = {"sees_gpu": False, "gpu_count": 0, **fields.pop("torch", {})}
    return env(torch=torch, **fields)


CPU = {"version": "2.14.1+cpu", "built_for": "cpu", "runtime": None, "architectures": ()}
ROCM = {"version": "2.14.1+rocm7.2", "built_for": "rocm", "runtime": "7.2", "architectures": ()}
NONE = Driver()
AMD = {"gpu_makes": ("amd",)}
TORCHVISION = Package("torchvision", "0.24.0", ("numpy", "torch (==2.9.0)"))
PYTHONS = {"pythons": ("venv/bin/python",), "own_python": False, "pack": "My Pack"}
HERE = Running(11, "ComfyUI", 8188, "0.30.0", True)
OTHER = Running(12, "ComfyUI-old", 8190, "0.18.2", False)


@dataclass(frozen=True)
class Case:
    """An environment that brings a check and one that does not."""

    brings: Environment
    quiet: Environment
    says: str
    variant: str = ""


#: By check, then its cases: the plain one and its variants.
CASES: Mapping[str, tuple[Case, ...]] = {
    "python-too-old": (
        # ComfyUI 0.30.0, pyproject.toml: requires-python >= 3.10.
        Case(env(python={"version": "3.9.19"}), env(python={"version": "3.10.0"}), "Python 3.9.19 is too old"),
        Case(env(python={"bits": 32}), env(), "3.12.3 is a 32-bit build", "bits"),
    ),
    "other-python": (
        # ComfyUI-Manager #1667, #608: packages of one Python, ComfyUI in another.
        Case(
            env(torch=Torch(), packages=(), comfyui=PYTHONS),
            env(torch=Torch(), packages=(), comfyui={"pythons": ("venv/bin/python",), "own_python": True}),
            'venv/bin/python "custom_nodes/My Pack/headroom" doctor',
        ),
    ),
    "python-beside": (
        # ComfyUI-Manager #608: the Python that was repaired was not the one that ran.
        Case(
            env(comfyui=PYTHONS),
            env(torch=Torch(), packages=(), comfyui=PYTHONS),
            "Beside ComfyUI there is another Python than this 3.12.3",
        ),
    ),
    "torch-missing": (
        # ComfyUI-Manager #1667: "PyTorch is not installed".
        Case(
            env(torch=Torch(), packages=packages(without="torch")),
            env(torch=Torch(), packages=(), comfyui=None),
            "python -m pip install torch torchvision torchaudio --index-url https://download.pytorch.org/whl/cu130",
        ),
    ),
    "torch-broken": (
        Case(
            env(torch=Torch("2.9.0", "ImportError: libcudart.so.13: cannot open shared object file")),
            env(),
            "It says: ImportError: libcudart.so.13: cannot open shared object file",
        ),
        # ComfyUI #4172, #989: WinError 126.
        Case(
            env(torch=Torch("2.4.0", "OSError: [WinError 126] The specified module could not be found.")),
            env(torch=Torch("2.4.0", "ImportError: libcudart.so.13: no such file")),
            "Visual C++ Redistributable",
            "dll",
        ),
    ),
    "torch-cpu-build": (
        # ComfyUI #2427, #7932, #8431: "Torch not compiled with CUDA enabled" after an update by pip.
        Case(
            blind(torch=CPU),
            env(),
            "This torch is a CPU build: 2.14.1+cpu",
        ),
        Case(
            blind(torch=CPU, driver=NONE, machine=AMD),
            blind(torch=CPU, driver=NONE, machine={**AMD, "platform": "windows"}),
            "--index-url https://download.pytorch.org/whl/rocm7.2",
            "amd",
        ),
    ),
    "torch-other-make": (
        # ComfyUI #5122, #2058: "Found no NVIDIA driver" on AMD, after a node pack was installed.
        Case(blind(driver=NONE, machine=AMD), blind(), "the card is an AMD one", "amd"),
        Case(blind(torch=ROCM), blind(torch=ROCM, machine=AMD, driver=NONE), "built for AMD (ROCm)", "nvidia"),
    ),
    "gpu-hidden": (
        # KeYang8/WITT #34, syorami/DDC-transfer-learning #3: the variable names a card that is not there.
        Case(
            blind(machine={"variables": {"CUDA_VISIBLE_DEVICES": "2"}}),
            blind(machine={"variables": {"CUDA_VISIBLE_DEVICES": "0"}}),
            'CUDA_VISIBLE_DEVICES is "2": it hides every GPU',
        ),
        Case(
            blind(machine={"platform": "windows", "variables": {"CUDA_VISIBLE_DEVICES": "-1"}}),
            env(machine={"platform": "windows", "variables": {"CUDA_VISIBLE_DEVICES": "-1"}}),
            "set CUDA_VISIBLE_DEVICES=",
            "windows",
        ),
    ),
    "no-gpu": (
        Case(
            blind(driver=NONE, machine={"gpu_makes": ()}),
            blind(driver=NONE, machine={"gpu_makes": None}),
            "The system lists no GPU",
        ),
    ),
    "driver-missing": (
        # ComfyUI #6226 and many: "Found no NVIDIA driver on your system".
        Case(
            blind(driver=NONE, machine={"platform": "windows", "gpu_makes": None}),
            env(machine={"platform": "windows", "gpu_makes": None}),
            "There is no NVIDIA driver here",
            "windows",
        ),
        Case(blind(driver=NONE), blind(), "sudo ubuntu-drivers install", "linux"),
        # YanWenKun/ComfyUI-Docker #93, mmartial/ComfyUI-Nvidia-Docker #33.
        Case(
            blind(driver=NONE, machine={"container": True}),
            blind(machine={"container": True}),
            "docker run --gpus all",
            "container",
        ),
        # microsoft/WSL #9254; oobabooga/textgen #458: WSL 1.
        Case(
            blind(driver=NONE, machine={"platform": "wsl", "gpu_makes": None, "wsl_libcuda": False}),
            blind(machine={"platform": "wsl", "gpu_makes": None, "wsl_libcuda": True}),
            "WSL has no library of the NVIDIA driver",
            "wsl",
        ),
        # tensorflow #45882, NVIDIA/cuml #6218: it is there and another one is found.
        Case(
            blind(driver=NONE, machine={"platform": "wsl", "gpu_makes": None, "wsl_libcuda": True}),
            env(machine={"platform": "wsl", "gpu_makes": None, "wsl_libcuda": True}),
            "export LD_LIBRARY_PATH=/usr/lib/wsl/lib:$LD_LIBRARY_PATH",
            "wsl-path",
        ),
    ),
    "driver-too-old": (
        # ComfyUI #6226, stable-diffusion-webui-forge #2053: "found version 11070".
        Case(
            blind(driver={"version": "535.183.01", "cuda": (12, 2)}),
            blind(driver={"version": "580.65.06", "cuda": (13, 0)}, torch={"runtime": "13.2"}),
            "It runs CUDA 12.2, and this torch is built with CUDA 13.0.",
        ),
    ),
    "rocm-no-access": (
        Case(
            blind(torch=ROCM, driver=NONE, machine={**AMD, "kfd": "denied"}),
            blind(torch=ROCM, driver=NONE, machine={**AMD, "kfd": "there"}),
            "sudo usermod -aG render,video $USER",
        ),
        # av/harbor #173: the container needs /dev/kfd and /dev/dri.
        Case(
            blind(torch=ROCM, driver=NONE, machine={**AMD, "container": True}),
            env(torch=ROCM, driver=NONE, machine={**AMD, "container": True}),
            "docker run --device /dev/kfd --device /dev/dri",
            "container",
        ),
        Case(
            blind(torch=ROCM, driver=NONE, machine=AMD),
            blind(torch=ROCM, driver=NONE, machine={**AMD, "kfd": None}),
            "sudo modprobe amdgpu",
            "missing",
        ),
    ),
    "torch-blind": (
        # ComfyUI #4615: "CUDA unknown error"; microsoft/WSL #9092: error 2 of cudaGetDeviceCount.
        Case(
            blind(torch={"said": "CUDA initialization: CUDA unknown error"}),
            env(),
            "CUDA initialization: CUDA unknown error",
        ),
        Case(
            blind(torch=CPU, driver=NONE, machine={"gpu_makes": ("intel",)}),
            blind(torch=CPU),
            "--index-url https://download.pytorch.org/whl/xpu",
            "cpu",
        ),
    ),
    "driver-not-loaded": (
        # GoogleCloudPlatform/compute-gpu-installation #18, CachyOS/linux-cachyos #118: after an update of the kernel.
        Case(
            blind(driver=Driver(9, "the NVIDIA driver is not loaded")),
            blind(driver=Driver(9, "the NVIDIA driver is not loaded"), machine=AMD),
            "sudo modprobe nvidia",
        ),
        Case(
            blind(driver=Driver(9), machine={"platform": "windows", "gpu_makes": None}),
            env(),
            "the device manager says why",
            "windows",
        ),
    ),
    "driver-mismatch": (
        # MEM-18, wookayin/gpustat #147, Syllo/nvtop #95. Virtual machines may list no adapter.
        Case(blind(driver=Driver(18), machine={"gpu_makes": ()}), env(), "sudo reboot"),
    ),
    "nvml-lost": (
        # MEM-17, nvidia-container-toolkit #48: systemctl daemon-reload.
        Case(env(driver=Driver(999)), env(), "docker restart NAME"),
        Case(
            env(driver=Driver(999), machine={"platform": "windows", "gpu_makes": None}),
            env(),
            "It has lost the card.",
            "windows",
        ),
    ),
    "driver-silent": (
        Case(
            env(driver=Driver(reason="it did not answer within 10 seconds")),
            env(driver=Driver(9, "the NVIDIA driver is not loaded")),
            "The NVIDIA driver does not work: it did not answer within 10 seconds",
        ),
    ),
    "torch-no-kernels": (
        # ComfyUI #7677, #9650: GTX 1080 with a build that leaves it out. cu126 still serves it.
        Case(
            env(driver={"cards": (GTX_1080,)}),
            env(driver={"cards": (GTX_1080,)}, torch={"architectures": CU126}),
            "The card needs sm_61, and this build has sm_75 sm_80",
        ),
        # ComfyUI #7380, #10382: RTX 50 with a build from before it.
        Case(
            env(driver={"cards": (RTX_5080,)}, torch={"version": "2.6.0+cu126", "architectures": CU126}),
            env(driver={"cards": (RTX_5080,)}),
            "The card is newer than this torch",
            "newer",
        ),
    ),
    "torch-companion": (
        # utensils/comfyui-nix #46, pytorch/pytorch #157648: operator torchvision::nms does not exist.
        Case(
            env(packages=packages(TORCHVISION)),
            env(packages=packages(TORCHVISION, torch="2.9.0+cu130")),
            "It asks for torch==2.9.0.",
        ),
        # ComfyUI #2747: "Could not run 'torchvision::nms' with arguments from the 'CUDA' backend".
        Case(
            env(packages=packages(Package("torchvision", "0.29.1+cpu", ("torch>=2.14.0",)))),
            env(packages=packages(Package("torchvision", "0.29.1+cu130", ("torch>=2.14.0",)))),
            "from the 'CUDA' backend",
            "build",
        ),
    ),
    "numpy-demand": (
        # ComfyUI PR#4121, Gourieff/comfyui-reactor-node #482.
        Case(
            env(packages=packages(Package("mediapipe", "0.10.14", ('numpy<2; python_version >= "3.9"',)))),
            env(packages=packages(Package("mediapipe", "0.10.14", ('numpy<2; python_version < "3.9"',)))),
            "mediapipe 0.10.14 (numpy<2)",
        ),
    ),
    "numpy-abi": (
        # ComfyUI #5289; opencv/opencv #26779: built for numpy 2 since 4.10; kijai/ComfyUI-WanAnimatePreprocess #26.
        Case(
            env(packages=packages(Package("opencv-python", "4.9.0.80", ("numpy>=1.21.2",)))),
            env(packages=packages(Package("opencv-python", "4.9.0.80", ("numpy>=1.21.2",)), numpy="1.26.4")),
            "opencv-python 4.9.0.80 (4.10.0.84)",
        ),
        Case(
            env(packages=packages(Package("onnxruntime-gpu", "1.18.1", ("numpy>=1.26.0",)))),
            # Its own metadata says so: that is numpy-demand.
            env(packages=packages(Package("onnxruntime-gpu", "1.18.1", ("numpy<2.0,>=1.26.0",)))),
            "python -m pip install --upgrade onnxruntime-gpu",
        ),
    ),
    "comfy-package": (
        # Tavris1/ComfyUI-Easy-Install #182: the update of ComfyUI left the frontend.
        Case(
            env(packages=packages(comfyui_frontend_package="1.40.2")),
            env(packages=packages(comfyui_frontend_package="1.47.12.post1"), comfyui=None),
            'python -m pip install "comfyui-frontend-package==1.47.12"',
            "frontend",
        ),
        Case(
            env(packages=packages(without="comfy-aimdo")),
            env(),
            "comfy-aimdo is missing; this ComfyUI asks for 0.4.11",
            "aimdo",
        ),
        # Tavris1/ComfyUI-Easy-Install #247.
        Case(env(packages=packages(comfy_kitchen="0.2.10")), env(), "comfy-kitchen is 0.2.10", "kitchen"),
    ),
    "comfy-content": (
        Case(env(packages=packages(comfyui_workflow_templates="0.9.1")), env(), "0.9.1; this", "templates"),
        Case(env(packages=packages(without="comfyui-embedded-docs")), env(), "Only the help pages", "docs"),
    ),
    "comfy-package-newer": (
        # Tavris1/ComfyUI-Easy-Install #242: 1.45.19 where 1.45.15 was asked for.
        Case(
            env(packages=packages(comfyui_frontend_package="1.47.19")),
            env(packages=packages(comfyui_frontend_package="1.47.11")),
            "comfyui-frontend-package is 1.47.19, newer than the 1.47.12",
            "frontend",
        ),
    ),
    "installed-twice": (
        Case(
            env(packages=(Package("numpy", "1.26.4"), *packages())),
            env(packages=(Package("numpy", "2.4.6"), *packages())),
            "numpy is installed twice: 1.26.4 is used, 2.4.6 lies beside it",
        ),
        # patientx-cfz/comfyui-rocm #131: the user's 2.13.0+cpu hid the environment's ROCm build.
        Case(
            env(packages=(Package("torch", "2.13.0+cpu", (), "user"), *packages())),
            env(packages=(Package("requests", "2.0", (), "user"), *packages())),
            "PYTHONNOUSERSITE=1",
            "user",
        ),
    ),
    "requirements": (
        # ComfyUI #11721: an update of requirements that did not finish.
        Case(
            env(packages=packages(without="einops", aiohttp="3.9.1")),
            env(),
            "einops (missing) and aiohttp>=3.11.8 (3.9.1)",
        ),
    ),
    "pynvml-package": (
        # Crystools #238, #242; gpustat #147: the old module wins over NVIDIA's file.
        Case(env(packages=packages(Package("pynvml", "11.5.3"))), env(), "pynvml 11.5.3 stands in the way"),
        Case(
            env(packages=packages(Package("pynvml", "13.0.1"))),
            env(),
            "The package pynvml 13.0.1 is deprecated",
            "notice",
        ),
    ),
    "nvidia-binding": (
        Case(env(packages=packages(without="nvidia-ml-py")), env(), "python -m pip install nvidia-ml-py"),
    ),
    "disk-full": (
        # ComfyUI #6408, StabilityMatrix #1262: OSError 28.
        Case(
            env(machine={"disks": (Disk("output", GIB // 2, 100 * GIB), Disk("temp", GIB // 2, 100 * GIB))}),
            env(machine={"disks": (Disk("output", 3 * GIB, 100 * GIB),)}),
            "The disk of the output folder has 0.5\u00a0GiB left",
        ),
    ),
    "disk-low": (
        Case(
            env(machine={"disks": (Disk("models", 4 * GIB, 100 * GIB),)}),
            env(machine={"disks": (Disk("models", 11 * GIB, 100 * GIB), Disk("temp", 6 * GIB, 50 * GIB))}),
            "The disk of the models folder has 4.0\u00a0GiB left",
        ),
    ),
    "two-comfyui": (
        # MEM-44, ComfyUI #3292.
        Case(
            env(machine={"running": (HERE, OTHER)}),
            env(machine={"running": (HERE,)}),
            "Ports 8188 and 8190.",
        ),
    ),
    "another-comfyui": (
        # ComfyUI-Manager #608: the one that runs is not the one that was repaired.
        Case(
            env(machine={"running": (OTHER,)}),
            env(machine={"running": (OTHER, HERE)}),
            "on port 8190 runs ComfyUI-old (0.18.2)",
        ),
    ),
}
