"""Free Memory's report: what was really freed, and why the rest was not."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from . import free_words as words
from .free_words import LEAST, frees_ram, frees_vram
from .freeing import DeviceMemory, Freed, ModelFate
from .report import Block, Level, Report, Row, Table, Text
from .units import duration, gib, size, with_unit

MOST_MODELS = 8


def free_report(freed: Freed, seconds: float, made_at: float) -> Report:
    """The whole report."""
    models = freed.models
    blocks: list[Block] = [_memory(freed)]
    if models:
        blocks.append(Table(("Model", "Size, GiB", "Loaded now, GiB"), [_row(model) for model in models[:MOST_MODELS]]))
    if len(models) > MOST_MODELS:
        blocks.append(Text(f"and {len(models) - MOST_MODELS} more", muted=True))
    blocks += [Text(text) for text in words.reasons(freed)]
    blocks += [Text(text, muted=True) for text in map(words.others, freed.after.devices) if text]
    return Report(_level(freed), _title(freed), duration(seconds), blocks, _facts(freed, seconds), made_at)


def _level(freed: Freed) -> Level:
    if any(model.fate in {"dead", "still loaded"} for model in freed.models):
        return "warn"
    return "ok" if frees_vram(freed) or frees_ram(freed) else "info"


def _title(freed: Freed) -> str:
    before, after = freed.before.vram_bytes, freed.after.vram_bytes
    if frees_vram(freed):
        still = f"; {gib(after)} is still held" if after >= LEAST else ""
        return f"Freed {gib(freed.vram_freed_bytes)} of {with_unit(gib(before), 'GiB')} VRAM{still}"
    if frees_ram(freed):
        return f"Freed {size(freed.ram_freed_bytes)} RAM"
    if after >= LEAST:
        return f"No VRAM was freed; {with_unit(gib(after), 'GiB')} is still held"
    if freed.before.unreadable:
        return "Done; how much VRAM that freed is not known"
    return "No RAM was freed" if not freed.before.devices else "Nothing to free: this process holds no VRAM"


def _memory(freed: Freed) -> Table:
    rows = []
    for before, after in zip(freed.before.devices, freed.after.devices):
        cells = gib(before.held_bytes), gib(after.held_bytes), gib(before.held_bytes - after.held_bytes)
        cache = f"of it torch cache {gib(before.cache_bytes)} before, {gib(after.cache_bytes)} after"
        rows.append(Row((f"VRAM {before.device}", *cells), note=cache))
    for device in freed.before.unreadable:
        rows.append(Row((f"VRAM {device}", "n/a", "n/a", "n/a"), note="this kind of device does not report it"))
    ram = gib(freed.before.ram_bytes), gib(freed.after.ram_bytes), gib(freed.ram_freed_bytes)
    rows.append(Row(("RAM", *ram)))
    return Table(("Memory", "Before, GiB", "After, GiB", "Freed, GiB"), rows)


def _row(model: ModelFate) -> Row:
    # Nothing is loaded of a model that is gone.
    loaded = "n/a" if model.after_bytes is None else gib(model.after_bytes)
    pinned = f"; {with_unit(gib(model.pinned_bytes), 'GiB')} of RAM stays pinned" if model.pinned_bytes >= LEAST else ""
    return Row(
        (model.name, gib(model.size_bytes), loaded), words.note(model) + pinned, model.fate in {"unloaded", "gone"}
    )


def _facts(freed: Freed, seconds: float) -> dict[str, Any]:
    def figures(device: DeviceMemory) -> dict[str, Any]:
        return {**asdict(device), "held_bytes": device.held_bytes, "others_bytes": device.others_bytes}

    devices = [
        {"device": before.device, "before": figures(before), "after": figures(after)}
        for before, after in zip(freed.before.devices, freed.after.devices)
    ]
    return {
        "free": freed.choice,
        "vram_before_bytes": freed.before.vram_bytes if devices else None,
        "vram_after_bytes": freed.after.vram_bytes if devices else None,
        "vram_freed_bytes": freed.vram_freed_bytes if devices else None,
        "ram_before_bytes": freed.before.ram_bytes,
        "ram_after_bytes": freed.after.ram_bytes,
        "ram_freed_bytes": freed.ram_freed_bytes,
        "devices": devices,
        "unreadable_devices": list(freed.before.unreadable),
        "models": [model.as_json() for model in freed.models],
        "drops_cached_outputs": freed.drops_outputs,
        "seconds": seconds,
    }
