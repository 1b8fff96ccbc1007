"""What the ladder asks of the running ComfyUI (the LadderHost of headroom/tensors/ladder/options.py)."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable
from typing import Any

import comfy.model_management as management
import comfy.utils
import torch

from . import latents, memory, widen


class ComfyLadderHost:
    """The running ComfyUI, for one node's run."""

    def __init__(self, prompt: Any = None) -> None:
        self._prompt = prompt

    @property
    def spills_silently(self) -> bool:
        """NVIDIA's Windows driver moves VRAM to system memory instead of failing (drivers from 536.40 on)."""
        return sys.platform == "win32" and bool(management.is_nvidia())

    def free_bytes(self, device: torch.device) -> int | None:
        """The host's own figure, torch's cache included. DirectML always says 1 GiB (ComfyUI #5860): unknown."""
        if getattr(management, "directml_enabled", False) and device.type not in ("cpu", "cuda"):
            return None
        try:
            return int(management.get_free_memory(device))
        except Exception:
            logging.debug("Headroom: free memory of %s is unknown", device, exc_info=True)
            return None

    def evictable_bytes(self, vae: Any) -> int:
        """Bytes of other models on the VAE's device; on the CPU nothing is gained by unloading (it stays in RAM)."""
        if vae.device.type == "cpu":
            return 0
        others = [entry for entry in management.current_loaded_models if not memory.is_of(entry, vae.patcher)]
        return sum(int(o.model.loaded_size()) for o in others if o.model is not None and o.device == vae.device)

    def evict_others(self, vae: Any) -> None:
        """Unloads the other models from the VAE's device (see headroom/host/memory.py)."""
        memory.evict([vae.device], [vae.patcher])

    def supports_bf16(self, device: torch.device) -> bool:
        """The host's own rule; it never offers bf16 on the CPU."""
        return bool(management.should_use_bf16(device))

    def widened(self, vae: Any, dtype: torch.dtype, device: torch.device) -> Any:
        """See headroom/host/widen.py."""
        return widen.widened(vae, dtype, device)

    def release(self, private_vae: Any) -> None:
        """Unloads a private VAE, so that its memory is free at once."""
        memory.unload(private_vae.patcher)

    def check_interrupt(self) -> None:
        """Raises InterruptProcessingException (a BaseException) if the user pressed stop."""
        management.throw_exception_if_processing_interrupted()

    def progress_bar(self, total: int) -> Callable[[int], None]:
        """The host's progress bar on the running node."""
        bar = comfy.utils.ProgressBar(total)
        return bar.update_absolute

    def start_peak(self, device: torch.device) -> None:
        """Only CUDA (and ROCm) can tell; the process's peak of RAM cannot be reset."""
        if device.type == "cuda":
            torch.cuda.reset_peak_memory_stats(device)

    def peak_bytes(self, device: torch.device) -> int | None:
        """Most bytes that torch had allocated since ``start_peak``."""
        return int(torch.cuda.max_memory_allocated(device)) if device.type == "cuda" else None

    def save_latent(self, samples: torch.Tensor) -> str:
        """See headroom/host/latents.py."""
        return latents.save(samples, self._prompt)

    def log(self, text: str) -> None:
        """A line in ComfyUI's log."""
        logging.info(text)
