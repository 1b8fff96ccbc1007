"""What kind of error a run ended with: by the name of its class and its words, since nothing of it is kept."""

from __future__ import annotations

import re
from dataclasses import dataclass

from .oom import figures, is_oom_text

OUT_OF_MEMORY, NAN, OTHER = "out-of-memory", "nan", "other"
VRAM, RAM = "vram", "ram"

PAGE_FILE = "os error 1455"
"""Windows: "The paging file is too small for this operation to complete" (ComfyUI #8065, #7550, #7069)."""
KILLED = re.compile(r"(?:exit|return)\w* (?:code|status):? 137\b|\bSIGKILL\b")
"""A program that a node had started was ended, most often by the kernel for lack of RAM (ComfyUI-Docker #123)."""
RAM_TEXTS = (
    *("defaultcpuallocator", "can't allocate memory", "cannot allocate memory", "out_of_host_memory"),
    *("unable to allocate", PAGE_FILE),
)
#: An error that names the card means the card, also where this machine has none that ComfyUI uses.
_CARD = re.compile(r"\b(?:CUDA|HIP|XPU|MPS|GPU|allocation on device)\b", re.IGNORECASE)
#: Whole words: "nano" and "Infinity" are none of them.
_NAN = re.compile(r"\b(?:nans?|infs?|non-finite)\b", re.IGNORECASE)
_NAN_CLASSES = ("NonFinite", "NansException")


@dataclass(frozen=True)
class Kind:
    """What an error says of itself; sizes in bytes."""

    kind: str
    memory: str | None = None
    """``vram`` or ``ram`` where memory ran out."""
    asked_bytes: int | None = None
    free_bytes: int | None = None


def kind_of(class_name: str, text: str, on_cpu: bool = False) -> Kind:
    """What kind of error this is.

    Args:
        class_name: with or without its module: ``torch.OutOfMemoryError``.
        on_cpu: ComfyUI runs on the CPU alone: memory is RAM unless the words name a card.
    """
    name, lowered = class_name.rpartition(".")[2], text.lower()
    if _means_oom(name, text, lowered):
        python = name.endswith("MemoryError") and "OutOf" not in name
        told = python or any(known in lowered for known in RAM_TEXTS) or KILLED.search(text)
        in_ram = told or (on_cpu and not _CARD.search(text))
        found = figures(text)
        return Kind(OUT_OF_MEMORY, RAM if in_ram else VRAM, found.asked_bytes, found.free_bytes)
    if name.startswith(_NAN_CLASSES) or _NAN.search(text):
        return Kind(NAN)
    return Kind(OTHER)


def _means_oom(name: str, text: str, lowered: str) -> bool:
    if "OutOfMemory" in name or name.endswith("MemoryError"):
        return True
    if name == "AcceleratorError":
        # With any other words the card's context is dead, and no memory would help.
        return "out of memory" in lowered
    return is_oom_text(text) or PAGE_FILE in lowered or bool(KILLED.search(text))
