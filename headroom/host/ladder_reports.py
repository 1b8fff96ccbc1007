"""What VAE Decode (Safe) and VAE Encode (Safe) tell on the way, and why something was not finite."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from ..core.causes import Cause, rank
from ..core.facts import Stage
from ..tensors.ladder.options import Attempt
from ..tensors.ladder.report import running_report
from .events import send_report
from .facts import host_facts


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
    causes = rank(facts)
    if attempts[-1].outcome == "finished":
        # A wider precision gave a sound result: then the file is not damaged, whatever else the reason was.
        causes = tuple(cause for cause in causes if not cause.id.startswith("unknown"))
    return causes
