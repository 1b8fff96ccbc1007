"""Walks the rungs until the result is there, sound and whole.

Out-of-memory asks for space: as it is; other models evicted and, in a batch, one item at a time; the largest tile that
fits; smaller tiles; the CPU in fp32. NaN and Inf ask for precision: the dtype the VAE has, the next wider one that the
device supports, fp32. Only what failed is done again.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import torch

from ...core.units import duration
from ..names import dtype_name
from . import words
from .attempt import Progress, Result, Rung, Space, run
from .job import Job
from .memory import LadderMemory, Lesson
from .options import Attempt, Climbed, LadderHost, Options, Outcome
from .rungs import CPU, Position, Rungs


def climb(
    job: Job,
    host: LadderHost,
    options: Options,
    *,
    tolerated: frozenset[int],
    memory: LadderMemory,
    on_attempt: Callable[[Sequence[Attempt]], None] | None,
) -> Climbed:
    """Does a job, whatever it takes.

    Args:
        job: what is to be done; its VAE leaves as it came.
        host: the running ComfyUI.
        options: what the user chose.
        tolerated: items that are known to be bad and are done all the same.
        memory: lessons of this session about this direction.
        on_attempt: called after each attempt with all attempts so far.

    Raises:
        LadderFailed: every rung failed; of the job's own kind.
    """
    rungs = Rungs(job, host, options, memory)
    walk = _Climb(job, host, rungs, tolerated, on_attempt)
    try:
        climbed = walk.run()
    finally:
        walk.close()
    walk.learn(memory)
    climbed.notices = (*rungs.notices, *walk.notices)
    return climbed


class _Climb:
    """One walk: the attempts so far, what they gave, and what is still pending."""

    def __init__(
        self,
        job: Job,
        host: LadderHost,
        rungs: Rungs,
        tolerated: frozenset[int],
        on_attempt: Callable[[Sequence[Attempt]], None] | None,
    ) -> None:
        self.job, self.vae, self.host, self.rungs = job, job.vae, host, rungs
        self.tolerated, self.on_attempt = tolerated, on_attempt
        self.notices: list[str] = []
        self.attempts: list[Attempt] = []
        self.progress = Progress()
        self.pending = list(range(job.items))
        self.saved: str | None = None
        self.approximate = False
        self.last: Position | None = None
        self.free_at_failure: int | None = None
        self._wide: tuple[torch.dtype, torch.device, Any] | None = None

    def run(self) -> Climbed:
        """Tries rung after rung until nothing is pending."""
        at = self.rungs.first()
        while True:
            self.host.check_interrupt()
            result = self._attempt(at)
            self.last = at
            if not self.pending:
                peak = self.job.peak(self.vae.vae_dtype)
                return Climbed(self._out(), self.attempts, (), self.approximate, self.saved, peak)
            following = self._next(at, result)
            if following is None:
                self._rescue()
                text = words.failure(self.attempts, result, self.job.words, self.saved, at.on_cpu)
                raise self.job.error(text, self.attempts)
            at = following

    def _next(self, at: Position, result: Result) -> Position | None:
        if result.oom_text is None:
            return self.rungs.more_precision(at)
        self.free_at_failure = self.host.free_bytes(self._device(at))
        following = self.rungs.more_space(at, len(self.pending))
        if following is None:
            return None
        if following.evicted and not at.evicted and not following.on_cpu:
            self.host.evict_others(self.vae)
        if following.space != at.space:
            self.progress.grids.clear()
        if following.on_cpu and not at.on_cpu:
            self._prepare_cpu(following)
        return following

    # ---- one attempt ----

    def _attempt(self, at: Position) -> Result:
        device, items = self._device(at), tuple(self.pending)
        if device.type == "cpu" and self.rungs.ram_is_short(at):
            self._rescue()  # The kernel kills a process that takes too much RAM, and then no exception comes.
        rung = Rung(self._vae_for(at), self.job, at.space, self.host.check_interrupt, self._bar(at), self.tolerated)
        self.host.start_peak(device)
        started = time.perf_counter()
        result = run(rung, items, self.progress)
        seconds = time.perf_counter() - started
        self.pending = [item for item in items if item not in self.progress.done]
        self.approximate = self.approximate or (at.space.tile is not None and len(self.pending) < len(items))
        outcome: Outcome = "finished" if not result.bad else "not finite"
        attempt = Attempt(
            how=words.how(at, self.job, items),
            dtype=dtype_name(at.dtype),
            device=str(device),
            items=items,
            outcome=outcome if result.oom_text is None else "out of memory",
            reason=words.reason(result, self.job),
            seconds=seconds,
            peak_bytes=self.host.peak_bytes(device),
        )
        self.attempts.append(attempt)
        if self.on_attempt is not None:
            self.on_attempt(self.attempts)
        return result

    def _device(self, at: Position) -> torch.device:
        return CPU if at.on_cpu else self.rungs.own_device

    def _vae_for(self, at: Position) -> Any:
        """The VAE itself, or a private one in a wider dtype or on the CPU; one private VAE lives at a time."""
        device = self._device(at)
        if at.dtype == self.vae.vae_dtype and not at.on_cpu:
            return self.vae
        if self._wide is None or self._wide[:2] != (at.dtype, device):
            self.close()
            self._wide = (at.dtype, device, self.host.widened(self.vae, at.dtype, device))
        return self._wide[2]

    def _bar(self, at: Position) -> Callable[[int], None] | None:
        """A progress bar for video tiles; for image tiles the host draws its own."""
        tile = at.space.tile
        if tile is None or self.job.kind.dims == 2:
            return None
        frames = self.job.frames
        height, width = self.job.latent_shape[-2:]
        steps = 1
        for length, side, overlap in (
            (frames, tile.frames or frames, tile.frame_overlap or 1),
            (height, tile.side, tile.overlap),
            (width, tile.side, tile.overlap),
        ):
            steps *= len(range(0, length - overlap, side - overlap)) if length > side else 1
        return self.host.progress_bar(steps)

    # ---- before the CPU ----

    def _rescue(self) -> None:
        if self.saved is None:
            self.saved = self.job.rescue(self.host)

    def _prepare_cpu(self, at: Position) -> None:
        """The CPU may take hours: a costly input goes to disk first, and for a video the time is estimated."""
        self._rescue()
        corner = self.job.corner()
        if corner is None:
            return
        rung = Rung(self._vae_for(at), corner, Space(), self.host.check_interrupt, tolerated=frozenset({0}))
        started = time.perf_counter()
        run(rung, [0], Progress())
        seconds = time.perf_counter() - started
        share = len(self.pending) * self.job.area / corner.area
        text = f"{self.job.words.going_on} on the CPU takes about {duration(seconds * share)}"
        self.notices.append(text)
        saved = f" The latent is saved as {self.saved}." if self.saved else ""
        self.host.log(f"Headroom: {text}; it can be interrupted.{saved}")

    # ---- the end ----

    def _out(self) -> torch.Tensor:
        if self.progress.whole is not None:
            return self.progress.whole
        ordered = [self.progress.done[item] for item in range(self.job.items)]
        return ordered[0] if len(ordered) == 1 else torch.cat(ordered)

    def learn(self, memory: LadderMemory) -> None:
        """Keeps what worked after something else did not."""
        assert self.last is not None
        lesson, at = memory.get(self.vae), self.last
        in_fp16 = {attempt.outcome for attempt in self.attempts if attempt.dtype == "fp16"}
        if in_fp16 & {"finished", "not finite"}:
            memory.finite_fp16 = "not finite" not in in_fp16
        outcomes = {attempt.outcome for attempt in self.attempts}
        if "not finite" in outcomes and at.dtype != self.vae.vae_dtype and not at.on_cpu:
            lesson = replace(lesson, dtype=at.dtype, from_dtype=self.vae.vae_dtype)
        tiled = at.space.tile is not None or at.space.own_tiles
        if "out of memory" in outcomes and tiled and not at.on_cpu:
            lesson = replace(lesson, space=at.space, area=self.job.area, free_bytes=self.free_at_failure)
        if lesson != Lesson():
            memory.put(self.vae, lesson)

    def close(self) -> None:
        """Gives the private VAE back to the host."""
        if self._wide is not None:
            self.host.release(self._wide[2])
            self._wide = None
