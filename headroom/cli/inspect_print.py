"""What ``inspect`` says of a file: lines for people, or a row of a folder's table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ..core.blocks import StackBytes
from ..core.component import SHORT, Component
from ..core.headers.quant import FormatTotal
from ..core.units import exact, size
from .tables import paragraph, shortened, table

#: Indent of what belongs to a file, and of a line that goes on.
INDENT, HANGING = "  ", "    "
#: Characters of a folder's table for a file's name and for what it is.
FILE, WHAT = 40, 30


def as_lines(one: Component) -> Iterator[str]:
    """Everything about one file."""
    yield one.name
    yield f"{INDENT}{what(one)}, {size(one.file_bytes)}"
    yield from faults_of(one)
    if one.identity.kind == "unknown" and not one.broken:
        yield from said("Note", "no row of Headroom's table fits this header; its bytes are counted all the same.")
    if not one.identity.tensors:
        return
    yield from _identity(one)
    if one.formats:
        yield f"{INDENT}Bytes by format:"
        yield from table([_format(row) for row in one.formats if row.size_bytes], right=(1, 2, 3), indent=HANGING)
    yield from _blocks(one)
    yield from _parts(one)


def faults_of(one: Component) -> Iterator[str]:
    """Everything that is wrong or odd, a line each, however long: it is what one searches for."""
    for fault in one.faults:
        beside = f"{fault.file}: " if fault.file and fault.file != one.name else ""
        yield f"{INDENT}{'Note' if fault.notice else 'Fault'}: {beside}{fault.text}"
    for text in one.identity.faults:
        yield f"{INDENT}Fault: {text}"
    for text in one.identity.remarks:
        yield from said("Note", text)


def said(label: str, text: str) -> list[str]:
    """A labelled line, wrapped."""
    return paragraph(f"{label}: {text}", INDENT, HANGING)


def what(one: Component) -> str:
    """``diffusion model, Wan 2.1/2.2 14B text to video (WAN21_T2V)``."""
    identity = one.identity
    if not one.formats and one.broken:
        return "no model that can be read"
    broken = ", damaged" if identity.status == "broken" else ""
    if identity.kind == "unknown":
        return f"{identity.name}{broken}"
    family = f" ({identity.family})" if identity.family and identity.family != identity.name else ""
    name = identity.name if identity.name.lower().startswith(identity.kind) else f"{identity.kind}, {identity.name}"
    return f"{name}{family}{broken}"


def _identity(one: Component) -> Iterator[str]:
    identity = one.identity
    if identity.latent is not None:
        latent = identity.latent
        time = f", {latent.temporal:g} frames in one" if latent.dims == 3 and latent.temporal > 1 else ""
        form = f"{latent.format}, " if latent.format else ""
        pixels = f", {latent.spatial} px a side" if latent.dims > 1 else ""
        yield f"{INDENT}Latent: {form}{latent.channels} channels{pixels}{time}"
    if identity.dtypes:
        note = f" ({identity.dtypes_note})" if identity.dtypes_note else ""
        yield from said("Computes in", f"{', '.join(identity.dtypes)}{note}")
    if identity.fp16_overflow:
        yield from said("fp16", f"known to overflow: {identity.fp16_overflow}")
    if identity.memory_factor is not None:
        formula = identity.memory_formula
        made = f" = {formula}" if " " in formula else ""
        yield f"{INDENT}Memory factor of ComfyUI: {identity.memory_factor:.4g}{made}"
    rank = identity.sizes.get("rank")
    if rank is not None:
        low, high = identity.sizes.get("rank_min"), identity.sizes.get("rank_max")
        ranks = f"{rank}" if low == high else f"{rank} mostly, {low} to {high}"
        yield f"{INDENT}Rank: {ranks}; {identity.sizes.get('kind')}, names in the style of {identity.style}"
    if identity.fits:
        yield from said("For", ", ".join(identity.fits))
    if identity.undetermined:
        yield from said("The header cannot tell", identity.undetermined)
    yield f"{INDENT}Parameters: {_parameters(one.parameters)}; {identity.tensors:,} tensors"


def _parameters(count: int | None) -> str:
    if count is None:
        return "n/a, some layers are packed in a way that is not known"
    for factor, word in ((10**9, "billion"), (10**6, "million")):
        if count >= factor:
            return f"{count / factor:.2f} {word}"
    return f"{count:,}"


def _format(row: FormatTotal) -> tuple[str, str, str, str]:
    layers = "1 layer" if row.layers == 1 else f"{row.layers:,} layers"
    return SHORT.get(row.format, row.format), size(row.size_bytes), layers, exact(row.size_bytes)


def _blocks(one: Component) -> Iterator[str]:
    if not one.blocks.stacks:
        return
    yield f"{INDENT}Blocks:"
    rows = [_stack(stack) for stack in one.blocks.stacks]
    yield from table(
        [*rows, ("outside of blocks", "", "", size(one.blocks.outside_bytes))], right=(1, 3), indent=HANGING
    )


def _stack(stack: StackBytes) -> tuple[str, str, str, str]:
    role = {"main": "", "repeat": "", "side": "stay in a swap"}.get(stack.role, f"{stack.role} blocks")
    if stack.uneven:
        each = f"{size(min(stack.block_bytes))} to {size(max(stack.block_bytes))}, uneven"
    else:
        each = f"{size(stack.block_bytes[0])} each"
    return stack.stem, str(stack.count), ", ".join(text for text in (each, role) if text), size(stack.total_bytes)


def _parts(one: Component) -> Iterator[str]:
    if len(one.identity.parts) > 1:
        yield f"{INDENT}Models inside:"
        rows = [(f"{part.kind}: {part.name}", size(part.size_bytes)) for part in one.identity.parts]
        yield from table(rows, right=(1,), widest=60, indent=HANGING)


def as_table(found: Sequence[tuple[str, Component]]) -> Iterator[str]:
    """A folder's files by their paths from there: size, format, what they are; under a damaged one what is wrong."""
    rows = [("file", "size", "format", "what")]
    rows += [(path, size(one.file_bytes), one.format, shortened(_short(one), WHAT)) for path, one in found]
    head, *lines = table(rows, right=(1,), widest=FILE, indent="")
    yield head
    for line, (_, one) in zip(lines, found, strict=True):
        yield line
        if one.broken or one.identity.status == "broken":
            yield from faults_of(one)


def _short(one: Component) -> str:
    """What a file is, in a few words."""
    if one.broken or one.identity.status == "broken":
        return "DAMAGED" if not one.identity.tensors else f"DAMAGED, {one.identity.name}"
    return one.identity.name if one.identity.kind != "checkpoint" else f"{one.identity.name}, checkpoint"
