"""A running ComfyUI, asked over HTTP: Headroom's own answers where it is installed there, else ComfyUI's."""

from __future__ import annotations

import http.client
import ipaddress
import json
import urllib.error
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from ...core.errors import HeadroomError

SECONDS = 20.0
"""A first snapshot where a driver hangs takes seconds."""
MOST_BYTES = 16 * 2**20
DEFAULT = "http://127.0.0.1:8188"


@dataclass(frozen=True)
class Answers:
    """What a running ComfyUI said; None where it has no such route."""

    shown: str
    """Its address where that tells nothing about anyone, else "another machine"."""
    snapshot: Mapping[str, Any] | None
    advice: Mapping[str, Any] | None
    stats: Mapping[str, Any] | None


def ask(url: str) -> Answers:
    """Asks the ComfyUI at an address: ``8188``, ``127.0.0.1:8188``, ``http://name:8188/``.

    Raises:
        HeadroomError: the address is none, nobody answers there, or it is no ComfyUI.
    """
    base = _base(url)
    snapshot, advice = _get(base, "/headroom/snapshot"), _get(base, "/headroom/advice")
    stats = _get(base, "/system_stats")
    if snapshot is None and stats is None:
        raise HeadroomError(f"What answers at {base} is no ComfyUI: it has no /system_stats.")
    return Answers(_shown(base), snapshot, advice, stats)


def _base(url: str) -> str:
    text = url.strip()
    if text.isdigit():
        text = f"127.0.0.1:{text}"
    if "://" not in text:
        text = f"http://{text}"
    try:
        parts = urlsplit(text)
        _ = parts.port
    except ValueError:
        parts = None
    if parts is None or parts.scheme not in {"http", "https"} or not parts.hostname:
        raise HeadroomError(f"{url!r} is no address of a ComfyUI: write {DEFAULT}.")
    if parts.username is not None or parts.password is not None:
        raise HeadroomError("Leave the user name and password out of the address: this does not log in.")
    return f"{parts.scheme}://{parts.netloc}{parts.path.rstrip('/')}"


def _shown(base: str) -> str:
    return base if _is_own(urlsplit(base).hostname or "") else "another machine"


def _is_own(name: str) -> bool:
    try:
        return name == "localhost" or ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False


def _opener(base: str) -> urllib.request.OpenerDirector:
    """A proxy does not know this machine's own addresses."""
    own = _is_own(urlsplit(base).hostname or "")
    return urllib.request.build_opener(*([urllib.request.ProxyHandler({})] if own else []))


def _get(base: str, route: str) -> Mapping[str, Any] | None:
    """A route's JSON; None where there is no such route, or Headroom itself failed there."""
    request = urllib.request.Request(base + route, headers={"Accept": "application/json"})
    try:
        with _opener(base).open(request, timeout=SECONDS) as answer:
            body = answer.read(MOST_BYTES)
    except urllib.error.HTTPError as error:
        error.close()
        if error.code in {401, 403, 407}:
            raise HeadroomError(f"{base} wants a login (HTTP {error.code}); run this on that machine.") from error
        return None
    except (OSError, http.client.HTTPException) as error:
        reason = getattr(error, "reason", None) or error
        raise HeadroomError(f"No ComfyUI answers at {base}: {reason}.") from error
    try:
        found = json.loads(body)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None
