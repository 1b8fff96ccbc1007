"""The Model Guard: watches every step of a sampling and ends it, or starts it again, where the first NaN appears."""

from __future__ import annotations

import time
from typing import Any

from comfy_api.latest import io

from ..headroom.core.choices import MODEL_MODES, OFF, STOP
from .common import CATEGORY


class ModelGuard(io.ComfyNode):
    """MODEL in, a watched clone out; switched off, the very object that came in."""

    @classmethod
    def define_schema(cls) -> io.Schema:
        """The node as ComfyUI shows it.

        It is not told to send its report again from the cache: the report of the last sampling, which comes as an
        event, is worth more than the one that only says that the watch was set.
        """
        return io.Schema(
            node_id="HeadroomModelGuard",
            display_name="Model Guard",
            category=CATEGORY,
            description="Watches each sampling step and names the first one that turns NaN, at that step.",
            search_aliases=["nan check", "black image", "sampler nan", "fp16 overflow", "model check"],
            inputs=[
                io.Model.Input("model", tooltip="The model to watch. Put this node last before the sampler."),
                io.Combo.Input(
                    "mode",
                    options=list(MODEL_MODES),
                    default=STOP,
                    optional=True,
                    tooltip=(
                        "stop: end the sampler at the first bad step. restart: run the whole sampling once more with "
                        "the same noise, computed in bf16 where the device has it, else fp32. off: costs nothing."
                    ),
                ),
            ],
            outputs=[io.Model.Output(display_name="MODEL")],
            hidden=[io.Hidden.unique_id],
        )

    @classmethod
    def execute(cls, model: Any, mode: str = STOP) -> io.NodeOutput:
        """Sets the watch; the samplers behind it do the rest."""
        from ..headroom.core.sampling_report import off_report, watching_report
        from ..headroom.host.sampling import guarded

        if mode == OFF:
            return io.NodeOutput(model, ui=off_report(time.time()).as_ui())
        watched = guarded(model, mode, cls.hidden.unique_id)
        return io.NodeOutput(watched, ui=watching_report(mode, time.time()).as_ui())
