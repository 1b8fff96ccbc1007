"""The texts of nodes as ComfyUI's translation tables have them (locales/<language>/nodeDefs.json)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any


def node_texts(nodes: Iterable[Any]) -> dict[str, Any]:
    """For each node its title, description, inputs and outputs; hidden inputs have no text."""
    return {schema.node_id: _of(schema) for schema in (node.GET_SCHEMA() for node in nodes)}


def _of(schema: Any) -> dict[str, Any]:
    inputs = {one.id: _part(getattr(one, "display_name", None) or one.id, one.tooltip) for one in schema.inputs}
    outputs = {
        str(place): _part(getattr(one, "display_name", None) or one.id or one.io_type, one.tooltip)
        for place, one in enumerate(schema.outputs)
    }
    return {
        "display_name": schema.display_name,
        "description": schema.description,
        "inputs": inputs,
        "outputs": outputs,
    }


def _part(name: str, tooltip: str | None) -> dict[str, str]:
    return {"name": name, **({"tooltip": tooltip} if tooltip else {})}
