"""Images and masks with faults: what is NaN, what is only black, and where."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest
import torch

from headroom.core.choices import BLOCK, IGNORE, NOTICE, REPLACE, REPORT, STOP
from headroom.core.errors import ImageError
from headroom.core.image import Area, MediaCheck, Odd
from headroom.core.latent import Counts
from headroom.tensors.image_guard import guard

NAN, INF = math.nan, math.inf


def noise(*shape: int) -> torch.Tensor:
    """Values from 0.1 to 0.9, as in a sound picture."""
    return 0.1 + 0.8 * torch.rand(shape, generator=torch.Generator().manual_seed(1))


def looked_at(media: Any, oddities: str = NOTICE) -> MediaCheck:
    return guard(media, REPORT, oddities).check


def odd(media: Any) -> list[Odd]:
    found = looked_at(media)
    assert found.finite
    return list(found.odd)


@pytest.mark.parametrize("mode", [STOP, BLOCK, REPLACE, REPORT])
@pytest.mark.parametrize("oddities", [NOTICE, STOP, IGNORE])
@pytest.mark.parametrize(
    "shape", [(2, 64, 48, 3), (1, 2, 2, 3), (1, 512, 512, 4), (3, 64, 64), (64, 64), (0, 64, 64, 3), (1, 0, 64, 3)]
)
def test_what_is_clean_passes_as_the_same_object(shape: tuple[int, ...], mode: str, oddities: str) -> None:
    image = noise(*shape)
    before = image.clone()
    guarded = guard(image, mode, oddities)
    assert guarded.media is image
    assert torch.equal(image, before)
    assert guarded.check.finite


@pytest.mark.parametrize("shape", [(2, 64, 48, 3), (1, 2, 2, 3), (3, 512, 512, 4), (0, 64, 64, 3), (1, 0, 64, 3)])
def test_nothing_is_odd_about_a_sound_image_of_any_size(shape: tuple[int, ...]) -> None:
    assert odd(noise(*shape)) == []


def test_one_pixel_is_one_colour() -> None:
    assert [one.kind for one in odd(noise(1, 1, 1, 3))] == ["one colour"]


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_every_dtype_is_judged(dtype: torch.dtype) -> None:
    image = noise(2, 512, 512, 3).to(dtype)
    assert not looked_at(image).bad
    assert odd(image) == []
    image[1, :256, :256] = 0
    assert odd(image)[0].areas == (Area(0, 0, 256, 256),)
    image[1, 300, 300, 1] = INF
    assert looked_at(image).bad_items == (1,)


def test_a_bright_fp16_batch_whose_sum_overflows_is_clean() -> None:
    """The sum of a bright 512x512 picture in fp16 is Inf; nothing in it is."""
    assert looked_at(torch.full((4, 512, 512, 3), 0.9, dtype=torch.float16), IGNORE).finite


@pytest.mark.parametrize("value", [NAN, INF, -INF])
def test_one_bad_value_is_enough_and_is_counted(value: float) -> None:
    """NAN-18, for images: AUTOMATIC1111's test passes a partly bad one and any Inf."""
    image = noise(4, 64, 64, 3)
    image[2, 5, 6, 1] = value
    (bad,) = looked_at(image).bad
    assert (bad.item, bad.counts.total, bad.counts.bad) == (2, 64 * 64 * 3, 1)
    assert bad.counts.nan == (1 if math.isnan(value) else 0)
    assert bad.areas == ()


def test_an_image_that_is_nan_throughout() -> None:
    """NAN-20: ComfyUI #15436, decoded all NaN in bf16."""
    (bad,) = looked_at(torch.full((1, 64, 64, 3), NAN, dtype=torch.bfloat16)).bad
    assert bad.counts == Counts(12288, 12288, 0, 0, None, None)
    assert bad.areas == ()


@pytest.mark.parametrize(
    ("tile", "area"),
    [
        pytest.param((0, 341, 682, 1023), Area(682, 0, 341, 341), id="VAE-04: C#9871, the third of 3x3"),
        pytest.param((682, 1023, 0, 341), Area(0, 682, 341, 341), id="VAE-04: C#9871, the 7th of 9"),
        pytest.param((512, 768, 512, 768), Area(512, 512, 256, 256), id="VAE-04: C#9871, the 11th of 16"),
    ],
)
@pytest.mark.parametrize("value", [NAN, 0.0])
def test_a_tile_is_named_to_the_pixel(tile: tuple[int, int, int, int], area: Area, value: float) -> None:
    """VAE-04: ComfyUI #9871, USDU #159: one tile of 9 or 16 comes out black, with NaN in it or without."""
    image = noise(2, 1024, 1024, 3)
    top, bottom, left, right = tile
    image[1, top:bottom, left:right] = value
    found = looked_at(image)
    if math.isnan(value):
        assert [(bad.item, list(bad.areas)) for bad in found.bad] == [(1, [area])]
        assert found.odd == ()
    else:
        assert found.finite
        assert [(one.item, one.kind, list(one.areas)) for one in found.odd] == [(1, "black area", [area])]


def test_a_tile_with_nan_in_one_channel_alone_is_named() -> None:
    image = noise(1, 256, 256, 3)
    image[0, :128, 128:, 2] = NAN
    (bad,) = looked_at(image).bad
    assert (bad.counts.nan, bad.areas) == (128 * 128, (Area(128, 0, 128, 128),))


@pytest.mark.parametrize(("width", "height"), [(1024, 1024), (832, 480), (4096, 512), (333, 777), (100, 100)])
@pytest.mark.parametrize("at", [(0, 0), (17, 5), (-1, -1)])
def test_edges_are_exact_at_any_size_and_place(width: int, height: int, at: tuple[int, int]) -> None:
    image = noise(1, height, width, 3)
    wide, tall = width // 2, height // 2
    x = width - wide if at[0] < 0 else at[0]
    y = height - tall if at[1] < 0 else at[1]
    image[0, y : y + tall, x : x + wide] = 0
    assert [one.areas for one in odd(image)] == [(Area(x, y, wide, tall),)]


def test_all_black_but_a_strip_at_the_right_and_below() -> None:
    """VAE-06: deepbeepmeep/Wan2GP #2301: 832x480, tiles of 128, 85 % exactly 0.0 and finite: a notice, never NaN."""
    frame = noise(1, 480, 832, 3)
    frame[0, :452, :722] = 0
    found = looked_at(frame)
    assert found.finite
    (one,) = found.odd
    assert (one.kind, one.areas) == ("black area", (Area(0, 0, 722, 452),))
    assert one.share == pytest.approx(0.817, abs=0.001)


def test_85_percent_zero_without_edges_is_mostly_black_and_not_nan() -> None:
    """VAE-06: deepbeepmeep/Wan2GP #2301."""
    image = noise(1, 512, 512, 3)
    image[0, torch.rand(512, 512, generator=torch.Generator().manual_seed(2)) < 0.85] = 0
    (one,) = odd(image)
    assert (one.kind, one.areas) == ("mostly black", ())
    assert one.share == pytest.approx(0.85, abs=0.01)


def test_several_tiles_come_with_the_image_they_are_in() -> None:
    image = noise(3, 1024, 1024, 3)
    image[0, :256, :256] = 0
    image[0, 768:, 768:] = 0
    image[2, 256:768, 256:512] = 0
    assert [(one.item, one.areas) for one in odd(image)] == [
        (0, (Area(0, 0, 256, 256), Area(768, 768, 256, 256))),
        (2, (Area(256, 256, 256, 512),)),
    ]


def circle(image: torch.Tensor) -> None:
    y, x = torch.meshgrid(torch.arange(512), torch.arange(512), indexing="ij")
    image[0, (y - 256) ** 2 + (x - 256) ** 2 < 200**2] = 0


def letterbox(image: torch.Tensor) -> None:
    image[0, :67] = 0
    image[0, -67:] = 0


def specks(image: torch.Tensor) -> None:
    image[0, ::16, ::16] = 0


def two_channels(image: torch.Tensor) -> None:
    image[0, :256, :256, :2] = 0


def almost_zero(image: torch.Tensor) -> None:
    image[0, :256, :256] = 1e-6


def small(image: torch.Tensor) -> None:
    image[0, 100:130, 100:400] = 0


@pytest.mark.parametrize("draw", [circle, letterbox, specks, two_channels, almost_zero, small])
def test_what_pictures_hold_by_themselves_is_clean(draw: Callable[[torch.Tensor], None]) -> None:
    image = noise(1, 512, 512, 3)
    draw(image)
    assert odd(image) == []


@pytest.mark.parametrize(("width", "height"), [(832, 480), (1280, 720), (333, 777)])
def test_a_letterbox_is_clean_at_any_size(width: int, height: int) -> None:
    image = noise(1, height, width, 3)
    image[0, : height // 7] = 0
    image[0, -(height // 7) :] = 0
    assert odd(image) == []
    image = noise(1, height, width, 3)
    image[0, :, : width // 7] = 0
    image[0, :, -(width // 7) :] = 0
    assert odd(image) == []


def test_zeros_that_the_probe_hits_by_chance_are_no_area() -> None:
    """The probe looks at one pixel of each block; the blocks around are not black."""
    image = noise(1, 1024, 1024, 3)
    image[0, 8::16, 8::16] = 0
    assert odd(image) == []


def test_an_all_black_image_is_told_from_a_nan_one() -> None:
    black, nan = torch.zeros(1, 64, 64, 3), torch.full((1, 64, 64, 3), NAN)
    assert [one.kind for one in odd(black)] == ["black"]
    assert not looked_at(nan).finite
    assert looked_at(nan).odd == ()


@pytest.mark.parametrize(
    ("value", "kinds"), [(0.0, ["black"]), (0.003, ["black"]), (-0.5, ["black"]), (0.004, ["one colour"])]
)
def test_black_is_what_an_8_bit_file_shows_as_black(value: float, kinds: list[str]) -> None:
    """SaveImage cuts off the fraction of 255 times the value: 0.003 becomes 0, 0.004 becomes 1."""
    assert [one.kind for one in odd(torch.full((1, 64, 64, 3), value))] == kinds


def test_a_noisy_picture_that_is_black_in_a_file_is_black() -> None:
    (one,) = odd(noise(1, 64, 64, 3) / 255)
    assert one.kind == "black"
    assert one.values[0] == pytest.approx(0.9 / 255, rel=0.01)


def test_one_bright_pixel_that_the_probe_misses_makes_a_picture() -> None:
    image = torch.zeros(1, 512, 512, 3)
    image[0, 1, 1] = 1
    assert [one.kind for one in odd(image)] == ["black area"]


def test_a_grey_picture_is_clean() -> None:
    """VAE-45: forge-classic #1325, seesee75 MiniMax #3: grey and finite is not NaN."""
    grey = 0.5 + 0.004 * (torch.rand(2, 256, 256, 3, generator=torch.Generator().manual_seed(3)) - 0.5)
    assert odd(grey) == []


def test_one_colour_is_told_with_the_colour() -> None:
    """VAE-45: exactly one colour is a notice, and finite."""
    image = torch.empty(1, 64, 64, 3)
    image[..., 0], image[..., 1], image[..., 2] = 0.5, 0.25, 1.0
    (one,) = odd(image)
    assert (one.kind, one.values) == ("one colour", (0.5, 0.25, 1.0))


def test_frames_of_one_flat_colour_are_named() -> None:
    """NAN-06, finite: ComfyUI #16313, every frame but the first is flat."""
    video = noise(21, 80, 80, 3)
    video[1:] = 0.5
    assert [(one.item, one.kind) for one in odd(video)] == [(frame, "one colour") for frame in range(1, 21)]


def test_what_is_transparent_has_no_colour() -> None:
    image = noise(2, 256, 256, 4)
    image[0, :128, :128] = 0
    image[1] = 0
    assert odd(image) == []
    image[0, :128, :128, 3] = 1
    assert [one.areas for one in odd(image)] == [(Area(0, 0, 128, 128),)]


@pytest.mark.parametrize("channels", [1, 2])
def test_images_with_fewer_channels(channels: int) -> None:
    image = noise(1, 256, 256, channels)
    assert odd(image) == []
    image[0, :128] = 0
    assert [one.kind for one in odd(image)] == ["black area"]


@pytest.mark.parametrize("fill", [0.0, 1.0, 0.5])
def test_a_mask_of_one_value_is_normal(fill: float) -> None:
    """VAE-47, for masks: all zeros is what an empty mask is."""
    assert odd(torch.full((2, 64, 64), fill)) == []
    assert odd(torch.full((64, 64), fill)) == []


def test_a_mask_outside_0_to_1_is_told_with_its_range() -> None:
    mask = torch.zeros(3, 8, 8)
    mask[0, 0, 0], mask[1, 1, 1], mask[2, 0, 0] = -0.5, 3.0, 1.0
    assert [(one.item, one.kind, one.values) for one in odd(mask)] == [
        (0, "range", (-0.5, 0.0)),
        (1, "range", (0.0, 3.0)),
    ]


def test_a_bad_mask_is_named_with_its_area() -> None:
    mask = torch.zeros(2, 256, 256)
    mask[1, 64:192, 0:128] = NAN
    (bad,) = looked_at(mask).bad
    assert (bad.item, bad.areas) == (1, (Area(0, 64, 128, 128),))


def test_a_bool_mask_is_clean() -> None:
    assert odd(torch.ones(1, 8, 8, dtype=torch.bool)) == []


def test_replacing_sets_bad_values_to_0_and_leaves_the_input() -> None:
    """NAN-19, for images: Forge-Neo does it in place and keeps quiet."""
    image = torch.tensor([0.25, NAN, INF, -INF, 0.5, 0.75]).view(1, 1, 2, 3)
    guarded = guard(image, REPLACE, NOTICE)
    assert guarded.media.flatten().tolist() == [0.25, 0, 0, 0, 0.5, 0.75]
    assert guarded.media.shape == image.shape
    assert guarded.replaced == 3
    assert image.isnan().sum() == 1


def test_a_mask_without_a_batch_keeps_its_shape() -> None:
    mask = torch.zeros(8, 8)
    mask[0, 0] = NAN
    assert guard(mask, REPLACE, NOTICE).media.shape == (8, 8)


def test_oddities_that_are_ignored_are_not_looked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    from headroom.tensors import image_check

    monkeypatch.setattr(image_check, "odd_images", lambda t: pytest.fail("looked for"))
    assert looked_at(torch.zeros(1, 64, 64, 3), IGNORE).odd == ()


def test_a_clean_batch_is_never_looked_at_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    """The cost of a clean image: one sum and the probe."""
    from headroom.tensors import image_check

    for name in ("_whole", "_parts", "areas"):
        monkeypatch.setattr(image_check, name, lambda *a: pytest.fail("looked at"))
    assert looked_at(noise(4, 512, 512, 3)).odd == ()


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ("text", "is a str, not an image"),
        ({"samples": torch.zeros(1, 4, 8, 8)}, "a LATENT: use Latent Guard"),
        ({"ui": 1}, "no audio (its keys: ui)"),
        (torch.zeros(2, 3, 8, 8, 3), "[2, 3, 8, 8, 3], 5-D"),
        (torch.zeros(8), "[8], 1-D"),
        ({"waveform": torch.zeros(1, 1, 1, 8), "sample_rate": 8}, "[1, 1, 1, 8], 4-D"),
    ],
)
def test_what_is_none_of_the_three_gets_a_clear_error(given: Any, words: str) -> None:
    with pytest.raises(ImageError) as raised:
        guard(given, STOP, NOTICE)
    assert words in str(raised.value)
