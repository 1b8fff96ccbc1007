"""VAE Encode (Safe): an encode that finishes, sound and whole, and says what it took."""

from __future__ import annotations

from typing import Any

from comfy_api.latest import io

from ..headroom.core.choices import AUTO, BAD_IMAGE_RULES, GREY_OUT, IMAGES_ONLY, MASK_MODES, STOP
from .common import CATEGORY, resends_report
from .vae_ladder import ladder_inputs


class VaeEncodeSafe(io.ComfyNode):
    """IMAGE and VAE in, LATENT out, as the stock VAE Encode; with a mask as the stock nodes for inpainting."""

    @classmethod
    def define_schema(cls) -> io.Schema:
        """The node as ComfyUI shows it."""
        return io.Schema(
            node_id="HeadroomVAEEncode",
            display_name="VAE Encode (Safe)",
            category=CATEGORY,
            description="Encodes images so that the latent holds no NaN and memory suffices, and says what it did.",
            search_aliases=["vae encode", "inpaint", "out of memory", "tiled", "nan", "encode", "image to latent"],
            inputs=[
                io.Image.Input("pixels", tooltip="The images to encode; for a video VAE the frames of one video."),
                io.Vae.Input("vae", tooltip="The VAE of the model that will sample. It is not changed."),
                *ladder_inputs(),
                io.Combo.Input(
                    "bad_image",
                    options=list(BAD_IMAGE_RULES),
                    default=STOP,
                    optional=True,
                    tooltip="What to do when the images already hold NaN or Inf: no encode can be sound then.",
                ),
                *_mask_inputs(),
            ],
            outputs=[
                io.Latent.Output(display_name="LATENT"),
                io.String.Output(display_name="report", tooltip="What was tried and why, as text."),
            ],
            hidden=[io.Hidden.unique_id, io.Hidden.prompt],
            **resends_report(),
        )

    @classmethod
    def execute(
        cls,
        pixels: Any,
        vae: Any,
        start: str = AUTO,
        smallest_tile: int = 256,
        precision: str = AUTO,
        allow_cpu: str = IMAGES_ONLY,
        bad_image: str = STOP,
        mask: Any = None,
        mask_mode: str = GREY_OUT,
        grow_mask_by: int = 6,
    ) -> io.NodeOutput:
        """Checks the images and the mask, walks the ladder and reports.

        Raises:
            HeadroomError: the inputs cannot be encoded, or every rung failed.
        """
        from ..headroom.core.errors import HeadroomError, LadderFailed
        from ..headroom.host.encoding import as_latent, check_vae, masked
        from ..headroom.host.events import send_report
        from ..headroom.host.facts import remember
        from ..headroom.host.ladder import ComfyLadderHost
        from ..headroom.host.ladder_reports import likely_causes, tell
        from ..headroom.tensors.encode.image_input import prepare
        from ..headroom.tensors.encode.job import WORDS
        from ..headroom.tensors.encode.ladder import encode_safely
        from ..headroom.tensors.ladder.options import Options
        from ..headroom.tensors.ladder.report import failed_report, finished_report

        node_id = cls.hidden.unique_id
        try:
            check_vae(vae)
            prepared = prepare(pixels, bad_image)
            grey, noise_mask = masked(vae, prepared, mask, mask_mode, grow_mask_by)
            encoded = encode_safely(
                vae,
                grey,
                ComfyLadderHost(cls.hidden.prompt),
                Options(start, smallest_tile, precision, allow_cpu),
                tolerated=prepared.tolerated,
                on_attempt=lambda attempts: tell(node_id, attempts),
            )
        except HeadroomError as error:
            attempts = error.attempts if isinstance(error, LadderFailed) else ()
            # The host shows no output of a node that raises, so the report goes ahead of the error.
            send_report(node_id, failed_report(str(error), WORDS, attempts, likely_causes("encode", attempts, vae)))
            raise
        encoded.notices = (*prepared.notices, *encoded.notices)
        remember(all(attempt.outcome != "not finite" for attempt in encoded.attempts))
        report = finished_report(encoded, WORDS, likely_causes("encode", encoded.attempts, vae))
        latent = as_latent(encoded, mask, noise_mask)
        return io.NodeOutput(latent, report.as_text(), ui=report.as_ui())


def _mask_inputs() -> list[Any]:
    return [
        io.Mask.Input("mask", optional=True, tooltip="For inpainting: where the sampler is to paint anew."),
        io.Combo.Input(
            "mask_mode",
            options=list(MASK_MODES),
            default=GREY_OUT,
            optional=True,
            tooltip="inpaint: grey under the mask, as VAE Encode (for Inpainting), for inpainting models. noise mask "
            "only: the images stay as they are, as Set Latent Noise Mask.",
        ),
        io.Int.Input(
            "grow_mask_by",
            default=6,
            min=0,
            max=64,
            step=1,
            optional=True,
            tooltip="Pixels that the mask grows by in mode inpaint, so that the seam is painted too.",
        ),
    ]
