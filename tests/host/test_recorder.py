"""The recorder with the host's own hooks: what it hears, what it leaves alone, and that no fault reaches ComfyUI."""

from __future__ import annotations

import asyncio
import importlib
import logging
import sys
import threading
import time
from collections.abc import Iterator
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
import torch

GIB = 2**30
NODES = {
    "1": {"class_type": "EmptyLatentImage", "inputs": {"batch_size": 4, "width": 64}},
    "3": {"class_type": "KSampler", "inputs": {"latent": ["1", 0], "batch_size": True}},
    "4": {"class_type": "VAEDecode", "inputs": {}},
}
RECORD = "!!! Exception during processing !!!"


@pytest.fixture
def module(pack: ModuleType) -> ModuleType:
    """The pack's recorder."""
    return importlib.import_module(f"{pack.__name__}.headroom.host.recorder")


@pytest.fixture
def hooks(pack: ModuleType) -> Iterator[ModuleType]:
    """The pack's listeners, on a host without any; and no handler is left at the root logger."""
    from comfy_execution import cache_provider

    before = list(logging.getLogger().handlers)
    cache_provider._clear_cache_providers()
    yield importlib.import_module(f"{pack.__name__}.headroom.host.prompt_hooks")
    cache_provider._clear_cache_providers()
    assert logging.getLogger().handlers == before


@pytest.fixture
def recorder(module: ModuleType, hooks: ModuleType, monkeypatch: pytest.MonkeyPatch) -> Any:
    """One that listens."""
    monkeypatch.setattr(module, "LEAST_SECONDS", 0.01)
    found = module.Recorder()
    assert hooks.listen(found, module.Recorder.follow)
    return found


def ran(*steps: Any, prompt_id: str = "one") -> None:
    """As PromptExecutor.execute_async (0.30.0) as far as the hooks go; a step is a node, a call, or an exception."""
    from comfy_execution import cache_provider, progress
    from comfy_execution.graph import DynamicPrompt

    async def execute() -> None:
        for provider in cache_provider._get_cache_providers():
            provider.on_prompt_start(prompt_id)
        progress.reset_progress_state(prompt_id, DynamicPrompt(NODES))
        await asyncio.gather(asyncio.sleep(0))
        state = progress.get_progress_state()
        for step in steps:
            if callable(step):
                step()
            elif isinstance(step, tuple):
                node, call = step
                state.start_progress(node)
                try:
                    call()
                except (RuntimeError, OSError, ValueError) as error:
                    logging.error(f"{RECORD} {error}")
                    return
                except KeyboardInterrupt:
                    return
                state.finish_progress(node)
            else:
                state.finish_progress(step)

    asyncio.run(execute())


def raises(error: BaseException) -> Any:
    def call() -> None:
        raise error

    return call


def nothing() -> None:
    pass


def states(recorder: Any) -> list[tuple[str, str]]:
    return [(node.type, node.state) for node in recorder.run().nodes]


def test_nodes_are_written_down_as_they_end(recorder: Any):
    assert recorder.run() is None
    ran("1", ("3", lambda: time.sleep(0.02)), ("4", nothing))
    run = recorder.run()
    assert (run.prompt_id, run.state, run.cached) == ("one", "finished", ("1",))
    assert states(recorder) == [("KSampler", "finished"), ("VAEDecode", "finished")]
    slow, fast = run.nodes
    assert 0.02 <= slow.seconds < run.seconds
    assert slow.ram_bytes > 0
    assert fast.ram_bytes is None
    assert recorder.workflow_nodes() == {"EmptyLatentImage", "KSampler", "VAEDecode"}
    assert recorder.failure() is None


def test_a_run_can_be_looked_at_while_it_goes_on(recorder: Any):
    seen = []
    ran(("3", lambda: seen.append(recorder.run())))
    assert (seen[0].state, seen[0].nodes[0].state) == ("running", "running")


def test_the_next_run_takes_the_place_of_the_last(recorder: Any):
    ran(("3", raises(RuntimeError("out of memory"))))
    assert recorder.failure() is not None
    seen = []
    ran(("4", lambda: seen.append(recorder.failure())), prompt_id="two")
    assert seen == [None]
    assert (recorder.run().prompt_id, recorder.failure(), states(recorder)) == (
        "two",
        None,
        [("VAEDecode", "finished")],
    )


def test_an_interrupted_node_is_no_failure(recorder: Any):
    ran(("3", raises(KeyboardInterrupt())))
    assert (recorder.run().state, states(recorder)) == ("interrupted", [("KSampler", "interrupted")])
    assert recorder.failure() is None


# ---- the moment of a failure ----


def test_a_failure_has_the_readings_from_before_the_host_unloads(
    recorder: Any, pack: ModuleType, monkeypatch: pytest.MonkeyPatch
):
    """execution.py 0.30.0 logs the exception, then unloads all models; only in between they are still there."""
    snapshot = importlib.import_module(f"{pack.__name__}.headroom.host.snapshot")
    readings = importlib.import_module(f"{pack.__name__}.headroom.core.readings")
    loaded = [readings.LoadedModel("flux.safetensors", "diffusion", "Flux", device="cuda:0")]
    monkeypatch.setattr(snapshot, "read_models", lambda running: (tuple(loaded), {}))

    def fails() -> None:
        time.sleep(0.02)
        raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 3.00 GiB.")

    ran(("1", nothing), ("3", fails))
    loaded.clear()
    found = recorder.failure()
    assert (found.kind, found.memory, found.asked_bytes) == ("out-of-memory", "vram", 3 * GIB)
    assert (found.node_id, found.node_type) == ("3", "KSampler")
    assert [model.name for model in found.models] == ["flux.safetensors"]
    assert [device.kind for device in found.devices] == ["cpu"]
    assert found.running_seconds >= 0.02
    assert found.ram.total_bytes > GIB
    assert next(fix for fix in found.fixes if fix.id == "smaller-batch").params["batch"] == 4


def test_the_failed_nodes_tensors_are_not_kept(recorder: Any):
    """An exception holds its frames, and they hold what filled the card.

    So does any other that is raised while it is handled, and the readings keep one: that there is no NVIDIA driver.
    """
    import gc
    import weakref

    kept: list[Any] = []

    def fails() -> None:
        tensor = torch.zeros(4)
        kept.append(weakref.ref(tensor))
        raise RuntimeError("out of memory")

    ran(("3", fails))
    gc.collect()
    assert recorder.failure() is not None
    assert kept[0]() is None


def test_a_long_message_is_cut(recorder: Any):
    ran(("3", raises(ValueError("x" * 10**6))))
    assert len(recorder.failure().message) == 2000


def test_after_an_hour_it_is_no_news(recorder: Any, module: ModuleType, monkeypatch: pytest.MonkeyPatch):
    ran(("3", raises(RuntimeError("out of memory"))))
    at = time.time()
    monkeypatch.setattr(module.time, "time", lambda: at + 3590)
    assert recorder.failure() is not None
    monkeypatch.setattr(module.time, "time", lambda: at + 3610)
    assert recorder.failure() is None


@pytest.mark.parametrize("text", ["Got an OOM, unloading all loaded models.", "an error of another pack %s %d"])
def test_other_records_are_no_failure(recorder: Any, text: str):
    ran(("3", lambda: logging.error(text)))
    assert (recorder.run().state, recorder.failure()) == ("finished", None)


def test_another_threads_record_is_none_of_its_business(recorder: Any):
    def elsewhere() -> None:
        thread = threading.Thread(target=lambda: logging.error(f"{RECORD} somewhere else"))
        thread.start()
        thread.join()

    ran(("3", elsewhere))
    assert (recorder.run().state, recorder.failure()) == ("finished", None)


def test_between_prompts_nothing_listens(recorder: Any):
    ran(("3", nothing))
    logging.error(f"{RECORD} of nobody")
    assert recorder.failure() is None


def test_a_fault_while_the_readings_are_frozen_costs_only_the_record(
    recorder: Any, pack: ModuleType, monkeypatch: pytest.MonkeyPatch
):
    """An exception in a log handler would come out of the host's own error handling."""
    snapshot = importlib.import_module(f"{pack.__name__}.headroom.host.snapshot")
    monkeypatch.setattr(snapshot, "_machine", raises(OSError("no")))
    ran(("3", raises(RuntimeError("CUDA out of memory"))))
    assert (recorder.run().state, recorder.failure().memory, recorder.failure().devices) == ("error", "vram", ())
    failure = importlib.import_module(f"{pack.__name__}.headroom.host.failure")
    monkeypatch.setattr(failure, "_elsewhere", raises(RuntimeError("can't start new thread")))
    ran(("3", raises(RuntimeError("CUDA out of memory"))), prompt_id="two")
    assert (recorder.run().state, recorder.failure()) == ("error", None)


def test_a_fault_in_any_handler_does_not_reach_the_host(
    recorder: Any, module: ModuleType, monkeypatch: pytest.MonkeyPatch
):
    """An exception in a progress handler ends the host's prompt worker."""
    for name in ("start", "finish", "end"):
        monkeypatch.setattr(module.RunLog, name, raises(OSError("no")))
    ran(("3", nothing), ("99", nothing))
    monkeypatch.undo()
    ran(("4", nothing), prompt_id="two")
    assert states(recorder) == [("VAEDecode", "finished")]


def test_readings_that_hang_do_not_hold_the_run_up(recorder: Any, pack: ModuleType, monkeypatch: pytest.MonkeyPatch):
    """Then the record has the error's words alone."""
    snapshot = importlib.import_module(f"{pack.__name__}.headroom.host.snapshot")
    failure = importlib.import_module(f"{pack.__name__}.headroom.host.failure")
    hangs = threading.Event()
    monkeypatch.setattr(failure, "MOST_SECONDS", 0.05)
    monkeypatch.setattr(snapshot, "_machine", lambda: hangs.wait(20))
    began = time.monotonic()
    ran(("3", raises(RuntimeError("CUDA out of memory. Tried to allocate 1.00 GiB."))))
    assert time.monotonic() - began < 10
    hangs.set()
    found = recorder.failure()
    assert (found.kind, found.node_type, found.asked_bytes, found.devices) == ("out-of-memory", "KSampler", GIB, ())


def test_a_driver_that_hangs_costs_the_devices(pack: ModuleType, monkeypatch: pytest.MonkeyPatch):
    """Another thread reads and waits for it: after a second the record goes without the devices."""
    snapshot = importlib.import_module(f"{pack.__name__}.headroom.host.snapshot")
    monkeypatch.setattr(snapshot, "FREEZE_SECONDS", 0.05)
    with snapshot._lock:
        began = time.monotonic()
        found = snapshot.freeze()
    assert time.monotonic() - began < 2
    assert (found.devices, found.host.version is not None, found.ram.total_bytes > GIB) == ((), True, True)


# ---- what ComfyUI's history tells afterwards ----


def test_an_error_that_was_not_logged_is_found_in_the_history(recorder: Any, monkeypatch: pytest.MonkeyPatch):
    """``--verbose CRITICAL``: no record of the error reaches a handler."""
    monkeypatch.setattr(logging.getLogger(), "level", logging.CRITICAL)
    logging.getLogger().manager._clear_cache()
    ran(("3", raises(torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 1.00 GiB."))))
    monkeypatch.undo()
    logging.getLogger().manager._clear_cache()
    assert (recorder.run().state, recorder.failure()) == ("interrupted", None)
    data = {
        "node_id": "3",
        "node_type": "KSampler",
        "exception_type": "torch.OutOfMemoryError",
        "exception_message": "CUDA out of memory. Tried to allocate 1.00 GiB.\n",
        "timestamp": int(time.time() * 1000),
    }
    messages = [("execution_cached", {"nodes": ["1"]}), ("execution_error", data)]
    history = {"one": {"status": {"messages": messages}}}
    instance = SimpleNamespace(prompt_queue=SimpleNamespace(history=history, currently_running={}))
    monkeypatch.setitem(sys.modules, "server", SimpleNamespace(PromptServer=SimpleNamespace(instance=instance)))
    found = recorder.failure()
    assert (found.kind, found.node_id, found.asked_bytes, found.devices) == ("out-of-memory", "3", GIB, ())
    assert (recorder.run().state, recorder.run().cached) == ("error", ("1",))
    assert states(recorder) == [("KSampler", "error")]


def told_by_the_history(monkeypatch: pytest.MonkeyPatch, node_id: str, node_type: str) -> None:
    """ComfyUI's history of the run: it names the node of the workflow, also where one of an expansion has failed."""
    data = {"node_id": node_id, "node_type": node_type, "exception_type": "RuntimeError", "exception_message": "no"}
    history = {"one": {"status": {"messages": [("execution_error", data)]}}}
    instance = SimpleNamespace(prompt_queue=SimpleNamespace(history=history, currently_running={}))
    monkeypatch.setitem(sys.modules, "server", SimpleNamespace(PromptServer=SimpleNamespace(instance=instance)))


def test_a_node_inside_an_expanded_one_stays_the_one_that_failed(recorder: Any, monkeypatch: pytest.MonkeyPatch):
    from comfy_execution import progress

    def expands() -> None:
        inner = {"class_type": "LoadCheckpoint", "inputs": {}}
        progress.get_progress_state().dynprompt.add_ephemeral_node("4.0.1", inner, "4", "4")

    ran(expands, ("4.0.1", raises(RuntimeError("no"))))
    told_by_the_history(monkeypatch, "4", "VAEDecode")
    found = recorder.failure()
    assert (found.node_id, found.node_type) == ("4", "LoadCheckpoint")
    assert found.running_seconds is not None


def test_what_can_be_done_is_that_of_the_node_that_the_history_names(recorder: Any, monkeypatch: pytest.MonkeyPatch):
    """An asynchronous node was the last to begin, and the decode beside it had run out of memory."""
    ran(("3", raises(RuntimeError("CUDA out of memory. Tried to allocate 3.00 GiB."))))
    heard = recorder.failure()
    assert "safe-decode" not in [fix.id for fix in heard.fixes]
    told_by_the_history(monkeypatch, "4", "VAEDecode")
    found = recorder.failure()
    assert (found.node_id, found.node_type, found.running_seconds) == ("4", "VAEDecode", None)
    assert "safe-decode" in [fix.id for fix in found.fixes]
    assert (found.asked_bytes, found.at, found.ram) == (heard.asked_bytes, heard.at, heard.ram)


# ---- the last run ----


def test_the_last_run_has_the_error_and_the_markers_knowledge(recorder: Any, pack: ModuleType):
    readings = importlib.import_module(f"{pack.__name__}.headroom.core.readings")
    marker = readings.LastRun(finished=True, ended_at=7.0)
    assert recorder.last_run(None) is None
    assert recorder.last_run(marker) == marker
    ran(("3", raises(OSError("The paging file is too small. (os error 1455)"))))
    found = recorder.last_run(marker)
    assert (found.finished, found.ended_at) == (True, 7.0)
    assert found.error == "The paging file is too small. (os error 1455)"
    killed = readings.LastRun(finished=False, node="KSampler #3")
    assert recorder.last_run(killed) == killed


def test_what_a_sampling_copied_is_read_at_the_end_of_nodes_that_took_long(
    recorder: Any, module: ModuleType, monkeypatch: pytest.MonkeyPatch, pack: ModuleType
):
    """Of two samplers the larger; a node of milliseconds is not asked, and the next run begins with nothing."""
    marker = importlib.import_module(f"{pack.__name__}.headroom.core.readings").LastRun(finished=True)
    models = importlib.import_module(f"{pack.__name__}.headroom.host.loaded_models")
    copied = iter([5 * GIB, 3 * GIB, None])
    monkeypatch.setattr(models, "streamed_bytes", lambda: next(copied))
    ran(("1", nothing), ("3", nothing), ("4", nothing))
    assert recorder.last_run(marker).streamed_bytes is None
    monkeypatch.setattr(module, "SAMPLING_SECONDS", 0.0)
    ran(("1", nothing), ("3", nothing), ("4", nothing))
    assert recorder.last_run(marker).streamed_bytes == 5 * GIB
    monkeypatch.setattr(module, "SAMPLING_SECONDS", 9.0)
    ran(("3", nothing))
    assert recorder.last_run(marker).streamed_bytes is None


def test_a_sound_fp16_decode_is_known_once_there_was_one(
    recorder: Any, pack: ModuleType, monkeypatch: pytest.MonkeyPatch
):
    """Without it the advice on `--fp16-vae` cannot be quiet."""
    marker = importlib.import_module(f"{pack.__name__}.headroom.core.readings").LastRun(finished=True)
    ladder = importlib.import_module(f"{pack.__name__}.headroom.tensors.decode.ladder")
    for seen, said in ((False, None), (True, True)):
        monkeypatch.setattr(ladder.SESSION, "finite_fp16", seen)
        ran(("4", nothing))
        assert recorder.last_run(marker).finite_fp16_decode is said


def test_growth_is_that_of_one_workflow(
    recorder: Any, module: ModuleType, monkeypatch: pytest.MonkeyPatch, pack: ModuleType
):
    """RAM-17: 850 MB per run. Another workflow, or a run that did nothing, is no measure."""
    readings = importlib.import_module(f"{pack.__name__}.headroom.core.readings")
    marker = readings.LastRun(finished=True)
    held = iter([10 * GIB, 11 * GIB, 11 * GIB, 12 * GIB, 13 * GIB, 14 * GIB])
    monkeypatch.setattr(module, "resident_bytes", lambda: next(held))
    for number in range(6):
        if number == 2:
            ran("3", prompt_id="all cached")
        else:
            ran(("3", nothing), prompt_id=str(number))
    assert recorder.last_run(marker).ram_growth_bytes_per_run == GIB
    monkeypatch.setattr(module, "resident_bytes", lambda: 20 * GIB)
    monkeypatch.setitem(NODES, "5", {"class_type": "SaveImage", "inputs": {}})
    ran(("3", nothing), prompt_id="another")
    assert recorder.last_run(marker).ram_growth_bytes_per_run is None


# ---- torch's counter ----


class Counter:
    """torch.cuda as far as the peaks ask it; not yet verified on a GPU."""

    def __init__(self) -> None:
        self.allocated = self.peak = 2 * GIB
        self.resets = 0

    def is_initialized(self) -> bool:
        return True

    def memory_stats_as_nested_dict(self) -> Any:
        return {"allocated_bytes": {"all": {"current": self.allocated, "peak": self.peak}}}

    def current_device(self) -> int:
        return 0

    def get_device_properties(self, index: int) -> Any:
        return SimpleNamespace(total_memory=16 * GIB)

    def reset_peak_memory_stats(self) -> None:
        self.resets += 1
        self.peak = self.allocated

    def takes(self, size: int) -> Any:
        def call() -> None:
            self.peak = max(self.peak, self.allocated + size)

        return call


@pytest.fixture
def counter(pack: ModuleType, monkeypatch: pytest.MonkeyPatch) -> Counter:
    found = Counter()
    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(cuda=found))
    return found


def test_a_node_has_the_peak_that_it_made_and_no_other(recorder: Any, counter: Counter):
    """The counter only rises: a node below the highest so far has no figure, rather than an earlier node's."""
    counter.peak = 9 * GIB
    ran(("1", counter.takes(GIB)), ("3", counter.takes(6 * GIB)), ("4", counter.takes(4 * GIB)))
    assert [node.vram_peak_bytes for node in recorder.run().nodes] == [3 * GIB, 8 * GIB, None]
    assert recorder.run().vram_peak_bytes == 8 * GIB


def test_the_counter_is_set_back_only_when_a_prompt_begins(recorder: Any, counter: Counter):
    """A node that measures by it, such as VAE Decode (Safe), sets it back in the middle and reads what follows."""

    def measures() -> None:
        counter.reset_peak_memory_stats()
        counter.takes(GIB)()

    ran(("1", counter.takes(6 * GIB)), ("3", measures), ("4", nothing))
    assert counter.resets == 2
    assert [node.vram_peak_bytes for node in recorder.run().nodes] == [8 * GIB, 3 * GIB, None]
    assert recorder.run().vram_peak_bytes == 8 * GIB


def test_a_failed_node_counts_for_the_peak(recorder: Any, counter: Counter):
    def fails() -> None:
        counter.takes(7 * GIB)()
        raise RuntimeError("out of memory")

    ran(("3", fails))
    assert recorder.run().vram_peak_bytes == 9 * GIB


def test_under_dynamic_vram_torchs_peak_is_not_the_runs(
    recorder: Any, counter: Counter, pack: ModuleType, monkeypatch: pytest.MonkeyPatch
):
    """Weights lie in pages that torch does not count."""
    readings = importlib.import_module(f"{pack.__name__}.headroom.core.readings")
    ran(("3", counter.takes(6 * GIB)))
    assert recorder.last_run(readings.LastRun(finished=True)).peak_bytes == 8 * GIB
    monkeypatch.setattr(sys.modules["comfy.memory_management"], "aimdo_enabled", True)
    assert recorder.last_run(readings.LastRun(finished=True)).peak_bytes is None


@pytest.mark.parametrize(("platform", "spilled"), [("win32", GIB), ("linux", None)])
def test_a_driver_that_spills_without_an_error_shows_in_torchs_peak(
    recorder: Any, counter: Counter, pack: ModuleType, monkeypatch: pytest.MonkeyPatch, platform: str, spilled: int
):
    """ComfyUI #5737, #4693: on Windows torch gets more than the card has. 2 held and 15 more, on a card of 16."""
    marker = importlib.import_module(f"{pack.__name__}.headroom.core.readings").LastRun(finished=True)
    ran(("3", counter.takes(15 * GIB)))
    monkeypatch.setattr(sys, "platform", platform)
    assert recorder.last_run(marker).spilled_bytes == spilled


def test_without_an_open_gpu_torch_is_not_asked(module: ModuleType, monkeypatch: pytest.MonkeyPatch):
    """A question would open the GPU, and take 300 MiB of it."""
    closed = SimpleNamespace(is_initialized=lambda: False)
    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(cuda=closed, xpu=closed))
    peaks = module.Peaks()
    peaks.restart()
    assert peaks.read() == (None, None)


def test_the_counter_is_where_it_is_looked_for():
    """torch's own module has the functions that the stand-in has."""
    for backend in (torch.cuda, torch.xpu):
        for name in ("is_initialized", "reset_peak_memory_stats", "memory_stats_as_nested_dict"):
            assert callable(getattr(backend, name, None) or getattr(backend.memory, name, None)), name


def test_a_host_that_cannot_tell_has_no_record(module: ModuleType, monkeypatch: pytest.MonkeyPatch):
    """0.16.3."""
    monkeypatch.setitem(sys.modules, "comfy_execution.cache_provider", None)
    module.register()
