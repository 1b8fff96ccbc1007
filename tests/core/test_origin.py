"""Which pages may act: only those that this server served."""

from __future__ import annotations

import pytest

from headroom.core.origin import same_origin


@pytest.mark.parametrize(
    ("origin", "host"),
    [
        ("http://127.0.0.1:8188", "127.0.0.1:8188"),
        ("http://LOCALHOST:8188", "localhost:8188"),
        ("https://comfy.example", "comfy.example"),
        ("https://comfy.example:443", "comfy.example"),
        ("http://comfy.example", "comfy.example:80"),
        ("http://[::1]:8188", "[::1]:8188"),
        # A proxy that passes the page's host without its port (nginx with $host), as ComfyUI itself lets it pass.
        ("https://comfy.example.com:8443", "comfy.example.com"),
        ("http://192.168.1.5:8080", "192.168.1.5"),
        ("http://[fd00::5]:8080", "[fd00::5]"),
        (None, "127.0.0.1:8188"),
        (None, None),
    ],
)
def test_its_own_page_and_programs_that_are_no_browser_may(origin: str | None, host: str | None):
    assert same_origin(origin, host)


@pytest.mark.parametrize(
    ("origin", "host"),
    [
        ("https://evil.example", "127.0.0.1:8188"),
        ("https://evil.example", "192.168.1.5:8188"),
        ("http://127.0.0.1:3000", "127.0.0.1:8188"),
        ("http://localhost:8188", "127.0.0.1:8188"),
        ("http://127.0.0.1", "127.0.0.1:8188"),
        ("https://evil.example:8443", "comfy.example.com"),
        ("https://comfy.example.com", "192.168.1.5:8188"),
        ("http://127.0.0.1:8188", None),
        ("http://127.0.0.1:8188.evil.example", "127.0.0.1:8188"),
        ("http://127.0.0.1:8188@evil.example", "127.0.0.1:8188"),
        ("null", "127.0.0.1:8188"),
        ("", "127.0.0.1:8188"),
        ("", ""),
        ("file://", ""),
        ("ftp://127.0.0.1:8188", "127.0.0.1:8188"),
        ("chrome-extension://127.0.0.1:8188", "127.0.0.1:8188"),
        ("http://127.0.0.1:port", "127.0.0.1:8188"),
        ("http://[::1", "[::1]:8188"),
    ],
)
def test_every_other_page_may_not(origin: str, host: str | None):
    assert not same_origin(origin, host)


@pytest.mark.parametrize(
    ("site", "allowed"), [("cross-site", False), ("same-site", False), ("same-origin", True), ("none", True)]
)
def test_what_the_browser_says_of_the_page_counts_too(site: str, allowed: bool):
    """A page on another port of the same machine is the same site, and not ours."""
    assert same_origin("http://127.0.0.1:8188", "127.0.0.1:8188", site) is allowed
    assert same_origin(None, "127.0.0.1:8188", site) is allowed


@pytest.mark.parametrize(
    ("origin", "host"),
    [
        # nginx without ``proxy_set_header Host``: it sends the address by which it knows ComfyUI.
        ("https://comfy.example.com", "192.168.1.5:8188"),
        ("https://comfy.example.com:8443", "comfy:8188"),
        ("https://comfy.example.com:8443", "comfy.example.com"),
    ],
)
def test_behind_a_proxy_the_browsers_word_tells_the_page_from_others(origin: str, host: str):
    """ComfyUI works there, and so must the panel's buttons."""
    assert same_origin(origin, host, "same-origin")
    assert not same_origin(origin, host, "same-site")
    assert not same_origin(origin, host, "cross-site")
