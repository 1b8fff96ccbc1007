"""How fast weights come from a disk, for what RAM cannot hold: a few kinds, since nobody reads the disk's own rate."""

from __future__ import annotations

from dataclasses import dataclass

from .planning_words import gibs, seconds, span
from .units import gib, number, with_unit


@dataclass(frozen=True)
class Disk:
    """A kind of disk and what a long read gets from it."""

    id: str
    name: str
    bytes_per_second: float
    source: str

    def seconds(self, size_bytes: int) -> float:
        """How long a read takes."""
        return size_bytes / self.bytes_per_second

    @property
    def words(self) -> str:
        """``an NVMe SSD at 3.0 GB/s``."""
        return f"{self.name} at {with_unit(number(self.bytes_per_second / 1e9), 'GB/s')}"


DISKS = (
    Disk("nvme", "an NVMe SSD", 3e9, "PCIe 3.0 x4 carries 3.94 GB/s, of which drives of that class reach 3 to 3.5"),
    Disk("sata", "a SATA SSD", 0.5e9, "SATA at 6 Gb/s carries 0.6 GB/s after its 8b/10b code"),
)


def disk_times(size_bytes: tuple[int, int]) -> str:
    """``4.3-8.7 s from an NVMe SSD at 3.0 GB/s, ...``: what reading ``size_bytes`` takes."""
    low, high = size_bytes
    return ", ".join(f"{seconds(disk.seconds(low), disk.seconds(high))} from {disk.words}" for disk in DISKS)


def disk_bytes(size_bytes: tuple[int, int]) -> str:
    """``12.0-24.2 GiB``, ``up to 0.4 GiB`` where RAM may hold all of it."""
    low, high = size_bytes
    return f"up to {gibs(high)}" if gib(low) == gib(0) else with_unit(span(low, high), "GiB")
