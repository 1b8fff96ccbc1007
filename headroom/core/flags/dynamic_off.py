"""Why dynamic VRAM is off where it is expected, or does not do what a flag asks of it."""

from __future__ import annotations

from .. import redact
from .no_effect import STATIC_ONLY
from .rule import Params, Rule, Wording
from .versions import parse_version
from .view import View

#: What main.py 0.30.0 passes on only to a comfy-aimdo that takes it ("comfy-aimdo 0.4.9 protocol", 0.4.10 protocol).
AIMDO_NEEDED = {"--vram-headroom": (0, 4, 10), "--disable-nvml-pressure": (0, 4, 11)}


def _static_unasked(view: View, kind: str) -> bool:
    """Dynamic VRAM is off on a card of this kind although no flag turns it off."""
    return view.dynamic is False and view.gpu is not None and view.gpu.kind == kind and view.wants_dynamic


def _wsl_dynamic(view: View) -> Params | None:
    here = view.host.platform == "wsl" and _static_unasked(view, "cuda") and not view.has("--enable-dynamic-vram")
    return {} if here else None


def _rocm_dynamic(view: View) -> Params | None:
    """Said only where it matters: with flags that need dynamic VRAM, or a model that static loading has to split."""
    if not _static_unasked(view, "rocm") or view.has("--enable-dynamic-vram"):
        return None
    largest, room = max(view.sizes("diffusion"), default=0), view.room_bytes
    split = room is not None and largest > room
    return {} if view.given(STATIC_ONLY) or split else None


def _old_torch(view: View) -> bool:
    torch = parse_version(view.host.versions.get("torch"))
    return torch is not None and torch[:2] < (2, 8)


def _torch_dynamic(view: View) -> Params | None:
    """``--enable-dynamic-vram`` skips the test of torch's version (main.py 0.30.0)."""
    asked = view.has("--enable-dynamic-vram") or view.host.platform == "wsl"
    if not _static_unasked(view, "cuda") or asked or not _old_torch(view):
        return None
    turing = view.gpu is not None and view.gpu.capability is not None and view.gpu.capability >= (7, 5)
    return {"torch": view.host.versions["torch"], "index": "cu128" if turing else "cu126"}


def _aimdo_off(view: View) -> Params | None:
    forced = view.has("--enable-dynamic-vram")
    default = _static_unasked(view, "cuda") and not _old_torch(view) and view.host.platform != "wsl"
    if not (default or (forced and view.dynamic is False and view.gpu)):
        return None
    if view.host.platform is None or "torch" not in view.host.versions:
        return None  # the reason could be another one
    reason = view.host.dynamic_vram_reason
    return {"reason": redact.text(reason).rstrip("."), "variant": "reason"} if reason else {}


def _aimdo_old(view: View) -> Params | None:
    have = parse_version(view.host.versions.get("comfy-aimdo"))
    if have is None or view.dynamic is not True:
        return None
    flags = [flag for flag in view.given(AIMDO_NEEDED) if have < AIMDO_NEEDED[flag]]
    if not flags:
        return None
    need = max(AIMDO_NEEDED[flag] for flag in flags)
    return {"flags": flags, "have": view.host.versions["comfy-aimdo"], "need": ".".join(map(str, need))}


NO_FLAG = "Newer versions have a flag to try it; this one has none."

RULES = (
    Rule(
        id="wsl-dynamic",
        severity="info",
        rank=660,
        when=_wsl_dynamic,
        title="Dynamic VRAM is off because this is WSL",
        why="{comfyui} leaves it off under WSL, and splits models by an estimate instead.",
        fix="Try it and compare two runs; go back if a run fails.",
        check='The start log says "DynamicVRAM support detected and enabled".',
        source="main.py of ComfyUI 0.30.0",
        add=("--enable-dynamic-vram",),
        otherwise=NO_FLAG,
    ),
    Rule(
        id="rocm-dynamic",
        severity="info",
        rank=665,
        when=_rocm_dynamic,
        title="Dynamic VRAM is off because this is an AMD card",
        why=(
            "{comfyui} turns it on by itself for NVIDIA only; newer versions do so from ROCm 7.14. Models are split by "
            "an estimate instead."
        ),
        fix="Try it and look at the pictures: wrong weights after a reload were reported on gfx1201.",
        check='The start log says "DynamicVRAM support detected and enabled".',
        source="ComfyUI #16437; main.py of ComfyUI 0.30.0",
        add=("--enable-dynamic-vram",),
        otherwise=NO_FLAG,
    ),
    Rule(
        id="torch-dynamic",
        severity="warning",
        rank=410,
        when=_torch_dynamic,
        title="Dynamic VRAM is off because torch is {torch}",
        why="It takes torch 2.8 or newer. ComfyUI splits models by an estimate instead, which can be far off.",
        fix="Update torch with ComfyUI's own Python.",
        command=(
            'python -m pip install --upgrade "torch>=2.8" torchvision torchaudio '
            "--index-url https://download.pytorch.org/whl/{index}"
        ),
        check='The start log says "DynamicVRAM support detected and enabled".',
        source="main.py of ComfyUI 0.30.0",
    ),
    Rule(
        id="aimdo-off",
        severity="warning",
        rank=415,
        when=_aimdo_off,
        title="Dynamic VRAM did not start",
        why="No flag turns it off, and torch is new enough, so comfy-aimdo is missing or found no way into the driver.",
        fix='Look for "aimdo" in the start log; on Windows a card in MCDM mode cannot have it.',
        command="python -m pip show comfy-aimdo",
        check='The start log says "DynamicVRAM support detected and enabled".',
        source="comfy-aimdo #37; main.py of ComfyUI 0.30.0",
        variants={"reason": Wording(why="{reason}. Models are split by an estimate instead.")},
    ),
    Rule(
        id="aimdo-old",
        severity="warning",
        rank=430,
        when=_aimdo_old,
        title="comfy-aimdo {have} does not know {flags}",
        why="It takes comfy-aimdo {need} or newer. {comfyui} drops the flag for an older one without a word.",
        fix="Install what this ComfyUI asks for, in its folder and with its Python.",
        command="python -m pip install -r requirements.txt",
        check="`python -m pip show comfy-aimdo` names {need} or newer.",
        source="main.py of ComfyUI 0.30.0; comfy-aimdo PR#107",
    ),
)
