"""Walks the rungs until the image is there, sound and whole.

Out-of-memory asks for space: as it is; other models evicted and, in a batch, one item at a time; the largest tile that
fits; smaller tiles; the CPU in fp32. NaN and Inf ask for precision: the dtype the VAE has, the next wider one that the
device supports, fp32. Only what failed is decoded again.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import torch

from ...core.errors import DecodeFailed
from ...core.units import duration
from ..names import dtype_name
from . import words
from .attempt import Progress, Result, Rung, Space, run
from .kinds import VaeKind, fitted, frames_of, kind_of
from .memory import SESSION, DecodeMemory, Lesson
from .options import Attempt, Decoded, DecodeHost, Options, Outcome
from .rungs import CPU, Position, Rungs


def decode_safely(
    vae: Any,
    samples: torch.Tensor,
    host: DecodeHost,
    options: Options | None = None,
    *,
    tolerated: frozenset[int] = frozenset(),
    memory: DecodeMemory = SESSION,
    on_attempt: Callable[[Sequence[Attempt]], None] | None = None,
) -> Decoded:
    """Decodes a latent, whatever it takes.

    Args:
        vae: the host's VAE object; it leaves as it came.
        samples: [B, C, H, W] or [B, C, T, H, W], any float dtype.
        host: the running ComfyUI.
        options: what the user chose.
        tolerated: batch items whose latent is known to be bad and that are decoded all the same.
        memory: lessons of this session.
        on_attempt: called after each attempt with all attempts so far.

    Raises:
        UnknownLayout, LatentError, WrongVae, VaeWithoutWeights: the inputs cannot be decoded; nothing was tried.
        DecodeFailed: every rung failed; the text names the saved latent.
    """
    kind = kind_of(vae)
    latent, notices = fitted(samples, kind)
    rungs = Rungs(vae, kind, latent, host, options or Options(), memory)
    climb = _Climb(vae, kind, latent, host, rungs, tolerated, on_attempt)
    climb.original = samples
    try:
        decoded = climb.run()
    finally:
        climb.close()
    climb.learn(memory)
    decoded.notices = (*notices, *rungs.notices, *climb.notices)
    return decoded


class _Climb:
    """One walk: the attempts so far, what they gave, and what is still pending."""

    def __init__(
        self,
        vae: Any,
        kind: VaeKind,
        samples: torch.Tensor,
        host: DecodeHost,
        rungs: Rungs,
        tolerated: frozenset[int],
        on_attempt: Callable[[Sequence[Attempt]], None] | None,
    ) -> None:
        self.vae, self.kind, self.samples, self.host, self.rungs = vae, kind, samples, host, rungs
        self.tolerated, self.on_attempt = tolerated, on_attempt
        self.original = samples
        self.notices: list[str] = []
        self.attempts: list[Attempt] = []
        self.progress = Progress()
        self.pending = list(range(samples.shape[0]))
        self.saved: str | None = None
        self.approximate = False
        self.last: Position | None = None
        self.free_at_failure: int | None = None
        self._wide: tuple[torch.dtype, torch.device, Any] | None = None

    def run(self) -> Decoded:
        """Tries rung after rung until nothing is pending."""
        at = self.rungs.first()
        while True:
            self.host.check_interrupt()
            result = self._attempt(at)
            self.last = at
            if not self.pending:
                return Decoded(self._images(), self.attempts, (), self.approximate, self.saved)
            following = self._next(at, result)
            if following is None:
                self._save()
                text = words.failure(self.attempts, result, self.saved or "", at.on_cpu)
                raise DecodeFailed(text, self.attempts)
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
            self._save()  # The kernel kills a process that takes too much RAM, and then no exception comes.
        rung = Rung(self._vae_for(at), self.kind, at.space, self.host.check_interrupt, self._bar(at), self.tolerated)
        self.host.start_peak(device)
        started = time.perf_counter()
        result = run(rung, self.samples, items, self.progress)
        seconds = time.perf_counter() - started
        self.pending = [item for item in items if item not in self.progress.images]
        self.approximate = self.approximate or (at.space.tile is not None and len(self.pending) < len(items))
        outcome: Outcome = "finished" if not result.bad else "not finite"
        attempt = Attempt(
            how=words.how(at, self.kind, items, self.samples.shape[0]),
            dtype=dtype_name(at.dtype),
            device=str(device),
            items=items,
            outcome=outcome if result.oom_text is None else "out of memory",
            reason=words.reason(result, self.samples.shape[0]),
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
        if tile is None or self.kind.dims == 2:
            return None
        frames = frames_of(self.samples)
        steps = 1
        for length, side, overlap in (
            (frames, tile.frames or frames, tile.frame_overlap or 1),
            (self.samples.shape[-2], tile.side, tile.overlap),
            (self.samples.shape[-1], tile.side, tile.overlap),
        ):
            steps *= len(range(0, length - overlap, side - overlap)) if length > side else 1
        return self.host.progress_bar(steps)

    # ---- before the CPU ----

    def _save(self) -> None:
        if self.saved is None:
            self.saved = self.host.save_latent(self.original)

    def _prepare_cpu(self, at: Position) -> None:
        """The CPU may take hours: the latent goes to disk first, and for a video the time is estimated."""
        self._save()
        if frames_of(self.samples) == 1:
            return
        corner = self.samples[:1, :, :2, :8, :8]
        rung = Rung(self._vae_for(at), self.kind, Space(), self.host.check_interrupt, tolerated=frozenset({0}))
        started = time.perf_counter()
        run(rung, corner, [0], Progress())
        seconds = time.perf_counter() - started
        share = len(self.pending) * self.rungs.area / corner[0, 0].numel()
        text = f"Decoding on the CPU takes about {duration(seconds * share)}"
        self.notices.append(text)
        self.host.log(f"Headroom: {text}. The latent is saved as {self.saved}; it can be interrupted.")

    # ---- the end ----

    def _images(self) -> torch.Tensor:
        if self.progress.whole is not None:
            return self.progress.whole
        ordered = [self.progress.images[item] for item in range(self.samples.shape[0])]
        return ordered[0] if len(ordered) == 1 else torch.cat(ordered)

    def learn(self, memory: DecodeMemory) -> None:
        """Keeps what worked after something else did not."""
        assert self.last is not None
        lesson, at = memory.get(self.vae), self.last
        outcomes = {attempt.outcome for attempt in self.attempts}
        if "not finite" in outcomes and at.dtype != self.vae.vae_dtype and not at.on_cpu:
            lesson = replace(lesson, dtype=at.dtype, from_dtype=self.vae.vae_dtype)
        tiled = at.space.tile is not None or at.space.own_tiles
        if "out of memory" in outcomes and tiled and not at.on_cpu:
            lesson = replace(lesson, space=at.space, area=self.rungs.area, free_bytes=self.free_at_failure)
        if lesson != Lesson():
            memory.put(self.vae, lesson)

    def close(self) -> None:
        """Gives the private VAE back to the host."""
        if self._wide is not None:
            self.host.release(self._wide[2])
            self._wide = None
