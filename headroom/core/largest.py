"""The largest run that fits a card: more frames at the same size, or a larger picture with the same frames."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from .budget import Stage, budget
from .link import ASSUMED, Link
from .needs import Models, Run, stages
from .offload import Role

#: Makes the stages of a run for a room; ``needs.stages``, or what a loader makes of them.
StagesOf = Callable[[Models, Run, int], Sequence[tuple[Role, Stage]]]

#: Sides of pictures are multiples of this in every family.
SIDE = 16
MOST_SIDE = 8192
MOST_FRAMES = 2000
FITS = ("resident", "streams")


@dataclass(frozen=True)
class Largest:
    """The largest runs; None where not even the smallest fits, or nothing is known."""

    frames: int | None
    """Frames at the size asked for; None for models of single pictures too."""
    size: tuple[int, int] | None
    """Width and height with the frames asked for, in the shape asked for."""


def fits(models: Models, run: Run, room_bytes: int, link: Link = ASSUMED, stages_of: StagesOf = stages) -> bool:
    """Whether every stage of a run surely fits, streamed and in tiles where that is needed."""
    return all(budget(stage, room_bytes, link).verdict in FITS for _, stage in stages_of(models, run, room_bytes))


def largest(models: Models, run: Run, room_bytes: int, stages_of: StagesOf = stages) -> Largest:
    """The largest frame count and the largest size that fit; neither for sound, which has no sides."""
    latent = models.diffusion[0].identity.latent if models.diffusion else None
    if latent is None or latent.dims == 1:
        return Largest(None, None)
    step = max(1, int(latent.temporal))

    def with_frames(count: int) -> Run:
        return replace(run, frames=(count - 1) * step + 1)

    def with_side(count: int) -> Run:
        return replace(run, **_scaled(run, count))

    def fitting(made: Callable[[int], Run], limit: int) -> int:
        return _most(lambda count: fits(models, made(count), room_bytes, stages_of=stages_of), limit)

    frames = None
    if latent.dims == 3 and latent.temporal > 1 and run.frames > 1:
        count = fitting(with_frames, MOST_FRAMES // step)
        frames = with_frames(count).frames if count else None
    count = fitting(with_side, MOST_SIDE // SIDE)
    size = (with_side(count).width, with_side(count).height) if count else None
    return Largest(frames, size)


def _scaled(run: Run, count: int) -> dict[str, int]:
    """Sides in the run's shape, the longer one ``count`` times SIDE."""
    longer = max(run.width, run.height)

    def side(length: int) -> int:
        return max(SIDE, round(length * count / longer) * SIDE)

    return {"width": side(run.width), "height": side(run.height)}


def _most(test: Callable[[int], bool], limit: int) -> int:
    """The largest number up to ``limit`` that passes, 0 where 1 does not; needs grow with the number."""
    low, high = 0, limit
    while low < high:
        middle = (low + high + 1) // 2
        if test(middle):
            low = middle
        else:
            high = middle - 1
    return low
