"""The record of a run: times that add up, nodes that wait, a bound, and growth that is no cache."""

from __future__ import annotations

import pytest

from headroom.core import run as run_module
from headroom.core.run import NodeRun, RunLog, ram_growth

GIB = 2**30


def log() -> RunLog:
    """A run that began at 1000 on a clock that showed 50."""
    return RunLog(1000.0, 50.0)


def times(found: RunLog, now: float) -> dict[str, float]:
    return {node.id: node.seconds for node in found.run(now).nodes}


def test_each_node_has_its_own_time_and_what_it_took():
    found = log()
    found.prompt_id = "p"
    found.start("4", "4", "CheckpointLoaderSimple", 50.5)
    assert found.finish("4", 53.5, peak_bytes=7 * GIB) == 3.0
    found.held("4", 9 * GIB)
    found.start("3", "3", "KSampler", 53.5)
    assert found.finish("3", 60.0) == 6.5
    found.end("finished", 60.5)
    done = found.run(99.0)
    assert (done.prompt_id, done.began_at, done.seconds, done.state) == ("p", 1000.0, 10.5, "finished")
    assert done.nodes == (
        NodeRun("4", "4", "CheckpointLoaderSimple", 0.5, 3.0, "finished", 7 * GIB, 9 * GIB),
        NodeRun("3", "3", "KSampler", 3.5, 6.5, "finished", None, None),
    )


def test_while_it_goes_on_the_running_node_has_its_time_until_now():
    found = log()
    found.start("3", "3", "KSampler", 51.0)
    now = found.run(58.0)
    assert (now.state, now.seconds, now.nodes[0].seconds, now.nodes[0].state) == ("running", 8.0, 7.0, "running")
    assert found.unfinished(58.0) == NodeRun("3", "3", "KSampler", 1.0, 7.0, "running")


def test_a_node_that_waits_for_its_lazy_input_is_not_charged_for_it():
    """The host starts such a node twice (lazy inputs), or finishes it after the nodes that it expanded into."""
    found = log()
    found.start("switch", "switch", "LazySwitch", 50.0)
    found.start("input", "input", "KSampler", 51.0)
    assert found.run(55.0).nodes[0].state == "waiting"
    found.finish("input", 58.0)
    found.start("switch", "switch", "LazySwitch", 58.0)
    found.finish("switch", 60.0)
    found.end("finished", 60.0)
    assert times(found, 99.0) == {"switch": 3.0, "input": 7.0}
    assert sum(times(found, 99.0).values()) == found.run(99.0).seconds


def test_an_expanded_node_ends_after_what_it_became():
    found = log()
    found.start("9", "9", "Loop", 50.0)
    found.start("9.0.1", "9", "VAEDecode", 50.5, parent_id="9")
    found.finish("9.0.1", 53.0, parent_id="9")
    assert found.unfinished(53.0).id == "9"
    assert found.finish("9", 53.5) == 0.0
    assert [(node.display_id, node.state) for node in found.run(54.0).nodes] == [("9", "finished")] * 2
    assert found.unfinished(54.0) is None
    assert times(found, 54.0) == {"9": 0.5, "9.0.1": 2.5}


def test_what_an_expanded_node_became_can_all_have_been_there_already():
    found = log()
    found.start("9", "9", "Loop", 50.0)
    found.start("3", "3", "KSampler", 50.5)
    found.finish("3", 60.0)
    found.finish("9.0.1", 60.0, parent_id="9")
    assert found.finish("9", 60.0) == 0.0
    assert times(found, 60.0) == {"9": 0.5, "3": 9.5}


def test_nodes_that_run_side_by_side_have_each_their_whole_time():
    """Asynchronous nodes (those that ask a server): the host begins the next while the first waits for its answer."""
    found = log()
    found.start("1", "1", "AskServer", 50.0)
    found.start("2", "2", "AskServer", 50.1)
    found.start("3", "3", "KSampler", 50.2)
    assert [node.state for node in found.run(53.0).nodes] == ["waiting", "waiting", "running"]
    assert found.finish("3", 54.2) == 4.0
    assert found.finish("2", 57.1) == 7.0
    assert found.finish("1", 60.0) == 10.0
    assert found.unfinished(60.0) is None
    assert times(found, 60.0) == pytest.approx({"1": 10.0, "2": 7.0, "3": 4.0})


def test_an_asynchronous_node_is_not_charged_for_the_lazy_input_that_it_waited_for():
    found = log()
    found.start("switch", "switch", "AskServer", 50.0)
    found.start("input", "input", "KSampler", 51.0)
    found.finish("input", 58.0)
    found.start("switch", "switch", "AskServer", 58.0)
    found.start("4", "4", "VAEDecode", 58.5)
    found.finish("4", 59.0)
    assert found.finish("switch", 60.0) == 2.0
    assert times(found, 60.0) == {"switch": 3.0, "input": 7.0, "4": 0.5}


def test_a_node_that_finishes_without_a_start_was_cached():
    found = log()
    found.finish("4", 50.1)
    assert (found.run(51.0).nodes, found.run(51.0).cached, found.worked) == ((), ("4",), False)


@pytest.mark.parametrize("state", ["error", "interrupted"])
def test_the_node_in_which_it_ended_ended_in_the_same_way(state: str):
    found = log()
    found.start("9", "9", "Loop", 50.0)
    found.start("3", "3", "KSampler", 51.0)
    found.end(state, 55.0)
    assert [(node.id, node.state, node.seconds) for node in found.run(99.0).nodes] == [
        ("9", state, 1.0),
        ("3", state, 4.0),
    ]


def test_what_is_told_afterwards_corrects_what_was_inferred():
    """With --verbose CRITICAL nothing is heard of an error: it looks like an interruption until the history tells."""
    found = log()
    found.start("3", "3", "KSampler", 50.0)
    found.end("interrupted", 55.0)
    found.settle("error", ["4", "5"])
    done = found.run(99.0)
    assert (done.state, done.nodes[0].state, done.seconds, done.cached) == ("error", "error", 5.0, ("4", "5"))


def test_a_loop_that_goes_on_for_days_stays_small(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(run_module, "MOST_NODES", 3)
    found = log()
    for number in range(5):
        found.start(str(number), "1", "VAEDecode", 50.0 + number)
        assert found.finish(str(number), 51.0 + number) == 1.0
        found.held(str(number), GIB)
    for number in range(10, 15):
        found.finish(str(number), 60.0)
    done = found.run(60.0)
    assert ([node.id for node in done.nodes], done.nodes_left_out, len(done.cached)) == (["0", "1", "2"], 2, 3)


@pytest.mark.parametrize(
    ("peak", "card", "spilled"),
    [(19 * GIB, 16 * GIB, 3 * GIB), (15 * GIB, 16 * GIB, None), (None, 16 * GIB, None), (19 * GIB, None, None)],
)
def test_more_than_the_card_has_lay_in_system_memory(peak: int | None, card: int | None, spilled: int | None):
    """ComfyUI #5737: no error on Windows. Below the card's size nobody can tell, and unknown is not 0."""
    assert run_module.spilled(peak, card) == spilled


@pytest.mark.parametrize(
    ("held", "growth"),
    [
        ([10.0, 10.85, 11.7, 12.55, 13.4], 0.85),
        # One model was loaded in the third run: no leak.
        ([10.0, 10.1, 16.1, 16.2, 16.3], 0.1),
        ([10.0, 9.0, 10.0, 9.0, 10.0], 0.0),
        ([10.0, 12.0, 14.0, 16.0], None),
        # Only the last five count.
        ([90.0, 10.0, 12.0, 14.0, 16.0, 18.0], 2.0),
    ],
)
def test_ram_grows_when_every_run_adds_to_it(held: list[float], growth: float | None):
    """RAM-17, ComfyUI #11617: 850 MB per run, SAM3 #20: 2 GB; the slope over five runs."""
    found = ram_growth([int(size * GIB) for size in held])
    assert found is None if growth is None else found == pytest.approx(growth * GIB, abs=2)
