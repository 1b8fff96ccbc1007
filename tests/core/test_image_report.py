"""The Image Guard's words: what is NaN is called so, and nothing else ever is."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any, get_args

import pytest

from headroom.core.causes import Cause
from headroom.core.choices import BLOCK, REPLACE, REPORT, STOP
from headroom.core.image import Area, Bad, MediaCheck, Medium, Odd, OddKind, Span
from headroom.core.image_report import Action, image_report, odd_error
from headroom.core.image_words import KINDS, WHY
from headroom.core.latent import Counts
from headroom.core.latent_report import Run
from headroom.core.report import Cells, Report, Table, Text

RUN = Run(seconds=0.0104, made_at=1700000000.0, source="VAEDecode #8")
CAUSE = Cause("decode-source", "an overflow in the VAE.")
PIXELS = 1024 * 1024 * 3
SHAPES: dict[Medium, tuple[int, ...]] = {"image": (1024, 1024, 3), "mask": (64, 64), "audio": (2, 441000)}


def all_nan(total: int = PIXELS) -> Counts:
    return Counts(total, total, 0, 0, None, None)


def some(nan: int = 0, inf: int = 0, total: int = PIXELS) -> Counts:
    return Counts(total, nan, inf, 0, 0.0, 1.0)


def check(
    *bad: Bad, odd: Sequence[Odd] = (), items: int = 4, medium: Medium = "image", rate: int | None = 44100
) -> MediaCheck:
    shape = (items, *SHAPES[medium])
    return MediaCheck(medium, shape, "fp32", "cpu", rate if medium == "audio" else None, bad, odd)


def report(found: MediaCheck, mode: str = STOP, replaced: int = 0, causes: Sequence[Cause] = (CAUSE,)) -> Report:
    return image_report(found, Action(mode, "notice", replaced), () if found.finite else causes, RUN)


def texts(shown: Report) -> list[str]:
    return [block.text for block in shown.blocks if isinstance(block, Text)]


def test_a_clean_image_is_one_word_and_one_muted_line() -> None:
    shown = report(check(items=8))
    assert (shown.level, shown.title, shown.figure) == ("ok", "Clean", "10.4\u00a0ms")
    assert shown.blocks == (Text("8 images, 1024×1024, 3 ch, fp32, cpu, from VAEDecode #8", muted=True),)


def test_the_size_of_an_image_is_width_by_height() -> None:
    found = MediaCheck("image", (1, 480, 832, 3), "fp16", "cuda:0")
    assert texts(report(found)) == ["1 image, 832×480, 3 ch, fp16, cuda:0, from VAEDecode #8"]


@pytest.mark.parametrize(
    ("medium", "items", "rate", "line"),
    [
        ("mask", 1, None, "1 mask, 64×64, fp32, cpu, from VAEDecode #8"),
        ("audio", 2, 44100, "2 tracks, 2 ch, 10.00\u00a0s at 44100\u00a0Hz, fp32, cpu, from VAEDecode #8"),
        ("audio", 1, None, "1 track, 2 ch, 441,000 samples, fp32, cpu, from VAEDecode #8"),
    ],
)
def test_masks_and_tracks_say_what_they_are(medium: Medium, items: int, rate: int | None, line: str) -> None:
    assert texts(report(check(items=items, medium=medium, rate=rate))) == [line]


def test_an_empty_batch_is_not_called_clean() -> None:
    shown = report(check(items=0))
    assert (shown.level, shown.title) == ("info", "Empty: there is no image to check")


@pytest.mark.parametrize(
    ("bad", "items", "title"),
    [
        ([Bad(1, all_nan()), Bad(3, all_nan())], 4, "Images 1 and 3 of 4 are NaN"),
        ([Bad(1, all_nan()), Bad(3, some(5, 2))], 4, "Images 1 and 3 of 4 hold NaN and Inf"),
        ([Bad(0, all_nan())], 1, "The image is NaN"),
        ([Bad(0, some(3))], 1, "The image holds NaN"),
        ([Bad(2, some(0, 1))], 4, "Image 2 of 4 holds Inf"),
        ([Bad(i, all_nan()) for i in range(81)], 81, "All 81 images are NaN"),
        ([Bad(i, all_nan()) for i in range(1, 81)], 81, "Images 1-80 of 81 are NaN"),
        ([Bad(i, all_nan()) for i in range(0, 81, 2)], 81, "41 of 81 images are NaN"),
    ],
)
def test_bad_images_are_named(bad: list[Bad], items: int, title: str) -> None:
    assert report(check(*bad, items=items)).title == title


@pytest.mark.parametrize(
    ("medium", "items", "title"),
    [
        ("mask", 1, "The mask is NaN"),
        ("mask", 3, "Mask 0 of 3 is NaN"),
        ("audio", 1, "The audio is NaN"),
        ("audio", 2, "Track 0 of 2 is NaN"),
    ],
)
def test_bad_masks_and_tracks_are_named(medium: Medium, items: int, title: str) -> None:
    assert report(check(Bad(0, all_nan()), items=items, medium=medium)).title == title


@pytest.mark.parametrize(
    ("mode", "replaced", "title"),
    [
        (STOP, 0, "Image 1 of 4 is NaN"),
        (REPORT, 0, "Image 1 of 4 is NaN"),
        (BLOCK, 0, "Image 1 of 4 is NaN; branch blocked"),
        (REPLACE, 3145728, "Image 1 of 4 is NaN; 3,145,728 values set to 0"),
        (REPLACE, 1, "Image 1 of 4 is NaN; 1 value set to 0"),
    ],
)
def test_the_title_ends_with_what_was_done(mode: str, replaced: int, title: str) -> None:
    assert report(check(Bad(1, all_nan())), mode, replaced).title == title


def test_a_nan_tile_is_named_by_its_place() -> None:
    """VAE-04: ComfyUI #9871, one tile of 16 black."""
    shown = report(check(Bad(2, some(PIXELS // 16), areas=(Area(512, 0, 256, 256),))))
    assert shown.blocks[0] == Cells(4, (2,))
    table = shown.blocks[1]
    assert isinstance(table, Table)
    assert table.columns == ("Image", "NaN", "Inf")
    assert [row.cells for row in table.rows] == [("2", "6.2\u00a0%", "0")]
    assert table.rows[0].note == "a bad area of 256×256\u00a0px at x 512, y 0, 6.2\u00a0%"
    assert shown.blocks[2] == Text("an overflow in the VAE.", lead="Likely")


def test_more_than_three_tiles_are_counted() -> None:
    tiles = tuple(Area(x, 0, 64, 64) for x in (0, 128, 256, 384, 512))
    (row,) = next(b for b in report(check(Bad(0, some(9), areas=tiles))).blocks if isinstance(b, Table)).rows
    assert row.note.count("a bad area") == 3
    assert row.note.endswith("; and 2 more")


def test_single_values_are_counted_where_a_share_would_read_as_nothing() -> None:
    (row,) = next(b for b in report(check(Bad(0, some(3, 1)))).blocks if isinstance(b, Table)).rows
    assert row.cells == ("0", "3", "1")


def test_the_time_of_a_bad_stretch_is_in_seconds() -> None:
    found = check(Bad(0, some(882), spans=(Span(1.2, 1.25), Span(3.0, 4.5))), items=1, medium="audio")
    (row,) = next(b for b in report(found).blocks if isinstance(b, Table)).rows
    assert row.note == "from 1.20 to 1.25\u00a0s, 3.00 to 4.50\u00a0s"


def test_a_long_batch_lists_at_most_eight_rows_and_three_causes() -> None:
    found = check(*(Bad(i, all_nan()) for i in range(0, 81, 2)), items=81)
    causes = [Cause(f"c{i}", f"cause {i}.") for i in range(5)]
    shown = report(found, causes=causes)
    table = next(block for block in shown.blocks if isinstance(block, Table))
    assert len(table.rows) == 8
    assert not any(isinstance(block, Cells) for block in shown.blocks)
    assert texts(shown)[0].startswith("Bad images: 0, 2, 4, ")
    assert texts(shown)[1:5] == ["and 33 more", "cause 0.", "cause 1.", "cause 2."]


ODD: list[tuple[list[Odd], int, Medium, str, str, list[str]]] = [
    ([Odd(2, "black", values=(0.0,))], 4, "image", "warn", "Finite, but image 2 of 4 is all black", []),
    ([Odd(0, "black", values=(0.0,))], 1, "image", "warn", "Finite, but the image is all black", []),
    ([Odd(i, "black") for i in range(4)], 4, "image", "warn", "Finite, but all 4 images are all black", []),
    (
        [Odd(2, "black area", areas=(Area(512, 0, 512, 256),), share=0.125)],
        4,
        "image",
        "warn",
        "Finite, but image 2 of 4 has a black area",
        ["A black area of 512×256\u00a0px at x 512, y 0, 12\u00a0% of image 2"],
    ),
    (
        [Odd(0, "black area", areas=(Area(0, 0, 64, 64), Area(640, 0, 64, 64)), share=0.0078125)],
        1,
        "image",
        "warn",
        "Finite, but the image has 2 black areas",
        [
            "A black area of 64×64\u00a0px at x 0, y 0, 0.4\u00a0% of the image",
            "A black area of 64×64\u00a0px at x 640, y 0, 0.4\u00a0% of the image",
        ],
    ),
    (
        [Odd(i, "black area", areas=(Area(0, 0, 512, 512),), share=0.25) for i in range(4)],
        4,
        "image",
        "warn",
        "Finite, but all 4 images have black areas",
        ["A black area of 512×512\u00a0px at x 0, y 0, 25\u00a0% of images 0-3"],
    ),
    (
        [Odd(1, "mostly black", share=0.85)],
        4,
        "image",
        "info",
        "Finite, but image 1 of 4 is mostly black",
        ["Exactly 0.0 in 85\u00a0% of image 1"],
    ),
    (
        [Odd(0, "one colour", values=(0.5, 0.25, 1.0))],
        1,
        "image",
        "info",
        "Finite, but the image is one colour",
        ["0.50, 0.25, 1.00 is the colour of the image"],
    ),
    ([Odd(0, "silent", share=1.0)], 1, "audio", "info", "Finite, but the audio is silent", []),
    (
        [Odd(1, "constant", values=(-1.0, -1.0))],
        2,
        "audio",
        "warn",
        "Finite, but track 1 of 2 is constant",
        ["\u22121.00 is the value of track 1"],
    ),
    (
        [Odd(0, "constant", values=(-1.0, 0.5), spans=(Span(2.0, 5.5),))],
        1,
        "audio",
        "warn",
        "Finite, but the audio is constant",
        ["\u22121.00, 0.50 is the value from 2.00 to 5.50\u00a0s of the audio"],
    ),
    (
        [Odd(0, "mostly silent", spans=(Span(2.0, 10.0),), share=0.8)],
        1,
        "audio",
        "info",
        "Finite, but the audio is mostly silent",
        ["Silent from 2.00 to 10.00\u00a0s, 80\u00a0% of the audio"],
    ),
    (
        [Odd(0, "range", values=(-0.5, 3.0))],
        2,
        "mask",
        "warn",
        "Finite, but mask 0 of 2 is not within 0 to 1",
        ["\u22120.50 to 3.00 are the values of mask 0"],
    ),
]


@pytest.mark.parametrize(("odd", "items", "medium", "level", "title", "lines"), ODD)
def test_what_is_odd_is_told_and_called_finite(
    odd: list[Odd], items: int, medium: Medium, level: str, title: str, lines: list[str]
) -> None:
    """VAE-04, VAE-06, NAN-25: deepbeepmeep/Wan2GP #2301, ComfyUI #9871, #15799."""
    found = check(odd=odd, items=items, medium=medium)
    shown = report(found)
    assert (shown.level, shown.title) == (level, title)
    assert texts(shown)[:-2] == lines
    assert texts(shown)[-2] == WHY[odd[0].kind]
    assert odd_error(found).startswith(title + ". ")


@pytest.mark.parametrize("kind", get_args(OddKind))
def test_no_oddity_is_ever_called_nan(kind: OddKind) -> None:
    """NAN-25: ComfyUI #15799. VAE-45: forge-classic #1325. "NaN" stands only beside "not", "Nothing", "none", "was"."""
    odd = Odd(0, kind, values=(0.5, 1.0), areas=(Area(0, 0, 64, 64),), spans=(Span(0, 1),), share=0.5)
    shown = report(check(odd=[odd], items=1))
    assert shown.facts["finite"] is True
    assert "NaN" not in shown.title
    for line in texts(shown):
        assert re.search(r"\bNaN\b", re.sub(r"(not|Nothing in it is|none is|was) NaN", "", line)) is None


def test_every_kind_has_its_words() -> None:
    assert set(KINDS) == set(WHY) == set(get_args(OddKind))


def test_the_worst_kind_gives_the_title_and_all_are_listed() -> None:
    odd = [
        Odd(0, "one colour", values=(0.5,)),
        Odd(1, "black area", areas=(Area(0, 0, 512, 512),)),
        Odd(2, "mostly black", share=0.6),
    ]
    shown = report(check(odd=odd))
    assert shown.title == "Finite, but image 1 of 4 has a black area"
    assert len(texts(shown)) == 5


def test_many_places_are_cut_off_with_a_count() -> None:
    odd = [Odd(i, "black area", areas=(Area(i, 0, 512, 512),)) for i in range(20)]
    lines = texts(report(check(odd=odd, items=20)))
    assert sum(line.startswith("A black area") for line in lines) == 8
    assert lines[8] == "and 12 more"


def test_the_facts_are_plain_json() -> None:
    bad = Bad(1, some(7, 1), areas=(Area(1, 2, 3, 4),))
    shown = report(check(bad), REPLACE, 8)
    facts = json.loads(json.dumps(shown.as_json(), allow_nan=False))["facts"]
    assert facts["medium"] == "image"
    assert facts["bad_items"] == [1]
    assert facts["bad"][0]["areas"] == [{"x": 1, "y": 2, "width": 3, "height": 4}]
    assert (facts["bad"][0]["nan"], facts["bad"][0]["pos_inf"], facts["replaced_values"]) == (7, 1, 8)
    assert (facts["done"], facts["source"]) == ("replace values", "VAEDecode #8")
    odd: dict[str, Any] = report(check(odd=[Odd(0, "silent", share=1.0)], items=1, medium="audio")).facts
    assert (odd["finite"], odd["done"], odd["sample_rate"]) == (True, "pass", 44100)
    assert odd["odd"] == [{"item": 0, "kind": "silent", "values": [], "zero_share": 1.0, "areas": [], "spans": []}]


def test_texts_keep_the_wording_rules() -> None:
    every = [report(check(odd=odd, items=items, medium=medium)) for odd, items, medium, *_ in ODD]
    for shown in every:
        for line in shown.as_text().splitlines():
            assert not re.search(r"!|\bplease\b|\bwe\b|\bour\b", line, re.IGNORECASE)
