"""Offload Advisor: where each model of a run should run and wait."""

from __future__ import annotations

import time
from typing import Any

from comfy_api.latest import io

from ..headroom.core.choices import NONE
from .common import CATEGORY, resends_report
from .plan_inputs import model_file, optional_file, size_inputs, vram_input

KINDS = {
    "model_file": "diffusion",
    "second_model": "diffusion",
    "text_encoder": "text encoder",
    "vae": "vae",
}


class OffloadAdvisor(io.ComfyNode):
    """Files' names in, places and settings out."""

    @classmethod
    def define_schema(cls) -> io.Schema:
        """The node as ComfyUI shows it.

        ``load_device`` has the type that links to any input: the host refuses every other between a text and another
        pack's list of choices (comfy_execution/validation.py 0.30.0).
        """
        return io.Schema(
            node_id="HeadroomOffload",
            display_name="Offload Advisor",
            category=CATEGORY,
            description=(
                "Says for each model of a run where it should run and where it should wait (card, other card, RAM, "
                "disk), so that neither the card nor the RAM overflows. Reads headers and loads nothing."
            ),
            search_aliases=["offload", "force offload", "load device", "ram", "cpu offload", "multi gpu"],
            inputs=[
                model_file(),
                io.Model.Input("model", optional=True, tooltip="Takes the place of the file."),
                *size_inputs(),
                optional_file("second_model", "diffusion", "Wan 2.2's low noise model, or a refiner."),
                optional_file("text_encoder", "text encoder", "The text encoder."),
                optional_file("vae", "vae", "The VAE."),
                vram_input(),
                io.Float.Input(
                    "ram_gib",
                    default=0.0,
                    min=0.0,
                    max=4096.0,
                    step=1.0,
                    optional=True,
                    tooltip="Plan for this much RAM; 0: for what this machine has now.",
                ),
            ],
            outputs=[
                io.String.Output(display_name="report", tooltip="The plan as text."),
                io.AnyType.Output(
                    display_name="load_device",
                    tooltip="main_device or offload_device, for the Wan wrapper's loader.",
                ),
                io.Boolean.Output(display_name="force_offload", tooltip="For the Wan wrapper's sampler."),
                io.String.Output(display_name="launch_line", tooltip="Flags for ComfyUI's start line; mostly none."),
            ],
            # It is of use alone: without a linked output ComfyUI would not run it.
            is_output_node=True,
            **resends_report(),
        )

    @classmethod
    def fingerprint_inputs(cls, **inputs: Any) -> str:
        """Size and time of every file."""
        from ..headroom.host.model_files import state_of

        return "; ".join(state_of(kind, inputs.get(name) or NONE) for name, kind in KINDS.items())

    @classmethod
    def execute(
        cls,
        model_file: str,
        width: int,
        height: int,
        frames: int,
        batch: int,
        cfg: float,
        model: Any = None,
        second_model: str = NONE,
        text_encoder: str = NONE,
        vae: str = NONE,
        vram_gib: float = 0.0,
        ram_gib: float = 0.0,
    ) -> io.NodeOutput:
        """Reads the headers, plans and reports."""
        from ..headroom.core.needs import Models, Run
        from ..headroom.core.offload_report import offload_report
        from ..headroom.core.offload_types import OFFLOAD_DEVICE
        from ..headroom.host import planning

        first = planning.component_for(model_file, model)
        vaes = planning.components("vae", [vae])
        models = Models(
            diffusion=[first, *planning.components("diffusion", [second_model])],
            encoders=planning.components("text encoder", [text_encoder]),
            vae=vaes[0] if vaes else None,
        )
        result = planning.offload(
            models, Run(width, height, frames, batch, cfg), planning.gib_bytes(vram_gib), planning.gib_bytes(ram_gib)
        )
        report = offload_report(result, time.time())
        place = result.first
        device = OFFLOAD_DEVICE if place is None else place.load_device
        offloads = place is None or place.force_offload
        return io.NodeOutput(report.as_text(), device, offloads, result.launch_line, ui=report.as_ui())
