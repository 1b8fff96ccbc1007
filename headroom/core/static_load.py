"""How ComfyUI loads weights without dynamic VRAM: as many as leave room for its own number, before the first step.

load_models_gpu in comfy/model_management.py and ModelPatcher.load in comfy/model_patcher.py, 0.30.0. What is loaded
stays for the whole sampling, however much or little the work takes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from .units import GIB

#: minimum_inference_memory, without what the host keeps free besides: that is off a card's room already.
LEAST_FREE_BYTES = int(0.8 * GIB)


@dataclass(frozen=True)
class StaticLoad:
    """How one model is loaded."""

    free_bytes: int
    """What the host wants to leave free for the work."""
    staging_bytes: int
    """Room for the layers that are under way, which it takes off where weights are streamed."""
    least_share: float
    """Of the room that weights get even where that leaves less than ``free_bytes``."""

    def loaded_bytes(self, weights_bytes: int, room_bytes: int) -> int:
        """Weights that are on the card during the work: all, or what the host's formula leaves of the room."""
        kept = max(
            0, room_bytes - self.free_bytes, min(int(room_bytes * self.least_share), room_bytes - LEAST_FREE_BYTES)
        )
        return weights_bytes if weights_bytes <= kept else max(0, kept - self.staging_bytes)

    def left_bytes(self, weights_bytes: int, room_bytes: int) -> int:
        """What the work gets of the room."""
        loaded = self.loaded_bytes(weights_bytes, room_bytes)
        return room_bytes - loaded - (0 if loaded == weights_bytes else min(self.staging_bytes, room_bytes - loaded))


@dataclass(frozen=True)
class StaticLoader:
    """The same for a make of card: MIN_WEIGHT_MEMORY_RATIO and NUM_STREAMS."""

    least_share: float = 0.4
    streams: int = 0

    def load(self, reserved_bytes: int | None, layer_bytes: int, widens: int = 0) -> StaticLoad:
        """How a model is loaded.

        Args:
            reserved_bytes: the host's number for the work of one prompt; None where there is none.
            layer_bytes: of the layers that are loaded last, the largest that there are several of.
            widens: bytes per stored byte of the copy in the dtype that it computes in; 0 where that is the stored one.
        """
        staging = layer_bytes * (1 + self.streams + widens)
        return StaticLoad(max(LEAST_FREE_BYTES, reserved_bytes or 0), staging, self.least_share)


#: By kind of device; others are like Intel's.
LOADERS: Mapping[str, StaticLoader] = {"cuda": StaticLoader(0.0, 2), "rocm": StaticLoader(0.4, 2)}
OTHERS = StaticLoader()


def static_loader(kind: str) -> StaticLoader:
    """The loader for a kind of device."""
    return LOADERS.get(kind, OTHERS)
