"""A snapshot as the rules ask about it. None is unknown throughout, and a rule that meets it is quiet."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Any

from ..link import Link
from ..readings import Device, Host, LastRun, LoadedModel, Ram, Snapshot, WorkflowModel
from ..units import GIB
from .versions import Table, Version, parse_version, table_for

#: comfy/model_management.py 0.30.0, minimum_inference_memory: this much beside what is reserved.
INFERENCE_BYTES = int(0.8 * GIB)
MIB = 2**20
#: Flags that turn dynamic VRAM off (comfy/cli_args.py, enables_dynamic_vram).
STATIC_FLAGS = ("--disable-dynamic-vram", "--highvram", "--gpu-only", "--novram", "--cpu")


class View:
    """Questions about one snapshot."""

    def __init__(self, snapshot: Snapshot) -> None:
        self.snapshot = snapshot

    @property
    def host(self) -> Host:
        """The running ComfyUI."""
        return self.snapshot.host

    @property
    def ram(self) -> Ram:
        """The system's memory."""
        return self.snapshot.ram

    @property
    def last_run(self) -> LastRun:
        """The last run; all of it unknown where none was recorded."""
        return self.snapshot.last_run or LastRun()

    @property
    def args(self) -> Mapping[str, Any]:
        """The parsed values, by ComfyUI's names."""
        return self.host.args

    @cached_property
    def version(self) -> Version | None:
        """ComfyUI's version as numbers."""
        return parse_version(self.host.version)

    @cached_property
    def table(self) -> Table:
        """The flags of this version, from the table."""
        return table_for(self.host.version)

    @cached_property
    def flags(self) -> frozenset[str]:
        """The flags given, in full.

        From argv too and never from the parsed values: ComfyUI sets some of those itself (``--force-fp16`` makes
        ``fp16_unet`` true, ``--high-ram`` makes ``cache_classic`` true).
        """
        raw = (word.partition("=")[0] for word in self.host.argv if word.startswith("--"))
        return self.host.flags | frozenset(flag for flag in raw if flag in self.table.options)

    def has(self, *flags: str) -> bool:
        """Every one of these flags is given."""
        return self.flags.issuperset(flags)

    def given(self, flags: Iterable[str]) -> list[str]:
        """Those of these flags that are given, in this order."""
        return [flag for flag in flags if flag in self.flags]

    def knows(self, flag: str) -> bool:
        """This version's parser surely has the flag."""
        known = self.host.known_flags
        return flag in (self.table.flags if known is None else known)

    def number(self, name: str) -> float | None:
        """A parsed value that is a number."""
        value = self.args.get(name)
        return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None

    # --- the machine ---

    @cached_property
    def cpu(self) -> bool:
        """ComfyUI runs on the CPU alone."""
        devices = self.snapshot.devices
        return self.has("--cpu") or (bool(devices) and all(device.kind == "cpu" for device in devices))

    @cached_property
    def gpu(self) -> Device | None:
        """The card that ComfyUI runs on; None on the CPU and where no card could be read."""
        cards = [device for device in self.snapshot.devices if device.kind != "cpu"]
        return cards[0] if cards and not self.cpu else None

    @property
    def card_bytes(self) -> int | None:
        """What programs can have of the card."""
        return None if self.gpu is None else self.gpu.torch_total_bytes or self.gpu.total_bytes

    @property
    def others_bytes(self) -> int:
        """What other programs hold on the card, as far as it is known."""
        if self.gpu is None:
            return 0
        if self.gpu.others_bytes is not None:
            return self.gpu.others_bytes
        return sum(program.used_bytes or 0 for program in self.gpu.programs or ())

    @property
    def windows(self) -> bool:
        """Windows itself, not WSL."""
        return self.host.platform == "windows"

    @property
    def default_reserve_bytes(self) -> int:
        """What ComfyUI keeps free without ``--reserve-vram`` (comfy/model_management.py, EXTRA_RESERVED_VRAM)."""
        if not self.windows:
            return 400 * MIB
        return 700 * MIB if (self.card_bytes or 0) > 15 * GIB else 600 * MIB

    @property
    def reserve_bytes(self) -> int:
        """What ComfyUI keeps free of weights."""
        if self.host.reserved_bytes is not None:
            return self.host.reserved_bytes
        return self.default_reserve_bytes

    @property
    def room_bytes(self) -> int | None:
        """What is left on the card for weights: without other programs and the least that ComfyUI keeps free."""
        if self.card_bytes is None:
            return None
        return self.card_bytes - self.others_bytes - INFERENCE_BYTES - max(0, self.reserve_bytes)

    def copy_seconds(self, size_bytes: int) -> float | None:
        """How long a copy to the card takes over its link."""
        if self.gpu is None or self.gpu.pcie_width is None or self.gpu.pcie_generation is None:
            return None
        return Link(self.gpu.pcie_generation, self.gpu.pcie_width).seconds(size_bytes)

    # --- dynamic VRAM ---

    @property
    def dynamic(self) -> bool | None:
        """Dynamic VRAM is really active: read, never taken from argv (comfy-aimdo #37)."""
        return self.host.dynamic_vram

    @property
    def wants_dynamic(self) -> bool:
        """ComfyUI tries to start dynamic VRAM (comfy/cli_args.py, enables_dynamic_vram)."""
        return self.has("--enable-dynamic-vram") or not self.given(STATIC_FLAGS)

    # --- models ---

    def loaded(self, kind: str) -> list[LoadedModel]:
        """Loaded models of a kind."""
        return [model for model in self.snapshot.models if model.kind == kind]

    def planned(self, kind: str) -> list[WorkflowModel]:
        """What the open workflow will load of a kind; empty where that is not known."""
        return [model for model in self.snapshot.workflow_models or () if model.kind == kind]

    def sizes(self, kind: str) -> list[int]:
        """Sizes of the models of a kind: of those that the open workflow loads, else of those that are loaded."""
        planned = [model.size_bytes for model in self.planned(kind) if model.size_bytes is not None]
        return planned or [model.size_bytes for model in self.loaded(kind) if model.size_bytes is not None]

    @cached_property
    def families(self) -> frozenset[str]:
        """The families of the diffusion models that are loaded or will be, as comfy.supported_models names them."""
        loaded = {model.family or model.class_name for model in self.loaded("diffusion")}
        planned = {model.family for model in self.planned("diffusion") if model.family}
        return frozenset(loaded | planned)
