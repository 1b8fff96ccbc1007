"""The GPUs that ComfyUI uses, each read from the source that tells the truth about its kind.

NVIDIA: the driver (NVML) for all programs; torch for this process and for what the driver refuses. AMD on Linux: the
kernel. Everything else: torch, with None for what it cannot know.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ...core.readings import Device, Ram
from .amd_sysfs import read_card
from .build import amd_device, nvidia_device, plain_device, shared_device, unused_card
from .join import join_cards
from .nvidia import Card, Cards
from .nvml import Refused
from .torch_devices import TorchDevice, read_torch_devices
from .worker import Late, Worker

DRIVER_SECONDS = 2.0
"""A healthy driver answers in milliseconds; one that is losing a card can take minutes."""
HANGS = "the NVIDIA driver does not answer; it is asked again"

_cards = Cards()
_worker = Worker("headroom-nvml")


def read_devices(ram: Ram, pages: Mapping[str, int] | None = None) -> tuple[tuple[Device, ...], tuple[Device, ...]]:
    """ComfyUI's devices in its order, and NVIDIA cards that it does not use.

    Args:
        ram: for devices that share it.
        pages: weights that dynamic VRAM holds beside torch, by torch's name of the device ("cuda:0").
    """
    found = read_torch_devices()
    nvidia = [device for device in found if device.kind == "cuda"]
    if not nvidia and any(device.kind != "cpu" for device in found):
        return tuple(_other(device, pages or {}, ram) for device in found), ()
    cards, refusal = _read_cards()
    joined, unused = join_cards(nvidia, cards)
    if refusal is not None:
        joined = tuple(one.refused(refusal) for one in joined)
    by_index = {device.index: one for device, one in zip(nvidia, joined, strict=True)}
    devices = tuple(
        nvidia_device(device, by_index[device.index], _own(device, pages or {}), ram)
        if device.kind == "cuda"
        else _other(device, pages or {}, ram)
        for device in found
    )
    return devices, tuple(unused_card(index, cards[index]) for index in unused)


def _read_cards() -> tuple[Sequence[Card], str | None]:
    """NVIDIA's cards in the driver's order, and why there are none."""
    try:
        return _worker.ask(_cards.read, DRIVER_SECONDS), None
    except Late:
        return (), HANGS
    except Refused as refused:
        return (), refused.reason


def _other(device: TorchDevice, pages: Mapping[str, int], ram: Ram) -> Device:
    if device.kind in {"cpu", "mps"}:
        return shared_device(device, ram)
    if device.kind == "rocm":
        return amd_device(device, read_card(device.pci), _own(device, pages), ram)
    return plain_device(device, _own(device, pages))


def _own(device: TorchDevice, pages: Mapping[str, int]) -> int | None:
    """What this process holds by torch's and dynamic VRAM's word; the GPU context is not in it."""
    if not device.opened:
        return 0
    name = f"{'cuda' if device.kind == 'rocm' else device.kind}:{device.index}"
    return None if device.reserved is None else device.reserved + pages.get(name, 0)
