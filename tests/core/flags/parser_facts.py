"""Reads what a ComfyUI's own parser knows, as plain facts; run as a program, so that nothing of the host is imported.

    python parser_facts.py facts COMFYUI/comfy/cli_args.py VERSION > tests/data/flags/VERSION.json
    python parser_facts.py try COMFYUI/comfy/cli_args.py < lines of JSON, one argv each
    python parser_facts.py parse COMFYUI/comfy/cli_args.py < the same

``facts`` lists flags, groups and defaults, no text of the host. ``try`` says for each argv whether the parser takes it,
``parse`` what it makes of it.
"""

from __future__ import annotations

import argparse
import contextlib
import enum
import importlib.util
import io
import json
import sys
import types
from pathlib import Path
from typing import Any


def load(path: Path, argv: list[str] | None = None) -> types.ModuleType:
    """comfy/cli_args.py with a stub of ``comfy.options``, so that nothing else of the host is needed."""
    package, options = types.ModuleType("comfy"), types.ModuleType("comfy.options")
    options.__dict__["args_parsing"] = argv is not None
    package.__dict__["options"] = options
    sys.modules.update({"comfy": package, "comfy.options": options})
    sys.argv = ["main.py", *(argv or [])]
    spec = importlib.util.spec_from_file_location("comfy_cli_args", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def plain(value: Any) -> Any:
    """A default as JSON; what depends on the machine (paths) is left out."""
    if isinstance(value, enum.Enum):
        return value.value
    if isinstance(value, str) and value.startswith("sqlite:"):
        return "(a file of its own)"
    return value


def kind(action: argparse.Action) -> str:
    """What a value of the flag must be."""
    if action.nargs == 0:
        return "switch"
    wanted = getattr(action.type, "__name__", "str")
    return {"is_valid_directory": "directory", "PerformanceFeature": "str"}.get(wanted, wanted)


def choices(action: argparse.Action) -> list[str]:
    """The values that the flag takes, where they are few."""
    if isinstance(action.type, type) and issubclass(action.type, enum.Enum):
        return [member.value for member in action.type]
    return [str(choice) for choice in action.choices or ()]


def fact(action: argparse.Action) -> dict[str, Any]:
    """One flag."""
    return {
        "flag": action.option_strings[-1],
        "dest": action.dest,
        "kind": kind(action),
        "nargs": action.nargs if isinstance(action.nargs, str) else "",
        "choices": choices(action),
        "default": plain(action.default),
        "const": plain(action.const) if action.nargs == "?" else None,
        "action": type(action).__name__.strip("_"),
    }


def facts(path: Path, version: str) -> dict[str, Any]:
    """Everything that is compared."""
    parser = load(path).__dict__["parser"]
    actions = [action for action in parser._actions if action.dest != "help"]
    groups = [[a.option_strings[-1] for a in group._group_actions] for group in parser._mutually_exclusive_groups]
    return {"version": version, "flags": [fact(action) for action in actions], "groups": groups}


def verdict(path: Path, argv: list[str]) -> bool:
    """Whether this ComfyUI would start with these arguments, as far as its parser decides."""
    with contextlib.redirect_stderr(io.StringIO()), contextlib.redirect_stdout(io.StringIO()):
        try:
            load(path, argv)
        except SystemExit as error:
            return error.code in {0, None}
    return True


def parsed(path: Path, argv: list[str]) -> dict[str, Any] | None:
    """What the parser makes of the arguments, without what is at its default; None where it refuses them."""
    with contextlib.redirect_stderr(io.StringIO()), contextlib.redirect_stdout(io.StringIO()):
        try:
            module = load(path, argv)
        except SystemExit:
            return None
    args, parser = module.__dict__["args"], module.__dict__["parser"]
    changed = {key: value for key, value in vars(args).items() if value != parser.get_default(key)}
    return {
        key: sorted(map(plain, value)) if isinstance(value, set) else plain(value) for key, value in changed.items()
    }


def as_text(found: dict[str, Any]) -> str:
    """One flag per line, so that a change of the host is one line of difference."""
    flags = ",\n  ".join(json.dumps(flag) for flag in found["flags"])
    groups = ",\n  ".join(json.dumps(group) for group in found["groups"])
    return f'{{"version": {json.dumps(found["version"])},\n "flags": [\n  {flags}],\n "groups": [\n  {groups}]}}\n'


def main() -> None:
    """The two commands."""
    command, path = sys.argv[1], Path(sys.argv[2])
    if command == "facts":
        sys.stdout.write(as_text(facts(path, sys.argv[3])))
    else:
        ask = {"try": verdict, "parse": parsed}[command]
        sys.stdout.write(json.dumps([ask(path, json.loads(line)) for line in sys.stdin]) + "\n")


if __name__ == "__main__":
    main()
