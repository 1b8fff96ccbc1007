"""Upscalers: spandrel's own classes on the meta device, and its detection as the oracle."""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Mapping
from typing import Any

import pytest

from headroom.core.families import identify, others
from headroom.core.families.index import Header, Index
from headroom.core.tensorinfo import TensorInfo

#: Row -> (class below spandrel.architectures, arguments).
MODELS: dict[str, tuple[str, Mapping[str, Any]]] = {
    "ESRGAN": ("ESRGAN:ESRGAN", {"num_blocks": 23, "scale": 4}),
    "Compact": ("Compact:Compact", {}),
    "HAT": ("HAT:HAT", {"depths": [6] * 6, "num_heads": [6] * 6, "upsampler": "pixelshuffle"}),
    "DAT": ("DAT:DAT", {}),
    "SwinIR": ("SwinIR:SwinIR", {"window_size": 8}),
    "Swin2SR": ("Swin2SR:Swin2SR", {"window_size": 8}),
    "SPAN": ("SPAN:SPAN", {"num_in_ch": 3, "num_out_ch": 3}),
    "PLKSR": ("PLKSR:RealPLKSR", {}),
    "OmniSR": ("OmniSR:OmniSR", {}),
}


@pytest.fixture(scope="module")
def spandrel(oracle: Any) -> Any:
    """The library that ComfyUI loads upscalers with."""
    return pytest.importorskip("spandrel")


@pytest.mark.parametrize("row", MODELS)
@pytest.mark.parametrize("wrapper", ["", "params_ema."])
def test_headroom_names_what_spandrel_names(row: str, wrapper: str, spandrel: Any, valueless: Any, to_header: Any):
    import torch

    path, arguments = MODELS[row]
    module, name = path.split(":")
    with valueless(), torch.device("meta"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made = getattr(importlib.import_module(f"spandrel.architectures.{module}"), name)(**arguments)
    names = made.state_dict()
    found = next(each.architecture.id for each in spandrel.MAIN_REGISTRY.architectures() if each.detect(names))
    assert found == row

    tensors = {
        wrapper + key: TensorInfo(wrapper + key, tensor.dtype, tensor.shape, tensor.size_bytes)
        for key, tensor in to_header(names).items()
    }
    identity = identify(tensors)

    assert (identity.kind, identity.row, identity.family) == ("upscaler", row, row)
    assert identity.prefix == wrapper
    seen = Header(Index(tensors), wrapper)
    assert [each.id for each in others.UPSCALERS if each.sign.fits(seen)] == [row]


def test_every_row_is_reached():
    assert {row.id for row in others.UPSCALERS} == MODELS.keys()


def test_the_old_names_of_esrgan():
    names = ("model.0.weight", "model.1.sub.0.RDB1.conv1.0.weight", "model.1.sub.22.RDB1.conv1.0.weight")
    identity = identify({name: TensorInfo(name, "F32", (64, 64, 3, 3), 147456) for name in names})
    assert (identity.kind, identity.row) == ("upscaler", "ESRGAN")
