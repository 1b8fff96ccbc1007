"""What a run can have of a machine: read from it, or typed in for a card that one thinks of buying."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from .activation import Attention
from .budget import holders
from .flags.ram import PIN_SHARE, PIN_SHARE_WINDOWS
from .flags.view import View
from .link import ASSUMED, Link, link_of
from .offload import Machine, OtherGpu
from .readings import Device, Snapshot
from .units import GIB, gib, with_unit

#: The GPU context of a process: 300 to 500 MiB, which no program can give back.
CONTEXT_BYTES = GIB * 4 // 10
#: What ComfyUI, its outputs and the system take of the RAM beside the models.
BESIDE_MODELS_BYTES = 4 * GIB
#: Attention that makes the scores in slices, as ``Host.attention`` names it.
SPLIT = ("split", "quad")
MIB = 2**20
ON_CPU = "ComfyUI runs on the CPU here, so there is no card to plan for; type one in as `vram_gib`."
UNREAD = "How much of {name} is free is not known: {why}. Type its size in as `vram_gib`."


@dataclass(frozen=True)
class Room:
    """A card, its link and the RAM beside it; None where there is no card or it cannot be read."""

    card: str
    """For people: ``RTX 3060, 12.0 GiB``."""
    room_bytes: int | None
    """Weights and work together: what is free or can be freed, without what the host keeps free."""
    ram_bytes: int | None
    """For models."""
    pin_bytes: int = 0
    swap_bytes: int = 0
    link: Link = ASSUMED
    dynamic: bool | None = None
    """Dynamic VRAM is active."""
    streams: bool = True
    """The host streams weights that do not fit; not with --highvram and --gpu-only."""
    attention: Attention = "fused"
    amd: bool = False
    others: Sequence[OtherGpu] = ()
    stated: bool = False
    """Typed in, not read."""
    why_not: str = ""
    """Why there is no room to count with."""

    def machine(self) -> Machine:
        """As an offload plan takes it; a reading that failed is no room."""
        return Machine(self.room_bytes or 0, self.ram_bytes or 0, self.pin_bytes, self.swap_bytes, self.others)


def room_of(
    snapshot: Snapshot,
    vram_bytes: int = 0,
    ram_bytes: int = 0,
    evictable: Mapping[int, int] | None = None,
) -> Room:
    """The room of the machine that ComfyUI runs on, or of a stated card in it.

    Args:
        vram_bytes: the card to plan for; 0: the one that is there.
        ram_bytes: the same for RAM.
        evictable: by the device's index, where more is known than the reading says: between two nodes nothing is in
            use.
    """
    view = View(snapshot)
    room = _stated(view, vram_bytes) if vram_bytes else _read(view, evictable)
    total = ram_bytes or snapshot.ram.total_bytes or 0
    pins = room.room_bytes is not None and not view.has("--disable-pinned-memory")
    return replace(
        room,
        ram_bytes=_ram(view, ram_bytes),
        pin_bytes=int(total * (PIN_SHARE_WINDOWS if view.windows else PIN_SHARE)) if pins else 0,
        swap_bytes=snapshot.ram.swap_total_bytes or 0,
        streams=not view.given(("--highvram", "--gpu-only")),
    )


def _stated(view: View, vram_bytes: int) -> Room:
    """A card that is typed in: like the one that is there; without one, like an ordinary one of NVIDIA's."""
    room = stated_room(vram_bytes, view.windows, None if view.gpu is None else view.host.reserved_bytes)
    like = Room(f"a card of {_gib(vram_bytes)}", room, None, stated=True)
    return replace(like, dynamic=True) if view.gpu is None else _like(like, view)


def _read(view: View, evictable: Mapping[int, int] | None) -> Room:
    """The card that ComfyUI runs on."""
    gpu = view.gpu
    if gpu is None:
        return Room("no card", None, None, why_not=ON_CPU)
    total = "" if gpu.total_bytes is None else f", {_gib(gpu.total_bytes)}"
    room = _available(gpu, view, evictable)
    why = "" if room is not None else UNREAD.format(name=gpu.name, why=gpu.reasons.get("free_bytes", "no reading"))
    rest = [one for one in view.snapshot.devices if one.kind != "cpu" and one is not gpu]
    rooms = [(one.index, _available(one, view, evictable)) for one in rest]
    others = tuple(OtherGpu(index, left) for index, left in rooms if left is not None)
    return _like(Room(f"{gpu.name}{total}", room, None, others=others, why_not=why), view)


def _like(room: Room, view: View) -> Room:
    """With what the card that is there tells beside its size."""
    gpu = view.gpu
    if gpu is None:
        return room
    return replace(
        room,
        link=link_of(gpu.pcie_generation, gpu.pcie_width),
        dynamic=view.dynamic,
        attention="split" if view.host.attention in SPLIT else "fused",
        amd=gpu.kind == "rocm",
    )


def stated_room(vram_bytes: int, windows: bool = False, reserve_bytes: int | None = None) -> int:
    """What a run can have of a card of that size which nothing else uses.

    Without the context of the process and what ComfyUI keeps free (EXTRA_RESERVED_VRAM in comfy/model_management.py
    0.30.0: 400 MiB, on Windows 600, and 700 above 15 GiB).
    """
    default = (700 if vram_bytes > 15 * GIB else 600) * MIB if windows else 400 * MIB
    reserve = default if reserve_bytes is None else max(0, reserve_bytes)
    return max(0, vram_bytes - CONTEXT_BYTES - reserve)


def _available(device: Device, view: View, evictable: Mapping[int, int] | None) -> int | None:
    """What is available on a device, without what the host keeps free."""
    available = holders(device, None if evictable is None else evictable.get(device.index)).available_bytes
    return None if available is None else max(0, available - max(0, view.reserve_bytes))


def _ram(view: View, stated: int) -> int | None:
    """RAM that models can have: of a stated size all but what the rest takes; else what is available now, and this
    process's own share of it, since that is models for the most part."""
    if stated:
        return max(0, stated - BESIDE_MODELS_BYTES)
    available, own = view.ram.available_bytes, view.ram.own_bytes
    return None if available is None else max(0, available + max(0, (own or 0) - BESIDE_MODELS_BYTES // 2))


def _gib(size_bytes: int) -> str:
    return with_unit(gib(size_bytes), "GiB")
