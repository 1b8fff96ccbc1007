"""What is not there, may not be read or is no file: an error, with the file's name and never its path."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from headroom.core.errors import HeadroomError, ModelFileError
from headroom.core.headers import read, read_header
from headroom.core.headers import source as source_module


@pytest.mark.parametrize("reader", [read, read_header])
def test_a_missing_file(reader, tmp_path: Path):
    with pytest.raises(ModelFileError) as caught:
        reader(tmp_path / "flux.safetensors")
    assert str(caught.value) == "`flux.safetensors` cannot be read: No such file or directory."


@pytest.mark.parametrize("reader", [read, read_header])
@pytest.mark.parametrize("path", ["", "\0", "a\0b.safetensors", "\ud800.gguf"])
def test_what_is_no_path(reader, path: str):
    with pytest.raises(ModelFileError) as caught:
        reader(path)
    assert str(caught.value).isprintable()


def test_a_folder_is_not_one_file(tmp_path: Path):
    with pytest.raises(ModelFileError) as caught:
        read_header(tmp_path)
    assert str(caught.value) == f"`{tmp_path.name}` is not a regular file."


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes on this system")
def test_a_pipe_is_not_opened(tmp_path: Path):
    """To open one waits until somebody writes into it."""
    path = tmp_path / "model.safetensors"
    os.mkfifo(path)
    with pytest.raises(ModelFileError, match="is not a regular file"):
        read(path)


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="no devices here")
def test_a_device_is_not_read():
    with pytest.raises(ModelFileError, match="`zero` is not a regular file"):
        read("/dev/zero")


def test_a_file_without_permission(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def refuses(path: object, mode: str) -> None:
        raise PermissionError(13, "Permission denied", path)

    monkeypatch.setattr(source_module, "open", refuses, raising=False)
    path = tmp_path / "model.safetensors"
    path.write_bytes(b"x")
    with pytest.raises(ModelFileError) as caught:
        read(path)
    assert str(caught.value) == "`model.safetensors` cannot be read: Permission denied."


def test_a_read_that_fails_half_way_is_the_same_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """A disk that fails, a share that goes away."""

    def fails(self: object, offset: int, count: int) -> bytes:
        raise OSError(5, "Input/output error", "/home/somebody/models/model.safetensors")

    monkeypatch.setattr(source_module.Source, "read", fails)
    path = tmp_path / "model.safetensors"
    path.write_bytes(b"x")
    with pytest.raises(ModelFileError) as caught:
        read(path)
    assert str(caught.value) == "`model.safetensors` cannot be read: Input/output error."


def test_the_error_is_one_of_ours():
    assert issubclass(ModelFileError, HeadroomError)
