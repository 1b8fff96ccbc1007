"""Damaged and hostile files: whatever the bytes, a model with faults comes back, quickly and in little memory."""

from __future__ import annotations

import ast
import io
import json
import random
import struct
import subprocess
import sys
import time
import tracemalloc
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from fakes.model_files import ARRAY, INT32, TEXT, array, framed, gguf, header_of, tensor, text, value

from headroom.core.errors import HeadroomError
from headroom.core.headers import read
from headroom.core.headers.faults import NOTICES, TEXTS, Faults, clean
from headroom.core.headers.quant import quantisation
from headroom.core.headers.single import read_source
from headroom.core.headers.source import Source
from headroom.core.tensorinfo import ModelFile
from headroom.core.units import exact

MUTANTS = 1500
#: The time is a bound for a slow and busy machine, not a promise.
SECONDS = 40

SAFETENSORS = framed(
    header_of(
        {
            "blocks.0.weight": ("F8_E4M3", (4, 4)),
            "blocks.0.weight_scale": ("F32", ()),
            "blocks.0.bias": ("BF16", (4,)),
            "blocks.0.comfy_quant": ("U8", (27,)),
        },
        {"format": "pt", "_quantization_metadata": '{"layers":{"blocks.0":{"format":"nvfp4"}}}'},
    ),
    bytes(16 + 4 + 8) + b'{"format": "float8_e4m3fn"}',
)
GGUF = gguf(
    [
        value("general.architecture", TEXT, text("flux")),
        value("comfy.gguf.orig_shape.a", ARRAY, array(INT32, [struct.pack("<i", side) for side in (2, 8, 32)])),
        value("tokens", ARRAY, array(TEXT, [text("x"), text("yy")])),
    ],
    [tensor("a", [256, 2], 12, 0), tensor("b", [4], 0, 288)],
    bytes(288 + 16),
)


def old_checkpoint(folder: Path, zipped: bool) -> bytes:
    """A small checkpoint."""
    torch = pytest.importorskip("torch")
    made = io.BytesIO()
    value = {"state_dict": {"a": torch.zeros(2, 3), "b": torch.nn.Parameter(torch.zeros(4).half())}, "epoch": 1}
    torch.save(value, made, _use_new_zipfile_serialization=zipped)
    return made.getvalue()


SEEDS: dict[str, Callable[[Path], bytes]] = {
    "safetensors": lambda folder: SAFETENSORS,
    "gguf": lambda folder: GGUF,
    "zip": lambda folder: old_checkpoint(folder, True),
    "old": lambda folder: old_checkpoint(folder, False),
}
#: Numbers at which readers trip.
NUMBERS = [0, 1, 0x7F, 0x80, 0xFF, 0x7FFF, 0xFFFF, 2**31 - 1, 2**31, 2**32 - 1, 2**63 - 1, 2**63, 2**64 - 1]


def mutated(data: bytes, picked: random.Random) -> bytes:
    """The bytes with one to four small damages."""
    result = bytearray(data)
    for _ in range(picked.randint(1, 4)):
        at = picked.randrange(len(result) + 1)
        kind = picked.randrange(6)
        if kind == 0:
            result[at : at + 1] = bytes([picked.randrange(256)])
        elif kind == 1:
            width = picked.choice([1, 2, 4, 8])
            result[at : at + width] = (picked.choice(NUMBERS) % 2 ** (8 * width)).to_bytes(width, "little")
        elif kind == 2:
            del result[at : at + picked.randint(1, 16)]
        elif kind == 3:
            result[at:at] = picked.randbytes(picked.randint(1, 16))
        elif kind == 4:
            other = picked.randrange(len(result) + 1)
            result[at:at] = result[other : other + picked.randint(1, 64)]
        else:
            digit = picked.choice([b"-1", b"9" * 30, b"0", b"true", b"1e9", b"[]", b"null", b'"', b"{"])
            result[at : at + picked.randint(0, 3)] = digit
    return bytes(result[: picked.randrange(len(result) + 1)] if picked.random() < 0.1 else result)


def read_bytes(data: bytes, name: str) -> ModelFile:
    """A file with these bytes that is open, read; thousands of them on a disk would take a minute."""
    return read_source(Source(io.BytesIO(data), len(data), name))


def check(model: ModelFile, size: int) -> None:
    """What holds for every file, however damaged."""
    assert model.file_bytes == size
    assert 0 <= model.header_bytes <= size
    for found in model.faults:
        assert found.id in TEXTS
        assert found.text.isprintable() or found.text.replace("\u00a0", " ").isprintable(), found.text
        assert len(found.text) < 1500
    for tensor_ in model.tensors.values():
        assert tensor_.size_bytes >= 0
        assert all(type(side) is int and side >= 0 for side in tensor_.shape)
    # Everything can be written out.
    json.dumps([list(model.tensors), dict(model.metadata), dict(model.notes)]).encode()
    "".join([*model.tensors, *model.metadata, *model.metadata.values()]).encode("utf-8")
    assert quantisation(model).size_bytes == model.data_bytes
    if not model.faults:
        assert model.header_bytes + model.data_bytes == size


@pytest.mark.parametrize("name", ["model.safetensors", "model.gguf", "model.ckpt"])
@pytest.mark.parametrize("seed", SEEDS)
def test_a_damaged_file_gives_faults_and_never_an_exception(seed: str, name: str, tmp_path: Path):
    data = SEEDS[seed](tmp_path)
    picked = random.Random(f"{seed} {name}")
    ends = time.monotonic() + SECONDS
    for number in range(MUTANTS):
        mutant = mutated(data, picked)
        try:
            check(read_bytes(mutant, name), len(mutant))
        except Exception as error:
            error.add_note(f"mutant {number} of {seed} as {name}: {mutant!r}") if sys.version_info >= (3, 11) else None
            raise
        assert time.monotonic() < ends, f"only {number} of {MUTANTS} in {SECONDS} s"


@pytest.mark.parametrize("seed", SEEDS)
def test_a_file_cut_anywhere_is_never_called_sound(seed: str, tmp_path: Path):
    data = SEEDS[seed](tmp_path)
    for length in range(len(data)):
        model = read_bytes(data[:length], "model")
        check(model, length)
        assert model.broken, length


@pytest.mark.parametrize("seed", SEEDS)
def test_the_files_that_are_damaged_are_sound_before(seed: str, tmp_path: Path):
    data = SEEDS[seed](tmp_path)
    model = read_bytes(data, "model")
    assert not model.broken
    assert model.header_bytes + model.data_bytes == len(data)


def test_random_indexes_and_pipelines_give_faults_or_our_error(tmp_path: Path):
    picked = random.Random(1)
    seeds = {
        "model.safetensors.index.json": b'{"weight_map":{"a":"model-00001-of-00002.safetensors","b":"x"}}',
        "model_index.json": b'{"_class_name":"X","vae":["diffusers","AutoencoderKL"],"unet":["diffusers","UNet"]}',
    }
    (tmp_path / "vae").mkdir()
    (tmp_path / "model-00001-of-00002.safetensors").write_bytes(SAFETENSORS)
    (tmp_path / "vae" / "model.safetensors").write_bytes(SAFETENSORS)
    for _ in range(500):
        for name, data in seeds.items():
            (tmp_path / name).write_bytes(mutated(data, picked))
        for path in (tmp_path / "model.safetensors.index.json", tmp_path):
            try:
                said = [fault.text + fault.file for fault in read(path).faults]
            except HeadroomError as error:
                said = [str(error)]
            assert str(tmp_path) not in "".join(said)


def zip_of(name: str, data: bytes) -> bytes:
    """A packed archive with one file."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(name, data)
    return made.getvalue()


def many(count: int, part: bytes, start: bytes = b"", end: bytes = b"") -> bytes:
    """A part again and again."""
    return start + part * count + end


MIB = 2**20
EXPENSIVE: dict[str, Callable[[], bytes]] = {
    "empty tables": lambda: framed(many(MIB, b"{},", b'{"a":[', b"0]}")),
    "empty tables, a long header": lambda: framed(many(8 * MIB, b"{},", b'{"a":[', b"0]}")),
    "numbers": lambda: framed(many(8 * MIB, b"1,", b'{"a":[', b"0]}")),
    "texts": lambda: framed(many(4 * MIB, b'"",', b'{"a":[', b"0]}")),
    "brackets": lambda: framed(many(8 * MIB, b"[", b'{"a":')),
    "quotes": lambda: framed(many(8 * MIB, b'\\"', b'{"a":"', b'"}')),
    "digits": lambda: framed(many(8 * MIB, b"9", b'{"a":', b"}")),
    "dimensions": lambda: framed(many(MIB, b"9,", b'{"a":{"dtype":"U8","data_offsets":[0,0],"shape":[', b"9]}}")),
    "one long name": lambda: framed(many(8 * MIB, b"x", b'{"', b'":1}')),
    "metadata": lambda: framed(many(16 * MIB, b"x", b'{"__metadata__":{"log":"', b'"}}')),
    "deep pickle": lambda: zip_of("x/data.pkl", many(8 * MIB, b"(", b"\x80\x02", b".")),
    "tables in a pickle": lambda: zip_of("x/data.pkl", many(8 * MIB, b"}", b"\x80\x02", b".")),
    "a bomb": lambda: zip_of("x/data.pkl", bytes(64 * MIB)),
    "tuples that double": lambda: zip_of(
        "x/data.pkl", b"\x80\x02)q\0" + many(200, b"h\0h\0\x86q\0") + b"X\1\0\0\0kh\0h\0\x86Q."
    ),
    "texts in a GGUF": lambda: gguf([value("a", ARRAY, array(TEXT, [bytes(8)] * MIB))]),
}


@pytest.mark.parametrize("name", EXPENSIVE)
def test_a_file_that_wants_to_take_long_does_not(name: str, tmp_path: Path):
    """The bound leaves room for a slow machine; without the limits some of these take minutes or hours."""
    path = tmp_path / "model"
    path.write_bytes(EXPENSIVE[name]())
    began = time.process_time()
    model = read(path)
    assert time.process_time() - began < 20
    check(model, path.stat().st_size)


#: What the limits let through, and the most MiB that reading it may take. A text of JSON whose values are not counted
#: before may be four times as long as these tables.
MEMORY = {
    "a quarter of the tables": (lambda: framed(many(MIB // 3, b"{},", b'{"a":[', b"0]}")), 100),
    "numbers": (EXPENSIVE["numbers"], 100),
    "metadata": (EXPENSIVE["metadata"], 100),
    "one long name": (EXPENSIVE["one long name"], 100),
    "a bomb": (EXPENSIVE["a bomb"], 10),
    "a header that is not there": (lambda: struct.pack("<Q", 99_999_999) + b"{", 1),
}


@pytest.mark.parametrize(("make", "most"), MEMORY.values(), ids=MEMORY.keys())
def test_a_file_that_wants_much_memory_does_not_get_it(make: Callable[[], bytes], most: int, tmp_path: Path):
    path = tmp_path / "model"
    path.write_bytes(make())
    tracemalloc.start()
    try:
        read(path)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < most * MIB


def test_nothing_heavy_is_imported_to_read_a_file(tmp_path: Path):
    """It works where neither torch nor numpy, safetensors, gguf or ComfyUI is installed."""
    path = tmp_path / "model.gguf"
    path.write_bytes(GGUF)
    root = Path(__file__).resolve().parents[3]
    code = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "from headroom.core.headers import read\n"
        "from headroom.core.headers.quant import quantisation\n"
        "assert len(quantisation(read(sys.argv[2])).layers) == 1\n"
        "assert not {'torch', 'numpy', 'gguf', 'safetensors', 'comfy'} & set(sys.modules)\n"
    )
    # -S: without site-packages.
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", code, root, path], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


class TestTexts:
    """The table of texts as a whole."""

    def test_every_fault_has_a_test(self):
        """An id that no test names is a text that nobody has read."""
        named: set[str] = set()
        for path in Path(__file__).parent.glob("test_*.py"):
            for node in ast.walk(ast.parse(path.read_text("utf-8"))):
                if isinstance(node, ast.Constant) and isinstance(node.value, str):
                    named.add(node.value)
        assert set(TEXTS) - named == set()

    def test_notices_are_faults(self):
        assert set(TEXTS) >= NOTICES

    def test_texts_are_in_the_style_of_the_pack(self):
        for name, line in TEXTS.items():
            assert line[0].isupper() or line[0] == "{", name
            assert line.endswith("."), name
            assert "!" not in line, name
            assert not {"please", " we ", "sorry"} & {line.lower()}, name

    @pytest.mark.parametrize(
        ("count", "line"),
        [
            (1, "Missing beside it: `a`. Download into the same folder."),
            (2, "Missing beside it: `a` and `b`. Download into the same folder."),
            (3, "Missing beside it: `a`, `b` and `c`. Download into the same folder."),
            (4, "Missing beside it: `a`, `b`, `c` and 1 more. Download into the same folder."),
        ],
    )
    def test_names_are_listed_and_counted(self, count: int, line: str):
        faults = Faults("x")
        faults.add_names("missing-shard", list("abcd"[:count]))
        assert faults.found[0].text == line

    @pytest.mark.parametrize(
        ("size", "shown"), [(0, "0 bytes"), (1, "1 byte"), (2, "2 bytes"), (1234567, "1,234,567 bytes")]
    )
    def test_bytes_are_given_to_the_last_one(self, size: int, shown: str):
        assert exact(size).replace("\u00a0", " ") == shown

    def test_no_name_is_no_fault(self):
        faults = Faults("x")
        faults.add_names("missing-shard", [])
        faults.add_each("missing-shard", [], str)
        assert faults.found == []

    @pytest.mark.parametrize(
        ("given", "shown"),
        [
            ("a", "a"),
            ("a\n b\t c", "a b c"),
            ("x" * 80, "x" * 80),
            ("x" * 81, "x" * 79 + "…"),
            ("x" * 10_000_000, "x" * 79 + "…"),
            (" " * 500 + "a", "…"),
            ("\x1b[31m\u202e", "\ufffd[31m\ufffd"),
        ],
    )
    def test_a_text_from_a_file_is_one_short_line(self, given: str, shown: str):
        assert clean(given) == shown
