"""Planning from a stated machine: what no CPU can show over HTTP. Only the readings are made up."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from fakes.model_files import write_sparse

GIB = 2**30
MIB = 2**20


@pytest.fixture(scope="module")
def planning(pack: ModuleType) -> ModuleType:
    """The pack's module."""
    return importlib.import_module(f"{pack.__name__}.headroom.host.planning")


@pytest.fixture
def stated(planning: ModuleType, pack: ModuleType, monkeypatch: pytest.MonkeyPatch):
    """Makes the readings of a machine: 12 GiB with 9 free, 32 GiB of RAM with 20 available."""
    readings = importlib.import_module(f"{pack.__name__}.headroom.core.readings")
    loaded_models = importlib.import_module(f"{pack.__name__}.headroom.host.loaded_models")

    def make(
        flags: str = "",
        held: Mapping[str, int] | None = None,
        ram: Mapping[str, int] | None = None,
        host: Mapping[str, Any] | None = None,
        **card: Any,
    ) -> list[bool]:
        known = {"total_bytes": 12 * GIB, "free_bytes": 9 * GIB, "others_bytes": GIB, "evictable_bytes": 0}
        device = readings.Device(0, "RTX 3060", **{"kind": "cuda", **known, **card})
        sizes = {"total_bytes": 32 * GIB, "available_bytes": 20 * GIB, "own_bytes": 2 * GIB} if ram is None else ram
        about = {"reserved_bytes": 400 * MIB, "dynamic_vram": True, "platform": "linux", "attention": "pytorch"}
        running = readings.Host(version="0.30.0", flags=frozenset(flags.split()), **{**about, **(host or {})})
        asked: list[bool] = []

        def take(fresh: bool = False) -> Any:
            asked.append(fresh)
            return readings.Snapshot(0.0, running, (device,), ram=readings.Ram(**sizes))

        parts = {name: loaded_models.Held(evictable=size) for name, size in (held or {}).items()}
        monkeypatch.setattr(planning, "take", take)
        monkeypatch.setattr(planning, "read_models", lambda running: ((), parts))
        monkeypatch.setattr(planning, "private_bytes", lambda: None)
        return asked

    return make


def preset(planning: ModuleType, kind: str, name: str) -> Any:
    return planning.model_files.found(kind, f"example: {name}")


WAN = "Wan 2.2 14B text to video, fp8"


def swap(planning: ModuleType, model: Any, **more: Any) -> Any:
    """An estimate for 480p, 81 frames."""
    core = importlib.import_module(f"{planning.__name__.rsplit('.', 2)[0]}.core.needs")
    asked = {
        "loader": "WanVideoWrapper",
        "target": "fit the card",
        "target_bytes": 0,
        "vram_bytes": 0,
        "lora_bytes": 0,
        "prefetch": 0,
        "seconds_per_step": 0.0,
    }
    return planning.block_swap(model, core.Run(832, 480, 81, 1, 3.5), **{**asked, **more})


def offload(planning: ModuleType, *models: Any) -> Any:
    core = importlib.import_module(f"{planning.__name__.rsplit('.', 2)[0]}.core.needs")
    return planning.offload(core.Models(list(models)), core.Run(832, 480, 81, 1, 3.5), 0, 0)


def test_a_text_encoder_in_ram_hides_nothing_of_the_card(planning: ModuleType, stated: Any) -> None:
    """A model that runs on the CPU is held by "cpu", which is no card's number 0."""
    stated(held={"cuda:0": 2 * GIB, "cpu": 0})
    assert planning.budget_now(None, None, None, None).holders.available_bytes == 11 * GIB
    stated(held={"cpu": 0, "cuda:0": 2 * GIB})
    assert planning.budget_now(None, None, None, None).holders.available_bytes == 11 * GIB


def test_the_reading_is_never_one_from_before_the_last_load(planning: ModuleType, stated: Any) -> None:
    """The panel reads twice a second: with its reading a model loaded since would be free memory and evictable too."""
    asked = stated()
    planning.budget_now(None, None, None, None)
    assert asked == [True]


def test_a_fresh_reading_is_not_the_shared_one(pack: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    snapshot = importlib.import_module(f"{pack.__name__}.headroom.host.snapshot")
    made = iter(range(10))
    monkeypatch.setattr(snapshot, "_read", lambda: next(made))
    monkeypatch.setattr(snapshot, "_last", None)
    assert [snapshot.take(), snapshot.take(), snapshot.take(fresh=True), snapshot.take()] == [0, 0, 1, 1]


def test_ram_that_cannot_be_read_gives_no_plan_and_no_flag(planning: ModuleType, stated: Any) -> None:
    """Unknown is not 0: --cache-none would be advice from nothing."""
    stated(ram={})
    result = offload(planning, preset(planning, "diffusion", WAN))
    assert result.plan is None
    assert result.launch_line == ""
    assert "`ram_gib`" in result.room.why_not


def test_a_shared_memory_sends_nothing_to_ram_and_swaps_nothing(planning: ModuleType, stated: Any) -> None:
    mac = {
        "kind": "mps",
        "unified": True,
        "total_bytes": 32 * GIB,
        "free_bytes": 20 * GIB,
        "host": {"dynamic_vram": False},
    }
    stated(**mac)
    model = preset(planning, "diffusion", "Wan 2.2 14B text to video, fp16")
    plan = offload(planning, model, model)
    assert plan.plan.ram_bytes == 0
    assert {one.park for one in plan.plan.placements if one.part.stage.part} == {"disk"}
    found = swap(planning, model)
    assert (found.settings[0], found.plan.verdict) == (0, "does not fit")
    assert any("swapped block takes the same memory" in note for note in found.notes)


def test_gpu_only_counts_all_weights_together(planning: ModuleType, stated: Any) -> None:
    clip = SimpleNamespace(
        patcher=SimpleNamespace(model_size=lambda: 3 * GIB, cached_patcher_init=None), cond_stage_model=object()
    )
    vae = SimpleNamespace(
        patcher=SimpleNamespace(model_size=lambda: 2 * GIB, cached_patcher_init=None), first_stage_model=object()
    )
    for flags, left in (("", 9 - 3 - 0.5), ("--gpu-only", 9 - 3 - 2 - 0.5)):
        stated(flags)
        result = planning.budget_now(None, clip, vae, None)
        assert result.headroom_bytes == int(left * GIB)
        assert bool(result.notes) == bool(flags)


def test_novram_streams_all_weights(planning: ModuleType, stated: Any) -> None:
    model = preset(planning, "diffusion", "Wan 2.1 1.3B, fp16")
    stated()
    assert offload(planning, model).stages[0].verdict == "resident"
    stated("--novram", host={"dynamic_vram": False})
    (sampling, _) = offload(planning, model).stages
    assert sampling.verdict == "streams"
    assert sampling.streamed_bytes[0] == model.weights_bytes - model.largest_tensor_bytes


def test_lora_weights_count_with_comfyui_s_own_loader_too(planning: ModuleType, stated: Any) -> None:
    """ComfyUI #4343: 12.2 GB became 14.3."""
    stated()
    model = preset(planning, "diffusion", "Wan 2.1 1.3B, fp16")
    plain = swap(planning, model, loader="ComfyUI").own_loader
    more = swap(planning, model, loader="ComfyUI", lora_bytes=2 * GIB).own_loader
    assert more.need_bytes[1] - plain.need_bytes[1] == 2 * GIB


def test_a_target_of_nothing_asks_how_much(planning: ModuleType, stated: Any) -> None:
    stated()
    with pytest.raises(Exception, match="`target_gib` is 0"):
        swap(planning, preset(planning, "diffusion", WAN), target="use at most (GiB)")
    assert swap(planning, preset(planning, "diffusion", WAN), target="leave free (GiB)").plan.ask.room_bytes > 8 * GIB


def test_two_kinds_of_blocks_are_told_apart(planning: ModuleType, stated: Any) -> None:
    """Flux has 19 double and 38 single blocks, Flex 8 (sd-scripts PR#2000); tools ask for each kind by itself."""
    stated()
    found = swap(planning, preset(planning, "diffusion", "Flux.1 dev, GGUF Q8_0"), loader="musubi-tuner, sd-scripts")
    gone = found.plan.blocks_swapped
    assert 0 < gone < 38
    assert f"It has 19 and 38 blocks of two kinds; for a tool that asks for both: 0 and {gone}." in found.notes


def test_older_wrappers_take_the_first_kind_first(planning: ModuleType, stated: Any) -> None:
    stated(free_bytes=4 * GIB)
    model = preset(planning, "diffusion", "Flux.1 dev, GGUF Q8_0")
    found = swap(planning, model, loader="HunyuanVideoWrapper, older Flux wrappers")
    gone = found.plan.blocks_swapped
    assert gone > 19
    assert any(note.endswith(f": 19 and {gone - 19}.") for note in found.notes)


@pytest.fixture
def files(planning: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder for all kinds."""
    import folder_paths

    for folder in ("diffusion_models", "text_encoders", "vae"):
        monkeypatch.setitem(folder_paths.folder_names_and_paths, folder, ([str(tmp_path)], {".safetensors"}))
    monkeypatch.setattr(folder_paths, "filename_list_cache", {})
    return tmp_path


def test_a_file_of_another_kind_is_named_for_what_it_is(planning: ModuleType, files: Path) -> None:
    """A LoRA in the list of models, or an encoder: an estimate of it would be nonsense."""
    pairs = {
        f"diffusion_model.blocks.{number}.self_attn.q.lora_{side}.weight": ("F16", shape)
        for number in range(40)
        for side, shape in (("A", (16, 5120)), ("B", (5120, 16)))
    }
    write_sparse(files / "style.safetensors", pairs)
    with pytest.raises(Exception, match=r"style\.safetensors is a lora .*and a diffusion model is wanted here"):
        planning.component_for("style.safetensors", None)
    with pytest.raises(Exception, match="and a vae is wanted here"):
        planning.components("vae", ["style.safetensors"])


def test_a_file_without_tensors_is_said_to_be_one(planning: ModuleType, files: Path) -> None:
    write_sparse(files / "nothing.safetensors", {})
    with pytest.raises(Exception, match=r"nothing\.safetensors (holds no tensor|is broken)"):
        planning.component_for("nothing.safetensors", None)


def test_a_target_beyond_the_card_is_the_card(planning: ModuleType, stated: Any) -> None:
    stated()
    found = swap(planning, preset(planning, "diffusion", WAN), target="use at most (GiB)", target_bytes=40 * GIB)
    assert found.plan.ask.room_bytes == found.room.room_bytes == 9 * GIB - 400 * MIB
    less = swap(planning, preset(planning, "diffusion", WAN), target="leave free (GiB)", target_bytes=2 * GIB)
    assert less.plan.ask.room_bytes == 7 * GIB - 400 * MIB


def test_what_is_typed_in_reaches_the_estimate(planning: ModuleType, stated: Any) -> None:
    """LoRA weights, a measured step, the attention and the make of the card."""
    stated()
    plain = swap(planning, preset(planning, "diffusion", WAN))
    assert plain.plan.blocks_to_swap > 0
    assert plain.knee is None
    more = swap(planning, preset(planning, "diffusion", WAN), lora_bytes=GIB)
    assert more.plan.stay_bytes - plain.plan.stay_bytes == GIB
    assert more.plan.blocks_to_swap > plain.plan.blocks_to_swap
    assert swap(planning, preset(planning, "diffusion", WAN), prefetch=1, seconds_per_step=60.0).knee == 0
    stated(host={"attention": "split"})
    assert swap(planning, preset(planning, "diffusion", WAN)).sampling.high_bytes > plain.sampling.high_bytes


def test_gguf_says_that_loaders_differ(planning: ModuleType, stated: Any) -> None:
    """ComfyUI-WanVideoWrapper #1873."""
    stated()
    packed = swap(planning, preset(planning, "diffusion", "Wan 2.2 14B text to video, GGUF Q4_K"))
    assert any(note.startswith("GGUF:") for note in packed.notes)
    assert swap(planning, preset(planning, "diffusion", WAN)).notes == []


def test_on_the_cpu_models_free_no_more_than_this_process_holds(planning: ModuleType, stated: Any) -> None:
    clip = SimpleNamespace(
        patcher=SimpleNamespace(model_size=lambda: 3 * GIB, cached_patcher_init=None), cond_stage_model=object()
    )
    ram = {"kind": "cpu", "total_bytes": 32 * GIB, "free_bytes": 20 * GIB, "used_bytes": 12 * GIB, "own_bytes": 2 * GIB}
    stated("--cpu", **ram)
    who = planning.budget_now(None, clip, None, None).holders
    assert (who.evictable_bytes, who.available_bytes, who.others_bytes) == (2 * GIB, 22 * GIB, 10 * GIB)


def test_without_dynamic_vram_what_streams_follows_from_the_host_s_number(planning: ModuleType, stated: Any) -> None:
    """9 GiB free less 400 MiB are 8.61; the host keeps 5.90 for a prompt of Wan at 480p and 0.33 for layers under way.

    4.4 to 6.0 GiB would be left by the work itself, which is what dynamic VRAM fills.
    """
    model = preset(planning, "diffusion", "Wan 2.2 14B text to video, fp8")
    stated()
    by_page = swap(planning, model, loader="ComfyUI").own_loader
    stated(host={"dynamic_vram": False})
    once = swap(planning, model, loader="ComfyUI").own_loader
    kept = (9 - 400 / 1024 - 5.90 - 0.33) * GIB
    assert once.streamed_bytes[0] == once.streamed_bytes[1] == pytest.approx(model.weights_bytes - kept, abs=0.02 * GIB)
    assert by_page.streamed_bytes[1] < once.streamed_bytes[0]


def test_a_wrapper_is_not_advised_for_a_model_that_it_cannot_load(
    planning: ModuleType, stated: Any, pack: ModuleType
) -> None:
    """No number at all: a swap of Flux's 57 blocks in WanVideoWrapper is nothing that anyone can set."""
    swap_report = importlib.import_module(f"{pack.__name__}.headroom.core.swap_report").swap_report
    stated()
    flux = preset(planning, "diffusion", "Flux.1 dev, fp8")
    refused = swap(planning, flux, loader="WanVideoWrapper")
    assert refused.settings == (0, 57, 0, 0)
    report = swap_report(refused, 0.0)
    assert (report.level, report.title, report.figure) == ("info", "This loader does not load this model", "n/a")
    assert "WanVideoWrapper loads Wan models alone, and this is Flux.1 dev." in report.as_text()
    assert report.facts["refused"] == "WanVideoWrapper loads Wan models alone, and this is Flux.1 dev."
    assert swap(planning, flux, loader="ComfyUI").refused == ""
