"""The journals as files: who is dead, who only runs elsewhere, and what is left where something cannot be done."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import hostkit
import pytest

PORT = 8188
#: Writes a journal as a running ComfyUI does, and waits to be killed.
OTHER = """
import importlib.util, sys, time
from pathlib import Path
root = Path(ROOT)
spec = importlib.util.spec_from_file_location("alone", root / "__init__.py", submodule_search_locations=[str(root)])
module = importlib.util.module_from_spec(spec)
sys.modules["alone"] = module
spec.loader.exec_module(module)
from alone.host.journal import JournalFile
file = JournalFile(Path(FOLDER), PORT)
file.node("KSampler #3", 7, None)
sys.stdout.write("written\\n")
sys.stdout.flush()
time.sleep(600)
"""


@pytest.fixture
def journal(pack: ModuleType) -> ModuleType:
    """The pack's module of journal files."""
    return importlib.import_module(f"{pack.__name__}.headroom.host.journal")


@pytest.fixture
def marker(pack: ModuleType, tmp_path: Path) -> Any:
    """A run marker of its own in a temporary folder."""
    module = importlib.import_module(f"{pack.__name__}.headroom.host.runmarker")
    return module.RunMarker(lambda: tmp_path / "journals", lambda: PORT)


class Other:
    """Another process with a running prompt."""

    def __init__(self, folder: Path, port: int = PORT) -> None:
        values = f"ROOT, FOLDER, PORT = {str(hostkit.REPO / 'headroom')!r}, {str(folder)!r}, {port}\n"
        self._process = subprocess.Popen([sys.executable, "-c", values + OTHER], stdout=subprocess.PIPE)
        assert self._process.stdout is not None
        assert self._process.stdout.readline() == b"written\n"

    def kill(self) -> None:
        """As the kernel does it for lack of memory."""
        self._process.kill()
        self._process.wait()


@pytest.fixture
def other(tmp_path: Path) -> Iterator[Other]:
    """Another ComfyUI on the same port and folder, in another container, say."""
    found = Other(tmp_path / "journals")
    yield found
    found.kill()


def files(marker: Any) -> list[Path]:
    return sorted(marker._folder().glob("*"))


def test_a_killed_process_leaves_its_node_and_its_memory(other: Other, marker: Any):
    other.kill()
    found = marker.last_run()
    assert (found.finished, found.node, found.ram_bytes, found.vram_bytes) == (False, "KSampler #3", 7, None)
    assert found.oom_kills_rose in {False, None}


def test_a_process_that_lives_is_not_taken_for_dead(other: Other, marker: Any):
    """Process ids say nothing across containers; the lock of the file does."""
    assert marker.last_run() is None
    marker.begin()
    marker.end()
    assert len(files(marker)) == 1


def test_what_was_left_stays_known_until_a_prompt_has_ended_here(other: Other, marker: Any):
    """Also through a restart without a prompt: the file goes when the next prompt begins."""
    other.kill()
    assert marker.last_run().node == "KSampler #3"
    assert len(files(marker)) == 1
    marker.begin()
    (own,) = files(marker)
    assert str(os.getpid()) in own.name
    assert marker.last_run().node == "KSampler #3"
    marker.end()
    assert (marker.last_run().finished, marker.last_run().node, files(marker)) == (True, None, [])


def test_a_prompt_that_begins_before_anybody_looked_loses_nothing(other: Other, marker: Any):
    other.kill()
    marker.begin()
    assert marker.last_run().node == "KSampler #3"
    marker.end()


def test_another_port_is_another_instance(journal: ModuleType, marker: Any, tmp_path: Path):
    other = Other(tmp_path / "journals", port=8189)
    other.kill()
    assert marker.last_run() is None
    marker.begin()
    marker.end()
    assert len(files(marker)) == 1
    assert journal.leftover(marker._folder(), 8189, None).node == "KSampler #3"


def test_what_another_port_left_is_forgotten_after_a_month(marker: Any, tmp_path: Path):
    other = Other(tmp_path / "journals", port=8189)
    other.kill()
    (path,) = files(marker)
    month_ago = time.time() - 31 * 86400
    os.utime(path, (month_ago, month_ago))
    marker.begin()
    marker.end()
    assert files(marker) == []


def test_the_newest_of_several_counts(journal: ModuleType, tmp_path: Path):
    for number, node in ((1, "first"), (3, "third"), (2, "second")):
        (tmp_path / f"run-{PORT}-1-{number}.jsonl").write_text(f'{{"at": {number}, "node": "{node}"}}\n')
    assert journal.leftover(tmp_path, PORT, None).node == "third"


def test_a_file_that_could_not_be_removed_says_that_the_prompt_ended(
    journal: ModuleType, marker: Any, monkeypatch: pytest.MonkeyPatch
):
    """Windows, while a virus scanner looks at it."""

    def held(*_: Any, **__: Any) -> None:
        raise PermissionError("used by another process")

    marker.begin()
    marker.node("KSampler #3")
    monkeypatch.setattr(Path, "unlink", held)
    marker.end()
    assert len(files(marker)) == 1
    assert journal.leftover(marker._folder(), PORT, None) is None


def test_a_loop_of_days_does_not_fill_the_disk(journal: ModuleType, marker: Any, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(journal, "MOST_BYTES", 400)
    marker.begin()
    for number in range(50):
        marker.node(f"KSampler #{number}")
    (path,) = files(marker)
    assert path.stat().st_size <= 400
    found = journal.read_journal(path.read_bytes())
    assert (found.node, found.boot) == ("KSampler #49", journal.boot_id())
    marker.end()


def test_a_folder_that_cannot_be_written_costs_the_marker_and_nothing_else(pack: ModuleType, tmp_path: Path):
    module = importlib.import_module(f"{pack.__name__}.headroom.host.runmarker")
    (tmp_path / "file").write_text("")
    marker = module.RunMarker(lambda: tmp_path / "file" / "below", lambda: PORT)
    assert module.guarded(marker.begin) is None
    marker.node("KSampler #3")
    marker.end()
    assert marker.last_run().finished is True


def test_no_fault_reaches_the_host(pack: ModuleType):
    """An exception in one of its handlers ends its prompt worker."""
    module = importlib.import_module(f"{pack.__name__}.headroom.host.runmarker")

    def fails() -> None:
        raise RuntimeError("anything")

    assert module.guarded(fails) is None


def test_memory_is_read_now_and_then_among_quick_nodes(pack: ModuleType, marker: Any, monkeypatch: pytest.MonkeyPatch):
    module = sys.modules[f"{pack.__name__}.headroom.host.runmarker"]
    reads = []
    monkeypatch.setattr(module, "resident_bytes", lambda: reads.append(1) or len(reads))
    marker.begin()
    for _ in range(20):
        marker.node("x")
    assert len(reads) == 1
    monkeypatch.setattr(module, "MEMORY_SECONDS", 0)
    marker.node("x")
    assert len(reads) == 2
    marker.end()
