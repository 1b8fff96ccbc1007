"""The driver: is it there, is it loaded, does it answer, is it new enough for this torch."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from ..flags.rule import Params, Wording
from .check import Check, once
from .readings import Environment
from .wheels import REINSTALL, SEES_IT, blind, cuda_index, is_windows

#: Return codes of NVML (nvml.h, nvmlReturn_t).
NOT_LOADED, MISMATCH, UNKNOWN = 9, 18, 999
SMI = "`nvidia-smi` lists the card."


def _driver_missing(environment: Environment) -> Params | None:
    machine, torch = environment.machine, environment.torch
    if not blind(environment) or torch.built_for != "cuda" or environment.driver.code is not None:
        return None
    if machine.platform == "wsl":
        return {"variant": "wsl" if machine.wsl_libcuda is False else "wsl-path"}
    return {"variant": "container" if machine.container else machine.platform}


def _too_old(environment: Environment) -> Params | None:
    """Within one major version of CUDA an older driver will do (CUDA Compatibility, minor version compatibility)."""
    driver, torch = environment.driver, environment.torch
    if not blind(environment) or torch.built_for != "cuda" or not driver.works:
        return None
    wanted = int((torch.runtime or "0").partition(".")[0])
    if not ((driver.cuda is not None and driver.cuda[0] < wanted) or "too old" in torch.said):
        return None
    runs = "an older CUDA" if driver.cuda is None else f"CUDA {driver.cuda[0]}.{driver.cuda[1]}"
    return {
        **{"driver": driver.version or "", "runs": runs, "wanted": torch.runtime or "", "version": torch.version or ""},
        "index": cuda_index(environment),
    }


def _no_access(environment: Environment) -> Params | None:
    kfd = environment.machine.kfd
    if not blind(environment) or environment.torch.built_for != "rocm" or kfd not in {"denied", "missing"}:
        return None
    if kfd == "denied":
        return {}
    return {"variant": "container" if environment.machine.container else "missing"}


def _not_loaded(environment: Environment) -> Params | None:
    """The library alone is no card: quiet where the system lists cards and none is NVIDIA's."""
    makes = environment.machine.gpu_makes
    if environment.driver.code != NOT_LOADED or (makes and "nvidia" not in makes):
        return None
    return _on_windows(environment)


def _code(code: int) -> Callable[[Environment], Iterable[Params]]:
    """For codes that only a loaded driver brings: whatever the system lists, there is a card."""
    return once(lambda environment: _on_windows(environment) if environment.driver.code == code else None)


def _on_windows(environment: Environment) -> Params:
    return {"variant": "windows"} if is_windows(environment) else {}


def _driver_silent(environment: Environment) -> Params | None:
    driver = environment.driver
    if driver.code in {0, NOT_LOADED, MISMATCH, UNKNOWN} or (driver.code is None and driver.reason is None):
        return None
    return {"reason": driver.reason or f"error {driver.code}"}


#: Why torch sees no GPU.
BLIND = (
    Check(
        id="driver-missing",
        severity="problem",
        rank=26,
        when=once(_driver_missing),
        title="There is no NVIDIA driver here",
        why='torch is built for CUDA and finds no driver: "Found no NVIDIA driver on your system".',
        fix="Install NVIDIA's driver and restart the machine.",
        check=SMI,
        source="ComfyUI #6226; YanWenKun/ComfyUI-Docker #93; mmartial/ComfyUI-Nvidia-Docker #33; microsoft/WSL #9254",
        variants={
            "container": Wording(
                title="The container has no NVIDIA driver",
                fix=(
                    "Start the container with the GPU: install the NVIDIA Container Toolkit on the machine, and add "
                    "`--gpus all` (with podman `--device nvidia.com/gpu=all`)."
                ),
                command="docker run --gpus all ...",
            ),
            "wsl": Wording(
                title="WSL has no library of the NVIDIA driver",
                why="Windows hands its driver over as /usr/lib/wsl/lib/libcuda.so.1, and that file is not there.",
                fix=(
                    "Install NVIDIA's driver in Windows, never in WSL, then update WSL; it must be version 2 "
                    "(`wsl --list --verbose`)."
                ),
                command="wsl --update",
            ),
            "wsl-path": Wording(
                title="The NVIDIA driver that Windows hands over is not found",
                why="The library is in /usr/lib/wsl/lib, and the system does not look there.",
                fix="Name the folder to the loader; a driver installed inside WSL must go, it hides this one.",
                command="export LD_LIBRARY_PATH=/usr/lib/wsl/lib:$LD_LIBRARY_PATH",
            ),
            "linux": Wording(
                fix="Install NVIDIA's driver from the distribution (Ubuntu: as below) and restart the machine.",
                command="sudo ubuntu-drivers install",
            ),
        },
    ),
    Check(
        id="driver-too-old",
        severity="problem",
        rank=28,
        when=once(_too_old),
        title="The NVIDIA driver {driver} is too old for torch {version}",
        why="It runs {runs}, and this torch is built with CUDA {wanted}.",
        fix="Update the driver. Where that is not possible, install a torch for the CUDA that it runs.",
        command=REINSTALL,
        check=SEES_IT,
        source="ComfyUI #6226; lllyasviel/stable-diffusion-webui-forge #2053",
    ),
    Check(
        id="rocm-no-access",
        severity="problem",
        rank=29,
        when=once(_no_access),
        title="This user may not use the AMD card",
        why="/dev/kfd is there and cannot be opened.",
        fix="Join the groups that own it, then log out and in again.",
        command="sudo usermod -aG render,video $USER",
        check="`rocminfo` lists the card.",
        source="ROCm installation guide, group permissions; av/harbor #173",
        variants={
            "container": Wording(
                title="The container has no AMD card",
                why="/dev/kfd is not there.",
                fix="Start the container with the devices.",
                command="docker run --device /dev/kfd --device /dev/dri --group-add video ...",
            ),
            "missing": Wording(
                title="The driver of the AMD card is not loaded",
                why="/dev/kfd is not there.",
                fix="Load the driver; where that fails the kernel is too old for the card.",
                command="sudo modprobe amdgpu",
            ),
        },
    ),
)

#: The driver by itself, also where there is no torch to ask.
ALONE = (
    Check(
        id="driver-not-loaded",
        severity="problem",
        rank=27,
        when=once(_not_loaded),
        title="The NVIDIA driver is installed and not loaded",
        why="Its part in the kernel is missing: after an update of the kernel, or where Secure Boot refuses it.",
        fix="Load it; if that is refused, install the driver again for this kernel (dkms) or sign it.",
        command="sudo modprobe nvidia",
        check=SMI,
        source="GoogleCloudPlatform/compute-gpu-installation #18; CachyOS/linux-cachyos #118",
        variants={
            "windows": Wording(
                why="Windows has not started it: the device manager says why.",
                fix="Restart the machine; if that does not help, install the driver again.",
                command="devmgmt.msc",
            )
        },
    ),
    Check(
        id="driver-mismatch",
        severity="problem",
        rank=40,
        when=_code(MISMATCH),
        title="The NVIDIA driver was updated and its old part still runs",
        why="The library and the part in the kernel are of different versions, so no program can use the card.",
        fix="Restart the machine.",
        command="sudo reboot",
        check=SMI,
        source="wookayin/gpustat #147; Syllo/nvtop #95",
    ),
    Check(
        id="nvml-lost",
        severity="problem",
        rank=45,
        when=_code(UNKNOWN),
        title="The NVIDIA driver answers with an unknown error",
        why="In a container that is a GPU taken away, as `systemctl daemon-reload` on the machine does.",
        fix="Restart the container; outside of one, the machine.",
        command="docker restart NAME",
        check=SMI,
        source="NVIDIA/nvidia-container-toolkit #48, #251, #1227",
        variants={"windows": Wording(fix="Restart the machine.", command="", why="It has lost the card.")},
    ),
    Check(
        id="driver-silent",
        severity="problem",
        rank=46,
        when=once(_driver_silent),
        title="The NVIDIA driver does not work: {reason}",
        why="Its library is there and gives no answer, so no program can use the card.",
        fix="Restart the machine.",
        check=SMI,
        source="NVIDIA/nvidia-container-toolkit #48",
    ),
)
