"""What the last run showed: an end without a finish, RAM that grows, a driver that spills."""

from __future__ import annotations

from ..units import GIB
from .rule import Params, Rule, Wording
from .view import View

#: 0.85 and 2 GB per run were reported as leaks (ComfyUI #11617; SAM3 #20).
GROWTH_BYTES = GIB // 2
SPILL_BYTES = GIB // 4
#: What helped on a card of 8 GB by trial: 1.2, 2.0 and 2.4 (ComfyUI #4693).
KEEP_FREE = (0.15, 0.30)
PAGE_FILE = "os error 1455"


def _unfinished(view: View) -> Params | None:
    run = view.last_run
    if run.finished is not False:
        return None
    parts = ["oom" if run.oom_kills_rose else "plain"]
    parts += ["node"] if run.node else []
    parts += ["ram"] if run.ram_bytes is not None and view.ram.total_bytes is not None else []
    params = {"node": run.node, "ram_bytes": run.ram_bytes, "total_bytes": view.ram.total_bytes}
    return {**{name: value for name, value in params.items() if value is not None}, "variant": "-".join(parts)}


def _ram_growth(view: View) -> Params | None:
    growth, left = view.last_run.ram_growth_bytes_per_run, view.ram.available_bytes
    if growth is None or growth < GROWTH_BYTES:
        return None
    return {"growth_bytes": growth, **({"runs": left // growth, "variant": "runs"} if left is not None else {})}


def _sysmem_fallback(view: View) -> Params | None:
    spilled, card = view.last_run.spilled_bytes, view.card_bytes
    if spilled is None or spilled < SPILL_BYTES or card is None or not view.windows or view.gpu is None:
        return None
    least, most = (share * card / GIB for share in KEEP_FREE)
    params = {"spilled_bytes": spilled, "card_bytes": card, "keep": round(min(max(spilled / GIB, least), most), 1)}
    return {**params, "variant": "static"} if view.dynamic is False else params


def _page_file(view: View) -> Params | None:
    return {} if PAGE_FILE in (view.last_run.error or "").lower() else None


def _fragmentation(view: View) -> Params | None:
    """Of the moment of a failed allocation: at other times, and since ComfyUI then unloads all models also right after
    it, what torch keeps beside is its cache, which is as it should be.
    """
    failure = view.snapshot.failure
    if failure is None or failure.memory != "vram":
        return None
    gpu = next((device for device in failure.devices if device.kind != "cpu"), None)
    if gpu is None or gpu.torch_reserved_bytes is None or gpu.torch_allocated_bytes is None:
        return None
    kept = gpu.torch_reserved_bytes - gpu.torch_allocated_bytes
    return {"kept_bytes": kept, "allocated_bytes": gpu.torch_allocated_bytes} if kept >= GIB else None


_LESS = "It keeps no result of a node, so less stays in RAM; the cost is that every run executes every node again."
_NODE = "The last run ended in `{node}` without finishing"
_HELD = "ComfyUI held {ram_bytes} of {total_bytes} RAM when that node began. "
_OOM = "The kernel's out-of-memory counter rose: it ended ComfyUI for lack of RAM (exit code 137)."
_PLAIN = "Likely: lack of RAM (exit code 137), a crash in the driver, or it was stopped by hand."


def _endings() -> dict[str, Wording]:
    """How the last run ended: for lack of RAM or for a reason unknown, with node and RAM as far as they are known."""
    found: dict[str, Wording] = {}
    for cause, why, fix, add in (
        ("oom", _OOM, _LESS, ("--cache-none",)),
        ("plain", _PLAIN, "Look at the last lines of ComfyUI's log, and watch RAM in the next run.", ()),
    ):
        for node, title in (("", None), ("-node", _NODE)):
            found[cause + node] = Wording(title=title, why=why, fix=fix, add=add)
            found[f"{cause}{node}-ram"] = Wording(title=title, why=_HELD + why, fix=fix, add=add)
    return found


RULES = (
    Rule(
        id="last-run-unfinished",
        severity="problem",
        rank=50,
        when=_unfinished,
        title="The last run ended without finishing",
        why=_PLAIN,
        otherwise="Use smaller files, or add RAM or swap.",
        check="The same workflow runs to its end.",
        source="YanWenKun/ComfyUI-Docker #123",
        variants=_endings(),
    ),
    Rule(
        id="pagefile-1455",
        severity="problem",
        rank=85,
        when=_page_file,
        title="Windows could not reserve memory for a model: os error 1455",
        why="The page file is too small to read the file beside what is loaded. It has nothing to do with VRAM.",
        fix="Enlarge the page file: System, Advanced, Performance, Virtual memory.",
        command="SystemPropertiesPerformance",
        check="The model loads.",
        source="ComfyUI #8065, #7550, #7069",
    ),
    Rule(
        id="sysmem-fallback",
        severity="warning",
        rank=205,
        when=_sysmem_fallback,
        title="{spilled_bytes} of the last run lay in system memory",
        why=(
            "The Windows driver moves what does not fit the card's {card_bytes} to RAM without an error, and a step "
            "then takes minutes."
        ),
        fix=(
            "Or in the NVIDIA control panel, from driver 546.01: Manage 3D settings, CUDA - Sysmem Fallback Policy, "
            "Prefer No Sysmem Fallback."
        ),
        otherwise=(
            "Raise the value that is given, or set in the NVIDIA control panel from driver 546.01: Manage 3D settings, "
            "CUDA - Sysmem Fallback Policy, Prefer No Sysmem Fallback."
        ),
        check='"Shared GPU memory" in the task manager stays flat during a run.',
        source="ComfyUI #5737, #4693",
        remove=("--reserve-vram",),
        add=("--vram-headroom {keep:g}", "--reserve-vram {keep:g}"),
        variants={"static": Wording(add=("--reserve-vram {keep:g}",))},
    ),
    Rule(
        id="ram-growth",
        severity="warning",
        rank=225,
        when=_ram_growth,
        title="RAM grows by {growth_bytes} per run",
        why="Something keeps what it should let go: a node, or ComfyUI's cache.",
        fix=(
            "Every run executes every node again then. If RAM still grows, a node keeps it: restart ComfyUI now and "
            "then, and look for the node by halves."
        ),
        otherwise="Restart ComfyUI now and then, and look for the node that keeps it by halves.",
        check="RAM of this process stays flat over five runs.",
        source="ComfyUI #11617; ComfyUI-WanVideoWrapper #805, #1986, #1081",
        add=("--cache-none",),
        variants={
            "runs": Wording(
                why=(
                    "Something keeps what it should let go: a node, or ComfyUI's cache. At this rate RAM is full after "
                    "about {runs} more runs."
                )
            )
        },
    ),
    Rule(
        id="fragmentation",
        severity="info",
        rank=687,
        when=_fragmentation,
        title="torch keeps {kept_bytes} that the failed allocation could not use",
        why="Beside {allocated_bytes} in use it holds pieces that are each too small.",
        fix="Free them and run again; an image or a tile a little smaller can also fit.",
        command=(
            'curl -X POST http://127.0.0.1:8188/free -H "Content-Type: application/json" '
            '-d "{{\\"unload_models\\": true, \\"free_memory\\": true}}"'
        ),
        check="The same workflow runs to its end.",
        source="ComfyUI #2982, #9121, PR#11154",
    ),
)
