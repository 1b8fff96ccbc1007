"""What the Latent Guard does with a LATENT: reads its layout, checks it, and acts on a bad one as the user chose."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..core.choices import DROP, REPLACE, STOP
from ..core.latent import LatentCheck
from ..core.latent_report import Action
from . import repair
from .latent_check import check as check_latent
from .layouts import read


@dataclass(frozen=True)
class Guarded:
    """The LATENT to pass on, what was found in the one that came in, and what was done about it."""

    latent: Any
    """The very object that came in, unless items were dropped or values replaced."""
    check: LatentCheck
    action: Action


def guard(latent: Mapping[str, Any], mode: str) -> Guarded:
    """Checks a LATENT and, where it is bad, does what ``mode`` (one of ``core.latent.MODES``) says.

    Stopping and blocking are left to the caller, who reads ``action.done``.

    Raises:
        LatentError: this is no LATENT with tensors in it.
        UnknownLayout: its shape is none that ComfyUI uses.
    """
    layout = read(latent)
    check = check_latent(layout, latent)
    if check.finite:
        return Guarded(latent, check, Action(asked=mode, done=mode))
    if mode == DROP:
        keep = [item for item in range(check.items) if item not in check.bad_items]
        if not keep:
            return Guarded(latent, check, Action(asked=mode, done=STOP))
        return Guarded(repair.drop(latent, layout, keep), check, Action(asked=mode, done=mode, kept=keep))
    if mode == REPLACE:
        samples, replaced = repair.replace(layout)
        return Guarded({**latent, "samples": samples}, check, Action(asked=mode, done=mode, replaced=replaced))
    return Guarded(latent, check, Action(asked=mode, done=mode))
