"""One rung: decode some items on a private copy of the VAE object, and say which came out sound.

Only the object is copied (as the host's SelectVAEDevice does), never the weights, and only the copy is changed. What is
changed there: the module is watched; the host's silent retry in tiles, which hides an out-of-memory error, is turned
into an exception; the output is judged before it is clamped to 0..1, which would turn Inf into white; and the memory
that the host is told to make free is that of the tile, not of the whole frame.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

from ...core.tiles import Tile
from ..finite import bad_indices
from ..oom import is_out_of_memory
from .kinds import VaeKind, reserved_by_host
from .watch import AllTilesBad, OutOfMemory, TileGrid, WatchedModule, WatchedTiles

_RETRY_METHODS = ("decode_tiled_", "decode_tiled_1d", "decode_tiled_3d", "_decode_tiled_owned")
"""What VAE.decode of comfy/sd.py 0.30.0 calls after it swallowed an out-of-memory error."""


class HiddenRetry(Exception):
    """The host ran out of memory and was about to retry in tiles by itself."""


@dataclass(frozen=True)
class Space:
    """How much is decoded at once: whole frames (one by one or in the host's batches), or tiles."""

    tile: Tile | None = None
    own_tiles: bool = False
    one_by_one: bool = False


@dataclass
class Progress:
    """What is decoded so far; survives a failed rung."""

    images: dict[int, torch.Tensor] = field(default_factory=dict)
    """Batch index -> image [1, H, W, C] or video [1, T, H, W, C], finished."""
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
    kind: VaeKind
    space: Space
    check_interrupt: Callable[[], None]
    on_tile: Callable[[int], None] | None = None
    tolerated: frozenset[int] = frozenset()
    """Items that are kept even if they come out non-finite: their latent was bad and the user wants to see it."""


def run(rung: Rung, samples: torch.Tensor, items: Sequence[int], progress: Progress) -> Result:
    """Decodes ``items`` of ``samples`` and adds what is sound to ``progress``.

    No reference to a failed decode's tensors is kept: the error leaves only its text (ComfyUI #9830).
    """
    if rung.space.tile is not None:
        return _run_tiles(rung, samples, items, progress)
    groups = [[item] for item in items] if rung.space.one_by_one else [list(items)]
    bad: list[int] = []
    what = "Inf"
    for group in groups:
        result = _decode_frames(rung, samples, group, progress)
        if result.oom_text is not None:
            return result
        bad.extend(result.bad)
        what = result.what if result.bad else what
    return Result(bad=tuple(bad), what=what)


class Verdict:
    """Which items of a group are not finite; the host hands them over in chunks, in order."""

    def __init__(self) -> None:
        self.bad: list[int] = []
        self.what = "Inf"
        self._seen = 0

    def judge(self, images: torch.Tensor) -> None:
        """Looks at the next chunk, before it is clamped."""
        for index in bad_indices(images):
            self.bad.append(self._seen + index)
            if bool(images[index].isnan().any()):
                self.what = "NaN"
        self._seen += images.shape[0]


def _private_copy(rung: Rung, watched: WatchedModule, shape: Sequence[int] | None) -> Any:
    """A shallow copy of the VAE whose module is watched; ``shape`` is that of a tile, if it decodes tiles."""
    private = copy.copy(rung.vae)
    private.first_stage_model = watched
    if shape is not None:
        need = reserved_by_host(rung.vae, shape, rung.vae.vae_dtype)
        if need is not None:
            private.memory_used_decode = lambda _shape, _dtype: need
    return private


def _out_of_memory(error: BaseException) -> str | None:
    """The text of an out-of-memory error, None for any other error.

    One outside the module (loading the weights, copying the latent) comes as the host's retry, which keeps no text.
    """
    if isinstance(error, HiddenRetry):
        return "out of memory"
    return str(error) if isinstance(error, OutOfMemory) or is_out_of_memory(error) else None


def _decode_frames(rung: Rung, samples: torch.Tensor, group: list[int], progress: Progress) -> Result:
    """Whole frames, or a module's own tiles; the finite check sees each batch chunk before the clamp."""
    watched = WatchedModule(rung.vae.first_stage_model, rung.check_interrupt)
    private = _private_copy(rung, watched, None)
    whole = len(group) == samples.shape[0]
    part = samples if whole else samples[group]
    finish = rung.vae.process_output
    verdict = Verdict()

    def judge_then_finish(images: torch.Tensor) -> torch.Tensor:
        verdict.judge(images)
        return finish(images)

    def refuse_retry(*_args: Any, **_kwargs: Any) -> torch.Tensor:
        raise HiddenRetry

    private.process_output = judge_then_finish
    try:
        if rung.space.own_tiles:
            out = private.decode_tiled(part)
        else:
            for method in _RETRY_METHODS:
                setattr(private, method, refuse_retry)
            out = private.decode(part)
    except (HiddenRetry, OutOfMemory, RuntimeError, MemoryError) as error:
        text = _out_of_memory(error)
        if text is None:
            raise
        return Result(oom_text=text)
    bad = {position for position in verdict.bad if group[position] not in rung.tolerated}
    _keep(progress, out, group, bad, whole)
    return Result(bad=tuple(group[position] for position in sorted(bad)), what=verdict.what)


def _keep(progress: Progress, out: torch.Tensor, group: list[int], bad: set[int], whole: bool) -> None:
    if whole and not bad:
        progress.whole = out
    for position, item in enumerate(group):
        if position not in bad:
            progress.images[item] = out[position : position + 1]


def _run_tiles(rung: Rung, samples: torch.Tensor, items: Sequence[int], progress: Progress) -> Result:
    """Tiles, one item at a time as the host does it; a bad tile is decoded again alone, in the next precision."""
    bad: list[int] = []
    bad_tiles = total = 0
    what = "Inf"
    for item in items:
        grid = progress.grids.setdefault(item, TileGrid())
        judged = item not in rung.tolerated
        watched = WatchedTiles(rung.vae.first_stage_model, rung.check_interrupt, grid, rung.on_tile, judged)
        try:
            _decode_grid(rung, samples[item : item + 1], watched)
        except AllTilesBad:
            progress.grids[item] = TileGrid()
            bad.append(item)
            what = "NaN" if watched.saw_nan else what
            continue
        except (OutOfMemory, RuntimeError, MemoryError) as error:
            text = _out_of_memory(error)
            if text is None:
                raise
            progress.grids.clear()
            return Result(oom_text=text)
        total += grid.total
        bad_tiles += len(grid.bad)
        if grid.bad:
            bad.append(item)
            what = "NaN" if watched.saw_nan else what
        else:
            progress.images[item] = _finished(rung.vae, grid)
            del progress.grids[item]
    return Result(bad=tuple(bad), bad_tiles=(bad_tiles, total) if bad_tiles else None, what=what)


def _decode_grid(rung: Rung, sample: torch.Tensor, watched: WatchedTiles) -> None:
    tile = rung.space.tile
    assert tile is not None
    side = (min(tile.side, sample.shape[-2]), min(tile.side, sample.shape[-1]))
    private = _private_copy(rung, watched, (1, sample.shape[1], *_frames(sample, tile), *side))
    private.process_output = lambda blend: blend
    arguments: dict[str, int] = {"tile_x": tile.side, "tile_y": tile.side, "overlap": tile.overlap}
    if tile.frames is not None:
        arguments |= {"tile_t": tile.frames, "overlap_t": tile.frame_overlap or 1}
    watched.finish(private.decode_tiled(sample, **arguments))


def _frames(sample: torch.Tensor, tile: Tile) -> tuple[int, ...]:
    if sample.ndim == 4:
        return ()
    return (min(tile.frames or sample.shape[2], sample.shape[2]),)


def _finished(vae: Any, grid: TileGrid) -> torch.Tensor:
    """The blend, brought to 0..1 by the VAE's own last step, which works with the channels second."""
    assert grid.blend is not None
    return vae.process_output(grid.blend.movedim(-1, 1)).movedim(1, -1)
