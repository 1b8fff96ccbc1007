"""Compose files as images of ComfyUI come with them: found, checked, changed item by item."""

from __future__ import annotations

import random

import pytest

from headroom.core.flags.advice import Change
from headroom.core.flags.parsing import read
from headroom.core.flags.versions import table_for
from headroom.core.launchline import LaunchLineError, Machine, all_changed, check, findings, read_line
from headroom.core.launchline.rewrite import command, edits_for, rewritten
from headroom.core.readings import WorkflowModel

GIB = 2**30
TABLE = table_for()

IMAGE = """services:
  comfyui:
    image: yanwk/comfyui-boot:cu128
    environment:
      - HF_TOKEN=hf_x
      - CLI_ARGS=--lowvram --reserve-vram 2
    mem_limit: 16g
    ports: ["8188:8188"]
"""
LISTED = """# our machine
version: "3"
services:
  db:
    image: postgres
    command: postgres -c shared_buffers=1GB
  ui:  # the one
    image: python:3.11
    deploy:
      resources:
        limits:
          cpus: "4"
          memory: 24G
        reservations:
          devices:
            - driver: nvidia
              count: 1
              capabilities: [gpu]
    command:
      - python
      - main.py   # the script
      - --listen
      - "--reserve-vram"
      - "2"
      - --lowvram
    volumes:
      - ./models:/models
"""
FOLDED = """services:
  comfyui:
    command: >
      python main.py
      --lowvram
      --reserve-vram 2

    restart: always
"""


@pytest.mark.parametrize(
    ("text", "argv", "limit"),
    [
        (IMAGE, ["--lowvram", "--reserve-vram", "2"], ("mem_limit", "16g")),
        (LISTED, ["--listen", "--reserve-vram", "2", "--lowvram"], ("memory", "24G")),
        (FOLDED, ["--lowvram", "--reserve-vram", "2"], ("", None)),
        ('services:\n  a:\n    command: ["python", "main.py", "--lowvram"]\n', ["--lowvram"], ("", None)),
        ("services:\n  a:\n    entrypoint: python main.py\n    command: --lowvram\n", ["--lowvram"], ("", None)),
        ("services:\n  a:\n    command: bash -c 'cd /x && python main.py --lowvram'\n", ["--lowvram"], ("", None)),
        ('services:\n  x:\n    environment:\n      CLI_ARGS: "--lowvram"\n', ["--lowvram"], ("", None)),
        (
            "services:\n  x:\n    image: me/comfyui\n    command: --lowvram --fast\n",
            ["--lowvram", "--fast"],
            ("", None),
        ),
        ("services:\r\n  a:\r\n    command:\r\n    - main.py\r\n    - --cpu\r\n", ["--cpu"], ("", None)),
        ("services:\n  comfyui:\n    build: .\n", [], ("", None)),
        # The command counts, not what images take in its place.
        ("services:\n  a:\n    environment:\n      CLI_ARGS: --cpu\n    command: python main.py\n", [], ("", None)),
    ],
)
def test_the_arguments_and_the_limit(text: str, argv: list[str], limit: tuple[str, str | None]) -> None:
    for suffix in ("", ".yml", ".yaml"):
        line = read_line(text, suffix)
        assert (line.kind, line.argv, (line.memory_limit_name, line.memory_limit)) == ("compose", argv, limit)


def test_of_several_services_the_one_that_says_how_comfyui_starts() -> None:
    text = "services:\n  comfyui-init:\n    image: busybox\n  comfyui:\n    command: python main.py --cpu\n"
    assert read_line(text).argv == ["--cpu"]


def test_a_variable_of_compose_is_unknown() -> None:
    line = read_line("services:\n  c:\n    command: python main.py --lowvram ${EXTRA}\n")
    assert (line.argv, [word.value for word in line.unknown]) == (["--lowvram"], ["${EXTRA}"])
    listed = read_line('services:\n  c:\n    command: ["main.py", "${EXTRA}", "--cpu"]\n')
    assert (listed.argv, [word.value for word in listed.unknown]) == (["--cpu"], ["${EXTRA}"])


def test_a_file_without_comfyui_says_so() -> None:
    with pytest.raises(LaunchLineError, match="No service of this compose file is ComfyUI"):
        read_line("services:\n  db:\n    image: postgres\n    command: postgres --lowvram\n")


def test_what_is_wrong_is_found_and_the_limit_is_named_by_its_key() -> None:
    machine = Machine(
        vram_bytes=16 * GIB, ram_bytes=64 * GIB, models=(WorkflowModel("diffusion", size_bytes=20 * GIB),)
    )
    found = {advice.id: advice for advice in findings(read_line(IMAGE), TABLE, machine)}
    assert set(found) == {"cgroup-unread", "memory-limit-low", "lowvram-noop", "reserve-soft"}
    assert found["memory-limit-low"].title.startswith("`mem_limit` allows 16.0\u00a0GiB")
    assert [advice.id for advice in check(read_line(LISTED.replace("--listen", "--medvram")), TABLE)] == ["a1111-flag"]


# --- changed in place ---


def changed(text: str, change: Change) -> str:
    line = read_line(text)
    edits = edits_for(read(line.argv, TABLE), change)
    assert command(line, edits), "the changed text says what was meant"
    return rewritten(line, edits)


HEADROOM = Change(("--reserve-vram",), ("--vram-headroom", "2"))


@pytest.mark.parametrize(
    ("text", "change", "old", "new"),
    [
        (IMAGE, HEADROOM, "--lowvram --reserve-vram 2\n", "--lowvram --vram-headroom 2\n"),
        (LISTED, Change(("--lowvram",)), "      - --lowvram\n", ""),
        (LISTED, Change(("--reserve-vram",)), '      - "--reserve-vram"\n      - "2"\n', ""),
        (
            LISTED,
            Change(("--lowvram",), ("--cache-lru", "4")),
            "      - --lowvram\n",
            '      - --cache-lru\n      - "4"\n',
        ),
        (FOLDED, Change(("--lowvram",)), "      --lowvram\n", ""),
        (FOLDED, Change((), ("--cache-none",)), "--reserve-vram 2\n", "--reserve-vram 2 --cache-none\n"),
    ],
)
def test_a_change_leaves_the_rest_as_it_is_written(text: str, change: Change, old: str, new: str) -> None:
    assert text.count(old) == 1
    assert changed(text, change) == text.replace(old, new)


def test_a_list_between_brackets() -> None:
    text = 'services:\n  c:\n    command: ["python", "main.py", "--lowvram", "--reserve-vram", "2"] # now\n'
    assert '["python", "main.py", "--reserve-vram", "2"] # now' in changed(text, Change(("--lowvram",)))
    assert '["python", "main.py", "--lowvram"] # now' in changed(text, Change(("--reserve-vram",)))
    added = changed(text, HEADROOM)
    assert '["python", "main.py", "--lowvram", --vram-headroom, "2"] # now' in added
    assert read_line(added).argv == ["--lowvram", "--vram-headroom", "2"]


def test_line_ends_of_windows_stay() -> None:
    text = "services:\r\n  c:\r\n    command:\r\n      - main.py\r\n      - --lowvram\r\n    tty: true\r\n"
    expected = text.replace("- --lowvram\r\n", "- --lowvram\r\n      - --cache-none\r\n")
    assert changed(text, Change((), ("--cache-none",))) == expected


def test_what_is_shown_is_the_command_and_nothing_else() -> None:
    line = read_line(LISTED)
    assert all_changed(line, TABLE, Machine(vram_bytes=16 * GIB)).splitlines() == [
        *("- python", "- main.py   # the script", "- --listen", "- --vram-headroom", '- "2"'),
    ]


# --- broken input ---


@pytest.mark.parametrize("text", [IMAGE, LISTED, FOLDED])
def test_a_text_cut_anywhere_is_read_or_refused(text: str) -> None:
    for stop in range(len(text)):
        try:
            line = read_line(text[:stop], ".yml")
        except LaunchLineError:
            continue
        for advice in findings(line, TABLE, Machine()):
            assert advice.title


def test_any_signs_are_read_or_refused() -> None:
    chance = random.Random(4711)
    pieces = ["services:\n", "  comfyui:\n", "    command:", " main.py", " --lowvram", "      - ", "[", "]", ",", "\n"]
    pieces += ['"', "'", ">\n", "|\n", " # x", "environment:\n", "CLI_ARGS=", "CLI_ARGS: ", "\t", "${A}", "- - ", ": "]
    for _ in range(1500):
        text = "services:\n" + "".join(chance.choice(pieces) for _ in range(chance.randint(1, 14)))
        try:
            line = read_line(text, ".yml")
        except LaunchLineError:
            continue
        for advice in findings(line, TABLE, Machine()):
            assert advice.title
        all_changed(line, TABLE, Machine())
