"""A VAE and a host that fail as told, with a GPU that is not there.

``ScriptedVae`` behaves as comfy.sd.VAE 0.30.0 does where the ladder can see it: it works in batch chunks, judges
nothing, clamps in ``process_output``, swallows torch.OutOfMemoryError and retries in tiles of 64 (2-D) by itself. It is
a subset: no blending (its tiles do not overlap in the output). The picture it gives for a latent is
``latent[:, :3] * 2`` at the same size (a decode has ratio 1 in the tensors; ``upscale_ratio`` is only what it claims).
The latent it gives for images is every 8th pixel and every 4th frame of them, with the first channel twice.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass, field

import torch

GIB = 2**30


@dataclass
class Call:
    """One call of the decoder, as the rule sees it."""

    samples: torch.Tensor
    dtype: torch.dtype
    device: str
    number: int

    @property
    def area(self) -> int:
        """Elements of one channel of one item: latent elements of a decode, pixels of an encode."""
        return self.samples[0, 0].numel()


Rule = Callable[[Call], "torch.Tensor | None"]
"""Raises, or returns the output; None for the normal picture."""


class AutoencoderKL:
    """The module; its name is that of the real one, since estimates go by it."""

    def __init__(self, rule: Rule, log: list[str]) -> None:
        self.rule, self.log, self.device = rule, log, "cuda:0"
        self.calls = 0
        self.weight = torch.ones(1)

    def decode(self, samples: torch.Tensor, **_options: object) -> torch.Tensor:
        """The scripted answer, else the picture."""
        out = self._answer("decode", samples)
        return samples[:, :3].float() * 2 if out is None else out

    def encode(self, pixels: torch.Tensor, **_options: object) -> torch.Tensor:
        """The scripted answer, else the latent."""
        out = self._answer("encode", pixels)
        return thinned(pixels).float() if out is None else out

    def _answer(self, what: str, given: torch.Tensor) -> torch.Tensor | None:
        call = Call(given, given.dtype, self.device, self.calls)
        self.calls += 1
        self.log.append(f"{what} {tuple(given.shape)} {str(given.dtype)[6:]} {self.device}")
        return self.rule(call)


class WanVAE(AutoencoderKL):
    """A video module, causal in time."""


class VideoVAE(AutoencoderKL):
    """A video module that may be cut in time."""


def picture(samples: torch.Tensor) -> torch.Tensor:
    """What a sound decode gives: channels last, clamped to 0..1."""
    return (samples[:, :3].float() * 2).clamp(0, 1).movedim(1, -1)


def thinned(pixels: torch.Tensor) -> torch.Tensor:
    """What a sound encode gives for pixels with the channels second."""
    few = pixels[..., ::8, ::8]
    few = few[:, :, ::4] if few.ndim == 5 else few
    return torch.cat((few, few[:, :1]), 1)


class ScriptedVae:
    """See the module's docstring."""

    def __init__(
        self,
        rule: Rule | None = None,
        dtype: torch.dtype = torch.bfloat16,
        device: str = "cuda:0",
        module: type[AutoencoderKL] = AutoencoderKL,
        batch: int = 8,
    ) -> None:
        self.log: list[str] = []
        self.first_stage_model = module(rule or (lambda _call: None), self.log)
        self.first_stage_model.device = device
        self.vae_dtype, self.device, self.output_device = dtype, torch.device(device), torch.device("cpu")
        self.working_dtypes = [torch.bfloat16, torch.float32]
        self.latent_channels = 4
        self.latent_dim = 2 if module is AutoencoderKL else 3
        self.upscale_ratio = 8 if self.latent_dim == 2 else (lambda frames: frames * 4 - 3, 8, 8)
        self.downscale_ratio = 8 if self.latent_dim == 2 else (lambda frames: (frames + 3) // 4, 8, 8)
        self.not_video, self.format_encoded = False, None
        self.handles_tiling = False
        self.extra_1d_channel = None
        self.output_channels = 3
        self.batch = batch
        self.patcher = object()
        self.process_output = lambda image: image.clamp_(0, 1)
        self.memory_used_decode = lambda shape, dtype: shape[-1] * shape[-2] * 1000 * dtype.itemsize
        self.memory_used_encode = lambda shape, dtype: shape[-1] * shape[-2] * 20 * dtype.itemsize
        self.seen_reservations: list[int] = []

    def decode(self, samples: torch.Tensor) -> torch.Tensor:
        """The host's full decode with its hidden retry."""
        out: torch.Tensor | None = None
        retry = False
        try:
            self.seen_reservations.append(self.memory_used_decode(samples.shape, self.vae_dtype))
            for start in range(0, samples.shape[0], self.batch):
                part = samples[start : start + self.batch].to(self.vae_dtype)
                decoded = self.first_stage_model.decode(part)
                if out is None:
                    out = torch.empty((samples.shape[0], *decoded.shape[1:]))
                out[start : start + self.batch].copy_(decoded)
                self.process_output(out[start : start + self.batch])
        except torch.OutOfMemoryError:
            retry = True
        if retry:
            return (self.decode_tiled_ if samples.ndim == 4 else self.decode_tiled_3d)(samples).movedim(1, -1)
        assert out is not None
        return out.movedim(1, -1)

    def decode_tiled(self, samples, tile_x=None, tile_y=None, overlap=None, tile_t=None, overlap_t=None):
        """The host's explicit tiled decode."""
        self.seen_reservations.append(self.memory_used_decode(samples.shape, self.vae_dtype))
        if self.handles_tiling:
            return self._decode_tiled_owned(samples).movedim(1, -1)
        if samples.ndim == 4:
            return self.decode_tiled_(samples, tile_x, tile_y, overlap).movedim(1, -1)
        return self.decode_tiled_3d(samples, tile_t or 999, tile_x, tile_y, overlap).movedim(1, -1)

    def decode_tiled_(self, samples, tile_x=64, tile_y=64, overlap=16):
        """Three grids, as the host; here only the last one counts and the others are not walked."""
        return self._grid(samples, 999, tile_y)

    def decode_tiled_3d(self, samples, tile_t=999, tile_x=32, tile_y=32, overlap=(1, 8, 8)):
        """One grid."""
        return self._grid(samples, tile_t, tile_x)

    def decode_tiled_1d(self, samples):
        """Never for images."""
        raise AssertionError("an image latent in the 1-D path")

    def _decode_tiled_owned(self, samples):
        out = self.first_stage_model.decode_tiled(samples.to(self.vae_dtype))
        return self.process_output(out.float())

    def _grid(self, samples, frames, side):
        rows = []
        for item in samples.split(1):
            out = torch.zeros((1, 3, *item.shape[2:]))
            for t in range(0, item.shape[2] if item.ndim == 5 else 1, frames):
                for y in range(0, item.shape[-2], side):
                    for x in range(0, item.shape[-1], side):
                        where = (..., slice(y, y + side), slice(x, x + side))
                        if item.ndim == 5:
                            where = (slice(None), slice(None), slice(t, t + frames), *where[1:])
                        out[where] = self.first_stage_model.decode(item[where].to(self.vae_dtype)).float()
            rows.append(out)
        return self.process_output(torch.cat(rows))

    # ---- encode ----

    def vae_encode_crop_pixels(self, pixels):
        """Sides to a multiple of 8, cut evenly; no more than three channels."""
        for dim in (1, 2):
            rest = pixels.shape[dim] % 8
            pixels = pixels.narrow(dim, rest // 2, pixels.shape[dim] - rest)
        return pixels[..., :3]

    def encode(self, pixels: torch.Tensor) -> torch.Tensor:
        """The host's full encode with its hidden retry."""
        given = self._for_module(pixels)
        out: torch.Tensor | None = None
        retry = False
        try:
            self.seen_reservations.append(self.memory_used_encode(given.shape, self.vae_dtype))
            for start in range(0, given.shape[0], self.batch):
                encoded = self.first_stage_model.encode(given[start : start + self.batch].to(self.vae_dtype))
                if out is None:
                    out = torch.empty((given.shape[0], *encoded.shape[1:]))
                out[start : start + self.batch] = encoded
        except torch.OutOfMemoryError:
            retry = True
        if retry:
            out = (self.encode_tiled_ if given.ndim == 4 else self.encode_tiled_3d)(given)
        assert out is not None
        return out if self.format_encoded is None else self.format_encoded(out)

    def encode_tiled(self, pixels, tile_x=None, tile_y=None, overlap=None, tile_t=None, overlap_t=None):
        """The host's explicit tiled encode; all sizes in pixels and frames."""
        given = self._for_module(pixels)
        self.seen_reservations.append(self.memory_used_encode(given.shape, self.vae_dtype))
        if self.handles_tiling and given.ndim == 5:
            out = self._encode_tiled_owned(given)
        elif given.ndim == 4:
            out = self.encode_tiled_(given, tile_x, tile_y, overlap)
        else:
            out = self.encode_tiled_3d(given, tile_t or 9999, tile_x, tile_y, overlap)
        return out if self.format_encoded is None else self.format_encoded(out)

    def encode_tiled_(self, given, tile_x=512, tile_y=512, overlap=64):
        """Three grids, as the host; here only one counts and the others are not walked."""
        return self._encoded_grid(given, 9999, tile_y)

    def encode_tiled_3d(self, given, tile_t=9999, tile_x=512, tile_y=512, overlap=(1, 64, 64)):
        """One grid."""
        return self._encoded_grid(given, tile_t, tile_x)

    def encode_tiled_1d(self, given):
        """Never for images."""
        raise AssertionError("images in the 1-D path")

    def _encode_tiled_owned(self, given):
        return self.first_stage_model.encode_tiled(given.to(self.vae_dtype)).float()

    def _for_module(self, pixels):
        channels_second = self.vae_encode_crop_pixels(pixels).movedim(-1, 1)
        if self.latent_dim == 2:
            return channels_second
        return channels_second.unsqueeze(2) if self.not_video else channels_second.movedim(1, 0).unsqueeze(0)

    def _encoded_grid(self, given, frames, side):
        """In time a tile shares its first frame with the one before, so that each starts at a multiple of four."""
        rows = []
        for item in given.split(1):
            out = torch.zeros_like(thinned(item))
            length = item.shape[2] if item.ndim == 5 else 1
            for t in range(0, max(1, length - 1), max(1, frames - 1)):
                for y in range(0, item.shape[-2], side):
                    for x in range(0, item.shape[-1], side):
                        space = (slice(y, y + side), slice(x, x + side))
                        time = (slice(t, t + frames),) if item.ndim == 5 else ()
                        ps = self.first_stage_model.encode(
                            item[(slice(None), slice(None), *time, *space)].to(self.vae_dtype)
                        )
                        where = out[..., y // 8 : (y + side) // 8, x // 8 : (x + side) // 8]
                        where = where[:, :, t // 4 : t // 4 + ps.shape[2]] if item.ndim == 5 else where
                        where.copy_(ps)
            rows.append(out)
        return torch.cat(rows)


@dataclass
class ScriptedHost:
    """The host's side; its calls go to ``events``, which is best the log of the VAE."""

    events: list[str]
    free: dict[str, int | None] = field(default_factory=lambda: {"cuda:0": 100 * GIB, "cpu": 100 * GIB})
    evictable: int = 0
    bf16: bool = True
    spills_silently: bool = False
    saved: list[torch.Tensor] = field(default_factory=list)
    interrupt_after: int | None = None
    checks: int = 0

    def free_bytes(self, device):
        """As told."""
        return self.free.get(str(device))

    def evictable_bytes(self, vae):
        """As told."""
        return self.evictable

    def evict_others(self, vae):
        """Adds what was evictable to what is free."""
        self.events.append("evict others")
        if self.free["cuda:0"] is not None:
            self.free["cuda:0"] += self.evictable
        self.evictable = 0

    def supports_bf16(self, device):
        """As told; never on the CPU."""
        return self.bf16 and torch.device(device).type != "cpu"

    def widened(self, vae, dtype, device):
        """A copy with its own module, as the real one makes."""
        self.events.append(f"widen to {str(dtype)[6:]} on {device}")
        private = copy.copy(vae)
        private.first_stage_model = copy.copy(vae.first_stage_model)
        private.first_stage_model.device = str(device)
        private.vae_dtype, private.device = dtype, torch.device(device)
        return private

    def release(self, private_vae):
        """Counted."""
        self.events.append("release")

    def check_interrupt(self):
        """Raises after as many checks as told."""
        self.checks += 1
        if self.interrupt_after is not None and self.checks > self.interrupt_after:
            raise Interrupted

    def progress_bar(self, total):
        """Logged."""
        self.events.append(f"progress bar of {total}")
        return lambda done: self.events.append(f"progress {done}")

    def start_peak(self, device):
        """Nothing to measure."""

    def peak_bytes(self, device):
        """Nothing was measured."""
        return

    def save_latent(self, samples):
        """Kept in ``saved``."""
        self.events.append("save latent")
        self.saved.append(samples.clone())
        return "latents/headroom_00001_.latent"

    def log(self, text):
        """Logged."""
        self.events.append(text)


class Interrupted(BaseException):
    """As the host's InterruptProcessingException: no ``except Exception`` catches it."""


def out_of_memory(limit: int, device: str | None = None) -> Rule:
    """Out of memory for more than ``limit`` latent elements at once (times the batch), on ``device`` or everywhere."""

    def rule(call: Call) -> None:
        if (device is None or call.device == device) and call.area * call.samples.shape[0] > limit:
            raise torch.OutOfMemoryError(
                "CUDA out of memory. Tried to allocate 3.10 GiB. GPU 0 has a total capacity of 15.47 GiB of which "
                "1.90 GiB is free."
            )

    return rule
