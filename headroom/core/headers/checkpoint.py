"""From what a checkpoint's pickle makes to named tensors with their bytes, by the host's rule of what the weights are.

Several tensors may share a storage: the sum of all bytes is what the storages have, never more.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any

from .. import units
from ..tensorinfo import TensorInfo
from .faults import Faults, quoted
from .limits import Limits
from .metadata import storable
from .pickle_ops import Global
from .pickle_torch import Thing, View

#: Tables that torch.nn.Module keeps its tensors in; not a part of their names.
MODULE_TABLES = frozenset({"_parameters", "_buffers", "_modules"})
#: What a harmful pickle imports. Modules as a whole, and single names of a module that also has harmless ones.
HARMFUL = frozenset(
    {
        *("os", "nt", "posix", "subprocess", "sys", "shutil", "socket", "runpy", "pty", "webbrowser", "ctypes"),
        *("importlib", "code", "pickle", "asyncio"),
    }
)
HARMFUL_BUILTINS = frozenset({"eval", "exec", "compile", "open", "apply", "breakpoint", "__import__"})
#: A longer name is no tensor's: tables inside tables inside tables.
LONGEST_NAME = 1000


def weights(value: Any) -> Any:
    """The part of a checkpoint that ComfyUI takes (``load_torch_file`` in comfy/utils.py)."""
    if not isinstance(value, dict):
        return value
    if "state_dict" in value:
        return value["state_dict"]
    only = next(iter(value.values())) if len(value) == 1 else None
    return only if isinstance(only, dict) else value


def named_views(value: Any, limits: Limits) -> dict[str, View]:
    """All tensors in nested tables and lists, by the names on the way joined with dots."""
    found: dict[str, View] = {}
    seen: set[int] = set()
    waiting: list[tuple[str, Any]] = [("", value)]
    looked_at = 0
    while waiting and looked_at < limits.pickle_values:
        looked_at += 1
        name, value = waiting.pop()
        if isinstance(value, View):
            found[storable(name) or "tensor"] = value
        elif id(value) not in seen and len(name) <= LONGEST_NAME:
            seen.add(id(value))
            # Reversed, so that the first is taken off next and the order stays.
            waiting.extend(reversed([(_joined(name, key), inner) for key, inner in _inside(value)]))
    return found


def _inside(value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        yield from ((str(key), inner) for key, inner in value.items())
    elif isinstance(value, Thing):
        yield from _inside(value.state)
        yield from _inside(value.items)
    elif isinstance(value, list | tuple) and not isinstance(value, Global):
        yield from ((str(index), inner) for index, inner in enumerate(value) if isinstance(inner, CONTAINERS))


#: What a tensor can be inside of; numbers and texts in lists are passed over.
CONTAINERS = (dict, list, tuple, Thing)


def _joined(name: str, key: str) -> str:
    if key in MODULE_TABLES:
        return name
    return f"{name}.{key}" if name else key


def tensors(views: Mapping[str, View], stored: Mapping[str, int], faults: Faults) -> dict[str, TensorInfo]:
    """The tensors with their bytes.

    Args:
        stored: bytes of each storage that the file has.
    """
    missing: list[str] = []
    short: list[str] = []
    by_storage: dict[str, list[str]] = defaultdict(list)
    for name, view in views.items():
        by_storage[view.storage.key].append(name)
    sizes: dict[str, int] = {}
    for key, names in by_storage.items():
        available, end = stored.get(key), 0
        for name in sorted(names, key=lambda name: (views[name].begin, views[name].end)):
            view = views[name]
            if available is None:
                missing.append(name)
            elif view.end > available:
                short.append(name)
            # Bytes that another tensor has already got are not counted again: tied weights.
            sizes[name] = max(0, view.end - max(view.begin, end))
            end = max(end, view.end)
    faults.add_names("missing-data", missing)
    faults.add_each("size-mismatch", short, lambda name: _too_short(name, views[name], stored))
    return {name: TensorInfo(name, view.dtype, view.shape, sizes[name]) for name, view in views.items()}


def _too_short(name: str, view: View, stored: Mapping[str, int]) -> str:
    needs = f"needs {units.exact(view.end)} of its block, which has {stored[view.storage.key]:,}"
    return f"{quoted(name)} {needs}"


def check_names(names: frozenset[Global], faults: Faults) -> None:
    """Adds a fault where the pickle imports what only a harmful one does."""
    harmful = [f"{name.module}.{name.name}" for name in sorted(names) if _is_harmful(name)]
    faults.add_names("pickle-code", harmful)


def _is_harmful(name: Global) -> bool:
    package = name.module.partition(".")[0]
    return package in HARMFUL or (package in {"builtins", "__builtin__"} and name.name in HARMFUL_BUILTINS)
