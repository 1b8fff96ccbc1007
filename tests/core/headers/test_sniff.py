"""A file is what its first bytes say: pages, pointers and other formats under the name of a model."""

from __future__ import annotations

import io
import pickle
import struct
import zipfile
from pathlib import Path

import pytest
from fakes.model_files import framed, gguf

from headroom.core.headers import read
from headroom.core.headers.sniff import HEAD_BYTES, kind
from headroom.core.tensorinfo import ModelFile

SOUND = framed(b'{"a":{"dtype":"F16","shape":[2,2],"data_offsets":[0,8]}}', bytes(8))
POINTER = b"version https://git-lfs.github.com/spec/v1\noid sha256:" + b"4d7a" * 16 + b"\nsize 335304388\n"
PAGE = b"<!DOCTYPE html>\n<html><head><title>Sign in</title></head></html>"
LEGACY = bytes.fromhex("80028a0a6cfc9c46f9206aa850192e")


def zipped(name: str = "archive/readme.txt") -> bytes:
    """A small zip archive."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        archive.writestr(name, b"text")
    return made.getvalue()


def read_as(folder: Path, name: str, data: bytes) -> ModelFile:
    """The file of this name with these bytes, read."""
    path = folder / name
    path.write_bytes(data)
    return read(path)


def lines(model: ModelFile) -> list[tuple[str, str]]:
    """(id, text) of every fault, with plain spaces."""
    return [(fault.id, fault.text.replace("\u00a0", " ")) for fault in model.faults]


PAGE_LINE = (
    "A web page instead of a model (64 bytes). "
    "Open its link in a browser, sign in if it asks, and download the file itself."
)
ITSELF = "Download the model file itself."
TEXT_END = "If it asks to sign in or to accept a licence, do that, then download the file again."

FAULTS = {
    # cases.md, "safetensors file errors": a page and a pointer are both "header too large" to the package.
    "page": (PAGE, "html", PAGE_LINE),
    "page with spaces": (b"\n\n \xef\xbb\xbf"[0:3] + PAGE, "html", PAGE_LINE.replace("64", "67")),
    "page with a byte order mark": (b"\xef\xbb\xbf" + PAGE, "html", PAGE_LINE.replace("64", "67")),
    "xml": (
        b'<?xml version="1.0"?><Error><Code>AccessDenied</Code></Error>',
        "html",
        PAGE_LINE.replace("64", "61"),
    ),
    "pointer": (
        POINTER,
        "git-lfs-pointer",
        "A git-lfs pointer (134 bytes) instead of the model of 335,304,388 bytes. "
        "Run `git lfs pull` in its folder, or download the file itself.",
    ),
    "pointer without a size": (
        b"version https://git-lfs.github.com/spec/v1\n",
        "git-lfs-pointer",
        "A git-lfs pointer (43 bytes) instead of the model. "
        "Run `git lfs pull` in its folder, or download the file itself.",
    ),
    "text": (
        b"Invalid username or password.",
        "text",
        f'A text instead of a model (29 bytes): "Invalid username or password.". {TEXT_END}',
    ),
    "short text": (b"404", "text", f'A text instead of a model (3 bytes): "404". {TEXT_END}'),
    "JSON": (
        b'{"error":"Unauthorized",\n "message":"The creator of this asset requires you to be logged in"}',
        "text",
        'A text instead of a model (93 bytes): "{"error":"Unauthorized", "message":"The creator of this asset requires '
        f'you to be logged in"}}". {TEXT_END}',
    ),
    "zeros": (
        bytes(4096),
        "zeros",
        "It begins with zeros: 4,096 bytes were reserved for a download that did not finish. Download it again.",
    ),
    "7z": (b"7z\xbc\xaf\x27\x1c\0\4", "archive", "A 7z archive. Unpack it and use the model file inside."),
    "gzip": (b"\x1f\x8b\x08\0\0\0\0\0", "archive", "A gzip archive. Unpack it and use the model file inside."),
    "zip": (
        zipped(),
        "no-checkpoint",
        "A zip archive without a torch checkpoint in it. Unpack it and use the model file inside.",
    ),
    # A picture saved under the name of a model was "a header of 727,905,341,920,923,785 bytes".
    "PNG": (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "no-model", f"A PNG picture instead of a model (16 bytes). {ITSELF}"),
    "JPEG": (b"\xff\xd8\xff\xe0\0\x10JFIF\0", "no-model", f"A JPEG picture instead of a model (11 bytes). {ITSELF}"),
    "GIF": (b"GIF89a\1\0\1\0", "no-model", f"A GIF picture instead of a model (10 bytes). {ITSELF}"),
    "WebP": (b"RIFF\x24\0\0\0WEBPVP8 ", "no-model", f"A WebP picture instead of a model (16 bytes). {ITSELF}"),
    "WAV": (b"RIFF\x24\0\0\0WAVEfmt ", "no-model", f"A WAV sound instead of a model (16 bytes). {ITSELF}"),
    "PDF": (b"%PDF-1.7\n%\xe2\xe3", "no-model", f"A PDF document instead of a model (12 bytes). {ITSELF}"),
    "MP4": (b"\0\0\0\x20ftypisom", "no-model", f"An MP4 video instead of a model (12 bytes). {ITSELF}"),
    "WebM": (
        b"\x1aE\xdf\xa3\x9fB\x86\x81",
        "no-model",
        f"A Matroska or WebM video instead of a model (8 bytes). {ITSELF}",
    ),
    "HDF5": (b"\x89HDF\r\n\x1a\n\0\0", "no-model", f"An HDF5 file instead of a model (10 bytes). {ITSELF}"),
    "NumPy": (b"\x93NUMPY\1\0v\0", "no-model", f"A NumPy array instead of a model (10 bytes). {ITSELF}"),
    "SQLite": (b"SQLite format 3\0\x10\0", "no-model", f"An SQLite database instead of a model (18 bytes). {ITSELF}"),
    "GGML": (
        b"tjgg\3\0\0\0",
        "ggml",
        "A file in the old GGML format, from before GGUF (August 2023). Download the GGUF of the same model.",
    ),
}


@pytest.mark.parametrize(("data", "id_", "line"), FAULTS.values(), ids=FAULTS.keys())
def test_what_is_no_model_is_named_for_what_it_is(data: bytes, id_: str, line: str, tmp_path: Path):
    model = read_as(tmp_path, "vae.safetensors", data)
    assert lines(model) == [(id_, line)]
    assert model.broken
    assert (dict(model.tensors), model.file_bytes) == ({}, len(data))


@pytest.mark.parametrize("start", [b"\x1f\x8b\0\0", b"\xff\xd8\xff\0"], ids=["gzip", "JPEG"])
def test_a_length_that_begins_like_another_format_is_a_length(start: bytes):
    """A header of 35,615 bytes begins with the two bytes of gzip."""
    assert kind(start + bytes(4) + b'{"a":') == "safetensors"


def test_bytes_that_are_nothing_known_are_shown(tmp_path: Path):
    model = read_as(tmp_path, "model.onnx", b"\x08\x07\x12\x07pytorch\x1a")
    line = "Not safetensors, GGUF or a torch checkpoint: it begins with 08 07 12 07 70 79 74 6f. Download it again."
    assert lines(model) == [("unknown-format", line)]
    assert model.format == "unknown"


@pytest.mark.parametrize(
    ("name", "data", "id_", "line"),
    [
        (
            "vae.ckpt",
            SOUND,
            "safetensors",
            "A safetensors file under the name of another format. Rename it to end in `.safetensors`.",
        ),
        (
            "flux.safetensors",
            gguf(),
            "gguf",
            "A GGUF file under the name of another format. Rename it to end in `.gguf`; it needs a GGUF loader.",
        ),
        (
            "vae.safetensors",
            zipped("archive/data.pkl"),
            "pickle",
            "A torch checkpoint under the name of another format. Rename it to end in `.ckpt`.",
        ),
        (
            "vae.gguf",
            LEGACY,
            "pickle",
            "A torch checkpoint under the name of another format. Rename it to end in `.ckpt`.",
        ),
    ],
)
def test_a_renamed_file_is_read_and_named(name: str, data: bytes, id_: str, line: str, tmp_path: Path):
    """cases.md: a zip or a pickle renamed is "invalid header length" to the safetensors package."""
    assert (id_, line) in lines(read_as(tmp_path, name, data))


def test_a_renamed_file_still_gives_its_tensors(tmp_path: Path):
    model = read_as(tmp_path, "vae.pt", SOUND)
    assert model.format == "safetensors"
    assert model.tensors["a"].size_bytes == 8


@pytest.mark.parametrize("name", ["vae.safetensors", "vae.sft", "VAE.SAFETENSORS", "vae", "vae.unknown", "a.b.sft"])
def test_a_right_name_is_no_fault(name: str, tmp_path: Path):
    assert read_as(tmp_path, name, SOUND).faults == ()


@pytest.mark.parametrize(
    ("head", "found"),
    [
        (b"", "empty"),
        (b"GGUF", "gguf"),
        (b"PK\x03\x04", "zip"),
        (b"\x80\x02}q\0.", "pickle"),
        (pickle.dumps({"a": 1}, protocol=4), "pickle"),
        (LEGACY, "pickle"),
        (SOUND[:HEAD_BYTES], "safetensors"),
        # A header of 640 bytes begins like a pickle of protocol 2.
        (struct.pack("<Q", 640) + b"{", "safetensors"),
        (struct.pack("<Q", 640) + b"x", "safetensors"),
        (b"\xff\xfe\xfd\xfc\xfb", "safetensors"),
        ("ü".encode() * 600, "text"),
        (("x" + "ü" * 600).encode()[:HEAD_BYTES], "text"),
        (b"text with a \0", "safetensors"),
    ],
)
def test_the_kind_of_a_file(head: bytes, found: str):
    assert kind(head, "model.safetensors") == found


def test_a_name_alone_does_not_make_a_model():
    assert kind(b"\xff\xfe\xfd\xfc\xfb", "model.bin") == "unknown"
