"""Torch checkpoints, new and old: tensors by following the pickle, never by running it."""

from __future__ import annotations

import io
import os
import pickle
import struct
import zipfile
from collections import OrderedDict
from pathlib import Path
from typing import Any

import pytest

from headroom.core.headers import Limits, read
from headroom.core.headers.pickle_ops import PickleFault
from headroom.core.headers.pickle_walk import walk
from headroom.core.tensorinfo import ModelFile

torch = pytest.importorskip("torch")


def saved(folder: Path, value: Any, name: str = "model.ckpt", **options: Any) -> Path:
    """A file written by torch.save."""
    path = folder / name
    torch.save(value, path, **options)
    return path


def lines(model: ModelFile) -> list[tuple[str, str]]:
    """(id, text) of every fault, with plain spaces."""
    return [(fault.id, fault.text.replace("\u00a0", " ")) for fault in model.faults]


def weights() -> dict[str, Any]:
    """One tensor of each dtype that a checkpoint can hold, and the odd shapes."""
    dtypes = [
        *(torch.float64, torch.float32, torch.float16, torch.bfloat16, torch.float8_e4m3fn, torch.float8_e5m2),
        *(torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8, torch.bool, torch.uint16, torch.complex64),
    ]
    made = {f"layer.{dtype}".replace("torch.", ""): torch.zeros(3, 5, dtype=dtype) for dtype in dtypes}
    return made | {"scalar": torch.zeros(()), "nothing": torch.zeros(0, 7), "p": torch.nn.Parameter(torch.zeros(2))}


@pytest.mark.parametrize("old", [False, True], ids=["zip", "old"])
@pytest.mark.parametrize(
    "wrap",
    [lambda w: w, lambda w: {"state_dict": w, "epoch": 3}, lambda w: {"params_ema": w}, OrderedDict],
    ids=["plain", "state_dict", "one table", "ordered"],
)
def test_names_dtypes_shapes_and_bytes_are_those_that_torch_loads(old: bool, wrap: Any, tmp_path: Path):
    written = weights()
    path = saved(tmp_path, wrap(written), _use_new_zipfile_serialization=not old)
    model = read(path)
    assert [fault.id for fault in model.faults] == (["old-pickle"] if old else [])
    assert not model.broken
    assert list(model.tensors) == list(written)
    for name, found in written.items():
        ours = model.tensors[name]
        assert (ours.shape, ours.size_bytes) == (tuple(found.shape), found.nbytes), name
    assert model.tensors["layer.float8_e4m3fn"].dtype == "F8_E4M3"
    assert model.tensors["layer.bfloat16"].dtype == "BF16"
    assert model.header_bytes + model.data_bytes == model.file_bytes == path.stat().st_size
    assert model.format == ("pickle" if old else "pickle-zip")


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
@pytest.mark.parametrize("old", [False, True], ids=["zip", "old"])
def test_every_binary_protocol_is_followed(protocol: int, old: bool, tmp_path: Path):
    written = {"a": torch.zeros(2, 3), "long name " * 30: torch.zeros(1)}
    path = saved(tmp_path, written, pickle_protocol=protocol, _use_new_zipfile_serialization=not old)
    assert [tensor.shape for tensor in read(path).tensors.values()] == [(2, 3), (1,)]


@pytest.mark.parametrize("old", [False, True], ids=["zip", "old"])
def test_tied_weights_are_counted_once(old: bool, tmp_path: Path):
    shared = torch.zeros(100)
    written = {"embed": shared, "head": shared, "first half": shared[:50], "expanded": torch.zeros(1).expand(1000)}
    path = saved(tmp_path, written, _use_new_zipfile_serialization=not old)
    model = read(path)
    assert {name: tensor.size_bytes for name, tensor in model.tensors.items()} == {
        "embed": 200,
        "head": 0,
        "first half": 200,
        "expanded": 4,
    }
    assert model.tensors["expanded"].shape == (1000,)
    assert not model.broken


def test_training_state_is_told_from_the_weights(tmp_path: Path):
    """The host reads all of it into memory and keeps the state_dict alone."""
    model = read(
        saved(
            tmp_path,
            {
                "state_dict": {"a": torch.zeros(10)},
                "optimizer_states": [{"state": {0: {"exp_avg": torch.zeros(30)}}, "param_groups": [{"lr": 1e-4}]}],
            },
        )
    )
    assert list(model.tensors) == ["a"]
    line = "Beside the weights: 120 bytes (training state, or the rest of cut tensors), loaded with them."
    assert lines(model) == [("beside-weights", line)]
    assert not model.broken


def test_nested_tables_join_their_names(tmp_path: Path):
    model = read(saved(tmp_path, {"unet": {"a": torch.zeros(1)}, "vae": [torch.zeros(2), torch.zeros(3)], "n": 1}))
    assert list(model.tensors) == ["unet.a", "vae.0", "vae.1"]
    model = read(saved(tmp_path, {"unet": {"a": torch.zeros(1)}, "vae": {"b": [torch.zeros(2)], "c": (1, 2)}}))
    assert list(model.tensors) == ["unet.a", "vae.b.0"]


def test_a_module_saved_whole_gives_its_parameters(tmp_path: Path):
    module = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.BatchNorm1d(3))
    assert set(read(saved(tmp_path, module)).tensors) == set(module.state_dict())


def test_a_pickle_that_would_run_code_is_named_and_not_run(tmp_path: Path):
    ran = tmp_path / "ran"

    class Harm:
        def __reduce__(self):
            return os.mkdir, (str(ran),)

    model = read(saved(tmp_path, {"a": torch.zeros(1), "b": Harm()}))
    names = f"`{os.mkdir.__module__}.mkdir`"
    line = f"Loading it without `weights_only` would run {names}. Do not use the file."
    assert lines(model) == [("pickle-code", line)]
    assert list(model.tensors) == ["a"]
    assert not ran.exists()


def test_names_that_checkpoints_really_import_are_not_called_harmful(tmp_path: Path):
    numpy = pytest.importorskip("numpy")
    value = {
        "a": torch.zeros(1),
        "scalar": numpy.float64(1.5),
        "set": {1, 2},
        "kind": int,
        "device": torch.device("cpu"),
    }
    assert read(saved(tmp_path, {"state_dict": value})).faults == ()


@pytest.mark.filterwarnings("ignore:.torch.jit:FutureWarning")
def test_a_torchscript_program_is_named(tmp_path: Path):
    path = tmp_path / "model.pt"
    torch.jit.save(torch.jit.script(torch.nn.Linear(2, 3)), str(path))
    line = "A TorchScript program, not a table of weights; ComfyUI does not load it. Find the weights."
    assert lines(read(path)) == [("torchscript", line)]


def repacked(path: Path, edit: Any = None, **options: Any) -> bytes:
    """A checkpoint's archive written again by zipfile; ``edit`` changes (name, data) or drops an entry."""
    made = io.BytesIO()
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(made, "w", **options) as new:
        for name in old.namelist():
            entry = (name, old.read(name))
            entry = edit(*entry) if edit else entry
            if entry:
                new.writestr(*entry)
    return made.getvalue()


class TestArchives:
    """The zip around a checkpoint."""

    @pytest.fixture
    def path(self, tmp_path: Path) -> Path:
        return saved(tmp_path, {"a": torch.zeros(100), "b": torch.zeros(50, dtype=torch.float16)})

    def test_compressed_data_count_as_they_are_in_memory(self, path: Path):
        path.write_bytes(repacked(path, compression=zipfile.ZIP_DEFLATED))
        model = read(path)
        assert [tensor.size_bytes for tensor in model.tensors.values()] == [400, 100]
        [(id_, line)] = lines(model)
        assert id_ == "compressed"
        assert line.endswith("bytes become 500 bytes in memory. Save it again as safetensors.")

    def test_an_archive_that_is_cut_has_no_directory(self, path: Path):
        path.write_bytes(path.read_bytes()[:-1])
        line = "Cut off: the zip directory at the end is missing. Download it again."
        assert lines(read(path)) == [("zip-cut", line)]

    def test_a_directory_with_a_wrong_entry(self, path: Path):
        data = path.read_bytes()
        path.write_bytes(data.replace(b"PK\x01\x02", b"PK\x01\x03", 1))
        line = "The zip directory is damaged: entry 0 cannot be read. Download it again."
        assert lines(read(path)) == [("zip-damaged", line)]

    def test_missing_data_are_named(self, path: Path):
        path.write_bytes(repacked(path, lambda name, data: None if name.endswith("data/1") else (name, data)))
        assert lines(read(path)) == [("missing-data", "The data are not in the file: `b`. Download it again.")]

    def test_data_that_are_too_short_are_named(self, path: Path):
        path.write_bytes(repacked(path, lambda name, data: (name, data[:-2] if name.endswith("data/1") else data)))
        line = (
            "With another size than dtype and shape make: `b` needs 100 bytes of its block, which has 98. "
            "Download it again."
        )
        assert lines(read(path)) == [("size-mismatch", line)]

    def test_a_pickle_that_cannot_be_followed_leaves_the_bytes(self, path: Path):
        path.write_bytes(repacked(path, lambda name, data: (name, b"\x80\x02I1\n." if name.endswith("pkl") else data)))
        model = read(path)
        line = (
            "2 blocks of data with 500 bytes, but its pickle cannot be followed: the instruction 73 at byte 2. "
            "Names, dtypes and shapes are unknown."
        )
        assert lines(model) == [("names-unknown", line)]
        assert model.data_bytes == 500
        assert [tensor.dtype for tensor in model.tensors.values()] == ["unknown", "unknown"]

    @pytest.mark.parametrize(("more", "known"), [(1, True), (0, True), (-1, False)])
    def test_the_limit_of_the_pickle(self, path: Path, more: int, known: bool):
        with zipfile.ZipFile(path) as archive:
            size = archive.getinfo("model/data.pkl").file_size
        model = read(path, Limits(pickle_bytes=size + more))
        assert ("a" in model.tensors) == known
        if not known:
            assert f"data.pkl takes {size} bytes" in lines(model)[0][1]

    @pytest.mark.parametrize(("more", "known"), [(1, True), (0, True), (-1, False)])
    def test_the_limit_of_the_directory(self, path: Path, more: int, known: bool):
        data = path.read_bytes()
        size = struct.unpack_from("<L", data, len(data) - 10)[0]
        model = read(path, Limits(directory_bytes=size + more))
        assert bool(model.tensors) == known
        if not known:
            assert "it takes" in lines(model)[0][1]

    @pytest.mark.parametrize(("more", "known"), [(1, True), (0, True), (-1, False)])
    def test_the_limit_of_entries(self, path: Path, more: int, known: bool):
        with zipfile.ZipFile(path) as archive:
            count = len(archive.namelist())
        model = read(path, Limits(tensors=count + more))
        assert bool(model.tensors) == known
        if not known:
            line = f"it has {count} entries, the limit is {count - 1}"
            assert line in lines(model)[0][1]

    def test_a_bomb_of_entries_that_share_their_bytes(self, path: Path):
        """A directory of some KB can name petabytes by pointing at the same bytes again and again."""
        data = path.read_bytes()
        count, size, start = struct.unpack_from("<HLL", data, len(data) - 12)
        many = 200
        end = struct.pack("<4s4H2LH", b"PK\x05\x06", 0, 0, count * many, count * many, size * many, start, 0)
        path.write_bytes(data[:start] + data[start : start + size] * many + end)
        model = read(path)
        assert [fault.id for fault in model.faults] == ["zip-overlap"]
        assert model.data_bytes == 500

    def test_an_entry_that_says_it_unpacks_to_more_than_it_does(self, path: Path):
        packed = bytearray(repacked(path, compression=zipfile.ZIP_DEFLATED))
        at = packed.rfind(b"PK\x01\x02", 0, packed.find(b"data.pkl", packed.find(b"PK\x01\x02")))
        struct.pack_into("<L", packed, at + 24, 10_000)
        path.write_bytes(packed)
        [fault] = [fault for fault in read(path).faults if fault.id == "names-unknown"]
        assert "an entry is shorter than it says" in fault.text

    def test_64_bit_numbers_are_read_where_they_stand(self, path: Path):
        """What does not fit into 32 bits stands in an extra field, in the order size, stored size, position."""
        data = path.read_bytes()
        count, _, start = struct.unpack_from("<HLL", data, len(data) - 12)
        directory = b""
        with zipfile.ZipFile(path) as archive:
            for entry in archive.infolist():
                wide = entry.filename.endswith("data/0")
                sizes = (2**32 - 1, 2**32 - 1) if wide else (entry.compress_size, entry.file_size)
                offset = 2**32 - 1 if wide else entry.header_offset
                numbers = (entry.file_size, entry.compress_size, entry.header_offset)
                extra = struct.pack("<2HL", 9, 4, 0) + (struct.pack("<2H3Q", 1, 24, *numbers) if wide else b"")
                name = entry.filename.encode()
                lengths = (len(name), len(extra), 0, 0, 0)
                fields = (b"PK\x01\x02", 45, 0, 45, 0, 0, 0, 0, 0, entry.CRC, *sizes, *lengths, 0, offset)
                directory += struct.pack("<4s4B4HL2L5H2L", *fields) + name + extra
        end = struct.pack("<4s4H2LH", b"PK\x05\x06", 0, 0, count, count, len(directory), start, 0)
        path.write_bytes(data[:start] + directory + end)
        model = read(path)
        assert {name: tensor.size_bytes for name, tensor in model.tensors.items()} == {"a": 400, "b": 100}
        assert model.faults == ()
        torch.load(path, weights_only=True)

    def test_64_bit_records_are_read(self, path: Path):
        made = io.BytesIO()
        with zipfile.ZipFile(path) as old, zipfile.ZipFile(made, "w") as new:
            for name in old.namelist():
                with new.open(name, "w", force_zip64=True) as entry:
                    entry.write(old.read(name))
        path.write_bytes(made.getvalue())
        assert read(path).data_bytes == 500


class TestOldCheckpoints:
    """torch's format from before 1.6."""

    @pytest.fixture
    def path(self, tmp_path: Path) -> Path:
        return saved(tmp_path, {"a": torch.zeros(100), "b": torch.zeros(7)}, _use_new_zipfile_serialization=False)

    def test_it_is_named_with_what_to_do(self, path: Path):
        model = read(path)
        line = (
            "In torch's format from before version 1.6, which cannot be mapped into memory. "
            "Save it again as safetensors."
        )
        assert lines(model) == [("old-pickle", line)]
        assert model.file_bytes == path.stat().st_size

    def test_a_truncated_one_tells_by_how_much(self, path: Path):
        size = path.stat().st_size
        path.write_bytes(path.read_bytes()[:-5])
        line = f"Truncated: 5 bytes missing of {size:,} bytes. Download it again."
        assert lines(read(path))[1:] == [("truncated", line)]

    def test_bytes_behind_the_last_tensor_are_a_notice(self, path: Path):
        path.write_bytes(path.read_bytes() + bytes(3))
        model = read(path)
        assert lines(model)[1:] == [("padded", "Unused behind the last tensor: 3 bytes.")]
        assert not model.broken

    def test_one_cut_inside_its_pickles(self, path: Path):
        path.write_bytes(path.read_bytes()[:200])
        line = (
            "A checkpoint of 200 bytes, but its pickle cannot be followed: it ends too soon. "
            "Names, dtypes and shapes are unknown."
        )
        assert lines(read(path))[1:] == [("names-unknown", line)]

    def test_a_pickle_longer_than_the_first_read(self, tmp_path: Path):
        written = {f"layer.{index}." + "x" * 1000: torch.zeros(1) for index in range(1200)}
        path = saved(tmp_path, written, _use_new_zipfile_serialization=False)
        assert list(read(path).tensors) == list(written)

    def test_a_pickle_of_another_program(self, tmp_path: Path):
        path = tmp_path / "data.pkl"
        path.write_bytes(pickle.dumps({"a": list(range(10))}, protocol=4))
        line = (
            "A pickle that torch did not write; what it holds cannot be told without running it. "
            "Use a safetensors file instead."
        )
        assert lines(read(path)) == [("other-pickle", line)]


class TestWalking:
    """The stack machine on plain values, and on instructions that no pickler writes."""

    @pytest.mark.parametrize("protocol", [2, 3, 4, 5])
    @pytest.mark.parametrize(
        "value",
        [
            {"a": 1, "b": [1, 2, 3], "c": (), "d": (1,), "e": (1, 2), "f": (1, 2, 3), "g": (1, 2, 3, 4)},
            {"n": None, "t": True, "f": False, "x": 1.5, "big": 2**100, "minus": -(2**40), "text": "ü" * 300},
            {1: {2: {3: []}}},
            [[1]] * 3,
        ],
    )
    def test_plain_values_come_out_as_they_went_in(self, value: Any, protocol: int):
        assert walk(pickle.dumps(value, protocol=protocol)).value == value

    @pytest.mark.parametrize("protocol", [3, 4, 5])
    def test_bytes_come_out_as_they_went_in(self, protocol: int):
        """Protocol 2 has no bytes: it writes a call."""
        assert walk(pickle.dumps([b"x", b"y" * 300], protocol=protocol)).value == [b"x", b"y" * 300]

    @pytest.mark.parametrize(
        ("data", "reason"),
        [
            (b"", "it ends too soon"),
            (b"\x80\x02", "it ends too soon"),
            (b"\x80\x02X\xff\xff\xff\xff", "it ends too soon"),
            (b"\x80\x02K", "it ends too soon"),
            (b"\x80\x02.", "its instructions contradict each other"),
            (b"\x80\x02h\0.", "its instructions contradict each other"),
            (b"\x80\x02\x87.", "its instructions contradict each other"),
            (b"\x80\x02NQ.", "its instructions contradict each other"),
            (b"\x80\x02tR.", "its instructions contradict each other"),
            (b"\x80\x02L5L\n.", "the instruction 76 at byte 2"),
            (b"\x80\x02c" + b"x" * 3000, "a name without an end at byte 3"),
        ],
    )
    def test_instructions_that_make_no_sense_are_a_fault(self, data: bytes, reason: str):
        with pytest.raises(PickleFault) as caught:
            walk(data)
        assert caught.value.reason == reason

    @pytest.mark.parametrize(("limit", "fails"), [(6, False), (5, False), (4, True)])
    def test_the_limit_of_instructions(self, limit: int, fails: bool):
        data = b"\x80\x02NNNN."
        if fails:
            with pytest.raises(PickleFault):
                walk(data, limits=Limits(pickle_steps=limit))
        else:
            assert walk(data, limits=Limits(pickle_steps=limit)).value is None

    def test_tables_inside_tables_inside_tables_end(self, tmp_path: Path):
        """A table that holds itself, and one that holds the next twice, 40 times over."""
        loop: dict[str, Any] = {"a": torch.zeros(1)}
        loop["self"] = loop
        assert list(read(saved(tmp_path, loop)).tensors) == ["a"]
        value: dict[str, Any] = {"t": torch.zeros(1)}
        for _ in range(40):
            value = {"l": value, "r": value}
        assert len(read(saved(tmp_path, value)).tensors) == 1

    def test_a_name_that_never_stops_growing_is_given_up(self, tmp_path: Path):
        value: dict[str, Any] = {"t": torch.zeros(1)}
        for _ in range(300):
            value = {"xxxxxxxxx": value, "y": 1}
        assert len(read(saved(tmp_path, value)).tensors) == 0
