"""VRAM Budget: what the card has now, and whether the connected parts fit."""

from __future__ import annotations

import math
import time
from typing import Any

from comfy_api.latest import io

from ..headroom.core.choices import PASSED
from .common import CATEGORY, resends_report


class VramBudget(io.ComfyNode):
    """Anything in, the same out; loads nothing."""

    @classmethod
    def define_schema(cls) -> io.Schema:
        """The node as ComfyUI shows it."""
        passed = io.MatchType.Template("passed")
        return io.Schema(
            node_id="HeadroomBudget",
            display_name="VRAM Budget",
            category=CATEGORY,
            description=(
                "Says what the card has now (other programs, weights that can go, torch's cache, free) and whether the "
                "connected models fit at the latent's size. Loads nothing."
            ),
            search_aliases=["vram", "memory estimate", "does it fit", "free vram", "out of memory"],
            inputs=[
                io.MatchType.Input(
                    PASSED,
                    template=passed,
                    tooltip="Passed on as it is: connect it where the budget is to be read, before the sampler.",
                ),
                io.Model.Input("model", optional=True, tooltip="The model that will sample."),
                io.Clip.Input("clip", optional=True, tooltip="The text encoder."),
                io.Vae.Input("vae", optional=True, tooltip="The VAE that will decode."),
                io.Latent.Input("latent", optional=True, tooltip="Its size decides what sampling and decode need."),
            ],
            outputs=[
                io.MatchType.Output(template=passed, display_name="anything"),
                io.String.Output(display_name="report", tooltip="The budget as text."),
                io.Float.Output(
                    display_name="free_gib",
                    tooltip="Free or freed at the next allocation, in GiB; nan where it cannot be read.",
                ),
                io.Float.Output(
                    display_name="headroom_gib",
                    tooltip="Left after the largest stage, in GiB: negative where it is missing, nan where unknown.",
                ),
                io.Boolean.Output(display_name="fits", tooltip="True only where every connected stage surely fits."),
            ],
            **resends_report(),
        )

    @classmethod
    def execute(
        cls, anything: Any, model: Any = None, clip: Any = None, vae: Any = None, latent: Any = None
    ) -> io.NodeOutput:
        """Reads and reports."""
        from ..headroom.core.budget_report import budget_report
        from ..headroom.core.units import GIB
        from ..headroom.host.planning import budget_now

        result = budget_now(model, clip, vae, latent)
        report = budget_report(result, time.time())
        available = None if result.holders is None else result.holders.available_bytes
        # No number would be an honest 0, and every comparison with nan is false.
        gibs = [math.nan if size is None else size / GIB for size in (available, result.headroom_bytes)]
        return io.NodeOutput(anything, report.as_text(), *gibs, result.fits, ui=report.as_ui())
