"""Where the torch is that fits a machine, and what both kinds of GPU checks ask."""

from __future__ import annotations

from .readings import Environment

WHEELS = "https://download.pytorch.org/whl"
#: Where torch for AMD and Intel is (ComfyUI 0.30.0, README).
ROCM_INDEX, XPU_INDEX = f"{WHEELS}/rocm7.2", f"{WHEELS}/xpu"
#: The builds for NVIDIA, newest first: what the driver must run, and the oldest card that they still serve (ComfyUI
#: 0.30.0, README: "cu126 ... Supports Nvidia 10 series and older"; ``torch._C._cuda_getArchFlags`` of 2.14.1+cu130).
CUDA_INDICES = (((13, 0), (7, 5), f"{WHEELS}/cu130"), ((12, 0), (5, 0), f"{WHEELS}/cu126"))
SEES_IT = '`python -c "import torch; print(torch.cuda.is_available())"` prints True.'
REINSTALL = (
    "{pip} uninstall -y torch torchvision torchaudio\n{pip} install torch torchvision torchaudio --index-url {index}"
)


def blind(environment: Environment) -> bool:
    """Torch works and sees no GPU."""
    return environment.torch.built_for is not None and environment.torch.sees_gpu is False


def makes_of(environment: Environment) -> set[str]:
    """The makes that are surely there."""
    driver = {"nvidia"} if environment.driver.works and environment.driver.cards else set()
    return set(environment.machine.gpu_makes or ()) | driver


def cuda_index(environment: Environment) -> str:
    """Where the torch is that fits this driver and these cards."""
    driver = environment.driver
    weakest = min((card.capability for card in driver.cards if card.capability), default=None)
    for runs, least, index in CUDA_INDICES:
        if (driver.cuda is None or driver.cuda >= runs) and (weakest is None or weakest >= least):
            return index
    return CUDA_INDICES[-1][2]


def is_windows(environment: Environment) -> bool:
    """The command line is that of Windows."""
    return environment.machine.platform == "windows"
