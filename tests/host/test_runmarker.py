"""The run marker's hooks in the real ComfyUI's modules: when it listens, when it is out of the way, and its faults."""

from __future__ import annotations

import asyncio
import importlib
import json
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

NODES = {"3": {"class_type": "KSampler", "inputs": {}}, "4": {"class_type": "VAEDecode", "inputs": {}}}


@pytest.fixture
def module(pack: ModuleType) -> ModuleType:
    """The pack's run marker."""
    return importlib.import_module(f"{pack.__name__}.headroom.host.runmarker")


@pytest.fixture
def prompt_hooks(pack: ModuleType) -> ModuleType:
    """The pack's listeners."""
    return importlib.import_module(f"{pack.__name__}.headroom.host.prompt_hooks")


@pytest.fixture
def hooks(pack: ModuleType) -> Iterator[Any]:
    """The host's list of cache providers, empty."""
    from comfy_execution import cache_provider

    cache_provider._clear_cache_providers()
    yield cache_provider
    cache_provider._clear_cache_providers()


@pytest.fixture
def marker(module: ModuleType, tmp_path: Path) -> Any:
    return module.RunMarker(lambda: tmp_path, lambda: 8188)


def registered(prompt_hooks: ModuleType, hooks: Any, marker: Any) -> Any:
    provider = prompt_hooks.provider_for(marker)
    hooks.register_cache_provider(provider)
    return provider


def written(folder: Path) -> list[dict[str, Any]]:
    """The lines of the only journal; none where there is none."""
    return [json.loads(line) for path in folder.glob("*") for line in path.read_text().splitlines()]


async def prompt(hooks: Any, folder: Path, *nodes: str, prompt_id: str = "one") -> list[dict[str, Any]]:
    """As PromptExecutor.execute_async (0.30.0) as far as the hooks go; what the journal says in the middle of it."""
    from comfy_execution import progress
    from comfy_execution.graph import DynamicPrompt

    for provider in hooks._get_cache_providers():
        provider.on_prompt_start(prompt_id)
    progress.reset_progress_state(prompt_id, DynamicPrompt(NODES))
    await asyncio.gather(asyncio.sleep(0))
    assert not hooks._has_cache_providers(), "the host would compute cache keys for it at every node"
    for node in nodes:
        progress.get_progress_state().start_progress(node)
        progress.get_progress_state().finish_progress(node)
    lines = written(folder)
    for provider in hooks._get_cache_providers():
        provider.on_prompt_end(prompt_id)
    return lines


def test_it_steps_aside_while_nodes_run_and_comes_back(
    prompt_hooks: ModuleType, hooks: Any, marker: Any, tmp_path: Path
):
    """A provider that stays makes 60 nodes in a row 14 times slower (host 0.30.0: 73 ms, 990 with one)."""
    provider = registered(prompt_hooks, hooks, marker)
    for number in range(2):
        lines = asyncio.run(prompt(hooks, tmp_path, "3", "4", prompt_id=str(number)))
        assert [line.get("node") for line in lines] == [None, "KSampler #3", "VAEDecode #4"]
        assert hooks._get_cache_providers() == (provider,)
        assert (written(tmp_path), marker.last_run().finished) == ([], True)


@pytest.mark.parametrize("error", [RuntimeError("an error of a node"), asyncio.CancelledError()])
def test_a_prompt_that_ends_with_an_error_has_ended(
    prompt_hooks: ModuleType, hooks: Any, marker: Any, tmp_path: Path, error: BaseException
):
    provider = registered(prompt_hooks, hooks, marker)

    async def fails() -> None:
        await prompt(hooks, tmp_path, "3")
        raise error

    with pytest.raises(type(error)):
        asyncio.run(fails())
    assert hooks._get_cache_providers() == (provider,)
    assert (written(tmp_path), marker.last_run().finished) == ([], True)


def test_a_host_without_a_task_per_prompt_is_followed_by_its_own_end(
    prompt_hooks: ModuleType, hooks: Any, marker: Any, tmp_path: Path
):
    provider = registered(prompt_hooks, hooks, marker)
    provider.on_prompt_start("one")
    assert len(written(tmp_path)) == 1
    provider.on_prompt_end("one")
    assert (written(tmp_path), marker.last_run().finished) == ([], True)


def test_a_registry_that_comes_late_is_waited_for(
    prompt_hooks: ModuleType, hooks: Any, marker: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    from comfy_execution import progress
    from comfy_execution.graph import DynamicPrompt

    monkeypatch.setattr(prompt_hooks, "PAUSE_SECONDS", 0.001)
    provider = registered(prompt_hooks, hooks, marker)

    async def late() -> list[dict[str, Any]]:
        provider.on_prompt_start("late")
        await asyncio.sleep(0.01)
        progress.reset_progress_state("late", DynamicPrompt(NODES))
        while marker.name not in progress.get_progress_state().handlers:
            await asyncio.sleep(0.001)
        progress.get_progress_state().start_progress("4")
        return written(tmp_path)

    assert asyncio.run(asyncio.wait_for(late(), 10))[-1]["node"] == "VAEDecode #4"


def test_a_node_of_an_expanded_one_is_named_by_the_number_that_the_user_sees(prompt_hooks: ModuleType):
    from comfy_execution.graph import DynamicPrompt

    graph = DynamicPrompt(NODES)
    graph.add_ephemeral_node("3.0.1", {"class_type": "VAEEncode", "inputs": {}}, "3", "3")
    assert prompt_hooks.label(graph, "3.0.1") == "VAEEncode #3"


def test_a_node_that_nobody_knows_does_no_harm(prompt_hooks: ModuleType, hooks: Any, marker: Any, tmp_path: Path):
    """An exception in a progress handler ends the host's prompt worker."""
    registered(prompt_hooks, hooks, marker)
    lines = asyncio.run(prompt(hooks, tmp_path, "99", "4"))
    assert [line.get("node") for line in lines] == [None, "VAEDecode #4"]


def test_a_folder_that_cannot_be_written_does_no_harm(
    module: ModuleType, prompt_hooks: ModuleType, hooks: Any, tmp_path: Path
):
    def fails() -> Path:
        raise OSError("read-only file system")

    registered(prompt_hooks, hooks, module.RunMarker(fails, lambda: 8188))
    assert asyncio.run(prompt(hooks, tmp_path, "3")) == []
    assert hooks._has_cache_providers()


def test_two_listeners_do_not_disturb_each_other(
    module: ModuleType, prompt_hooks: ModuleType, hooks: Any, marker: Any, tmp_path: Path
):
    """The recorder of a run listens beside the marker."""
    heard = []

    class Second:
        name = "second"

        def begin(self) -> None:
            heard.append("begin")

        def node(self, label: str) -> None:
            heard.append(label)

        def end(self) -> None:
            heard.append("end")
            raise RuntimeError("a fault of one costs the other nothing")

    assert prompt_hooks.listen(Second())
    assert prompt_hooks.listen(marker)
    for number in range(2):
        lines = asyncio.run(prompt(hooks, tmp_path, "3", prompt_id=str(number)))
        assert [line.get("node") for line in lines] == [None, "KSampler #3"]
    assert heard == ["begin", "KSampler #3", "end"] * 2
    assert len(hooks._get_cache_providers()) == 2


def test_a_host_that_has_no_such_hook_has_no_marker(
    module: ModuleType, prompt_hooks: ModuleType, marker: Any, monkeypatch: pytest.MonkeyPatch
):
    """0.16.3."""
    import sys

    monkeypatch.setitem(sys.modules, "comfy_execution.cache_provider", None)
    assert prompt_hooks.listen(marker) is False
    module.register()
