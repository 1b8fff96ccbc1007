"""Why memory was freed or not, in words: what became of each model, and what is left for which reason."""

from __future__ import annotations

from .choices import CACHE, OUTPUTS
from .freeing import DeviceMemory, Freed, ModelFate
from .units import GIB, MIB, gib, with_unit

#: A process's resident set moves by some MiB by itself.
RAM_NOISE = 16 * MIB
#: Less reads as 0.0 GiB.
LEAST = GIB // 20
#: Cache that is left after it was emptied, from which on it is worth a word.
FRAGMENTS = 256 * MIB


def frees_vram(freed: Freed) -> bool:
    """Enough VRAM came free to be shown."""
    return freed.vram_freed_bytes >= LEAST


def frees_ram(freed: Freed) -> bool:
    """More RAM came free than a process moves by itself."""
    return (freed.ram_freed_bytes or 0) >= RAM_NOISE


def note(model: ModelFate) -> str:
    """What became of a model."""
    if model.fate == "kept":
        return "kept: it passes through" if model.passes else f"kept: connected to {model.kept_by}"
    if model.fate == "dead":
        return "not freed: ComfyUI lost its patcher while something still holds the weights"
    if model.fate == "still loaded":
        return "not freed: ComfyUI still lists it as loaded"
    if model.fate == "parked":
        return f"unloaded, but `--highvram` or `--gpu-only` keeps its weights on {model.device}"
    if model.fate == "gone":
        return "gone: nothing held it any more"
    if model.on_cpu:
        return "unloaded; it runs on the CPU, so its weights stay in RAM"
    again = "; loaded again when it is used" if model.passes else ""
    return f"unloaded; a cached node output keeps its weights in RAM{again}"


def reasons(freed: Freed) -> list[str]:
    """What could not be freed and why, and what comes later."""
    texts = []
    if not freed.models and freed.choice != CACHE:
        texts.append("No model was loaded.")
    left = [model for model in freed.models if model.fate == "unloaded" and model.on_cpu]
    if left and not frees_ram(freed):
        texts.append(
            "Unloading a model that runs on the CPU frees no RAM: its weights stay there as long as a cached node "
            "output holds them."
        )
    if (freed.ram_freed_bytes or 0) <= -LEAST and frees_vram(freed):
        grown = with_unit(gib(-(freed.ram_freed_bytes or 0)), "GiB")
        texts.append(f"RAM grew by {grown}: the weights that left VRAM are kept there for the next use.")
    if any(model.fate == "dead" for model in freed.models):
        texts.append("Start ComfyUI again to free a model that lost its patcher.")
    for device in freed.after.devices:
        texts += _still_held(device, freed)
    if freed.choice == CACHE and not freed.before.devices and not freed.before.unreadable:
        texts.append("There is no torch cache here: only garbage was collected.")
    if freed.drops_outputs:
        texts.append(
            "ComfyUI drops the cached outputs of all nodes when this prompt has ended. The RAM they hold is not in "
            "these figures, and the next run computes every node again."
        )
    elif freed.choice == OUTPUTS:
        texts.append("There is no prompt queue here, so ComfyUI's cached outputs stay.")
    return texts


def _still_held(device: DeviceMemory, freed: Freed) -> list[str]:
    """Why memory is left on a device beside the models that were kept."""
    texts = []
    if device.cache_bytes >= FRAGMENTS:
        texts.append(
            f"{with_unit(gib(device.cache_bytes), 'GiB')} of torch's cache on {device.device} could not be given back: "
            "its blocks are in use in part (fragmentation)."
        )
    loaded = sum(model.after_bytes or 0 for model in freed.models if model.device == device.device)
    rest = device.tensors_bytes + device.pages_bytes - loaded
    if freed.choice != CACHE and rest >= LEAST:
        texts.append(
            f"{with_unit(gib(rest), 'GiB')} on {device.device} is in tensors of other nodes, which only they can free."
        )
    return texts


def others(device: DeviceMemory) -> str:
    """What is not ours on a device; empty where it does not tell."""
    if device.others_bytes is None:
        return ""
    held = with_unit(gib(device.others_bytes), "GiB")
    return f"Other programs and the driver hold {held} on {device.device}; they are not touched."
