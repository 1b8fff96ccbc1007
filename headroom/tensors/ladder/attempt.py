"""One rung: do some items on a private copy of the VAE object, and say which came out sound.

Only the object is copied (as the host's SelectVAEDevice does), never the weights, and only the copy is changed. What is
changed there: the module is watched; the host's silent retry in tiles, which hides an out-of-memory error, is turned
into an exception; the output is judged before anything can hide a bad value (a decode's clamp to 0..1 turns Inf into
white); and the memory that the host is told to make free is that of the tile, not of the whole frame.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

from ...core.tiles import Tile
from ..finite import bad_indices, is_finite
from ..oom import is_out_of_memory
from .job import Job
from .watch import AllTilesBad, OutOfMemory, TileGrid, WatchedModule, WatchedTiles


class HiddenRetry(Exception):
    """The host ran out of memory and was about to retry in tiles by itself."""


@dataclass(frozen=True)
class Space:
    """How much is done at once: whole frames (one by one or in the host's batches), or tiles."""

    tile: Tile | None = None
    own_tiles: bool = False
    one_by_one: bool = False


@dataclass
class Progress:
    """What is done so far; survives a failed rung."""

    done: dict[int, torch.Tensor] = field(default_factory=dict)
    """Batch index -> what came out for it, [1, ...], finished."""
    grids: dict[int, TileGrid] = field(default_factory=dict)
    """Batch index -> tiles so far; only worth something for the tile size they were made with."""
    whole: torch.Tensor | None = None
    """All items in one piece, when one rung did them all."""


@dataclass(frozen=True)
class Result:
    """How a rung ended."""

    bad: tuple[int, ...] = ()
    """Batch indices that came out with NaN or Inf."""
    bad_tiles: tuple[int, int] | None = None
    """Bad tiles and all tiles, where tiles were judged one by one."""
    what: str = "NaN"
    """ "NaN" or "Inf": what the bad ones hold."""
    oom_text: str | None = None
    """The out-of-memory error's text; None when memory sufficed."""


@dataclass(frozen=True)
class Rung:
    """Everything that one attempt needs."""

    vae: Any
    """The VAE that came in, or a private one in a wider precision or on the CPU."""
    job: Job
    space: Space
    check_interrupt: Callable[[], None]
    on_tile: Callable[[int], None] | None = None
    tolerated: frozenset[int] = frozenset()
    """Items that are kept even if they come out non-finite: they were bad before and the user wants to see them."""


def run(rung: Rung, items: Sequence[int], progress: Progress) -> Result:
    """Does ``items`` and adds what is sound to ``progress``.

    No reference to the tensors of a failure is kept: the error leaves only its text (ComfyUI #9830).
    """
    if rung.space.tile is not None:
        return _run_tiles(rung, rung.space.tile, items, progress)
    groups = [[item] for item in items] if rung.space.one_by_one else [list(items)]
    bad: list[int] = []
    what = "Inf"
    for group in groups:
        result = _run_whole(rung, group, progress)
        if result.oom_text is not None:
            return result
        bad.extend(result.bad)
        what = result.what if result.bad else what
    return Result(bad=tuple(bad), what=what)


class Verdict:
    """Which items of a group are not finite; the host hands them over in chunks, in order."""

    def __init__(self) -> None:
        self.bad: set[int] = set()
        self.what = "Inf"
        self._seen = 0

    def judge(self, chunk: torch.Tensor) -> None:
        """Looks at the next chunk."""
        self._look(chunk, self._seen)
        self._seen += chunk.shape[0]

    def judge_result(self, whole: torch.Tensor) -> None:
        """Looks at all items once more, as they are handed back."""
        self._look(whole, 0)

    def _look(self, part: torch.Tensor, first: int) -> None:
        for index in bad_indices(part):
            self.bad.add(first + index)
            if bool(part[index].isnan().any()):
                self.what = "NaN"


def _private_copy(rung: Rung, watched: WatchedModule, tile: Tile | None) -> Any:
    """A shallow copy of the VAE whose module is watched; with ``tile`` it asks for that tile's memory only."""
    private = copy.copy(rung.vae)
    private.first_stage_model = watched
    need = rung.job.reserved(rung.vae.vae_dtype, tile) if tile is not None else None
    if need is not None:
        setattr(private, rung.job.formula, lambda _shape, _dtype: need)
    return private


def _out_of_memory(error: BaseException) -> str | None:
    """The text of an out-of-memory error, None for any other error.

    One outside the module (loading the weights, copying the input) comes as the host's retry, which keeps no text.
    """
    if isinstance(error, HiddenRetry):
        return "out of memory"
    return str(error) if isinstance(error, OutOfMemory) or is_out_of_memory(error) else None


def _run_whole(rung: Rung, group: list[int], progress: Progress) -> Result:
    """Whole frames, or a module's own tiles."""
    job, verdict = rung.job, Verdict()
    watched = WatchedModule(rung.vae.first_stage_model, rung.check_interrupt)
    private = _private_copy(rung, watched, None)
    job.watch(private, watched, verdict.judge)

    def refuse_retry(*_args: Any, **_kwargs: Any) -> torch.Tensor:
        raise HiddenRetry

    try:
        if rung.space.own_tiles:
            out = job.own_tiles(private, group)
        else:
            for method in job.retry_methods:
                setattr(private, method, refuse_retry)
            out = job.whole(private, group)
    except (HiddenRetry, OutOfMemory, RuntimeError, MemoryError) as error:
        text = _out_of_memory(error)
        if text is None:
            raise
        return Result(oom_text=text)
    if job.judges_result:
        verdict.judge_result(out)
    bad = {position for position in verdict.bad if group[position] not in rung.tolerated}
    _keep(progress, out, group, bad, len(group) == job.items)
    return Result(bad=tuple(group[position] for position in sorted(bad)), what=verdict.what)


def _keep(progress: Progress, out: torch.Tensor, group: list[int], bad: set[int], whole: bool) -> None:
    if whole and not bad:
        progress.whole = out
    for position, item in enumerate(group):
        if position not in bad:
            progress.done[item] = out[position : position + 1]


def _run_tiles(rung: Rung, tile: Tile, items: Sequence[int], progress: Progress) -> Result:
    """Tiles, one item at a time as the host does it; a bad tile is done again alone, in the next precision."""
    bad: list[int] = []
    bad_tiles = total = 0
    what = "Inf"
    for item in items:
        grid = progress.grids.setdefault(item, TileGrid())
        judged = item not in rung.tolerated
        watched = WatchedTiles(rung.vae.first_stage_model, rung.check_interrupt, grid, rung.on_tile, judged)
        done = None
        try:
            watched.finish(rung.job.tiled(_private_copy(rung, watched, tile), item, tile))
            total += grid.total
            bad_tiles += len(grid.bad)
            done = _finished(rung.job, grid, judged)
        except AllTilesBad:
            pass
        except (OutOfMemory, RuntimeError, MemoryError) as error:
            text = _out_of_memory(error)
            if text is None:
                raise
            progress.grids.clear()
            return Result(oom_text=text)
        if done is not None:
            progress.done[item] = done
            del progress.grids[item]
            continue
        bad.append(item)
        what = "NaN" if watched.saw_nan or _holds_nan(grid.blend) else what
        if not grid.bad:
            progress.grids[item] = TileGrid()  # No tile alone is to blame: all of them again.
    return Result(bad=tuple(bad), bad_tiles=(bad_tiles, total) if bad_tiles else None, what=what)


def _finished(job: Job, grid: TileGrid, judged: bool) -> torch.Tensor | None:
    """An item's blend after the VAE's last step; None where tiles are bad, or where it is although they are sound.

    That happens where a cast to fp16 comes after the module (--fp16-intermediates).
    """
    if grid.bad or grid.blend is None or (judged and not is_finite(grid.blend)):
        return None
    done = job.finished(grid.blend)
    return done if not (judged and job.judges_result) or is_finite(done) else None


def _holds_nan(blend: torch.Tensor | None) -> bool:
    return blend is not None and bool(blend.isnan().any())
