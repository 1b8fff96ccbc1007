"""Model files as the flag rules see what a run will load: kind, family, bytes and packing, by the file's header."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from .budget import Stage
from .component import Component
from .needs import Models, Run, stages
from .readings import WorkflowModel

#: What a checkpoint can hold beside its diffusion model, and which the rules ask about.
BESIDE = ("text encoder", "vae")
FP8 = ("fp8_e4m3", "fp8_e5m2")


@dataclass(frozen=True)
class Given:
    """A model as a person names it: what it brings, and its header where there is one."""

    models: Sequence[WorkflowModel]
    component: Component | None = None


def loaded_in(given: Sequence[Given], run: Run | None = None) -> Sequence[WorkflowModel]:
    """Everything that is given; with a run also the work beside the weights, and the VAE that goes with the model."""
    found = [model for one in given for model in one.models]
    return found if run is None else _with_work(found, [one.component for one in given if one.component], run)


def planned(found: Component, kind: str | None = None, family: str | None = None) -> Sequence[WorkflowModel]:
    """What a file brings to a run: a checkpoint its diffusion model, text encoders and VAE, another file itself.

    Args:
        kind: as ``WorkflowModel.kind``, where a person says what the file is; it wins over the header, which is not
            always clear. A file that nobody knows counts as a diffusion model.
        family: the same for its family.
    """
    identity = found.identity
    own = _kind(identity.kind) if kind is None else kind
    main = WorkflowModel(
        kind=own,
        family=family or identity.family or None,
        # A file that is broken or not understood has no tensors; its length is all that is known.
        size_bytes=found.weights_bytes or found.file_bytes,
        gguf=found.gguf,
        fp8=found.format.startswith("fp8"),
        scaled=_scaled(found.format),
        dtype=found.format if found.formats else None,
    )
    parts = BESIDE if own == "diffusion" else ()
    return (main, *(WorkflowModel(one, size_bytes=size) for one in parts if (size := found.part_bytes(one))))


def _kind(kind: str) -> str:
    return "diffusion" if kind in {"diffusion model", "checkpoint", "unknown"} else kind


def _scaled(stored: str) -> bool | None:
    """None for what is not fp8 at all."""
    return stored not in FP8 if stored.startswith("fp8") else None


def _with_work(models: Sequence[WorkflowModel], files: Sequence[Component], run: Run) -> Sequence[WorkflowModel]:
    of = {kind: [one for one in files if _kind(one.identity.kind) == kind] for kind in ("diffusion", *BESIDE)}
    vae = next(iter(of["vae"]), None)
    found = stages(Models(of["diffusion"], of["text encoder"], vae), run)
    peaks = {role: [stage for other, stage in found if other == role] for role, _ in found}
    done: list[WorkflowModel] = []
    for model in models:
        # A size without a file is in none of the stages; files come in the order in which they were given.
        stage = peaks[model.kind].pop(0) if model.dtype is not None and peaks.get(model.kind) else None
        done.append(model if stage is None else _peaks(model, stage))
    decode = next(iter(peaks.get("vae", ())), None)
    if decode is not None and decode.high_bytes is not None:
        at = next((place for place, model in enumerate(done) if model.kind == "vae"), None)
        if at is None:
            done.append(_peaks(WorkflowModel("vae"), decode))
        else:
            done[at] = _peaks(done[at], decode)
    return done


def _peaks(model: WorkflowModel, stage: Stage) -> WorkflowModel:
    return replace(model, peak_low_bytes=stage.low_bytes, peak_high_bytes=stage.high_bytes)
