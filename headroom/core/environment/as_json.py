"""What goes out and comes in as JSON: an environment, and the advice of a running ComfyUI."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping
from typing import Any, get_args

from ..flags.advice import Advice, Severity
from .readings import Environment

#: The rank of what states none.
LAST = 999
#: What a reader of an issue asks for.
_SHOWN = re.compile(
    r"comfy(?!ui-workflow-templates-).*|torch.*|numpy|xformers|triton.*|flash-attn.*|sageattention.*|nvidia-ml-py|pynvml|psutil|safetensors|gguf"
    r"|transformers|diffusers|accelerate|bitsandbytes|nunchaku|opencv-.*|onnxruntime.*|insightface|scipy|av|aiohttp"
)


def environment_json(environment: Environment) -> dict[str, Any]:
    """The environment as plain JSON values, redacted already: sizes in bytes, null for what is unknown.

    The field names are those of ``readings``. Of the packages only those that a reader of an issue asks for.
    """
    answer = _plain(dataclasses.replace(environment, packages=()))
    answer["packages"] = {
        name: package.version for name, package in sorted(environment.installed.items()) if _SHOWN.fullmatch(name)
    }
    answer["package_count"] = len(environment.installed)
    # The snapshot has it, with more; and the variables of markers only serve to read requirements.
    del answer["machine"]["ram"], answer["python"]["markers"]
    return answer


def advice_of(answer: Mapping[str, Any] | None) -> tuple[Advice, ...]:
    """What ``GET /headroom/advice`` said; an entry that is none is left out."""
    listed = (answer or {}).get("advice")
    return tuple(_advice(one) for one in (listed if isinstance(listed, list) else []) if isinstance(one, Mapping))


def _advice(found: Mapping[str, Any]) -> Advice:
    def text(name: str) -> str:
        return str(found.get(name) or "")

    rank, params = found.get("rank"), found.get("params")
    return Advice(
        id=text("id"),
        title=text("title"),
        why=text("why"),
        fix=text("fix"),
        command=text("command"),
        check=text("check"),
        source=text("source"),
        severity=next((one for one in get_args(Severity) if one == found.get("severity")), "warning"),
        rank=rank if isinstance(rank, int) else LAST,
        params=params if isinstance(params, dict) else {},
    )


def _plain(value: Any) -> Any:
    if dataclasses.is_dataclass(value):
        return {field.name: _plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, dict):
        return {str(name): _plain(one) for name, one in value.items()}
    return [_plain(one) for one in value] if isinstance(value, list | tuple) else value
