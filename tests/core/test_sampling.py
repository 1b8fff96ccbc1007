"""Which step a sigma belongs to, and what the Model Guard says."""

from __future__ import annotations

import pytest

from headroom.core.causes import Cause
from headroom.core.latent import BadItem, Counts, LatentCheck, StreamCheck
from headroom.core.sampling import Fault, SamplingRun, step_of
from headroom.core.sampling_report import Setting, error_text, sampling_report

SIGMAS = [14.6, 8.0, 4.0, 2.0, 0.0]


@pytest.mark.parametrize(
    ("sigma", "step"),
    [(14.6, 1), (8.0, 2), (4.0, 3), (2.0, 4), (11.0, 1), (5.0, 2), (0.5, 4), (4.0002, 3), (3.9998, 3), (20.0, 1)],
)
def test_a_sigma_counts_in_the_step_that_reached_it(sigma, step):
    """Samplers that look between the steps (dpm_2) count there; rounding of the sigma does not move it."""
    assert step_of(sigma, SIGMAS) == step


def test_a_rising_schedule_counts_too():
    assert [step_of(sigma, [0.0, 1.0, 4.0, 9.0]) for sigma in (0.0, 1.0, 4.0)] == [1, 2, 3]


def test_a_schedule_of_nothing_does_not_raise():
    assert step_of(1.0, [1.0]) == 1
    assert step_of(1.0, []) == 1


def check(*items: int, of: int = 4) -> LatentCheck:
    """A batch whose given items are NaN through and through."""
    counts = Counts(total=16, nan=16, pos_inf=0, neg_inf=0, low=None, high=None)
    bad = tuple(BadItem(item, counts) for item in items)
    return LatentCheck(False, (StreamCheck(0, "image", (of, 4, 2, 2), "bf16", "cuda:0", bad),))


FAULT = Fault(step=3, steps=8, sigma=5.214, evaluation=3, check=check(1, 3))
SETTING = Setting("SDXL", "pytorch")


def test_a_clean_run_is_one_line():
    report = sampling_report("stop the run", [SamplingRun("fp16", 8, 16, 12.0)], SETTING, (), 0.0)
    assert report.as_text().splitlines() == [
        "Clean: 8 steps (12.0\u00a0s)",
        "SDXL, fp16, pytorch attention; 16 evaluations of the model",
    ]


def test_a_fault_names_step_sigma_and_items():
    run = SamplingRun("fp16", 8, 3, 4.0, FAULT)
    cause = Cause("x", "fp16 overflow. Try `--fp32-unet`.")
    report = sampling_report("stop the run", [run], SETTING, (cause,), 0.0)
    assert report.level == "error"
    assert report.title == "Step 3 of 8, sigma 5.21: items 1 and 3 of 4 are NaN"
    assert error_text([run], SETTING, (cause,), no_wider=False) == (
        "Step 3 of 8, sigma 5.21: items 1 and 3 of 4 are NaN. SDXL, fp16, pytorch attention. "
        "Likely: fp16 overflow. Try `--fp32-unet`."
    )


def test_a_restart_tells_both_runs_and_their_cost():
    runs = [SamplingRun("fp16", 8, 3, 4.0, FAULT), SamplingRun("fp32", 8, 8, 21.0)]
    report = sampling_report("restart in a wider dtype", runs, SETTING, (), 0.0)
    assert (report.level, report.title) == ("info", "Finished in fp32; fp16 was bad at step 3 of 8")
    assert report.as_text().splitlines()[1:3] == [
        "1. fp16 (time 4.0\u00a0s): Step 3 of 8, sigma 5.21: items 1 and 3 of 4 are NaN",
        "2. fp32 (time 21.0\u00a0s): finished",
    ]


def test_two_bad_runs_name_both():
    runs = [SamplingRun("fp16", 8, 3, 4.0, FAULT), SamplingRun("fp32", 8, 3, 9.0, FAULT)]
    text = error_text(runs, Setting(), (), no_wider=False)
    assert text == (
        "Step 3 of 8, sigma 5.21: items 1 and 3 of 4 are NaN. fp32. The first run, in fp16, was bad at step 3 of 8."
    )


def test_a_restart_that_cannot_be_wider_says_so():
    text = error_text([SamplingRun("fp32", 8, 3, 4.0, FAULT)], Setting("SDXL"), (), no_wider=True)
    assert text.endswith("SDXL, fp32. No restart: fp32 is the widest dtype there is.")
