"""Actions over HTTP beside what others ask of ComfyUI's own prompt queue: nobody's request is lost or done twice."""

from __future__ import annotations

import importlib
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

FIGURES = {"vram_freed_bytes", "ram_freed_bytes", "models_before", "models_after"}


@pytest.fixture
def actions(pack: ModuleType, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The pack's actions; the host has no model loaded."""
    monkeypatch.setattr(sys.modules["comfy.model_management"], "current_loaded_models", [])
    return importlib.import_module(f"{pack.__name__}.headroom.host.queue_actions")


@pytest.fixture
def queue(actions: ModuleType, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A prompt queue of the host's own, whose worker is the test."""
    from execution import PromptQueue

    found = PromptQueue(SimpleNamespace(queue_updated=lambda: None))
    monkeypatch.setattr(actions, "_queue", lambda: found)
    return found


@pytest.fixture
def pool() -> Any:
    """Threads to ask from, as the routes do."""
    with ThreadPoolExecutor(4) as found:
        yield found


def take(queue: Any) -> tuple[bool, bool]:
    """As the worker asks its flags (main.py 0.30.0, prompt_worker): whether it unloads all, and drops outputs."""
    flags = queue.get_flags()
    free_memory = flags.get("free_memory", False)
    return bool(flags.get("unload_models", free_memory)), bool(free_memory)


def until(true: Callable[[], Any]) -> None:
    deadline = time.monotonic() + 20
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.002)


def work(queue: Any, asked: Future[Any]) -> list[tuple[bool, bool]]:
    """The worker without a prompt, until the action is answered; what it did each time that it did something."""
    done = []
    while not asked.done():
        if queue.get_flags(reset=False):
            done.append(take(queue))
        time.sleep(0.002)
    return [one for one in done if any(one)]


def starts_a_prompt(queue: Any) -> None:
    queue.put((0, "a prompt"))
    assert queue.get(timeout=1) is not None


# ---- what was carried out ----


def test_what_was_carried_out_is_no_refusal_when_a_prompt_begins_then(actions: ModuleType, queue: Any, pool: Any):
    """The user presses Run right after Unload: the models were unloaded, and the panel said that ComfyUI was busy."""
    asked = pool.submit(actions.unload, {})
    until(lambda: queue.get_flags(reset=False))
    assert take(queue) == (True, False)
    starts_a_prompt(queue)
    found = asked.result(timeout=10)
    assert found == {"vram_freed_bytes": None, "ram_freed_bytes": None, "models_before": 0, "models_after": None}
    assert queue.get_flags(reset=False) == {}, "nothing of ours is left for the end of that prompt"


def test_an_unloading_that_takes_long_is_no_refusal(
    actions: ModuleType, queue: Any, pool: Any, monkeypatch: pytest.MonkeyPatch
):
    """Tens of GB into RAM that must be swapped out first."""
    monkeypatch.setattr(actions, "WAIT_SECONDS", 0.3)
    asked = pool.submit(actions.free, {})
    until(lambda: queue.get_flags(reset=False))
    take(queue)
    assert asked.result(timeout=10)["models_after"] is None


def test_figures_are_told_once_the_worker_is_through(actions: ModuleType, queue: Any, pool: Any):
    asked = pool.submit(actions.free, {})
    assert work(queue, asked) == [(False, True)]
    assert asked.result().keys() == FIGURES
    assert (asked.result()["vram_freed_bytes"], asked.result()["models_after"]) == (0, 0)


# ---- what others have asked ----

PENDING = [{}, {"unload_models": True}, {"free_memory": True}, {"unload_models": True, "free_memory": True}]


@pytest.mark.parametrize("action", ["unload", "free"])
@pytest.mark.parametrize("pending", PENDING)
def test_a_refusal_takes_back_only_what_was_ours(
    actions: ModuleType, queue: Any, monkeypatch: pytest.MonkeyPatch, pending: dict[str, bool], action: str
):
    """ComfyUI's own Unload button during a long prompt is for its end; ours came, was refused, and cancelled that."""
    monkeypatch.setattr(actions, "WAIT_SECONDS", 0.1)
    for name, value in pending.items():
        queue.set_flag(name, value)
    with pytest.raises(actions.Busy):
        getattr(actions, action)({})
    assert queue.get_flags(reset=False) == pending


@pytest.mark.parametrize("pending", PENDING[1:])
def test_freeing_memory_does_not_cancel_an_unloading(
    actions: ModuleType, queue: Any, pool: Any, pending: dict[str, bool]
):
    """Without ``unload_models`` the host's ``free_memory`` unloads too (main.py 0.30.0)."""
    for name, value in pending.items():
        queue.set_flag(name, value)
    asked = pool.submit(actions.free, {})
    until(lambda: any(value is not True for value in queue.get_flags(reset=False).values()))
    assert work(queue, asked) == [(True, True)]


@pytest.mark.parametrize("later", [False, True])
@pytest.mark.parametrize("pending", PENDING[1:])
def test_unloading_one_model_does_not_cancel_the_unloading_of_all(
    actions: ModuleType,
    queue: Any,
    pool: Any,
    monkeypatch: pytest.MonkeyPatch,
    pack: ModuleType,
    pending: dict[str, bool],
    later: bool,
):
    """And the one goes too when somebody else's request has taken its place meanwhile."""
    models = importlib.import_module(f"{pack.__name__}.headroom.host.loaded_models")
    memory = importlib.import_module(f"{pack.__name__}.headroom.host.memory")
    unloaded = []
    monkeypatch.setattr(models, "patcher_of", lambda model_id: model_id)
    monkeypatch.setattr(memory, "unload", unloaded.append)

    def ask() -> None:
        for name, value in pending.items():
            queue.set_flag(name, value)

    if not later:
        ask()
    asked = pool.submit(actions.unload, {"model": "7"})
    until(lambda: "unload_models" in queue.get_flags(reset=False))
    time.sleep(0.1)
    if later:
        ask()
        time.sleep(0.1)
    assert work(queue, asked)[0] == (True, "free_memory" in pending)
    assert unloaded == ["7"]


def test_a_request_that_took_our_place_and_was_carried_out_was_not_ours(
    actions: ModuleType, queue: Any, pool: Any, monkeypatch: pytest.MonkeyPatch, pack: ModuleType
):
    """The host's unloading leaves a model on the CPU alone: what was asked of us is still to be done."""
    memory = importlib.import_module(f"{pack.__name__}.headroom.host.memory")
    unloaded = []
    monkeypatch.setattr(memory, "unload_all", lambda: unloaded.append("all"))
    asked = pool.submit(actions.unload, {})
    until(lambda: queue.get_flags(reset=False))
    with queue.mutex:
        queue.set_flag("unload_models", True)
        assert take(queue) == (True, False)
    assert unloaded == []
    assert work(queue, asked) == [(True, False)]
    assert unloaded == ["all"]


def test_a_flag_that_is_asked_twice_acts_once(actions: ModuleType):
    """It can be set again in the moment in which the worker takes it."""
    done = []
    flag = actions.Flag(False, lambda: done.append(1))
    assert (bool(flag), bool(flag), done) == (False, False, [1])


def test_a_fault_in_an_action_does_not_end_the_worker(
    actions: ModuleType, queue: Any, pool: Any, monkeypatch: pytest.MonkeyPatch, pack: ModuleType
):
    memory = importlib.import_module(f"{pack.__name__}.headroom.host.memory")

    def fails() -> None:
        raise RuntimeError("CUDA error: an illegal memory access was encountered")

    monkeypatch.setattr(memory, "unload_all", fails)
    asked = pool.submit(actions.unload, {})
    assert work(queue, asked) == [(True, False)], "the host's own unloading follows"


# ---- two at once ----


def test_two_actions_at_once_are_both_done(
    actions: ModuleType, queue: Any, pool: Any, monkeypatch: pytest.MonkeyPatch, pack: ModuleType
):
    """Two tabs, or two clicks: the queue has one place for the flag, and the loser was answered as done."""
    models = importlib.import_module(f"{pack.__name__}.headroom.host.loaded_models")
    memory = importlib.import_module(f"{pack.__name__}.headroom.host.memory")
    unloaded = []
    monkeypatch.setattr(models, "patcher_of", lambda model_id: model_id)
    monkeypatch.setattr(memory, "unload", unloaded.append)
    asked = [pool.submit(actions.unload, {"model": name}) for name in "123"]
    for one in asked:
        work(queue, one)
    assert sorted(unloaded) == ["1", "2", "3"]


def test_the_second_is_refused_where_the_first_does_not_end(
    actions: ModuleType, queue: Any, pool: Any, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(actions, "WAIT_SECONDS", 0.5)
    first = pool.submit(actions.unload, {})
    until(lambda: queue.get_flags(reset=False))
    monkeypatch.setattr(actions, "WAIT_SECONDS", 0.05)
    with pytest.raises(actions.Busy):
        actions.free({})
    assert list(queue.get_flags(reset=False)) == ["unload_models"], "the first is still asked for"
    assert work(queue, first) == [(True, False)]


def test_a_model_that_the_action_before_has_unloaded_is_said_to_be_gone(
    actions: ModuleType, queue: Any, pool: Any, monkeypatch: pytest.MonkeyPatch, pack: ModuleType
):
    models = importlib.import_module(f"{pack.__name__}.headroom.host.loaded_models")
    gone = threading.Event()
    monkeypatch.setattr(models, "patcher_of", lambda model_id: None if gone.is_set() else model_id)
    first = pool.submit(actions.unload, {})
    until(lambda: queue.get_flags(reset=False))
    second = pool.submit(actions.unload, {"model": "7"})
    time.sleep(0.1)
    gone.set()
    work(queue, first)
    with pytest.raises(actions.UnknownModel):
        second.result(timeout=10)
