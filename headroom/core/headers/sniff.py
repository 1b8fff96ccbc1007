"""What a file is, from its first bytes and never from its name; the name only says what it was meant to be."""

from __future__ import annotations

import re

from .. import units
from .faults import Faults, clean

#: Bytes of a file that are enough to know it.
HEAD_BYTES = 1024

#: First bytes -> kind. The kinds of ``ARCHIVES`` and ``OTHERS`` and "ggml" are only named, the others are read.
SIGNATURES = (
    (b"GGUF", "gguf"),
    (b"PK\x03\x04", "zip"),
    (b"PK\x05\x06", "zip"),
    (b"version https://git-lfs.github.com/spec/", "git-lfs-pointer"),
    # The magic numbers of llama.cpp before August 2023, as they lie on disk.
    *((magic, "ggml") for magic in (b"lmgg", b"fmgg", b"tjgg", b"algg")),
    (b"7z\xbc\xaf\x27\x1c", "7z"),
    (b"Rar!\x1a\x07", "rar"),
    (b"\x1f\x8b", "gzip"),
    (b"\xfd7zXZ\x00", "xz"),
    (b"(\xb5/\xfd", "zstd"),
    (b"\x89PNG\r\n\x1a\n", "png"),
    (b"\xff\xd8\xff", "jpeg"),
    *((magic, "gif") for magic in (b"GIF87a", b"GIF89a")),
    (b"%PDF-", "pdf"),
    (b"\x1aE\xdf\xa3", "matroska"),
    (b"\x89HDF\r\n\x1a\n", "hdf5"),
    (b"\x93NUMPY", "numpy"),
    (b"SQLite format 3\0", "sqlite"),
)
#: The same behind a length: of a picture or sound in RIFF, of the first box of a video.
INNER_SIGNATURES = ((0, b"RIFF", 8, b"WEBP", "webp"), (0, b"RIFF", 8, b"WAVE", "wav"), (4, b"ftyp", 4, b"ftyp", "mp4"))
#: What is no model at all, in words.
OTHERS = {
    "png": "A PNG picture",
    "jpeg": "A JPEG picture",
    "gif": "A GIF picture",
    "webp": "A WebP picture",
    "pdf": "A PDF document",
    "mp4": "An MP4 video",
    "matroska": "A Matroska or WebM video",
    "wav": "A WAV sound",
    "hdf5": "An HDF5 file",
    "numpy": "A NumPy array",
    "sqlite": "An SQLite database",
}
#: Longest quotation of a text, in characters.
QUOTED = 120
ARCHIVES = frozenset({"7z", "rar", "gzip", "xz", "zstd"})

#: How a web page begins, after white space and a byte order mark.
PAGE = re.compile(rb"(?:\xef\xbb\xbf)?\s*<(?:!doctype\s+html|html|head|body|\?xml|!--)", re.IGNORECASE)

#: What a file should be by the end of its name.
SUFFIXES = {
    ".safetensors": "safetensors",
    ".sft": "safetensors",
    ".gguf": "gguf",
    ".ckpt": "pickle",
    ".pt": "pickle",
    ".pth": "pickle",
    ".bin": "pickle",
    ".pkl": "pickle",
}


def expected(name: str) -> str:
    """What a file of this name should be: safetensors, gguf, pickle; empty where the name says nothing."""
    return SUFFIXES.get("." + name.lower().rpartition(".")[2], "")


def kind(head: bytes, name: str = "") -> str:
    """What a file is: safetensors, gguf, zip, pickle, html, git-lfs-pointer, text, ggml, zeros, an archive, one of
    ``OTHERS``, empty, or unknown.

    Args:
        head: its first ``HEAD_BYTES``.
        name: decides only where the bytes do not: a damaged file is diagnosed as what it was meant to be.
    """
    if not head:
        return "empty"
    # A header of less than 4 GB has four zero bytes in its length, which no signature, no text and no pickle has; the
    # length itself can begin like one, as 0x8b1f does like gzip.
    length = head[4:8] == b"\0\0\0\0"
    if length and head[8:9] == b"{":
        return "safetensors"
    for signature, found in SIGNATURES:
        if head.startswith(signature):
            return found
    for at, first, behind, second, found in INNER_SIGNATURES:
        if head.startswith(first, at) and head.startswith(second, behind):
            return found
    if length and len(head) == 8:
        return "safetensors"
    if len(head) > 8 and not any(head):
        return "zeros"
    # The five bytes tell it from the length of a damaged safetensors header.
    if re.match(rb"\x80[\x02-\x05]", head) and head[3:8] != bytes(5):
        return "pickle"
    if PAGE.match(head):
        return "html"
    if _is_text(head):
        return "text"
    return "safetensors" if expected(name) == "safetensors" else "unknown"


def _is_text(head: bytes) -> bool:
    """Whether the bytes are UTF-8 without control characters; the last character may be cut."""
    try:
        text = head.decode("utf-8")
    except UnicodeDecodeError as error:
        if error.start < len(head) - 3 or len(head) < HEAD_BYTES:
            return False
        text = head[: error.start].decode("utf-8")
    return all(character.isprintable() or character in "\t\r\n\ufeff" for character in text)


def name_it(found: str, head: bytes, size: int, faults: Faults) -> None:
    """Adds the fault of a file that is no model; ``found`` is one of the kinds that are not read."""
    if found == "git-lfs-pointer":
        meant = re.search(rb"^size (\d{1,15})$", head, re.MULTILINE)
        faults.add(found, size=units.exact(size), meant=f" of {units.exact(int(meant[1]))}" if meant else "")
    elif found == "text":
        faults.add(found, size=units.exact(size), start=clean(head.decode("utf-8", "replace").lstrip("\ufeff"), QUOTED))
    elif found in ARCHIVES:
        faults.add("archive", kind=found)
    elif found in OTHERS:
        faults.add("no-model", kind=OTHERS[found], size=units.exact(size))
    elif found == "unknown":
        faults.add("unknown-format", start=head[:8].hex(" "))
    else:
        faults.add(found, size=units.exact(size))


def name_renamed(found: str, name: str, faults: Faults) -> None:
    """Adds a fault where the name promises another format than the file has; call it when the file was read."""
    if any(fault.id == "no-checkpoint" for fault in faults.found):
        return
    format_ = "pickle" if found == "zip" else found
    meant = expected(name)
    if meant and meant != format_:
        faults.add(format_)
