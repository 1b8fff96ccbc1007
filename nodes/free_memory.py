"""Free Memory: unloads models and empties caches at this place of a workflow, and says what that really freed."""

from __future__ import annotations

import time
from typing import Any

from comfy_api.latest import io

from ..headroom.core.choices import FREE_CHOICES, NOT_CONNECTED, PASSED
from .common import CATEGORY, resends_report


class FreeMemory(io.ComfyNode):
    """Anything in, the same out; it runs when what comes in has changed, as every node."""

    @classmethod
    def define_schema(cls) -> io.Schema:
        """The node as ComfyUI shows it; the output takes the type of what is connected."""
        passed = io.MatchType.Template("passed")
        return io.Schema(
            node_id="HeadroomFreeMemory",
            display_name="Free Memory",
            category=CATEGORY,
            description="Unloads models at this place of the workflow and says what VRAM and RAM that really freed.",
            search_aliases=["unload model", "free vram", "clear cache", "purge vram", "garbage collect", "clean ram"],
            inputs=[
                io.MatchType.Input(
                    PASSED,
                    template=passed,
                    tooltip="Passed on as it is. What made it has run before memory is freed, what uses it runs after.",
                ),
                io.Combo.Input(
                    "free",
                    options=list(FREE_CHOICES),
                    default=NOT_CONNECTED,
                    optional=True,
                    tooltip=(
                        "models not connected here: all but what is connected to this node. all models: those too. "
                        "torch cache only: models stay. host cache too: all models, and after this prompt the cached "
                        "outputs of all nodes."
                    ),
                ),
                io.Model.Input("model", optional=True, tooltip="A model that stays loaded."),
                io.Clip.Input("clip", optional=True, tooltip="A text encoder that stays loaded."),
                io.Vae.Input("vae", optional=True, tooltip="A VAE that stays loaded."),
            ],
            outputs=[
                io.MatchType.Output(template=passed, display_name="anything"),
                io.String.Output(display_name="report", tooltip="What was freed and what was not, as text."),
            ],
            **resends_report(),
        )

    @classmethod
    def execute(
        cls, anything: Any, free: str = NOT_CONNECTED, model: Any = None, clip: Any = None, vae: Any = None
    ) -> io.NodeOutput:
        """Frees, measures and reports."""
        from ..headroom.core.free_report import free_report
        from ..headroom.host.freeing import free_memory

        started = time.perf_counter()
        freed = free_memory(free, {PASSED: anything, "model": model, "clip": clip, "vae": vae})
        report = free_report(freed, time.perf_counter() - started, time.time())
        return io.NodeOutput(anything, report.as_text(), ui=report.as_ui())
