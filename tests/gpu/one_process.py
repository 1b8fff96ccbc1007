"""A process of its own that reads the devices and waits, so that others can be asked about it meanwhile.

``closed`` reads without a GPU context, ``opened`` holds one tensor of ``HELD_BYTES``, ``full`` asks for more than
there is and reads while that error is handled. Writes one line of JSON, and ends when its input is closed.
"""

from __future__ import annotations

import dataclasses
import json
import os
import sys
import time
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).resolve().parent.parent.parent))

HELD_BYTES = 2**30
TOO_MUCH_BYTES = 2**44


def read() -> dict[str, Any]:
    """The devices, those that are not used, and how long it took."""
    from headroom.host.devices import read_devices
    from headroom.host.ram import read_ram

    began = time.monotonic()
    used, unused = read_devices(read_ram())
    found: dict[str, Any] = {"seconds": time.monotonic() - began}
    return found | {"devices": [dataclasses.asdict(one) for one in used], "unused": len(unused)}


def run_out() -> dict[str, Any]:
    """An allocation that fails, and a reading before its exception is let go of."""
    import torch

    from headroom.core.oom import figures, is_oom_text
    from headroom.host.peaks import Peaks

    peaks = Peaks()
    peaks.restart()
    kept = torch.empty(HELD_BYTES, dtype=torch.uint8, device="cuda")
    peak, of_it = peaks.read()
    try:
        torch.empty(TOO_MUCH_BYTES, dtype=torch.uint8, device="cuda")
    except torch.OutOfMemoryError as error:
        before = torch.cuda.memory_allocated()
        said, text = figures(str(error)), str(error)
        found = {"asked": said.asked_bytes, "free": said.free_bytes, "is_oom": is_oom_text(text), "text": text}
        found |= read() | {"added": torch.cuda.memory_allocated() - before, "peak": peak, "of_it": of_it}
        assert kept.numel() == HELD_BYTES
        return found
    return {"is_oom": False}


def main() -> None:
    """One reading, and then the wait."""
    if sys.argv[1] == "full":
        found = run_out()
    elif sys.argv[1] == "opened":
        import torch

        held = torch.empty(HELD_BYTES, dtype=torch.uint8, device="cuda")
        found = read() | {"held": held.numel()}
    else:
        found = read()
    torch = sys.modules.get("torch")
    opened = torch is not None and torch.cuda.is_initialized()
    sys.stdout.write(json.dumps({**found, "pid": os.getpid(), "opened": opened}) + "\n")
    sys.stdout.flush()
    sys.stdin.read()


if __name__ == "__main__":
    main()
