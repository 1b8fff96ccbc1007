"""The model files in ComfyUI's folders by the names that its loaders offer, and what their headers say."""

from __future__ import annotations

import os
from functools import lru_cache
from typing import TYPE_CHECKING

from ..core.errors import ModelFileError
from ..core.preset_names import names as preset_names

if TYPE_CHECKING:
    # A node's schema asks for the names while ComfyUI starts: what reads headers is loaded when one is read.
    from ..core.component import Component

#: ComfyUI's folders by what the planning nodes ask for. ``unet_gguf`` and ``clip_gguf`` are those of ComfyUI-GGUF.
FOLDERS = {
    "diffusion": ("diffusion_models", "unet_gguf", "checkpoints"),
    "text encoder": ("text_encoders", "clip_gguf"),
    "vae": ("vae",),
}
#: What a file in these folders must be, where its header says what it is.
KINDS = {
    "diffusion": ("diffusion model", "checkpoint"),
    "text encoder": ("text encoder", "checkpoint"),
    "vae": ("vae", "checkpoint"),
}


def offered(kind: str) -> list[str]:
    """Names for a node's list: the user's files, then the presets."""
    files = dict.fromkeys(name for folder in FOLDERS[kind] for name in _names(folder))
    return [*files, *preset_names(kind)]


def found(kind: str, name: str) -> Component:
    """The model behind a name: a preset, or a file in ComfyUI's folders.

    Raises:
        ModelFileError: there is no such file, it is broken, or it is something else.
    """
    from ..core.presets import preset_component, preset_named

    preset = preset_named(name)
    if preset is not None:
        return preset_component(preset)
    path = _path(kind, name)
    if path is None:
        raise ModelFileError(f"There is no file {name} in ComfyUI's folders {', '.join(FOLDERS[kind])}.")
    state = os.stat(path)
    model = _read(path, state.st_size, state.st_mtime_ns)
    if model.broken:
        fault = next(fault for fault in model.faults if not fault.notice)
        raise ModelFileError(f"{name} is broken: {fault.text}")
    is_ = model.identity.kind
    if is_ != "unknown" and is_ not in KINDS[kind]:
        raise ModelFileError(f"{name} is a {is_} ({model.identity.name}), and a {KINDS[kind][0]} is wanted here.")
    if not model.formats:
        raise ModelFileError(f"{name} holds no tensor.")
    return model


def state_of(kind: str, name: str) -> str:
    """What changes when the file behind a name does: its size and time; the name alone for a preset."""
    path = _path(kind, name)
    if path is None:
        return name
    state = os.stat(path)
    return f"{name} {state.st_size} {state.st_mtime_ns}"


@lru_cache(maxsize=16)
def _read(path: str, _size: int, _mtime_ns: int) -> Component:
    """By path and state of the file: a header takes some milliseconds, a GGUF's up to 100."""
    from ..core.component import component

    return component(path)


def _names(folder: str) -> list[str]:
    import folder_paths

    return list(folder_paths.get_filename_list(folder)) if folder in folder_paths.folder_names_and_paths else []


def _path(kind: str, name: str) -> str | None:
    import folder_paths

    for folder in FOLDERS[kind]:
        # Only names that the folder lists: no path can be smuggled in (".." or an absolute one).
        if folder in folder_paths.folder_names_and_paths and name in folder_paths.get_filename_list(folder):
            path = folder_paths.get_full_path(folder, name)
            if path is not None:
                return path
    return None
