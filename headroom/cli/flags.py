"""``headroom flags``: a start line of ComfyUI, checked before anything runs."""

from __future__ import annotations

import argparse
from pathlib import Path

from ..core.errors import HeadroomError
from ..core.flags.advice import Advice
from ..core.flags.flag_table import READ
from ..core.flags.versions import Table, parse_version, table_for
from ..core.launchline import LaunchLine, LaunchLineError, Machine, all_changed, decode, findings, read_line
from ..core.launchline.stated import assumptions
from ..core.needs import Run
from ..core.planned import loaded_in
from . import sizes
from .examples import Examples
from .findings import say_finding
from .output import say, say_json

SUFFIXES = {".bat", ".cmd", ".ps1", ".sh", ".bash", ".service", ".conf", ".command", ".yml", ".yaml"}
MOST_BYTES = 2**20
_DESCRIPTION = """
Says which flags ComfyUI refuses, ignores or contradicts, and what to write instead. Takes a command line in quotes
(also `docker run ...`), or a .bat, .ps1, .sh, systemd .service or docker compose file. With --vram, --ram and
--models also whether the flags suit the machine. Exit status: 0 fine, 1 a finding, 2 nothing to check.
"""

_HINT = 'Put the start line of ComfyUI in quotes: "python main.py --lowvram".'


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Adds ``flags``."""
    parser = commands.add_parser("flags", help="check a start line of ComfyUI", description=_DESCRIPTION)
    parser.add_argument(
        "line", metavar="LINE_OR_FILE", nargs="*", help='"python main.py --lowvram", or a file; - reads stdin'
    )
    parser.add_argument("--version", metavar="V", type=_version, help=f"ComfyUI's version (default: {READ[-1]})")
    parser.add_argument("--vram", "--card", metavar="SIZE", type=sizes.size, help="the card's memory: 12GiB")
    parser.add_argument("--ram", metavar="SIZE", type=sizes.size, help="the machine's memory: 32GiB")
    parser.add_argument("--gpu", metavar="NAME", help='the card\'s name: "GTX 1660", "RX 7900 XTX"')
    parser.add_argument(
        "--models",
        metavar="MODEL",
        nargs="+",
        type=sizes.model,
        default=[],
        help="what will be loaded: files (their headers are read), examples, or sizes with a kind or family before =: "
        "QwenImage=20GiB text-encoder=9GiB",
    )
    parser.add_argument("--size", metavar="WxH", type=sizes.pixels, help="of the pictures, for their part of memory")
    parser.add_argument("--frames", metavar="N", type=sizes.count, default=1)
    parser.add_argument("--examples", action=Examples)
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(run=run, hint=_HINT)


def _version(text: str) -> str:
    if parse_version(text) is None:
        raise argparse.ArgumentTypeError(f"{text!r} is no version: write {READ[-1]}")
    return text.lstrip("vV")


def run(args: argparse.Namespace) -> int:
    """Checks the line and prints what it found."""
    table = table_for(args.version)
    run_ = _run_of(args)
    machine = Machine(args.vram, args.ram, args.gpu, tuple(loaded_in(args.models, run_)), sized=run_ is not None)
    if not args.line:
        raise HeadroomError(f"There is nothing to check. {_HINT}")
    line = _read(" ".join(args.line))
    found = findings(line, table, machine)
    if args.json:
        say_json(_as_json(line, table, machine, found))
    else:
        _print(line, table, machine, found)
    return 1 if found else 0


def _run_of(args: argparse.Namespace) -> Run | None:
    return None if args.size is None else Run(*args.size, frames=args.frames)


def _read(argument: str) -> LaunchLine:
    """The line itself, or that of a file."""
    if argument == "-":
        import sys

        return read_line(decode(sys.stdin.buffer.read(MOST_BYTES)))
    path = Path(argument)
    named_like_a_file = path.suffix.lower() in SUFFIXES and "\n" not in argument
    try:
        if not path.is_file():
            if named_like_a_file and not argument.lstrip().startswith("-") and " --" not in argument:
                raise HeadroomError(f"There is no file {argument}.")
            return read_line(argument)
        with path.open("rb") as file:
            return read_line(decode(file.read(MOST_BYTES)), path.suffix)
    except OSError as error:
        if "\n" in argument or len(argument) > 200:
            return read_line(argument)  # too long for a file name
        raise LaunchLineError(f"{argument} cannot be read: {error.strerror}.") from error


def _as_json(line: LaunchLine, table: Table, machine: Machine, found: list[Advice]) -> dict[str, object]:
    return {
        "kind": line.kind,
        "version": table.version,
        "argv": line.argv,
        "memory_limit": line.memory_limit,
        "assumed": assumptions(line, table, machine),
        "findings": [advice.as_json() for advice in found],
        "fixed": all_changed(line, table, machine),
    }


def _print(line: LaunchLine, table: Table, machine: Machine, found: list[Advice]) -> None:
    say(f"ComfyUI {table.version} gets: {' '.join(line.argv) or '(no flag)'}")
    taken = assumptions(line, table, machine)
    if taken:
        say(f"Taken for granted: {'; '.join(taken)}.")
    if not found:
        say("Fine: nothing to say about this line.")
    for advice in found:
        say_finding(advice)
    # Each finding shows the line with its own change alone; with several this is the one to use.
    whole = all_changed(line, table, machine) if len(found) > 1 else ""
    if whole:
        say("\nAll of it changed:")
        say("\n".join(f"      {part}" for part in whole.splitlines()))
