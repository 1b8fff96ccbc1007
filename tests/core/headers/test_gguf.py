"""GGUF files made by hand: what is read, every fault by the bytes that have it, and every limit."""

from __future__ import annotations

import io
import random
import struct
import sys
from enum import IntEnum
from pathlib import Path
from types import SimpleNamespace

import pytest
from fakes.model_files import ARRAY, BOOL, FLOAT32, INT32, TEXT, UINT8, UINT32, UINT64, array, gguf, tensor, text, value

from headroom.core.headers import Limits, read
from headroom.core.headers import cursor as cursor_module
from headroom.core.headers.cursor import Cursor, Cut
from headroom.core.headers.gguf_types import TYPES, block_type, installed_types
from headroom.core.headers.source import Source
from headroom.core.tensorinfo import ModelFile

ARCHITECTURE = value("general.architecture", TEXT, text("flux"))
Q4_K, F32, Q8_0 = 12, 0, 8
#: Two tensors: 2 x 256 in Q4_K (288 bytes), and 4 in F32 behind it.
TENSORS = (tensor("a.weight", [256, 2], Q4_K, 0), tensor("b.bias", [4], F32, 288))
DATA = bytes(288 + 16)
SOUND = gguf([ARCHITECTURE], TENSORS, DATA)


def read_bytes(folder: Path, data: bytes, limits: Limits | None = None) -> ModelFile:
    """The file with these bytes, read."""
    path = folder / "model.gguf"
    path.write_bytes(data)
    return read(path, limits) if limits else read(path)


def lines(model: ModelFile) -> list[tuple[str, str]]:
    """(id, text) of every fault, with plain spaces."""
    return [(fault.id, fault.text.replace("\u00a0", " ")) for fault in model.faults]


def test_a_sound_file(tmp_path: Path):
    model = read_bytes(tmp_path, SOUND)
    assert (model.format, model.faults) == ("gguf", ())
    assert dict(model.metadata) == {"general.architecture": "flux"}
    weight, bias = model.tensors.values()
    assert (weight.name, weight.dtype, weight.shape, weight.size_bytes) == ("a.weight", "Q4_K", (2, 256), 288)
    assert (bias.name, bias.dtype, bias.shape, bias.size_bytes) == ("b.bias", "F32", (4,), 16)
    assert model.header_bytes + model.data_bytes == model.file_bytes == len(SOUND)


def test_version_2_is_read_as_well(tmp_path: Path):
    model = read_bytes(tmp_path, gguf([ARCHITECTURE], TENSORS, DATA, version=2))
    assert (len(model.tensors), model.faults) == (2, ())


def test_the_size_is_that_of_the_blocks_and_not_of_the_elements(tmp_path: Path):
    """SWAP-28, ComfyUI-GGUF #264: elements times two is three times too much."""
    model = read_bytes(tmp_path, gguf([], [tensor("w", [1024, 3], Q4_K, 0)], bytes(3 * 4 * 144)))
    assert model.tensors["w"].elements == 3072
    assert model.data_bytes == 1728
    assert model.faults == ()


def test_padding_between_and_behind_the_tensors_counts_as_header(tmp_path: Path):
    tensors = (tensor("a", [3], F32, 0), tensor("b", [5], F32, 32))
    data = gguf([], tensors, bytes(32 + 20 + 12))
    model = read_bytes(tmp_path, data)
    assert model.faults == ()
    assert model.data_bytes == 12 + 20
    assert model.header_bytes == len(data) - 32


def test_metadata_of_every_kind_as_text(tmp_path: Path):
    values = [
        ARCHITECTURE,
        value("u8", UINT8, b"\xff"),
        value("i32", INT32, struct.pack("<i", -3)),
        value("epsilon", FLOAT32, struct.pack("<f", 1e-6)),
        value("yes", BOOL, b"\1"),
        value("no", BOOL, b"\0"),
        value("u64", UINT64, struct.pack("<Q", 2**63)),
        value("f64", 12, struct.pack("<d", 0.1)),
        value("sections", ARRAY, array(INT32, [struct.pack("<i", n) for n in (16, 24, 24)])),
        value("scores", ARRAY, array(FLOAT32, [bytes(4)] * 17)),
        value("tokens", ARRAY, array(TEXT, [text("a"), text("b")])),
        value("empty", ARRAY, array(UINT8, [])),
    ]
    assert dict(read_bytes(tmp_path, gguf(values, TENSORS, DATA)).metadata) == {
        "general.architecture": "flux",
        "u8": "255",
        "i32": "-3",
        "epsilon": "1e-06",
        "yes": "true",
        "no": "false",
        "u64": "9223372036854775808",
        "f64": "0.1",
        "sections": "[16, 24, 24]",
        "empty": "[]",
    }


def test_a_shape_that_comfyui_gguf_had_to_change_is_given_as_it_was(tmp_path: Path):
    """GGUF has four dimensions at most and blocks along rows; its convert.py notes the shape that a tensor had."""
    shape = [struct.pack("<i", side) for side in (2, 2, 2, 2, 32)]
    values = [value("comfy.gguf.orig_shape.a.weight", ARRAY, array(INT32, shape))]
    model = read_bytes(tmp_path, gguf(values, [tensor("a.weight", [256, 2], Q4_K, 0)], bytes(288)))
    assert model.faults == ()
    assert model.tensors["a.weight"].shape == (2, 2, 2, 2, 32)
    assert model.tensors["a.weight"].size_bytes == 288


def test_an_original_shape_of_another_size_is_not_believed(tmp_path: Path):
    shape = [struct.pack("<i", side) for side in (2, 255)]
    values = [value("comfy.gguf.orig_shape.a.weight", ARRAY, array(INT32, shape))]
    model = read_bytes(tmp_path, gguf(values, [tensor("a.weight", [256, 2], Q4_K, 0)], bytes(288)))
    line = "With an original shape of another size: `a.weight`. The stored shape is used."
    assert lines(model) == [("bad-original-shape", line)]
    assert not model.broken
    assert model.tensors["a.weight"].shape == (2, 256)


def test_a_type_that_nobody_knows_keeps_its_bytes_and_says_so(tmp_path: Path):
    tensors = (tensor("a", [64], 250, 0), tensor("b", [4], F32, 96), tensor("c", [64], 251, 128))
    model = read_bytes(tmp_path, gguf([], tensors, bytes(128 + 40)))
    line = (
        "Of unknown dtype: `a` (type 250) and `c` (type 251); 136 bytes in all, which are counted. "
        "A newer Headroom may know it."
    )
    assert lines(model) == [("unknown-dtype", line)]
    assert [(t.dtype, t.size_bytes) for t in model.tensors.values()] == [
        ("type 250", 96),
        ("F32", 16),
        ("type 251", 40),
    ]


KEY = text("general.name")
FAULTS = {
    "only the magic": (
        b"GGUF",
        "header-cut",
        "Cut off inside the header: it needs at least 4 bytes more than the 4 bytes of the file. Download it again.",
    ),
    "cut in the metadata": (
        SOUND[:60],
        "header-cut",
        "Cut off inside the header: it needs at least 4 bytes more than the 60 bytes of the file. Download it again.",
    ),
    "version 1": (
        gguf(version=1),
        "gguf-version",
        "GGUF version 1; versions 2 and 3 can be read. Download a newer file of the same model.",
    ),
    "version 4": (
        gguf(version=4),
        "gguf-version",
        "GGUF version 4; versions 2 and 3 can be read. Download a newer file of the same model.",
    ),
    "big endian": (
        b"GGUF" + struct.pack(">IQQ", 3, 0, 0),
        "big-endian",
        "A GGUF file in big-endian byte order, which no loader reads here. Download the little-endian file.",
    ),
    "a value of unknown type": (
        gguf([KEY + struct.pack("<I", 13) + bytes(8)]),
        "damaged-header",
        "The header makes no sense at byte 48: a value of the unknown type 13. Download it again.",
    ),
    "an array of arrays": (
        gguf([value("a", ARRAY, array(ARRAY, []))]),
        "damaged-header",
        "The header makes no sense at byte 49: an array of arrays. Download it again.",
    ),
    "a key of 64 KiB and one byte": (
        gguf([struct.pack("<Q", 65537)]),
        "damaged-header",
        "The header makes no sense at byte 32: a key of 65,537 bytes. Download it again.",
    ),
    "a tensor's name of 2 to the 63 bytes": (
        gguf([], [struct.pack("<Q", 2**63)]),
        "damaged-header",
        "The header makes no sense at byte 32: a tensor's name of 9,223,372,036,854,775,808 bytes. Download it again.",
    ),
    "a tensor with five dimensions": (
        gguf([], [tensor("a", [1] * 5, F32, 0)]),
        "damaged-header",
        "The header makes no sense at byte 37: a tensor with 5 dimensions, where 4 is the most. Download it again.",
    ),
    "an alignment that is a text": (
        gguf([value("general.alignment", TEXT, text("32"))]),
        "damaged-header",
        "The header makes no sense at byte 53: an alignment of value type 8. Download it again.",
    ),
    "an alignment of 24": (
        gguf([value("general.alignment", UINT32, struct.pack("<I", 24))], TENSORS, DATA),
        "bad-alignment",
        "The alignment is 24, not a power of two. Download it again.",
    ),
    "an alignment of 0": (
        gguf([value("general.alignment", UINT32, bytes(4))], TENSORS, DATA),
        "bad-alignment",
        "The alignment is 0, not a power of two. Download it again.",
    ),
    "a name twice": (
        gguf([], [tensor("a", [8], F32, 0), tensor("a", [8], F32, 32)], bytes(64)),
        "duplicate-names",
        "More than once in the header: `a`. Loaders differ in which they take. Download it again.",
    ),
    "a key twice": (
        gguf([ARCHITECTURE, ARCHITECTURE], TENSORS, DATA),
        "duplicate-names",
        "More than once in the header: `general.architecture`. Loaders differ in which they take. Download it again.",
    ),
    "an impossible shape": (
        gguf([], [tensor("a", [2**32, 2**32], F32, 0)]),
        "bad-number",
        "With a negative or impossibly large number: `a`. Download it again.",
    ),
    "rows of half a block": (
        gguf([], [tensor("a", [128, 2], Q4_K, 0)], bytes(144)),
        "partial-block",
        "With rows that are not whole blocks: `a` Q4_K [2, 128] (blocks of 256). Download it again.",
    ),
    "off the alignment": (
        gguf([], [tensor("a", [4], F32, 0), tensor("b", [4], F32, 16)], bytes(32)),
        "misaligned-offset",
        "Not at a multiple of the alignment of 32: `b`. Download it again.",
    ),
    "an overlap": (
        gguf([], [tensor("a", [16], F32, 0), tensor("b", [8], F32, 32)], bytes(64)),
        "overlap",
        "Overlap of 32 bytes between tensors: `a` and `b`. Download it again.",
    ),
    "a hole": (
        gguf([], [tensor("a", [4], F32, 0), tensor("b", [8], F32, 96)], bytes(128)),
        "hole",
        "Hole of 64 bytes between tensors: before `b`. Download it again.",
    ),
    "no data": (
        gguf([], [tensor("a", [8], F32, 0)]),
        "truncated",
        "Truncated: 32 bytes missing of 96 bytes. Download it again.",
    ),
    "minus 1 byte": (SOUND[:-1], "truncated", "Truncated: 1 byte missing of 464 bytes. Download it again."),
    "plus 32 bytes": (SOUND + bytes(32), "padded", "Unused behind the last tensor: 32 bytes."),
}


@pytest.mark.parametrize(("data", "id_", "line"), FAULTS.values(), ids=FAULTS.keys())
def test_a_fault_is_named_in_one_line(data: bytes, id_: str, line: str, tmp_path: Path):
    model = read_bytes(tmp_path, data)
    assert lines(model) == [(id_, line)]
    assert model.broken == (id_ != "padded")
    assert model.file_bytes == len(data)


@pytest.mark.parametrize("length", range(4, len(SOUND)))
def test_a_file_cut_anywhere_is_called_cut_and_gives_what_was_read(length: int, tmp_path: Path):
    model = read_bytes(tmp_path, SOUND[:length])
    assert [fault.id for fault in model.faults] in (["header-cut"], ["truncated"])
    for name, found in model.tensors.items():
        assert found.size_bytes == {"a.weight": 288, "b.bias": 16}[name]


class TestLimits:
    """Each limit one below, at and one above."""

    @pytest.mark.parametrize(("limit", "found"), [(3, []), (2, []), (1, ["too-many-tensors"])])
    def test_tensors(self, limit: int, found: list[str], tmp_path: Path):
        model = read_bytes(tmp_path, SOUND, Limits(tensors=limit))
        assert [fault.id for fault in model.faults] == found

    @pytest.mark.parametrize(("limit", "found"), [(3, []), (2, []), (1, ["too-many-values"])])
    def test_values(self, limit: int, found: list[str], tmp_path: Path):
        data = gguf([ARCHITECTURE, value("b", BOOL, b"\1")], TENSORS, DATA)
        assert [fault.id for fault in read_bytes(tmp_path, data, Limits(gguf_values=limit)).faults] == found

    @pytest.mark.parametrize(("limit", "found"), [(5, []), (4, []), (3, ["damaged-header"])])
    def test_texts_in_arrays(self, limit: int, found: list[str], tmp_path: Path):
        two = array(TEXT, [text("x")] * 2)
        data = gguf([value("a", ARRAY, two), value("b", ARRAY, two)], TENSORS, DATA)
        model = read_bytes(tmp_path, data, Limits(gguf_strings=limit))
        assert [fault.id for fault in model.faults] == found
        if found:
            assert "arrays of more than 3 texts" in model.faults[0].text

    @pytest.mark.parametrize(("limit", "found"), [(69, []), (68, []), (67, ["damaged-header"])])
    def test_header(self, limit: int, found: list[str], tmp_path: Path):
        assert 24 + len(ARCHITECTURE) == 68
        model = read_bytes(tmp_path, SOUND, Limits(gguf_header_bytes=limit))
        assert [fault.id for fault in model.faults] == found

    @pytest.mark.parametrize(("limit", "kept"), [(25, 1), (24, 1), (23, 0)])
    def test_a_metadata_value(self, limit: int, kept: int, tmp_path: Path):
        model = read_bytes(tmp_path, SOUND, Limits(metadata_value_bytes=limit))
        assert len(model.metadata) == kept

    def test_a_long_text_is_stepped_over(self, tmp_path: Path):
        data = gguf([value("license", TEXT, text("x" * 100)), ARCHITECTURE], TENSORS, DATA)
        model = read_bytes(tmp_path, data, Limits(metadata_value_bytes=50))
        assert dict(model.metadata) == {"general.architecture": "flux"}
        assert len(model.tensors) == 2

    @pytest.mark.parametrize("count", [2**32, 2**63, 2**64 - 1])
    def test_a_count_that_the_file_cannot_hold_costs_nothing(self, count: int, tmp_path: Path):
        for type_ in (UINT8, TEXT):
            data = gguf([KEY + struct.pack("<IIQ", ARRAY, type_, count)])
            [fault] = read_bytes(tmp_path, data).faults
            assert fault.id in {"header-cut", "damaged-header"}


class TestSteppingOverTexts:
    """The fast path is a regular expression over many texts at once; it must go exactly where the slow one goes."""

    @pytest.mark.parametrize("seed", range(6))
    @pytest.mark.parametrize("longest", [3, 95, 96, 97, 300, 70_000])
    def test_it_ends_behind_the_last_text(self, seed: int, longest: int, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.setattr(cursor_module, "WINDOW_BYTES", 2**14)
        picked = random.Random(seed)
        count = picked.choice([0, 1, 255, 256, 257, 511, 512, 513, 1500])
        few = min(count, 1_000_000 // longest)
        data = b"".join(text(picked.randbytes(picked.randint(0, longest))) for _ in range(few))
        behind = text("the next key, which looks like one more text")
        at = Cursor(Source(io.BytesIO(data + behind), len(data + behind), "x"))
        at.skip_texts(few)
        assert at.position == len(data)

    @pytest.mark.parametrize("byte", range(1, 8))
    def test_a_length_with_high_bytes_is_not_taken_for_a_short_one(self, byte: int):
        length = bytearray(8)
        length[0], length[byte] = 1, 1
        data = text("x") * 256 + bytes(length) + b"x" + bytes(100)
        at = Cursor(Source(io.BytesIO(data), len(data), "x"))
        # The first text fills the window, which the fast path works on.
        at.skip_texts(1)
        with pytest.raises(Cut):
            at.skip_texts(256)


def test_block_sizes_are_those_of_the_gguf_package():
    """ "Q8_1" has 36 bytes in other tables; the package's are the truth."""
    package = pytest.importorskip("gguf")
    known = {int(type_): (type_.name, *sizes) for type_, sizes in package.GGML_QUANT_SIZES.items()}
    assert {number: tuple(block_type(number) or ()) for number in known} == known
    assert known[9] == ("Q8_1", 32, 40)


def test_a_newer_gguf_package_adds_its_types(monkeypatch: pytest.MonkeyPatch):
    newer = SimpleNamespace(GGML_QUANT_SIZES={IntEnum("Types", {"Q9_Z": 250}).Q9_Z: (64, 20)})
    monkeypatch.setitem(sys.modules, "gguf", SimpleNamespace(constants=newer))
    monkeypatch.setitem(sys.modules, "gguf.constants", newer)
    installed_types.cache_clear()
    assert block_type(250) == ("Q9_Z", 64, 20)
    assert block_type(12) == ("Q4_K", 256, 144)
    monkeypatch.setitem(sys.modules, "gguf.constants", None)
    installed_types.cache_clear()
    assert block_type(250) is None
    installed_types.cache_clear()


def test_no_type_is_in_our_table_alone():
    package = pytest.importorskip("gguf")
    assert set(TYPES) <= {int(type_) for type_ in package.GGML_QUANT_SIZES}
