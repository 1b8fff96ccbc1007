"""Free Memory as ComfyUI calls it, in this process: on the CPU, and on a played card with the host's own functions."""

from __future__ import annotations

import gc
import importlib
import json
import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
import torch

GIB = 2**30
CHOICES = ["models not connected here", "all models", "torch cache only", "host cache too"]


@pytest.fixture
def node(pack: ModuleType) -> Any:
    """The node's class as the host prepares it for one call."""
    return pack.nodes.free_memory.FreeMemory.PREPARE_CLASS_CLONE({})


@pytest.fixture
def freeing(pack: ModuleType) -> ModuleType:
    """``headroom/host/freeing.py`` under the pack's own name."""
    return importlib.import_module(f"{pack.__name__}.headroom.host.freeing")


@pytest.fixture
def card(pack: ModuleType, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A card of 24 GiB, 2 of them held by others, played for the host's own memory management."""
    from fakes.card import Card

    played = Card()
    played.play(monkeypatch)
    return played


def run(node: Any, anything: Any = "x", **options: Any) -> Any:
    """The node's output; nodes run in inference mode."""
    with torch.inference_mode():
        return node.EXECUTE_NORMALIZED(anything=anything, **options)


def report(out: Any) -> dict[str, Any]:
    return out.ui["headroom"][0]


def texts(shown: dict[str, Any]) -> list[str]:
    return [block["text"] for block in shown["blocks"] if block["kind"] == "text"]


def fates(shown: dict[str, Any]) -> dict[str, str]:
    return {model["name"]: model["fate"] for model in shown["facts"]["models"]}


@pytest.mark.parametrize("anything", [None, 5, torch.zeros(1), {"samples": torch.zeros(1)}, [object()]])
def test_whatever_comes_in_goes_out(node: Any, anything: Any) -> None:
    out = run(node, anything)
    assert out.args[0] is anything
    assert out.args[1] == out.ui["text"][0]


def test_only_what_is_not_connected_is_unloaded(node: Any, card: Any) -> None:
    from fakes.card import load

    sdxl = load(card, "SDXL", 6 * GIB)
    clip = load(card, "SDXLClipModel", GIB)
    card.cache = 2 * GIB
    shown = report(run(node, free="models not connected here", clip=SimpleNamespace(patcher=clip)))
    assert (shown["level"], shown["title"]) == ("ok", "Freed 8.0 of 9.0\u00a0GiB VRAM; 1.0 is still held")
    assert fates(shown) == {"SDXL": "unloaded", "SDXLClipModel": "kept"}
    assert (card.allocated, card.reserved) == (GIB, GIB)
    device = shown["facts"]["devices"][0]
    assert device["before"]["held_bytes"] == 9 * GIB
    assert device["after"]["held_bytes"] == GIB
    assert device["after"]["free_bytes"] == 21 * GIB
    assert shown["facts"]["vram_freed_bytes"] == 8 * GIB
    assert sdxl.loaded_size() == 0
    assert clip.loaded_size() == GIB


@pytest.mark.parametrize("name", ["model", "anything"])
def test_a_clone_of_a_loaded_model_keeps_it(node: Any, card: Any, name: str) -> None:
    """A LoRA node gives a clone; the loaded entry is of the model before it (ladder: is_clone, not identity)."""
    from fakes.card import load

    sdxl = load(card, "SDXL", 6 * GIB)
    clone = sdxl.clone()
    shown = report(run(node, **{"anything": "x", "free": CHOICES[0], name: clone}))
    assert fates(shown) == {"SDXL": "kept"}
    assert sdxl.loaded_size() == 6 * GIB
    (row,) = shown["blocks"][1]["rows"]
    assert row["note"] == ("kept: it passes through" if name == "anything" else "kept: connected to model")


def test_all_models_means_the_connected_ones_too(node: Any, card: Any) -> None:
    from fakes.card import load

    sdxl = load(card, "SDXL", 6 * GIB)
    shown = report(run(node, sdxl, free="all models", model=sdxl))
    assert shown["title"] == "Freed 6.0 of 6.0\u00a0GiB VRAM"
    assert fates(shown) == {"SDXL": "unloaded"}
    (row,) = shown["blocks"][1]["rows"]
    assert row["note"] == "unloaded; a cached node output keeps its weights in RAM; loaded again when it is used"


def test_the_torch_cache_alone_leaves_the_models(node: Any, card: Any) -> None:
    from fakes.card import load

    sdxl = load(card, "SDXL", 6 * GIB)
    card.cache = 2 * GIB
    shown = report(run(node, free="torch cache only"))
    assert sdxl.loaded_size() == 6 * GIB
    assert shown["title"] == "Freed 2.0 of 8.0\u00a0GiB VRAM; 6.0 is still held"
    assert shown["facts"]["models"] == []
    assert card.allocated == 6 * GIB
    assert not any("other nodes" in text for text in texts(shown))


def test_garbage_is_collected_before_the_cache_is_emptied(node: Any, card: Any, monkeypatch: Any) -> None:
    """Tensors in a reference cycle go into torch's cache only when they are collected."""
    card.tensors["garbage"] = 3 * GIB
    monkeypatch.setattr(gc, "collect", lambda: card.released("garbage"))
    assert report(run(node, free="torch cache only"))["title"] == "Freed 3.0 of 3.0\u00a0GiB VRAM"


def test_pages_of_dynamic_vram_count_and_are_freed(node: Any, card: Any) -> None:
    """VAE-21: ComfyUI #15453: an explicit free_memory also evicts a dynamic model."""
    from fakes.card import load

    flux = load(card, "Flux", 12 * GIB, dynamic=True)
    shown = report(run(node, free="all models"))
    assert flux.loaded_size() == 0
    assert shown["title"] == "Freed 12.0 of 12.0\u00a0GiB VRAM"
    assert shown["facts"]["devices"][0]["before"]["pages_bytes"] == 12 * GIB
    assert fates(shown) == {"Flux": "unloaded"}


def test_the_cache_is_told_apart_from_other_programs_which_are_not_touched(node: Any, card: Any) -> None:
    """MEM-39: ComfyUI #15274: what ComfyUI can free is not what others hold."""
    card.cache = 5 * GIB
    shown = report(run(node, free="torch cache only"))
    device = shown["facts"]["devices"][0]
    assert (device["before"]["cache_bytes"], device["before"]["others_bytes"]) == (5 * GIB, 2 * GIB)
    assert (device["after"]["cache_bytes"], device["after"]["others_bytes"]) == (0, 2 * GIB)
    assert texts(shown)[-1] == "Other programs and the driver hold 2.0\u00a0GiB on cuda:0; they are not touched."


def test_a_cache_in_pieces_is_called_fragmentation(node: Any, card: Any) -> None:
    """MEM-41: ComfyUI #2982, #9121, PR #11154: much reserved that is not allocated, and out of memory all the same."""
    card.tensors["a cached output"] = GIB
    card.fragments, card.cache = 3 * GIB, GIB
    shown = report(run(node, free="torch cache only"))
    assert shown["title"] == "Freed 1.0 of 5.0\u00a0GiB VRAM; 4.0 is still held"
    assert texts(shown)[0] == (
        "3.0\u00a0GiB of torch's cache on cuda:0 could not be given back: its blocks are in use in part "
        "(fragmentation)."
    )


def test_tensors_of_other_nodes_are_told(node: Any, card: Any) -> None:
    from fakes.card import load

    kept = load(card, "VAE", GIB)
    card.tensors["a cached output"] = 3 * GIB
    shown = report(run(node, free=CHOICES[0], vae=SimpleNamespace(patcher=kept)))
    assert shown["title"] == "No VRAM was freed; 4.0\u00a0GiB is still held"
    assert texts(shown)[0] == "3.0\u00a0GiB on cuda:0 is in tensors of other nodes, which only they can free."


def test_a_model_that_lost_its_patcher_is_named_and_not_counted_as_freed(node: Any, card: Any) -> None:
    """The host's "potential memory leak": the module lives, the patcher is gone, free_memory passes it by."""
    import comfy.model_management as management
    from fakes.card import load

    leaked = load(card, "Leaked", 4 * GIB)
    module = leaked.model
    module.weight = torch.nn.Parameter(torch.zeros(256), requires_grad=False)
    del leaked
    gc.collect()
    assert management.current_loaded_models[0].is_dead()
    shown = report(run(node, free="all models"))
    assert shown["level"] == "warn"
    assert shown["title"] == "No VRAM was freed; 4.0\u00a0GiB is still held"
    assert fates(shown) == {"Leaked": "dead"}
    assert shown["facts"]["models"][0]["size_bytes"] == 1024
    assert "Start ComfyUI again to free a model that lost its patcher." in texts(shown)
    assert isinstance(module, torch.nn.Module)


def test_a_patcher_that_only_garbage_holds_goes_with_it(node: Any, card: Any) -> None:
    from fakes.card import load

    patcher = load(card, "Old", GIB)
    patcher.model.itself = patcher
    del patcher
    shown = report(run(node, free="all models"))
    assert fates(shown) == {"Old": "gone"}
    assert shown["title"] == "Freed 1.0 of 1.0\u00a0GiB VRAM"
    (row,) = shown["blocks"][1]["rows"]
    assert (row["note"], row["done"]) == ("gone: nothing held it any more", True)


def test_a_model_that_the_host_does_not_let_go_of_is_told(node: Any, card: Any, monkeypatch: Any) -> None:
    import comfy.model_management as management
    from fakes.card import load

    held = load(card, "SDXL", 6 * GIB)
    monkeypatch.setattr(management, "free_memory", lambda *_, **__: [])
    shown = report(run(node, free="all models"))
    assert (shown["level"], fates(shown)) == ("warn", {"SDXL": "still loaded"})
    assert shown["facts"]["models"][0]["after_bytes"] == held.loaded_size() == 6 * GIB


def test_under_highvram_an_unloaded_model_stays_on_the_card_and_that_is_said(node: Any, card: Any) -> None:
    """There the host's offload device is the card itself (comfy/model_management.py 0.30.0, unet_offload_device)."""
    from fakes.card import load

    sdxl = load(card, "SDXL", 6 * GIB)
    sdxl.offload_device = card.device
    shown = report(run(node, free="all models"))
    assert shown["title"] == "No VRAM was freed; 6.0\u00a0GiB is still held"
    assert fates(shown) == {"SDXL": "parked"}
    assert shown["facts"]["models"][0]["after_bytes"] == 6 * GIB
    assert not any("other nodes" in text for text in texts(shown))


def test_a_second_reading_that_fails_does_not_look_like_freed_memory(node: Any, card: Any, monkeypatch: Any) -> None:
    from fakes.card import load

    sdxl = load(card, "SDXL", 6 * GIB)
    read = torch.cuda.mem_get_info
    left = [read]

    def lost(device: Any = None) -> Any:
        if not left:
            raise RuntimeError("device lost")
        return left.pop()(device)

    monkeypatch.setattr(torch.cuda, "mem_get_info", lost)
    shown = report(run(node, free="torch cache only"))
    assert sdxl.loaded_size() == 6 * GIB
    assert shown["title"] == "Done; how much VRAM that freed is not known"
    assert shown["facts"]["unreadable_devices"] == ["cuda:0"]
    assert shown["facts"]["vram_freed_bytes"] is None


def test_ram_that_stays_pinned_is_told(node: Any, card: Any) -> None:
    from fakes.card import load

    flux = load(card, "Flux", 12 * GIB, dynamic=True)
    flux.model.pinned_bytes = 3 * GIB
    shown = report(run(node, free="all models"))
    (row,) = shown["blocks"][1]["rows"]
    assert row["note"].endswith("; 3.0\u00a0GiB of RAM stays pinned")
    assert shown["facts"]["models"][0]["pinned_bytes"] == 3 * GIB


def test_a_card_without_a_context_is_not_asked(node: Any, card: Any) -> None:
    """A reading would make a context of some 300 MiB; the played card fails the test if it is asked."""
    card.started = False
    shown = report(run(node, free="torch cache only"))
    assert shown["facts"]["devices"] == shown["facts"]["unreadable_devices"] == []
    assert shown["facts"]["vram_freed_bytes"] is None


def test_a_second_card_without_a_context_is_not_asked(node: Any, card: Any, freeing: ModuleType) -> None:
    from fakes.card import load

    models = load(card, "SDXL", GIB), load(card, "Old", 0, device=torch.device("cuda", 1))
    assert len(models) == 2
    assert [str(device) for device in freeing.memory.used_devices()] == ["cuda:0"]


def test_a_device_that_does_not_tell_is_unknown_and_not_0(node: Any, card: Any, monkeypatch: Any) -> None:
    """MEM-29: ComfyUI #5860: DirectML says 1 GiB whatever there is."""
    import comfy.model_management as management

    monkeypatch.setattr(management, "get_torch_device", lambda: torch.device("privateuseone:0"))
    shown = report(run(node, free="torch cache only"))
    assert shown["facts"]["unreadable_devices"] == ["privateuseone:0"]
    assert shown["facts"]["vram_before_bytes"] is None
    assert shown["blocks"][0]["rows"][0]["cells"] == ["VRAM privateuseone:0", "n/a", "n/a", "n/a"]


def test_a_model_on_the_cpu_frees_no_ram_and_that_is_said(node: Any, card: Any) -> None:
    """ladder.md A4: RSS 953 MiB before and after."""
    from fakes.card import CPU, load

    t5 = load(card, "T5", 9 * GIB, device=CPU)
    shown = report(run(node, free="all models"))
    assert (shown["level"], shown["title"]) == ("info", "Nothing to free: this process holds no VRAM")
    (row,) = shown["blocks"][1]["rows"]
    assert t5.model_size() == 9 * GIB
    assert row["note"] == "unloaded; it runs on the CPU, so its weights stay in RAM"
    assert texts(shown)[0] == (
        "Unloading a model that runs on the CPU frees no RAM: its weights stay there as long as a cached node output "
        "holds them."
    )


def test_the_resident_set_is_this_processs_own(node: Any) -> None:
    """16 MiB: between the two readings lie only the report and this call."""
    import psutil

    shown = report(run(node, free="torch cache only"))
    assert abs(shown["facts"]["ram_after_bytes"] - psutil.Process().memory_info().rss) < 16 * 2**20


def test_ram_that_cannot_be_read_is_unknown(node: Any, monkeypatch: Any) -> None:
    """MEM-31: psutil raises on some systems; the rest of the report stays."""
    import psutil

    def broken(*_: Any) -> Any:
        raise RuntimeError("host_statistics64")

    monkeypatch.setattr(psutil.Process, "memory_info", broken)
    shown = report(run(node, free="torch cache only"))
    assert shown["facts"]["ram_before_bytes"] is None
    assert shown["facts"]["ram_freed_bytes"] is None
    assert shown["blocks"][0]["rows"][-1]["cells"] == ["RAM", "n/a", "n/a", "n/a"]


def test_what_is_connected_is_found_behind_every_type(freeing: ModuleType, card: Any) -> None:
    import comfy.controlnet
    from fakes.card import load

    patcher, other = load(card, "SDXL", GIB), load(card, "Control", GIB)
    control = comfy.controlnet.ControlBase.__new__(comfy.controlnet.ControlBase)
    control.get_models = lambda: [other]
    found = freeing.patchers_of
    assert list(found(patcher)) == [patcher]
    assert list(found(SimpleNamespace(patcher=patcher))) == [patcher]
    assert list(found(SimpleNamespace(model_patcher=patcher))) == [patcher]
    assert list(found(control)) == [other]
    for nothing in (None, "x", torch.zeros(1), {"samples": 1}, SimpleNamespace(patcher="x")):
        assert list(found(nothing)) == []


def test_models_that_a_kept_one_loads_along_are_kept(node: Any, card: Any) -> None:
    from fakes.card import load

    main, extra = load(card, "SDXL", 2 * GIB), load(card, "Reference", GIB)
    main.set_additional_models("reference", [extra])
    shown = report(run(node, free=CHOICES[0], model=main))
    assert fates(shown) == {"SDXL": "kept", "Reference": "kept"}


def test_the_file_of_a_model_is_named_without_its_folder(node: Any, card: Any) -> None:
    from fakes.card import load

    sdxl, t5 = load(card, "SDXL", GIB), load(card, "T5", GIB)
    sdxl.cached_patcher_init = (print, ("/home/me/models/sd_xl.safetensors", {}))
    t5.cached_patcher_init = (print, (["/home/me/t5.safetensors"], 1))
    assert set(fates(report(run(node, free="all models")))) == {"SDXL (sd_xl.safetensors)", "T5 (t5.safetensors)"}


def test_without_a_prompt_queue_the_cached_outputs_stay(node: Any, monkeypatch: Any) -> None:
    monkeypatch.setitem(sys.modules, "server", SimpleNamespace(PromptServer=SimpleNamespace()))
    shown = report(run(node, free="host cache too"))
    assert shown["facts"]["drops_cached_outputs"] is False
    assert "There is no prompt queue here, so ComfyUI's cached outputs stay." in texts(shown)


@pytest.mark.parametrize("choice", CHOICES)
def test_only_host_cache_too_asks_the_queue(node: Any, choice: str, monkeypatch: Any) -> None:
    flags: dict[str, Any] = {}
    queue = SimpleNamespace(set_flag=flags.__setitem__)
    server = SimpleNamespace(PromptServer=SimpleNamespace(instance=SimpleNamespace(prompt_queue=queue)))
    monkeypatch.setitem(sys.modules, "server", server)
    shown = report(run(node, free=choice))
    assert flags == ({"free_memory": True} if choice == "host cache too" else {})
    assert shown["facts"]["drops_cached_outputs"] is (choice == "host cache too")


@pytest.mark.parametrize("choice", CHOICES)
def test_every_report_can_be_sent_as_json(node: Any, card: Any, choice: str) -> None:
    from fakes.card import load

    sdxl = load(card, "SDXL", 6 * GIB)
    assert sdxl.loaded_size() == 6 * GIB
    json.dumps(run(node, free=choice).ui, allow_nan=False)


def test_the_schema_passes_the_type_on_and_never_changes_its_fingerprint(node: Any) -> None:
    from comfy_api.latest import io

    schema = node.GET_SCHEMA()
    assert schema.node_id == "HeadroomFreeMemory"
    assert isinstance(schema.inputs[0], io.MatchType.Input)
    assert schema.outputs[0].template is schema.inputs[0].template
    assert schema.inputs[1].options == CHOICES
    assert [one.id for one in schema.inputs if one.optional] == ["free", "model", "clip", "vae"]
    assert "fingerprint_inputs" not in vars(type(node) if not isinstance(node, type) else node)
    assert not schema.not_idempotent
    assert not schema.is_output_node
