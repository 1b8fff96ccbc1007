"""The Model Guard's reports and error text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from .causes import Cause
from .latent_words import part
from .report import Block, Report, Row, Table, Text
from .sampling import Fault, SamplingRun
from .units import duration, number, value

MOST_CAUSES = 3


@dataclass(frozen=True)
class Setting:
    """What sampled: the model's class and the attention backend; None where unknown."""

    model: str | None = None
    attention: str | None = None

    def words(self, dtype: str) -> str:
        """``SDXL, fp16, pytorch attention``."""
        known = [self.model, dtype, f"{self.attention} attention" if self.attention else None]
        return ", ".join(word for word in known if word)


def watching_report(mode: str, made_at: float) -> Report:
    """Before the first sampling: the node only put its watch on the model."""
    return Report(
        level="info",
        title="Watching every step",
        blocks=(Text(f"On NaN or Inf: {mode}. The result shows here once a sampler ran.", muted=True),),
        facts={"mode": mode, "runs": []},
        made_at=made_at,
    )


def off_report(made_at: float) -> Report:
    """Switched off: the model passes as it is."""
    return Report(level="info", title="Off", facts={"mode": "off", "runs": []}, made_at=made_at)


def sampling_report(
    mode: str, runs: Sequence[SamplingRun], setting: Setting, causes: Sequence[Cause], made_at: float
) -> Report:
    """After a sampling; the last run decides."""
    last, first = runs[-1], runs[0]
    blocks: list[Block] = [] if len(runs) == 1 else [_table(runs)]
    blocks += [Text(cause.text, lead="Or" if place else "Likely") for place, cause in enumerate(causes[:MOST_CAUSES])]
    evaluations = f"{last.evaluations} evaluation{'' if last.evaluations == 1 else 's'} of the model"
    blocks.append(Text(f"{setting.words(last.dtype)}; {evaluations}", muted=True))
    if last.fault is None and len(runs) == 1:
        level, title = "ok", f"Clean: {last.steps} step{'' if last.steps == 1 else 's'}"
    elif last.fault is None:
        level, title = "info", f"Finished in {last.dtype}; {first.dtype} was bad at {_where(first.fault)}"
    else:
        level, title = "error", _title(last.fault)
    return Report(
        level=level,
        title=title,
        figure=duration(sum(run.seconds for run in runs)),
        blocks=tuple(blocks),
        facts=_facts(mode, runs, setting, causes),
        made_at=made_at,
    )


def error_text(runs: Sequence[SamplingRun], setting: Setting, causes: Sequence[Cause], no_wider: bool) -> str:
    """The error that stops the sampler: where, with what, and the likeliest cause.

    ``no_wider``: a restart was asked for and the model computes in fp32 already.
    """
    last = runs[-1]
    text = f"{_title(last.fault)}. {setting.words(last.dtype)}."
    if len(runs) > 1:
        text += f" The first run, in {runs[0].dtype}, was bad at {_where(runs[0].fault)}."
    elif no_wider:
        text += f" No restart: {last.dtype} is the widest dtype there is."
    return text + (f" Likely: {causes[0].text}" if causes else "")


def _title(fault: Fault | None) -> str:
    assert fault is not None
    words = part(fault.check)
    return f"Step {fault.step} of {fault.steps}, sigma {value(fault.sigma)}: {words[0].lower()}{words[1:]}"


def _where(fault: Fault | None) -> str:
    assert fault is not None
    return f"step {fault.step} of {fault.steps}"


def _table(runs: Sequence[SamplingRun]) -> Table:
    rows = []
    for run in runs:
        note = "finished" if run.fault is None else _title(run.fault)
        rows.append(Row((run.dtype, number(run.seconds)), note=note, done=run.fault is None))
    return Table(("Run", "Time, s"), rows, numbered=True)


def _facts(mode: str, runs: Sequence[SamplingRun], setting: Setting, causes: Sequence[Cause]) -> dict[str, Any]:
    return {
        "mode": mode,
        "model_class": setting.model,
        "attention": setting.attention,
        "runs": [
            {
                "dtype": run.dtype,
                "steps": run.steps,
                "evaluations": run.evaluations,
                "seconds": run.seconds,
                "fault": None if run.fault is None else _fault_facts(run.fault),
            }
            for run in runs
        ],
        "causes": [cause.as_json() for cause in causes],
    }


def _fault_facts(fault: Fault) -> dict[str, Any]:
    return {
        "step": fault.step,
        "steps": fault.steps,
        "sigma": fault.sigma,
        "evaluation": fault.evaluation,
        "bad_items": list(fault.check.bad_items),
    }
