"""What one sampling step needs beside the weights: the host's number, and the range of the real peak."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from .activation_host import itemsize, reserved_by_host
from .activation_peak import PeakRow, Phase
from .activation_rows import ROWS
from .families.identity import Identity

Attention = Literal["fused", "split"]
"""``fused``: PyTorch's, xformers', flash or sage attention, the default on a GPU; ``split``: scores made in slices, by
--use-split-cross-attention, --use-quad-cross-attention and on the CPU."""

#: comfy/samplers.py 0.30.0, calc_cond_batch: prompts go together where this many times the host's number is free.
TOGETHER_MARGIN = 1.5
#: comfy/ldm/modules/attention.py 0.30.0, attention_split: a slice of the scores is taken three times, and there are at
#: most 64 slices; with more room it takes fewer and larger ones.
SLICES, SLICE_COPIES = 64, 3
#: Inputs that become tokens of their own, by the host's names.
TOKEN_CONDS = frozenset({"pose_latents", "reference_motion"})


@dataclass(frozen=True)
class Step:
    """One sampling step as the estimate sees it."""

    latent: tuple[int, ...]
    """(batch, channels, [frames,] height, width) as the sampler gets it, not doubled for cfg."""
    dtype: str
    """What the model computes in: fp16, bf16, fp32, or fp8 for fp8 matrices, whose activations are bf16."""
    attention: Attention = "fused"
    cfg: float = 1.0
    together: bool | None = None
    """Whether the prompt and the negative prompt go through the model as one batch: True or False where that is known
    (ComfyUI: True if it fits; WanVideoWrapper: False), None for either."""
    text_tokens: int | None = None
    """None: the usual number of the architecture."""
    references: tuple[tuple[int, ...], ...] = ()
    """Shapes of reference latents (Kontext, Qwen-Image-Edit, Omnigen2)."""
    prompts_with_references: int = 2
    """How many of the prompts carry them: 2 where the negative one does too."""
    streams: tuple[tuple[int, ...], ...] = ()
    """Further latents that are sampled together with it: the sound of LTX-2."""
    conds: Mapping[str, tuple[tuple[int, ...], ...]] = field(default_factory=dict)
    """Other inputs that the host counts, by its names: pose_latents, reference_motion, sam_latents and
    ref_mask_latents."""


@dataclass(frozen=True)
class ActivationNeed:
    """Bytes beside the weights during one forward pass; None where nothing is known."""

    reserved_by_host_bytes: int | None
    """What the host wants to make free: its formula for two prompts at once (comfy/sampler_helpers.py 0.30.0)."""
    reserved_least_bytes: int | None
    """What it makes do with: the same for one prompt."""
    low_bytes: int | None
    high_bytes: int | None
    passes_per_step: int
    """How often a step goes through the weights, and so how often streamed weights cross the bus: 1 where both prompts
    go together or cfg is 1, 2 where they go apart; where that is not known, 2."""
    prompts_per_step: int
    """1 at cfg 1, else 2."""
    source: str
    """Where the range comes from, beginning with ``measured``, ``analysis`` or ``unknown``."""

    def __post_init__(self) -> None:
        if self.low_bytes is not None and self.high_bytes is not None and self.low_bytes > self.high_bytes:
            raise ValueError(f"a range from {self.low_bytes} to {self.high_bytes} bytes is upside down")


def activation_need(model: Identity, step: Step) -> ActivationNeed:
    """What one step of a model needs.

    Args:
        model: the identity of its file.
        step: size, dtype and how it is run.

    Raises:
        ValueError: for a dtype that no model computes in.
    """
    size = itemsize("bf16" if step.dtype == "fp8" else step.dtype)
    prompts = 1 if step.cfg == 1 else 2
    wanted, least = (_reserved(model, step, count) for count in (2, 1))
    row = next((row for row in ROWS if row.fits(model.family or "", model.sizes)), None)
    low = high = None
    source = "unknown: this architecture was not analysed"
    if row is not None and model.hidden_size is not None:
        picture, text = tokens(row, model.sizes, step)
        fewest = prompts if step.together else 1
        most = 1 if step.together is False else prompts
        widths = model.hidden_size, model.sizes.get("ffn_dim")
        low = int(step.latent[0] * fewest * peak_values(row.low, picture, text, *widths) * size)
        high = int(step.latent[0] * most * peak_values(row.high, picture, text, *widths) * size * row.waste)
        if step.attention == "split":
            low += slice_bytes(row, picture + text, model.hidden_size, size) * step.latent[0] * fewest
            high += slice_bytes(row, picture + text, model.hidden_size, size) * step.latent[0] * most
        source = f"analysis: {row.what}; live tensors counted on ComfyUI 0.30.0"
    passes = 1 if step.together else prompts
    return ActivationNeed(wanted, least, low, high, passes, prompts, source)


def goes_together(reserved_for_both_bytes: int, free_bytes: int) -> bool:
    """Whether the host puts both prompts into one pass: where its number for both, half as much again, is free."""
    return reserved_for_both_bytes * TOGETHER_MARGIN < free_bytes


def tokens(row: PeakRow, sizes: Mapping[str, object], step: Step) -> tuple[int, int]:
    """Tokens of the picture, references included, and of the text, for one item of the batch."""
    patch = patch_of(row, sizes)
    shapes = [step.latent, *step.references]
    for name in TOKEN_CONDS:
        shapes += step.conds.get(name, ())
    text = row.text_tokens if step.text_tokens is None else step.text_tokens
    return sum(count(shape, patch) for shape in shapes), text


def count(shape: Sequence[int], patch: tuple[int, int, int]) -> int:
    """Tokens of one latent; what does not fill a patch is padded to one."""
    frames, height, width = (1, *shape[2:]) if len(shape) == 4 else tuple(shape[2:])
    return -(-frames // patch[0]) * -(-height // patch[1]) * -(-width // patch[2])


def patch_of(row: PeakRow, sizes: Mapping[str, object]) -> tuple[int, int, int]:
    """Latent elements per token in frames, height and width."""
    if isinstance(row.patch, tuple):
        return row.patch
    found = sizes.get(row.patch)
    if isinstance(found, tuple):
        return (1, *found) if len(found) == 2 else tuple(found)  # type: ignore[return-value]
    # A length in time alone: CogVideoX 1.5 has it, CogVideoX does not.
    return (found if isinstance(found, int) else 1, 2, 2)


def peak_values(phases: Sequence[Phase], picture: int, text: int, width: int, feed_forward: object) -> float:
    """Live values of the phase that has most."""
    wide = feed_forward if isinstance(feed_forward, int) else 0
    return max(
        width * (phase.picture * picture + phase.text * text) + wide * phase.feed_forward * picture for phase in phases
    )


def slice_bytes(row: PeakRow, sequence: int, width: int, size: int) -> int:
    """The least that attention in slices takes for its scores, of one item."""
    heads, length = max(1, width // row.head_width), sequence // row.per_token
    return heads * length * length * size * SLICE_COPIES // SLICES


def _reserved(model: Identity, step: Step, prompts: int) -> int | None:
    return reserved_by_host(
        model,
        step.latent,
        step.dtype,
        step.attention,
        prompts=prompts,
        references=step.references,
        prompts_with_references=step.prompts_with_references,
        conds=step.conds,
        streams=step.streams,
    )
