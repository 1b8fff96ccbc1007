"""What a run can have of a machine: read from it, or typed in for a card that one thinks of buying."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from .activation import Attention
from .budget import Role, holders
from .card_room import offered_bytes, stated_room
from .flags.ram import PIN_SHARE, PIN_SHARE_WINDOWS
from .flags.view import View
from .link import ASSUMED, Link, link_of
from .offload_types import Machine, OtherGpu
from .ram_room import BESIDE_MODELS_BYTES, models_room_bytes
from .readings import Device, Snapshot
from .static_load import StaticLoader, static_loader
from .units import gib, with_unit

#: Attention that makes the scores in slices, as ``Host.attention`` names it.
SPLIT = ("split", "quad")
EVERY_ROLE: tuple[Role, ...] = ("diffusion", "text encoder", "vae")
NO_CARD = "no card"
ON_CPU = "ComfyUI runs on the CPU here, so there is no card to plan for; type one in as `vram_gib`."
GPU_ONLY = "With --gpu-only no model leaves the card, so that all weights count together."
HIGH_VRAM = "With --highvram diffusion models never leave the card, so that they count beside every other stage."
SHARED_MEMORY = (
    "The card's memory is the RAM: what leaves the one lands in the other, so that all weights count together."
)
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
    static: StaticLoader | None = None
    """How weights are loaded where it is not."""
    streams: bool = True
    """The host streams weights that do not fit; not with --highvram and --gpu-only, and not on Apple's GPUs."""
    keeps: bool = True
    """It keeps on the card what fits; not with --novram, which streams all weights in every pass."""
    staying: Sequence[Role] = ()
    """Models that never make room for another stage; ``stays_because`` says why."""
    stays_because: str = ""
    unified: bool = False
    """The card's memory is the machine's RAM."""
    attention: Attention = "fused"
    amd: bool = False
    others: Sequence[OtherGpu] = ()
    stated: bool = False
    """Typed in, not read."""
    why_not: str = ""
    """Why there is no room to count with."""

    def machine(self) -> Machine:
        """As an offload plan takes it; a reading that failed is no room.

        Where the card's memory is the RAM it is counted once: what does not stay there has its file alone.
        """
        ram = 0 if self.unified else self.ram_bytes or 0
        return Machine(self.room_bytes or 0, ram, self.pin_bytes, self.swap_bytes, self.others)


def room_of(
    snapshot: Snapshot,
    vram_bytes: int = 0,
    ram_bytes: int = 0,
    evictable: Mapping[int, int] | None = None,
    own_ram_bytes: int | None = None,
) -> Room:
    """The room of the machine that ComfyUI runs on, or of a stated card in it.

    Args:
        vram_bytes: the card to plan for; 0: the one that is there.
        ram_bytes: the same for RAM.
        evictable: by the device's index, where more is known than the reading says: between two nodes nothing is in
            use.
        own_ram_bytes: what this process holds of the RAM without files that it has mapped, where that is known: the
            system counts mapped files as available already.
    """
    view = View(snapshot)
    room = _stated(view, vram_bytes) if vram_bytes else _read(view, evictable)
    total = ram_bytes or snapshot.ram.total_bytes or 0
    like_nvidia = view.gpu is None or view.gpu.kind in ("cuda", "rocm")
    pins = room.room_bytes is not None and like_nvidia and not view.has("--disable-pinned-memory")
    return _flagged(
        replace(
            room,
            ram_bytes=_ram(view, ram_bytes, own_ram_bytes),
            pin_bytes=int(total * (PIN_SHARE_WINDOWS if view.windows else PIN_SHARE)) if pins else 0,
            swap_bytes=snapshot.ram.swap_total_bytes or 0,
        ),
        view,
    )


def _flagged(room: Room, view: View) -> Room:
    """With what flags and a shared memory forbid (comfy/model_management.py 0.30.0: load_models_gpu, *_offload_device).

    With --highvram the diffusion models are "unloaded" to the card itself, with --gpu-only all models.
    """
    keeps = not view.has("--novram")
    if not keeps:
        # Nothing is loaded before the work begins, whatever it leaves.
        room = replace(room, static=None)
    if view.has("--gpu-only"):
        return replace(room, streams=False, staying=EVERY_ROLE, stays_because=GPU_ONLY)
    if view.has("--highvram"):
        return replace(room, streams=False, staying=("diffusion",), stays_because=HIGH_VRAM)
    if room.unified and not room.dynamic:
        # Dynamic VRAM gives pages back, since the file has them; ComfyUI's other way is a copy in the same memory, and
        # on Apple's GPUs (VRAMState.SHARED) it loads whole models.
        apple = view.gpu is not None and view.gpu.kind == "mps"
        return replace(room, streams=not apple, keeps=keeps, staying=EVERY_ROLE, stays_because=SHARED_MEMORY)
    return replace(room, keeps=keeps)


def _stated(view: View, vram_bytes: int) -> Room:
    """A card that is typed in: like the one that is there; without one, like an ordinary one of NVIDIA's."""
    room = stated_room(offered_bytes(vram_bytes), view.windows, None if view.gpu is None else view.host.reserved_bytes)
    like = Room(f"a card of {_gib(vram_bytes)}", room, None, stated=True)
    return replace(like, dynamic=True) if view.gpu is None else _like(like, view)


def _read(view: View, evictable: Mapping[int, int] | None) -> Room:
    """The card that ComfyUI runs on."""
    gpu = view.gpu
    if gpu is None:
        return Room(NO_CARD, None, None, why_not=ON_CPU)
    total = "" if gpu.total_bytes is None else f", {_gib(gpu.total_bytes)}"
    room = _available(gpu, view, evictable)
    why = "" if room is not None else UNREAD.format(name=gpu.name, why=gpu.reasons.get("free_bytes", "no reading"))
    rest = [one for one in view.snapshot.devices if one.kind != "cpu" and one is not gpu]
    rooms = [(one.index, _available(one, view, evictable)) for one in rest]
    others = tuple(OtherGpu(index, left) for index, left in rooms if left is not None)
    read = Room(f"{gpu.name}{total}", room, None, others=others, why_not=why, unified=gpu.unified)
    return _like(read, view)


def _like(room: Room, view: View) -> Room:
    """With what the card that is there tells beside its size."""
    gpu = view.gpu
    if gpu is None:
        return room
    return replace(
        room,
        link=link_of(gpu.pcie_generation, gpu.pcie_width),
        dynamic=view.dynamic,
        static=None if view.dynamic is not False else static_loader(gpu.kind),
        attention="split" if view.host.attention in SPLIT else "fused",
        amd=gpu.kind == "rocm",
    )


def _available(device: Device, view: View, evictable: Mapping[int, int] | None) -> int | None:
    """What is available on a device, without what the host keeps free."""
    available = holders(device, None if evictable is None else evictable.get(device.index)).available_bytes
    return None if available is None else max(0, available - max(0, view.reserve_bytes))


def _ram(view: View, stated: int, own_bytes: int | None) -> int | None:
    """RAM that models can have: of a stated size all but what the rest takes; else what is available now, and what this
    process holds, since that is models for the most part.

    What it holds can be counted as available too, as the pages of mapped model files are: it is then no more than what
    is in use at all.
    """
    if stated:
        return models_room_bytes(stated)
    total, available = view.ram.total_bytes, view.ram.available_bytes
    if available is None:
        return None
    own = (view.ram.own_bytes if own_bytes is None else own_bytes) or 0
    if total is not None:
        own = min(own, max(0, total - available))
    return max(0, available + max(0, own - BESIDE_MODELS_BYTES // 2))


def _gib(size_bytes: int) -> str:
    return with_unit(gib(size_bytes), "GiB")
