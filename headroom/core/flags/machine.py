"""The machine beside ComfyUI: other programs on the card, the driver, the disk."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ..readings import Device, Program
from ..units import GIB
from .rule import Params, Rule, Wording, conditions
from .view import View

#: Smaller than this is a desktop: an idle card shows 0.3 to 0.9 GiB (gpustat #141).
PROGRAM_BYTES = GIB // 2
ESTIMATED_BYTES = GIB
SHARE_OF_CARD = 0.03
#: Part of a program's name -> how it is called, and the variant of the rule that says how to release it.
PROGRAMS = (
    ("ollama", "Ollama", "ollama"),
    ("llama-server", "llama-server", "server"),
    ("llama.cpp", "llama.cpp", "server"),
    ("lm studio", "LM Studio", "server"),
    ("koboldcpp", "KoboldCpp", "server"),
    ("vllm", "vLLM", "server"),
    ("chrome", "Chrome", "browser"),
    ("msedge", "Edge", "browser"),
    ("firefox", "Firefox", "browser"),
    ("brave", "Brave", "browser"),
    ("python", "Another Python program", "python"),
)
#: Texts of the NVML library (nvmlErrorString).
VERSION_MISMATCH = ("driver/library version mismatch", "lib_rm_version_mismatch", "librmversionmismatch")
NVML_LOST = ("failed to initialize nvml: unknown error", "nvml: unknown error", "nvmlerror_unknown")


def _named(program: Program) -> tuple[str, str]:
    """How a program is called, and the variant that releases it."""
    name = program.name.replace("\\", "/").rpartition("/")[2]
    for part, label, variant in PROGRAMS:
        if part in name.lower():
            return label, variant
    return name.removesuffix(".exe") or "another program", "other"


def _is_large(size: int | None, device: Device, least: int) -> bool:
    total = device.total_bytes
    return size is not None and size >= least and (total is None or size >= total * SHARE_OF_CARD)


def _other_program(view: View) -> Params | None:
    device = view.gpu
    if device is None or device.unified:
        return None
    programs = [one for one in device.programs or () if _is_large(one.used_bytes, device, PROGRAM_BYTES)]
    if programs:
        return _program_params(view, max(programs, key=lambda one: one.used_bytes or 0), device)
    unnamed = device.others_estimated is True and _is_large(device.others_bytes, device, ESTIMATED_BYTES)
    if not unnamed:
        return None
    return {"used_bytes": device.others_bytes, "device": device.index, "variant": "unnamed"}


def _program_params(view: View, program: Program, device: Device) -> Params:
    label, variant = _named(program)
    if variant in {"server", "python", "other"} and program.pid is None:
        variant = "no-pid"
    elif view.windows:
        variant += "-windows"
    known = {"pid": str(program.pid)} if program.pid is not None else {}
    all_of_them = view.others_bytes or program.used_bytes
    params = {"program": label, "used_bytes": program.used_bytes, "device": device.index, "variant": variant}
    return {**params, "others_bytes": all_of_them, **known}


def _two_comfyui(view: View) -> Params | None:
    """Quiet where the start line already gives each its share."""
    others = view.snapshot.processes
    if not others or view.card_bytes is None or view.given(("--vram-headroom", "--reserve-vram", "--cuda-device")):
        return None
    keep = round(view.card_bytes / GIB * others / (others + 1))
    return {"count": others, "keep": keep, **({"variant": "static"} if view.dynamic is False else {})}


def _reasons(view: View) -> Iterable[str]:
    reasons: list[Mapping[str, str]] = [view.host.reasons, *(device.reasons for device in view.snapshot.devices)]
    reasons += [device.reasons for device in view.snapshot.unused_devices]
    return (text.lower() for found in reasons for text in found.values())


def _any_reason(view: View, words: Iterable[str]) -> bool:
    return any(word in text for text in _reasons(view) for word in words)


def _fast_disk_rotating(view: View) -> Params | None:
    turns = view.host.models_on_rotating_disk
    return {} if view.has("--fast-disk") and turns is True and view.dynamic is not False else None


_KILL = "kill {pid}"
_TASKKILL = "taskkill /PID {pid}"
_OLLAMA_FIX = "Stop its models; with `keep_alive` 0 in a request it lets go of one at once."
_SERVER_FIX = "Stop it while ComfyUI runs."
_SECOND_FIX = "If it is a second ComfyUI, leave each its share of the card; else stop it."
_BROWSER_FIX = "Turn off hardware acceleration in its settings, or close it."

RULES = (
    Rule(
        id="driver-mismatch",
        severity="problem",
        rank=40,
        when=conditions(lambda view: _any_reason(view, VERSION_MISMATCH)),
        title="The NVIDIA driver was updated and its old part still runs",
        why="The library and the part in the kernel are of different versions, so nothing can be read of the card.",
        fix="Restart the machine.",
        command="sudo reboot",
        check="`nvidia-smi` lists the card.",
        source="wookayin/gpustat #147; Syllo/nvtop #95",
    ),
    Rule(
        id="nvml-lost",
        severity="problem",
        rank=45,
        when=conditions(lambda view: view.host.platform == "linux" and _any_reason(view, NVML_LOST)),
        title="The container lost its GPU",
        why=(
            "`systemctl daemon-reload` on the machine takes the devices from running containers. What is loaded goes "
            "on, but nothing can be read, and a restart of ComfyUI alone finds no card."
        ),
        fix="Restart the container.",
        command="docker restart NAME",
        check="`nvidia-smi` in the container lists the card.",
        source="NVIDIA/nvidia-container-toolkit #48, #251, #1227",
    ),
    Rule(
        id="other-program",
        severity="warning",
        rank=280,
        when=_other_program,
        title="{program} holds {used_bytes} on GPU {device}",
        why="Other programs hold {others_bytes} there. ComfyUI has that much less for weights and for a run.",
        check="The line for other programs in the panel falls.",
        source="Ollama, FAQ (keep_alive); ComfyUI #14396",
        variants={
            "ollama": Wording(
                fix=_OLLAMA_FIX, command="ollama ps | awk 'NR > 1 {{print $1}}' | xargs -r -n 1 ollama stop"
            ),
            "ollama-windows": Wording(
                fix=_OLLAMA_FIX,
                command="for /f \"skip=1\" %m in ('ollama ps') do ollama stop %m",
            ),
            "server": Wording(fix=_SERVER_FIX, command=_KILL),
            "server-windows": Wording(fix=_SERVER_FIX, command=_TASKKILL),
            "python": Wording(fix=_SECOND_FIX, command=_KILL),
            "python-windows": Wording(fix=_SECOND_FIX, command=_TASKKILL),
            "browser": Wording(fix=_BROWSER_FIX),
            "browser-windows": Wording(fix=_BROWSER_FIX),
            "other": Wording(fix="Close it if it is not needed.", command=_KILL),
            "other-windows": Wording(fix="Close it if it is not needed.", command=_TASKKILL),
            "no-pid": Wording(fix="Close it if it is not needed."),
            "unnamed": Wording(
                title="Other programs hold about {used_bytes} on GPU {device}",
                why="The driver does not say which here: it is what ComfyUI and the driver leave over.",
                fix='Look at the details of the task manager, column "Dedicated GPU memory", or at `nvidia-smi`.',
                command="nvidia-smi",
            ),
        },
    ),
    Rule(
        id="fast-disk-rotating",
        severity="warning",
        rank=295,
        when=_fast_disk_rotating,
        title="`--fast-disk`, and the models lie on a rotating disk",
        why="The flag reads weights from the disk again instead of keeping them in RAM; such a disk gives 0.2 GB/s.",
        check="The time per step falls.",
        source="comfy/cli_args.py 0.30.0, help of --fast-disk",
        remove=("--fast-disk",),
    ),
    Rule(
        id="two-comfyui",
        severity="info",
        rank=670,
        when=_two_comfyui,
        title="Other ComfyUI processes on this machine: {count}",
        why="Each loads its own models and counts with all of the card and the RAM; nothing is shared.",
        fix="That leaves the others their share. On a machine with more cards give each its own with `--cuda-device`.",
        otherwise="Give each its own card.",
        check="VRAM in use while both run a prompt.",
        source="ComfyUI #3292",
        add=("--vram-headroom {keep:g}", "--reserve-vram {keep:g}"),
        variants={"static": Wording(add=("--reserve-vram {keep:g}",))},
    ),
)
