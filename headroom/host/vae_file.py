"""What the header of a VAE's file tells: the host itself only logs the keys that are missing."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from typing import Any

_PREFIXES = ("first_stage_model.", "vae.")
"""What stands before a VAE's own keys in a checkpoint."""
_DECODER = ("decoder.", "blocks.")
"""How the keys of a decoder begin; "blocks." in a file of Mochi's decoder alone (comfy/sd.py 0.30.0)."""


def has_no_encoder(vae: Any) -> bool:
    """Whether the VAE was loaded from a safetensors file that holds a decoder and no encoder.

    The encoder's weights are then whatever lay in memory. False where the loader did not keep the file's name (TAESD
    pairs), where the file is of another kind, and where it cannot be read.
    """
    init = getattr(getattr(vae, "patcher", None), "cached_patcher_init", None)
    try:
        path = Path(init[1][0]) if init is not None else None
        if path is None or path.suffix.lower() not in (".safetensors", ".sft"):
            return False
        stat = path.stat()
        return _holds_decoder_alone(path, stat.st_mtime_ns, stat.st_size)
    except Exception:
        logging.debug("Headroom: the VAE's file could not be looked at", exc_info=True)
        return False


@lru_cache(maxsize=16)
def _holds_decoder_alone(path: Path, _mtime_ns: int, _size: int) -> bool:
    """By path and state of the file, since the header of a checkpoint takes some milliseconds."""
    import safetensors

    with safetensors.safe_open(path, framework="pt", device="cpu") as file:
        return decoder_alone(file.keys())


def decoder_alone(keys: Iterable[str]) -> bool:
    """Whether a file with these keys holds a VAE's decoder and nothing of an encoder."""
    inside = set()
    plain = []
    for key in keys:
        prefix = next((prefix for prefix in _PREFIXES if key.startswith(prefix)), None)
        if prefix is None:
            plain.append(key)
        else:
            inside.add(key.removeprefix(prefix))
    # In a checkpoint the other keys are those of other models.
    own = inside or plain
    return any(key.startswith(_DECODER) for key in own) and not any("encoder" in key for key in own)
