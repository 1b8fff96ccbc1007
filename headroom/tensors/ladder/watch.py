"""Stands between the host and the VAE's module and sees every raw output.

It wraps the module only on our private copy of the VAE object. A module that streams returns None and fills
``output_buffer``; a module that tiles by itself is seen as a whole.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from ..finite import is_finite
from ..oom import is_out_of_memory

GIVE_UP_AFTER = 3
"""Bad tiles without a sound one before them: then the whole grid is bad, and going on would only cost time."""


class AllTilesBad(Exception):
    """The first tiles all came out non-finite; the rest of the grid is not worth doing in this precision."""


class OutOfMemory(Exception):
    """The module ran out of memory. Not an error that the host takes for one, so it does not retry in tiles."""


class WatchedModule:
    """The VAE's module, with the interrupt checked before each call and out-of-memory made known to us alone."""

    def __init__(self, module: Any, check_interrupt: Callable[[], None]) -> None:
        self._module = module
        self._check_interrupt = check_interrupt
        self.on_output: Callable[[torch.Tensor], None] | None = None
        """Called with what the module returns, where it returns anything."""

    def __getattr__(self, name: str) -> Any:
        return getattr(self._module, name)

    def decode(self, samples: torch.Tensor, *args: Any, **kwargs: Any) -> Any:
        """The module's decode."""
        return self._called(self._module.decode, samples, *args, **kwargs)

    def encode(self, pixels: torch.Tensor, *args: Any, **kwargs: Any) -> Any:
        """The module's encode."""
        return self._called(self._module.encode, pixels, *args, **kwargs)

    def decode_tiled(self, samples: torch.Tensor, *args: Any, **kwargs: Any) -> Any:
        """The tiled decode of a module that tiles by itself."""
        return self._called(self._module.decode_tiled, samples, *args, **kwargs)

    def encode_tiled(self, pixels: torch.Tensor, *args: Any, **kwargs: Any) -> Any:
        """The tiled encode of a module that tiles by itself."""
        return self._called(self._module.encode_tiled, pixels, *args, **kwargs)

    def _called(self, call: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        self._check_interrupt()
        try:
            out = call(*args, **kwargs)
        except (RuntimeError, MemoryError) as error:
            if is_out_of_memory(error):
                raise OutOfMemory(str(error)) from None
            raise
        if self.on_output is not None and out is not None:
            self.on_output(out)
        return out


class TileGrid:
    """What is known of one item's tiles, across passes in rising precision.

    Blending is linear, so a pass that puts zeros for the tiles it does not do adds up with the others to the exact
    blend. The first pass does all tiles and puts zeros for the bad ones; the next does only those.
    """

    def __init__(self) -> None:
        self.shapes: dict[int, tuple[torch.Size, torch.dtype, torch.device]] = {}
        self.bad: set[int] = set()
        self.blend: torch.Tensor | None = None

    @property
    def total(self) -> int:
        """Tiles in the grid, as far as it was walked."""
        return len(self.shapes)


class WatchedTiles(WatchedModule):
    """The module during one pass over one item's grid."""

    def __init__(
        self,
        module: Any,
        check_interrupt: Callable[[], None],
        grid: TileGrid,
        on_tile: Callable[[int], None] | None = None,
        judged: bool = True,
    ) -> None:
        super().__init__(module, check_interrupt)
        self.saw_nan = False
        self._grid = grid
        self._judged = judged
        self._wanted = set(grid.bad) if grid.shapes else None
        self._on_tile = on_tile
        self._index = -1
        self._still_bad: set[int] = set()

    def _called(self, call: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """One tile: done if this pass wants it, zeros if not or if it comes out non-finite."""
        self._index += 1
        index = self._index
        if self._wanted is not None and index not in self._wanted:
            shape, dtype, device = self._grid.shapes[index]
            return torch.zeros(shape, dtype=dtype, device=device)
        out = super()._called(call, *args, **kwargs)
        self._grid.shapes[index] = (out.shape, out.dtype, out.device)
        if self._judged and not is_finite(out):
            self.saw_nan = self.saw_nan or bool(out.isnan().any())
            self._still_bad.add(index)
            if self._wanted is None and index + 1 == len(self._still_bad) == GIVE_UP_AFTER:
                raise AllTilesBad
            out = torch.zeros_like(out)
        if self._on_tile is not None:
            self._on_tile(index + 1)
        return out

    def finish(self, blend: torch.Tensor) -> None:
        """Adds this pass's blend to the grid and keeps which tiles are still bad."""
        self._grid.blend = blend if self._grid.blend is None else self._grid.blend.add_(blend)
        self._grid.bad = self._still_bad
