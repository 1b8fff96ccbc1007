"""RAM: limits that ComfyUI does not read, swap and pinned memory; the switch between models is in ``ram_switch``."""

from __future__ import annotations

from ..units import GIB
from .rule import Params, Rule, Wording
from .view import View

#: The share of RAM that ComfyUI pins at most (comfy/model_management.py 0.30.0, MAX_PINNED_MEMORY).
PIN_SHARE_WINDOWS = 0.40
PIN_SHARE = 0.90
ENOUGH_RAM_BYTES = 60 * GIB
#: Flags with which ComfyUI 0.30.0 does not let cached results and pins go while RAM is short: main.py, prompt_worker,
#: and execution.py, where only CacheType.RAM_PRESSURE does. Other versions were not read.
KEEP_RESULTS = ("--high-ram", "--cache-classic", "--cache-lru")
RELEASES_SINCE = (0, 30)


def _cgroup_unread(view: View) -> Params | None:
    total, machine = view.ram.total_bytes, view.ram.machine_bytes
    if view.host.reads_memory_limit is not False or total is None or machine is None or view.cpu:
        return None
    pins = not view.has("--disable-pinned-memory") and view.host.platform != "macos"
    bounded = view.given(("--cache-lru", "--cache-none"))
    if total >= machine or bounded:
        return None
    params = {"machine_bytes": machine, "limit_bytes": total}
    return {**params, "pin_bytes": int(machine * PIN_SHARE), "variant": "pins"} if pins else params


def _wsl_pinned(view: View) -> Params | None:
    """ComfyUI pins 90 % of what WSL sees of the RAM, and WSL's own limit is lower."""
    total = view.ram.total_bytes
    if view.host.platform != "wsl" or view.has("--disable-pinned-memory") or view.gpu is None or total is None:
        return None
    return {"pin_bytes": int(total * PIN_SHARE), "ram_bytes": total} if view.gpu.kind in {"cuda", "rocm"} else None


def _pinned_high(view: View) -> Params | None:
    pinned, total = view.ram.pinned_bytes, view.ram.total_bytes
    if pinned is None or total is None or view.has("--disable-pinned-memory"):
        return None
    share = PIN_SHARE_WINDOWS if view.windows else PIN_SHARE
    return {"pinned_bytes": pinned, "ram_bytes": total} if pinned > total * share else None


def _no_swap(view: View) -> Params | None:
    total = view.ram.total_bytes
    if view.ram.swap_total_bytes != 0 or total is None or view.gpu is None or total >= ENOUGH_RAM_BYTES:
        return None
    return {"ram_bytes": total, **({"variant": "windows"} if view.windows else {})}


def _swap_filling(view: View) -> Params | None:
    used, swap = view.ram.swap_used_bytes, view.ram.swap_total_bytes
    free, total = view.ram.available_bytes, view.ram.total_bytes
    if used is None or not swap or free is None or not total or view.gpu is None:
        return None
    if used < 0.75 * swap or free > 0.15 * total:
        return None
    params = {"used_bytes": used, "swap_bytes": swap, "free_bytes": free}
    if view.version is None or view.version < RELEASES_SINCE:
        return params
    return {**params, "variant": "kept" if view.given(KEEP_RESULTS) else "released"}


RULES = (
    Rule(
        id="cgroup-unread",
        severity="problem",
        rank=55,
        when=_cgroup_unread,
        title="ComfyUI counts {machine_bytes} RAM but may use {limit_bytes}",
        why="{comfyui} does not read the container's limit. Past it Linux ends the process (exit code 137).",
        check="RAM of this process stays below {limit_bytes} over three runs.",
        source="ComfyUI #14938, PR#15927",
        otherwise="Give the container more memory, or load smaller files.",
        add=("--cache-lru 4",),
        variants={
            "pins": Wording(
                why=(
                    "{comfyui} does not read the container's limit: it may pin up to {pin_bytes} alone. Past the limit "
                    "Linux ends the process (exit code 137)."
                )
            )
        },
    ),
    Rule(
        id="swap-filling",
        severity="warning",
        rank=285,
        when=_swap_filling,
        title="{used_bytes} of {swap_bytes} swap are used, and {free_bytes} RAM are left",
        why="When both are full the system ends a program, most often the largest one.",
        fix="Results of earlier nodes then do not stay in RAM; the cost is that every run executes every node again.",
        otherwise="Use smaller files, close other programs, or add RAM.",
        check="Swap in use stays flat over three runs.",
        source="ComfyUI #7036, #5177; main.py and execution.py 0.30.0",
        add=("--cache-none",),
        variants={
            "released": Wording(
                why=(
                    "When both are full the system ends a program, most often the largest one. ComfyUI already lets "
                    "go of results and pinned weights while RAM is short."
                ),
                fix="Use smaller files, close other programs, or add RAM.",
                add=(),
            ),
            "kept": Wording(
                fix="ComfyUI then lets go of results and pinned weights while RAM is short.",
                remove=KEEP_RESULTS,
                add=(),
            ),
        },
    ),
    Rule(
        id="pinned-high",
        severity="warning",
        rank=290,
        when=_pinned_high,
        title="{pinned_bytes} of {ram_bytes} RAM are pinned",
        why="Pinned memory can neither be swapped nor given to another program, and the system limits it.",
        otherwise="Use smaller files, or add RAM.",
        check="RAM in use falls when no prompt runs.",
        source="ComfyUI #10542, PR#10597, PR#10638",
        add=("--disable-pinned-memory",),
    ),
    Rule(
        id="wsl-pinned",
        severity="info",
        rank=685,
        when=_wsl_pinned,
        title="ComfyUI may pin {pin_bytes} of the {ram_bytes} RAM that WSL has",
        why="Under WSL pinning can fail in a way that ends the process, with GiB free, and that nothing can catch.",
        fix="Needed only if ComfyUI ends with AcceleratorError.",
        otherwise="Give WSL more memory in `.wslconfig`.",
        check="The same run ends without AcceleratorError.",
        source="ComfyUI #11531",
        add=("--disable-pinned-memory",),
    ),
    Rule(
        id="no-swap",
        severity="info",
        rank=695,
        when=_no_swap,
        title="No swap beside {ram_bytes} of RAM",
        why="Reading a large model can take more RAM for a moment; without swap the system ends ComfyUI then.",
        fix="Add a swap file.",
        command="sudo fallocate -l 32G /swapfile && sudo chmod 600 /swapfile && sudo mkswap /swapfile "
        "&& sudo swapon /swapfile",
        check="`swapon --show` lists it.",
        source="ComfyUI #7036, #5177",
        variants={
            "windows": Wording(
                fix="Let Windows manage the page file: System, Advanced, Performance, Virtual memory.",
                command="SystemPropertiesPerformance",
                check="The task manager shows more committed memory than RAM.",
            )
        },
    ),
)
