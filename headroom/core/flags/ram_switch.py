"""What a switch between two models takes of the RAM, and the flag that was the answer to it before dynamic VRAM."""

from __future__ import annotations

from ..ram_room import Held, models_room_bytes, switch
from .ram import RELEASES_SINCE
from .rule import Params, Rule, Wording
from .view import STATIC_FLAGS, View


def _ram_switch(view: View) -> Params | None:
    """Two diffusion models that take turns are in RAM together where their weights are copies: see ``ram_room``."""
    total, dynamic = view.ram.total_bytes, view.dynamic
    if total is None or dynamic is None or view.has("--cache-none"):
        return None
    # --high-ram never lets go of pinned weights (ensure_pin_budget in comfy/model_management.py 0.30.0).
    mapped = dynamic and not view.has("--high-ram")
    models, encoders = (
        [Held(one.size_bytes, mapped and not one.gguf) for one in view.planned(kind) if one.size_bytes]
        for kind in ("diffusion", "text encoder")
    )
    found = switch(models, encoders, models_room_bytes(total))
    if found is None or found.fits:
        return None
    new, old = sorted((one.size_bytes for one in models), reverse=True)[:2]
    params = {"need_bytes": found.committed_bytes, "room_bytes": found.room_bytes, "ram_bytes": total}
    params |= {"old_bytes": old, "new_bytes": new}
    if dynamic:
        return {**params, "variant": "gguf" if mapped else "pinned"}
    return {**params, "variant": "static"} if _turned_off(view) else params


def _turned_off(view: View) -> bool:
    """Dynamic VRAM would be there without a flag: ComfyUI 0.30.0 turns it on by itself for NVIDIA outside of WSL."""
    nvidia = not view.cpu and (view.gpu is None or view.gpu.kind == "cuda")
    return nvidia and view.host.platform != "wsl" and bool(view.given(STATIC_FLAGS))


def _cache_none(view: View) -> Params | None:
    """Without dynamic VRAM it is a way to get by with little RAM; ``ram-switch`` says so."""
    known = view.version is not None and view.version >= RELEASES_SINCE
    return {} if known and view.has("--cache-none") and view.dynamic is True else None


RULES = (
    Rule(
        id="ram-switch",
        severity="problem",
        rank=65,
        when=_ram_switch,
        title="The switch between two models may take {need_bytes}; models can have {room_bytes} of the RAM",
        why=(
            "Without dynamic VRAM models are copies in RAM: {old_bytes} of the old one and any text encoder are there "
            "while {new_bytes} of the new one are read. Where that does not fit, the system ends ComfyUI."
        ),
        fix=(
            "A model then goes after the last node that uses it. The cost: every run loads all models and encodes the "
            "prompts again."
        ),
        otherwise="Use smaller files, or add RAM or swap.",
        check="Both models load, and ComfyUI runs on.",
        source="ComfyUI-KJNodes #632; ComfyUI #10771; ComfyUI PR#7509; ComfyUI-WanVideoWrapper #1044",
        add=("--cache-none",),
        variants={
            "static": Wording(
                fix="With dynamic VRAM the weights stay in their files, and the system drops and reads them as needed.",
                remove=STATIC_FLAGS,
                add=(),
            ),
            "pinned": Wording(
                why=(
                    "`--high-ram` pins weights and never lets go of them: {old_bytes} of the old model and any text "
                    "encoder are in RAM beside {new_bytes} of the new one. Where that does not fit, the system swaps "
                    "or ends ComfyUI."
                ),
                fix="ComfyUI then lets pinned weights go while RAM is short, and reads them again.",
                remove=("--high-ram",),
                add=(),
            ),
            "gguf": Wording(
                why=(
                    "Weights of a GGUF file are copies in RAM: {old_bytes} of the old model and any text encoder are "
                    "there while {new_bytes} of the new one are read. Where that does not fit, the system ends ComfyUI."
                ),
                fix="Use .safetensors files, whose weights stay in the file with dynamic VRAM, or add RAM or swap.",
                add=(),
            ),
        },
    ),
    Rule(
        id="cache-none-reruns",
        severity="info",
        rank=682,
        when=_cache_none,
        title="`--cache-none` loads every model and encodes every prompt again in each run",
        why=(
            "With dynamic VRAM weights stay in their files, and the system drops them by itself. By default ComfyUI "
            "also lets go of results while RAM is short, which this flag turns off."
        ),
        fix="Leave it if results of large videos fill the RAM otherwise.",
        check="The second run of the same workflow starts with sampling.",
        source="ComfyUI PR#7509; main.py and execution.py 0.30.0",
        remove=("--cache-none",),
    ),
)
