"""The journal of a running prompt: what is found of it after a kill says where ComfyUI was.

One line of JSON per event, each written at once; a line counts when its end is there. The first says which boot of
the machine it was, the last may say that the prompt ended.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from .readings import LastRun


@dataclass(frozen=True)
class Journal:
    """What a journal tells; None where it does not."""

    boot: str | None = None
    oom_kills: int | None = None
    """The kernel's counter when the prompt began."""
    node: str | None = None
    at: float | None = None
    ram_bytes: int | None = None
    vram_bytes: int | None = None
    ended: bool = False


def beginning(at: float, boot: str | None, oom_kills: int | None) -> bytes:
    """The first line."""
    return _line({"at": at, "boot": boot, "oom_kills": oom_kills})


def change_of_node(at: float, node: str, ram_bytes: int | None, vram_bytes: int | None) -> bytes:
    """A node begins."""
    return _line({"at": at, "node": node, "ram_bytes": ram_bytes, "vram_bytes": vram_bytes})


ENDED = b'{"ended": true}\n'
"""The last line: it also counts where the file could not be removed afterwards."""


def read_journal(text: bytes) -> Journal | None:
    """A journal from a file's content, also from one that was cut; None where not even the first line is whole."""
    merged: dict[str, Any] = {}
    for line in text.split(b"\n")[:-1]:
        try:
            fact = json.loads(line)
        except ValueError:
            continue
        if isinstance(fact, dict):
            merged |= fact
    if not merged:
        return None
    return Journal(
        boot=_typed(merged, "boot", str),
        oom_kills=_typed(merged, "oom_kills", int),
        node=_typed(merged, "node", str),
        at=_typed(merged, "at", float),
        ram_bytes=_typed(merged, "ram_bytes", int),
        vram_bytes=_typed(merged, "vram_bytes", int),
        ended=merged.get("ended") is True,
    )


def unfinished(journal: Journal, boot: str | None, oom_kills: int | None) -> LastRun:
    """The run that a journal without an end is left of.

    Args:
        boot: this boot of the machine; counters of another one say nothing.
        oom_kills: the kernel's counter now.
    """
    same = boot is not None and journal.boot == boot
    known = same and oom_kills is not None and journal.oom_kills is not None
    return LastRun(
        finished=False,
        node=journal.node,
        ram_bytes=journal.ram_bytes,
        vram_bytes=journal.vram_bytes,
        ended_at=journal.at,
        oom_kills_rose=(oom_kills or 0) > (journal.oom_kills or 0) if known else None,
    )


def _line(fact: dict[str, Any]) -> bytes:
    return json.dumps(fact).encode() + b"\n"


def _typed(found: dict[str, Any], name: str, kind: type) -> Any:
    value = found.get(name)
    wanted = (int, float) if kind is float else kind
    return value if isinstance(value, wanted) and not isinstance(value, bool) else None
