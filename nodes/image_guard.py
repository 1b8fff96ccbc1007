"""The Image Guard: finds NaN and Inf in an IMAGE, MASK or AUDIO, and tells a black picture from a NaN one."""

from __future__ import annotations

import time
from typing import Any

from comfy_api.latest import io

from ..headroom.core.choices import BLOCK, IMAGE_MODES, NOTICE, ODDITY_RULES, STOP
from .common import CATEGORY, resends_report, source_of


class ImageGuard(io.ComfyNode):
    """IMAGE, MASK or AUDIO in, the same out; a bad one is stopped, blocked, repaired or only reported."""

    @classmethod
    def define_schema(cls) -> io.Schema:
        """The node as ComfyUI shows it; the output takes the type of what is connected."""
        media = io.MatchType.Template("media", allowed_types=[io.Image, io.Mask, io.Audio])
        return io.Schema(
            node_id="HeadroomImageGuard",
            display_name="Image Guard",
            category=CATEGORY,
            description="Finds NaN and Inf in images, masks and audio, and names black tiles, black and silent parts.",
            search_aliases=["nan check", "black image", "black tile", "silent audio", "image check", "validate image"],
            inputs=[
                io.MatchType.Input("media", template=media, tooltip="The image, mask or audio to check."),
                io.Combo.Input(
                    "mode",
                    options=list(IMAGE_MODES),
                    default=STOP,
                    optional=True,
                    tooltip="What to do about NaN and Inf. A clean image is always passed on untouched.",
                ),
                io.Combo.Input(
                    "oddities",
                    options=list(ODDITY_RULES),
                    default=NOTICE,
                    optional=True,
                    tooltip="What to do about what is finite but black, of one colour, constant or silent.",
                ),
            ],
            outputs=[
                io.MatchType.Output(template=media, display_name="media"),
                io.String.Output(display_name="report", tooltip="What was found, as text."),
            ],
            hidden=[io.Hidden.unique_id, io.Hidden.prompt],
            **resends_report(),
        )

    @classmethod
    def execute(cls, media: Any, mode: str = STOP, oddities: str = NOTICE) -> io.NodeOutput:
        """Checks, acts and reports.

        Raises:
            ImageError: NonFiniteImage or OddImage where the run is to stop; itself where this is none of the three.
        """
        from ..headroom.core.errors import NonFiniteImage, OddImage
        from ..headroom.core.image_causes import likely
        from ..headroom.core.image_report import Action, image_report, odd_error
        from ..headroom.core.latent_report import Run, error_text
        from ..headroom.host.events import send_report
        from ..headroom.host.facts import host_facts, remember
        from ..headroom.tensors.image_guard import guard

        started = time.perf_counter()
        guarded = guard(media, mode, oddities)
        seconds = time.perf_counter() - started
        check = guarded.check
        # None where another node calls this one outside of a prompt.
        node_id, prompt = getattr(cls.hidden, "unique_id", None), getattr(cls.hidden, "prompt", None)
        run = Run(seconds, time.time(), source_of(prompt, node_id, "media"))
        causes = () if check.finite else likely(host_facts("decode"), check, run.source)
        if check.medium != "mask":
            remember(check.finite)
        report = image_report(check, Action(mode, oddities, guarded.replaced), causes, run)
        stops = mode == STOP if not check.finite else bool(check.odd) and oddities == STOP
        if stops:
            # The host shows no output of a node that raises, so the report goes ahead of the error.
            send_report(node_id, report)
            raise OddImage(odd_error(check)) if check.finite else NonFiniteImage(error_text(report, causes))
        block = error_text(report, causes) if not check.finite and mode == BLOCK else None
        # Both outputs are given even when they are blocked: 0.30 fails on a blocked node without them.
        return io.NodeOutput(guarded.media, report.as_text(), ui=report.as_ui(), block_execution=block)
