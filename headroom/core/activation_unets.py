"""Rows of ``activation_rows`` for UNets and Stable Cascade, whose peak is at the level of full or half size."""

from __future__ import annotations

from .activation_peak import FULL, PeakRow, Phase

#: Convolutions take workspaces that linear layers do not.
CONV_WASTE = 1.5


def _unet(families: tuple[str, ...], widths: float, what: str, head_width: int, per_token: int) -> PeakRow:
    return PeakRow(
        families,
        FULL,
        (Phase(widths),),
        (Phase(widths),),
        what,
        head_width=head_width,
        per_token=per_token,
        waste=CONV_WASTE,
    )


UNETS = (
    _unet(
        ("SD15", "SD20", "SD21UnclipL", "SD21UnclipH", "SD15_instructpix2pix", "LotusD", "Stable_Zero123"),
        26,
        "gated feed-forward at full size (16 widths), the joined skip (3) and seven tensors of one width",
        40,
        1,
    ),
    _unet(
        ("SVD_img2vid", "SV3D_u", "SV3D_p"),
        27,
        "gated feed-forward at full size (16 widths), the joined skip (3) and eight tensors of one width",
        40,
        1,
    ),
    _unet(
        ("SDXL", "SDXL_instructpix2pix", "SSD1B", "Segmind_Vega", "SDXLRefiner"),
        15.75,
        "gated feed-forward at half size (8 of the widths of full size), the joined skip and the skips that wait",
        32,
        4,
    ),
    _unet(
        ("KOALA_700M", "KOALA_1B"),
        14.25,
        "gated feed-forward at half size (8 of the widths of full size), the joined skip and the skips that wait",
        32,
        4,
    ),
    _unet(("SD_X4Upscaler",), 15.25, "gated feed-forward at half size, the joined skip and the skips that wait", 32, 4),
)

#: Their width by the header is that of the text: of stage B 5,120, where its blocks at full size have 320.
CASCADE = (
    _unet(
        ("Stable_Cascade_C",),
        18,
        "the inner convolution's four widths in three forms, the joined skip and four tensors of one width",
        64,
        1,
    ),
    _unet(
        ("Stable_Cascade_B",),
        0.276,
        "1,420 values: four times 320 in three forms, the joined skip and three tensors of 320",
        256,
        16,
    ),
)
