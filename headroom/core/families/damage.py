"""What is missing from a file whose family is known, and what is odd about it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from .identity import StackFound
from .index import LONGEST_NUMBER, Header
from .rows import Architecture, Stack

#: What quantised layers have beside the weight; a block without them is whole.
BESIDE = (".weight_scale", ".weight_scale_2", ".input_scale", ".scale_weight", ".scale_input", ".comfy_quant")
#: A name that more than this share of the blocks have is expected in every block.
MOST = 0.6


def stacks_of(header: Header, row: Architecture) -> tuple[StackFound, ...]:
    """The stacks that are there."""
    found = ((stack, header.count(stack.stem)) for stack in row.stacks)
    return tuple(StackFound(header.prefix + stack.stem, count, stack.role) for stack, count in found if count)


def faults_of(header: Header, row: Architecture) -> tuple[str, ...]:
    """What a whole file of the architecture has and this one has not, one line each."""
    missing = [key for fact in row.facts.values() if (key := fact.missing(header)) is not None]
    missing += [part for part in row.parts if not header.below(part)]
    faults = [f"{name} is missing" for name in missing]
    for stack in row.stacks:
        faults += block_faults(header, stack)
    return tuple(dict.fromkeys(faults))


def block_faults(header: Header, stack: Stack) -> Iterator[str]:
    """Blocks that are missing, in whole or in part."""
    numbers = header.numbers(stack.stem)
    if not numbers:
        if stack.needed:
            yield f"all {stack.stem}N are missing"
        return
    gaps = gaps_in(numbers)
    if gaps:
        yield f"{stack.stem}N: {gaps} missing"
    if stack.same and len(numbers) > 1:
        yield from thin_blocks(header, stack)


def thin_blocks(header: Header, stack: Stack) -> Iterator[str]:
    """Blocks without tensors that most of the others have."""
    blocks = tensors_by_block(header, stack.stem)
    if len({len(names) for names in blocks.values()}) == 1:
        return
    times = Counter(name for names in blocks.values() for name in names if not name.endswith(BESIDE))
    common = {name for name, number in times.items() if number > MOST * len(blocks)}
    for number, names in sorted(blocks.items()):
        lost = sorted(common - names)
        if lost:
            more = f" and {len(lost) - 1} more" if len(lost) > 1 else ""
            yield f"{stack.stem}{number} has no {lost[0]}{more}"


def tensors_by_block(header: Header, stem: str) -> dict[int, set[str]]:
    """The names in every block of a stem, from after the number."""
    full = header.prefix + stem
    blocks: dict[int, set[str]] = {}
    for name in header.index.tensors:
        if name.startswith(full):
            number, _, rest = name[len(full) :].partition(".")
            if number.isascii() and number.isdigit() and len(number) <= LONGEST_NUMBER:
                blocks.setdefault(int(number), set()).add(rest)
    return blocks


def remarks_of(header: Header, row: Architecture) -> tuple[str, ...]:
    """Numbers of blocks that no published file has: a file that was pruned, or cut off after a block."""
    remarks = []
    for stack in row.stacks:
        count = header.count(stack.stem)
        if count and stack.usual and count not in stack.usual:
            usual = " or ".join(str(number) for number in sorted(stack.usual) if number)
            remarks.append(f"{count} {stack.stem}N where published files have {usual}: pruned, or incomplete")
    return tuple(remarks)


def gaps_in(numbers: Iterable[int]) -> str:
    """What is missing between 0 and the largest number, in short: ``0 to 19, 22``."""
    gaps, expected = [], 0
    for number in sorted(numbers):
        if number > expected:
            gaps.append(str(expected) if number == expected + 1 else f"{expected} to {number - 1}")
        expected = number + 1
    return ", ".join(gaps)
