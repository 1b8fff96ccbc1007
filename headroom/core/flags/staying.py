"""What lies on the card at once where models never leave it: with --highvram diffusion models, with --gpu-only all.

Both are "unloaded" to the card itself then (unet_offload_device, text_encoder_offload_device and vae_offload_device in
comfy/model_management.py 0.30.0), and nothing is streamed (load_models_gpu).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from ..card_room import CONTEXT_BYTES, offered_bytes
from .contradictions import RESIDENT
from .rule import Params
from .view import INFERENCE_BYTES, View

#: What runs with a model of a kind.
STAGES = {"text encoder": "text encoding", "diffusion": "sampling", "vae": "the decode"}


@dataclass(frozen=True)
class StageNeed:
    """A stage beside the models that stay: its own weights where they are not among those, and its work."""

    stage: str
    resident_bytes: int
    low_bytes: int
    high_bytes: int

    def __post_init__(self) -> None:
        if not 0 <= self.low_bytes <= self.high_bytes:
            raise ValueError(f"{self.stage} takes {self.low_bytes} to {self.high_bytes} bytes")


def usable_bytes(view: View) -> int | None:
    """What a run can have of the card, as plans count it: without other programs, the process's context and what
    ComfyUI keeps free."""
    if view.card_bytes is None:
        return None
    kept = view.others_bytes + CONTEXT_BYTES + max(0, view.reserve_bytes)
    return max(0, offered_bytes(view.card_bytes) - kept)


def stage_needs(view: View, flag: str) -> list[StageNeed]:
    """Every stage whose models are known, as it is with this flag; empty where no model stays."""
    staying = tuple(STAGES) if flag == "--gpu-only" else ("diffusion",)
    resident = sum(size for kind in staying for size in view.sizes(kind))
    if not resident:
        return []
    return [
        StageNeed(stage, resident, low, high)
        for kind, stage in STAGES.items()
        for low, high in _beside(view, kind, stays=kind in staying)
    ]


def _beside(view: View, kind: str, stays: bool) -> Iterator[tuple[int, int]]:
    """Where a model's work is not known, at most what ComfyUI keeps free for any, and for sampling no less either."""
    floor = INFERENCE_BYTES if kind == "diffusion" else 0
    planned = view.planned(kind)
    for model in planned:
        own = 0 if stays else model.size_bytes or 0
        if model.peak_low_bytes is not None and model.peak_high_bytes is not None:
            yield own + model.peak_low_bytes, own + model.peak_high_bytes
        else:
            yield own + floor, own + INFERENCE_BYTES
    if not planned:
        yield from ((floor + own, INFERENCE_BYTES + own) for own in (0 if stays else size for size in view.sizes(kind)))


def too_large(view: View) -> Params | None:
    """The stage that takes most, where it surely takes more than a run can have."""
    return _over(view, lambda one: one.low_bytes)


def may_be_too_large(view: View) -> Params | None:
    """The same where only the high end of the estimate does."""
    return None if too_large(view) else _over(view, lambda one: one.high_bytes)


def _over(view: View, end: Callable[[StageNeed], int]) -> Params | None:
    given, room, card = view.given(RESIDENT), usable_bytes(view), view.card_bytes
    if not given or view.dynamic is True or room is None or card is None:
        return None
    flag = "--gpu-only" if "--gpu-only" in given else given[0]
    largest = max(stage_needs(view, flag), key=end, default=None)
    if largest is None or largest.resident_bytes + end(largest) <= room:
        return None
    return {
        "flag": flag,
        "stage": largest.stage,
        "weights_bytes": largest.resident_bytes,
        "beside_bytes": end(largest),
        "need_bytes": largest.resident_bytes + end(largest),
        "room_bytes": room,
        "card_bytes": card,
    }
