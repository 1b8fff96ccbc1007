"""The journal of a running prompt, as it is found after a kill: whole, cut, old, from another boot."""

from __future__ import annotations

import pytest

from headroom.core.readings import LastRun
from headroom.core.runmarker import ENDED, Journal, beginning, change_of_node, read_journal, unfinished

FIRST = beginning(100.0, "boot-1", 3)
NODE = change_of_node(105.5, "KSampler #3", 7_000_000_000, 2_000_000_000)


def test_what_is_written_is_read():
    assert read_journal(FIRST + NODE) == Journal("boot-1", 3, "KSampler #3", 105.5, 7_000_000_000, 2_000_000_000)


def test_the_last_node_counts():
    later = change_of_node(110.0, "VAEDecode #4", None, None)
    assert read_journal(FIRST + NODE + later) == Journal("boot-1", 3, "VAEDecode #4", 110.0, None, None)


@pytest.mark.parametrize("cut", range(1, len(NODE)))
def test_a_line_that_was_cut_does_not_count(cut: int):
    """The kill can come in the middle of a write."""
    assert read_journal(FIRST + NODE[:cut]) == Journal("boot-1", 3, None, 100.0)


def test_a_run_before_its_first_node_has_none():
    assert read_journal(FIRST) == Journal("boot-1", 3, None, 100.0)


def test_the_end_counts_where_the_file_could_not_be_removed():
    """A virus scanner on Windows can hold it."""
    found = read_journal(FIRST + NODE + ENDED)
    assert found is not None
    assert found.ended


@pytest.mark.parametrize("text", [b"", b"\n", b"\x00" * 100, b"{", b"not json\n", b"[1]\n", b"null\n"])
def test_a_file_that_is_no_journal_says_nothing(text: bytes):
    """A power cut can leave a file of the right length and nothing in it."""
    assert read_journal(text) is None


def test_a_value_of_another_kind_is_unknown():
    text = b'{"at": "x", "boot": 7, "oom_kills": true, "node": null, "ram_bytes": "1"}\n'
    assert read_journal(text) == Journal()


@pytest.mark.parametrize(
    ("boot", "kills", "rose"),
    [("boot-1", 4, True), ("boot-1", 3, False), ("boot-2", 9, None), (None, 4, None), ("boot-1", None, None)],
)
def test_the_kernels_counter_says_something_only_within_one_boot(
    boot: str | None, kills: int | None, rose: bool | None
):
    found = unfinished(Journal("boot-1", 3, "KSampler #3", 105.5, 7, 2), boot, kills)
    assert found == LastRun(
        finished=False, node="KSampler #3", ram_bytes=7, vram_bytes=2, ended_at=105.5, oom_kills_rose=rose
    )


def test_a_journal_without_a_counter_says_nothing_about_it():
    assert unfinished(Journal("boot-1", None), "boot-1", 4).oom_kills_rose is None
