"""What is said about a start line, by id; the words are filled from parameters as those of the rules are."""

from __future__ import annotations

from dataclasses import dataclass

from ..flags.advice import Severity


@dataclass(frozen=True)
class Text:
    """One kind of finding."""

    severity: Severity
    rank: int
    title: str
    why: str
    fix: str
    check: str = "ComfyUI starts."
    source: str = "comfy/cli_args.py; run with the real parser"


_REFUSED = "ComfyUI's parser refuses it, so ComfyUI does not start at all."

TEXTS = {
    "unknown-flag": Text("problem", 1, "{word} is no flag of {comfyui}", _REFUSED, "Leave it out."),
    "unknown-flag-near": Text(
        "problem", 1, "{word} is no flag of {comfyui}; the nearest is {near}", _REFUSED, "Write {near}."
    ),
    "unknown-flag-resident": Text(
        "problem",
        1,
        "{word} is no flag of {comfyui}; the nearest is {near}",
        _REFUSED + " {near} itself switches dynamic VRAM off, and a model larger than the card then fails.",
        "Leave it out.",
        source="ComfyUI #14340; comfy/cli_args.py",
    ),
    "unknown-flag-idle": Text(
        "problem",
        1,
        "{word} is no flag of {comfyui}; the nearest is {near}",
        _REFUSED + " {near} itself does nothing while dynamic VRAM is on.",
        "Leave it out.",
        source="ComfyUI PR#13922; comfy/cli_args.py",
    ),
    "removed-flag": Text(
        "problem",
        2,
        "{flag} is gone: the last version read that has it is {until}",
        _REFUSED + " What it asked for is what ComfyUI does by itself now.",
        "Leave it out.",
        source="ComfyUI PR#13922; comfy/cli_args.py",
    ),
    "later-flag": Text(
        "problem",
        2,
        "{flag} is not in {comfyui}: the first version read that has it is {since}",
        _REFUSED,
        "Leave it out, or update ComfyUI.",
    ),
    "a1111-flag": Text(
        "problem",
        3,
        "{flag} is a flag of AUTOMATIC1111 or Forge, not of ComfyUI",
        _REFUSED + " There is none in its place, and mostly none is needed.",
        "Leave it out.",
        source="modules/cmd_args.py of AUTOMATIC1111, backend/args.py of Forge",
    ),
    "a1111-flag-own": Text(
        "problem",
        3,
        "{flag} is a flag of AUTOMATIC1111 or Forge; ComfyUI calls it {own}",
        _REFUSED,
        "Write {own}.",
        source="modules/cmd_args.py of AUTOMATIC1111, backend/args.py of Forge",
    ),
    "refused-group": Text(
        "problem",
        4,
        "{flag} beside {other} is refused",
        "The two exclude each other, and the last one does not win: ComfyUI does not start at all.",
        "Leave out one of them, here {flag}.",
    ),
    "refused-group-both": Text(
        "problem",
        4,
        "{flag} beside {other} is refused",
        "The two exclude each other, and the last one does not win. With dynamic VRAM {flag} does nothing; {other} "
        "switches it off, and a model larger than the card then fails.",
        "Leave out both.",
        source="ComfyUI #14340, PR#13922; comfy/cli_args.py; run with the real parser",
    ),
    "ambiguous-flag": Text(
        "problem",
        5,
        "{word} can mean {others}",
        "A short form must fit one flag only. " + _REFUSED,
        "Write it in full.",
    ),
    "no-value": Text(
        "problem", 6, "{flag} stands without its value", _REFUSED, "Add the value, or leave the flag out."
    ),
    "bad-value": Text("problem", 6, "{flag} does not take {word}", _REFUSED, "Write {wanted}."),
    "takes-no-value": Text(
        "problem", 6, "{flag} takes no value, and {word} was given", _REFUSED, "Leave the value out."
    ),
    "too-many": Text("problem", 6, "{flag} takes two values at most", _REFUSED, "Leave out all but two."),
    "long-dash": Text(
        "problem",
        1,
        "{word} begins with a long dash instead of two hyphens",
        "Word processors, chats and web pages make one of two hyphens. " + _REFUSED,
        "Write two hyphens: {near}.",
    ),
    "extra-word": Text(
        "problem",
        7,
        "{word} belongs to no flag",
        _REFUSED,
        "Leave it out; a path with blanks needs quotes.",
    ),
    "flag-not-applied": Text(
        "problem",
        8,
        "{flags} on line {line} is not applied",
        "A flag on a line of its own belongs to no command. ComfyUI starts without it, and nothing says so.",
        "Put it on the line that starts ComfyUI.",
        "The start line in the panel shows the flag.",
        "ComfyUI #5169, #1501",
    ),
    "flag-after-pause": Text(
        "problem",
        8,
        "{flags} on line {line} is not applied: it stands behind `pause`",
        "`pause` waits until ComfyUI has ended, and a flag on a line of its own belongs to no command.",
        "Put it on the line that starts ComfyUI.",
        "The start line in the panel shows the flag.",
        "ComfyUI #5169, #1501",
    ),
    "continuation-blank": Text(
        "problem",
        9,
        "Line {line} does not continue: a blank stands behind its `{mark}`",
        "The mark takes the end of the line away only as its last character. What follows is another command.",
        "Take the blank at the end of the line away.",
        "The start line in the panel shows every flag.",
        "behaviour of cmd, of POSIX shells and of systemd",
    ),
    "memory-limit-low": Text(
        "problem",
        57,
        "{name} allows {limit_bytes}, and the models take {need_bytes}",
        "What a process holds beyond its limit ends it (exit code 137), also while the machine has RAM to spare.",
        "Raise the limit above {need_bytes}, with room for pictures and caches.",
        "Every model loads, and ComfyUI runs on.",
        "ComfyUI #14938, YanWenKun/ComfyUI-Docker #123",
    ),
    "short-flag": Text(
        "info",
        700,
        "{word} is short for {flag}",
        "It works while it fits one flag only: `--high` stopped doing so when `--high-ram` came.",
        "Write {flag}.",
        "What ComfyUI does stays as it was.",
    ),
    "repeated-flag": Text(
        "info",
        705,
        "{flag} is given {count} times; the last one counts",
        "ComfyUI's parser takes the last value and says nothing.",
        "Keep the last one.",
        "What ComfyUI does stays as it was.",
    ),
}
