"""Where everything waits between the stages, and what that takes of the RAM, as lines for a terminal."""

from __future__ import annotations

from collections.abc import Iterator

from ..core.offload import Placement
from ..core.plan.ram import RamPlan
from ..core.plan.ram_words import switch_words
from ..core.plan.whole import Plan
from ..core.planning_words import gibs
from ..core.units import gib
from .tables import paragraph, table


def ram_lines(plan: Plan) -> Iterator[str]:
    """The section."""
    yield "Between the stages"
    if plan.ram is None:
        yield "  n/a: say the machine's memory, --ram 32GiB"
        return
    offload = plan.ram.offload
    rows = [("  model", "GiB", "runs on", "waits in")]
    for one in offload.placements:
        if one.part.stage.weights_bytes:
            rows.append((f"  {one.part.stage.name}", gib(one.part.stage.weights_bytes), one.run_on, _waits(one)))
    yield from table(rows, right=(1,), indent="")
    for one in offload.placements:
        if one.run_on != "gpu":
            yield from paragraph(f"{one.part.stage.name} on the {one.run_on}: {one.reason}.")
    yield f"  RAM: {_taken(plan.ram)} that models can have"
    if plan.ram.swap_short_bytes:
        yield from paragraph(
            f"The swapped blocks are {gibs(plan.ram.swap_short_bytes)} more than that: swap fewer, or take smaller "
            "files."
        )
    yield from switch_lines(plan.ram)
    for text in offload.notices:
        yield from paragraph(text)


def switch_lines(ram: RamPlan) -> Iterator[str]:
    """What RAM has to hold when one model follows the other; nothing where there is one."""
    if ram.switch is not None:
        encoders = [one for one in ram.offload.placements if one.part.role == "text encoder"]
        yield from paragraph(switch_words(ram.switch, any(one.park == "disk" for one in encoders)))


def _taken(ram: RamPlan) -> str:
    """Mapped files take what is left, as far as it goes."""
    all_of_it = any(one.park == "disk" and one.part.mapped for one in ram.offload.placements)
    room = gibs(ram.room_bytes)
    return f"all {room}" if all_of_it else f"{gibs(ram.offload.ram_bytes)} of the {room}"


def _waits(one: Placement) -> str:
    if one.park == "gpu":
        return "the card"
    return "disk, and RAM in part" if one.park == "disk" and one.part.mapped else one.park
