"""Fills ``core.facts.Facts`` from the running ComfyUI. Reads only what is there already and starts no GPU context.

Every reading stands alone: one that fails leaves its own field at None.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, TypeVar

from ..core.facts import Facts, Stage, Vendor
from .compat import host_version

T = TypeVar("T")
#: Whether the last latent or picture that was checked in this process was finite; None before the first.
_last_verdict: bool | None = None


def remember(finite: bool) -> None:
    """Keeps the verdict of a check for the facts of the next one."""
    global _last_verdict
    _last_verdict = finite


def host_facts(stage: Stage) -> Facts:
    """What the host knows by itself; the caller adds what it found in the tensor (``dataclasses.replace``).

    ``dtype`` is that of the diffusion model used last; a decode puts its VAE's in its place.
    """
    device = _try(_device)
    model: Any = _try(_diffusion_model)
    return Facts(
        stage=stage,
        dtype=_try(lambda: _compute_dtype(model)),
        device=None if device is None else str(device),
        vendor=_try(partial(_vendor, device)),
        gpu_name=_try(lambda: _properties(device).name),
        gpu_arch=_try(lambda: _properties(device).gcnArchName.split(":")[0]),
        capability=_try(lambda: _capability(device)),
        bf16=_try(lambda: _offers_bf16(device)),
        flags=_try(given_flags) or frozenset(),
        known_flags=_try(lambda: frozenset(option_strings())),
        attention=_try(attention),
        model_class=_try(lambda: type(model.model_config).__name__),
        pixel_ratio=_try(lambda: int(model.latent_format.spacial_downscale_ratio)),
        versions=_versions(),
        dynamic_vram=_try(_dynamic_vram),
        previous_finite=_last_verdict,
    )


def _try(read: Callable[[], T]) -> T | None:
    try:
        return read()
    except Exception:
        logging.debug("Headroom: a fact about the host is unknown", exc_info=True)
        return None


def _management() -> Any:
    import comfy.model_management

    return comfy.model_management


def _device() -> Any:
    return _management().get_torch_device()


def _diffusion_model() -> Any:
    """The diffusion model that was used last (the list has the newest first); None where none is loaded."""
    import comfy.model_base

    for loaded in _management().current_loaded_models:
        patcher = loaded.model
        if patcher is not None and isinstance(patcher.model, comfy.model_base.BaseModel):
            return patcher.model
    return None


def _compute_dtype(model: Any) -> str:
    from ..tensors.names import dtype_name

    # As BaseModel.get_dtype_inference (comfy/model_base.py 0.16.3 to 0.30.0).
    return dtype_name(model.manual_cast_dtype or model.get_dtype())


def _vendor(device: Any) -> Vendor | None:
    management = _management()
    if device.type == "cpu":
        return "cpu"
    if device.type == "mps":
        return "apple"
    if management.is_intel_xpu():
        return "intel"
    if management.is_amd():
        return "amd"
    return "nvidia" if management.is_nvidia() else None


def _properties(device: Any) -> Any:
    """The card's properties; raises where there is no card or torch has not opened it yet."""
    import torch

    backend = {"cuda": torch.cuda, "xpu": torch.xpu}[device.type]
    if not backend.is_initialized():
        raise LookupError(f"torch has not opened {device} yet")
    return backend.get_device_properties(device)


def _capability(device: Any) -> tuple[int, int] | None:
    if _vendor(device) != "nvidia":
        return None
    properties = _properties(device)
    return properties.major, properties.minor


def _offers_bf16(device: Any) -> bool:
    if device.type not in {"cpu", "mps"}:
        _properties(device)
    return bool(_management().should_use_bf16(device))


def option_strings() -> Iterable[str]:
    from comfy.cli_args import parser

    return [option for action in parser._actions for option in action.option_strings if option.startswith("--")]


def given_flags() -> frozenset[str]:
    """The flags on the command line, in full: argparse also takes ``--flag=value`` and unique abbreviations.

    Not from the parsed values: there ``--force-fp16`` also reads as ``--fp16-unet`` (comfy/cli_args.py, 0.30.0).
    """
    import comfy.options

    if not comfy.options.args_parsing:
        return frozenset()
    known = set(option_strings())
    given = set()
    for word in sys.argv[1:]:
        if word.startswith("--"):
            name = word.partition("=")[0]
            matches = [name] if name in known else [option for option in known if option.startswith(name)]
            given.update(matches if len(matches) == 1 else [])
    return frozenset(given)


def attention() -> str:
    from comfy.cli_args import args

    management = _management()
    if management.sage_attention_enabled():
        return "sage"
    if management.flash_attention_enabled():
        return "flash"
    if management.xformers_enabled():
        return "xformers"
    if management.pytorch_attention_enabled():
        return "pytorch"
    return "split" if args.use_split_cross_attention else "quad"


def _dynamic_vram() -> bool:
    import comfy.memory_management

    return bool(comfy.memory_management.aimdo_enabled)


def _versions() -> dict[str, str]:
    import torch

    found = {
        "comfyui": _try(lambda: ".".join(map(str, host_version() or ()))),
        "torch": _try(lambda: str(torch.__version__)),
        "xformers": _try(lambda: str(_management().XFORMERS_VERSION)),
        "rocm": _try(lambda: str(torch.version.hip or "")),
    }
    return {name: text for name, text in found.items() if text}
