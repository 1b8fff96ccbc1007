"""What a plan says about RAM and disk in sentences."""

from __future__ import annotations

from ..disk import disk_bytes, disk_times
from ..planning_words import gibs
from ..ram_room import Switch
from .whole import Plan

OVERFLOWS = "RAM cannot hold the weights that are copied, so no time is given."


def switch_words(switch: Switch, missing_encoders: bool) -> str:
    """What RAM has to hold when one model follows the other.

    Args:
        missing_encoders: there are text encoders for which RAM has no place, so that they are not counted.
    """
    encoders = f" and {gibs(switch.encoders_bytes)} of text encoders" if switch.encoders_bytes else ""
    beside = ", without the text encoder, for which there is no place," if missing_encoders else ""
    if not switch.fits:
        verdict = "TOO MUCH. The system may end ComfyUI there (ComfyUI #10771)"
    elif switch.reads_again:
        verdict = "what it cannot hold is read from its file again at the switch; nothing has to be ended for it"
    else:
        verdict = "it fits"
    return (
        f"Switch from the first model to the second: {gibs(switch.models_bytes)} of both models{encoders} at once"
        f"{beside or ','} and models can have {gibs(switch.room_bytes)} of the RAM: {verdict}."
    )


def from_disk_words(plan: Plan, steps: int) -> str:
    """What all steps read from disk and how long that takes; empty where RAM holds what is copied."""
    size = None if plan.ram is None else plan.ram.read_in_a_step
    if size is None:
        return ""
    low, high = (each * steps for each in size)
    return f"All {steps} steps read {disk_bytes((low, high))} from disk: {disk_times((low, high))}."
