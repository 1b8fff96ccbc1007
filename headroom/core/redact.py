"""Takes out of a start line what nobody else should see: keys, passwords, home folders and other absolute paths.

What is left can be pasted where that is possible: a home folder becomes ``~`` (``%USERPROFILE%`` on Windows), which
means the same folder to the person whose line it is. Other folders are cut to ``.../name``.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

HIDDEN = "***"
_HOME = re.compile(r"(?:/home/|/Users/|[A-Za-z]:[\\/]Users[\\/])[^\\/:;,\s\"']+|/root(?=/|$)")
_ABSOLUTE = re.compile(r"(?<![\w.~%:/\\])(?:[A-Za-z]:[\\/]|\\\\|/)[^:;,\"']*[\\/](?=[^\\/:;,\"']+)")
_URL_PASSWORD = re.compile(r"(?<=://)[^/@\s]+@")
#: Names whose value is a secret; ``--tls-keyfile`` names a file.
_SECRET_NAME = re.compile(
    r"(?:api[-_]?key|(?<!tls-)key(?!file|board|word)|token|secret|passw(?:or)?d|auth)", re.IGNORECASE
)
#: Keys that can be told by their own form: OpenAI and Anthropic, Hugging Face, GitHub, AWS, Comfy. Packages such as
#: ``comfyui-workflow-templates`` begin as Comfy's keys do, but no part of their names is as long as a key.
_SECRET_FORM = re.compile(r"(?:sk-|hf_|gh[pousr]_|github_pat_|AKIA)[\w-]{12,}|comfyui-\w{24,}")


def words(argv: Sequence[str], windows: bool = False) -> list[str]:
    """An argv without secrets and absolute paths, word for word."""
    shown: list[str] = []
    secret = False
    for word in argv:
        if secret and not word.startswith("--"):
            shown.append(HIDDEN)
            secret = False
            continue
        name, equals, value = word.partition("=")
        secret = word.startswith("--") and not equals and bool(_SECRET_NAME.search(name))
        if equals and _SECRET_NAME.search(name):
            shown.append(f"{name}={HIDDEN}")
        elif word.startswith("--") and equals:
            shown.append(f"{name}={text(value, windows)}")
        else:
            shown.append(text(word, windows))
    return shown


def text(value: str, windows: bool = False) -> str:
    """One text without secrets and absolute paths."""
    value = _URL_PASSWORD.sub(f"{HIDDEN}@", value)
    value = _SECRET_FORM.sub(HIDDEN, value)
    value = _HOME.sub("%USERPROFILE%" if windows else "~", value)
    scheme, separator, rest = value.partition("://")
    if separator:
        return f"{scheme}://{_ABSOLUTE.sub('.../', rest) if scheme.startswith('sqlite') else rest}"
    return _ABSOLUTE.sub(lambda _: "...\\" if windows else ".../", value)
