"""AMD's cards on Linux, from the kernel: what all programs hold, which ROCm's own count of free memory leaves out.

torch said 2 GB used where the desktop held 4 more (llama.cpp #24906). Also temperature, power, load and link.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

SYS = Path("/sys")
AMD = "0x1002"
SPEEDS = {"2.5": 1, "5.0": 2, "5": 2, "8.0": 3, "16.0": 4, "32.0": 5, "64.0": 6}
"""GT/s per lane of each PCIe generation, as the kernel writes them."""


@dataclass(frozen=True)
class AmdCard:
    """One card; sizes in bytes, None where the kernel does not say."""

    total: int | None = None
    used: int | None = None
    busy: float | None = None
    temperature: float | None = None
    power: float | None = None
    pcie_generation: int | None = None
    pcie_width: int | None = None


def read_card(pci: str | None, root: Path = SYS) -> AmdCard | None:
    """The card at a PCI address; without one the only AMD card there is. None where the kernel shows none."""
    folder = root / "bus" / "pci" / "devices" / pci if pci is not None else _only_card(root)
    if folder is None or not (folder / "mem_info_vram_total").exists():
        return None
    sensors = next(iter(sorted((folder / "hwmon").glob("hwmon*"))), folder)
    temperature = _number(sensors / "temp1_input")
    power = _number(sensors / "power1_average")
    if power is None:
        # The name since the RX 7000 series.
        power = _number(sensors / "power1_input")
    busy = _number(folder / "gpu_busy_percent")
    return AmdCard(
        total=_number(folder / "mem_info_vram_total"),
        used=_number(folder / "mem_info_vram_used"),
        busy=None if busy is None else float(busy),
        temperature=None if temperature is None else temperature / 1000,
        power=None if power is None else power / 1_000_000,
        pcie_generation=SPEEDS.get(_text(folder / "max_link_speed").partition(" ")[0]),
        pcie_width=_number(folder / "current_link_width"),
    )


def _only_card(root: Path) -> Path | None:
    found = [
        folder / "device"
        for folder in (root / "class" / "drm").glob("card[0-9]*")
        if _text(folder / "device" / "vendor") == AMD and (folder / "device" / "mem_info_vram_total").exists()
    ]
    # A card's outputs (card0-DP-1) lie beside it and point at the same device.
    cards = {folder.resolve() for folder in found}
    return cards.pop() if len(cards) == 1 else None


def _number(path: Path) -> int | None:
    text = _text(path)
    return int(text) if text.isdigit() else None


def _text(path: Path) -> str:
    try:
        return path.read_text("ascii", errors="replace").strip()
    except OSError:
        return ""
