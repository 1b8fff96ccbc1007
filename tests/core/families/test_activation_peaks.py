"""What lives at the peak of a sampling step: Headroom's range against the host's own classes.

At full size on the meta device, where nothing is computed; and with small models that compute on the CPU.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
import torch
from live_tensors import as_on_a_card, peak_of

from headroom.core.activation import ROWS, Step, activation_need
from headroom.core.families import identify
from headroom.core.families.identity import Identity

DTYPE = torch.float16
Shape = tuple[int, ...]


@dataclass(frozen=True)
class Pass:
    """One forward pass of a class of the host."""

    case: str
    """Class and id of a case in tests/data/families."""
    latent: Shape
    text: Shape
    """(tokens, width) of the text."""
    channels: int | None = None
    """Of the model's input, where that has more than the latent."""
    time: str = "timestep"
    """The host's name for the time's argument."""
    inputs: Mapping[str, Shape] = field(default_factory=dict)
    """Other tensors, without the batch."""
    constants: Mapping[str, Any] = field(default_factory=dict)
    references: tuple[Shape, ...] = ()
    text_tokens: int | None = None
    """Where more than the text goes into its sequence."""
    conds: Mapping[str, tuple[Shape, ...]] = field(default_factory=dict)

    @property
    def model(self) -> tuple[str, str]:
        """Class and id."""
        cls, _, id_ = self.case.partition("/")
        return cls, id_


def flux(case: str, latent: Shape, text: Shape, *others: str, **more: Any) -> Pass:
    """Flux's kin: pooled text and guidance where they have it."""
    inputs = {name: shape for name, shape in (("y", (768,)), ("guidance", ())) if name in others}
    return Pass(case, latent, text, inputs=inputs, constants={"y": None, "guidance": None}, **more)


def unet(case: str, latent: Shape, width: int, pooled: int | None = None, **more: Any) -> Pass:
    """SD's kin."""
    inputs = {"y": (pooled,)} if pooled else {}
    return Pass(case, latent, (77, width), time="timesteps", inputs=inputs, **more)


def wan(case: str, latent: Shape, vision: bool = False, **more: Any) -> Pass:
    """Wan's kin: text by cross-attention, a picture's vision tokens beside it."""
    inputs = {"clip_fea": (257, 1280)} if vision else {}
    return Pass(case, latent, (512, 4096), inputs={**inputs, **more.pop("inputs", {})}, **more)


VIDEO = (1, 16, 21, 60, 104)
SQUARE = (1, 16, 128, 128)
HALF = (1, 128, 64, 64)
HUNYUAN = {"y": (768,), "guidance": ()}
P2 = {"time": "timesteps", "inputs": {"padding_mask": (1, 128, 128)}, "constants": {"fps": None}}
COSMOS = {"time": "timesteps", "inputs": {"padding_mask": (1, 704, 1280)}, "constants": {"fps": None}}
CASCADE_C = {"clip_text": (77, 1280), "clip_text_pooled": (1, 1280), "clip_img": (1, 768), "sca": (), "crp": ()}
CASCADE_B = {"effnet": (16, 24, 24), "clip": (1, 1280), "sca": ()}
HIDREAM = {"y": (2048,), "encoder_hidden_states_llama3": (32, 128, 4096)}
COUNT = {"time": "timesteps", "constants": {"num_tokens": 128}}

PASSES = (
    unet("SD15/1.5", (1, 4, 64, 64), 768),
    unet("SD15/1.5", (2, 4, 96, 128), 768),
    unet("LotusD/lotus-d", (1, 4, 96, 96), 1024, 4),
    unet("SDXL/base-1.0", (1, 4, 128, 128), 2048, 2816),
    unet("SDXL/base-1.0", (2, 4, 64, 64), 2048, 2816),
    unet("SSD1B/ssd-1b", (1, 4, 128, 128), 2048, 2816),
    unet("Segmind_Vega/vega", (1, 4, 128, 128), 2048, 2816),
    unet("KOALA_1B/koala-1b", (1, 4, 128, 128), 2048, 2816),
    unet("KOALA_700M/koala-700m", (1, 4, 128, 128), 2048, 2816),
    unet("SDXLRefiner/refiner-1.0", (1, 4, 128, 128), 1280, 2560),
    unet("Stable_Zero123/stable-zero123", (1, 4, 32, 32), 768, channels=8),
    flux("Flux/dev", SQUARE, (512, 4096), "y", "guidance"),
    flux("Flux/dev", (2, 16, 64, 64), (256, 4096), "y", "guidance"),
    flux("Flux/dev", SQUARE, (512, 4096), "y", "guidance", references=(SQUARE,)),
    flux("Flux/canny-or-depth", SQUARE, (512, 4096), "y", "guidance", channels=32),
    flux("FluxInpaint/fill", SQUARE, (512, 4096), "y", "guidance", channels=96),
    flux("FluxSchnell/schnell", SQUARE, (256, 4096), "y"),
    flux("FluxSchnell/ovis-image", SQUARE, (256, 2048)),
    flux("LongCatImage/longcat-image", SQUARE, (512, 3584)),
    flux("Chroma/chroma1", SQUARE, (512, 4096), "guidance"),
    flux("ChromaRadiance/radiance", (1, 3, 1024, 1024), (512, 4096), "guidance"),
    flux("Flux2/dev", HALF, (512, 15360), "guidance"),
    flux("Flux2/klein-4b", HALF, (512, 7680)),
    wan("WAN21_T2V/14b", VIDEO),
    wan("WAN21_T2V/1.3b", VIDEO),
    wan("WAN21_T2V/2.2-i2v-14b", VIDEO, channels=36),
    wan("WAN22_T2V/ti2v-5b", (1, 48, 31, 44, 80)),
    wan("WAN21_I2V/14b", VIDEO, vision=True, channels=36),
    wan("WAN21_FunControl2V/14b", VIDEO, vision=True, channels=48),
    wan("WAN21_Camera/14b", VIDEO, vision=True, channels=32),
    wan("WAN22_Camera/14b", VIDEO, channels=36),
    wan("WAN21_FlowRVS/1.3b", VIDEO),
    wan("WAN22_Animate/14b", VIDEO, vision=True, channels=36, inputs={"pose_latents": (16, 20, 60, 104)}),
    wan("WAN22_WanDancer/14b", VIDEO, vision=True, channels=36),
    wan("WAN21_HuMo/17b", VIDEO, channels=36),
    wan("WAN22_S2V/14b", VIDEO, inputs={"reference_latent": (16, 1, 60, 104)}, references=((1, 16, 1, 60, 104),)),
    wan(
        "WAN21_SCAIL/14b",
        VIDEO,
        vision=True,
        channels=20,
        inputs={"pose_latents": (20, 21, 30, 52), "reference_latent": (20, 1, 60, 104)},
        references=((1, 16, 1, 60, 104),),
        conds={"pose_latents": ((1, 20, 21, 30, 52),)},
    ),
    wan(
        "WAN21_SCAIL2/14b",
        VIDEO,
        vision=True,
        channels=20,
        inputs={
            "pose_latents": (20, 21, 30, 52),
            "reference_latent": (20, 1, 60, 104),
            "ref_mask_latents": (28, 22, 60, 104),
            "sam_latents": (28, 21, 30, 52),
        },
        references=((1, 16, 1, 60, 104),),
        conds={"pose_latents": ((1, 20, 21, 30, 52),)},
    ),
    wan("WAN21_Vace/14b", VIDEO, inputs={"vace_context": (1, 96, 21, 60, 104)}, constants={"vace_strength": [1.0]}),
    Pass("HunyuanVideo/hyvideo-t-2-cfgdistill", (1, 16, 17, 60, 90), (256, 4096), inputs=HUNYUAN),
    Pass("HunyuanVideoI2V/i2v", (1, 16, 17, 60, 90), (256, 4096), channels=33, inputs=HUNYUAN),
    Pass("HunyuanVideoSkyreelsI2V/skyreels-v1", (1, 16, 17, 60, 90), (256, 4096), channels=32, inputs=HUNYUAN),
    Pass("HunyuanImage21/2.1-17b", (1, 64, 64, 64), (256, 3584), inputs={"txt_byt5": (64, 1472)}, text_tokens=320),
    Pass("HunyuanImage21Refiner/refiner", (1, 64, 1, 64, 64), (256, 3584), 128, inputs={"guidance": ()}),
    Pass(
        "HunyuanVideo15/1.5-8.3b",
        (1, 32, 21, 30, 53),
        (256, 3584),
        65,
        inputs={"clip_fea": (729, 1152), "txt_byt5": (64, 1472)},
        text_tokens=1049,
    ),
    Pass("SD3/3.5-large", SQUARE, (154, 4096), time="timesteps", inputs={"y": (2048,)}),
    Pass("SD3/3-medium", SQUARE, (154, 4096), time="timesteps", inputs={"y": (2048,)}),
    Pass("SD3/3.5-medium", SQUARE, (154, 4096), time="timesteps", inputs={"y": (2048,)}),
    Pass("QwenImage/qwen-image", (1, 16, 1, 164, 164), (256, 3584)),
    Pass("QwenImage/qwen-image", (1, 16, 1, 128, 128), (512, 3584), references=((1, 16, 1, 128, 128),)),
    Pass("MageFlow/mage-flow", HALF, (256, 2560)),
    Pass("JoyImage/joyimage", (1, 16, 1, 128, 128), (256, 4096)),
    Pass("ZImage/turbo-6b", SQUARE, (128, 2560), **COUNT),
    Pass("ZImage/turbo-6b", (2, 16, 64, 64), (128, 2560), **COUNT),
    Pass("ZImagePixelSpace/pixel-space", (1, 3, 1024, 1024), (128, 2560), **COUNT),
    Pass("Lumina2/image-2.0-2.6b", SQUARE, (128, 2304), **COUNT),
    Pass("AuraFlow/0.3", (1, 4, 128, 128), (256, 2048)),
    Pass("PixArtSigma/xl-2-1024", (1, 4, 128, 128), (300, 4096), time="timesteps"),
    Pass("Omnigen2/omnigen2", SQUARE, (128, 2048), **COUNT),
    Pass("Boogu/boogu-image", SQUARE, (128, 4096), **COUNT),
    Pass("ErnieImage/8b", HALF, (256, 3072), time="timesteps"),
    Pass("Lens/lens-3.8b", HALF, (256, 11520)),
    Pass("Ideogram4/ideogram-4", HALF, (256, 53248), time="timesteps"),
    Pass("Krea2/krea-2", SQUARE, (256, 30720), time="timesteps"),
    Pass("Kandinsky5Image/image-lite-6b", SQUARE, (256, 3584), inputs={"y": (768,)}),
    Pass("Kandinsky5/pro-19b", (1, 16, 16, 64, 96), (256, 3584), 33, inputs={"y": (768,)}),
    Pass("HiDream/i1", SQUARE, (128, 4096), time="t", inputs=HIDREAM),
    Pass("HiDream/i1", (2, 16, 64, 64), (128, 4096), time="t", inputs=HIDREAM),
    Pass("PixelDiTT2I/1024-pixels", (1, 3, 1024, 1024), (300, 2304), time="timesteps"),
    Pass(
        "PiD/for-flux-latents",
        (1, 3, 1024, 1024),
        (300, 2304),
        time="timesteps",
        inputs={"lq_latent": (16, 32, 32), "degrade_sigma": ()},
    ),
    Pass("Stable_Cascade_C/full", (1, 16, 24, 24), (77, 1280), time="r", inputs=CASCADE_C),
    Pass("Stable_Cascade_C/lite", (1, 16, 48, 32), (77, 1280), time="r", inputs=CASCADE_C),
    Pass("Stable_Cascade_B/full", (1, 4, 256, 256), (77, 1280), time="r", inputs=CASCADE_B),
    Pass("Stable_Cascade_B/lite", (2, 4, 384, 256), (77, 1280), time="r", inputs=CASCADE_B),
    Pass("CosmosT2V/7b", (1, 16, 16, 88, 160), (512, 1024), **COSMOS),
    Pass("CosmosT2V/14b", (1, 16, 4, 88, 160), (512, 1024), **COSMOS),
    Pass("CosmosI2V/7b", (1, 16, 16, 88, 160), (512, 1024), 17, **COSMOS),
    Pass("LTXV/2b", (1, 128, 13, 22, 40), (128, 4096), constants={"attention_mask": None}),
    Pass("CosmosT2IPredict2/14b", (1, 16, 1, 128, 128), (512, 1024), **P2),
    Pass("Anima/2b", (1, 16, 1, 128, 128), (512, 1024), **P2),
    Pass("CogVideoX_T2V/2b", (1, 16, 13, 60, 90), (226, 4096)),
    Pass("CogVideoX_T2V/5b", (1, 16, 13, 60, 90), (226, 4096)),
    Pass("CogVideoX_T2V/1.5-5b", (1, 16, 14, 60, 90), (226, 4096)),
    Pass("CogVideoX_I2V/5b-i2v", (1, 16, 13, 60, 90), (226, 4096), 32),
)
#: Families of a row whose classes take inputs that are made by nodes; their blocks are those of the row's others.
LIKE_OTHERS = {
    "SD20": "SD15",
    "SD21UnclipL": "SD15",
    "SD21UnclipH": "SD15",
    "SD15_instructpix2pix": "SD15",
    "SDXL_instructpix2pix": "SDXL",
    "SV3D_u": "SVD_img2vid",
    "SV3D_p": "SVD_img2vid",
    "PixArtAlpha": "PixArtSigma",
    "HunyuanDiT1": "HunyuanDiT",
    "HunyuanVideo15_SR_Distilled": "HunyuanVideo15",
    "CosmosI2VPredict2": "CosmosT2IPredict2",
    "CogVideoX_Inpaint": "CogVideoX_T2V",
}


def arguments(run: Pass, device: str, dtype: torch.dtype = DTYPE) -> tuple[Any, dict[str, Any]]:
    """The model's input and what else its forward takes."""

    def empty(*shape: int) -> Any:
        return torch.zeros((run.latent[0], *shape), dtype=dtype, device=device)

    given: dict[str, Any] = {run.time: empty(), "context": empty(*run.text), **run.constants}
    given.update({name: empty(*shape) for name, shape in run.inputs.items()})
    if run.references and "reference_latent" not in run.inputs:
        given["ref_latents"] = [empty(*shape[1:]) for shape in run.references]
    channels = run.channels or run.latent[1]
    return empty(channels, *run.latent[2:]), given


def live(module: Any, run: Pass, one_kernel: bool) -> int:
    """Live bytes at the peak of a pass on the meta device.

    Which tokens an expert gets nobody knows there: of HiDream's four, two for each token, an even share is a fourth of
    all choices, and the most that one can get is half.
    """
    given, others = arguments(run, "meta")
    with as_on_a_card(norms_are_one_kernel=one_kernel), torch.device("meta"):
        return peak_of(lambda: module(given, **others), picked=0.25 if one_kernel else 0.5).peak_bytes


def step_of(run: Pass) -> Step:
    """The same pass as Headroom sees it: one prompt."""
    text = run.text[0] if run.text_tokens is None else run.text_tokens
    return Step(run.latent, "fp16", text_tokens=text, references=run.references, conds=run.conds)


@pytest.mark.parametrize("run", PASSES, ids=lambda run: f"{run.case}-{'x'.join(map(str, run.latent))}")
def test_the_range_holds_what_lives(run: Pass, all_cases: Any, build: Callable[[Any], Any]):
    made = build(next(case for case in all_cases if (case.cls, case.id) == run.model))
    need = activation_need(identify(made.tensors, made.case.metadata), step_of(run))
    assert need.low_bytes is not None
    assert need.high_bytes is not None
    least, most = live(made.module, run, True), live(made.module, run, False)
    # The low end is what lives where a norm is one kernel, the high end leaves room over what lives where it is not.
    assert 0.6 * least < need.low_bytes <= least
    assert max(least, most) < need.high_bytes < 2.3 * max(least, most)


def test_svd_works_on_all_its_frames_at_once(all_cases: Any, build: Callable[[Any], Any]):
    made = build(next(case for case in all_cases if case.cls == "SVD_img2vid"))
    tensor = lambda *shape: torch.empty(shape, dtype=DTYPE, device="meta")  # noqa: E731
    with as_on_a_card(), torch.device("meta"):
        counted = peak_of(
            lambda: made.module(
                tensor(14, 8, 72, 128),
                timesteps=tensor(14),
                context=tensor(14, 1, 1024),
                y=tensor(14, 768),
                num_video_frames=14,
                image_only_indicator=tensor(1),
            )
        )
    need = activation_need(identify(made.tensors), Step((14, 4, 72, 128), "fp16"))
    assert need.low_bytes is not None
    assert need.high_bytes is not None
    assert 0.95 * counted.peak_bytes < need.low_bytes <= counted.peak_bytes < need.high_bytes


def test_every_family_of_a_row_is_counted_or_said_to_be_like_one_that_is():
    elsewhere = {"SVD_img2vid", "SD_X4Upscaler", "GenmoMochi", "HunyuanDiT"}
    elsewhere |= {"LTXAV", "MiniMaxH3", "HiDreamO1", "SeedVR2"}
    counted = {run.model[0] for run in PASSES} | elsewhere
    named = {family for row in ROWS for family in row.families}
    assert named - counted == LIKE_OTHERS.keys()
    for family, like in LIKE_OTHERS.items():
        assert any(family in row.families and like in row.families for row in ROWS)


@pytest.mark.parametrize(
    ("case", "given"),
    [
        (
            "SD_X4Upscaler/x4-upscaler",
            {
                "x": (1, 7, 128, 128),
                "timesteps": (1,),
                "context": (1, 77, 1024),
                "y": (1,),
                "latent": (1, 4, 128, 128),
            },
        ),
        (
            "GenmoMochi/preview",
            {
                "x": (1, 12, 5, 60, 106),
                "timestep": (1,),
                "context": (1, 256, 4096),
                "attention_mask": (1, 256),
                "latent": (1, 12, 5, 60, 106),
            },
        ),
        (
            "HunyuanDiT/1.2-dit-g-2",
            {
                "x": (1, 4, 128, 128),
                "t": (1,),
                "context": (1, 77, 1024),
                "text_embedding_mask": (1, 77),
                "encoder_hidden_states_t5": (1, 256, 2048),
                "text_embedding_mask_t5": (1, 256),
                "image_meta_size": (1, 6),
                "latent": (1, 4, 128, 128),
            },
        ),
    ],
)
def test_models_with_inputs_of_their_own(
    case: str, given: Mapping[str, Shape], all_cases: Any, build: Callable[[Any], Any]
):
    whole = {"attention_mask", "text_embedding_mask", "text_embedding_mask_t5"} | ({"y"} if "X4" in case else set())
    made = build(next(found for found in all_cases if f"{found.cls}/{found.id}" == case))
    tensors = {
        name: torch.empty(shape, dtype=torch.int64 if name in whole else DTYPE, device="meta")
        for name, shape in given.items()
        if name != "latent"
    }
    with as_on_a_card(), torch.device("meta"):
        counted = peak_of(lambda: made.module(**tensors)).peak_bytes
    text = given["context"][1] if "mask" in str(given) and "t5" not in str(given) else 0
    need = activation_need(identify(made.tensors), Step(given["latent"], "fp16", text_tokens=text))
    assert need.low_bytes is not None
    assert need.high_bytes is not None
    assert 0.85 * counted < need.low_bytes <= counted < need.high_bytes < 2 * counted


def test_ltx_2_with_its_sound(all_cases: Any, build: Callable[[Any], Any]):
    made = build(next(case for case in all_cases if case.cls == "LTXAV"))
    picture, sound = (1, 128, 16, 22, 40), (1, 8, 126, 16)
    given = [torch.empty(shape, dtype=DTYPE, device="meta") for shape in (picture, sound)]
    more = {
        "timestep": torch.empty(1, dtype=DTYPE, device="meta"),
        "context": torch.empty(1, 1024, 7680, dtype=DTYPE, device="meta"),
    }
    with as_on_a_card(), torch.device("meta"):
        counted = peak_of(lambda: made.module(given, attention_mask=None, **more)).peak_bytes
    need = activation_need(identify(made.tensors), Step(picture, "fp16", streams=(sound,)))
    assert need.low_bytes is not None
    assert need.high_bytes is not None
    assert 0.9 * counted < need.low_bytes <= counted < need.high_bytes < 2 * counted


@pytest.mark.parametrize("frames", [12, 37])
def test_minimax_h3_with_its_sound(frames: int, all_cases: Any, build: Callable[[Any], Any]):
    """Its layout and its times are read as values, so that they are on the CPU."""
    made = build(next(case for case in all_cases if case.cls == "MiniMaxH3"))
    picture, sound, text = (1, 24, frames, 48, 84), (1, 32, 2, 207), (1, 256, 5376)
    given = [torch.empty(shape, dtype=DTYPE, device="meta") for shape in (picture, sound)]
    context = torch.empty(text, dtype=DTYPE, device="meta")
    with as_on_a_card():
        counted = peak_of(lambda: made.module(given, torch.zeros(1), context)).peak_bytes
    need = activation_need(identify(made.tensors), Step(picture, "bf16", streams=(sound,)))
    assert need.low_bytes is not None
    assert need.high_bytes is not None
    assert 0.9 * counted < need.low_bytes <= counted < need.high_bytes < 1.5 * counted


@pytest.mark.parametrize("case", ["3b", "7b-separate-weights"])
def test_seedvr2_in_its_windows(
    case: str, all_cases: Any, build: Callable[[Any], Any], monkeypatch: pytest.MonkeyPatch
):
    """The windows' sizes are read as values, so that they are made on the CPU."""
    made = build(next(found for found in all_cases if (found.cls, found.id) == ("SeedVR2", case)))
    latent = (1, 16, 2, 90, 160)
    picture, condition = (torch.empty((1, channels, *latent[2:]), dtype=DTYPE, device="meta") for channels in (16, 17))
    time, text = (torch.empty(shape, dtype=DTYPE, device="meta") for shape in ((1,), (1, 58, 5120)))
    as_tensor = torch.as_tensor
    monkeypatch.setattr(torch, "as_tensor", lambda data, **_: as_tensor(data))
    options = {"cond_or_uncond": [0]}
    with as_on_a_card():
        counted = peak_of(
            lambda: made.module(picture, time, text, condition=condition, transformer_options=options)
        ).peak_bytes
    need = activation_need(identify(made.tensors), Step(latent, "fp16"))
    assert need.low_bytes is not None
    assert need.high_bytes is not None
    assert 0.9 * counted < need.low_bytes <= counted < need.high_bytes < 1.4 * counted


@pytest.mark.parametrize(("side", "text"), [(2048, 128), (1024, 128), (1024, 512)])
def test_hidream_o1_in_its_first_step_and_later(side: int, text: int, all_cases: Any, build: Callable[[Any], Any]):
    """The first step keeps the text's keys and values of all layers; with none to keep it is like the others."""
    made = build(next(case for case in all_cases if case.cls == "HiDreamO1"))
    picture = torch.empty(1, 3, side, side, dtype=DTYPE, device="meta")
    ids = torch.zeros((1, text), dtype=torch.int64, device="meta")
    places = torch.zeros((1, 3, text + side * side // 1024), dtype=torch.int64, device="meta")

    def counted(kept: int) -> int:
        made.module.clear_kv_cache()
        given = {"input_ids": ids, "position_ids": places, "ar_len": kept}
        time = torch.empty(1, dtype=DTYPE, device="meta")
        with as_on_a_card(), torch.device("meta"):
            return peak_of(lambda: made.module(picture, time, **given)).peak_bytes

    need = activation_need(identify(made.tensors), Step((1, 3, side, side), "bf16", text_tokens=text))
    assert need.low_bytes is not None
    assert need.high_bytes is not None
    later, first = counted(0), counted(text - 1)
    made.module.clear_kv_cache()
    assert 0.9 * later < need.low_bytes <= later < first < need.high_bytes < 1.5 * first


# --- with values, on the CPU ------------------------------------------------------------------------------------------

#: What is smaller than in the case, the width and the feed-forward that result, two latents, and a pass of that class.
SMALL: tuple[tuple[dict[str, Any], int, dict[str, int], tuple[Shape, Shape], Pass], ...] = (
    (
        {"model_channels": 64},
        64,
        {},
        ((1, 4, 32, 32), (2, 4, 32, 48)),
        unet("SD15/1.5", (1, 4, 32, 32), 768),
    ),
    (
        {"model_channels": 64, "num_head_channels": 32},
        64,
        {},
        ((1, 4, 32, 32), (2, 4, 32, 48)),
        unet("SDXL/base-1.0", (1, 4, 32, 32), 2048, 2816),
    ),
    (
        {"hidden_size": 256, "num_heads": 2, "depth": 2, "depth_single_blocks": 2},
        256,
        {},
        ((1, 16, 64, 64), (2, 16, 32, 64)),
        flux("Flux/dev", (1, 16, 64, 64), (64, 4096), "y", "guidance"),
    ),
    (
        {"dim": 512, "ffn_dim": 1382, "num_heads": 4, "num_layers": 2},
        512,
        {"ffn_dim": 1382},
        ((1, 16, 5, 32, 32), (1, 16, 3, 64, 48)),
        wan("WAN21_T2V/14b", (1, 16, 5, 32, 32)),
    ),
    (
        {"num_attention_heads": 2, "num_layers": 2},
        256,
        {},
        ((1, 16, 1, 64, 64), (2, 16, 1, 32, 64)),
        Pass("QwenImage/qwen-image", (1, 16, 1, 64, 64), (64, 3584)),
    ),
    (
        {"dim": 768, "n_heads": 6, "n_kv_heads": 6, "n_layers": 2, "n_refiner_layers": 1},
        768,
        {},
        ((1, 16, 64, 64), (2, 16, 32, 64)),
        Pass("ZImage/turbo-6b", (1, 16, 64, 64), (128, 2560), **COUNT),
    ),
    (
        {"num_attention_heads": 4, "num_layers": 2, "cross_attention_dim": 256},
        256,
        {},
        ((1, 128, 5, 16, 16), (2, 128, 4, 8, 16)),
        Pass("LTXV/2b", (1, 128, 5, 16, 16), (64, 4096), constants={"attention_mask": None}),
    ),
)


@pytest.mark.parametrize(
    ("smaller", "width", "sizes", "latents", "run"), SMALL, ids=lambda value: getattr(value, "case", "")
)
def test_a_small_model_that_computes_stays_in_its_range(
    smaller: dict[str, Any],
    width: int,
    sizes: dict[str, int],
    latents: tuple[Shape, Shape],
    run: Pass,
    all_cases: Any,
    oracle: Any,
):
    """Measured: live tensors on the CPU, ComfyUI 0.30.0, torch's own attention and norms."""
    import comfy.supported_models

    cls, id_ = run.model
    case = next(case for case in all_cases if (case.cls, case.id) == (cls, id_))
    config = getattr(comfy.supported_models, cls)({**case.config, **smaller})
    config.set_inference_dtype(torch.bfloat16, None)
    module = config.get_model({}, "", device=torch.device("cpu")).diffusion_model
    with torch.no_grad():
        for tensor in module.parameters():
            tensor.zero_()
    identity = Identity("diffusion model", "known", cls, family=cls, hidden_size=width, sizes=sizes)
    for latent in latents:
        given, others = arguments(replace(run, latent=latent), "cpu", torch.bfloat16)
        with as_on_a_card(values=True):
            counted = peak_of(lambda given=given, others=others: module(given, **others)).peak_bytes
        need = activation_need(identity, Step(latent, "bf16", text_tokens=run.text[0]))
        assert need.low_bytes is not None
        assert need.high_bytes is not None
        assert need.low_bytes <= counted <= need.high_bytes, latent
