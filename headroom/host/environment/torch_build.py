"""Torch, asked whether it sees a GPU. Nothing here makes a context on one: the driver is started, no card opened."""

from __future__ import annotations

import importlib.metadata
import warnings
from typing import Any

from ...core.environment.readings import Torch

#: Where a warning of torch goes on about its own source.
_TRIGGERED = "(Triggered"


def read_torch() -> Torch:
    """Torch of this Python: imported where it is installed, whatever then happens."""
    try:
        version = importlib.metadata.version("torch")
    except importlib.metadata.PackageNotFoundError:
        version = None
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        try:
            import torch
        except ModuleNotFoundError as error:
            return Torch(version, None if error.name == "torch" and version is None else _first_line(error))
        except Exception as error:
            return Torch(version, _first_line(error))
        try:
            return _asked(torch, said)
        except Exception as error:
            return Torch(str(getattr(torch, "__version__", version)), _first_line(error))


def _asked(torch: Any, said: list[warnings.WarningMessage]) -> Torch:
    built_for, runtime, backend = _build(torch)
    # torch.cuda.is_available counts devices: that starts the driver (cuInit) and opens none of them.
    sees = False if backend is None else bool(backend.is_available())
    flags = getattr(torch._C, "_cuda_getArchFlags", None) if built_for == "cuda" else None
    count = getattr(backend, "device_count", None)
    return Torch(
        version=str(torch.__version__),
        built_for=built_for,
        runtime=runtime,
        sees_gpu=sees,
        gpu_count=int(count()) if sees and count is not None else 0 if not sees else None,
        architectures=tuple((flags() or "").split()) if flags is not None else (),
        said="" if sees else _words(said),
    )


def _build(torch: Any) -> tuple[str, str | None, Any]:
    """What it is built for, with which runtime, and the module that answers for that."""
    version = torch.version
    if getattr(version, "hip", None):
        return "rocm", str(version.hip), torch.cuda
    if getattr(version, "cuda", None):
        return "cuda", str(version.cuda), torch.cuda
    if getattr(version, "xpu", None):
        return "xpu", str(version.xpu), torch.xpu
    if torch.backends.mps.is_built():
        return "mps", None, torch.backends.mps
    return "cpu", None, None


def _words(said: list[warnings.WarningMessage]) -> str:
    """Torch's own words on why it sees no GPU."""
    found = [str(one.message) for one in said if "CUDA" in str(one.message) or "HIP" in str(one.message)]
    return " ".join(found[-1].partition(_TRIGGERED)[0].split()) if found else ""


def _first_line(error: Exception) -> str:
    return next(iter(f"{type(error).__name__}: {error}".splitlines()))
