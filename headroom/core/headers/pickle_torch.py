"""What torch's own names in a checkpoint's pickle stand for: storages, and the tensors that are views of them."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from .limits import LIMITS
from .pickle_ops import Global

#: Storage class of torch -> dtype as safetensors names it, and bytes of one element.
STORAGES = {
    "BFloat16Storage": ("BF16", 2),
    "BoolStorage": ("BOOL", 1),
    "ByteStorage": ("U8", 1),
    "CharStorage": ("I8", 1),
    "ComplexFloatStorage": ("C64", 8),
    "DoubleStorage": ("F64", 8),
    "FloatStorage": ("F32", 4),
    "HalfStorage": ("F16", 2),
    "IntStorage": ("I32", 4),
    "LongStorage": ("I64", 8),
    "ShortStorage": ("I16", 2),
    "UntypedStorage": ("U8", 1),
}
#: dtype of torch -> the same; only those that have no storage class of their own.
DTYPES = {
    "float8_e4m3fn": ("F8_E4M3", 1),
    "float8_e4m3fnuz": ("F8_E4M3FNUZ", 1),
    "float8_e5m2": ("F8_E5M2", 1),
    "float8_e5m2fnuz": ("F8_E5M2FNUZ", 1),
    "float8_e8m0fnu": ("F8_E8M0", 1),
    "uint16": ("U16", 2),
    "uint32": ("U32", 4),
    "uint64": ("U64", 8),
}
UNKNOWN = ("unknown", 1)
ORDERED_DICT = Global("collections", "OrderedDict")
#: Functions of torch that make a tensor, and which of their arguments is the tensor they wrap; None: they make it.
TENSORS = {
    Global("torch._utils", "_rebuild_tensor"): None,
    Global("torch._utils", "_rebuild_tensor_v2"): None,
    Global("torch._utils", "_rebuild_tensor_v3"): None,
    Global("torch._utils", "_rebuild_parameter"): 0,
    Global("torch._utils", "_rebuild_parameter_with_state"): 0,
}


class Storage(NamedTuple):
    """A block of data of the checkpoint."""

    key: str
    dtype: str
    width: int
    """Bytes of one element."""
    elements: int

    @property
    def size_bytes(self) -> int:
        """Bytes of the block as the pickle says."""
        return self.width * self.elements


class View(NamedTuple):
    """A tensor: a part of a storage."""

    storage: Storage
    dtype: str
    shape: tuple[int, ...]
    begin: int
    """First byte in the storage."""
    end: int
    """Byte behind the last one; an expanded tensor has more elements than bytes."""


@dataclass(eq=False)
class Thing:
    """What a loader would make by calling something that is not known here."""

    of: Any
    items: dict[Any, Any] = field(default_factory=dict)
    state: Any = None


def storage(found: Any) -> Storage:
    """A storage from its persistent id: ("storage", class, key, device, elements).

    Raises:
        ValueError: it is no such id.
    """
    if not (isinstance(found, tuple) and len(found) >= 5 and found[0] == "storage" and isinstance(found[2], str)):
        raise ValueError
    dtype, width = STORAGES.get(found[1].name, UNKNOWN) if isinstance(found[1], Global) else UNKNOWN
    return Storage(found[2], dtype, width, natural(found[4]))


def made(function: Any, arguments: tuple[Any, ...]) -> Any:
    """What calling ``function`` would give.

    Raises:
        IndexError, TypeError, ValueError: a function of torch with arguments that it never gets.
    """
    if not isinstance(function, Global):
        return Thing(function)
    if function == ORDERED_DICT:
        pairs = arguments[0] if arguments and isinstance(arguments[0], list) else []
        return {pair[0]: pair[1] for pair in pairs if isinstance(pair, list | tuple) and isinstance(pair[0], str)}
    if function == Global("torch._tensor", "_rebuild_from_type_v2"):
        # A subclass of Tensor: (function, class, its arguments, state).
        function, arguments = arguments[0], arguments[2]
    if function not in TENSORS or not isinstance(arguments, tuple):
        return Thing(function)
    wrapped = TENSORS[function]
    if wrapped is not None:
        return arguments[wrapped]
    dtype = arguments[6] if function.name.endswith("_v3") else None
    return _view(arguments[0], arguments[1], arguments[2], arguments[3], dtype)


def _view(of: Any, offset: Any, shape: Any, stride: Any, dtype: Any) -> View:
    """The bytes of a storage that a tensor reaches, by its strides."""
    if not isinstance(of, Storage):
        raise TypeError
    label, width = (of.dtype, of.width) if dtype is None else DTYPES.get(getattr(dtype, "name", ""), UNKNOWN)
    if len(shape) > LIMITS.dimensions or len(stride) != len(shape):
        raise ValueError
    sides, steps = tuple(map(natural, shape)), tuple(map(natural, stride))
    begin = natural(offset) * width
    last = sum((side - 1) * step for side, step in zip(sides, steps))
    return View(of, label, sides, begin, begin + (last + 1) * width if math.prod(sides) else begin)


def natural(value: Any) -> int:
    """A number that can be a size.

    Raises:
        ValueError: it is none.
    """
    if type(value) is not int or not 0 <= value <= LIMITS.number:
        raise ValueError
    return value
