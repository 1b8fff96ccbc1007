"""The record of one run: which node took how long and how much. Kept for the last run only, and bounded.

The clock and the counters are the caller's: this is arithmetic, and it must cost microseconds per node.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

MOST_NODES = 4000
"""A loop of expanded nodes can go on for days."""
GROWTH_RUNS = 5
"""So many runs of the same workflow in a row tell a leak (ComfyUI #11617) from a cache that fills."""


@dataclass(frozen=True)
class NodeRun:
    """One node of a run; sizes in bytes, times in seconds."""

    id: str
    """Of the node that ran; one inside an expanded node has an id that the canvas does not show."""
    display_id: str
    """As the user sees it."""
    type: str
    began_seconds: float
    """After the run began."""
    seconds: float
    """Until it ended, or until now. What nodes that it waits for took (lazy inputs, expansion) is theirs.

    Nodes that run side by side (asynchronous ones) each have their whole time, once they have ended.
    """
    state: str
    """``running``, ``waiting`` for other nodes, ``finished``, ``error``, ``interrupted``."""
    vram_peak_bytes: int | None = None
    """Most that torch had allocated during it; None where that is not above what an earlier node had reached."""
    ram_bytes: int | None = None
    """What this process held when it ended; None for a node of milliseconds."""


@dataclass(frozen=True)
class Run:
    """One run, also while it goes on."""

    prompt_id: str | None
    began_at: float
    """Unix time."""
    seconds: float
    state: str
    """``running``, ``finished``, ``error``, ``interrupted``."""
    nodes: Sequence[NodeRun] = ()
    """In the order in which they began."""
    cached: Sequence[str] = ()
    """Ids of nodes whose results were there already; while the run goes on only of those at its end."""
    nodes_left_out: int = 0
    """Beyond ``MOST_NODES``."""
    vram_peak_bytes: int | None = None
    """Most that torch had allocated; the pages of dynamic VRAM are not counted."""
    ram_bytes: int | None = None
    """What this process held when it ended."""


class _Node:
    """A ``NodeRun`` in the making: replacing a frozen one at every step would cost as much as all the rest."""

    __slots__ = ("began", "display_id", "earlier", "expanded", "id", "peak", "ram", "seconds", "since", "state", "type")

    def __init__(self, node_id: str, display_id: str, kind: str, began: float) -> None:
        self.id, self.display_id, self.type, self.began = node_id, display_id, kind, began
        self.seconds, self.state = 0.0, "running"
        self.since = self.earlier = 0.0
        """The caller's clock when it last began, and the seconds that it had by then."""
        self.expanded = False
        """It has become other nodes."""
        self.peak: int | None = None
        self.ram: int | None = None

    def frozen(self, more_seconds: float) -> NodeRun:
        seconds = self.seconds + more_seconds
        return NodeRun(self.id, self.display_id, self.type, self.began, seconds, self.state, self.peak, self.ram)


class RunLog:
    """A run as it is being written down, on the thread that runs it; other threads take ``run``, which is frozen."""

    def __init__(self, began_at: float, now: float) -> None:
        self.prompt_id: str | None = None
        self.peak_bytes: int | None = None
        self.ram_bytes: int | None = None
        self.state = "running"
        self._began_at, self._began, self._ended = began_at, now, now
        self._nodes: dict[str, _Node] = {}
        self._cached: dict[str, None] = {}
        self._left_out = 0
        self._open: _Node | None = None
        self._open_since = now

    def start(self, node_id: str, display_id: str, kind: str, now: float, parent_id: str | None = None) -> None:
        """A node begins, or goes on after it has waited for others.

        Args:
            parent_id: of the node that became this one among others.
        """
        self._close("waiting", now)
        self._expanded(parent_id)
        node = self._nodes.get(node_id)
        if node is None:
            node = _Node(node_id, display_id, kind, now - self._began)
            if len(self._nodes) < MOST_NODES:
                self._nodes[node_id] = node
            else:
                self._left_out += 1
        node.state = "running"
        node.since, node.earlier = now, node.seconds
        self._open, self._open_since = node, now

    def finish(self, node_id: str, now: float, peak_bytes: int | None = None, parent_id: str | None = None) -> float:
        """A node has ended, or was there already; how long it has run since it last began."""
        self._expanded(parent_id)
        if self._open is not None and self._open.id == node_id:
            self._open.peak = peak_bytes
            lasted = now - self._open_since
            self._close("finished", now)
            return lasted
        node = self._nodes.get(node_id)
        if node is None:
            if len(self._cached) < MOST_NODES:
                self._cached[node_id] = None
            return 0.0
        waited, node.state = node.state == "waiting", "finished"
        if node.expanded or not waited:
            return 0.0
        # One that waits for an input begins again before it ends, and one that expands has become others. So it was
        # asynchronous: it has run all the time, beside the others.
        lasted = now - node.since
        node.seconds = node.earlier + lasted
        return lasted

    def held(self, node_id: str, ram_bytes: int | None) -> None:
        """What this process held when the node had ended."""
        if node_id in self._nodes:
            self._nodes[node_id].ram = ram_bytes

    def end(self, state: str, now: float) -> None:
        """The run has ended; a node that has not did so in the same way."""
        self._close(state, now)
        self.state, self._ended = state, now
        for node in self._nodes.values():
            if node.state == "waiting":
                node.state = state

    def unfinished(self, now: float) -> NodeRun | None:
        """The node that runs, else the last that waits for others; None where there is neither."""
        if self._open is not None:
            return self._open.frozen(now - self._open_since)
        waiting = (node for node in reversed(self._nodes.values()) if node.state == "waiting")
        node = next(waiting, None)
        return None if node is None else node.frozen(0.0)

    def running(self) -> tuple[str, str] | None:
        """Id on the canvas and class of the node that runs; for any thread."""
        node = self._open
        return None if node is None else (node.display_id, node.type)

    @property
    def worked(self) -> bool:
        """A node has run: not all were cached."""
        return bool(self._nodes)

    def settle(self, state: str, cached: Sequence[str]) -> None:
        """How the run really ended, and which nodes were cached, once that is told."""
        for node in self._nodes.values():
            if node.state == self.state and node.state != "finished":
                node.state = state
        self.state = state
        self._cached = dict.fromkeys(cached[:MOST_NODES])

    def run(self, now: float) -> Run:
        """What is known by now."""
        ended, opened = self.state != "running", self._open
        until = self._ended if ended else now
        return Run(
            prompt_id=self.prompt_id,
            began_at=self._began_at,
            seconds=until - self._began,
            state=self.state,
            nodes=tuple(
                node.frozen(until - self._open_since if node is opened else 0.0) for node in list(self._nodes.values())
            ),
            cached=tuple(self._cached),
            nodes_left_out=self._left_out,
            vram_peak_bytes=self.peak_bytes,
            ram_bytes=self.ram_bytes,
        )

    def _expanded(self, parent_id: str | None) -> None:
        parent = self._nodes.get(parent_id) if parent_id is not None else None
        if parent is not None:
            parent.expanded = True

    def _close(self, state: str, now: float) -> None:
        if self._open is not None:
            self._open.seconds += now - self._open_since
            self._open.state = state
            self._open = None


def spilled(held_bytes: int | None, card_bytes: int | None) -> int | None:
    """What surely lies in system memory: this process has more than the card has (NVIDIA's driver for Windows).

    None where that does not show: it may have spilled all the same, as other programs hold a part of the card.
    """
    if held_bytes is None or card_bytes is None or held_bytes <= card_bytes:
        return None
    return held_bytes - card_bytes


def ram_growth(held: Sequence[int]) -> int | None:
    """By how much this process grows with each run of the same workflow, in bytes; None before enough runs.

    The smallest of the steps: a model that is loaded once, or a cache that fills, is no growth.

    Args:
        held: what it held after each run, the last one last.
    """
    last = held[-GROWTH_RUNS:]
    if len(last) < GROWTH_RUNS:
        return None
    return max(0, min(after - before for before, after in itertools.pairwise(last)))
