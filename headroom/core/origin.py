"""Whether a request comes from the page that this server itself served: Origin against Host."""

from __future__ import annotations

from urllib.parse import urlsplit

DEFAULT_PORTS = {"http": 80, "https": 443}


def same_origin(origin: str | None, host: str | None, site: str | None = None) -> bool:
    """A browser sends Origin with every POST; a program that is none sends none and is let through.

    ComfyUI's own check covers loopback hosts alone, and ``--enable-cors-header`` takes it away.

    A proxy may write its own Host: without the page's port, as nginx does with ``$host`` (the port is then not
    compared, as in ComfyUI's server.py 0.30.0), or the address by which it knows ComfyUI, as nginx does unless told
    otherwise. Then only the browser's own word tells, which it sends over https and to localhost.

    Args:
        site: the header Sec-Fetch-Site, which a browser sends and no script can change.
    """
    if site in {"cross-site", "same-site"}:
        return False
    if origin is None or site == "same-origin":
        return True
    try:
        page, server = urlsplit(origin.strip()), urlsplit(f"//{(host or '').strip()}")
        port = DEFAULT_PORTS.get(page.scheme)
        return (
            page.scheme in DEFAULT_PORTS
            and bool(page.hostname)
            and page.hostname == server.hostname
            and (server.port is None or (page.port or port) == server.port)
        )
    except ValueError:
        # "null" of a sandboxed page, and ports that are no numbers.
        return False
