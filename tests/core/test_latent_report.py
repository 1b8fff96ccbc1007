"""The Latent Guard's words, against the design's picture and the reports from the field."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest

from headroom.core.causes import Cause
from headroom.core.choices import BLOCK, DROP, REPLACE, REPORT, STOP
from headroom.core.latent import BadItem, Counts, Kind, LatentCheck, StreamCheck
from headroom.core.latent_report import Action, Run, error_text, latent_report
from headroom.core.report import Cells, Report, Table, Text

RUN = Run(seconds=0.0004, made_at=1700000000.0)
OVERFLOW = Cause("fp16-overflow", "fp16 overflow in SDXL at 1024×1024. Try `--bf16-unet`.")


def all_nan(elements: int) -> Counts:
    return Counts(elements, elements, 0, 0, None, None)


def some(nan: int = 0, pos_inf: int = 0, total: int = 65536) -> Counts:
    return Counts(total, nan, pos_inf, 0, -65504.0, 65120.0)


def stream(shape: tuple[int, ...], *bad: BadItem, kind: Kind = "image", index: int = 0) -> StreamCheck:
    return StreamCheck(index, kind, shape, "fp16", "cuda:0", bad)


def report(*streams: StreamCheck, done: str = STOP, causes: Sequence[Cause] = (), **action: Any) -> Report:
    check = LatentCheck(nested=len(streams) > 1, streams=streams)
    return latent_report(check, Action(asked=done, done=done, **action), causes, RUN)


def texts(shown: Report) -> list[str]:
    return [block.text for block in shown.blocks if isinstance(block, Text)]


def table(shown: Report) -> Table:
    return next(block for block in shown.blocks if isinstance(block, Table))


PICTURE = stream((4, 4, 128, 128), BadItem(1, all_nan(65536)), BadItem(3, all_nan(65536)))


def test_a_clean_latent_is_one_word_and_one_muted_line() -> None:
    shown = report(stream((1, 16, 21, 60, 104), kind="video"))
    assert (shown.level, shown.title, shown.figure) == ("ok", "Clean", "0.4\u00a0ms")
    assert shown.blocks == (Text("1 item, 16 ch, 21 frames, 60×104, fp16, cuda:0", muted=True),)
    assert shown.made_at == 1700000000.0


def test_the_picture_of_the_design() -> None:
    """NAN-02: ComfyUI #13116."""
    two = stream((4, 4, 128, 128), BadItem(1, all_nan(65536)), BadItem(3, Counts(65536, 8192, 8, 0, -65504.0, 65120.0)))
    check = LatentCheck(nested=False, streams=(two,))
    action = Action(asked=DROP, done=DROP, kept=(0, 2))
    shown = latent_report(check, action, (OVERFLOW,), Run(0.0004, 1.0, source="KSampler #12"))
    assert shown.level == "error"
    assert shown.title == "Items 1 and 3 of 4 hold NaN and Inf; kept 0 and 2"
    assert shown.blocks[0] == Cells(4, (1, 3))
    assert table(shown).columns == ("Item", "NaN", "Inf", "Finite range")
    assert [row.cells for row in table(shown).rows] == [
        ("1", "100.0\u00a0%", "0", "none"),
        ("3", "12.5\u00a0%", "8", "\u221265,504 to 65,120"),
    ]
    assert shown.blocks[2] == Text("fp16 overflow in SDXL at 1024×1024. Try `--bf16-unet`.", lead="Likely")
    assert shown.blocks[3] == Text("4 items, 4 ch, 128×128, fp16, cuda:0, from KSampler #12", muted=True)


@pytest.mark.parametrize(
    ("done", "action", "title"),
    [
        (STOP, {}, "Items 1 and 3 of 4 are NaN"),
        (REPORT, {}, "Items 1 and 3 of 4 are NaN"),
        (BLOCK, {}, "Items 1 and 3 of 4 are NaN; branch blocked"),
        (DROP, {"kept": (0, 2)}, "Items 1 and 3 of 4 are NaN; kept 0 and 2"),
        (REPLACE, {"replaced": 131072}, "Items 1 and 3 of 4 are NaN; repaired 131,072 values"),
        (REPLACE, {"replaced": 1}, "Items 1 and 3 of 4 are NaN; repaired 1 value"),
    ],
)
def test_the_title_ends_with_what_was_done(done: str, action: dict, title: str) -> None:
    """NAN-19: a repair that is not told of looks like a bad model."""
    assert report(PICTURE, done=done, **action).title == title


def test_dropping_everything_says_that_nothing_is_left() -> None:
    check = LatentCheck(nested=False, streams=(stream((2, 4, 8, 8), *(BadItem(i, all_nan(256)) for i in (0, 1))),))
    shown = latent_report(check, Action(asked=DROP, done=STOP), (OVERFLOW,), RUN)
    assert shown.title == "All 2 items are NaN; no item is left to keep"
    assert error_text(shown, (OVERFLOW,)) == (
        "All 2 items are NaN; no item is left to keep. Likely: fp16 overflow in SDXL at 1024×1024. Try `--bf16-unet`."
    )


FRAME = 16 * 80 * 80
VIDEO = (1, 16, 21, 80, 80)


@pytest.mark.parametrize(
    ("frames", "counts", "title", "note"),
    [
        (range(21), all_nan(21 * FRAME), "All 21 frames are NaN", "all 21 frames"),
        (range(1, 21), some(20 * FRAME, total=21 * FRAME), "Frames 1-20 of 21 are NaN", "frames 1-20 of 21"),
        ([7], some(1, total=21 * FRAME), "Frame 7 of 21 holds NaN", "frame 7 of 21"),
        ([7], some(FRAME, total=21 * FRAME), "Frame 7 of 21 is NaN", "frame 7 of 21"),
        ([2, 3], some(0, 5, total=21 * FRAME), "Frames 2 and 3 of 21 hold Inf", "frames 2 and 3 of 21"),
    ],
)
def test_a_video_is_told_by_its_frames(frames: Sequence[int], counts: Counts, title: str, note: str) -> None:
    """NAN-05: ComfyUI #14892, all frames. NAN-06: ComfyUI #16313, frames 1 to 20, never "batch 0"."""
    shown = report(stream(VIDEO, BadItem(0, counts, tuple(frames)), kind="video"))
    assert shown.title == title
    assert table(shown).rows[0].note == note


def test_the_frames_of_a_batch_of_videos_stand_under_each_item() -> None:
    bad = BadItem(1, some(5, total=21 * FRAME), (3, 4, 5))
    shown = report(stream((2, *VIDEO[1:]), bad, kind="video"))
    assert shown.title == "Item 1 of 2 holds NaN"
    assert table(shown).rows[0].note == "frames 3-5 of 21"


@pytest.mark.parametrize(
    ("counts", "title"),
    [(all_nan(256), "The latent is NaN"), (some(1), "The latent holds NaN"), (some(0, 2), "The latent holds Inf")],
)
def test_a_single_image_is_the_latent(counts: Counts, title: str) -> None:
    shown = report(stream((1, 4, 8, 8), BadItem(0, counts)))
    assert shown.title == title
    assert not any(isinstance(block, Cells) for block in shown.blocks)


def test_a_few_values_are_a_count_and_not_a_share_of_zero() -> None:
    assert table(report(stream((1, 4, 128, 128), BadItem(0, some(3))))).rows[0].cells[1] == "3"


def test_the_bad_stream_of_an_audio_video_latent_is_named() -> None:
    """NAN-26: Lightricks/ComfyUI-LTXVideo #523."""
    video = stream((1, 128, 16, 22, 40), kind="video")
    audio = stream((1, 8, 100), BadItem(0, some(1, total=800)), kind="audio", index=1)
    shown = report(video, audio)
    assert shown.title == "Stream 1 (audio) holds NaN"
    assert table(shown).columns[0] == "Stream"
    assert table(shown).rows[0].cells[0] == "1 (audio)"
    assert texts(shown)[-2:] == [
        "stream 0 (video): 1 item, 128 ch, 16 frames, 22×40, fp16, cuda:0",
        "stream 1 (audio): 1 item, 8 ch, 100 long, fp16, cuda:0",
    ]


def test_other_findings_in_an_audio_video_latent() -> None:
    shape = (1, 128, 16, 22, 40)
    part = stream(shape, BadItem(0, some(1, total=128 * 16 * 22 * 40), (3,)), kind="video")
    audio = stream((1, 8, 100), BadItem(0, all_nan(800)), kind="audio", index=1)
    fine = stream((1, 8, 100), kind="audio", index=1)
    assert report(part, fine).title == "Stream 0 (video) holds NaN in frame 3 of 16"
    assert report(part, audio).title == "Streams 0 (video) and 1 (audio) hold NaN"
    pair = stream((2, 8, 100), BadItem(1, all_nan(800)), kind="audio", index=1)
    assert report(stream((2, *shape[1:]), kind="video"), pair).title == "Item 1 of 2 is NaN in stream 1 (audio)"


def test_up_to_32_items_have_a_cell_each() -> None:
    def of(items: int) -> Report:
        return report(stream((items, 4, 8, 8), *(BadItem(i, all_nan(256)) for i in (1, 3, *range(16, 32)))))

    assert of(32).blocks[0] == Cells(32, (1, 3, *range(16, 32)))
    assert not any(isinstance(block, Cells) for block in of(33).blocks)
    assert of(33).title == "Items 1, 3, 16-31 of 33 are NaN"
    assert len(table(of(32)).rows) == 8
    assert "and 10 more" in texts(of(32))


def test_a_list_too_long_for_a_title_stands_below() -> None:
    shown = report(stream((100, 4, 8, 8), *(BadItem(i, all_nan(256)) for i in range(0, 100, 2))))
    assert shown.title == "50 of 100 items are NaN"
    assert texts(shown)[0].startswith("Bad items: 0, 2, 4, 6, 8")


def test_at_most_three_causes_are_shown_and_all_are_in_the_facts() -> None:
    causes = [Cause(f"c{i}", f"cause {i}. Try it.", {"fix": "--x"}) for i in range(5)]
    shown = report(PICTURE, causes=causes)
    assert [block.lead for block in shown.blocks if isinstance(block, Text) and block.lead] == ["Likely", "Or", "Or"]
    assert [cause["id"] for cause in shown.facts["causes"]] == ["c0", "c1", "c2", "c3", "c4"]
    assert error_text(shown, causes) == "Items 1 and 3 of 4 are NaN. Likely: cause 0. Try it."
    assert error_text(shown, ()) == "Items 1 and 3 of 4 are NaN."


def finding(**found: Any) -> Report:
    base = {"index": 0, "kind": "image", "shape": (1, 4, 8, 8), "dtype": "fp32", "device": "cpu"}
    mask = bool(found.pop("mask", False))
    check = LatentCheck(nested=False, streams=(StreamCheck(**{**base, **found}),), mask_is_bad=mask)
    return latent_report(check, Action(STOP, STOP), (), RUN)


def test_what_is_finite_but_odd_is_a_notice_and_never_called_nan() -> None:
    """NAN-34: rocm_lab #4, values about 1e38. NAN-21: ComfyUI #16437, channels read B, A, B, A."""
    huge = finding(huge=True, largest=3e38)
    assert (huge.level, huge.title) == ("warn", "Finite, but values reach 3.00e+38")
    assert huge.facts["notices"] == ["magnitude"]
    repeated = finding(repeated_channels=True)
    assert (repeated.level, repeated.title) == ("info", "Finite, but channels 0 and 1 come again as 2 and 3")
    assert repeated.facts["notices"] == ["repeated channels"]
    assert "NaN" not in repeated.as_text()
    empty = finding(shape=(0, 4, 8, 8))
    assert (empty.level, empty.title) == ("info", "Empty: there is no item to check")


def test_a_bad_noise_mask_is_told_apart() -> None:
    shown = finding(mask=True)
    assert (shown.level, shown.title) == ("warn", "Clean, but its noise_mask holds NaN or Inf")
    assert shown.facts["finite"] is True
    assert shown.facts["noise_mask_finite"] is False
    assert shown.facts["done"] == "pass"
    both = finding(mask=True, bad=(BadItem(0, all_nan(256)),))
    assert both.title == "The latent is NaN"
    assert "noise_mask holds NaN or Inf too" in both.as_text()


def test_the_facts_are_plain_numbers_for_programs() -> None:
    check = LatentCheck(
        nested=False, streams=(stream(VIDEO, BadItem(0, some(2, 1, total=2150400), (7,)), kind="video"),)
    )
    facts = latent_report(check, Action(STOP, STOP), (OVERFLOW,), RUN).facts
    assert json.loads(json.dumps(facts, allow_nan=False)) == {
        "finite": False,
        "nested": False,
        "items": 1,
        "bad_items": [0],
        "streams": [
            {
                "index": 0,
                "kind": "video",
                "shape": [1, 16, 21, 80, 80],
                "dtype": "fp16",
                "device": "cuda:0",
                "bad": [
                    {
                        "item": 0,
                        "frames": [7],
                        "elements": 2150400,
                        "nan": 2,
                        "pos_inf": 1,
                        "neg_inf": 0,
                        "finite_low": -65504.0,
                        "finite_high": 65120.0,
                    }
                ],
            }
        ],
        "noise_mask_finite": True,
        "notices": [],
        "mode": "stop the run",
        "done": "stop the run",
        "kept": [],
        "replaced_values": 0,
        "causes": [
            {"id": "fp16-overflow", "text": "fp16 overflow in SDXL at 1024×1024. Try `--bf16-unet`.", "params": {}}
        ],
        "source": None,
        "seconds": 0.0004,
    }
