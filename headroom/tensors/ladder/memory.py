"""What worked for a VAE, kept for the session: one black image teaches, one bad moment does not degrade."""

from __future__ import annotations

import weakref
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import torch

from .attempt import Space


@dataclass(frozen=True)
class Lesson:
    """What was learned about one VAE."""

    dtype: torch.dtype | None = None
    """The precision that gave a sound result after a narrower one did not."""
    from_dtype: torch.dtype | None = None
    space: Space | None = None
    """The tiling that fitted after more did not."""
    area: int = 0
    """Latent elements (frames included) of what did not fit."""
    free_bytes: int | None = None
    """Free memory at that failure."""


class LadderMemory:
    """Lessons by VAE: by its file where known, else by its module for as long as that lives.

    Decode and encode have one each: an encoder can be sound in a precision in which its decoder is not.
    """

    def __init__(self) -> None:
        self._by_file: dict[Hashable, Lesson] = {}
        self._by_module: weakref.WeakKeyDictionary[Any, Lesson] = weakref.WeakKeyDictionary()
        self.finite_fp16 = False
        """The last time that a VAE in fp16 was tried to the end, all of it was finite."""

    def get(self, vae: Any) -> Lesson:
        """The lesson about this VAE; an empty one if there is none."""
        key = file_of(vae)
        if key is not None:
            return self._by_file.get(key, Lesson())
        return self._by_module.get(vae.first_stage_model, Lesson())

    def put(self, vae: Any, lesson: Lesson) -> None:
        """Keeps a lesson."""
        key = file_of(vae)
        if key is not None:
            self._by_file[key] = lesson
        else:
            self._by_module[vae.first_stage_model] = lesson

    def precision_for(self, vae: Any) -> torch.dtype | None:
        """The precision to start in, None for the VAE's own; only while it is still loaded in the one that failed."""
        lesson = self.get(vae)
        return lesson.dtype if lesson.from_dtype == vae.vae_dtype else None

    def space_for(self, vae: Any, area: int, free_bytes: int | None) -> Space | None:
        """The tiling to start with; None once there is more memory than at the failure, or less to do."""
        lesson = self.get(vae)
        if lesson.space is None or area < lesson.area:
            return None
        if free_bytes is None or lesson.free_bytes is None or free_bytes > lesson.free_bytes:
            return None
        return lesson.space


def file_of(vae: Any) -> Hashable | None:
    """The file a VAE was loaded from (cached_patcher_init of its patcher), None where the loader did not say."""
    init = getattr(getattr(vae, "patcher", None), "cached_patcher_init", None)
    try:
        path = init[1][0] if init is not None else None
    except (TypeError, IndexError):
        return None
    return path if isinstance(path, str) else None
