"""What NVML says of NVIDIA's cards: in its own order, one failing field at a time."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ...core.readings import Program
from .fields import Fields, Memory
from .nvml import NOT_FOUND, Nvml, Refused

PROCESSES_SECONDS = 5.0
"""A list of processes is read again only after this long: the driver walks all of them."""
GPU_SENSOR = 0
MOST_PARTS = 16


@dataclass(frozen=True)
class Part:
    """A part of a partitioned card (MIG)."""

    uuid: str | None
    name: str | None
    memory: Memory | None
    processes: Sequence[Program] | None
    reasons: Mapping[str, str]


@dataclass(frozen=True)
class Card:
    """One card; None where the driver does not say, ``reasons`` by the field names of ``readings.Device``."""

    name: str | None = None
    uuid: str | None = None
    pci: str | None = None
    memory: Memory | None = None
    shared_memory: bool = False
    """The driver does not count it: it is the machine's RAM (GB10, Jetson)."""
    processes: Sequence[Program] | None = None
    utilisation: float | None = None
    temperature: float | None = None
    power: float | None = None
    pcie_generation: int | None = None
    pcie_width: int | None = None
    capability: tuple[int, int] | None = None
    driver: str | None = None
    parts: Sequence[Part] = ()
    reasons: Mapping[str, str] = field(default_factory=dict)


class Cards:
    """Reads all cards; keeps the lists of processes for a while, and the names for the time that a card is lost."""

    def __init__(self, nvml: Nvml | None = None) -> None:
        self._nvml = nvml or Nvml()
        self._known: dict[int, Card] = {}
        self._lists: dict[tuple[int, int], tuple[float, Fields, Sequence[Program] | None]] = {}

    def read(self) -> tuple[Card, ...]:
        """Every card that the driver lists.

        Raises:
            Refused: there is no driver, or it does not answer at all.
        """
        self._nvml.open()
        count = self._nvml.ask("nvmlDeviceGetCount", vital=True)
        driver = Fields(self._nvml).get("driver", "nvmlSystemGetDriverVersion")
        return tuple(self._card(index, driver) for index in range(count))

    def _card(self, index: int, driver: str | None) -> Card:
        try:
            handle = self._nvml.ask("nvmlDeviceGetHandleByIndex", index, vital=True)
        except Refused as refused:
            known = self._known.get(index, Card())
            return Card(known.name, known.uuid, known.pci, driver=driver, reasons={"device": refused.reason})
        fields = Fields(self._nvml)
        memory = fields.memory(handle)
        rates = fields.get("utilisation_percent", "nvmlDeviceGetUtilizationRates", handle)
        power = fields.get("power_watts", "nvmlDeviceGetPowerUsage", handle)
        temperature = fields.first(
            "temperature_celsius",
            ("nvmlDeviceGetTemperatureV", handle, GPU_SENSOR),
            ("nvmlDeviceGetTemperature", handle, GPU_SENSOR),
        )
        capability = fields.get("capability", "nvmlDeviceGetCudaComputeCapability", handle)
        card = Card(
            name=fields.get("name", "nvmlDeviceGetName", handle),
            uuid=fields.get("uuid", "nvmlDeviceGetUUID", handle),
            pci=_text(getattr(fields.get("pci", "nvmlDeviceGetPciInfo", handle), "busId", None)),
            memory=memory,
            shared_memory=fields.not_supported("total_bytes"),
            processes=self._processes((index, -1), handle, fields),
            # Not ``memory``: that one is how busy the memory bus is, not how full the memory (sichek PR#113).
            utilisation=None if rates is None else float(rates.gpu),
            temperature=None if temperature is None else float(temperature),
            power=None if power is None else power / 1000,
            pcie_generation=fields.get("pcie_generation", "nvmlDeviceGetMaxPcieLinkGeneration", handle),
            pcie_width=fields.get("pcie_width", "nvmlDeviceGetCurrPcieLinkWidth", handle),
            capability=None if capability is None else (int(capability[0]), int(capability[1])),
            driver=driver,
            parts=tuple(self._parts(index, handle)),
            reasons=fields.reasons,
        )
        self._known[index] = card
        return card

    def _parts(self, index: int, handle: Any) -> Iterator[Part]:
        quiet = Fields(self._nvml)
        mode = quiet.get("mode", "nvmlDeviceGetMigMode", handle)
        if not mode or not mode[0]:
            return
        for number in range(min(quiet.get("count", "nvmlDeviceGetMaxMigDeviceCount", handle) or 0, MOST_PARTS)):
            try:
                part = self._nvml.ask("nvmlDeviceGetMigDeviceHandleByIndex", handle, number)
            except Refused as refused:
                if refused.code == NOT_FOUND:
                    continue
                return
            fields = Fields(self._nvml)
            yield Part(
                uuid=fields.get("uuid", "nvmlDeviceGetUUID", part),
                name=fields.get("name", "nvmlDeviceGetName", part),
                memory=fields.memory(part),
                processes=self._processes((index, number), part, fields),
                reasons=fields.reasons,
            )

    def _processes(self, key: tuple[int, int], handle: Any, fields: Fields) -> Sequence[Program] | None:
        read_at, kept, programs = self._lists.get(key, (-PROCESSES_SECONDS, fields, None))
        if time.monotonic() - read_at >= PROCESSES_SECONDS:
            kept = Fields(self._nvml)
            programs = kept.programs(handle)
            if programs is not None:
                self._lists[key] = (time.monotonic(), kept, programs)
        fields.reasons.update(kept.reasons)
        return programs


def _text(value: Any) -> str | None:
    return value.decode("ascii", "replace") if isinstance(value, bytes) else value
