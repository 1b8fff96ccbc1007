"""The texts of everything that can be wrong with a model file: what, with the numbers, and what to do. Data only."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from itertools import islice
from typing import TypeVar

from ..tensorinfo import Fault

#: Longest name or quotation in a text, in characters.
LONGEST = 80
#: How many names a text gives before "and N more".
NAMES = 3

#: id -> text. The ids are part of the JSON interface and never change.
TEXTS = {
    # the file as a whole
    "empty": "Empty: 0 bytes. Download it again.",
    "too-short": "Only {size}, and the length of a header alone takes 8. Download it again.",
    "html": "A web page instead of a model ({size}). "
    "Open its link in a browser, sign in if it asks, and download the file itself.",
    "git-lfs-pointer": "A git-lfs pointer ({size}) instead of the model{meant}. "
    "Run `git lfs pull` in its folder, or download the file itself.",
    "text": 'A text instead of a model ({size}): "{start}". '
    "If it asks to sign in or to accept a licence, do that, then download the file again.",
    "zeros": "It begins with zeros: {size} were reserved for a download that did not finish. Download it again.",
    "archive": "A {kind} archive. Unpack it and use the model file inside.",
    "no-model": "{kind} instead of a model ({size}). Download the model file itself.",
    "unknown-format": "Not safetensors, GGUF or a torch checkpoint: it begins with {start}. Download it again.",
    "safetensors": "A safetensors file under the name of another format. Rename it to end in `.safetensors`.",
    "gguf": "A GGUF file under the name of another format. Rename it to end in `.gguf`; it needs a GGUF loader.",
    "pickle": "A torch checkpoint under the name of another format. Rename it to end in `.ckpt`.",
    "ggml": "A file in the old GGML format, from before GGUF (August 2023). Download the GGUF of the same model.",
    "truncated": "Truncated: {missing} missing of {expected}. Download it again.",
    "too-long": "Too long by {extra}: the header says {expected}, the file has {size}. Download it again.",
    "file-unreadable": "Cannot be read: {reason}.",
    # header
    "header-cut": "Cut off inside the header: it needs {atleast}{missing} more than the {size} of the file. "
    "Download it again.",
    "header-too-large": "The header says that it takes {said}; the limit is {limit}. Download it again.",
    "bad-utf8": "The header is not UTF-8 text: byte {position} of {size}. Download it again.",
    "bad-json": "The header is not valid JSON: {reason}. Download it again.",
    "json-too-deep": "The JSON is nested more than {limit} levels deep. Do not use the file.",
    "too-many-values": "The header has more than {limit} values. Do not use the file.",
    "too-many-tensors": "{count} tensors; the limit is {limit}. Do not use the file.",
    "duplicate-names": "More than once in the header: {names}. Loaders differ in which they take. Download it again.",
    "bad-entry": "Without a usable dtype, shape or position: {names}. Download it again.",
    "bad-number": "With a negative or impossibly large number: {names}. Download it again.",
    "bad-metadata": "The metadata is not a table of texts: {names}. Loaders refuse the file; save it again.",
    "metadata-dropped": "Metadata left out as too long: {names}.",
    # tensors against the file
    "overlap": "Overlap of {size} between tensors: {names}. Download it again.",
    "hole": "Hole of {size} between tensors: before {names}. Download it again.",
    "size-mismatch": "With another size than dtype and shape make: {names}. Download it again.",
    "misaligned": "Elements of 4 or 6 bits that do not fill their last byte: {names}. Save the file again.",
    "unknown-dtype": "Of unknown dtype: {names}; {size} in all, which are counted. A newer Headroom may know it.",
    # GGUF
    "gguf-version": "GGUF version {version}; versions 2 and 3 can be read. Download a newer file of the same model.",
    "big-endian": "A GGUF file in big-endian byte order, which no loader reads here. Download the little-endian file.",
    "damaged-header": "The header makes no sense at byte {position}: {reason}. Download it again.",
    "bad-alignment": "The alignment is {alignment}, not a power of two. Download it again.",
    "misaligned-offset": "Not at a multiple of the alignment of {alignment}: {names}. Download it again.",
    "partial-block": "With rows that are not whole blocks: {names}. Download it again.",
    "bad-original-shape": "With an original shape of another size: {names}. The stored shape is used.",
    "padded": "Unused behind the last tensor: {extra}.",
    # torch checkpoints
    "zip-cut": "Cut off: the zip directory at the end is missing. Download it again.",
    "zip-damaged": "The zip directory is damaged: {reason}. Download it again.",
    "zip-overlap": "The zip directory names {said} of data, more than the {size} of the file. Do not use the file.",
    "compressed": "A zip with compressed data: {stored} become {size} in memory. Save it again as safetensors.",
    "no-checkpoint": "A zip archive without a torch checkpoint in it. Unpack it and use the model file inside.",
    "torchscript": "A TorchScript program, not a table of weights; ComfyUI does not load it. Find the weights.",
    "names-unknown": "{what}, but its pickle cannot be followed: {reason}. Names, dtypes and shapes are unknown.",
    "old-pickle": "In torch's format from before version 1.6, which cannot be mapped into memory. "
    "Save it again as safetensors.",
    "pickle-code": "Loading it without `weights_only` would run {names}. Do not use the file.",
    "missing-data": "The data are not in the file: {names}. Download it again.",
    "beside-weights": "Beside the weights: {size} (training state, or the rest of cut tensors), loaded with them.",
    "other-pickle": "A pickle that torch did not write; what it holds cannot be told without running it. "
    "Use a safetensors file instead.",
    # several files
    "missing-shard": "Missing beside it: {names}. Download into the same folder.",
    "missing-component": "Listed in `model_index.json` but without weights: {names}. Download into the same folder.",
    "bad-index": "The index cannot be used: {reason}. Download it again.",
    "index-mismatch": "Named by the index but in no shard: {names}. Download shards and index from one place.",
    "other-variants": "Left out beside the files that were read: {names}.",
}

#: Ids of what does not keep a loader from using the file.
NOTICES = frozenset(
    {
        *("unknown-dtype", "metadata-dropped", "padded", "compressed", "old-pickle"),
        *("beside-weights", "other-variants", "bad-original-shape"),
    }
)

Item = TypeVar("Item")


class Faults:
    """Collects the faults of one file."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.found: list[Fault] = []

    def add(self, fault: str, **values: object) -> None:
        """Adds the fault with this id; ``values`` fill its text."""
        self.found.append(Fault(fault, TEXTS[fault].format(**values), self.file, fault in NOTICES))

    def add_names(self, fault: str, names: Collection[str], **values: object) -> None:
        """Adds one fault for all these names from the file; none where there is no name."""
        self.add_each(fault, names, quoted, **values)

    def add_each(self, fault: str, items: Collection[Item], show: Callable[[Item], str], **values: object) -> None:
        """The same for other things; only the few that are named are shown as text, of perhaps a hundred thousand."""
        if items:
            self.add(fault, names=listed([show(item) for item in islice(items, NAMES)], len(items)), **values)


def clean(text: str, longest: int = LONGEST) -> str:
    """A text from a file on one short printable line."""
    # Cut first: the text may be a hundred megabytes long.
    head = " ".join(text[: 4 * longest].split())
    head = "".join(character if character.isprintable() else "\N{REPLACEMENT CHARACTER}" for character in head)
    return head if len(head) <= longest and len(text) <= 4 * longest else head[: longest - 1] + "…"


def quoted(name: str) -> str:
    """A name from a file between backticks."""
    return f"`{clean(name).replace('`', chr(39))}`"


def listed(first: Sequence[str], count: int) -> str:
    """The first of ``count`` names: "`a` and `b`", "`a`, `b`, `c` and 7 more"."""
    if count > len(first):
        return f"{', '.join(first)} and {count - len(first):,} more"
    return f"{', '.join(first[:-1])} and {first[-1]}" if len(first) > 1 else first[0]
