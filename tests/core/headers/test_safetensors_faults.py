"""Every fault of a safetensors file: the bytes that have it, and the line that a person reads.

Sources: cases.md VAE-29 to VAE-32 and its section "safetensors file errors"; safetensors/src/tensor.rs, whose tests do
the same for its errors.
"""

from __future__ import annotations

import struct
from pathlib import Path

import pytest
from fakes.model_files import framed

from headroom.core.headers import Limits, read
from headroom.core.tensorinfo import Fault, ModelFile

#: One F16 tensor of four elements in eight bytes.
SOUND = b'{"a":{"dtype":"F16","shape":[2,2],"data_offsets":[0,8]}}'
EIGHT = bytes(range(8))


def lines(model: ModelFile) -> list[tuple[str, str]]:
    """(id, text) of every fault, with plain spaces."""
    return [(fault.id, fault.text.replace("\u00a0", " ")) for fault in model.faults]


def entry(name: str, dtype: str, shape: str, begin: int, end: int) -> bytes:
    """An entry as JSON."""
    return f'"{name}":{{"dtype":"{dtype}","shape":{shape},"data_offsets":[{begin},{end}]}}'.encode()


FAULTS = {
    # CogVideoXWrapper #222: a VAE file of 0 bytes, "HeaderTooSmall".
    "empty": (b"", "empty", "Empty: 0 bytes. Download it again."),
    "seven bytes": (
        b"\x38\0\0\0\0\0\0",
        "too-short",
        "Only 7 bytes, and the length of a header alone takes 8. Download it again.",
    ),
    "only the length": (
        b"\x38\0\0\0\0\0\0\0",
        "header-cut",
        "Cut off inside the header: it needs 56 bytes more than the 8 bytes of the file. Download it again.",
    ),
    "half of the header": (
        framed(SOUND)[:36],
        "header-cut",
        "Cut off inside the header: it needs 28 bytes more than the 36 bytes of the file. Download it again.",
    ),
    "no data": (framed(SOUND), "truncated", "Truncated: 8 bytes missing of 72 bytes. Download it again."),
    "minus 1 byte": (
        framed(SOUND, EIGHT[:7]),
        "truncated",
        "Truncated: 1 byte missing of 72 bytes. Download it again.",
    ),
    # ComfyUI #15599: loads only under dynamic VRAM, a strict reader refuses it.
    "plus 16 bytes": (
        framed(SOUND, EIGHT + bytes(16)),
        "too-long",
        "Too long by 16 bytes: the header says 72 bytes, the file has 88 bytes. Download it again.",
    ),
    "header of 2 to the 40": (
        struct.pack("<Q", 2**40) + SOUND,
        "header-too-large",
        "The header says that it takes 1,099,511,627,776 bytes; the limit is 100,000,000 bytes. Download it again.",
    ),
    "length 0": (
        bytes(8) + b"rest",
        "bad-json",
        "The header is not valid JSON: expecting value at character 0. Download it again.",
    ),
    "not JSON": (
        framed(b'{"a":{"dtype":"F16",}}'),
        "bad-json",
        "The header is not valid JSON: expecting property name enclosed in double quotes at character 20. "
        "Download it again.",
    ),
    "a list": (
        framed(b"[]"),
        "bad-json",
        "The header is not valid JSON: it is not a table of tensors. Download it again.",
    ),
    "not UTF-8": (
        framed(b'{"\xff":1}'),
        "bad-utf8",
        "The header is not UTF-8 text: byte 2 of 7. Download it again.",
    ),
    "too deep": (
        framed(b'{"a":[[[[[[[[[]]]]]]]]]}'),
        "json-too-deep",
        "The JSON is nested more than 8 levels deep. Do not use the file.",
    ),
    "deeper than Python goes": (
        framed(b'{"a":' + b"[" * 200_000),
        "json-too-deep",
        "The JSON is nested more than 8 levels deep. Do not use the file.",
    ),
    "a name twice": (
        framed(b"{" + entry("a", "U8", "[8]", 0, 8) + b"," + entry("a", "I8", "[8]", 0, 8) + b"}", EIGHT),
        "duplicate-names",
        "More than once in the header: `a`. Loaders differ in which they take. Download it again.",
    ),
    "no dtype": (
        framed(b'{"a":{"shape":[2,2],"data_offsets":[0,8]}}', EIGHT),
        "bad-entry",
        "Without a usable dtype, shape or position: `a`. Download it again.",
    ),
    "no shape": (
        framed(b'{"a":{"dtype":"F16","data_offsets":[0,8]}}', EIGHT),
        "bad-entry",
        "Without a usable dtype, shape or position: `a`. Download it again.",
    ),
    "no offsets": (
        framed(b'{"a":{"dtype":"F16","shape":[2,2]}}', EIGHT),
        "bad-entry",
        "Without a usable dtype, shape or position: `a`. Download it again.",
    ),
    "three offsets": (
        framed(b'{"a":{"dtype":"F16","shape":[2,2],"data_offsets":[0,4,8]}}', EIGHT),
        "bad-entry",
        "Without a usable dtype, shape or position: `a`. Download it again.",
    ),
    "a dtype that is a number": (
        framed(b'{"a":{"dtype":16,"shape":[2,2],"data_offsets":[0,8]}}', EIGHT),
        "bad-entry",
        "Without a usable dtype, shape or position: `a`. Download it again.",
    ),
    "a fraction": (
        framed(b'{"a":{"dtype":"F16","shape":[2,2.0],"data_offsets":[0,8]}}', EIGHT),
        "bad-entry",
        "Without a usable dtype, shape or position: `a`. Download it again.",
    ),
    "true": (
        framed(b'{"a":{"dtype":"F16","shape":[true,4],"data_offsets":[0,8]}}', EIGHT),
        "bad-entry",
        "Without a usable dtype, shape or position: `a`. Download it again.",
    ),
    "four bad entries": (
        framed(b'{"a":1,"b":[],"c":"x","d":null}', b""),
        "bad-entry",
        "Without a usable dtype, shape or position: `a`, `b`, `c` and 1 more. Download it again.",
    ),
    "a negative side": (
        framed(b"{" + entry("a", "F16", "[-2,-2]", 0, 8) + b"}", EIGHT),
        "bad-number",
        "With a negative or impossibly large number: `a`. Download it again.",
    ),
    "offsets the wrong way round": (
        framed(b"{" + entry("a", "F16", "[2,2]", 8, 0) + b"}", EIGHT),
        "bad-number",
        "With a negative or impossibly large number: `a`. Download it again.",
    ),
    "an overflow": (
        framed(b"{" + entry("a", "F16", "[4294967296,4294967296,4294967296]", 0, 8) + b"}", EIGHT),
        "bad-number",
        "With a negative or impossibly large number: `a`. Download it again.",
    ),
    "a side of 2 to the 70 beside one of 0": (
        framed(b"{" + entry("a", "F16", f"[0,{2**70}]", 0, 0) + b"}"),
        "bad-number",
        "With a negative or impossibly large number: `a`. Download it again.",
    ),
    "a number of 5,000 digits": (
        framed(b'{"a":{"dtype":"F16","shape":[' + b"9" * 5000 + b'],"data_offsets":[0,8]}}', EIGHT),
        "bad-number",
        "With a negative or impossibly large number: `a`. Download it again.",
    ),
    "metadata that is a list": (
        framed(b'{"__metadata__":[],' + SOUND[1:], EIGHT),
        "bad-metadata",
        "The metadata is not a table of texts: `__metadata__`. Loaders refuse the file; save it again.",
    ),
    "metadata with a number": (
        framed(b'{"__metadata__":{"epoch":3},' + SOUND[1:], EIGHT),
        "bad-metadata",
        "The metadata is not a table of texts: `epoch`. Loaders refuse the file; save it again.",
    ),
    "an overlap": (
        framed(b"{" + entry("a", "U8", "[6]", 0, 6) + b"," + entry("b", "U8", "[4]", 4, 8) + b"}", EIGHT),
        "overlap",
        "Overlap of 2 bytes between tensors: `a` and `b`. Download it again.",
    ),
    "an overlap of one byte": (
        framed(b"{" + entry("b", "U8", "[4]", 4, 8) + b"," + entry("a", "U8", "[5]", 0, 5) + b"}", EIGHT),
        "overlap",
        "Overlap of 1 byte between tensors: `a` and `b`. Download it again.",
    ),
    "the same bytes twice": (
        framed(b"{" + entry("a", "U8", "[8]", 0, 8) + b"," + entry("b", "I8", "[8]", 0, 8) + b"}", EIGHT),
        "overlap",
        "Overlap of 8 bytes between tensors: `a` and `b`. Download it again.",
    ),
    "a hole": (
        framed(b"{" + entry("a", "U8", "[2]", 0, 2) + b"," + entry("b", "U8", "[4]", 4, 8) + b"}", EIGHT),
        "hole",
        "Hole of 2 bytes between tensors: before `b`. Download it again.",
    ),
    "another size": (
        framed(b"{" + entry("a", "F32", "[2,2]", 0, 8) + b"}", EIGHT),
        "size-mismatch",
        "With another size than dtype and shape make: `a` F32 [2, 2] makes 16 bytes, not 8. Download it again.",
    ),
    "an odd number of 4-bit elements": (
        framed(b"{" + entry("a", "F4", "[15]", 0, 8) + b"}", EIGHT),
        "misaligned",
        "Elements of 4 or 6 bits that do not fill their last byte: `a` F4 [15]. Save the file again.",
    ),
    "6-bit elements that end inside a byte": (
        framed(b"{" + entry("a", "F6_E2M3", "[10]", 0, 8) + b"}", EIGHT),
        "misaligned",
        "Elements of 4 or 6 bits that do not fill their last byte: `a` F6_E2M3 [10]. Save the file again.",
    ),
}


def read_bytes(folder: Path, data: bytes, limits: Limits | None = None) -> ModelFile:
    """The file with these bytes, read."""
    path = folder / "model.safetensors"
    path.write_bytes(data)
    return read(path, limits) if limits else read(path)


@pytest.mark.parametrize(("data", "id_", "line"), FAULTS.values(), ids=FAULTS.keys())
def test_a_fault_is_named_in_one_line(data: bytes, id_: str, line: str, tmp_path: Path):
    model = read_bytes(tmp_path, data)
    assert lines(model) == [(id_, line)]
    assert model.broken
    assert model.faults[0].file == "model.safetensors"
    assert model.file_bytes == len(data)


def test_the_sound_file_that_the_others_are_made_of_has_none(tmp_path: Path):
    model = read_bytes(tmp_path, framed(SOUND, EIGHT))
    assert (model.faults, model.broken) == ((), False)
    assert (model.header_bytes, model.data_bytes, model.file_bytes) == (64, 8, 72)


@pytest.mark.parametrize(("data", "id_"), [(case[0], case[1]) for case in FAULTS.values()], ids=FAULTS.keys())
def test_the_safetensors_package_refuses_what_we_call_broken(data: bytes, id_: str, tmp_path: Path):
    """A fault that no loader minds would only frighten; a name that stands twice is the one that it overlooks."""
    safetensors = pytest.importorskip("safetensors")
    path = tmp_path / "model.safetensors"
    path.write_bytes(data)
    if id_ == "duplicate-names":
        assert list(safetensors.safe_open(path, "numpy").keys()) == ["a"]
        return
    with pytest.raises(safetensors.SafetensorError):
        safetensors.safe_open(path, "numpy")


@pytest.mark.parametrize(
    "data",
    [
        framed(b"{}"),
        framed(b" " + SOUND + b"   ", EIGHT),
        framed(b'{"__metadata__":null,' + SOUND[1:], EIGHT),
        framed(b'{"a":{"dtype":"F32","shape":[],"data_offsets":[0,4]}}', bytes(4)),
        framed(b'{"a":{"dtype":"F32","shape":[0,7],"data_offsets":[0,0]}}'),
        framed(b'{"a":{"dtype":"F16","shape":[2,2],"data_offsets":[0,8],"more":[[[[[[[[[[]]]]]]]]]]}}', EIGHT),
        framed(b'{"a":{"dtype":"F4","shape":[16],"data_offsets":[0,8]}}', EIGHT),
        framed(b'{"a":{"dtype":"F6_E3M2","shape":[4],"data_offsets":[0,3]}}', bytes(3)),
    ],
    ids=["no tensor", "spaces", "null metadata", "a scalar", "no elements", "more keys", "F4", "F6"],
)
def test_what_the_safetensors_package_accepts_is_not_called_broken(data: bytes, tmp_path: Path):
    safetensors = pytest.importorskip("safetensors")
    path = tmp_path / "model.safetensors"
    path.write_bytes(data)
    model = read(path)
    assert model.faults == ()
    assert list(model.tensors) == list(safetensors.safe_open(path, "numpy").keys())
    assert model.header_bytes + model.data_bytes == model.file_bytes == len(data)


def test_a_file_with_a_fault_still_gives_the_tensors_that_could_be_read(tmp_path: Path):
    header = b"{" + entry("good", "F16", "[2,2]", 0, 8) + b',"bad":{"dtype":"F16"},' + entry("odd", "F4", "[3]", 8, 10)
    model = read_bytes(tmp_path, framed(header + b"}", EIGHT))
    assert [fault.id for fault in model.faults] == ["bad-entry", "misaligned", "truncated"]
    assert {name: tensor.size_bytes for name, tensor in model.tensors.items()} == {"good": 8, "odd": 2}


def test_the_place_of_a_bad_entry_is_not_called_a_hole(tmp_path: Path):
    """Nor are its bytes behind the others called too many."""
    good = entry("a", "U8", "[2]", 2, 4)
    model = read_bytes(tmp_path, framed(b'{"bad":1,' + good + b',"worse":{"dtype":"U8","shape":[-4]}}', EIGHT))
    assert [fault.id for fault in model.faults] == ["bad-entry"]


def test_an_unknown_dtype_keeps_its_bytes_and_says_so(tmp_path: Path):
    header = b"{" + entry("a", "F9_NEW", "[3]", 0, 5) + b"," + entry("b", "U8", "[3]", 5, 8) + b"}"
    model = read_bytes(tmp_path, framed(header, EIGHT))
    line = "Of unknown dtype: `a` `F9_NEW` [3]; 5 bytes in all, which are counted. A newer Headroom may know it."
    assert lines(model) == [("unknown-dtype", line)]
    assert not model.broken
    assert model.tensors["a"].size_bytes == 5
    assert model.header_bytes + model.data_bytes == model.file_bytes


def test_the_dtype_is_the_headers_and_not_the_file_names(tmp_path: Path):
    """Kijai/flux-fp8, discussion 39: a file named e5m2 held e4m3fn."""
    path = tmp_path / "flux1-dev-fp8_e5m2.safetensors"
    path.write_bytes(framed(b"{" + entry("a.weight", "F8_E4M3", "[2,4]", 0, 8) + b"}", EIGHT))
    assert read(path).tensors["a.weight"].dtype == "F8_E4M3"


def test_the_sizes_of_a_mixed_file_are_those_of_its_offsets(tmp_path: Path):
    """SWAP-36: fp8 weights with fp32 scales; the sum of the offsets, not elements times one width."""
    header = (
        b"{"
        + entry("a.weight", "F8_E4M3", "[4,3]", 0, 12)
        + b","
        + entry("a.scale", "F32", "[]", 12, 16)
        + b","
        + entry("a.bias", "BF16", "[4]", 16, 24)
        + b"}"
    )
    model = read_bytes(tmp_path, framed(header, bytes(24)))
    assert [tensor.size_bytes for tensor in model.tensors.values()] == [12, 4, 8]
    assert [tensor.shape for tensor in model.tensors.values()] == [(4, 3), (), (4,)]


def test_names_from_a_file_cannot_break_a_line(tmp_path: Path):
    name = "a`\\n\\u001b[31m" + "x" * 500
    model = read_bytes(tmp_path, framed(f'{{"{name}":1}}'.encode()))
    [(_, line)] = lines(model)
    assert line.isprintable()
    assert line.count("`") == 2
    assert len(line) < 200


def test_a_name_that_cannot_be_written_is_made_writable(tmp_path: Path):
    """JSON can spell half of a surrogate pair; to print or store it would raise."""
    header = b'{"a\\ud800":{"dtype":"U8","shape":[8],"data_offsets":[0,8]},"__metadata__":{"k\\udfff":"v\\ud800"}}'
    model = read_bytes(tmp_path, framed(header, EIGHT))
    assert list(model.tensors) == ["a?"]
    assert dict(model.metadata) == {"k?": "v?"}


def test_one_fault_names_many_tensors_and_not_each_in_its_own_line(tmp_path: Path):
    header = b",".join(entry(f"t{i}", "F32", "[1]", i, i + 1) for i in range(8))
    model = read_bytes(tmp_path, framed(b"{" + header + b"}", EIGHT))
    assert [fault.id for fault in model.faults] == ["size-mismatch"]
    assert "`t2` F32 [1] makes 4 bytes, not 1 and 5 more" in model.faults[0].text.replace("\u00a0", " ")


class TestLimits:
    """Each limit one below, at and one above."""

    @pytest.mark.parametrize(("limit", "found"), [(57, []), (56, []), (55, ["header-too-large"])])
    def test_header(self, limit: int, found: list[str], tmp_path: Path):
        assert len(SOUND) == 56
        model = read_bytes(tmp_path, framed(SOUND, EIGHT), Limits(header_bytes=limit))
        assert [fault.id for fault in model.faults] == found

    def test_the_limit_of_a_header_is_that_of_the_format(self, tmp_path: Path):
        for length, fault in (
            (99_999_999, "header-cut"),
            (100_000_000, "header-cut"),
            (100_000_001, "header-too-large"),
        ):
            model = read_bytes(tmp_path, struct.pack("<Q", length) + SOUND)
            assert [found.id for found in model.faults] == [fault]

    @pytest.mark.parametrize(("limit", "found"), [(4, []), (3, []), (2, ["too-many-tensors"])])
    def test_tensors(self, limit: int, found: list[str], tmp_path: Path):
        header = b"{" + b",".join(entry(f"t{i}", "U8", "[2]", 2 * i, 2 * i + 2) for i in range(3)) + b"}"
        model = read_bytes(tmp_path, framed(header, bytes(6)), Limits(tensors=limit))
        assert [fault.id for fault in model.faults] == found
        assert len(model.tensors) == (0 if found else 3)
        if found:
            assert lines(model)[0][1] == "3 tensors; the limit is 2. Do not use the file."

    @pytest.mark.parametrize(("limit", "found"), [(6, "bad-entry"), (5, "bad-entry"), (4, "json-too-deep")])
    def test_depth(self, limit: int, found: str, tmp_path: Path):
        model = read_bytes(tmp_path, framed(b'{"a":[[[[[]]]]]}'), Limits(json_depth=limit))
        assert [fault.id for fault in model.faults] == [found]

    @pytest.mark.parametrize(("limit", "found"), [(11, []), (10, []), (9, ["too-many-values"])])
    def test_values_of_a_long_header(self, limit: int, found: list[str], tmp_path: Path):
        """A comma and brackets inside a text are not counted: training logs are full of them."""
        header = b'{"__metadata__":{"log":"[{,\\"[{,"},' + SOUND[1:]
        model = read_bytes(tmp_path, framed(header, EIGHT), Limits(unchecked_json_bytes=0, json_values=limit))
        assert [fault.id for fault in model.faults] == found
        if found:
            assert lines(model)[0][1] == "The header has more than 9 values. Do not use the file."

    def test_a_long_header_whose_text_does_not_end(self, tmp_path: Path):
        model = read_bytes(tmp_path, framed(b'{"abc'), Limits(unchecked_json_bytes=0))
        line = "The header is not valid JSON: unterminated string starting at at character 1. Download it again."
        assert lines(model) == [("bad-json", line)]

    @pytest.mark.parametrize(("limit", "found"), [(33, []), (32, []), (31, ["bad-number"])])
    def test_dimensions(self, limit: int, found: list[str], tmp_path: Path):
        header = b"{" + entry("a", "U8", str([1] * 32), 0, 1) + b"}"
        model = read_bytes(tmp_path, framed(header, b"\0"), Limits(dimensions=limit))
        assert [fault.id for fault in model.faults] == found

    @pytest.mark.parametrize(("limit", "found"), [(9, []), (8, []), (7, ["bad-number"])])
    def test_numbers(self, limit: int, found: list[str], tmp_path: Path):
        model = read_bytes(tmp_path, framed(SOUND, EIGHT), Limits(number=limit))
        assert [fault.id for fault in model.faults] == found

    @pytest.mark.parametrize(("limit", "kept"), [(5, 1), (4, 1), (3, 0)])
    def test_a_metadata_value(self, limit: int, kept: int, tmp_path: Path):
        header = b'{"__metadata__":{"k":"abc"},' + SOUND[1:]
        model = read_bytes(tmp_path, framed(header, EIGHT), Limits(metadata_value_bytes=limit))
        assert len(model.metadata) == kept
        expected = [] if kept else [("metadata-dropped", "Metadata left out as too long: `k`.")]
        assert lines(model) == expected
        assert not model.broken

    @pytest.mark.parametrize(("limit", "kept"), [(7, 3), (6, 3), (5, 2)])
    def test_all_metadata(self, limit: int, kept: int, tmp_path: Path):
        header = b'{"__metadata__":{"k":"1","l":"2","m":"3"},' + SOUND[1:]
        model = read_bytes(tmp_path, framed(header, EIGHT), Limits(metadata_bytes=limit))
        assert len(model.metadata) == kept

    @pytest.mark.parametrize(("limit", "kept"), [(9, 1), (8, 1), (7, 0)])
    def test_a_note(self, limit: int, kept: int, tmp_path: Path):
        header = b"{" + entry("a.comfy_quant", "U8", "[8]", 0, 8) + b"}"
        model = read_bytes(tmp_path, framed(header, b'{"a": 1}'), Limits(note_bytes=limit))
        assert dict(model.notes) == ({"a.comfy_quant": '{"a": 1}'} if kept else {})

    @pytest.mark.parametrize(("limit", "kept"), [(3, 2), (2, 2), (1, 1)])
    def test_notes(self, limit: int, kept: int, tmp_path: Path):
        header = (
            b"{" + entry("a.comfy_quant", "U8", "[2]", 0, 2) + b"," + entry("b.comfy_quant", "U8", "[2]", 2, 4) + b"}"
        )
        model = read_bytes(tmp_path, framed(header, b"{}[]"), Limits(notes=limit))
        assert len(model.notes) == kept


def test_a_fault_is_a_plain_value():
    assert Fault("empty", "Empty.") == Fault("empty", "Empty.", "", False)
