"""The Model Guard's two wrappers on a scripted sampler: what is put back, what is told, and what is never done."""

from __future__ import annotations

import pytest
import torch

from headroom.tensors.sampling import Guard

NAN = float("nan")
SIGMAS = torch.tensor([8.0, 4.0, 2.0, 1.0, 0.0])


class Patcher:
    """A model patcher as far as the guard sees it."""

    def __init__(self, dtype=torch.float16):
        self.dtype = dtype

    def clone(self):
        """Another one of the same dtype."""
        return Patcher(self.dtype)

    def set_model_compute_dtype(self, dtype):
        """Changes this one only."""
        self.dtype = dtype


class Host:
    """Offers one wider dtype."""

    def __init__(self, wider=torch.float32):
        self.wider = wider

    def compute_dtype(self, patcher):
        """What the patcher computes in."""
        return patcher.dtype

    def wider_dtype(self, patcher, dtype):
        """None above fp32."""
        return None if dtype is torch.float32 else self.wider


class Guider:
    """A guider whose sampler evaluates ``model(patcher, step)`` once per step, through the guard's wrapper."""

    def __init__(self, guard, model, shape=(2, 4, 3, 3)):
        self.guard, self.model, self.shape = guard, model, shape
        self.model_patcher = Patcher()
        self.conds = {"positive": [{"area": 0.5}]}
        self.seen_conds, self.noise = [], []

    def sample(self, **more):
        """What comfy.samplers does around a run."""
        return self.guard.outer_sample(Executor(self, self.run), torch.zeros(self.shape), None, None, SIGMAS, **more)

    def run(self, noise, latent, sampler, sigmas, *args, **kwargs):
        """The run itself: processes the conds in place, as the host does, and adds noise."""
        self.seen_conds.append(self.conds["positive"][0]["area"])
        self.conds["positive"][0]["area"] *= 64
        self.noise.append(torch.randn(1).item())
        out = None
        for step in range(len(sigmas) - 1):
            model = Executor(self, lambda x, t, step=step: self.model(self.model_patcher, step))
            out = self.guard.predict_noise(model, noise, sigmas[step : step + 1])
        return out


class Executor:
    """The host's wrapper executor."""

    def __init__(self, class_obj, call):
        self.class_obj, self.call = class_obj, call

    def __call__(self, *args, **kwargs):
        """The next in the row."""
        return self.call(*args, **kwargs)


def set_up(model, restart=False, host=None, shape=(2, 4, 3, 3)):
    """A guard and a guider; ``told`` gets what on_end is told."""
    told = []
    guard = Guard(host or Host(), restart, lambda runs, patcher, no_wider: told.append((runs, patcher, no_wider)))
    return Guider(guard, model, shape), told


def bad_at(step, *, narrow=torch.float16, shape=(2, 4, 3, 3), where=...):
    """NaN at one step, from 0, as long as the patcher computes in ``narrow``."""

    def model(patcher, now):
        out = torch.ones(shape)
        if now == step and patcher.dtype is narrow:
            out[where] = NAN
        return out

    return model


def test_a_clean_run_is_told_and_passed_on():
    guider, told = set_up(lambda patcher, step: torch.full((2, 4, 3, 3), float(step)))
    assert torch.equal(guider.sample(), torch.full((2, 4, 3, 3), 3.0))
    (run,), _, no_wider = told[0]
    assert (run.dtype, run.steps, run.evaluations, run.fault, no_wider) == ("fp16", 4, 4, None, False)


def test_the_run_ends_at_the_bad_step():
    guider, told = set_up(bad_at(1, where=(1,)))
    guider.sample()
    (run,), _, _ = told[0]
    assert (run.evaluations, run.fault.step, run.fault.sigma) == (2, 2, 4.0)
    assert run.fault.check.bad_items == (1,)


def test_a_restart_computes_wider_with_the_same_noise_and_the_raw_conditioning():
    """Conds processed twice spoil area and percent ranges: the picture was 14.4 off without this."""
    guider, told = set_up(bad_at(2), restart=True)
    own = guider.model_patcher
    assert torch.equal(guider.sample(), torch.ones(2, 4, 3, 3))
    (first, second), _, _ = told[0]
    assert (first.dtype, first.fault.step, second.dtype, second.fault) == ("fp16", 3, "fp32", None)
    assert guider.seen_conds == [0.5, 0.5]
    assert guider.noise[0] == guider.noise[1]
    assert guider.model_patcher is own, "the guider is a cached output of its node"
    assert own.dtype is torch.float16


def test_there_is_one_restart_and_no_second():
    guider, told = set_up(bad_at(0, narrow=torch.bfloat16), restart=True, host=Host(torch.bfloat16))
    guider.model_patcher.dtype = torch.bfloat16
    guider.guard._host.wider = torch.bfloat16
    guider.sample()
    runs, _, _ = told[0]
    assert [run.fault is not None for run in runs] == [True, True]


def test_nothing_wider_is_told_as_that():
    guider, told = set_up(bad_at(0, narrow=torch.float32), restart=True)
    guider.model_patcher.dtype = torch.float32
    guider.sample()
    runs, _, no_wider = told[0]
    assert (len(runs), no_wider) == (1, True)


def test_the_second_model_of_a_dual_guider_is_widened_with_the_first():
    guider, _ = set_up(bad_at(0), restart=True)
    other = guider.uncond_model_patcher = Patcher()
    seen = []
    model = guider.model
    guider.model = lambda patcher, step: seen.append(guider.uncond_model_patcher.dtype) or model(patcher, step)
    guider.sample()
    assert seen[-1] is torch.float32
    assert guider.uncond_model_patcher is other
    assert other.dtype is torch.float16


def test_a_packed_audio_video_latent_is_taken_apart_to_name_the_stream():
    """LTX-2: only the audio part is NaN (ai-bond/flash-attention-v100 #36)."""
    shapes = [(1, 8, 2, 2, 2), (1, 4, 6)]
    guider, told = set_up(bad_at(0, shape=(1, 1, 88), where=(0, 0, 70)), shape=(1, 1, 88))
    guider.sample(latent_shapes=shapes)
    streams = told[0][0][0].fault.check.streams
    assert [(stream.kind, bool(stream.bad)) for stream in streams] == [("video", False), ("audio", True)]


@pytest.mark.parametrize("error", [KeyboardInterrupt, RuntimeError])
def test_other_exceptions_pass_and_leave_nothing_behind(error):
    """An interrupt in the second run must not leave the widened clone in the cached guider."""

    def model(patcher, step):
        if patcher.dtype is torch.float32:
            raise error
        return torch.full((2, 4, 3, 3), NAN)

    guider, told = set_up(model, restart=True)
    own = guider.model_patcher
    with pytest.raises(error):
        guider.sample()
    assert guider.model_patcher is own
    assert guider.guard._watches == []
    assert told == []


def test_a_sampling_inside_a_sampling_is_counted_apart():
    """Detailers sample inside a sampler's callback with the same model."""
    inner, _ = set_up(lambda patcher, step: torch.ones(2, 4, 3, 3))

    def model(patcher, step):
        if step == 1:
            inner.guard = outer.guard
            inner.sample()
        return torch.ones(2, 4, 3, 3)

    outer, told = set_up(model)
    outer.sample()
    assert [runs[0].evaluations for runs, _, _ in told] == [4, 4]


def test_an_evaluation_outside_of_a_sampling_is_let_through():
    """Other packs call a guider's predict_noise by themselves."""
    guider, told = set_up(bad_at(0))
    out = guider.guard.predict_noise(Executor(guider, lambda x, t: torch.tensor([NAN])), None, torch.tensor([1.0]))
    assert out.isnan().all()
    assert told == []


def test_a_failed_run_s_tensors_are_gone_before_the_restart():
    """Two runs' activations side by side would not fit where one just did."""
    import gc
    import weakref

    refs, alive = [], []

    def model(patcher, step):
        out = torch.full((2, 4, 3, 3), NAN if patcher.dtype is torch.float16 else 1.0)
        if patcher.dtype is torch.float16:
            refs.append(weakref.ref(out))
        else:
            alive.append(refs[0]() is not None)
        return out

    guider, _ = set_up(model, restart=True)
    gc.disable()
    try:
        guider.sample()
    finally:
        gc.enable()
    assert not any(alive)
