"""The machine by its own files: make of the cards, container, what torch's environment hides, free disk space."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from pathlib import Path

from ...core.environment.readings import Disk

#: Vendors on the PCI bus, and the class of display adapters.
PCI_MAKES = {"0x10de": "nvidia", "0x1002": "amd", "0x8086": "intel"}
DISPLAY_CLASS = "0x03"
#: Variables that change which cards there are, or how torch uses them.
VARIABLES = (
    *("CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER", "NVIDIA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES"),
    *("ROCR_VISIBLE_DEVICES", "HSA_OVERRIDE_GFX_VERSION", "ONEAPI_DEVICE_SELECTOR", "PYTORCH_CUDA_ALLOC_CONF"),
    *("PYTORCH_ALLOC_CONF", "PYTORCH_NVML_BASED_CUDA_CHECK", "CUDA_LAUNCH_BLOCKING", "PYTORCH_ENABLE_MPS_FALLBACK"),
)
WSL_LIBCUDA = "usr/lib/wsl/lib/libcuda.so.1"
FOLDERS = ("models", "output", "temp")


def gpu_makes(root: Path = Path("/")) -> tuple[str, ...] | None:
    """Makes of the display adapters, by Linux's list of the bus; None where there is no such list."""
    folder = root / "sys/bus/pci/devices"
    try:
        devices = sorted(folder.iterdir())
    except OSError:
        return None
    found = {PCI_MAKES.get(_text(one / "vendor")) for one in devices if _text(one / "class").startswith(DISPLAY_CLASS)}
    return tuple(sorted(make for make in found if make is not None))


def in_container(root: Path = Path("/")) -> bool:
    """Docker and podman leave a file each; Kubernetes sets a variable."""
    files = (root / ".dockerenv", root / "run/.containerenv")
    return any(one.exists() for one in files) or "KUBERNETES_SERVICE_HOST" in os.environ


def wsl_libcuda(root: Path = Path("/")) -> bool:
    """Windows has handed its driver's library over."""
    return (root / WSL_LIBCUDA).exists()


def kfd(root: Path = Path("/")) -> str:
    """Whether this user may use AMD's compute device."""
    device = root / "dev/kfd"
    if not device.exists():
        return "missing"
    return "there" if os.access(device, os.R_OK | os.W_OK) else "denied"


def variables(environment: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Those that are set, of the ones that matter; no other is read."""
    return {name: environment[name] for name in VARIABLES if name in environment}


def disks(comfyui: Path) -> tuple[Disk, ...]:
    """Free space under ComfyUI's own folders; temp is there only while it runs."""
    found = []
    for name in FOLDERS:
        folder = comfyui / name
        try:
            usage = shutil.disk_usage(folder if folder.exists() else comfyui)
        except OSError:
            continue
        found.append(Disk(name, usage.free, usage.total))
    return tuple(found)


def _text(file: Path) -> str:
    try:
        return file.read_text("ascii", errors="replace").strip()
    except OSError:
        return ""
