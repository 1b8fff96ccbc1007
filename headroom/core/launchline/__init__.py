"""The start line as text, before ComfyUI runs: found in a line or a file, checked, changed in place."""

from .check import check
from .judge import all_changed, findings
from .line import LaunchLine, LaunchLineError
from .reading import decode, read_line
from .stated import Machine, snapshot_of

__all__ = [
    "LaunchLine",
    "LaunchLineError",
    "Machine",
    "all_changed",
    "check",
    "decode",
    "findings",
    "read_line",
    "snapshot_of",
]
