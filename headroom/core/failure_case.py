"""A failure as the rows of fixes ask about it. None is unknown throughout, and a row that meets it is quiet."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from .failure_kind import NAN, OUT_OF_MEMORY, RAM, VRAM
from .flags.view import View
from .readings import Device, Failure, Host, LoadedModel, Snapshot

#: Parts of a node's class name -> the kind of model that works in it; the first that fits counts.
AT_WORK = (
    ("vae", "vae"),
    ("textencode", "text encoder"),
    ("cliptext", "text encoder"),
    ("sampler", "diffusion"),
    ("guider", "diffusion"),
)


class Case:
    """Questions about one failure."""

    def __init__(self, failure: Failure, host: Host, batch: int | None = None) -> None:
        self.failure, self.host, self.batch = failure, host, batch
        self.view = View(Snapshot(failure.at, host, failure.devices, ram=failure.ram, models=failure.models))

    @property
    def in_vram(self) -> bool:
        """The card's memory ran out."""
        return self.failure.kind == OUT_OF_MEMORY and self.failure.memory == VRAM

    @property
    def in_ram(self) -> bool:
        """The machine's memory ran out."""
        return self.failure.kind == OUT_OF_MEMORY and self.failure.memory == RAM

    @property
    def nan(self) -> bool:
        """A value was NaN or Inf."""
        return self.failure.kind == NAN

    @cached_property
    def node(self) -> str:
        """The class of the node, in lower case."""
        return (self.failure.node_type or "").lower()

    @property
    def ours(self) -> bool:
        """It is one of this pack's nodes."""
        return self.node.startswith("headroom")

    @property
    def gpu(self) -> Device | None:
        """The card as it was."""
        return self.view.gpu

    @cached_property
    def at_work(self) -> str | None:
        """The kind of model that worked; None for a node that is not known."""
        return next((kind for part, kind in AT_WORK if part in self.node), None)

    @cached_property
    def idle_models(self) -> list[LoadedModel]:
        """Models on the card that did not work in this node, the largest first; empty where that is not known."""
        if self.at_work is None or self.gpu is None:
            return []
        there = [one for one in self.failure.models if one.resident_bytes and (one.device or "cpu") != "cpu"]
        idle = [one for one in there if one.kind != self.at_work]
        return sorted(idle, key=lambda one: one.resident_bytes or 0, reverse=True)

    @cached_property
    def lacking_bytes(self) -> int | None:
        """What was asked for and not free."""
        asked, free = self.failure.asked_bytes, self.failure.free_bytes
        if asked is None:
            return None
        return asked if free is None or free >= asked else asked - free

    @cached_property
    def working_bytes(self) -> int | None:
        """What the node took beside weights, with what it asked for in vain."""
        asked, allocated = self.failure.asked_bytes, self.gpu.torch_allocated_bytes if self.gpu else None
        if asked is None or allocated is None:
            return None
        # Pages of dynamic VRAM are not torch's.
        weights = sum(one.resident_bytes or 0 for one in self.failure.models if one.dynamic is False)
        return max(0, allocated - weights) + asked


@dataclass(frozen=True)
class FixRow:
    """One thing to do: when it fits, and what to say."""

    id: str
    when: Callable[[Case], Mapping[str, Any] | None]
    """The values for the text, with ``expected_bytes`` where that can be computed; None where it does not fit."""
    text: str
    """A template, filled as those of the flag rules are."""
    source: str
