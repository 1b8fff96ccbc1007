"""What to do about a run that failed: rows of data, of which the first three that fit are shown.

To add one: a row in ``failure_fixes`` (VRAM) or ``failure_fixes_other`` (RAM, NaN), and its two cases in
tests/core/test_failure.py.
"""

from __future__ import annotations

from dataclasses import replace

from . import failure_fixes, failure_fixes_other
from .failure_case import Case, FixRow
from .failure_kind import RAM, kind_of
from .flags.wording import fill
from .readings import Failure, Fix, Host, Snapshot
from .run import NodeRun

MOST_FIXES = 3

FIXES: tuple[FixRow, ...] = (*failure_fixes_other.FIXES, *failure_fixes.FIXES)
"""All rows; their order is the order in which they are shown."""


def failure_at(
    moment: Snapshot, class_name: str, text: str, node: NodeRun | None, batch: int | None = None, late: bool = False
) -> Failure:
    """The failure of a node, with the readings of that moment and what can be done.

    Args:
        moment: taken before anything was unloaded.
        class_name: the exception's, with its module.
        batch: the largest batch size in the workflow; None where it names none.
        late: learnt of when the moment had gone, so that only words are left.
    """
    devices = moment.devices
    on_cpu = "--cpu" in moment.host.flags or (bool(devices) and all(one.kind == "cpu" for one in devices))
    said = kind_of(class_name, text, on_cpu)
    gpu = next((one for one in devices if one.kind != "cpu"), None)
    read = moment.ram.available_bytes if said.memory == RAM else gpu.free_bytes if gpu else None
    failure = Failure(
        kind=said.kind,
        at=moment.taken_at,
        node_id=node.display_id if node else None,
        node_type=node.type if node else None,
        message=text,
        memory=said.memory,
        asked_bytes=said.asked_bytes,
        free_bytes=read if said.free_bytes is None and said.memory is not None else said.free_bytes,
        devices=devices,
        ram=moment.ram,
        models=moment.models,
        running_seconds=node.seconds if node and not late else None,
    )
    return with_fixes(failure, moment.host, batch)


def with_fixes(failure: Failure, host: Host, batch: int | None = None) -> Failure:
    """The failure with what can be done about it."""
    case = Case(failure, host, batch)
    found: list[Fix] = []
    for row in FIXES:
        params = row.when(case) if len(found) < MOST_FIXES else None
        if params is not None:
            expected = params.get("expected_bytes")
            values = {name: value for name, value in params.items() if name != "expected_bytes"}
            found.append(Fix(row.id, fill(row.text, values), expected, values))
    return replace(failure, fixes=tuple(found))
