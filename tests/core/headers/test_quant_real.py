"""Weights that ComfyUI's own library packed, written by the safetensors package and read back."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from headroom.core.headers import read
from headroom.core.headers.quant import quantisation

torch = pytest.importorskip("torch")
ROWS, COLUMNS = 256, 512

#: Layout of comfy-kitchen -> the name in ``comfy_quant``, our format.
LAYOUTS = {
    "TensorCoreFP8Layout": ("float8_e4m3fn", "fp8_e4m3_scaled"),
    "TensorCoreNVFP4Layout": ("nvfp4", "nvfp4"),
    "TensorCoreMXFP8Layout": ("mxfp8", "mxfp8"),
    "TensorWiseINT8Layout": ("int8_tensorwise", "int8"),
    "TensorCoreConvRotW4A4Layout": ("convrot_w4a4", "convrot_w4a4"),
}


def packed(layout: str) -> dict[str, Any]:
    """A layer as comfy-kitchen packs it, with a bias."""
    kitchen = pytest.importorskip("comfy_kitchen.tensor")
    weight = torch.randn(ROWS, COLUMNS, generator=torch.Generator().manual_seed(0)).to(torch.bfloat16)
    tensors = kitchen.QuantizedTensor.from_float(weight, layout).state_dict("l.weight")
    return {name: tensor.contiguous() for name, tensor in tensors.items()} | {"l.bias": torch.zeros(ROWS)}


@pytest.mark.parametrize("marked", [True, False], ids=["marked", "unmarked"])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_layer_of_comfy_kitchen_has_its_true_parameters(layout: str, marked: bool, tmp_path: Path):
    from safetensors.torch import save_file

    said, format_ = LAYOUTS[layout]
    tensors = packed(layout)
    if marked:
        tensors["l.comfy_quant"] = torch.tensor(list(json.dumps({"format": said}).encode()), dtype=torch.uint8)
    elif layout == "TensorCoreConvRotW4A4Layout":
        # Without its mark nothing tells it from int8; the host does not load it then either.
        format_ = "int8"
    path = tmp_path / "model.safetensors"
    save_file(tensors, path)
    model = read(path)
    assert model.faults == ()
    [layer] = quantisation(model).layers
    assert (layer.name, layer.format, layer.note) == ("l", format_, "")
    assert layer.size_bytes == sum(tensor.nbytes for tensor in tensors.values())
    if format_ == LAYOUTS[layout][1]:
        assert layer.parameters == ROWS * COLUMNS + ROWS
