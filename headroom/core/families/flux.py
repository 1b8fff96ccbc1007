"""Flux and its kin: Flux.1, Flux.2, Chroma, LongCat-Image.

Sources: comfy/model_detection.py 0.30.0 (detect_unet_config) and comfy/supported_models.py 0.30.0.
"""

from __future__ import annotations

from .common import BF16_FIRST, DETECTION, LATENTS, NO_FP16
from .identity import Value
from .index import Header
from .reading import Dim, Not, Signature, has
from .rows import Architecture, Family, Memory, Stack

KEY_NORM = "double_blocks.0.img_attn.norm.key_norm.{weight,scale}"
DISTILLED = "distilled_guidance_layer.norms.0.{weight,scale}"
DISTILLED_TOO = ("distilled_guidance_layer.0.norms.0.{weight,scale}", DISTILLED)
FLUX2_MODULATION = "double_stream_modulation_img.lin.weight"
FLUX = LATENTS["Flux"]
FLUX_FINETUNES = "the finetune: dev, Krea, Kontext and others have the same shapes"

_PARTS = ("txt_in", "time_in", "final_layer")


def _double(usual: tuple[int, ...]) -> Stack:
    return Stack("double_blocks.", usual=usual)


def _single(usual: tuple[int, ...]) -> Stack:
    return Stack("single_blocks.", usual=usual)


_FLUX_STACKS = (_double((19, 8, 10, 6)), _single((38, 20, 27)))


#: What the input channels of a guided model are for: Canny and Depth take the control picture beside the latent.
GUIDED = {16: "Flux.1 dev", 32: "Flux.1 Canny or Depth"}


def task_of(guided: bool, in_channels: int | None, ovis: bool) -> str:
    """The model's name by what it takes."""
    if guided:
        return GUIDED.get(in_channels or 0, "Flux.1 with more input channels")
    return "Ovis-Image" if ovis else "Flux.1 schnell"


def read_flux(header: Header) -> dict[str, Value]:
    """LongCat-Image is told from Ovis-Image and schnell by the width of its text and by having no pooled text; Ovis by
    its gated feed-forward."""
    pooled = header.has("vector_in.in_layer.weight")
    channels = header.length("img_in.weight", 1)
    return {
        "longcat": not pooled and header.length("txt_in.weight", 1) == 3584,
        "task": task_of(
            header.has("guidance_in.in_layer.weight"),
            None if channels is None else channels // 4,
            header.has("double_blocks.0.img_mlp.gate_proj.weight"),
        ),
    }


FAMILIES = (
    Family(
        "FluxInpaint",
        "Flux.1 Fill",
        FLUX,
        Memory(3.1),
        NO_FP16,
        when={"guidance_embed": True, "in_channels": 96},
        undetermined="the finetune",
    ),
    Family(
        "Flux",
        "{task}",
        FLUX,
        Memory(3.1),
        BF16_FIRST,
        when={"guidance_embed": True, "in_channels": Not(96)},
        undetermined=FLUX_FINETUNES,
    ),
    Family(
        "LongCatImage",
        "LongCat-Image",
        FLUX,
        Memory(2.5),
        BF16_FIRST,
        when={"guidance_embed": False, "longcat": True},
        undetermined="the finetune",
    ),
    Family(
        "FluxSchnell",
        "{task}",
        FLUX,
        Memory(3.1),
        BF16_FIRST,
        when={"guidance_embed": False, "longcat": False},
        undetermined="the finetune",
    ),
)

FLUX1 = Architecture(
    id="flux",
    name="Flux.1",
    sign=Signature(
        keys=(KEY_NORM, "img_in.weight"),
        lacks=(*DISTILLED_TOO, FLUX2_MODULATION, "txt_in.individual_token_refiner.blocks.0.norm1.weight"),
    ),
    facts={
        # A patch is 2x2, so the input has four times the channels of the latent.
        "in_channels": Dim("img_in.weight", 1, divide=4),
        "hidden_size": Dim("{txt_in,img_in}.weight", 0),
        "context_in_dim": Dim("txt_in.weight", 1, default=4096),
        "vec_in_dim": Dim("vector_in.in_layer.weight", 1, default=None),
        "guidance_embed": has("guidance_in.in_layer.weight"),
    },
    reader=read_flux,
    stacks=_FLUX_STACKS,
    parts=_PARTS,
    traces=("double_blocks.#.img_attn.qkv.weight", "single_blocks.#.linear1.weight"),
    remains="Flux.1 or one of its kin",
    hidden="hidden_size",
    families=FAMILIES,
    source=DETECTION,
)

FLUX2 = Architecture(
    id="flux2",
    name="Flux.2",
    sign=Signature(keys=(KEY_NORM, "img_in.weight", FLUX2_MODULATION), lacks=DISTILLED_TOO),
    facts={
        "in_channels": Dim("img_in.weight", 1),
        "hidden_size": Dim("{txt_in,img_in}.weight", 0),
        "context_in_dim": Dim("txt_in.weight", 1, default=4096),
        "guidance_embed": has("guidance_in.in_layer.weight"),
    },
    stacks=(_double((8, 5)), _single((48, 20, 24))),
    parts=_PARTS,
    traces=("double_stream_modulation_img.lin.weight", "single_stream_modulation.lin.weight"),
    hidden="hidden_size",
    size=("hidden_size", {6144: "dev", 3072: "klein 4B", 4096: "klein 9B"}),
    families=(
        Family(
            "Flux2",
            "Flux.2 {size}",
            LATENTS["Flux2"],
            Memory(3.1 * 4, per="hidden_size", over=2604),
            BF16_FIRST,
            undetermined="the finetune, and base from distilled",
        ),
    ),
    source=DETECTION,
)


def _chroma(id_: str, name: str, sign: Signature, family: Family, parts: tuple[str, ...]) -> Architecture:
    return Architecture(
        id=id_,
        name=name,
        sign=sign,
        facts={
            "hidden_size": Dim("txt_in.weight", 0),
            "context_in_dim": Dim("txt_in.weight", 1),
            **({"patch_size": Dim("img_in_patch.weight", -1)} if id_ == "chroma_radiance" else {}),
        },
        stacks=(_double((19,)), _single((38,)), Stack("nerf_blocks.", "side", needed=id_ == "chroma_radiance")),
        parts=("txt_in", "distilled_guidance_layer", *parts),
        traces=("distilled_guidance_layer.layers.#.in_layer.weight",)
        if id_ == "chroma"
        else ("nerf_blocks.#.norm.weight",),
        remains="Chroma or Chroma Radiance" if id_ == "chroma" else "",
        hidden="hidden_size",
        families=(family,),
        source=DETECTION,
    )


_NERF = "nerf_blocks.0.norm.{weight,scale}"

CHROMA = _chroma(
    "chroma",
    "Chroma",
    Signature(keys=(KEY_NORM, "distilled_guidance_layer.{,0.}norms.0.{weight,scale}"), lacks=(_NERF,)),
    Family("Chroma", "Chroma", FLUX, Memory(3.2), BF16_FIRST, undetermined="the finetune, and base from flash"),
    ("img_in", "final_layer"),
)
RADIANCE = _chroma(
    "chroma_radiance",
    "Chroma Radiance",
    Signature(keys=(KEY_NORM, "distilled_guidance_layer.{,0.}norms.0.{weight,scale}", _NERF)),
    Family("ChromaRadiance", "Chroma Radiance", LATENTS["ChromaRadiance"], Memory(0.044), BF16_FIRST),
    ("img_in_patch", "nerf_image_embedder"),
)

#: Flux.1 comes last: its blocks are in all of them.
ARCHITECTURES = (FLUX2, RADIANCE, CHROMA, FLUX1)
