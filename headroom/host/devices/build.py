"""Puts together what torch, the driver and the kernel say of one device: the better source first, per field."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from ...core.device_join import plain_pci
from ...core.device_memory import split
from ...core.readings import Device, Program, Ram
from .amd_sysfs import AmdCard
from .join import Joined
from .nvidia import Card
from .torch_devices import TorchDevice, free_memory

FROM_DRIVER = (
    *("programs", "utilisation_percent", "temperature_celsius", "power_watts", "pcie_generation", "pcie_width"),
    *("driver", "driver_bytes"),
)


def nvidia_device(found: TorchDevice, joined: Joined, own: int | None, ram: Ram) -> Device:
    """A card of NVIDIA's: the driver counts all programs, torch only this one.

    Args:
        own: what this process is known to hold; None where it is not.
    """
    card = joined.card
    device = replace(_base(found, "NVIDIA GPU"), mig_slice=joined.in_slice)
    if card.shared_memory or (found.integrated and card.memory is None):
        device = _shared(device, ram)
    elif card.memory is not None:
        memory = card.memory
        device = _counted(device, memory.total, memory.free, own, card.processes, memory.driver)
    else:
        device = _by_torch(found, device, own, card.processes)
    return _tidy(_with_card(device, card))


def unused_card(index: int, card: Card) -> Device:
    """A card that ComfyUI does not use: from the driver alone, and this process holds nothing there."""
    return nvidia_device(TorchDevice(index, "cuda", opened=False), Joined(card), 0, Ram())


def amd_device(found: TorchDevice, card: AmdCard | None, own: int | None, ram: Ram) -> Device:
    """A card of AMD's; on Linux the kernel counts all programs, where torch's count leaves the desktop out."""
    device, sysfs = _base(found, "AMD GPU"), card or AmdCard()
    # Part of the RAM can be set aside in the firmware (Strix Halo: up to 96 GiB): that part is the card's alone.
    set_aside = sysfs.total is not None and found.total is not None and sysfs.total * 2 >= found.total
    if found.integrated and not set_aside:
        device = _shared(device, ram)
    elif sysfs.total is not None and sysfs.used is not None:
        device = _counted(device, sysfs.total, max(0, sysfs.total - sysfs.used), own, None)
    else:
        device = _by_torch(found, device, own, None)
    return _tidy(
        replace(
            device,
            utilisation_percent=sysfs.busy,
            temperature_celsius=sysfs.temperature,
            power_watts=sysfs.power,
            pcie_generation=sysfs.pcie_generation,
            pcie_width=sysfs.pcie_width,
        )
    )


def shared_device(found: TorchDevice, ram: Ram) -> Device:
    """The CPU, and a GPU without memory of its own."""
    device = _shared(_base(found, found.kind.upper()), ram)
    return _tidy(replace(device, own_bytes=ram.own_bytes if found.kind == "cpu" else found.reserved))


def plain_device(found: TorchDevice, own: int | None) -> Device:
    """Every other make (Intel, DirectML, NPUs): what torch says, and nothing made up for the rest."""
    return _tidy(_by_torch(found, _base(found, found.kind), own, None))


def _base(found: TorchDevice, name: str) -> Device:
    return Device(
        index=found.index,
        name=found.name or name,
        kind=found.kind,
        uuid=found.uuid,
        pci=found.pci,
        total_bytes=found.total,
        torch_total_bytes=found.total,
        torch_allocated_bytes=found.allocated,
        torch_reserved_bytes=found.reserved,
        capability=found.capability,
        bf16=found.bf16,
        reasons=dict(found.reasons),
    )


def _by_torch(found: TorchDevice, device: Device, own: int | None, processes: Sequence[Program] | None) -> Device:
    free, why = free_memory(found)
    counted = _counted(device, found.total, free, own, processes)
    return replace(counted, reasons={**counted.reasons, **({"free_bytes": why, "used_bytes": why} if why else {})})


def _counted(
    device: Device,
    total: int | None,
    free: int | None,
    own: int | None,
    processes: Sequence[Program] | None,
    driver: int | None = None,
) -> Device:
    """With memory of its own, divided among those that hold it."""
    used = None if total is None or free is None else max(0, total - free)
    usage = split(used, driver, own, processes, os.getpid())
    return replace(
        device,
        total_bytes=total,
        used_bytes=used,
        free_bytes=free,
        driver_bytes=driver,
        own_bytes=usage.own,
        others_bytes=usage.others,
        others_estimated=usage.estimated,
        programs=usage.programs,
        reasons={**device.reasons, **usage.reasons},
    )


def _shared(device: Device, ram: Ram) -> Device:
    """Its memory is the machine's RAM: the same figures, so that nobody adds them up (ComfyUI #7171, #11584)."""
    total, free = ram.total_bytes, ram.available_bytes
    used = None if total is None or free is None else max(0, total - free)
    usage = split(used, None, device.torch_reserved_bytes, None, os.getpid(), unified=True)
    return replace(
        device,
        unified=True,
        total_bytes=total,
        used_bytes=used,
        free_bytes=free,
        own_bytes=usage.own,
        reasons={**device.reasons, **usage.reasons},
    )


def _with_card(device: Device, card: Card) -> Device:
    """Also what only the driver knows."""
    reasons = {**device.reasons, **{name: why for name, why in card.reasons.items() if name != "free_bytes"}}
    if "device" in card.reasons:
        reasons = {**dict.fromkeys((*FROM_DRIVER, "free_bytes", "used_bytes"), card.reasons["device"]), **reasons}
    return replace(
        device,
        name=card.name or device.name,
        uuid=card.uuid or device.uuid,
        pci=plain_pci(card.pci) or device.pci,
        capability=card.capability or device.capability,
        utilisation_percent=card.utilisation,
        temperature_celsius=card.temperature,
        power_watts=card.power,
        pcie_generation=card.pcie_generation,
        pcie_width=card.pcie_width,
        driver=card.driver,
        reasons=reasons,
    )


def _tidy(device: Device) -> Device:
    """Only the reasons of what is really unknown; memory in use is unknown for the reason that the free is."""
    reasons: dict[str, Any] = dict(device.reasons)
    if "total_bytes" in reasons:
        reasons.setdefault("free_bytes", reasons["total_bytes"])
    if "free_bytes" in reasons:
        reasons.setdefault("used_bytes", reasons["free_bytes"])
    kept = {name: why for name, why in reasons.items() if name == "device" or getattr(device, name, None) is None}
    return replace(device, reasons=kept)
