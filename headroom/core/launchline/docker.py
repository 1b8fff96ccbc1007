"""``docker run`` and ``podman run``: where the image stands, what follows it, what it may use of memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .words import Word

PROGRAMS = {"docker", "podman", "nerdctl", "docker.exe", "podman.exe"}
COMMANDS = {"run", "create", "exec"}
#: Options of ``docker run`` that take no value (docs.docker.com, docker container run); every other one takes one.
SWITCHES = {
    *("--detach", "--disable-content-trust", "--help", "--init", "--interactive", "--no-healthcheck", "--tty", "--rm"),
    *("--oom-kill-disable", "--privileged", "--publish-all", "--quiet", "--read-only", "--sig-proxy", "--replace"),
}
SHORT_SWITCHES = set("ditPq")
#: Names under which images take ComfyUI's arguments from the environment.
ARGUMENT_VARIABLES = (
    *("CLI_ARGS", "COMFYUI_ARGS", "COMFYUI_FLAGS", "COMFYUI_EXTRA_ARGS", "COMFY_CMDLINE_EXTRA", "EXTRA_ARGS"),
    "COMMANDLINE_ARGS",
)


@dataclass(frozen=True)
class Run:
    """A ``docker run``, taken apart."""

    after_image: Sequence[Word]
    memory: str | None
    environment: dict[str, Word]
    """The whole word ``NAME=value`` by its name."""


def parse(words: Sequence[Word]) -> Run | None:
    """None for a command that is no ``docker run``."""
    at = next((i for i, word in enumerate(words) if word.value.rpartition("/")[2] in PROGRAMS), None)
    if at is None or not any(word.value in COMMANDS for word in words[at + 1 : at + 4]):
        return None
    at = next(i for i in range(at + 1, len(words)) if words[i].value in COMMANDS) + 1
    memory, environment = None, dict[str, Word]()
    while at < len(words) and words[at].value.startswith("-") and words[at].value != "--":
        name, value, at = _option(words, at)
        if name in {"-m", "--memory"} and value:
            memory = value.value.removeprefix("--memory=").removeprefix("-m")
        elif name in {"-e", "--env"} and value:
            text = value.value.removeprefix("--env=")
            environment[text.partition("=")[0]] = value
    return Run(words[at + 1 :], memory, environment)


def _option(words: Sequence[Word], at: int) -> tuple[str, Word | None, int]:
    """Name and word of the value of the option at a place, and where the next one stands."""
    word = words[at]
    name, equals, _ = word.value.partition("=")
    if word.value.startswith("--"):
        if equals or name in SWITCHES:
            return name, word if equals else None, at + 1
    elif set(word.value[1:]) <= SHORT_SWITCHES:
        return word.value, None, at + 1
    elif len(word.value) > 2 and not set(word.value[1:-1]) <= SHORT_SWITCHES:
        return word.value[:2], word, at + 1
    else:
        name = f"-{word.value[-1]}"
    return name, words[at + 1] if at + 1 < len(words) else None, at + 2
