"""Model files for the commands: sparse ones of full length whose headers are those of ComfyUI's own classes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest


@pytest.fixture(scope="session")
def models(host: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A models folder with a blank in its name."""
    from fakes.host_headers import write_folder

    return write_folder(tmp_path_factory.mktemp("home") / "my models")
