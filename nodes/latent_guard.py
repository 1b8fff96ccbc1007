"""The Latent Guard: finds NaN and Inf in a LATENT before they become a black picture."""

from __future__ import annotations

import time
from typing import Any

from comfy_api.latest import io

from ..headroom.core.choices import BLOCK, LATENT_MODES, STOP
from .common import CATEGORY, resends_report, source_of


class LatentGuard(io.ComfyNode):
    """LATENT in, the same LATENT out; a bad one is stopped, blocked, cut, repaired or only reported."""

    @classmethod
    def define_schema(cls) -> io.Schema:
        """The node as ComfyUI shows it."""
        return io.Schema(
            node_id="HeadroomLatentGuard",
            display_name="Latent Guard",
            category=CATEGORY,
            description="Finds NaN and Inf in a latent where they appear, before they become a black picture.",
            search_aliases=["nan check", "black image", "inf", "latent check", "validate latent"],
            inputs=[
                io.Latent.Input("samples", tooltip="The latent to check: image, video, audio, or audio and video."),
                io.Combo.Input(
                    "mode",
                    options=list(LATENT_MODES),
                    default=STOP,
                    optional=True,
                    tooltip="What to do when the latent holds NaN or Inf. A clean one is always passed on untouched.",
                ),
            ],
            outputs=[
                io.Latent.Output(display_name="LATENT"),
                io.String.Output(display_name="report", tooltip="What was found, as text."),
            ],
            hidden=[io.Hidden.unique_id, io.Hidden.prompt],
            **resends_report(),
        )

    @classmethod
    def execute(cls, samples: Any, mode: str = STOP) -> io.NodeOutput:
        """Checks, acts and reports.

        Raises:
            LatentError: NonFiniteLatent where the run is to stop; UnknownLayout and others where this is no latent.
        """
        from ..headroom.core import causes
        from ..headroom.core.errors import NonFiniteLatent
        from ..headroom.core.facts import with_latent
        from ..headroom.core.latent_report import Run, error_text, latent_report
        from ..headroom.host.events import send_report
        from ..headroom.host.facts import host_facts, remember
        from ..headroom.tensors.guard import guard

        started = time.perf_counter()
        guarded = guard(samples, mode)
        seconds = time.perf_counter() - started
        likely = () if guarded.check.finite else causes.rank(with_latent(host_facts("latent"), guarded.check))
        remember(guarded.check.finite)
        # None where another node calls this one outside of a prompt.
        node_id, prompt = getattr(cls.hidden, "unique_id", None), getattr(cls.hidden, "prompt", None)
        run = Run(seconds, time.time(), source_of(prompt, node_id, "samples"))
        report = latent_report(guarded.check, guarded.action, likely, run)
        if not guarded.check.finite and guarded.action.done == STOP:
            # The host shows no output of a node that raises, so the report goes ahead of the error.
            send_report(node_id, report)
            raise NonFiniteLatent(error_text(report, likely))
        block = error_text(report, likely) if not guarded.check.finite and guarded.action.done == BLOCK else None
        # Both outputs are given even when they are blocked: 0.30 fails on a blocked node without them.
        return io.NodeOutput(guarded.latent, report.as_text(), ui=report.as_ui(), block_execution=block)
