"""What lives at the peak of a VAE decode or encode, per kind, and how much more than that was measured.

``live`` was counted on the classes of ComfyUI 0.30.0 at full size (tests/core/families/test_vae_peaks.py holds the
numbers to them). Convolutions take workspaces beside live tensors, so the real peak is higher: on CUDA the allocator
held 2.05 (fp32) and 2.4 (fp16) times the live bytes for SDXL at 1024x1024 (InvokeAI PR#7674), and 1.4 to 1.5 times
were allocated for Wan 2.1 at 640x480x81 (WanVideoWrapper PR#2042). Kinds that nobody measured get 1 to 2.4.
"""

from __future__ import annotations

from dataclasses import dataclass

LOW, HIGH = 1.0, 2.4
COUNTED = "analysis: 1 to 2.4 times the live tensors, counted on ComfyUI 0.30.0"
MANY = 10**6


@dataclass(frozen=True)
class Live:
    """Live values per position (one latent element of a decode, one pixel of an encode; frames are no positions)."""

    frames: int
    """Holds from this number of latent frames on."""
    base: float
    per_frame: float = 0.0
    """For each latent frame."""


@dataclass(frozen=True)
class PeakRow:
    """How much one or more kinds of VAE take, as multiples of what lives."""

    rows: tuple[str, ...]
    """Ids of families/vaes.py; kinds that are told by their class, dimensions and ratio where no id is known."""
    live: tuple[Live, ...]
    frames: tuple[int, int] = (1, MANY)
    """Latent frames for which it holds, both ends included."""
    low: float = LOW
    high: float = HIGH
    source: str = COUNTED
    width: int | None = None
    """Of the decoder that was counted; one of another width takes as much less or more (ladder: 56.6 KiB per latent
    element at width 32, 226.5 at 128)."""
    high_on_cpu: float | None = None
    """Where the CPU was measured too: its convolutions take less beside the tensors than a card's."""
    by_id: bool = False
    """Another kind has the same class, dimensions and ratio: the id has to be known."""

    def values(self, frames: int) -> float:
        """Live values per position."""
        step = next(step for step in reversed(self.live) if step.frames <= frames or step is self.live[0])
        return step.base + step.per_frame * frames


def _image(values: float) -> tuple[Live, ...]:
    return (Live(1, values),)


IMAGE = (1, 1)
#: CPU, width 128: 226.5 KiB per latent element in fp32 and 129 in bf16, 1.4 and 1.6 times what lives. SDXL 1024x1024 on
#: CUDA: 3232 MB in fp16 and 5568 in fp32, 2.4 and 2.05 times.
_KL = "measured: KL decoder on CPU; SDXL on CUDA (InvokeAI PR#7674)"
_KL_LOW, _KL_HIGH, _KL_CPU = 1.34, 2.55, 1.75

DECODE_ROWS: tuple[PeakRow, ...] = (
    PeakRow(("kl", "kl-plain"), _image(41476), IMAGE, _KL_LOW, _KL_HIGH, _KL, width=128, high_on_cpu=_KL_CPU),
    # The same decoder behind a latent of four times the channels and half the side.
    PeakRow(("flux2",), _image(166144), IMAGE, _KL_LOW, _KL_HIGH, _KL + ", the same decoder", width=128),
    # A batch is its frames, which it decodes together; for each of them.
    PeakRow(("svd",), _image(57856), IMAGE, by_id=True),
    PeakRow(("kl-x4",), _image(10756), IMAGE, _KL_LOW, _KL_HIGH, _KL + ", three of its four levels"),
    PeakRow(("taesd",), _image(12292), IMAGE),
    PeakRow(("stage-a",), _image(8448), IMAGE),
    PeakRow(("stage-c-previewer", "stage-c"), _image(16385), IMAGE),
    PeakRow(("mage",), _image(75264), IMAGE),
    PeakRow(("hunyuan-image",), _image(458752), IMAGE),
    PeakRow(("hunyuan-refiner",), _image(459776), IMAGE, by_id=True),
    PeakRow(
        ("wan-2.1",),
        _image(24976),
        IMAGE,
        # 1024x1024: 4.37 GiB allocated; 768x1152: 3650 MB with the weights: 5.2 to 5.8 times what lives. Since then
        # ComfyUI takes a single picture without padding it to three frames, which nobody has measured.
        5.0,
        7.6,
        "measured: Qwen-Image 1024x1024 and 768x1152 on CUDA (ComfyUI PR#11199, InvokeAI PR#9305)",
        width=96,
    ),
    PeakRow(
        ("wan-2.1",),
        (Live(2, 209504), Live(3, 215616, 784)),
        (2, MANY),
        0.96,
        # 640x480x81 in bf16: 3,389,870,592 bytes, weights included.
        2.0,
        "measured: Wan 2.1 640x480x81 on CUDA (WanVideoWrapper PR#2042)",
        width=96,
    ),
    PeakRow(("wan-2.2",), (Live(1, 288864), Live(2, 916416), Live(3, 978784, 3120))),
    PeakRow(
        ("hunyuan-video",),
        (Live(1, 86886), Live(2, 374590), Live(3, 518833), Live(4, 612471), Live(5, 717238, 1296)),
    ),
    PeakRow(
        ("hunyuan-video-1.5",),
        (Live(1, 165506), Live(2, 657408), Live(3, 1414574), Live(4, 1452298), Live(5, 1925126, 4096)),
        by_id=True,
    ),
    PeakRow(("cogvideox",), (Live(1, 82944), Live(2, 679040), Live(3, 633808, 16448))),
    PeakRow(("mochi",), (Live(1, 82081), Live(2, -213152, 295233))),
    PeakRow(("cosmos",), (Live(1, -1024, 14352), Live(4, -8256, 16529))),
    PeakRow(("tiny-video",), (Live(1, 26880), Live(17, 14592, 768))),
    PeakRow(("tiny-video-16",), (Live(1, 26880), Live(5, 14592, 3072)), by_id=True),
    PeakRow(("tiny-video-hv15",), (Live(1, 26912), Live(5, 14592, 3104)), by_id=True),
)

ENCODE_ROWS: tuple[PeakRow, ...] = (
    PeakRow(
        ("kl", "kl-plain", "flux2", "kl-x4", "svd"),
        _image(384),
        IMAGE,
        LOW,
        # CPU, width 128, 128 to 384 pixels a side: 1554 to 1613 bytes per pixel in fp32 and 782 to 804 in bf16, hardly
        # more than lives. FLUX.1 3072x3072 on CUDA: 18.8 GiB, by other code and reserved by the allocator.
        3.0,
        "measured: KL encoder on CPU; FLUX.1 3072x3072 on CUDA (InvokeAI)",
        high_on_cpu=1.2,
    ),
    PeakRow(("taesd",), _image(195), IMAGE),
    PeakRow(("stage-a",), _image(528), IMAGE),
    PeakRow(("stage-c", "stage-c-encoder"), _image(36), IMAGE),
    PeakRow(("mage",), _image(30.5), IMAGE),
    PeakRow(("hunyuan-image",), _image(448), IMAGE),
    PeakRow(("hunyuan-refiner",), _image(1536), IMAGE, by_id=True),
    PeakRow(
        ("wan-2.1",),
        _image(384),
        IMAGE,
        # 768x1152: 2525 MB with the weights, 3.5 times what lives; 1024x1024: 2.88 GiB allocated, 3.8 times.
        3.0,
        4.5,
        "measured: Qwen-Image 768x1152 on CUDA (ComfyUI PR#11199, InvokeAI PR#9305)",
    ),
    PeakRow(("wan-2.1",), (Live(2, 2052.5), Live(3, 2148.5), Live(5, 2201, 0.5)), (2, MANY)),
    PeakRow(("wan-2.2",), (Live(1, 326), Live(2, 1396.4), Live(3, 1459.4, 12.38))),
    PeakRow(("hunyuan-video",), (Live(1, 642.7), Live(2, 4045.5), Live(3, 5564.6, 8))),
    PeakRow(
        ("hunyuan-video-1.5",),
        (Live(1, 642.5), Live(2, 4273.4), Live(3, 6311.3), Live(5, 6555.1, 4)),
        by_id=True,
    ),
    PeakRow(("cogvideox",), (Live(1, 513.7), Live(2, 4998), Live(3, 6918.5), Live(5, 9523, 0.5))),
    PeakRow(("mochi",), _image(592.3), IMAGE),
    PeakRow(
        ("ltx",),
        # Of LTX-Video; LTX-2's takes up to 1.7 times as much.
        (Live(1, 67), Live(2, 651.8), Live(4, -369, 427.3)),
        high=HIGH * 1.7,
    ),
    PeakRow(("tiny-video",), (Live(1, 485), Live(2, 487.8, 12.25))),
    PeakRow(("tiny-video-16",), (Live(1, 137), Live(5, 128.5, 12.2)), by_id=True),
    PeakRow(("tiny-video-hv15",), (Live(1, 137), Live(5, 128.5, 12.2)), by_id=True),
)
