"""VAE Encode (Safe): an encode that finishes, sound and whole, and says what it took."""

from __future__ import annotations

from typing import Any

from comfy_api.latest import io

from ..headroom.core.errors import HeadroomError, LadderFailed, VaeWithoutEncoder
from ..headroom.host import inpaint
from ..headroom.host.events import send_report
from ..headroom.host.facts import remember
from ..headroom.host.ladder import ComfyLadderHost
from ..headroom.host.vae_file import has_no_encoder
from ..headroom.tensors.encode.image_input import BAD_IMAGE_RULES, STOP, Prepared, check_mask, prepare
from ..headroom.tensors.encode.job import WORDS
from ..headroom.tensors.encode.kinds import fitted, kind_of
from ..headroom.tensors.encode.ladder import Encoded, encode_safely
from ..headroom.tensors.ladder.options import Options
from ..headroom.tensors.ladder.report import failed_report, finished_report
from .common import CATEGORY, resends_report
from .vae_ladder import ladder_inputs, likely_causes, tell


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
        start: str = "auto",
        smallest_tile: int = 256,
        precision: str = "auto",
        allow_cpu: str = "images only",
        bad_image: str = STOP,
        mask: Any = None,
        mask_mode: str = inpaint.GREY_OUT,
        grow_mask_by: int = 6,
    ) -> io.NodeOutput:
        """Checks the images and the mask, walks the ladder and reports.

        Raises:
            HeadroomError: the inputs cannot be encoded, or every rung failed.
        """
        options = Options(start, smallest_tile, precision, allow_cpu)
        try:
            _check_vae(vae)
            prepared = prepare(pixels, bad_image)
            grey, noise_mask = _masked(vae, prepared, mask, mask_mode, grow_mask_by)
            encoded = cls._encoded(vae, grey, prepared, options)
        except HeadroomError as error:
            attempts = error.attempts if isinstance(error, LadderFailed) else ()
            # The host shows no output of a node that raises, so the report goes ahead of the error.
            failed = failed_report(str(error), WORDS, attempts, likely_causes("encode", attempts, vae))
            send_report(cls.hidden.unique_id, failed)
            raise
        encoded.notices = (*prepared.notices, *encoded.notices)
        remember(all(attempt.outcome != "not finite" for attempt in encoded.attempts))
        report = finished_report(encoded, WORDS, likely_causes("encode", encoded.attempts, vae))
        latent = _latent(encoded, mask, noise_mask)
        return io.NodeOutput(latent, report.as_text(), ui=report.as_ui())

    @classmethod
    def _encoded(cls, vae: Any, pixels: Any, prepared: Prepared, options: Options) -> Encoded:
        node_id, host = cls.hidden.unique_id, ComfyLadderHost(cls.hidden.prompt)
        return encode_safely(
            vae,
            pixels,
            host,
            options,
            tolerated=prepared.tolerated,
            on_attempt=lambda attempts: tell(node_id, attempts),
        )


def _mask_inputs() -> list[Any]:
    return [
        io.Mask.Input("mask", optional=True, tooltip="For inpainting: where the sampler is to paint anew."),
        io.Combo.Input(
            "mask_mode",
            options=list(inpaint.MASK_MODES),
            default=inpaint.GREY_OUT,
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


def _check_vae(vae: Any) -> None:
    """A VAE that cannot be used is named before images that cannot."""
    kind_of(vae)
    if has_no_encoder(vae):
        raise VaeWithoutEncoder(
            "The file of the vae input holds a decoder and no encoder, so it cannot encode images. Load the full VAE."
        )


def _masked(vae: Any, prepared: Prepared, mask: Any, mode: str, grow: int) -> tuple[Any, Any]:
    """The pixels to encode, and the noise mask if mode inpaint gives one."""
    if mask is None:
        return prepared.pixels, None
    greys = mode == inpaint.GREY_OUT
    check_mask(mask, prepared.pixels.shape[0] if greys else None)
    if not greys:
        return prepared.pixels, None
    fitted(vae, kind_of(vae), prepared.pixels)  # The host's node fails on too few channels without saying so.
    return inpaint.greyed_out(vae, prepared.pixels, mask, grow)


def _latent(encoded: Encoded, mask: Any, noise_mask: Any) -> dict[str, Any]:
    """The LATENT as the stock nodes give it: with a noise mask only where there is a mask."""
    latent = {"samples": encoded.latent}
    if noise_mask is not None:
        return {**latent, "noise_mask": noise_mask}
    return latent if mask is None else inpaint.with_noise_mask(latent, mask)
