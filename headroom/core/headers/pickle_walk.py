"""Follows the instructions of a checkpoint's pickle without running anything: which tensor has which storage.

What a loader would call is looked up in a short list of torch's own functions; everything else stays a name.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from .limits import LIMITS, Limits
from .pickle_ops import Global, PickleFault, instructions
from .pickle_torch import Thing, made, storage


@dataclass(frozen=True)
class Walked:
    """What the pickle makes, and every name that it would import."""

    value: Any
    names: frozenset[Global]
    end: int
    """Position behind it."""


def walk(data: bytes, position: int = 0, limits: Limits = LIMITS) -> Walked:
    """Follows one pickle from ``position``.

    Raises:
        PickleFault: it is damaged, cut, longer than the limit, or uses what protocols 2 to 5 do not have.
    """
    machine = _Machine()
    try:
        for count, (name, argument, end) in enumerate(instructions(data, position)):
            if name == "STOP":
                return Walked(machine.stack.pop(), frozenset(machine.names), end)
            if count >= limits.pickle_steps:
                raise PickleFault(f"it has more than {limits.pickle_steps:,} instructions")
            machine.step(name, argument)
    except (IndexError, KeyError, TypeError, ValueError) as error:
        raise PickleFault("its instructions contradict each other") from error
    raise PickleFault("it ends too soon", cut=True)


class _Machine:
    """The stack machine of pickle, which here moves descriptions."""

    def __init__(self) -> None:
        self.stack: list[Any] = []
        self.outer: list[list[Any]] = []
        self.memo: dict[int, Any] = {}
        self.names: set[Global] = set()

    def step(self, name: str, argument: Any) -> None:
        """One instruction."""
        if name == "PUSH":
            self.push(argument)
        elif name == "GET":
            self.stack.append(self.memo[argument])
        elif name == "PUT":
            self.memo[argument] = self.stack[-1]
        elif name in CONSTANTS:
            self.stack.append(CONSTANTS[name]())
        elif name in STEPS:
            STEPS[name](self)

    def push(self, value: Any) -> None:
        """Puts a value on the stack and remembers it if it is a name."""
        if isinstance(value, Global):
            self.names.add(value)
        self.stack.append(value)

    def memoize(self) -> None:
        """Remembers the value on the stack under the next number."""
        self.memo[len(self.memo)] = self.stack[-1]

    def mark(self) -> None:
        """Sets a mark."""
        self.outer.append(self.stack)
        self.stack = []

    def marked(self) -> list[Any]:
        """Everything above the last mark, taken off the stack with it."""
        items, self.stack = self.stack, self.outer.pop()
        return items

    def pop(self) -> None:
        """Drops the last value, or a mark that has nothing above it."""
        if self.stack:
            self.stack.pop()
        else:
            self.marked()

    def tuple_of(self, count: int) -> None:
        """Puts the last values into a tuple."""
        items = tuple(self.stack[-count:])
        if len(items) < count:
            raise IndexError
        self.stack[-count:] = [items]

    def tuple_marked(self) -> None:
        """Puts everything above the mark into a tuple."""
        items = self.marked()
        self.stack.append(tuple(items))

    def frozenset(self) -> None:
        """Drops everything above the mark: a set holds no tensors."""
        self.marked()
        self.stack.append(Thing("frozenset"))

    def set_item(self) -> None:
        """Adds one key and its value."""
        value, key = self.stack.pop(), self.stack.pop()
        self.set_items([key, value])

    def set_items(self, flat: list[Any]) -> None:
        """Adds keys and values to the table on the stack; keys that no state dict has are dropped."""
        target = self.stack[-1]
        table = target.items if isinstance(target, Thing) else target
        if isinstance(table, dict):
            table.update((key, value) for key, value in zip(flat[::2], flat[1::2]) if isinstance(key, str | int))

    def extend(self, items: list[Any]) -> None:
        """Adds values to the list on the stack."""
        if isinstance(self.stack[-1], list):
            self.stack[-1].extend(items)

    def build(self) -> None:
        """Keeps the state that an object would get."""
        state = self.stack.pop()
        if isinstance(self.stack[-1], Thing):
            self.stack[-1].state = state

    def name(self) -> None:
        """A name from two texts."""
        name, module = self.stack.pop(), self.stack.pop()
        if not (isinstance(name, str) and isinstance(module, str)):
            raise TypeError
        self.push(Global(module, name))

    def call(self) -> None:
        """Describes what calling a name would give."""
        arguments, function = self.stack.pop(), self.stack.pop()
        self.stack.append(made(function, arguments if isinstance(arguments, tuple) else ()))

    def call_with_keywords(self) -> None:
        """The same; no function that is known here gets keywords."""
        self.stack.pop()
        self.call()


CONSTANTS: dict[str, Callable[[], Any]] = {
    "NONE": lambda: None,
    "NEWTRUE": lambda: True,
    "NEWFALSE": lambda: False,
    "EMPTY_TUPLE": tuple,
    "EMPTY_LIST": list,
    "EMPTY_DICT": dict,
    "EMPTY_SET": lambda: Thing("set"),
}
STEPS: dict[str, Callable[[_Machine], object]] = {
    "MARK": _Machine.mark,
    "POP": _Machine.pop,
    "POP_MARK": _Machine.marked,
    "DUP": lambda machine: machine.stack.append(machine.stack[-1]),
    "TUPLE": _Machine.tuple_marked,
    "TUPLE1": lambda machine: machine.tuple_of(1),
    "TUPLE2": lambda machine: machine.tuple_of(2),
    "TUPLE3": lambda machine: machine.tuple_of(3),
    "FROZENSET": _Machine.frozenset,
    "MEMOIZE": _Machine.memoize,
    "SETITEM": _Machine.set_item,
    "SETITEMS": lambda machine: machine.set_items(machine.marked()),
    "APPEND": lambda machine: machine.extend([machine.stack.pop()]),
    "APPENDS": lambda machine: machine.extend(machine.marked()),
    "ADDITEMS": _Machine.marked,
    "STACK_GLOBAL": _Machine.name,
    "REDUCE": _Machine.call,
    "NEWOBJ": _Machine.call,
    "NEWOBJ_EX": _Machine.call_with_keywords,
    "BUILD": _Machine.build,
    "BINPERSID": lambda machine: machine.stack.append(storage(machine.stack.pop())),
}
