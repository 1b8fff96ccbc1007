"""The way between RAM and a card: how fast weights can be copied over it."""

from __future__ import annotations

from dataclasses import dataclass

#: GB/s per lane and generation of PCI Express that a copy really gets, about 80 % of the nominal rate; from pinned
#: memory, as ComfyUI and the wrappers copy by default.
PCIE_LANE = {1: 0.2, 2: 0.4, 3: 0.79, 4: 1.58, 5: 3.15}


@dataclass(frozen=True)
class Link:
    """A PCI Express link; ``assumed`` where nobody read it."""

    generation: int
    width: int
    assumed: bool = False

    @property
    def bytes_per_second(self) -> float | None:
        """What a copy gets in one direction; None for a generation that is not in the table."""
        lane = PCIE_LANE.get(self.generation)
        return None if lane is None else lane * 1e9 * self.width

    def seconds(self, size_bytes: int) -> float | None:
        """How long a copy takes."""
        rate = self.bytes_per_second
        return size_bytes / rate if rate else None

    @property
    def words(self) -> str:
        """``PCIe 4.0 x16``, with "assumed" where it was not read."""
        return f"PCIe {self.generation}.0 x{self.width}" + (", assumed" if self.assumed else "")


#: What a card of the last years in a desktop's first slot has.
ASSUMED = Link(4, 16, assumed=True)


def link_of(generation: int | None, width: int | None) -> Link:
    """The link that was read, or the assumed one where it is not known."""
    if generation is None or not width or generation not in PCIE_LANE:
        return ASSUMED
    return Link(generation, width)
