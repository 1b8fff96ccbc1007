"""Files written by the real packages and read back: the same names, dtypes, shapes and bytes."""

from __future__ import annotations

from pathlib import Path

import pytest
from fakes.model_files import write_large, write_vocabulary

from headroom.core.headers import read
from headroom.core.headers.entries import BITS
from headroom.core.tensorinfo import ModelFile


def check_sums(model: ModelFile) -> None:
    """The identity that holds for every file without a fault."""
    assert [fault for fault in model.faults if not fault.notice] == []
    assert model.header_bytes + model.data_bytes == model.file_bytes == sum(model.files.values())


def test_a_file_of_the_safetensors_package(tmp_path: Path):
    torch = pytest.importorskip("torch")
    from safetensors.torch import load_file, save_file

    dtypes = [
        *(torch.float64, torch.float32, torch.float16, torch.bfloat16, torch.float8_e4m3fn, torch.float8_e5m2),
        *(torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8, torch.bool, torch.uint16, torch.uint32),
        *(torch.uint64, torch.complex64, torch.float8_e8m0fnu),
    ]
    written = {f"layer.{dtype}": torch.zeros(3, 5, dtype=dtype) for dtype in dtypes}
    written |= {"scalar": torch.zeros(()), "nothing": torch.zeros(0, 7)}
    path = tmp_path / "model.safetensors"
    save_file(written, path, metadata={"format": "pt", "modelspec.title": "Größe"})
    model = read(path)
    check_sums(model)
    assert dict(model.metadata) == {"format": "pt", "modelspec.title": "Größe"}
    back = load_file(path)
    assert set(model.tensors) == set(back)
    for name, found in back.items():
        assert model.tensors[name].shape == tuple(found.shape)
        assert model.tensors[name].size_bytes == found.nbytes
        assert BITS[model.tensors[name].dtype] == found.dtype.itemsize * 8


def test_every_dtype_of_the_safetensors_package_is_known():
    """A dtype that a newer package can write must get a width here."""
    torch = pytest.importorskip("torch")
    import safetensors.torch as package

    names = {name for name in package._TYPES if isinstance(package._TYPES[name], torch.dtype)}
    assert names <= set(BITS)


def test_a_file_of_the_gguf_package(tmp_path: Path):
    package = pytest.importorskip("gguf")
    numpy = pytest.importorskip("numpy")
    path = tmp_path / "model.gguf"
    writer = package.GGUFWriter(path, "flux")
    writer.add_quantization_version(2)
    writer.add_array("tokenizer.ggml.tokens", [f"token {index}" for index in range(1000)])
    writer.add_array("rope.sections", [16, 24, 24])
    writer.add_array("comfy.gguf.orig_shape.patch.weight", [4, 2, 2, 2, 4])
    writer.add_tensor("patch.weight", numpy.zeros((4, 32), numpy.float32))
    writer.add_tensor("half", numpy.zeros((3, 5), numpy.float16))
    writer.add_tensor("odd", numpy.zeros((7,), numpy.float32))
    for type_, (elements, size) in package.GGML_QUANT_SIZES.items():
        if elements > 1:
            writer.add_tensor(f"q.{type_.name}", numpy.zeros((3, 2 * size), numpy.uint8), raw_dtype=type_)
    for step in ("write_header_to_file", "write_kv_data_to_file", "write_tensors_to_file", "close"):
        getattr(writer, step)()
    model = read(path)
    check_sums(model)
    assert model.metadata["general.architecture"] == "flux"
    assert model.metadata["rope.sections"] == "[16, 24, 24]"
    reader = package.GGUFReader(path)
    assert list(model.tensors) == [found.name for found in reader.tensors]
    for found in reader.tensors:
        ours = model.tensors[found.name]
        shape = (4, 2, 2, 2, 4) if ours.name == "patch.weight" else tuple(reversed(found.shape.tolist()))
        assert (ours.dtype, ours.shape, ours.size_bytes) == (found.tensor_type.name, shape, found.n_bytes)


def test_a_file_of_40_gb_is_read_by_its_header_alone(tmp_path: Path):
    """How long it takes is measured by scripts/bench."""
    path = write_large(tmp_path / "model.safetensors")
    size = path.stat().st_size
    assert size > 40e9
    # Where the file system has no sparse files, to write it would have failed.
    assert getattr(path.stat(), "st_blocks", 0) * 512 < 2**20
    model = read(path)
    check_sums(model)
    assert (len(model.tensors), model.file_bytes) == (1 + 60 * 32, size)


def test_a_vocabulary_of_256k_tokens_is_stepped_over(tmp_path: Path):
    """A list of the tokens would take 20 MB; how long it takes is measured by scripts/bench."""
    model = read(write_vocabulary(tmp_path / "model.gguf"))
    assert dict(model.metadata) == {"general.architecture": "gemma3"}
    assert model.tensors["token_embd.weight"].size_bytes == 432
    assert model.faults == ()
