"""What the schemas of several nodes share."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from comfy_api.latest import io

CATEGORY = "Headroom"


def resends_report() -> dict[str, Any]:
    """Schema arguments that make the host send a node's report again when the node comes from the cache.

    Empty on hosts before 0.19, whose Schema lacks the field: there a cached node keeps the report it shows.
    """
    known = {field.name for field in fields(io.Schema)}
    return {"has_intermediate_output": True} if "has_intermediate_output" in known else {}


def source_of(prompt: Any, node_id: Any, name: str) -> str:
    """The node that an input is linked to, as "KSampler #12"; empty where the prompt does not tell."""
    node = prompt.get(str(node_id)) if isinstance(prompt, dict) else None
    link = node.get("inputs", {}).get(name) if isinstance(node, dict) else None
    if not isinstance(link, list) or len(link) != 2:
        return ""
    above = prompt.get(str(link[0]))
    return f"{above['class_type']} #{link[0]}" if isinstance(above, dict) and "class_type" in above else ""
