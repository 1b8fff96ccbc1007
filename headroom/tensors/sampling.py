"""Watches a sampling run and, once, starts it again in a wider dtype.

Two of the host's wrappers are used (comfy/samplers.py 0.30.0). PREDICT_NOISE is the only one that sees the final
denoised result of every evaluation for every guider; OUTER_SAMPLE surrounds the whole run and may call it twice.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol

import torch

from ..core.latent import LatentCheck
from ..core.sampling import Fault, SamplingRun, step_of
from .finite import is_finite
from .latent_check import check
from .layouts import Layout, Stream, read
from .names import dtype_name


class BadStep(Exception):
    """The denoised result is not finite; a signal from one wrapper to the other that ends the sampler at once."""

    def __init__(self, fault: Fault) -> None:
        super().__init__(f"step {fault.step} of {fault.steps}")
        self.fault = fault


class SamplingHost(Protocol):
    """What the guard asks of the running ComfyUI."""

    def compute_dtype(self, patcher: Any) -> torch.dtype:
        """What the model of this patcher computes in."""
        ...

    def wider_dtype(self, patcher: Any, dtype: torch.dtype) -> torch.dtype | None:
        """The next wider dtype to try: bf16 where the device and the model have it, else fp32; None above fp32."""
        ...


@dataclass
class Watch:
    """One run through a schedule."""

    sigmas: torch.Tensor
    latent_shapes: Sequence[Sequence[int]]
    """Shapes of the streams of a packed audio-video latent; one entry otherwise."""
    evaluations: int = 0

    @property
    def steps(self) -> int:
        """Steps of the schedule."""
        return max(0, self.sigmas.shape[-1] - 1)

    def see(self, denoised: torch.Tensor, sigma: torch.Tensor) -> None:
        """One evaluation: a single reduction and one wait for the device, more only once it is bad.

        Raises:
            BadStep: NaN or Inf.
        """
        self.evaluations += 1
        if is_finite(denoised):
            return
        now = float(sigma.flatten()[0])
        step = step_of(now, self.sigmas.tolist())
        found = _found(denoised, self.latent_shapes)
        raise BadStep(Fault(step, self.steps, now, self.evaluations, found))


def _found(denoised: torch.Tensor, shapes: Sequence[Sequence[int]]) -> LatentCheck:
    """What is bad about a result; a packed audio-video latent [B, 1, N] is taken apart first."""
    if len(shapes) < 2:
        latent = {"samples": denoised}
        return check(read(latent), latent)
    streams, start = [], 0
    for index, shape in enumerate(shapes):
        length = torch.Size(shape[1:]).numel()
        part = denoised[:, :, start : start + length].reshape(denoised.shape[0], *shape[1:])
        streams.append(Stream(index, read({"samples": part}).streams[0].kind, part))
        start += length
    return check(Layout(denoised, True, tuple(streams)), {})


class Guard:
    """The state that the two wrappers of one guarded model share. Runs can nest: a sampler may sample inside."""

    def __init__(
        self, host: SamplingHost, restart: bool, on_end: Callable[[Sequence[SamplingRun], Any, bool], None]
    ) -> None:
        self._host, self._restart, self._on_end = host, restart, on_end
        self._watches: list[Watch] = []

    def predict_noise(self, executor: Any, x: torch.Tensor, timestep: torch.Tensor, *args: Any, **kwargs: Any) -> Any:
        """The PREDICT_NOISE wrapper; ``timestep`` is the sigma."""
        denoised = executor(x, timestep, *args, **kwargs)
        if self._watches:
            self._watches[-1].see(denoised, timestep)
        return denoised

    def outer_sample(
        self, executor: Any, noise: Any, latent: Any, sampler: Any, sigmas: Any, *args: Any, **kw: Any
    ) -> Any:
        """The OUTER_SAMPLE wrapper.

        ``on_end(runs, patcher, no_wider)`` is told the end of every sampling and raises where it ended badly.
        """
        guider = executor.class_obj
        patcher = guider.model_patcher
        # The first run processes them in place of the raw ones, and processing twice spoils area and percent ranges.
        conds = {key: [cond.copy() for cond in entries] for key, entries in guider.conds.items()}
        random_state = torch.random.get_rng_state()

        def sample() -> Any:
            return executor(noise, latent, sampler, sigmas, *args, **kw)

        shapes = kw.get("latent_shapes") or [tuple(noise.shape)]
        out, run = self._watched(sample, Watch(sigmas, shapes), patcher)
        if run.fault is None:
            self._on_end([run], patcher, False)
            return out
        wider = self._host.wider_dtype(patcher, self._host.compute_dtype(patcher)) if self._restart else None
        if wider is None:
            self._on_end([run], patcher, self._restart)
            return out
        guider.conds = conds
        torch.random.set_rng_state(random_state)
        with _computing_in(guider, wider):
            out, second = self._watched(sample, Watch(sigmas, shapes), guider.model_patcher)
        self._on_end([run, second], patcher, False)
        return out

    def _watched(self, sample: Callable[[], Any], watch: Watch, patcher: Any) -> tuple[Any, SamplingRun]:
        """One run and what became of it. The exception is gone, and its tensors with it, when this returns."""
        dtype = dtype_name(self._host.compute_dtype(patcher))
        started = time.perf_counter()
        out, fault = None, None
        self._watches.append(watch)
        try:
            out = sample()
        except BadStep as bad:
            fault = bad.fault
        finally:
            self._watches.pop()
        return out, SamplingRun(dtype, watch.steps, watch.evaluations, time.perf_counter() - started, fault)


@contextmanager
def _computing_in(guider: Any, dtype: torch.dtype) -> Iterator[None]:
    """The guider with clones of its models that compute in ``dtype``.

    The guider is a cached output of its node, so its own patchers are put back whatever happens. The weights keep their
    dtype and are cast layer by layer: no second copy of the model.
    """
    names = [name for name in ("model_patcher", "uncond_model_patcher") if getattr(guider, name, None) is not None]
    own = {name: getattr(guider, name) for name in names}
    try:
        for name, patcher in own.items():
            clone = patcher.clone()
            clone.set_model_compute_dtype(dtype)
            setattr(guider, name, clone)
        yield
    finally:
        for name, patcher in own.items():
            setattr(guider, name, patcher)
