"""Block Swap Estimator: how many blocks have to leave the card, from a file's header."""

from __future__ import annotations

import time
from typing import Any

from comfy_api.latest import io

from ..headroom.core.choices import FIT_CARD, LOADERS, NO_FILE, TARGETS
from .common import CATEGORY, resends_report
from .plan_inputs import model_file, size_inputs, vram_input


def target_inputs() -> list[io.Input]:
    """How much of the card the sampling may take."""
    return [
        io.Combo.Input(
            "target",
            options=list(TARGETS),
            default=FIT_CARD,
            tooltip="How much of the card the sampling may take: all of it, target_gib, or all but target_gib.",
        ),
        io.Float.Input(
            "target_gib",
            default=0.0,
            min=0.0,
            max=1024.0,
            step=0.5,
            tooltip='Goes with target; unused with "fit the card".',
        ),
    ]


def swap_inputs() -> list[io.Input]:
    """What goes with a swap."""
    return [
        io.Int.Input(
            "prefetch",
            default=1,
            min=0,
            max=40,
            optional=True,
            tooltip="Blocks fetched ahead; each takes the place of one resident block and hides its copy.",
        ),
        io.Float.Input(
            "lora_gib",
            default=0.0,
            min=0.0,
            max=64.0,
            step=0.1,
            optional=True,
            tooltip="LoRA weights kept beside the model; 0 where they are merged into it.",
        ),
        io.Float.Input(
            "seconds_per_step",
            default=0.0,
            min=0.0,
            max=100000.0,
            step=0.1,
            optional=True,
            tooltip="A step without swap, as measured. With it you learn how many resident blocks are enough.",
        ),
    ]


class BlockSwapEstimator(io.ComfyNode):
    """A file's name in, numbers for a wrapper's block swap out."""

    @classmethod
    def define_schema(cls) -> io.Schema:
        """The node as ComfyUI shows it; the outputs fit the inputs of the Wan wrapper's block swap."""
        return io.Schema(
            node_id="HeadroomBlockSwap",
            display_name="Block Swap Estimator",
            category=CATEGORY,
            description=(
                "Says how many blocks of a model have to leave the card, what that costs per step, and when to leave "
                "it to dynamic VRAM. Reads the file's header and loads nothing. blocks_to_swap is the number of "
                "blocks that are NOT on the card: more means less VRAM."
            ),
            search_aliases=["blocks to swap", "wan block swap", "offload blocks", "low vram", "vram estimate"],
            inputs=[
                model_file(),
                io.Model.Input("model", optional=True, tooltip="Takes the place of the file."),
                *size_inputs(),
                io.Combo.Input(
                    "loader",
                    options=list(LOADERS),
                    default=LOADERS[1],
                    tooltip="Whose block swap it is: they count differently, and ComfyUI's own loader needs none.",
                ),
                *target_inputs(),
                vram_input(),
                *swap_inputs(),
            ],
            outputs=[
                io.Int.Output(display_name="blocks_to_swap"),
                io.Int.Output(display_name="blocks_resident"),
                io.Int.Output(display_name="vace_blocks_to_swap"),
                io.Int.Output(display_name="prefetch_blocks"),
                io.String.Output(display_name="report", tooltip="The estimate as text."),
            ],
            # It is of use alone: without a linked output ComfyUI would not run it.
            is_output_node=True,
            **resends_report(),
        )

    @classmethod
    def fingerprint_inputs(cls, model_file: str = NO_FILE, **_: Any) -> str:
        """The file's size and time: another file under the same name is estimated anew."""
        from ..headroom.host.model_files import state_of

        return state_of("diffusion", model_file)

    @classmethod
    def execute(
        cls,
        model_file: str,
        width: int,
        height: int,
        frames: int,
        batch: int,
        cfg: float,
        loader: str,
        target: str,
        target_gib: float,
        model: Any = None,
        vram_gib: float = 0.0,
        prefetch: int = 1,
        lora_gib: float = 0.0,
        seconds_per_step: float = 0.0,
    ) -> io.NodeOutput:
        """Reads the header, estimates and reports."""
        from ..headroom.core.needs import Run
        from ..headroom.core.swap_report import swap_report
        from ..headroom.host import planning

        result = planning.block_swap(
            planning.component_for(model_file, model),
            Run(width, height, frames, batch, cfg),
            loader=loader,
            target=target,
            target_bytes=planning.gib_bytes(target_gib),
            vram_bytes=planning.gib_bytes(vram_gib),
            lora_bytes=planning.gib_bytes(lora_gib),
            prefetch=prefetch,
            seconds_per_step=seconds_per_step,
        )
        report = swap_report(result, time.time())
        return io.NodeOutput(*result.settings, report.as_text(), ui=report.as_ui())
