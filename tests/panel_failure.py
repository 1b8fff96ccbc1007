"""A failure of a machine that this one is not: a 12 GB card that another program shares."""

from __future__ import annotations

import dataclasses
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "core" / "flags"))

from flag_cases import CASES, RTX_3060
from ui_cards import HTML

from headroom.core.failure import with_fixes
from headroom.core.readings import Failure, Host, LoadedModel, Program, Ram

#: The machine of a run that ended with ComfyUI.
UNFINISHED = CASES["last-run-unfinished"].brings
GIB = 2**30
AT = 1767362551.0
MODEL = LoadedModel("wan2.2_low_noise_14B_fp8.safetensors", "diffusion", "WAN21", "fp8", size_bytes=13 * GIB)
#: What a 12 GB card in trouble looks like: no machine without one can bring it about.
CARD = dataclasses.replace(
    RTX_3060,
    free_bytes=int(0.3 * GIB),
    used_bytes=int(11.7 * GIB),
    own_bytes=int(9.4 * GIB),
    others_bytes=int(2.3 * GIB),
    torch_allocated_bytes=8 * GIB,
    torch_reserved_bytes=9 * GIB,
    # The model that idles: ComfyUI took the rest for enough.
    evictable_bytes=5 * GIB,
    programs=(Program("ollama", int(2.1 * GIB), 5),),
)
ON_A_CARD = with_fixes(
    Failure(
        kind="out-of-memory",
        at=AT,
        node_id="4",
        node_type="VAEDecode",
        message=f"CUDA out of memory. Tried to allocate 3.10 GiB. {HTML}",
        memory="vram",
        asked_bytes=int(3.1 * GIB),
        free_bytes=int(0.3 * GIB),
        devices=(CARD,),
        ram=Ram(total_bytes=32 * GIB, available_bytes=8 * GIB, own_bytes=20 * GIB),
        models=(dataclasses.replace(MODEL, resident_bytes=5 * GIB, device="cuda:0", dynamic=False),),
        running_seconds=14.2,
    ),
    Host(version="0.30.0", dynamic_vram=False, platform="linux"),
)
