"""What VAE Decode (Safe) and VAE Encode (Safe) share: the ladder's options, and what is told on the way."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from comfy_api.latest import io

from ..headroom.core.causes import Cause, rank
from ..headroom.core.facts import Stage
from ..headroom.host.events import send_report
from ..headroom.host.facts import host_facts
from ..headroom.tensors.ladder.options import CPU_RULES, PRECISIONS, STARTS, Attempt
from ..headroom.tensors.ladder.report import running_report


def ladder_inputs() -> list[Any]:
    """All optional, so that a prompt made for the stock node is valid as it is."""
    return [
        io.Combo.Input(
            "start",
            options=list(STARTS),
            default="auto",
            optional=True,
            tooltip="auto: the full frame, unless it cannot fit. Whatever the start, less memory is tried next.",
        ),
        io.Int.Input(
            "smallest_tile",
            default=256,
            min=64,
            max=2048,
            step=64,
            optional=True,
            tooltip="Tiles never get smaller than this, in pixels. Smaller tiles need less memory and show more seams.",
        ),
        io.Combo.Input(
            "precision",
            options=list(PRECISIONS),
            default="auto",
            optional=True,
            tooltip="auto: the VAE's own, wider only for what comes out NaN. The others are the least that is used.",
        ),
        io.Combo.Input(
            "allow_cpu",
            options=list(CPU_RULES),
            default="images only",
            optional=True,
            tooltip="The last resort when nothing fits on the GPU. For a video it can take hours.",
        ),
    ]


def tell(node_id: Any, attempts: Sequence[Attempt]) -> None:
    """Shows a failed attempt at once; the end is shown by the node's own output."""
    if attempts[-1].outcome != "finished":
        send_report(node_id, running_report(attempts))


def likely_causes(stage: Stage, attempts: Sequence[Attempt], vae: Any) -> Sequence[Cause]:
    """Likely causes of the first attempt that came out non-finite; none if all were finite."""
    bad = next((attempt for attempt in attempts if attempt.outcome == "not finite"), None)
    if bad is None:
        return ()
    facts = replace(
        host_facts(stage),
        dtype=bad.dtype,
        vae_class=type(vae.first_stage_model).__name__,
        items=len(bad.items),
        only_inf=bad.reason.startswith("Inf"),
    )
    return rank(facts)
