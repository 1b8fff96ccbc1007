"""With --highvram and --gpu-only: every stage counts beside the models that stay, against what a run can have."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from flag_cases import RTX_4080, snap

from headroom.core.flags import advise
from headroom.core.flags.staying import StageNeed, stage_needs, usable_bytes
from headroom.core.flags.view import View
from headroom.core.readings import WorkflowModel

GIB = 2**30
CARD_24 = replace(RTX_4080, total_bytes=24 * GIB)
WAN = WorkflowModel("diffusion", "WAN21_T2V", 13 * GIB, peak_low_bytes=5 * GIB, peak_high_bytes=8 * GIB)
UMT5 = WorkflowModel("text encoder", size_bytes=6 * GIB, peak_low_bytes=0, peak_high_bytes=GIB // 2)
VAE = WorkflowModel("vae", size_bytes=GIB // 4, peak_low_bytes=5 * GIB, peak_high_bytes=8 * GIB)


def found(flags: str, *models: WorkflowModel) -> dict[str, tuple[str, float]]:
    """Rule -> stage and need in GiB."""
    advices = advise(snap(flags, devices=(CARD_24,), workflow_models=models))
    return {
        one.id: (one.params["stage"], one.params["need_bytes"] / GIB)
        for one in advices
        if one.id.startswith("resident")
    }


def test_what_a_run_can_have_is_what_plans_take() -> None:
    """24 GiB on the box are 23.2 for programs (ComfyUI #13598), without 0.4 of context and 0.39 that ComfyUI keeps."""
    room = usable_bytes(View(snap(devices=(CARD_24,))))
    assert room is not None
    assert room == int(24 * 15.47 / 16 * GIB) - GIB * 4 // 10 - 400 * 2**20
    other = usable_bytes(View(snap(devices=(replace(CARD_24, others_bytes=3 * GIB),))))
    assert other == room - 3 * GIB
    assert usable_bytes(View(snap(devices=(replace(CARD_24, total_bytes=None),)))) is None


LARGE = "resident-too-large"
UNSURE = "resident-may-not-fit"


def works(model: WorkflowModel, low_gib: int, high_gib: int) -> WorkflowModel:
    return replace(model, peak_low_bytes=low_gib * GIB, peak_high_bytes=high_gib * GIB)


@pytest.mark.parametrize(
    ("flags", "models", "expected"),
    [
        ("--highvram", (WAN, UMT5, VAE), {}),
        ("--highvram", (works(WAN, 5, 10),), {UNSURE: ("sampling", 23.0)}),
        ("--highvram", (works(WAN, 10, 12),), {LARGE: ("sampling", 23.0)}),
        ("--highvram", (WAN, works(VAE, 5, 12)), {UNSURE: ("the decode", 25.25)}),
        ("--highvram", (WAN, works(VAE, 10, 12)), {LARGE: ("the decode", 23.25)}),
        ("--highvram", (WAN, replace(UMT5, size_bytes=10 * GIB)), {LARGE: ("text encoding", 23.0)}),
        # All three stay: 19.25 of weights, of which each stage has all.
        ("--gpu-only", (WAN, UMT5, VAE), {LARGE: ("sampling", 24.25)}),
        ("--gpu-only", (replace(WAN, size_bytes=4 * GIB), UMT5, VAE), {}),
        # The VAE that goes with the model, without a file.
        ("--highvram", (WAN, works(WorkflowModel("vae"), 2, 10)), {UNSURE: ("the decode", 23.0)}),
        ("", (works(WAN, 20, 20),), {}),
    ],
)
def test_the_stage_that_takes_most_is_named(
    flags: str, models: tuple[WorkflowModel, ...], expected: dict[str, tuple[str, float]]
) -> None:
    assert found(flags, *models) == expected


def test_without_a_known_peak_sampling_takes_what_comfyui_keeps_for_any() -> None:
    bare = (WorkflowModel("diffusion", size_bytes=9 * GIB), WorkflowModel("vae", size_bytes=GIB))
    needs = stage_needs(View(snap("--highvram", workflow_models=bare)), "--highvram")
    least = int(0.8 * GIB)
    assert needs == [
        StageNeed("sampling", 9 * GIB, least, least),
        StageNeed("the decode", 9 * GIB, GIB, GIB + least),
    ]
    assert stage_needs(View(snap("--highvram")), "--highvram") == []


def test_a_need_that_is_no_range_is_refused() -> None:
    with pytest.raises(ValueError, match="takes 2 to 1 bytes"):
        StageNeed("sampling", 0, 2, 1)
