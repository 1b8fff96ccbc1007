"""Model files for the estimates: sparse ones of full length whose headers are those of ComfyUI's own classes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from headroom.core.component import Component, component


@pytest.fixture(scope="session")
def models(host: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A models folder with a blank in its name."""
    from fakes.host_headers import write_folder

    return write_folder(tmp_path_factory.mktemp("home") / "my models")


@pytest.fixture(scope="session")
def wan(models: Path) -> dict[str, tuple[Component, Component]]:
    """Both models of Wan 2.2 in three quantisations."""
    folder = models / "diffusion_models"

    def both(name: str) -> tuple[Component, Component]:
        return component(folder / name.format("high", "High")), component(folder / name.format("low", "Low"))

    return {
        "fp16": both("wan2.2_t2v_{}_noise_14B_fp16.safetensors"),
        "fp8": both("wan2.2_t2v_{}_noise_14B_fp8_scaled.safetensors"),
        "Q4_K": both("Wan2.2-T2V-A14B-{1}Noise-Q4_K_M.gguf"),
    }
