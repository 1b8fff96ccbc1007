"""A run as stages: which models, at which size, and what each stage takes beside its weights."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from .activation import Attention, Step, activation_need, goes_together
from .activation_host import itemsize
from .budget import Stage
from .component import Component
from .families.identity import Identity, Latent
from .offload import Part, Role, parts_of
from .sampled import latent_frames, sampled
from .static_load import StaticLoad, StaticLoader
from .units import GIB
from .vae_formulas import Vae, vae_for_model, vae_of
from .vae_need import decode_need, largest_tile

#: A text encoder's work: at most some thousand tokens through one layer at a time. 1,024 tokens through the widest
#: layer there is (T5-XXL: 10,240 values, three of them at once, fp32) are 0.12 GiB; a picture as part of a prompt adds
#: some hundred MiB.
ENCODER_WORK = (0, GIB // 2)
ENCODER_SOURCE = "analysis: up to 1,024 tokens and one picture"
HALF = "bf16"


@dataclass(frozen=True)
class Run:
    """What is asked for: sizes in pixels and frames."""

    width: int
    height: int
    frames: int = 1
    batch: int = 1
    cfg: float = 1.0
    together: bool | None = None
    """Whether prompt and negative prompt go through the model as one batch; None where that is left to the host."""
    attention: Attention = "fused"
    dtype: str | None = None
    """What the model computes in; None: what its family and file say."""
    vae_dtype: str = HALF
    amd: bool = False
    joined_on_device: bool = False
    """The decode collects its frames on the card, as WanVideoWrapper's does (its PR#2042)."""
    static: StaticLoader | None = None
    """How ComfyUI loads models where dynamic VRAM is off; None where it is on, or a wrapper loads them."""

    def __post_init__(self) -> None:
        if min(self.width, self.height, self.frames, self.batch) < 1:
            raise ValueError(f"a run of {self.width}x{self.height}, {self.frames} frames, batch {self.batch}")


@dataclass(frozen=True)
class Models:
    """The files of a run."""

    diffusion: Sequence[Component]
    """One, or two that take turns: Wan 2.2's high and low noise."""
    encoders: Sequence[Component] = ()
    vae: Component | None = None
    loras: Sequence[Component] = ()

    @property
    def lora_bytes(self) -> int:
        """All LoRAs together: they lie beside the weights of each diffusion model."""
        return sum(lora.weights_bytes for lora in self.loras)


def latent_shape(latent: Latent, run: Run) -> tuple[int, ...]:
    """The latent of a run: (batch, channels, [frames,] height, width), or (batch, channels, length) for sound."""
    height, width = (math.ceil(side / latent.spatial) for side in (run.height, run.width))
    if latent.dims == 3:
        return run.batch, latent.channels, latent_frames(latent, run.frames), height, width
    if latent.dims == 2:
        return run.batch, latent.channels, height, width
    return run.batch, latent.channels, width


def compute_dtype(identity: Identity, stored: str) -> str:
    """What the host computes in on a card with bf16: what the file has where the family allows it, else its first.

    unet_dtype and unet_manual_cast in comfy/model_management.py 0.30.0.
    """
    if stored in identity.dtypes:
        return stored
    return next((dtype for dtype in identity.dtypes if dtype != "fp32"), "fp32") if identity.dtypes else HALF


def step_of(model: Component, run: Run) -> Step | None:
    """One sampling step of a run, with the sound of a model that makes both; None where its latent is not known."""
    latent = model.identity.latent
    if latent is None:
        return None
    dtype = run.dtype or compute_dtype(model.identity, model.format)
    shape, *streams = sampled(latent, latent_shape(latent, run), run.frames)
    return Step(shape, dtype, run.attention, run.cfg, run.together, streams=tuple(streams))


def with_work(stage: Stage, model: Component, step: Step | None, loader: StaticLoader | None = None) -> Stage:
    """A sampling stage with what a step needs, which stays unknown where that is not known.

    Args:
        stage: its weights.
        model: the diffusion model.
        step: of the sampling.
        loader: where dynamic VRAM is off.
    """
    if step is None:
        return replace(stage, static=static_load(loader, model))
    need = activation_need(model.identity, step)
    return replace(
        stage,
        static=static_load(loader, model, need.reserved_least_bytes, step.dtype),
        low_bytes=need.low_bytes,
        high_bytes=need.high_bytes,
        reserved_bytes=need.reserved_by_host_bytes,
        passes=need.passes_per_step,
        source=need.source,
    )


def settled(model: Component, run: Run, room_bytes: int, lora_bytes: int = 0) -> Run:
    """The run with what the host does about its two prompts on a card: one pass where its own number leaves room.

    Weights that dynamic VRAM can push out count as free (get_free_memory in comfy/model_patcher.py 0.30.0); without it
    the host has what the loaded ones leave, and where it streams that is too little for both.
    """
    step = step_of(model, replace(run, together=True))
    if run.together is not None or run.cfg == 1 or step is None:
        return run
    need = activation_need(model.identity, step)
    load = static_load(run.static, model, need.reserved_least_bytes, step.dtype)
    taken = 0 if load is None else load.loaded_bytes(model.weights_bytes + lora_bytes, room_bytes)
    reserved = need.reserved_by_host_bytes
    return run if reserved is None else replace(run, together=goes_together(reserved, room_bytes - taken))


def static_load(
    loader: StaticLoader | None, model: Component, reserved_bytes: int | None = None, dtype: str = HALF
) -> StaticLoad | None:
    """How a model is loaded where dynamic VRAM is off; None where it is on.

    Args:
        loader: of the card.
        model: the file.
        reserved_bytes: the host's number for the work of one prompt.
        dtype: what it computes in: a layer in fp8 is staged with its copy in that.
    """
    if loader is None:
        return None
    widens = itemsize(dtype) if model.format.startswith("fp8") else 0
    return loader.load(reserved_bytes, model.repeated_tensor_bytes, widens)


def sampling_stage(model: Component, run: Run, lora_bytes: int = 0, name: str = "Sampling") -> Stage:
    """Sampling with one diffusion model; the work is unknown for a family that is not."""
    stage = Stage(
        name=name,
        part=model.name,
        weights_bytes=model.weights_bytes + lora_bytes,
        low_bytes=None,
        high_bytes=None,
        least_weights_bytes=model.largest_tensor_bytes,
        source="unknown: the model is not recognised",
    )
    return with_work(stage, model, step_of(model, run), run.static)


def encoder_stage(model: Component, run: Run) -> Stage:
    """Text encoding; of a checkpoint with the text encoder in it."""
    low, high = ENCODER_WORK
    return Stage(
        "Text encoding",
        model.name,
        model.part_bytes("text encoder") or model.weights_bytes,
        low,
        high,
        least_weights_bytes=model.largest_tensor_bytes,
        source=ENCODER_SOURCE,
        # Most encoders tell the host no number (CLIP.load_model in comfy/sd.py 0.30.0).
        static=static_load(run.static, model),
    )


def decode_stage(
    vae: Vae | None, part: str, weights_bytes: int, latent: Latent | None, run: Run, room_bytes: int | None = None
) -> Stage:
    """The decode of a run's latent: whole where it surely fits, else in the largest tiles that do.

    Args:
        vae: which VAE; None where that is not known.
        part: the name of its file.
        weights_bytes: of the VAE.
        latent: of the diffusion model; None where it is not known.
        room_bytes: what the card has for it; None to leave tiles out of it.
    """
    stage = Stage("Decode", part, weights_bytes, None, None, least_weights_bytes=weights_bytes, source="unknown")
    if vae is None or latent is None:
        return stage
    # Items of a batch are decoded one after another where memory asks for it (comfy/sd.py 0.30.0, VAE.decode).
    shape = latent_shape(latent, replace(run, batch=1))
    need = decode_need(vae, shape, run.vae_dtype, amd=run.amd, joined_on_device=run.joined_on_device)
    whole = need.high_bytes if need.high_bytes is not None else need.reserved_by_host_bytes
    if room_bytes is not None and whole is not None and whole > room_bytes - weights_bytes:
        need = largest_tile(vae, shape, run.vae_dtype, room_bytes - weights_bytes, amd=run.amd) or need
    return replace(
        stage,
        low_bytes=need.low_bytes,
        high_bytes=need.high_bytes,
        reserved_bytes=need.reserved_by_host_bytes,
        source=need.source,
        note="" if need.tile is None else f"in {need.tile.describe(vae.spatial)}",
    )


def vae_of_run(models: Models) -> tuple[Vae | None, str, int]:
    """The VAE of a run, the name of its file and its bytes: the one given, that of a checkpoint, or the model's kind.

    The last has no file, so that its bytes are 0.
    """
    if models.vae is not None:
        return vae_of(models.vae.identity), models.vae.name, models.vae.part_bytes("vae") or models.vae.weights_bytes
    for model in models.diffusion:
        inside = model.part_bytes("vae")
        if inside:
            return vae_of(model.identity) or vae_for_model(model.identity), model.name, inside
    first = models.diffusion[0].identity if models.diffusion else None
    return (None if first is None else vae_for_model(first)), "", 0


def stages(models: Models, run: Run, room_bytes: int | None = None) -> list[tuple[Role, Stage]]:
    """All stages in the order in which they run.

    Args:
        room_bytes: what the card has: with it the decode is in tiles where the whole frame does not fit, and both
            prompts go through the model together only where the host would do that.
    """
    found: list[tuple[Role, Stage]] = [("text encoder", encoder_stage(one, run)) for one in models.encoders]
    for model in models.diffusion:
        inside = model.part_bytes("text encoder")
        if inside and not models.encoders:
            # Its tensors are in the same file; the largest of the diffusion model is not one of them.
            found.append(("text encoder", replace(encoder_stage(model, run), least_weights_bytes=0)))
    names = ["Sampling"] if len(models.diffusion) == 1 else ["Sampling, first model", "Sampling, second model"]
    for model, name in zip(models.diffusion, names, strict=False):
        one_run = run if room_bytes is None else settled(model, run, room_bytes, models.lora_bytes)
        found.append(("diffusion", sampling_stage(model, one_run, models.lora_bytes, name)))
    latent = models.diffusion[0].identity.latent if models.diffusion else None
    found.append(("vae", decode_stage(*vae_of_run(models), latent, run, room_bytes)))
    return found


def parts(models: Models, run: Run, room_bytes: int | None = None, maps: bool = False) -> list[Part]:
    """The stages as what an offload plan places; ``room_bytes`` as for ``stages``, ``maps`` as for ``parts_of``."""
    files = [*models.diffusion, *models.encoders, *([] if models.vae is None else [models.vae])]
    return parts_of(stages(models, run, room_bytes), files, maps)
