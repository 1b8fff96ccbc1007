"""The ComfyUI folder that is looked at: found, and read as files. Nothing of it is imported or run."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path

from ...core.environment.readings import ComfyUI
from ...core.environment.requirements import Requirement, read_requirements
from ...core.errors import HeadroomError
from ..processes import is_comfyui

MOST_BYTES = 2**20
#: Where installers put ComfyUI's Python, from its folder.
ENVIRONMENTS = ("venv", ".venv", "env", "../venv", "../.venv", "../python_embeded", "../python_embedded")
#: The interpreter in an environment, on either system.
INTERPRETERS = ("bin/python", "Scripts/python.exe", "python.exe")


def find(given: str | None) -> tuple[Path, str] | None:
    """The folder and how it was found: the given one, else the one around this pack.

    Raises:
        HeadroomError: the given one is no ComfyUI.
    """
    if given is not None:
        for folder in (Path(given), Path(given, "ComfyUI")):
            if is_comfyui(folder):
                return folder.absolute(), "--comfyui"
        raise HeadroomError(f"There is no ComfyUI in {given}: name the folder that main.py lies in.")
    around = next((folder for folder in _above() if is_comfyui(folder)), None)
    return None if around is None else (around, "around this pack")


def read(folder: Path, origin: str) -> ComfyUI:
    """What its files say."""
    pythons = [found for name in ENVIRONMENTS if (found := _interpreter(folder, name)) is not None]
    return ComfyUI(
        folder=folder.resolve().name,
        version=version_of(folder),
        origin=origin,
        requirements=_requirements(folder),
        pythons=tuple(name for name, _ in pythons),
        own_python=any(_is_this(environment) for _, environment in pythons) if pythons else None,
        pack=Path(__file__).absolute().parents[3].name,
    )


def version_of(folder: Path) -> str | None:
    """The version that a ComfyUI folder states."""
    found = re.search(r"__version__\s*=\s*[\"']([^\"']+)", _text(folder / "comfyui_version.py"))
    return None if found is None else found[1]


def _above() -> Iterator[Path]:
    """Folders with a ``custom_nodes`` around this pack; it can be linked into one, so the shell's word counts too."""
    here = Path(__file__).absolute()
    shell = os.environ.get("PWD", "")
    for start in (Path(shell) if shell else here, Path.cwd(), here, here.resolve()):
        yield from (folder.parent for folder in (start, *start.parents) if folder.name == "custom_nodes")


def _interpreter(folder: Path, name: str) -> tuple[str, Path] | None:
    for interpreter in INTERPRETERS:
        if (folder / name / interpreter).is_file():
            return f"{name}/{interpreter}", folder / name
    return None


def _is_this(environment: Path) -> bool:
    """This process runs in that environment."""
    try:
        return environment.resolve() == Path(sys.prefix).resolve()
    except OSError:
        return False


def _requirements(folder: Path) -> tuple[Requirement, ...] | None:
    text = _text(folder / "requirements.txt")
    return tuple(read_requirements(text)) if text else None


def _text(file: Path) -> str:
    try:
        with file.open("rb") as opened:
            return opened.read(MOST_BYTES).decode("utf-8-sig", "replace")
    except OSError:
        return ""
