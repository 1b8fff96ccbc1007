"""The command line: one module per command, each with ``add_parser`` and ``run``.

To add a command: its module, and its name in ``COMMANDS``. Nothing here needs ComfyUI or torch. Exit status: 0 fine,
1 a finding, 2 bad input.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from typing import NoReturn, Protocol

from .. import __version__
from ..core.errors import HeadroomError
from . import doctor, flags, inspect, plan
from .output import complain, printable


class Command(Protocol):
    """What a module in ``COMMANDS`` has."""

    @property
    def add_parser(self) -> Callable[[argparse._SubParsersAction[argparse.ArgumentParser]], None]:
        """Adds the command's parser to those of the others and sets its ``run``."""
        ...

    @property
    def run(self) -> Callable[[argparse.Namespace], int]:
        """Does the work; the exit status."""
        ...


COMMANDS: tuple[Command, ...] = (flags, doctor, inspect, plan)


class Parser(argparse.ArgumentParser):
    """argparse repeats what was typed; here without what a terminal would obey."""

    def error(self, message: str) -> NoReturn:
        """Says what is wrong with the arguments, and ends with 2."""
        super().error(printable(message))


def _empty() -> argparse.ArgumentParser:
    return Parser(prog="headroom", description="Memory, launch flags and model files of ComfyUI.")


def make_parser() -> argparse.ArgumentParser:
    """The parser of all commands."""
    parser = _empty()
    parser.add_argument("--version", action="version", version=f"Headroom {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for command in COMMANDS:
        command.add_parser(commands)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command; the exit status."""
    parser = make_parser()
    args, unknown = parser.parse_known_args(argv)
    if unknown:
        parser.error(f"unrecognized arguments: {' '.join(unknown)}. {getattr(args, 'hint', '')}".rstrip(". "))
    try:
        return args.run(args)
    except HeadroomError as error:
        complain(str(error))
        return 2
    except BrokenPipeError:
        # The reader has seen enough (``| head``). What Python still has to write at its end goes nowhere.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
