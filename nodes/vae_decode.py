"""VAE Decode (Safe): a decode that finishes, sound and whole, and says what it took."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from comfy_api.latest import io

from ..headroom.core.causes import Cause, rank
from ..headroom.core.errors import DecodeFailed, HeadroomError
from ..headroom.host.decoding import ComfyDecodeHost
from ..headroom.host.events import send_report
from ..headroom.host.facts import host_facts, remember
from ..headroom.tensors.decode.kinds import kind_of, peak_of
from ..headroom.tensors.decode.ladder import decode_safely
from ..headroom.tensors.decode.latent_input import BAD_LATENT_RULES, STOP, prepare
from ..headroom.tensors.decode.options import CPU_RULES, PRECISIONS, STARTS, Attempt, Options
from ..headroom.tensors.decode.report import decode_report, failed_report, running_report
from .common import CATEGORY, resends_report


class VaeDecodeSafe(io.ComfyNode):
    """LATENT and VAE in, IMAGE out, as the stock VAE Decode; every option may be left out."""

    @classmethod
    def define_schema(cls) -> io.Schema:
        """The node as ComfyUI shows it."""
        return io.Schema(
            node_id="HeadroomVAEDecode",
            display_name="VAE Decode (Safe)",
            category=CATEGORY,
            description="Decodes a latent so that it neither comes out black nor dies of memory, and says what it did.",
            search_aliases=["vae decode", "black image", "out of memory", "tiled", "nan", "decode"],
            inputs=[
                io.Latent.Input("samples", tooltip="The latent to decode: an image, a batch, or a video."),
                io.Vae.Input("vae", tooltip="The VAE of the model that made the latent. It is not changed."),
                *_options(),
            ],
            outputs=[
                io.Image.Output(display_name="IMAGE"),
                io.String.Output(display_name="report", tooltip="What was tried and why, as text."),
            ],
            hidden=[io.Hidden.unique_id, io.Hidden.prompt],
            **resends_report(),
        )

    @classmethod
    def execute(
        cls,
        samples: Any,
        vae: Any,
        start: str = "auto",
        smallest_tile: int = 256,
        precision: str = "auto",
        allow_cpu: str = "images only",
        bad_latent: str = STOP,
    ) -> io.NodeOutput:
        """Checks the latent, walks the ladder and reports.

        Raises:
            HeadroomError: the inputs cannot be decoded, or every rung failed; the latent is saved then.
        """
        node_id = cls.hidden.unique_id
        options = Options(start, smallest_tile, precision, allow_cpu)
        try:
            kind = kind_of(vae)
            prepared = prepare(samples, bad_latent)
            decoded = decode_safely(
                vae,
                prepared.samples,
                ComfyDecodeHost(cls.hidden.prompt),
                options,
                tolerated=prepared.tolerated,
                on_attempt=lambda attempts: _tell(node_id, attempts),
            )
        except HeadroomError as error:
            attempts = error.attempts if isinstance(error, DecodeFailed) else ()
            # The host shows no output of a node that raises, so the report goes ahead of the error.
            send_report(node_id, failed_report(str(error), attempts, _causes(attempts, vae)))
            raise
        decoded.notices = (*prepared.notices, *decoded.notices)
        remember(all(attempt.outcome != "not finite" for attempt in decoded.attempts))
        peak = peak_of(vae, kind, prepared.samples.shape, vae.vae_dtype)
        report = decode_report(decoded, peak, _causes(decoded.attempts, vae))
        images = decoded.images
        if images.ndim == 5:  # Frames become a batch of images, as the stock node does it.
            images = images.reshape(-1, *images.shape[-3:])
        return io.NodeOutput(images, report.as_text(), ui=report.as_ui())


def _options() -> list[Any]:
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
        io.Combo.Input(
            "bad_latent",
            options=list(BAD_LATENT_RULES),
            default=STOP,
            optional=True,
            tooltip="What to do when the latent already holds NaN or Inf: no decode can be sound then.",
        ),
    ]


def _tell(node_id: Any, attempts: Sequence[Attempt]) -> None:
    """Shows a failed attempt at once; the end is shown by the node's own output."""
    if attempts[-1].outcome != "finished":
        send_report(node_id, running_report(attempts))


def _causes(attempts: Sequence[Any], vae: Any) -> Sequence[Cause]:
    """Likely causes of the first attempt that came out non-finite; none if all were finite."""
    bad = next((attempt for attempt in attempts if attempt.outcome == "not finite"), None)
    if bad is None:
        return ()
    facts = replace(
        host_facts("decode"),
        dtype=bad.dtype,
        vae_class=type(vae.first_stage_model).__name__,
        items=len(bad.items),
        only_inf=bad.reason.startswith("Inf"),
    )
    return rank(facts)
