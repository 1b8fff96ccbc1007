"""Free Memory's words, with figures written by hand: what was really freed, and why the rest was not."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from headroom.core.choices import ALL, CACHE, NOT_CONNECTED, OUTPUTS
from headroom.core.free_report import free_report
from headroom.core.freeing import DeviceMemory, Freed, ModelFate, Moment
from headroom.core.report import Report, Table, Text

GIB, MIB = 2**30, 2**20
FLUX = ModelFate("Flux (flux1-dev.safetensors)", "cuda:0", "unloaded", 12 * GIB, 12 * GIB, 0)


def card(
    tensors: float = 0, cache: float = 0, pages: float = 0, free: float | None = None, name: str = "cuda:0"
) -> Any:
    total = None if free is None else 24 * GIB
    left = None if free is None else int(free * GIB)
    return DeviceMemory(name, int(tensors * GIB), int(cache * GIB), int(pages * GIB), left, total)


def freed(
    before: Any = (), after: Any = (), *models: ModelFate, choice: str = ALL, ram: Any = (8, 8), **others: Any
) -> Freed:
    """``ram`` in GiB before and after."""
    first, last = (None if value is None else int(value * GIB) for value in ram)
    return Freed(choice, Moment(first, before), Moment(last, after), models, **others)


def report(*args: Any, **others: Any) -> Report:
    return free_report(freed(*args, **others), 0.4, 1700000000.0)


def texts(shown: Report) -> list[str]:
    return [block.text for block in shown.blocks if isinstance(block, Text)]


def tables(shown: Report) -> list[Table]:
    return [block for block in shown.blocks if isinstance(block, Table)]


def test_the_sentence_of_the_design() -> None:
    shown = report([card(12.2, 0.7)], [card(0.2)], FLUX)
    assert (shown.level, shown.title) == ("ok", "Freed 12.7 of 12.9\u00a0GiB VRAM; 0.2 is still held")
    assert (shown.figure, shown.made_at) == ("400.0\u00a0ms", 1700000000.0)


@pytest.mark.parametrize(
    ("before", "after", "title"),
    [
        ([card(6)], [card()], "Freed 6.0 of 6.0\u00a0GiB VRAM"),
        ([card(6)], [card(0.04)], "Freed 6.0 of 6.0\u00a0GiB VRAM"),
        ([card(6)], [card(6)], "No VRAM was freed; 6.0\u00a0GiB is still held"),
        ([card(6)], [card(5.97)], "No VRAM was freed; 6.0\u00a0GiB is still held"),
        ([card(6)], [card(7)], "No VRAM was freed; 7.0\u00a0GiB is still held"),
        ([card()], [card()], "Nothing to free: this process holds no VRAM"),
        ([card(1, 1, 10)], [card(1)], "Freed 11.0 of 12.0\u00a0GiB VRAM; 1.0 is still held"),
        (
            [card(6), card(4, name="cuda:1")],
            [card(), card(1, name="cuda:1")],
            "Freed 9.0 of 10.0\u00a0GiB VRAM; 1.0 is still held",
        ),
    ],
)
def test_what_was_freed_and_what_is_still_held_add_up_to_what_was_held(before: Any, after: Any, title: str) -> None:
    assert report(before, after).title == title


@pytest.mark.parametrize(
    ("ram", "title", "level"),
    [
        ((8.0, 7.75), "Freed 256.0\u00a0MiB RAM", "ok"),
        ((8.0, 5.5), "Freed 2.5\u00a0GiB RAM", "ok"),
        ((8.0, 8.0), "No RAM was freed", "info"),
        ((8.0, 7.99), "No RAM was freed", "info"),
        ((8.0, 8.5), "No RAM was freed", "info"),
        ((None, 8.0), "No RAM was freed", "info"),
    ],
)
def test_without_a_card_the_title_is_about_ram(ram: Any, title: str, level: str) -> None:
    shown = report(ram=ram)
    assert (shown.title, shown.level) == (title, level)


def test_the_memory_table_gives_before_after_and_freed() -> None:
    """MEM-39: ComfyUI #15274: the cache that can be freed is told apart."""
    memory = tables(report([card(6, 2)], [card(1)], ram=(8, 13.5)))[0]
    assert memory.columns == ("Memory", "Before, GiB", "After, GiB", "Freed, GiB")
    assert [tuple(row.cells) for row in memory.rows] == [
        ("VRAM cuda:0", "8.0", "1.0", "7.0"),
        ("RAM", "8.0", "13.5", "\u22125.5"),
    ]
    assert memory.rows[0].note == "of it torch cache 2.0 before, 0.0 after"


def test_ram_that_grew_by_weights_from_vram_is_explained() -> None:
    assert "RAM grew by 5.5\u00a0GiB: the weights that left VRAM are kept there for the next use." in texts(
        report([card(6)], [card()], FLUX, ram=(8, 13.5))
    )


@pytest.mark.parametrize(
    ("model", "note", "done"),
    [
        (FLUX, "unloaded; a cached node output keeps its weights in RAM", True),
        (ModelFate("T5", "cpu", "unloaded", 9, 9, 0), "unloaded; it runs on the CPU, so its weights stay in RAM", True),
        (ModelFate("VAE", "cuda:0", "kept", 9, 9, 9, "vae"), "kept: connected to vae", False),
        (ModelFate("VAE", "cuda:0", "kept", 9, 9, 9, "anything", passes=True), "kept: it passes through", False),
        (
            ModelFate("Flux", "cuda:0", "parked", 9, 9, 9),
            "unloaded, but `--highvram` or `--gpu-only` keeps its weights on cuda:0",
            False,
        ),
        (ModelFate("Old", "cuda:0", "gone", 9, 9, 0), "gone: nothing held it any more", True),
        (
            ModelFate("Old", "cuda:0", "dead", 9, None, 9),
            "not freed: ComfyUI lost its patcher while something still holds the weights",
            False,
        ),
        (ModelFate("Old", "cuda:0", "still loaded", 9, 9, 9), "not freed: ComfyUI still lists it as loaded", False),
        (
            ModelFate("Flux", "cuda:0", "unloaded", 9, 9, 0, pinned_bytes=3 * GIB),
            "unloaded; a cached node output keeps its weights in RAM; 3.0\u00a0GiB of RAM stays pinned",
            True,
        ),
    ],
)
def test_each_model_says_what_became_of_it(model: ModelFate, note: str, done: bool) -> None:
    table = tables(report([card(6)], [card(6)], model))[1]
    assert table.columns == ("Model", "Size, GiB", "Loaded now, GiB")
    assert (table.rows[0].note, table.rows[0].done) == (note, done)


@pytest.mark.parametrize(
    ("fate", "level"), [("dead", "warn"), ("still loaded", "warn"), ("kept", "ok"), ("gone", "ok")]
)
def test_only_what_should_have_gone_and_did_not_is_a_warning(fate: Any, level: str) -> None:
    assert report([card(6)], [card(1)], ModelFate("X", "cuda:0", fate, 9, 9, 0)).level == level


def test_a_long_list_of_models_is_cut_off_with_a_count() -> None:
    shown = report([card(6)], [card()], *[FLUX] * 11)
    assert len(tables(shown)[1].rows) == 8
    assert texts(shown)[0] == "and 3 more"


def test_where_no_model_was_loaded_it_says_so() -> None:
    assert "No model was loaded." in texts(report([card(1)], [card(1)]))
    assert "No model was loaded." not in texts(report([card(1)], [card(1)], choice=CACHE))


def test_fragments_below_a_quarter_of_a_gib_are_not_worth_a_word() -> None:
    """MEM-41: ComfyUI #2982, #9121, PR #11154."""
    assert not any("fragmentation" in text for text in texts(report([card(1, 3)], [card(1, 0.2)])))
    assert any("fragmentation" in text for text in texts(report([card(1, 3)], [card(1, 0.25)])))


def test_what_kept_models_hold_is_not_blamed_on_other_nodes() -> None:
    kept = ModelFate("VAE", "cuda:0", "kept", GIB, GIB, GIB, "vae")
    assert not any("other nodes" in text for text in texts(report([card(3)], [card(1)], kept, choice=NOT_CONNECTED)))
    assert "1.5\u00a0GiB on cuda:0 is in tensors of other nodes, which only they can free." in texts(
        report([card(3)], [card(2.5)], kept, choice=NOT_CONNECTED)
    )


def test_other_programs_are_told_and_not_touched() -> None:
    shown = report([card(6, free=15)], [card(1, free=20)])
    assert shown.blocks[-1] == Text(
        "Other programs and the driver hold 3.0\u00a0GiB on cuda:0; they are not touched.", muted=True
    )
    assert not any("Other programs" in text for text in texts(report([card(6)], [card(1)])))


def test_vram_that_cannot_be_read_is_not_claimed() -> None:
    """MEM-29: ComfyUI #5860."""
    nothing = Moment(8 * GIB, (), ("privateuseone:0",))
    shown = free_report(Freed(ALL, nothing, nothing, (FLUX,)), 0.1, 1.0)
    assert (shown.level, shown.title) == ("info", "Done; how much VRAM that freed is not known")


def test_the_host_cache_is_promised_for_later_and_not_counted() -> None:
    shown = report([card(6)], [card()], FLUX, choice=OUTPUTS, drops_outputs=True)
    assert shown.title == "Freed 6.0 of 6.0\u00a0GiB VRAM"
    assert texts(shown)[0] == (
        "ComfyUI drops the cached outputs of all nodes when this prompt has ended. The RAM they hold is not in these "
        "figures, and the next run computes every node again."
    )


def test_the_facts_are_plain_json_in_bytes() -> None:
    facts = json.loads(json.dumps(report([card(6, 2, free=12)], [card(1, free=20)], FLUX).as_json()))["facts"]
    assert (facts["vram_before_bytes"], facts["vram_after_bytes"], facts["vram_freed_bytes"]) == (
        8 * GIB,
        GIB,
        7 * GIB,
    )
    assert facts["devices"][0]["before"] == {
        "device": "cuda:0",
        "tensors_bytes": 6 * GIB,
        "cache_bytes": 2 * GIB,
        "pages_bytes": 0,
        "free_bytes": 12 * GIB,
        "total_bytes": 24 * GIB,
        "held_bytes": 8 * GIB,
        "others_bytes": 4 * GIB,
    }
    assert facts["models"][0]["fate"] == "unloaded"
    assert facts["models"][0]["kept_by"] is None


def test_unknown_is_null_and_never_0() -> None:
    facts = report(ram=(None, 8)).facts
    assert facts["ram_before_bytes"] is None
    assert facts["ram_freed_bytes"] is None
    assert facts["vram_before_bytes"] is None


def test_texts_keep_the_wording_rules() -> None:
    every = [
        report([card(6, 2, free=12)], [card(1, 1, free=12)], FLUX, choice=OUTPUTS, drops_outputs=True, ram=(8, 13)),
        report([card(6)], [card(6)], ModelFate("X", "cuda:0", "dead", 9, None, 9)),
        report(choice=CACHE),
        report(choice=OUTPUTS),
    ]
    for shown in every:
        for line in shown.as_text().splitlines():
            assert not re.search(r"!|\bplease\b|\bwe\b|\bour\b|success", line, re.IGNORECASE)
