"""Without dynamic VRAM: what ComfyUI's own loader really keeps on a card, against Headroom's formula for it.

The card is played and its weights stay in RAM, all of them one zero; load_models_gpu and ModelPatcher.load are real.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any

import pytest
import torch

from headroom.core.static_load import static_loader

GIB = 2**30
CPU = torch.device("cpu")
RESERVE = 400 * 2**20
#: A layer of 0.1 GiB in bf16, sixty of them.
WIDTH, LAYERS = 7328, 60
LAYER = WIDTH * WIDTH * 2


def patcher_of(card: Any, layers: int = LAYERS, dtype: torch.dtype = torch.bfloat16) -> Any:
    """A model of alike linear layers that is to go to the card."""
    import comfy.model_patcher
    import comfy.ops

    class Patcher(comfy.model_patcher.ModelPatcher):
        """Loads to the played card by leaving the tensors where they are."""

        def load(self, device_to: Any = None, **options: Any) -> None:
            super().load(CPU, **options)
            card.tensors[id(self.model)] = self.model.model_loaded_weight_memory

    model = torch.nn.Module()
    with torch.device("meta"):
        stack = [comfy.ops.manual_cast.Linear(WIDTH, WIDTH, bias=False) for _ in range(layers)]
    for layer in stack:
        zeros = torch.zeros(1, dtype=dtype).expand(WIDTH, WIDTH)
        layer.weight = torch.nn.Parameter(zeros, requires_grad=False)
    model.layers = torch.nn.ModuleList(stack)
    model.manual_cast_dtype = None if dtype == torch.bfloat16 else torch.bfloat16
    return Patcher(model, card.device, CPU)


@pytest.fixture
def management(pack: ModuleType, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The host's memory management as on a machine with a card."""
    import comfy.model_management as found

    monkeypatch.setattr(found, "vram_state", found.VRAMState.NORMAL_VRAM)
    monkeypatch.setattr(found, "EXTRA_RESERVED_VRAM", RESERVE)
    monkeypatch.setattr(found, "pin_memory", lambda *_: False)
    return found


@pytest.mark.parametrize("kind", ["cuda", "rocm", "xpu"])
@pytest.mark.parametrize(
    ("room", "work"),
    [(8.0, 3.0), (5.0, 3.0), (4.0, 3.5), (6.5, 0.2), (6.9, 0.2), (3.0, 6.0), (0.9, 0.5), (10.0, 3.9)],
)
def test_what_the_host_loads(
    management: Any, monkeypatch: pytest.MonkeyPatch, kind: str, room: float, work: float
) -> None:
    """6 GiB of weights in rooms from too small to ample; a layer more or less is the host's comparison with "<"."""
    from fakes.card import Card

    ours = static_loader(kind)
    # What the host has set at its start on such a machine (comfy/model_management.py 0.30.0).
    monkeypatch.setattr(management, "MIN_WEIGHT_MEMORY_RATIO", 0.0 if kind == "cuda" else 0.4)
    monkeypatch.setattr(management, "NUM_STREAMS", 0 if kind == "xpu" else 2)
    room_bytes, work_bytes = int(room * GIB), int(work * GIB)
    card = Card(total=24 * GIB, others=24 * GIB - room_bytes - RESERVE)
    card.play(monkeypatch)
    patcher = patcher_of(card)
    management.load_models_gpu([patcher], memory_required=2 * work_bytes, minimum_memory_required=work_bytes)
    load = ours.load(work_bytes, LAYER)
    weights = patcher.model_size()
    assert weights == LAYERS * LAYER
    # The share is of the room with what is kept free besides, which no estimate has.
    slack = 2 * LAYER + int(RESERVE * ours.least_share)
    assert patcher.loaded_size() == pytest.approx(load.loaded_bytes(weights, room_bytes), abs=slack)
    if patcher.loaded_size() == weights:
        assert load.left_bytes(weights, room_bytes) == room_bytes - weights


@pytest.mark.parametrize(("dtype", "widens"), [(torch.bfloat16, 0), (torch.float8_e4m3fn, 2)])
def test_layers_under_way_take_what_headroom_says(
    management: Any, monkeypatch: pytest.MonkeyPatch, dtype: torch.dtype, widens: int
) -> None:
    """Three layers, and of an fp8 one its copy in bf16."""
    from fakes.card import Card

    monkeypatch.setattr(management, "NUM_STREAMS", 2)
    card = Card(total=24 * GIB, others=0)
    patcher = patcher_of(card, dtype=dtype)
    layer = WIDTH * WIDTH * dtype.itemsize
    patcher.partially_load(CPU, 20 * layer + layer // 2)
    staging = static_loader("cuda").load(None, layer, widens).staging_bytes
    assert patcher.model.model_offload_buffer_memory == staging
    assert patcher.loaded_size() == 20 * layer - staging
