"""The few tensors whose bytes are read: JSON that says how the weights beside them are packed."""

from __future__ import annotations

from .entries import Entries
from .limits import Limits
from .source import Source

#: ``X.comfy_quant``: QUANTIZATION.md of ComfyUI. ``X.quant_state.bitsandbytes__nf4`` (or fp4): bitsandbytes.
COMFY = ".comfy_quant"
BITSANDBYTES = ".quant_state.bitsandbytes__"


def read_notes(source: Source, start: int, entries: Entries, limits: Limits) -> dict[str, str]:
    """The texts of these tensors, by the tensors' names; what is too long or outside the file is left out.

    Args:
        entries: sorted by position.
        start: bytes before the data.
    """
    texts: dict[str, str] = {}
    # In the file's order: neighbours then come out of one read of the buffer.
    for begin, end, name in entries.positions:
        if 0 < end - begin <= limits.note_bytes and (name.endswith(COMFY) or BITSANDBYTES in name):
            data = source.read(start + begin, end - begin)
            if len(data) < end - begin or len(texts) == limits.notes:
                break
            texts[name] = data.decode("utf-8", "replace")
    return texts
