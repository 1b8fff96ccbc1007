"""Which rung comes first and which comes next, on the two axes: space and precision."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch

from ...core.tiles import Tile, candidates, largest_that_fits
from ...core.units import gib
from ..names import dtype_name
from .attempt import Space
from .job import Job
from .memory import LadderMemory
from .options import LadderHost, Options

CPU = torch.device("cpu")
_WIDENING = (torch.float16, torch.bfloat16, torch.float32)


FULL_FRAME = Space()


@dataclass(frozen=True)
class Position:
    """Where the ladder stands."""

    dtype: torch.dtype
    space: Space = FULL_FRAME
    evicted: bool = False
    on_cpu: bool = False
    """On the CPU as the last resort; a VAE whose own device is the CPU is not."""


class Rungs:
    """The order of the rungs for one job. ``notices`` says why the start is not the plain one."""

    def __init__(self, job: Job, host: LadderHost, options: Options, memory: LadderMemory) -> None:
        self._vae, self._job, self._host, self._options, self._memory = job.vae, job, host, options, memory
        self.notices: list[str] = []
        kind = job.kind
        self._tiles = candidates(
            *job.latent_shape[-2:],
            ratio=kind.ratio,
            dims=kind.dims,
            smallest_px=options.smallest_tile_px,
            frames=job.frames,
            cut_time=kind.dims == 3 and not kind.causal,
        )

    @property
    def own_device(self) -> torch.device:
        """The device that the host gave the VAE."""
        return torch.device(self._vae.device)

    # ---- the start ----

    def first(self) -> Position:
        """Where to start: by the user's choice, by what this session learned, by the estimate."""
        dtype = self._first_dtype()
        if self._options.start == "tiled":
            return Position(dtype, self.tiling(dtype, self.own_device) or FULL_FRAME)
        if self._options.start == "full frame":
            return Position(dtype)
        free = self._host.free_bytes(self.own_device)
        remembered = self._memory.space_for(self._vae, self._job.area, free)
        if remembered is not None and (remembered.own_tiles or remembered.tile in self._tiles):
            self.notices.append("Tiled from the start: the full frame did not fit earlier in this session")
            return Position(dtype, remembered)
        return Position(dtype, self._tiling_by_estimate(dtype, free) or FULL_FRAME)

    def _tiling_by_estimate(self, dtype: torch.dtype, free: int | None) -> Space | None:
        """Tiles at once, where the full frame cannot fit even with everything else evicted; None to try it.

        Where the driver spills silently no error would come, only minutes of crawling (ComfyUI #5737), so there the
        upper end of the range counts.
        """
        peak = self._job.peak(dtype)
        need = peak.high_bytes if self._host.spills_silently else peak.low_bytes
        if free is None or need is None:
            return None
        usable = free + self._host.evictable_bytes(self._vae)
        space = self.tiling(dtype, self.own_device) if need > usable else None
        if space is not None:
            self.notices.append(
                f"Tiled from the start: the full frame needs {gib(peak.low_bytes)} to {gib(peak.high_bytes)} GiB, "
                f"{gib(usable)} GiB can be had"
            )
        return space

    def _first_dtype(self) -> torch.dtype:
        own = self._vae.vae_dtype
        wanted = {"auto": own, "at least bf16": torch.bfloat16, "fp32": torch.float32}[self._options.precision]
        learned = self._memory.precision_for(self._vae)
        if learned is not None and self._options.precision == "auto":
            self.notices.append(
                f"Started in {dtype_name(learned)}: {dtype_name(own)} was not finite earlier in this session"
            )
            wanted = learned
        dtype = own
        while own in _WIDENING and _WIDENING.index(dtype) < _WIDENING.index(wanted):
            dtype = self._next_dtype(dtype) or torch.float32
        return dtype

    # ---- precision ----

    def more_precision(self, at: Position) -> Position | None:
        """The same again in the next wider dtype; None above fp32."""
        dtype = self._next_dtype(at.dtype)
        return None if dtype is None else replace(at, dtype=dtype)

    def _next_dtype(self, dtype: torch.dtype) -> torch.dtype | None:
        """The next wider dtype that the device and the VAE support (never bf16 on a card without it)."""
        if dtype not in _WIDENING:
            return None
        for wider in _WIDENING[_WIDENING.index(dtype) + 1 :]:
            usable = self._host.supports_bf16(self.own_device) and wider in getattr(
                self._vae, "working_dtypes", [wider]
            )
            if wider is not torch.bfloat16 or usable:
                return wider
        return None

    # ---- space ----

    def more_space(self, at: Position, pending: int) -> Position | None:
        """What needs less memory at once; None when nothing does. ``pending`` is the number of items left.

        A batch is done one item at a time before it is cut into tiles: that gives the same result, tiles do not.
        """
        whole = at.space.tile is None and not at.space.own_tiles
        single = replace(at.space, one_by_one=whole and pending > 1)
        device = CPU if at.on_cpu else self.own_device
        if device.type != "cpu" and not at.evicted:
            return replace(at, evicted=True, space=single)
        if single != at.space:
            return replace(at, space=single)
        smaller = self._smaller(at, device)
        if smaller is not None:
            return replace(at, space=smaller)
        return None if device.type == "cpu" else self._cpu(pending)

    def _smaller(self, at: Position, device: torch.device) -> Space | None:
        if self._job.kind.own_tiling:
            return None if at.space.own_tiles else Space(own_tiles=True)
        if at.space.tile is None:
            return self.tiling(at.dtype, device)
        following = self._tiles.index(at.space.tile) + 1
        return Space(tile=self._tiles[following]) if following < len(self._tiles) else None

    def tiling(self, dtype: torch.dtype, device: torch.device) -> Space | None:
        """The largest tile whose estimate fits into what the device has free; None if it is too small for one."""
        if self._job.kind.own_tiling:
            return Space(own_tiles=True)
        if not self._tiles:
            return None
        free = self._host.free_bytes(device)
        return Space(tile=self._tiles[largest_that_fits(self._tiles, lambda tile: self._tile_need(tile, dtype), free)])

    def _cpu(self, pending: int) -> Position | None:
        """The last rung: fp32 on the CPU, in tiles where RAM is short or the user asked for tiles."""
        rule = self._options.allow_cpu
        is_video = self._job.kind.dims == 3 and self._job.frames > 1
        if rule == "never" or (rule == "images only" and is_video):
            return None
        space: Space | None = Space(one_by_one=pending > 1)
        if self._options.start == "tiled" or self.ram_is_short(Position(torch.float32)):
            space = self.tiling(torch.float32, CPU) or space
        return Position(torch.float32, space, evicted=True, on_cpu=True)

    # ---- estimates ----

    def ram_is_short(self, at: Position) -> bool:
        """Whether the estimate for a rung on the CPU exceeds the RAM that is available."""
        available = self._host.free_bytes(CPU)
        need = self._tile_need(at.space.tile, at.dtype) if at.space.tile else self._job.peak(at.dtype).low_bytes
        return need is not None and available is not None and need > available

    def _tile_need(self, tile: Tile, dtype: torch.dtype) -> int | None:
        peak = self._job.peak(dtype, tile)
        return peak.high_bytes if peak.high_bytes is not None else peak.reserved_by_host_bytes
