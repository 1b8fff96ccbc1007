"""VAE Decode (Safe): a decode that finishes, sound and whole, and says what it took."""

from __future__ import annotations

from typing import Any

from comfy_api.latest import io

from ..headroom.core.choices import AUTO, BAD_LATENT_RULES, IMAGES_ONLY, STOP
from .common import CATEGORY, resends_report
from .vae_ladder import ladder_inputs


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
                *ladder_inputs(),
                io.Combo.Input(
                    "bad_latent",
                    options=list(BAD_LATENT_RULES),
                    default=STOP,
                    optional=True,
                    tooltip="What to do when the latent already holds NaN or Inf: no decode can be sound then.",
                ),
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
        start: str = AUTO,
        smallest_tile: int = 256,
        precision: str = AUTO,
        allow_cpu: str = IMAGES_ONLY,
        bad_latent: str = STOP,
    ) -> io.NodeOutput:
        """Checks the latent, walks the ladder and reports.

        Raises:
            HeadroomError: the inputs cannot be decoded, or every rung failed; the latent is saved then.
        """
        from ..headroom.core.errors import HeadroomError, LadderFailed
        from ..headroom.host.events import send_report
        from ..headroom.host.facts import remember
        from ..headroom.host.ladder import ComfyLadderHost
        from ..headroom.host.ladder_reports import likely_causes, tell
        from ..headroom.tensors.decode.job import WORDS
        from ..headroom.tensors.decode.kinds import kind_of
        from ..headroom.tensors.decode.ladder import decode_safely
        from ..headroom.tensors.decode.latent_input import prepare
        from ..headroom.tensors.ladder.options import Options
        from ..headroom.tensors.ladder.report import failed_report, finished_report

        node_id = cls.hidden.unique_id
        try:
            kind_of(vae)  # A VAE that cannot be used is named before a latent that cannot.
            prepared = prepare(samples, bad_latent)
            decoded = decode_safely(
                vae,
                prepared.samples,
                ComfyLadderHost(cls.hidden.prompt),
                Options(start, smallest_tile, precision, allow_cpu),
                tolerated=prepared.tolerated,
                on_attempt=lambda attempts: tell(node_id, attempts),
            )
        except HeadroomError as error:
            attempts = error.attempts if isinstance(error, LadderFailed) else ()
            # The host shows no output of a node that raises, so the report goes ahead of the error.
            send_report(node_id, failed_report(str(error), WORDS, attempts, likely_causes("decode", attempts, vae)))
            raise
        decoded.notices = (*prepared.notices, *decoded.notices)
        remember(all(attempt.outcome != "not finite" for attempt in decoded.attempts))
        report = finished_report(decoded, WORDS, likely_causes("decode", decoded.attempts, vae))
        images = decoded.images
        if images.ndim == 5:  # Frames become a batch of images, as the stock node does it.
            images = images.reshape(-1, *images.shape[-3:])
        return io.NodeOutput(images, report.as_text(), ui=report.as_ui())
