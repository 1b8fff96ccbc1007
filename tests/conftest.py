"""Fixtures shared by all tests: the real host as a process, and the pack as ComfyUI imports it."""

from __future__ import annotations

import importlib.util
import os
import sys
from pathlib import Path
from types import ModuleType

import pytest

REPO = Path(__file__).resolve().parent.parent
# The pack's own ``nodes`` must never stand before the host's module of that name.
sys.path[:] = [entry for entry in sys.path if entry and Path(entry).resolve() != REPO]
sys.path.append(str(REPO))
sys.path.append(str(REPO / "scripts"))

import hostkit  # noqa: E402
from comfy_server import ComfyServer, Servers  # noqa: E402

NO_HOST = "no ComfyUI here: set COMFYUI_PATH or run scripts/testhost"


def pytest_configure(config: pytest.Config) -> None:
    """Says which host is used; puts the host on the path for the tests that import it."""
    host = hostkit.find_host(make=False)
    config.stash[HOST] = host
    if host is not None:
        sys.path.insert(0, str(host.path))


HOST = pytest.StashKey[hostkit.Host | None]()


def pytest_report_header(config: pytest.Config) -> str:
    """One line about the host at the top of every run."""
    host = config.stash[HOST]
    return f"ComfyUI: {host.version} at {host.path} ({host.origin})" if host else f"ComfyUI: {NO_HOST}"


@pytest.fixture(scope="session")
def host(request: pytest.FixtureRequest) -> hostkit.Host:
    """The ComfyUI under test; skips visibly where there is none, and fails instead where ``CI`` is set."""
    found = request.config.stash[HOST]
    if found is None:
        if os.environ.get("CI"):
            pytest.fail(f"{NO_HOST}; in CI it must be there")
        pytest.skip(NO_HOST)
    return found


@pytest.fixture(scope="session")
def servers(host: hostkit.Host, tmp_path_factory: pytest.TempPathFactory):
    """Running hosts by their flags; each set of flags is started once per test run."""
    pool = Servers(host, tmp_path_factory.mktemp("comfy"))
    yield pool
    pool.close()


@pytest.fixture(scope="session")
def server(servers: Servers) -> ComfyServer:
    """The host started with ``--cpu`` and nothing else."""
    return servers.get()


@pytest.fixture(scope="session")
def pack(host: hostkit.Host) -> ModuleType:
    """The pack, imported under another name as ComfyUI does; its ``nodes`` are ``pack.nodes``.

    The host's argument parser reads sys.argv at import, so it is given ``--cpu`` and nothing of pytest's.
    """
    name = "headroom_under_test"
    if name in sys.modules:
        return sys.modules[name]
    argv, sys.argv = sys.argv, ["main.py", "--cpu"]
    try:
        import comfy.options

        comfy.options.enable_args_parsing()
        importlib.import_module("comfy.model_management")

        spec = importlib.util.spec_from_file_location(
            name, REPO / "__init__.py", submodule_search_locations=[str(REPO)]
        )
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        spec.loader.exec_module(module)
        importlib.import_module(f"{name}.nodes")
    finally:
        sys.argv = argv
    return module
