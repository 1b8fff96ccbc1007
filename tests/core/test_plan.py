"""A whole plan: the stated card, loaders, the switch of models, what to change, and cards side by side."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from core.test_blocks import tensor

from headroom.core import needs
from headroom.core.activation import ActivationNeed, Step
from headroom.core.budget import Stage, budget
from headroom.core.component import Component, component, component_of
from headroom.core.families.identity import Identity
from headroom.core.largest import Largest
from headroom.core.link import Link
from headroom.core.needs import Models, Run
from headroom.core.plan.as_json import plan_json, tiers_json
from headroom.core.plan.ask import Ask
from headroom.core.plan.assumptions import assumptions
from headroom.core.plan.card import Card
from headroom.core.plan.choices import Variant, best_variant, better, choose, variants_of
from headroom.core.plan.stages import Outcome, Setup, judge, setup_budgets, swap_plans
from headroom.core.plan.tiers import make_tiers
from headroom.core.plan.whole import Plan, make_plan
from headroom.core.plan.words import choice_words, decode_words, loader_words, run_words, swap_words
from headroom.core.tensorinfo import ModelFile, TensorInfo
from headroom.core.tiles import Tile
from headroom.core.vae_need import VaeNeed

GB = 10**9
GIB = 2**30
MIB = 2**20
RUN = Run(832, 480, 81, cfg=6)
TILED = Stage("Decode", "", 0, GIB, GIB)


@pytest.fixture(autouse=True)
def _stand_ins(monkeypatch: pytest.MonkeyPatch) -> None:
    """Needs that can be worked out by hand: 100 to 200 MiB a prompt and latent frame, the host reserves 300.

    The decode takes 4 to 5 GiB, in tiles 1.
    """

    def activation(identity: Identity, step: Step) -> ActivationNeed:
        if identity.family is None:
            return ActivationNeed(None, None, None, None, 1, 1, "unknown")
        frames, prompts = step.latent[2], 1 if step.cfg == 1 else 2
        at_once = prompts if step.together else 1
        each = frames * step.latent[0] * MIB
        passes = 1 if step.together else prompts
        low, high = at_once * each * 100, at_once * each * 200
        return ActivationNeed(each * 600, each * 300, low, high, passes, prompts, "analysis: stand-in")

    def decode(vae: Any, latent: tuple[int, ...], dtype: str, **options: Any) -> VaeNeed:
        return VaeNeed("decode", dtype, None, 6 * GIB, 4 * GIB, 5 * GIB, 0, False, "measured: stand-in")

    def tile(vae: Any, latent: tuple[int, ...], dtype: str, free_bytes: int, **options: Any) -> VaeNeed | None:
        return VaeNeed("decode", dtype, Tile(64, 16), GIB, GIB, GIB, 0, False, "measured: stand-in")

    monkeypatch.setattr(needs, "activation_need", activation)
    monkeypatch.setattr(needs, "decode_need", decode)
    monkeypatch.setattr(needs, "largest_tile", tile)


def sized(name: str, size: int) -> Component:
    """A model of which nothing but its bytes is known."""
    return component_of(ModelFile(name, "safetensors", {"a": TensorInfo("a", "U8", (size,), size)}))


# --- the card --------------------------------------------------------------------------------------------------------


def test_what_a_card_of_16_gib_offers() -> None:
    """ComfyUI #13598: 15.47 GiB of a 16 GB card; then 0.4 of context and 400 MiB that ComfyUI keeps free."""
    card = Card(16 * GIB)
    assert card.offered_bytes / GIB == pytest.approx(15.47)
    assert card.room_bytes / GIB == pytest.approx(15.47 - 0.4 - 400 / 1024, abs=0.001)
    assert Card(16 * GIB, windows=True).room_bytes / GIB == pytest.approx(15.47 - 0.4 - 700 / 1024, abs=0.001)
    assert card.room_bytes + card.kept_bytes == card.offered_bytes


def test_a_size_that_was_read_is_taken_as_it_is() -> None:
    card = Card(int(11.76 * GIB), reserve_bytes=2 * GIB)
    assert (card.nominal, card.offered_bytes) == (False, int(11.76 * GIB))
    assert card.room_bytes / GIB == pytest.approx(11.76 - 0.4 - 2, abs=0.001)


@pytest.mark.parametrize(
    ("gpu", "dynamic", "pages", "amd"),
    [
        (None, True, True, False),
        ("RTX 3060", True, True, False),
        ("RTX 3060", False, False, False),
        ("Radeon RX 7900 XTX", True, False, True),
        ("Intel Arc B580", True, False, False),
    ],
)
def test_dynamic_vram_is_nvidia_s_alone(gpu: str | None, dynamic: bool, pages: bool, amd: bool) -> None:
    """comfy/cli_args.py 0.30.0: on by itself for NVIDIA only."""
    card = Card(16 * GIB, dynamic=dynamic, gpu=gpu)
    assert (card.streams_by_page, card.amd) == (pages, amd)


# --- loaders ---------------------------------------------------------------------------------------------------------


def test_comfyui_streams_and_wrappers_swap(wan: dict[str, tuple[Component, Component]]) -> None:
    """10 GiB of room: 21 latent frames take 2.05 to 4.1 GiB a prompt, so 5.9 to 7.95 GiB are left for 13.3 of fp8.

    Both prompts would have to fit with half as much again as the host's 12.3 GiB, so they go apart: two passes.
    """
    high = wan["fp8"][0]
    models, setup = Models([high]), Setup(10 * GIB)
    (_, sampling), _ = setup_budgets(models, RUN, setup)
    work = (2100 * MIB, 4200 * MIB)
    assert sampling.streamed_bytes == tuple(high.weights_bytes + each - 10 * GIB for each in work)
    assert judge(models, RUN, setup) == Outcome("streams", sampling.copied_bytes, sampling.copy_seconds)
    assert sampling.copied_bytes == tuple(2 * each for each in sampling.streamed_bytes or ())
    assert swap_plans(models, RUN, setup) == ()
    (swap,) = swap_plans(models, RUN, replace(setup, loader="wan-wrapper"))
    block, rest = high.main_blocks[0], high.outside_bytes
    resident = (10 * GIB - work[1] - rest) // block - 1
    assert (swap.blocks_to_swap, swap.verdict) == (40 - resident, "swap")
    assert swap.copied_bytes == (40 - resident) * block * 2 * 2


def test_a_wrapper_has_the_last_word_on_sampling(wan: dict[str, tuple[Component, Component]]) -> None:
    """2 swapped blocks are too few, whatever ComfyUI's own loader would do with that room."""
    models = Models([wan["fp8"][0]])
    assert judge(models, RUN, Setup(10 * GIB)).verdict == "streams"
    assert judge(models, RUN, Setup(10 * GIB, "wan-wrapper", blocks=2)).verdict == "does not fit"
    assert judge(models, RUN, Setup(10 * GIB, "wan-wrapper", blocks=40)).verdict == "streams"


def test_what_a_swap_says(wan: dict[str, tuple[Component, Component]]) -> None:
    """SWAP-01 (ComfyUI-WanVideoWrapper #898): 75 blocks of 40."""
    (swap,) = swap_plans(Models([wan["fp8"][0]]), RUN, Setup(10 * GIB, "wan-wrapper", blocks=75))
    first, second, notice = (line.replace("\u00a0", " ") for line in swap_words(swap))
    assert first == "WanVideoWrapper: blocks_to_swap 40 of 40, prefetch_blocks 0: swap."
    assert second.startswith(
        "0.5 GiB of weights on the card, 13.1 GiB in RAM; a step copies 52.4 GiB, both ways, about"
    )
    assert notice == "75 blocks were asked for and this model has 40: 40 is the most."


# --- what to change --------------------------------------------------------------------------------------------------


def test_a_variant_has_all_models_of_the_run(wan: dict[str, tuple[Component, Component]]) -> None:
    """fp8 is there for high noise alone, so it is no choice."""
    high, low = wan["fp16"]
    found = variants_of([high, low], [[wan["fp8"][0], wan["Q4_K"][0]], [wan["Q4_K"][1]]])
    assert [(one.format, one.models) for one in found] == [("fp16", (high, low)), ("Q4_K", wan["Q4_K"])]
    assert variants_of([high], [[]]) == (Variant((high,)),)


@pytest.mark.parametrize(
    ("room", "taken", "verdict"),
    [
        # 4.1 GiB of work each; one pass of both prompts where 18.5 GiB (1.5 x 12.3) are there, and then 8.2.
        (40, "fp16", "resident"),
        (22, "fp8", "resident"),
        (12, "Q4_K", "resident"),
        (10, "Q4_K", "streams"),
        (4, None, None),
    ],
)
def test_the_largest_that_stays_else_what_streams_least(
    room: int, taken: str | None, verdict: str | None, wan: dict[str, tuple[Component, Component]]
) -> None:
    variants = [Variant(pair) for pair in wan.values()]
    found = best_variant(Models(wan["fp16"]), RUN, Setup(room * GIB), variants)
    assert (None if found is None else found[0].models) == (None if taken is None else wan[taken])
    assert (found and found[1].verdict) == verdict


def changes(plan: Plan) -> list[str]:
    """The ids of what to change."""
    return [choice.id for choice in plan.choices]


def asked(wan: dict[str, tuple[Component, Component]], card: float, run: Run, what: str = "fp16") -> Ask:
    """Wan 2.2 with its variants, on a card that leaves this much room."""
    variants = variants_of(wan[what], [[pair[n] for name, pair in wan.items() if name != what] for n in (0, 1)])
    size = int((card + 0.4) * GIB) + 400 * MIB
    return Ask(Models(wan[what]), run, Card(size), variants=variants)


def test_where_all_stays_there_is_nothing_to_change(wan: dict[str, tuple[Component, Component]]) -> None:
    assert changes(make_plan(asked(wan, 40, RUN))) == []


def test_a_run_that_streams_can_stream_less(wan: dict[str, tuple[Component, Component]]) -> None:
    plan = make_plan(asked(wan, 12, RUN))
    assert plan.outcome.verdict == "streams"
    assert changes(plan) == ["quantisation", "cfg"]
    assert choice_words(plan.choices[0], plan) == (
        "Take Wan2.2-T2V-A14B-HighNoise-Q4_K_M.gguf and Wan2.2-T2V-A14B-LowNoise-Q4_K_M.gguf (Q4_K), which are there: "
        "then all of it stays on the card."
    )
    # One pass in place of two: half of what is copied.
    assert plan.choices[1].after.copied_bytes == tuple(size // 2 for size in plan.outcome.copied_bytes or ())


def test_a_run_that_does_not_fit_and_all_that_makes_it_fit(wan: dict[str, tuple[Component, Component]]) -> None:
    """Four at once and 161 frames in 8 GiB: 41 latent frames x 4 take 16 to 32 GiB of work."""
    plan = make_plan(asked(wan, 8, replace(RUN, frames=161, batch=4)))
    assert plan.outcome.verdict == "does not fit"
    assert changes(plan) == ["batch", "frames"]
    assert choice_words(plan.choices[0], plan) == "Batch 1 in place of 4, and run it 4 times: then it may fit."
    # 8 GiB less the 300 MiB of the largest tensor: 9 latent frames of 4 x 200 MiB.
    assert plan.choices[1].run.frames == 33
    assert choice_words(plan.choices[1], plan).startswith("33 frames: then it streams ")


def test_tiles_are_told_and_are_no_change(wan: dict[str, tuple[Component, Component]]) -> None:
    """A decode that ComfyUI or VAE Decode (Safe) tiles by itself is nothing "to change, 1."."""
    ask = asked(wan, 4.9, replace(RUN, frames=1, cfg=1), "Q4_K")
    plan = make_plan(ask)
    assert "tiles" not in changes(plan)
    told = decode_words(plan)
    assert told.startswith("The decode is counted in 512 px tiles, overlap 128. VAE Decode (Safe) does so by itself,")
    # comfy/sd.py 0.30.0, VAE.decode: video is tried again in tiles of 256 px, whatever was counted here.
    assert told.endswith(
        "ComfyUI's VAE Decode tries the whole first, and where that runs out of memory again in 256 px tiles."
    )
    assert decode_words(make_plan(asked(wan, 40, RUN))) == ""


def test_on_windows_no_error_makes_comfyui_tile(wan: dict[str, tuple[Component, Component]]) -> None:
    """NVIDIA's driver moves memory to RAM there instead, and the decode takes an hour."""
    ask = asked(wan, 4.9, replace(RUN, frames=1, cfg=1), "Q4_K")
    told = decode_words(make_plan(replace(ask, card=replace(ask.card, windows=True))))
    assert "which does not come on Windows" in told
    assert "256 px" not in told


def test_pictures_are_tried_again_in_tiles_of_64_latent_pixels(models: Path) -> None:
    """comfy/sd.py 0.30.0, decode_tiled_: 64 x 8 px, in three shapes that are averaged."""
    sdxl = component(models / "checkpoints" / "sd_xl_base_1.0.safetensors")
    plan = Plan(
        Ask(Models([sdxl]), RUN, Card(8 * GIB)),
        (("vae", budget(replace(TILED, note="in 1024 px tiles"), 8 * GIB)),),
        (),
        None,
        Largest(None, None),
        (),
    )
    assert decode_words(plan).endswith("again in 512 px tiles, three times over.")


def test_a_smaller_size_is_one_of_fewer_pixels(wan: dict[str, tuple[Component, Component]]) -> None:
    """1024x464 is wider than 832x832 and has fewer pixels."""
    models = Models([wan["fp16"][0]])
    run = replace(RUN, width=832, height=832, frames=401)
    found = choose(models, run, Setup(8 * GIB), (), Largest(None, (1024, 464)))
    assert [(choice.id, choice.run.width) for choice in found] == [("size", 1024)]


def test_what_counts_as_better() -> None:
    streams = Outcome("streams", (10 * GIB, 10 * GIB), (1.0, 1.0))
    assert better(Outcome("resident", (0, 0), (0.0, 0.0)), streams)
    assert better(Outcome("streams", (7 * GIB, 7 * GIB), (0.7, 0.7)), streams)
    assert not better(Outcome("streams", (7 * GIB, 7 * GIB + 1), (0.7, 0.7)), streams)
    assert not better(Outcome("may not fit", (0, 0), (0.0, 0.0)), streams)
    assert not better(Outcome("unknown", None, None), Outcome("unknown", None, None))


def test_frames_of_a_model_of_pictures_are_neither_counted_nor_repeated(models: Path) -> None:
    """The title said "81 frames" above a sentence that frames are not counted."""
    sdxl = component(models / "checkpoints" / "sd_xl_base_1.0.safetensors")
    ask = Ask(Models([sdxl]), RUN, Card(12 * GIB))
    assert (ask.frames, run_words(ask)) == (1, "832x480, batch 1, cfg 6")
    assert any("frames are not counted" in text for text in assumptions(ask))


# --- cards side by side ----------------------------------------------------------------------------------------------


def test_the_guides_are_quoted_for_their_family_and_their_sizes_alone(
    wan: dict[str, tuple[Component, Component]], models: Path
) -> None:
    sizes = [8 * GIB, 10 * GIB, int(11.76 * GIB), 24 * GIB]
    tiers = make_tiers(Ask(Models(wan["fp16"]), RUN, Card(8 * GIB)), sizes)
    assert [tier.claim for tier in tiers] == ["stills at most", "", "", "full precision, 720p"]
    sdxl = component(models / "checkpoints" / "sd_xl_base_1.0.safetensors")
    unknown = make_tiers(Ask(Models([sized("x", GIB)]), RUN, Card(8 * GIB)), sizes)
    assert {tier.claim for tier in unknown} == {""}
    assert sdxl.identity.architecture != "wan"


def test_each_size_of_card_has_its_own_quantisation(wan: dict[str, tuple[Component, Component]]) -> None:
    ask = asked(wan, 1, RUN)
    tiers = make_tiers(ask, [8 * GIB, 16 * GIB, 24 * GIB, 48 * GIB])
    assert [tier.take and tier.take.format for tier in tiers] == ["Q4_K", "Q4_K", "fp8_e4m3_scaled", "fp16"]
    assert [tier.plan.outcome.verdict for tier in tiers] == ["streams", "streams", "streams", "resident"]
    frames = [tier.plan.largest.frames or 0 for tier in tiers]
    assert frames == sorted(frames)
    assert frames[0] < frames[-1]


# --- for programs and people -----------------------------------------------------------------------------------------


def test_the_json_has_whole_bytes_and_null_for_what_is_not_known(wan: dict[str, tuple[Component, Component]]) -> None:
    plan = make_plan(replace(asked(wan, 12, RUN), ram_bytes=64 * GIB))
    value = json.loads(json.dumps(plan_json(plan)))
    assert value["verdict"] == "streams"
    assert [stage["role"] for stage in value["stages"]] == ["diffusion", "diffusion", "vae"]
    assert value["stages"][0]["weights_bytes"] == wan["fp16"][0].weights_bytes
    assert value["stages"][2]["file"] is None
    assert value["largest"]["width"] % 16 == 0
    assert value["swap"] == []
    assert [one["id"] for one in value["choices"]] == ["quantisation", "cfg"]

    def sizes(item: Any, name: str = "") -> list[Any]:
        if isinstance(item, dict):
            return [each for key, part in item.items() for each in sizes(part, key)]
        if isinstance(item, list):
            return [each for part in item for each in sizes(part, name)]
        return [item] if name.endswith("_bytes") else []

    assert all(size is None or isinstance(size, int) for size in sizes(value))
    unknown = plan_json(make_plan(Ask(Models([sized("x", GIB)]), RUN, Card(8 * GIB))))
    assert unknown["verdict"] == "unknown"
    assert unknown["ram"] is None
    assert unknown["stages"][0]["work_high_bytes"] is None
    assert unknown["stages"][0]["copy_high_seconds"] is None
    assert unknown["largest"] == {"frames": None, "width": None, "height": None}


def test_tiers_have_no_single_card(wan: dict[str, tuple[Component, Component]]) -> None:
    ask = asked(wan, 12, RUN)
    value = json.loads(json.dumps(tiers_json(make_tiers(ask, [8 * GIB, 12 * GIB]), ask)))
    assert value["card"] is None
    assert [tier["card"]["stated_bytes"] for tier in value["tiers"]] == [8 * GIB, 12 * GIB]


@pytest.mark.parametrize(
    ("card", "said"),
    [
        (Card(12 * GIB), "Leave it to dynamic VRAM: set nothing."),
        # 21 latent frames, for which the stand-in lets the host reserve 300 MiB a prompt.
        (Card(12 * GIB, dynamic=False), "It keeps 6.2 GiB free for the work, by its own formula for one prompt."),
        (Card(96 * GIB), "Set nothing: all weights of each stage stay on the card."),
        # SWAP-09 (ComfyUI-WanVideoWrapper #1267): the peak of the decode does not come from the blocks.
        (Card(4 * GIB), "Set nothing: what does not fit is the work of a stage, and no swap of weights lowers that."),
    ],
)
def test_comfyui_s_own_loader_needs_no_setting(
    card: Card, said: str, wan: dict[str, tuple[Component, Component]]
) -> None:
    """FLAG-20 (ComfyUI PR#10783): the host swaps by layer itself."""
    (text,) = loader_words(make_plan(Ask(Models([wan["fp16"][0]]), RUN, card)))
    assert said in text.replace("\u00a0", " ")


def test_what_was_taken_for_granted_is_said(wan: dict[str, tuple[Component, Component]]) -> None:
    ask = Ask(Models(wan["Q4_K"]), replace(RUN, frames=82), Card(12 * GIB), 32 * GIB, link=Link(3, 8))
    text = " ".join(assumptions(ask)).replace("\u00a0", " ")
    assert text.startswith("Programs can have 11.6 GiB of 12 GiB (as in ComfyUI #13598); ComfyUI's context")
    for part in (
        "An NVIDIA card; say --gpu for another.",
        "Sampling computes in fp16, the VAE in bf16.",
        "PCIe 3.0 x8, from pinned memory",
        "take 4.0 GiB of the RAM",
        "GGUF weights stay packed",
        "82 frames are counted as 85",
    ):
        assert part in text
    assert "fp8" not in text
    assert "single pictures" not in text
    assert "All 11.76 GiB of the card" in " ".join(assumptions(replace(ask, card=Card(int(11.76 * GIB))))).replace(
        "\u00a0", " "
    )


def test_a_notice_of_a_file_is_no_finding() -> None:
    tensors = {name: tensor(name, (8, 8)) for name in ("a.0.w", "a.1.w")}
    model = component_of(ModelFile("x", "safetensors", tensors))
    assert not make_plan(Ask(Models([model]), RUN, Card(8 * GIB))).found


def test_weights_that_lie_on_the_card_leave_the_work_too_little(wan: dict[str, tuple[Component, Component]]) -> None:
    """AMD: two fifths of the room are weights whatever the work takes, and a smaller picture is not the only way.

    65 latent frames take up to 12.7 GiB of the 14.7; with 5.9 GiB of weights there are 8.8. 12.7 - 0.8 are 11.9.
    """
    card = Card(16 * GIB, gpu="Radeon RX 7900 XTX")
    (text,) = loader_words(make_plan(Ask(Models([wan["fp16"][0]]), replace(RUN, frames=257), card)))
    assert text.replace("\u00a0", " ") == (
        "ComfyUI loads so many weights that 8.8 GiB are left for the work: start it with --reserve-vram 12, and it "
        "loads fewer and streams the rest."
    )
