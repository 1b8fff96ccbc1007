"""``headroom inspect``: what model files are and what is wrong with them, from their headers alone."""

from __future__ import annotations

import argparse
import glob
import os

from ..core.component import Component, component
from ..core.errors import HeadroomError, ModelFileError
from ..core.headers.folder import CONFIG, PIPELINE
from ..core.headers.shards import INDEX
from ..core.siblings import MOST_FILES, model_files
from .examples import Examples, component_named
from .inspect_json import as_json
from .inspect_print import as_lines, as_table
from .output import complain, say, say_json

_DESCRIPTION = """
Says what each file is: family, formats, parameters, blocks, and every fault by name. Only headers are read. A folder of
models is listed as one table; a diffusers folder is one model. Exit status: 0 fine (an unknown model too), 1 a file has
a fault, 2 a file cannot be read.
"""


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Adds ``inspect``."""
    parser = commands.add_parser("inspect", help="say what model files are", description=_DESCRIPTION)
    parser.add_argument("files", metavar="FILE", nargs="+", help="a model file, a shard, a folder or an example")
    parser.add_argument("--examples", action=Examples)
    parser.add_argument("-r", "--recursive", action="store_true", help="in folders, the folders below too")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Reads every file and prints what it is."""
    single: list[tuple[str, Component]] = []
    listed: list[tuple[str, Component]] = []
    unreadable = False
    for path in _expanded(args.files):
        try:
            if os.path.isdir(path) and not is_one_model(path):
                found, failed = _in_folder(path, args.recursive)
                listed += found
                unreadable |= failed
            else:
                single.append((path, component_named(path)))
        except HeadroomError as error:
            complain(str(error))
            unreadable = True
    if args.json:
        say_json({"files": [{"path": path, **as_json(one)} for path, one in [*single, *listed]]})
    else:
        _print(single, listed)
    broken = any(one.broken or one.identity.status == "broken" for _, one in [*single, *listed])
    return 2 if unreadable else 1 if broken else 0


def _print(single: list[tuple[str, Component]], listed: list[tuple[str, Component]]) -> None:
    for number, (_, one) in enumerate(single):
        if number:
            say()
        for line in as_lines(one):
            say(line)
    if listed:
        if single:
            say()
        for line in as_table(listed):
            say(line)


def _expanded(arguments: list[str]) -> list[str]:
    """The paths; patterns too, which the shell of Windows leaves to the program."""
    found: list[str] = []
    for argument in arguments:
        pattern = glob.has_magic(argument) and not os.path.exists(argument)
        found += (sorted(glob.glob(argument)) or [argument]) if pattern else [argument]
    return found


def is_one_model(folder: str) -> bool:
    """Whether a folder is one model: a diffusers folder, or shards with their index."""
    try:
        names = os.listdir(folder)
    except OSError:
        return False
    return any(name in (PIPELINE, CONFIG) or INDEX.fullmatch(name) for name in names)


def _in_folder(folder: str, recursive: bool) -> tuple[list[tuple[str, Component]], bool]:
    """Every model file in a folder, by its path from there, and whether one could not be read.

    Raises:
        ModelFileError: the folder cannot be read, or has no model file.
    """
    paths = model_files(folder, recursive)
    if not paths:
        hint = "" if recursive else " With --recursive the folders below are searched too."
        raise ModelFileError(f"{os.path.basename(os.path.abspath(folder))} holds no model file.{hint}")
    if len(paths) == MOST_FILES:
        complain(f"only the first {MOST_FILES:,} files are listed")
    found, failed = [], False
    for path in paths:
        try:
            found.append((os.path.relpath(path, folder), component(path)))
        except ModelFileError as error:
            complain(str(error))
            failed = True
    return found, failed
