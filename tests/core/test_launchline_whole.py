"""A start line with every fix made: one line to paste, and never a worse one."""

from __future__ import annotations

import random
import re
import time

import pytest

from headroom.core.flags.versions import table_for
from headroom.core.launchline import LaunchLineError, Machine, all_changed, findings, read_line
from headroom.core.readings import WorkflowModel

GIB = 2**30
TABLE = table_for()
MODELS = (WorkflowModel("diffusion", size_bytes=10 * GIB), WorkflowModel("diffusion", size_bytes=12 * GIB))


def whole(text: str, machine: Machine | None = None, suffix: str = "") -> str:
    return all_changed(read_line(text, suffix), TABLE, machine or Machine())


@pytest.mark.parametrize(
    ("flags", "fixed"),
    [
        ("--medvram --xformers --listen", "--listen"),
        ("--force-fp32 --fp16-unet --reserve-vram -1 --lowvram", "--fp16-unet"),
        # Put right, the first word is the second one again; and it hid the word behind it.
        ("--novram --highvram --no-vram extra --fast", "--novram --fast"),
        ("--no-vram --highvram --medvram", "--novram"),
        ("--low-vram --highvram --medvram", "--highvram"),
        ("--listen --highvram --lowvram --novram", "--listen --novram"),
        ("--foo-bar 3 4", ""),
        ("--reserve 2GB --port 1 --port 2", "--reserve-vram 2 --port 2"),
        ("--cpu-vae --fp16-vae --async-offload --disable-async-offload", "--cpu-vae --disable-async-offload"),
        ("--enable-dynamic-vram --disable-dynamic-vram --highvram", "--enable-dynamic-vram"),
        # Nothing that a person has to choose is chosen.
        ("--high --medvram", "--high"),
        ("--listen", None),
    ],
)
def test_every_fix_in_one_line(flags: str, fixed: str | None) -> None:
    assert whole(f"python main.py {flags}") == ("" if fixed is None else f"python main.py {fixed}".rstrip())


def test_how_a_flag_is_written_is_not_put_right_where_it_goes() -> None:
    """--lowvra: one fix left --lowvram out, the next wrote it in full."""
    for text in ("python main.py --lowvra", "python main.py --lowvram --lowvram"):
        found = findings(read_line(text), TABLE, Machine())
        assert [(one.id, one.command) for one in found] == [("lowvram-noop", "python main.py")]
    amd = findings(read_line("python main.py --lowvra"), TABLE, Machine(gpu="AMD Radeon RX 7900 XTX"))
    assert [one.id for one in amd] == ["short-flag"]


def test_of_two_flags_that_exclude_each_other_the_later_one_holds() -> None:
    """A low limit asks for --cache-lru, a switch of models that does not fit for --cache-none: argparse takes one."""
    machine = Machine(vram_bytes=16 * GIB, ram_bytes=64 * GIB, gpu="AMD Radeon RX 7900 XTX", models=MODELS)
    text = "docker run -m 20g img python main.py --medvram"
    found = [advice.id for advice in findings(read_line(text), TABLE, machine)]
    assert found == ["a1111-flag", "cgroup-unread", "memory-limit-low", "ram-switch"]
    assert whole(text, machine) == "docker run -m 20g img python main.py --cache-none"


def test_what_only_tries_something_is_not_in_it() -> None:
    """rocm-dynamic says "try it and look at the pictures"."""
    large = WorkflowModel("diffusion", size_bytes=30 * GIB)
    machine = Machine(vram_bytes=24 * GIB, gpu="AMD Radeon RX 7900 XTX", models=(large,))
    text = "python main.py --medvram"
    assert "rocm-dynamic" in [advice.id for advice in findings(read_line(text), TABLE, machine)]
    assert whole(text, machine) == "python main.py"


def test_a_fix_that_would_bring_something_worse_is_not_in_it() -> None:
    """Without --fp32-unet Qwen-Image would compute in fp16 on a card without bf16: black images (ComfyUI #10668)."""
    qwen = WorkflowModel("diffusion", "QwenImage", 4 * GIB)
    machine = Machine(vram_bytes=6 * GIB, gpu="NVIDIA GeForce RTX 2060", models=(qwen,))
    text = "python main.py --force-fp16 --fp32-unet --medvram"
    found = {advice.id: advice for advice in findings(read_line(text), TABLE, machine)}
    assert found["fp32-doubles"].change.remove == ("--fp32-unet",)
    assert whole(text, machine).endswith("--fp32-unet")


def test_a_flag_behind_pause_comes_to_the_line_once_the_line_is_sound() -> None:
    """FLAG-09: C#5169, C#1501. Beside another fault there was no line to paste for it."""
    text = "python main.py --cpu-vae ^\r\n  --reserve-vram 2 --medvram\r\npause\r\n--novram\r\n"
    assert whole(text, suffix=".bat") == "python main.py --cpu-vae ^\r\n  --reserve-vram 2 --novram"


def test_a_text_with_hundreds_of_faults_takes_no_time() -> None:
    """A file of a megabyte is read; that many fixes are none for a person."""
    started = time.process_time()
    assert whole("python main.py " + " ".join(f"--x{number}" for number in range(400))) == ""
    assert time.process_time() - started < 30


def test_any_flags_give_a_line_that_is_no_worse_or_none() -> None:
    chance = random.Random(4711)
    flags = sorted(flag for flag in TABLE.flags if re.match(r"--(?:.*vram|.*vae|.*unet|force|.*cache|.*disk)", flag))
    words = [*flags, "--medvram", "--low-vram", "--reserve", "2", "-1", "2GB", "x", "--normalvram", "--high"]
    machine = Machine(vram_bytes=8 * GIB, ram_bytes=16 * GIB, gpu="NVIDIA RTX 2060", models=MODELS)
    for _ in range(60):
        text = "python main.py " + " ".join(chance.choice(words) for _ in range(chance.randint(1, 5)))
        try:
            before = findings(read_line(text), TABLE, machine)
            fixed = whole(text, machine)
            after = findings(read_line(fixed), TABLE, machine) if fixed else before
        except LaunchLineError:
            pytest.fail(text)
        problems = [sum(one.severity == "problem" for one in found) for found in (before, after)]
        assert problems[1] <= problems[0], f"{text} -> {fixed}"
