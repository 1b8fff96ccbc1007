"""Puts the Model Guard's watch onto a MODEL through the host's official wrappers."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import comfy.model_management as management
import comfy.patcher_extension
import torch

from ..core import causes
from ..core.causes import Cause
from ..core.choices import RESTART
from ..core.errors import NonFiniteSampling
from ..core.facts import with_latent
from ..core.sampling import SamplingRun
from ..core.sampling_report import Setting, error_text, sampling_report
from ..tensors.sampling import Guard
from .events import send_report
from .facts import host_facts, remember

KEY = "headroom_model_guard"


class ComfySamplingHost:
    """The running ComfyUI (the SamplingHost of headroom/tensors/sampling.py)."""

    def compute_dtype(self, patcher: Any) -> torch.dtype:
        """The manual cast dtype where there is one, as BaseModel.get_dtype_inference (0.30.0), else the weights'."""
        return patcher.get_model_object("manual_cast_dtype") or patcher.model_dtype()

    def wider_dtype(self, patcher: Any, dtype: torch.dtype) -> torch.dtype | None:
        """bf16 above fp16 and fp8 where the device and the model have it; fp32 above bf16."""
        if dtype in (torch.float32, torch.float64):
            return None
        supported = getattr(patcher.model.model_config, "supported_inference_dtypes", [])
        if (
            dtype is not torch.bfloat16
            and torch.bfloat16 in supported
            and management.should_use_bf16(patcher.load_device)
        ):
            return torch.bfloat16
        return torch.float32


def guarded(model: Any, mode: str, node_id: Any) -> Any:
    """A clone of ``model`` whose samplings are watched; the one given stays as it is.

    A model that is guarded already gets this guard instead of the other one.
    """
    clone = model.clone()

    def on_end(runs: Sequence[SamplingRun], patcher: Any, no_wider: bool) -> None:
        _tell(runs, patcher, mode, node_id, no_wider)

    guard = Guard(ComfySamplingHost(), mode == RESTART, on_end)

    # Plain functions: the host calls .to() on wrappers that have one (comfy/samplers.py, cast_to_load_options).
    def outer_sample(*args: Any, **kwargs: Any) -> Any:
        return guard.outer_sample(*args, **kwargs)

    def predict_noise(*args: Any, **kwargs: Any) -> Any:
        return guard.predict_noise(*args, **kwargs)

    wrappers = comfy.patcher_extension.WrappersMP
    for kind, wrapper in ((wrappers.OUTER_SAMPLE, outer_sample), (wrappers.PREDICT_NOISE, predict_noise)):
        clone.remove_wrappers_with_key(kind, KEY)
        clone.add_wrapper_with_key(kind, KEY, wrapper)
    return clone


def _tell(runs: Sequence[SamplingRun], patcher: Any, mode: str, node_id: Any, no_wider: bool) -> None:
    """Shows what a sampling came to on the guard's node.

    Raises:
        NonFiniteSampling: the last run was not finite.
    """
    last = runs[-1]
    facts = host_facts("latent")
    setting = Setting(type(patcher.model.model_config).__name__, facts.attention)
    likely: Sequence[Cause] = ()
    bad = next((run for run in runs if run.fault is not None), None)
    if bad is not None and bad.fault is not None:
        known = replace(facts, dtype=bad.dtype, model_class=setting.model)
        likely = causes.rank(with_latent(known, bad.fault.check))
    remember(bad is None)
    send_report(node_id, sampling_report(mode, runs, setting, likely, time.time()))
    if last.fault is not None:
        raise NonFiniteSampling(error_text(runs, setting, likely, no_wider))
