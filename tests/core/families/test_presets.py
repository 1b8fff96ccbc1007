"""The presets: their tensors are those of the host's classes, their names those that saved workflows hold.

``HEADROOM_WRITE_PRESETS=1 pytest tests/core/families/test_presets.py`` writes headroom/core/presets/headers.json anew.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from headroom.core.needs import Models, Run, stages
from headroom.core.preset_names import LISTED, WORDS, names
from headroom.core.presets import FORMATS, PRESETS, preset_component, preset_named
from headroom.core.presets.table import HEADERS

MIB = 2**20
DATA = Path(__file__).resolve().parent.parent.parent / "data" / "families"
#: Header -> the case of the corpus it is built from.
SOURCES = {
    "wan-14b-t2v": ("WAN21_T2V", "14b"),
    "wan-14b-i2v": ("WAN21_T2V", "2.2-i2v-14b"),
    "wan-5b": ("WAN22_T2V", "ti2v-5b"),
    "wan-1.3b": ("WAN21_T2V", "1.3b"),
    "ltx-2-19b": ("LTXAV", "19b"),
    "ltxv-2b": ("LTXV", "2b"),
    "hunyuan-video": ("HunyuanVideo", "hyvideo-t-2-cfgdistill"),
    "flux-dev": ("Flux", "dev"),
    "flux2-dev": ("Flux2", "dev"),
    "qwen-image": ("QwenImage", "qwen-image"),
    "z-image": ("ZImage", "turbo-6b"),
    "chroma": ("Chroma", "chroma1"),
    "sdxl-base": ("SDXL", "base-1.0"),
    "sd-1.5": ("SD15", "1.5"),
    "umt5-xxl": ("text_encoders", "umt5-xxl"),
    "t5-xxl": ("text_encoders", "T5_XXL"),
    "clip-l": ("text_encoders", "CLIP_L"),
    "clip-g": ("text_encoders", "CLIP_G"),
    "qwen2.5-vl-7b": ("text_encoders", "QWEN25_7B"),
    "qwen3-4b": ("text_encoders", "QWEN3_4B"),
    "gemma3-12b": ("text_encoders", "GEMMA_3_12B"),
    "mistral-24b-flux2": ("text_encoders", "MISTRAL3_24B_PRUNED_FLUX2"),
    "wan-2.1-vae": ("vaes", "wan-2.1"),
    "wan-2.2-vae": ("vaes", "wan-2.2"),
    "kl-16-vae": ("vaes", "kl-plain"),
    "kl-4-vae": ("vaes", "kl"),
}


@pytest.fixture(scope="session")
def shapes_of(
    build: Callable[..., Any], all_cases: list[Any], vae_names: Callable[..., Any], encoder_names: Callable[..., Any]
) -> Callable[[str], dict[str, tuple[int, ...]]]:
    """The names and shapes of a header as the host builds it."""

    def found(header: str) -> dict[str, tuple[int, ...]]:
        group, case = SOURCES[header]
        if group in ("text_encoders", "vaes"):
            rows = json.loads((DATA / f"{group}.json").read_text("utf-8"))[group]
            row = next(row for row in rows if row["id"] == case)
            made = (vae_names if group == "vaes" else encoder_names)(row)
        else:
            made = build(next(one for one in all_cases if (one.cls, one.id) == (group, case))).names
        return {name: tuple(tensor.shape) for name, tensor in made.items()}

    return found


def folded(shapes: Mapping[str, tuple[int, ...]]) -> list[tuple[str, int | None, list[int]]]:
    """Names with one number for all blocks, where blocks 0 to n-1 all have the tensor in the same shape."""
    rows: dict[str, dict[int, tuple[int, ...]]] = {}
    plain: dict[str, str] = {}
    for name, shape in shapes.items():
        number = re.search(r"(?<=\.)\d+(?=\.)", name)
        if number:
            pattern = f"{name[: number.start()]}#{name[number.end() :]}"
            rows.setdefault(pattern, {})[int(number[0])] = shape
            plain[name] = pattern
    whole = {
        pattern
        for pattern, found in rows.items()
        if len(found) > 1 and set(found) == set(range(len(found))) and len(set(found.values())) == 1
    }
    done: list[tuple[str, int | None, list[int]]] = []
    seen = set()
    for name, shape in shapes.items():
        pattern = plain.get(name)
        if pattern not in whole:
            done.append((name, None, list(shape)))
        elif pattern not in seen:
            seen.add(pattern)
            done.append((pattern, len(rows[pattern]), list(shape)))
    return done


@pytest.mark.parametrize("header", SOURCES)
def test_a_preset_has_the_tensors_of_the_host_s_class(header: str, shapes_of: Callable[[str], Any]) -> None:
    shapes = shapes_of(header)
    if os.environ.get("HEADROOM_WRITE_PRESETS"):
        write(header, folded(shapes))
    rows = json.loads(HEADERS.read_text("utf-8"))[header]
    unfolded = {
        pattern.replace("#", str(number)): tuple(shape)
        for pattern, count, shape in rows
        for number in range(1 if count is None else count)
    }
    assert unfolded == shapes


def write(header: str, rows: list[tuple[str, int | None, list[int]]]) -> None:
    """Puts one header into the file; a tensor per line, so that a change shows as one."""
    found = json.loads(HEADERS.read_text("utf-8")) if HEADERS.is_file() else {}
    found[header] = rows
    kept = {name: found[name] for name in SOURCES if name in found}
    parts = [f"{json.dumps(name)}: [\n" + ",\n".join(json.dumps(row) for row in kept[name]) + "\n]" for name in kept]
    HEADERS.write_text("{\n" + ",\n".join(parts) + "\n}\n", "utf-8")


def test_every_preset_has_a_source_and_every_header_is_used() -> None:
    assert {preset.header for preset in PRESETS} == set(SOURCES) == set(json.loads(HEADERS.read_text("utf-8")))


def test_the_names_that_schemas_ask_for_are_those_of_the_presets() -> None:
    assert {id_: format_.word for id_, format_ in FORMATS.items()} == WORDS
    offered = [name for kind in ("diffusion", "text encoder", "vae") for name in names(kind)]
    assert offered == [preset.name for preset in PRESETS]
    assert len(set(offered)) == len(offered)
    assert sum(len(formats) for *_, formats in LISTED) == len(PRESETS)
    assert preset_named("example: Wan 2.2 14B text to video, fp8") is not None
    assert preset_named("wan2.2_t2v_high_noise_14B_fp8_scaled.safetensors") is None


@pytest.mark.parametrize("preset", PRESETS, ids=lambda preset: preset.name.removeprefix("example: "))
def test_a_preset_is_recognised_and_adds_up(preset: Any) -> None:
    found = preset_component(preset)
    kinds = {"diffusion": "diffusion model", "text encoder": "text encoder", "vae": "vae"}
    assert (found.identity.kind, found.identity.status) == (kinds[preset.kind], "known")
    assert sum(found.main_blocks) + sum(found.vace_blocks) + found.outside_bytes == found.weights_bytes
    assert found.gguf == preset.format.startswith("q")
    if preset.kind == "diffusion":
        assert found.main_blocks
        assert stages(Models([found]), Run(832, 480, 17))[0][1].weights_bytes == found.weights_bytes


@pytest.mark.parametrize(
    ("name", "mib", "within"),
    [
        # ComfyUI's own logs of real files: #13598, #13234, #9223; WanVideoWrapper #1272.
        ("example: Wan 2.2 14B text to video, fp16", 27251.41, 0.001),
        ("example: Wan 2.2 14B text to video, fp8", 13631, 0.005),
        ("example: Qwen-Image, fp8", 19483.95, 0.005),
        ("example: UMT5-XXL (Wan), fp8", 6419, 0.02),
        ("example: Wan 2.1 VAE, bf16", 242.03, 0.001),
        # shared measurements of SDXL's parts: UNet 4897.05, CLIP-L and CLIP-G together 1560.80, VAE 159.56.
        ("example: SDXL base, fp16", 4897.05, 0.001),
        ("example: CLIP-G (SDXL), fp16", 1560.80 - 235.84, 0.001),
        ("example: SDXL VAE, fp16", 159.56, 0.001),
        # v1-5-pruned-emaonly holds 859.5 million parameters in its UNet.
        ("example: SD 1.5, fp16", 859.5e6 * 2 / MIB, 0.001),
    ],
)
def test_a_preset_weighs_what_the_real_file_does(name: str, mib: float, within: float) -> None:
    preset = preset_named(name)
    assert preset is not None
    assert preset_component(preset).weights_bytes / MIB == pytest.approx(mib, rel=within)


@pytest.mark.parametrize(
    ("name", "vocabulary", "width"), [("Qwen3 4B (Z-Image)", 151936, 2560), ("UMT5-XXL (Wan)", 256384, 4096)]
)
def test_token_embeddings_stay_in_sixteen_bits(name: str, vocabulary: int, width: int) -> None:
    """As in ComfyUI's own fp8_scaled text encoders: a table is looked up and never multiplied."""
    preset = preset_named(f"example: {name}, fp8")
    assert preset is not None
    assert preset_component(preset).largest_tensor_bytes == vocabulary * width * 2


def test_a_wrapper_that_joins_its_frames_on_the_card_needs_them_twice() -> None:
    """VAE-39: WanVideoWrapper PR#2042 saved 149,299,200 bytes of 640x480, 81 frames, by streaming them to the CPU."""
    preset = preset_named("example: Wan 2.2 14B text to video, fp8")
    assert preset is not None
    models = Models([preset_component(preset)])
    run = Run(640, 480, 81)
    apart, joined = (dict(stages(models, one))["vae"] for one in (run, replace(run, joined_on_device=True)))
    assert apart.high_bytes is not None
    assert joined.high_bytes is not None
    # 3 channels in bf16, once more while they are joined.
    assert joined.high_bytes - apart.high_bytes >= 149_299_200
