"""Shards, indexes and diffusers folders: several files that are one model."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from fakes.model_files import data_bytes_of, framed, gguf, header_of, tensor, write_sparse

from headroom.core.errors import ModelFileError
from headroom.core.headers import Limits, read, read_header
from headroom.core.tensorinfo import ModelFile

FIRST = {"a.weight": ("F16", (4, 4)), "a.bias": ("F16", (4,))}
SECOND = {"b.weight": ("F16", (8, 4))}
INDEX = {"metadata": {"total_size": 104}, "weight_map": {}}


def lines(model: ModelFile) -> list[tuple[str, str, str]]:
    """(id, file, text) of every fault, with plain spaces."""
    return [(fault.id, fault.file, fault.text.replace("\u00a0", " ")) for fault in model.faults]


def write_index(path: Path, places: dict[str, Any]) -> Path:
    """An index that says where each tensor is."""
    path.write_text(json.dumps({"metadata": {"total_size": 0}, "weight_map": places}), "utf-8")
    return path


@pytest.fixture
def sharded(tmp_path: Path) -> Path:
    """A folder with a model in two shards and its index."""
    write_sparse(tmp_path / "model-00001-of-00002.safetensors", FIRST, {"format": "pt"})
    write_sparse(tmp_path / "model-00002-of-00002.safetensors", SECOND, {"format": "pt"})
    places = dict.fromkeys(FIRST, "model-00001-of-00002.safetensors")
    places |= dict.fromkeys(SECOND, "model-00002-of-00002.safetensors")
    write_index(tmp_path / "model.safetensors.index.json", places)
    return tmp_path


class TestShards:
    """``model-00001-of-00002.safetensors``."""

    @pytest.mark.parametrize(
        "name",
        ["model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors", "model.safetensors.index.json", ""],
        ids=["first", "second", "index", "folder"],
    )
    @pytest.mark.parametrize("index", [True, False], ids=["with index", "without index"])
    def test_any_of_them_stands_for_the_model(self, name: str, index: bool, sharded: Path):
        if not index:
            if name.endswith(".json"):
                return
            (sharded / "model.safetensors.index.json").unlink()
        model = read(sharded / name)
        assert model.faults == ()
        assert list(model.tensors) == ["a.weight", "a.bias", "b.weight"]
        assert model.name == "model.safetensors"
        assert dict(model.metadata) == {"format": "pt"}
        sizes = {p.name: p.stat().st_size for p in sorted(sharded.glob("*.safetensors"))}
        assert dict(model.files) == sizes
        assert model.header_bytes + model.data_bytes == model.file_bytes == sum(sizes.values())
        assert model.data_bytes == data_bytes_of(FIRST | SECOND)

    def test_read_header_takes_one_of_them_alone(self, sharded: Path):
        model = read_header(sharded / "model-00002-of-00002.safetensors")
        assert (list(model.tensors), model.faults) == (["b.weight"], ())

    @pytest.mark.parametrize("index", [True, False], ids=["with index", "without index"])
    def test_a_missing_shard_is_named(self, index: bool, sharded: Path):
        (sharded / "model-00002-of-00002.safetensors").unlink()
        if not index:
            (sharded / "model.safetensors.index.json").unlink()
        model = read(sharded / "model-00001-of-00002.safetensors")
        file = "model.safetensors.index.json" if index else "model.safetensors"
        line = "Missing beside it: `model-00002-of-00002.safetensors`. Download into the same folder."
        assert lines(model) == [("missing-shard", file, line)]
        assert list(model.tensors) == list(FIRST)

    def test_a_broken_shard_keeps_its_own_name(self, sharded: Path):
        path = sharded / "model-00002-of-00002.safetensors"
        for length, fault in ((path.stat().st_size - 1, "truncated"), (50, "header-cut")):
            os.truncate(path, length)
            [(id_, file, _)] = lines(read(sharded / "model.safetensors.index.json"))
            assert (id_, file) == (fault, path.name)

    def test_a_tensor_in_two_shards(self, sharded: Path):
        write_sparse(sharded / "model-00002-of-00002.safetensors", SECOND | {"a.bias": ("F16", (4,))})
        assert [fault.id for fault in read(sharded).faults] == ["duplicate-names"]

    def test_an_index_of_another_download(self, sharded: Path):
        write_index(sharded / "model.safetensors.index.json", {"c": "model-00001-of-00002.safetensors"})
        model = read(sharded)
        line = "Named by the index but in no shard: `c`. Download shards and index from one place."
        assert lines(model) == [("index-mismatch", "model.safetensors.index.json", line)]
        assert len(model.tensors) == 3

    def test_gguf_shards(self, tmp_path: Path):
        for number in (1, 2):
            data = gguf([], [tensor(f"t{number}", [8], 0, 0)], bytes(32))
            (tmp_path / f"m-0000{number}-of-00002.gguf").write_bytes(data)
        model = read(tmp_path / "m-00001-of-00002.gguf")
        assert (model.format, list(model.tensors), model.faults) == ("gguf", ["t1", "t2"], ())

    @pytest.mark.parametrize(
        "name", ["m-00003-of-00002.sft", "m-00003-of-00002.safetensors", "m-00001-of-99999.safetensors"]
    )
    def test_a_number_that_cannot_be_makes_it_one_file(self, name: str, tmp_path: Path):
        model = read(write_sparse(tmp_path / name, FIRST))
        assert (model.name, model.faults) == (name, ())

    @pytest.mark.parametrize(("limit", "joined"), [(3, True), (2, True), (1, False)])
    def test_the_limit_of_shards(self, limit: int, joined: bool, sharded: Path):
        model = read(sharded / "model-00001-of-00002.safetensors", Limits(shards=limit))
        assert (len(model.files) == 2) == joined

    @pytest.mark.parametrize(("limit", "found"), [(4, []), (3, []), (2, ["too-many-tensors"])])
    def test_the_limit_of_tensors_counts_all_shards(self, limit: int, found: list[str], sharded: Path):
        model = read(sharded / "model-00001-of-00002.safetensors", Limits(tensors=limit))
        assert [fault.id for fault in model.faults] == found


BAD_INDEXES = {
    "no JSON": (b"<html>", "expecting value at character 0"),
    "not UTF-8": (b"\xff", "it is not a JSON text that can be read"),
    "a list": (b"[]", "it has no `weight_map` of texts"),
    "no map": (b"{}", "it has no `weight_map` of texts"),
    "a map of numbers": (b'{"weight_map":{"a":1}}', "it has no `weight_map` of texts"),
    "another folder": (b'{"weight_map":{"a":"../../secret.safetensors"}}', "it names files outside its folder"),
    "a folder of Windows": (b'{"weight_map":{"a":"..\\\\x"}}', "it names files outside its folder"),
    "a drive of Windows": (b'{"weight_map":{"a":"C:x"}}', "it names files outside its folder"),
    "an absolute path": (b'{"weight_map":{"a":"/etc/passwd"}}', "it names files outside its folder"),
    "no name": (b'{"weight_map":{"a":""}}', "it names files outside its folder"),
    "the folder above": (b'{"weight_map":{"a":".."}}', "it names files outside its folder"),
}


@pytest.mark.parametrize(("data", "reason"), BAD_INDEXES.values(), ids=BAD_INDEXES.keys())
def test_a_bad_index_is_named_and_leads_nowhere(data: bytes, reason: str, tmp_path: Path):
    path = tmp_path / "model.safetensors.index.json"
    path.write_bytes(data)
    line = f"The index cannot be used: {reason}. Download it again."
    assert lines(read(path)) == [("bad-index", path.name, line)]


@pytest.mark.parametrize(("more", "found"), [(1, []), (0, []), (-1, ["bad-index"])])
def test_the_limit_of_an_index(more: int, found: list[str], sharded: Path):
    size = (sharded / "model.safetensors.index.json").stat().st_size
    model = read(sharded / "model.safetensors.index.json", Limits(index_bytes=size + more))
    assert [fault.id for fault in model.faults] == found


@pytest.fixture
def pipeline(tmp_path: Path) -> Path:
    """A diffusers folder: a sharded transformer, a VAE, a text encoder, and what has no weights."""
    folder = tmp_path / "pipeline"
    for name in ("transformer", "vae", "text_encoder", "tokenizer", "scheduler"):
        (folder / name).mkdir(parents=True)
        (folder / name / "config.json").write_text("{}")
    stem = "transformer/diffusion_pytorch_model"
    write_sparse(folder / f"{stem}-00001-of-00002.safetensors", FIRST, {"_quantization_metadata": "{}"})
    write_sparse(folder / f"{stem}-00002-of-00002.safetensors", SECOND)
    write_sparse(folder / "vae/diffusion_pytorch_model.safetensors", {"decoder.weight": ("F32", (3,))})
    write_sparse(folder / "text_encoder/model.safetensors", {"a.weight": ("BF16", (5,))})
    index = {
        "_class_name": "QwenImagePipeline",
        "transformer": ["diffusers", "QwenImageTransformer2DModel"],
        "vae": ["diffusers", "AutoencoderKLQwenImage"],
        "text_encoder": ["transformers", "Qwen2_5_VLForConditionalGeneration"],
        "tokenizer": ["transformers", "Qwen2Tokenizer"],
        "scheduler": ["diffusers", "FlowMatchEulerDiscreteScheduler"],
        "safety_checker": [None, None],
    }
    (folder / "model_index.json").write_text(json.dumps(index))
    return folder


class TestPipelines:
    """Diffusers folders."""

    def test_the_components_are_one_model_with_their_folders_in_front(self, pipeline: Path):
        model = read(pipeline)
        assert model.faults == ()
        assert set(model.tensors) == {
            *("transformer/a.weight", "transformer/a.bias", "transformer/b.weight"),
            *("vae/decoder.weight", "text_encoder/a.weight"),
        }
        assert all(name == tensor.name for name, tensor in model.tensors.items())
        assert (model.name, model.format) == ("pipeline", "safetensors")
        assert dict(model.metadata) == {"transformer/_quantization_metadata": "{}"}
        assert set(model.files) == {str(p.relative_to(pipeline).as_posix()) for p in pipeline.rglob("*.safetensors")}
        assert model.header_bytes + model.data_bytes == model.file_bytes == sum(model.files.values())

    def test_it_needs_no_model_index(self, pipeline: Path):
        (pipeline / "model_index.json").unlink()
        assert len(read(pipeline).tensors) == 5

    def test_one_component_is_a_model_by_itself(self, pipeline: Path):
        model = read(pipeline / "transformer")
        assert list(model.tensors) == ["a.weight", "a.bias", "b.weight"]
        assert model.name == "diffusion_pytorch_model.safetensors"

    def test_a_component_without_weights_is_named(self, pipeline: Path):
        (pipeline / "vae/diffusion_pytorch_model.safetensors").unlink()
        model = read(pipeline)
        line = "Listed in `model_index.json` but without weights: `vae`. Download into the same folder."
        assert lines(model) == [("missing-component", "model_index.json", line)]
        assert len(model.tensors) == 4

    def test_a_missing_shard_of_a_component_is_named_with_its_folder(self, pipeline: Path):
        (pipeline / "transformer/diffusion_pytorch_model-00002-of-00002.safetensors").unlink()
        [(id_, file, text)] = lines(read(pipeline))
        assert (id_, file) == ("missing-shard", "transformer/diffusion_pytorch_model.safetensors")
        assert "`diffusion_pytorch_model-00002-of-00002.safetensors`" in text

    def test_the_usual_variant_is_taken_and_the_others_named(self, pipeline: Path):
        for name in ("diffusion_pytorch_model.fp16.safetensors", "diffusion_pytorch_model.bin"):
            write_sparse(pipeline / "vae" / name, {"other": ("F16", (1,))})
        model = read(pipeline)
        line = (
            "Left out beside the files that were read: `diffusion_pytorch_model.bin` "
            "and `diffusion_pytorch_model.fp16.safetensors`."
        )
        assert lines(model) == [("other-variants", "vae/diffusion_pytorch_model.safetensors", line)]
        assert not model.broken
        assert "vae/other" not in model.tensors

    def test_fp16_is_taken_where_it_is_the_only_one(self, pipeline: Path):
        vae = pipeline / "vae"
        (vae / "diffusion_pytorch_model.safetensors").rename(vae / "diffusion_pytorch_model.fp16.safetensors")
        model = read(pipeline)
        assert model.faults == ()
        assert "vae/decoder.weight" in model.tensors

    def test_a_component_that_is_ambiguous_is_named_and_the_rest_read(self, pipeline: Path):
        vae = pipeline / "vae"
        (vae / "diffusion_pytorch_model.safetensors").rename(vae / "one.safetensors")
        write_sparse(vae / "two.safetensors", FIRST)
        model = read(pipeline)
        line = "Cannot be read: `vae` holds several models: `one.safetensors` and `two.safetensors`. Name one of them."
        assert lines(model) == [("file-unreadable", "model_index.json", line)]
        assert len(model.tensors) == 4

    @pytest.mark.parametrize("data", [b"[1]", b"{", b"\xff"])
    def test_a_bad_model_index_is_named_and_the_folders_are_read(self, data: bytes, pipeline: Path):
        (pipeline / "model_index.json").write_bytes(data)
        model = read(pipeline)
        assert [fault.id for fault in model.faults] == ["bad-index"]
        assert len(model.tensors) == 5

    def test_a_component_is_never_looked_for_elsewhere(self, pipeline: Path):
        text = json.dumps(
            {"../pipeline/vae": ["diffusers", "X"], "/etc": ["diffusers", "X"], "vae": ["diffusers", "X"]}
        )
        (pipeline / "model_index.json").write_text(text)
        assert read(pipeline).faults == ()


class TestFolders:
    """Folders that are no pipeline."""

    def test_an_empty_one(self, tmp_path: Path):
        with pytest.raises(ModelFileError, match=rf"`{tmp_path.name}` holds no model file\."):
            read(tmp_path)

    def test_one_with_several_models_is_not_guessed_at(self, tmp_path: Path):
        for name in ("ae.safetensors", "sdxl.safetensors", "x.gguf", "y.bin"):
            write_sparse(tmp_path / name, FIRST)
        with pytest.raises(ModelFileError) as caught:
            read(tmp_path)
        names = "`ae.safetensors`, `sdxl.safetensors`, `x.gguf` and 1 more"
        assert str(caught.value) == f"`{tmp_path.name}` holds several models: {names}. Name one of them."

    def test_one_with_a_single_model(self, tmp_path: Path):
        write_sparse(tmp_path / "ae.safetensors", FIRST)
        (tmp_path / "readme.md").write_text("x")
        assert read(tmp_path).name == "ae.safetensors"

    @pytest.mark.parametrize(
        ("taken", "other"),
        [
            ("model.safetensors", "model.fp16.safetensors"),
            ("model.safetensors", "pytorch_model.safetensors"),
            ("model.safetensors", "diffusion_pytorch_model.fp16.safetensors"),
            ("model.fp16.safetensors", "model.bin"),
            ("model.fp16.safetensors", "model.non_ema.safetensors"),
            ("model.safetensors", "model-00001-of-00001.safetensors"),
            ("model-00001-of-00001.safetensors", "model.bin"),
            ("diffusion_pytorch_model.safetensors", "custom.safetensors"),
        ],
    )
    def test_of_two_that_could_be_meant_the_usual_one_is_taken(self, taken: str, other: str, tmp_path: Path):
        write_sparse(tmp_path / taken, FIRST)
        write_sparse(tmp_path / other, SECOND)
        model = read(tmp_path)
        assert list(model.files) == [taken]
        assert [(fault.id, other in fault.text) for fault in model.faults] == [("other-variants", True)]

    def test_the_current_folder(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
        write_sparse(tmp_path / "ae.safetensors", FIRST)
        monkeypatch.chdir(tmp_path)
        assert read(".").name == read("ae.safetensors").name == "ae.safetensors"


def test_the_header_of_a_sparse_file_is_what_the_tests_think(tmp_path: Path):
    path = write_sparse(tmp_path / "a.safetensors", FIRST)
    assert path.read_bytes() == framed(header_of(FIRST), bytes(40))
