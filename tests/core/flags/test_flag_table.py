"""The flag table against the real parsers: five versions as recorded facts, the host under test as it is."""

from __future__ import annotations

import json
import random
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import hostkit
import pytest

sys.path.insert(0, str(Path(__file__).parent))

import parser_facts
from flag_cases import CASES, snap

from headroom.core.flags.flag_table import LEVELS, NO_EFFECT, READ, ROWS
from headroom.core.flags.parsing import read
from headroom.core.flags.versions import HELP, Table, history, parse_version, table_for, table_of

HERE = Path(__file__).parent
DATA = HERE.parent.parent / "data" / "flags"
#: Rules about lines that no ComfyUI under test starts with.
NOT_STARTED = {"fast-disk-both"}


def recorded(version: str) -> dict[str, Any]:
    return json.loads((DATA / f"{version}.json").read_text("utf-8"))


def ask(host: hostkit.Host, command: str, argvs: list[list[str]]) -> list[Any]:
    """What the host's own parser says of each argv, in one process."""
    script, parser = HERE / "parser_facts.py", host.path / "comfy" / "cli_args.py"
    done = subprocess.run(
        [sys.executable, "-I", str(script), command, str(parser)],
        input="\n".join(json.dumps(argv) for argv in argvs),
        capture_output=True,
        encoding="utf-8",
        check=True,
    )
    return json.loads(done.stdout)


def by_flag(table: Table) -> dict[str, tuple[str, str, tuple[str, ...]]]:
    help_flags = {row.flag for row in HELP}
    return {f: (r.kind, r.nargs, r.choices) for f, r in table.options.items() if f not in help_flags}


# --- the recorded parsers ---


def test_every_version_read_is_recorded() -> None:
    assert {path.stem for path in DATA.glob("*.json")} == set(READ)


@pytest.mark.parametrize("version", READ)
def test_the_table_is_what_the_parser_of_that_version_was(version: str) -> None:
    facts = recorded(version)
    expected = {}
    for flag in facts["flags"]:
        kind = LEVELS if flag["action"] == "VerboseAction" else flag["kind"]
        expected[flag["flag"]] = (kind, flag["nargs"], tuple(flag["choices"]))
    assert by_flag(table_for(version)) == expected
    assert table_for(version).exact
    assert table_for(version).maybe == frozenset()


@pytest.mark.parametrize("version", READ)
def test_the_groups_are_those_of_that_version(version: str) -> None:
    table = table_for(version)
    groups = {frozenset(group) for group in recorded(version)["groups"]}
    assert {frozenset(table.group_of(flag)) for flag in table.options if table.group_of(flag)} == groups


@pytest.mark.parametrize("version", READ)
def test_names_in_the_parsed_arguments_follow_from_the_flags(version: str) -> None:
    assert all(flag["dest"] == flag["flag"][2:].replace("-", "_") for flag in recorded(version)["flags"])


def test_the_version_under_test_is_as_recorded(host: hostkit.Host) -> None:
    """Regenerates the facts; python tests/core/flags/parser_facts.py facts ... writes them for a new version."""
    if host.version not in READ:
        pytest.skip(f"the flag table does not have ComfyUI {host.version}: only on the versions {', '.join(READ)}")
    script, parser = HERE / "parser_facts.py", host.path / "comfy" / "cli_args.py"
    command = [sys.executable, "-I", str(script), "facts", str(parser), host.version]
    done = subprocess.run(command, capture_output=True, encoding="utf-8", check=True)
    assert json.loads(done.stdout) == recorded(host.version)


def test_the_host_s_own_parser_gives_the_same_table(host: hostkit.Host, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("comfy", "comfy.options"):
        monkeypatch.setitem(sys.modules, name, sys.modules.get(name))
    monkeypatch.setattr(sys, "argv", sys.argv)
    table = table_of(parser_facts.load(host.path / "comfy" / "cli_args.py").__dict__["parser"])
    assert by_flag(table) == by_flag(table_for(host.version))
    for flag in table.options:
        assert set(table.group_of(flag)) == set(table_for(host.version).group_of(flag))
    assert table.options["--cache-ram"].most == 2


# --- between and beyond ---


def test_between_two_versions_a_flag_is_neither_refused_nor_suggested() -> None:
    table = table_for("0.20.1")
    assert not table.exact
    assert {"--fast-disk", "--normalvram", "--enable-triton-backend"} <= table.maybe
    assert "--fast-disk" not in table.flags
    assert read(["--fast-disk", "--normalvram"], table).faults == []
    assert "--vram-headroom" not in table.options


def test_beyond_the_ends_the_nearest_counts() -> None:
    assert by_flag(table_for("0.35.0")) == by_flag(table_for(READ[-1]))
    assert by_flag(table_for("0.3.64")) == by_flag(table_for(READ[0]))
    assert not table_for("0.35.0").exact
    assert by_flag(table_for(None)) == by_flag(table_for(READ[-1]))


def test_history_of_flags() -> None:
    assert history("--normalvram") == ("0.16.3", "0.18.2")
    assert history("--vram-headroom") == ("0.27.0", "")
    assert history("--disable-fast-disk") == ("later than 0.30.0", "")
    assert history("--medvram") is None


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("0.30.0", (0, 30, 0)),
        ("v0.30.0-2-gabcdef", (0, 30, 0)),
        ("2.8.0+cu128", (2, 8, 0)),
        ("2.9.0a0+git", (2, 9, 0)),
        ("unknown", None),
        (None, None),
    ],
)
def test_versions_are_read_as_numbers(text: str | None, numbers: tuple[int, ...] | None) -> None:
    assert parse_version(text) == numbers


def test_conditions_of_no_effect_name_flags_that_exist() -> None:
    assert set(NO_EFFECT) <= {row.flag for row in ROWS}
    assert set(NO_EFFECT.values()) == {"dynamic", "static", "cpu"}


# --- the same verdict as the real parser ---

#: From cases.md, "Launch flags: what the parsers do", and what is near to it. A "--" alone is left out: Python 3.11
#: refuses it and newer ones do not.
LINES = [
    "",
    "--lowvram --highvram",
    "--normalvram",
    "--medvram",
    "--no-half-vae",
    "--low-vram",
    "--high-vram",
    "--lowv",
    "--reserve 4",
    "--high",
    "--reserve-vram -1",
    "--reserve-vram nan",
    "--reserve-vram 0",
    "--reserve-vram -1.5",
    "--reserve-vram 2GB",
    "--reserve-vram -1GB",
    "--reserve-vram",
    "--reserve-vram=2",
    "--reserve-vram=-inf",
    "--reserve-vram --lowvram",
    "--force-fp32 --fp16-unet",
    "--force-fp16 --fp32-unet",
    "--force-fp32 --force-fp16",
    "--fp16-vae --fp32-vae",
    "--cpu-vae --fp16-vae",
    "--async-offload --disable-async-offload",
    "--async-offload 4",
    "--async-offload x",
    "--cuda-device 0,1",
    "--cuda-device all",
    "--cuda-device 0",
    "--enable-dynamic-vram --disable-dynamic-vram",
    "--cpu --lowvram",
    "--lowvram --lowvram",
    "--lowvram=1",
    "--lowvram 1",
    "-lowvram",
    "lowvram",
    "-- --lowvram",
    "--listen 0.0.0.0 8188",
    "--listen --port 8189",
    "--port",
    "--port=x",
    "--cache-ram",
    "--cache-ram 2",
    "--cache-ram 2 4",
    "--cache-ram 2 4 6",
    "--cache-ram --cache-none",
    "--fast",
    "--fast fp16_accumulation autotune",
    "--fast fp16",
    "--preview-method taesd",
    "--preview-method latent",
    "--verbose",
    "--verbose INFO",
    "--verbose info",
    "--verbose DETAIL",
    "--verbose DEBUG log.txt",
    "--verbose log.txt",
    "--verbose DEBUG log.txt more",
    "--whitelist-custom-nodes a b",
    "--whitelist-custom-nodes",
    "--extra-model-paths-config a.yaml b.yaml",
    "--feature-flag a=b --feature-flag c",
    "--disable-smart-memory --gpu-only",
    "--use-sage-attention --use-flash-attention",
    "--disable-fast-disk",
    "--directml",
    "--directml 0",
    "--help",
    "-h",
    "--default-hashing-function md5",
    "--default-hashing-function sha3",
    "--fp8_e4m3fn-unet",
    "--fp8-e4m3fn-unet",
    "--fp8",
    "--gpu",
    "--cpu",
    "--base-directory 'a folder'",
    "--base-directory '--odd name'",
]


def accepted(argv: list[str], table: Table) -> bool:
    return not read(argv, table).faults


def test_refused_and_accepted_as_by_the_real_parser(host: hostkit.Host) -> None:
    argvs = [shlex.split(line) for line in LINES]
    verdicts = ask(host, "try", argvs)
    table = table_for(host.version)
    wrong = [line for line, argv, verdict in zip(LINES, argvs, verdicts) if accepted(argv, table) != verdict]
    assert wrong == []


def test_random_lines_get_the_verdict_of_the_real_parser(host: hostkit.Host) -> None:
    """400 lines of one to four words out of flags, pieces of flags and values, with a fixed seed."""
    chance = random.Random(20260930)
    flags = [flag for flag in table_for(host.version).options if flag not in {"--help", "-h"}]
    folders = {"--front-end-root", "--user-directory", "--models-directory"}  # looked for on the disk

    def word() -> str:
        flag = chance.choice([flag for flag in flags if flag not in folders])
        values = ["1", "-1", "0.5", "x", "nan", "taesd", "INFO", "-x", "a b", "--medvram", "2GB", ""]
        forms = [flag, flag, flag, flag[: chance.randint(3, len(flag))], f"{flag}={chance.choice(values)}"]
        return chance.choice([*forms, chance.choice(values)])

    argvs = [[word() for _ in range(chance.randint(1, 4))] for _ in range(400)]
    argvs = [argv for argv in argvs if not any("--he".startswith(w) or w.startswith("--he") for w in argv)]
    table = table_for(host.version)
    verdicts = ask(host, "try", argvs)
    assert [a for a, verdict in zip(argvs, verdicts) if accepted(a, table) != verdict] == []
    assert 20 < sum(verdicts) < 380


def test_values_are_those_that_the_real_parser_gives(host: hostkit.Host) -> None:
    """The snapshots of the rules are made with our reader; ComfyUI's own agrees on every one of them."""
    argvs = [list(case.brings.host.argv) for rule, case in CASES.items() if rule not in NOT_STARTED]
    for argv, parsed in zip(argvs, ask(host, "parse", argvs)):
        assert parsed is not None, f"{argv} is refused"
        ours = read(argv, table_for(host.version)).args
        for name, value in ours.items():
            if value is not None and value == value:  # not NaN, and not the constant of a flag without its value
                assert parsed.get(name, value) == value
        assert snap(" ".join(argv)).host.flags == read(argv, table_for(host.version)).flags


def test_the_real_parser_sets_more_than_was_given(host: hostkit.Host) -> None:
    """FLAG-15: why rules look at argv and not at the parsed values."""
    [forced, high_ram] = ask(host, "parse", [["--force-fp16"], ["--high-ram"]])
    assert forced["fp16_unet"] is True
    assert high_ram["cache_classic"] is True
    assert read(["--force-fp16"], table_for(host.version)).flags == {"--force-fp16"}


def test_refused_groups_name_both_flags() -> None:
    fault = read(["--lowvram", "--port", "1", "--highvram"], table_for()).faults[0]
    assert (fault.kind, fault.flag, fault.others, fault.at) == ("group", "--highvram", ("--lowvram",), 3)


def test_several_faults_are_found_at_once() -> None:
    """argparse stops at the first."""
    reading = read(["--medvram", "--high", "--reserve-vram", "2GB", "extra", "--lowvram"], table_for())
    assert [fault.kind for fault in reading.faults] == ["unknown", "ambiguous", "bad-value", "extra"]
    assert reading.flags == {"--reserve-vram", "--lowvram"}
