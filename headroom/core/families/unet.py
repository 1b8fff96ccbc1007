"""UNets: Stable Diffusion 1 and 2, SDXL and what is made from them, Stable Video Diffusion, Stable Cascade.

Sources: comfy/model_detection.py 0.30.0 (detect_unet_config, unet_config_from_diffusers_unet) and
comfy/supported_models.py 0.30.0.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from .common import DETECTION, FP16_FIRST, LATENTS, NO_FP16
from .identity import Value
from .index import Header
from .reading import Choose, Dim, Not, Signature
from .rows import Architecture, Family, Memory, Stack

SD15, SDXL = LATENTS["SD15"], LATENTS["SDXL"]
SD_FINETUNES = "the finetune, and eps from v prediction"
XL_FINETUNES = "the finetune; eps from v prediction where the file has no v_pred key"


def depths(header: Header, side: str, number: int) -> int:
    """Transformer layers in one block of a UNet."""
    return header.count(f"{side}.{number}.1.transformer_blocks.")


def read_unet(header: Header) -> Mapping[str, Value]:
    """What the host's classes of UNets are told apart by, from the encoder half.

    The host gives a block a depth only where it holds a residual block, so the first convolution and the downsamplers
    are left out.
    """
    blocks = [n for n in range(header.count("input_blocks.")) if header.has(f"input_blocks.{n}.0.in_layers.0.weight")]
    deep = [depths(header, "input_blocks", n) for n in blocks]
    first = next((n for n, depth in zip(blocks, deep) if depth), None)
    at = f"input_blocks.{first}.1."
    proj = header.shape(f"{at}proj_in.weight")
    whole = header.index.tensors.keys()
    return {
        "transformer_depth": tuple(deep),
        "context_dim": None if first is None else header.length(f"{at}transformer_blocks.0.attn2.to_k.weight", 1),
        "use_linear_in_transformer": proj is not None and len(proj) == 2,
        "use_temporal_attention": first is not None
        and (
            header.has(f"{at}time_stack.0.attn1.to_q.weight") or header.has(f"{at}time_mix_blocks.0.attn1.to_q.weight")
        ),
        # These two stand beside the model in its checkpoint, so a UNet alone never has them.
        "cc_projection": whole >= {"cc_projection.weight", "cc_projection.bias"},
        "playground": whole >= {"edm_mean", "edm_std"},
    }


def read_diffusers_unet(header: Header) -> Mapping[str, Value]:
    """The same from the names of diffusers, where blocks are grouped by resolution."""
    deep: list[int] = []
    context: int | None = None
    for block in range(header.count("down_blocks.")):
        attentions = header.count(f"down_blocks.{block}.attentions.")
        for n in range(attentions):
            at = f"down_blocks.{block}.attentions.{n}.transformer_blocks."
            deep.append(header.count(at))
            context = header.length(f"{at}0.attn2.to_k.weight", 1) or context
        if not attentions:
            deep += [0] * header.count(f"down_blocks.{block}.resnets.")
    sizes = (*(header.length("conv_in.weight", axis) for axis in (0, 1)), tuple(deep))
    adm = header.length("{class_embedding,add_embedding}.linear_1.weight", 1)
    shape = DIFFUSERS_SHAPES.get((sizes[0], context, adm, sizes[1], sizes[2]))
    return {"transformer_depth": tuple(deep), "context_dim": context, "shape": shape}


def _when(width: int, context: int | None, adm: int | None, **more: Any) -> dict[str, Any]:
    found = {"model_channels": width, "context_dim": context, "adm_in_channels": adm, "use_temporal_attention": False}
    return {**found, "use_linear_in_transformer": context != 768, **more}


def _family(id_: str, name: str, when: Mapping[str, Any], memory: float = 1.0, **more: Any) -> Family:
    filled = {"latent": SD15, "undetermined": SD_FINETUNES, "dtypes": FP16_FIRST, **more}
    return Family(id=id_, name=name, memory=Memory(memory), when=when, **filled)


def _xl(id_: str, name: str, depth: tuple[int, ...], **more: Any) -> Family:
    when = _when(320, 2048, 2816, transformer_depth=depth, **more)
    other = (("playground", True, LATENTS["SDXL_Playground_2_5"]),)
    return _family(id_, name, when, 0.8, latent=SDXL, undetermined=XL_FINETUNES, other_latents=other)


_VIDEO = {"model_channels": 320, "in_channels": 8, "context_dim": 1024, "use_temporal_attention": True}
_VIDEO |= {"use_linear_in_transformer": True, "transformer_depth": (1, 1, 1, 1, 1, 1, 0, 0)}

FAMILIES = (
    _family(
        "LotusD",
        "Lotus depth and normals",
        {k: v for k, v in _when(320, 1024, 4, in_channels=4).items() if k != "context_dim"},
    ),
    _family(
        "Stable_Zero123",
        "Stable Zero123",
        _when(320, 768, None, in_channels=8, cc_projection=True),
        2.0,
        undetermined="",
    ),
    _family(
        "SD15_instructpix2pix", "InstructPix2Pix (SD 1.5)", _when(320, 768, None, in_channels=8, cc_projection=False)
    ),
    _family("SD15", "Stable Diffusion 1.5", _when(320, 768, None, in_channels=Not(8))),
    _family("SD20", "Stable Diffusion 2", _when(320, 1024, None)),
    _family("SD21UnclipL", "Stable Diffusion 2.1 unCLIP (L)", _when(320, 1024, 1536)),
    _family("SD21UnclipH", "Stable Diffusion 2.1 unCLIP (H)", _when(320, 1024, 2048)),
    _xl("SDXL_instructpix2pix", "InstructPix2Pix (SDXL)", (0, 0, 2, 2, 10, 10), in_channels=8),
    _family(
        "SDXLRefiner",
        "SDXL refiner",
        _when(384, 1280, 2560, transformer_depth=(0, 0, 4, 4, 4, 4, 0, 0)),
        latent=SDXL,
        undetermined="the finetune",
    ),
    _xl("SDXL", "SDXL", (0, 0, 2, 2, 10, 10), in_channels=Not(8)),
    _xl("SSD1B", "SSD-1B (SDXL)", (0, 0, 2, 2, 4, 4)),
    _xl("KOALA_700M", "KOALA 700M (SDXL)", (0, 2, 5)),
    _xl("KOALA_1B", "KOALA 1B (SDXL)", (0, 2, 6)),
    _xl("Segmind_Vega", "Segmind Vega (SDXL)", (0, 0, 1, 1, 2, 2)),
    _family(
        "SD_X4Upscaler",
        "Stable Diffusion x4 upscaler",
        _when(256, 1024, None, in_channels=7),
        latent=LATENTS["SD_X4"],
        undetermined="",
    ),
    _family("SV3D_u", "Stable Video 3D, orbit", {**_VIDEO, "adm_in_channels": 256}, 2.0, undetermined=""),
    _family("SV3D_p", "Stable Video 3D, camera path", {**_VIDEO, "adm_in_channels": 1280}, 2.0, undetermined=""),
    _family(
        "SVD_img2vid",
        "Stable Video Diffusion",
        {**_VIDEO, "adm_in_channels": 768},
        2.0,
        undetermined="the 14 from the 25 frame version",
    ),
)

UNET = Architecture(
    id="unet",
    name="Stable Diffusion UNet",
    sign=Signature(keys=("input_blocks.0.0.weight",), lacks=("zero_convs.0.0.weight",)),
    facts={
        "model_channels": Dim("input_blocks.0.0.weight", 0),
        "in_channels": Dim("input_blocks.0.0.weight", 1),
        "out_channels": Dim("out.2.weight", 0, default=4),
        "adm_in_channels": Dim("label_emb.0.0.weight", 1, default=None),
    },
    reader=read_unet,
    stacks=(
        Stack("input_blocks.", same=False),
        Stack("middle_block.", same=False, needed=False),
        Stack("output_blocks.", same=False),
    ),
    parts=("time_embed", "input_blocks", "output_blocks", "out"),
    traces=("input_blocks.#.#.in_layers.#.weight", "output_blocks.#.#.in_layers.#.weight"),
    hidden="model_channels",
    families=FAMILIES,
    source=DETECTION,
)

#: (model_channels, context_dim, adm_in_channels, in_channels, transformer_depth) of UNets in diffusers' names: the host
#: knows these sizes and no others, and a class of it takes them. Its two ControlNet shapes have no class and are left
#: out.
DIFFUSERS_SHAPES: Mapping[tuple[Any, ...], str] = {
    (320, 1024, 4, 4, (1, 1, 1, 1, 1, 1, 0, 0)): "LotusD",
    (384, 1280, 2560, 4, (0, 0, 4, 4, 4, 4, 0, 0)): "SDXLRefiner",
    (320, 2048, 2816, 4, (0, 0, 2, 2, 10, 10)): "SDXL",
    (320, 2048, 2816, 9, (0, 0, 2, 2, 10, 10)): "SDXL",
    (320, 2048, 2816, 8, (0, 0, 2, 2, 10, 10)): "SDXL_instructpix2pix",
    (320, 2048, 2816, 4, (0, 0, 2, 2, 4, 4)): "SSD1B",
    (320, 2048, 2816, 4, (0, 0, 1, 1, 2, 2)): "Segmind_Vega",
    (320, 2048, 2816, 4, (0, 2, 5)): "KOALA_700M",
    (320, 2048, 2816, 4, (0, 2, 6)): "KOALA_1B",
    (320, 1024, None, 4, (1, 1, 1, 1, 1, 1, 0, 0)): "SD20",
    (320, 1024, None, 4, (1, 1, 1)): "SD20",
    (320, 1024, 1536, 4, (1, 1, 1, 1, 1, 1, 0, 0)): "SD21UnclipL",
    (320, 1024, 2048, 4, (1, 1, 1, 1, 1, 1, 0, 0)): "SD21UnclipH",
    (320, 768, None, 4, (1, 1, 1, 1, 1, 1, 0, 0)): "SD15",
    (320, 768, None, 9, (1, 1, 1, 1, 1, 1, 0, 0)): "SD15",
    (320, 768, None, 4, (0, 1, 1)): "SD15",
}

DIFFUSERS_UNET = Architecture(
    id="unet/diffusers",
    name="Stable Diffusion UNet",
    sign=Signature(
        keys=("conv_in.weight", "down_blocks.0.resnets.0.conv1.weight"),
        lacks=("controlnet_cond_embedding.conv_in.weight",),
    ),
    facts={
        "model_channels": Dim("conv_in.weight", 0),
        "in_channels": Dim("conv_in.weight", 1),
        "adm_in_channels": Dim("{class_embedding,add_embedding}.linear_1.weight", 1, default=None),
    },
    reader=read_diffusers_unet,
    stacks=(
        Stack("down_blocks.", same=False),
        Stack("mid_block.resnets.", "side", same=False, needed=False),
        Stack("up_blocks.", same=False),
    ),
    parts=("time_embedding", "down_blocks", "up_blocks", "conv_norm_out", "conv_out"),
    traces=("down_blocks.#.resnets.#.time_emb_proj.weight", "up_blocks.#.resnets.#.time_emb_proj.weight"),
    hidden="model_channels",
    families=tuple(replace(row, when={"shape": row.id}) for row in FAMILIES if row.id in DIFFUSERS_SHAPES.values()),
    source="comfy/model_detection.py 0.30.0, unet_config_from_diffusers_unet",
    style="diffusers",
)

_CASCADE = {"undetermined": "the finetune", "memory": Memory(2.0)}

CASCADE = Architecture(
    id="cascade",
    name="Stable Cascade",
    sign=Signature(keys=("clf.1.weight",)),
    facts={
        "stable_cascade_stage": Choose((("c", ("clip_txt_mapper.weight",)), ("b", ("clip_mapper.weight",))), None),
        "c_cond": Dim("{clip_txt_mapper,clip_mapper}.weight", 0),
    },
    stacks=(Stack("down_blocks.", same=False), Stack("up_blocks.", same=False)),
    parts=("embedding", "down_blocks", "up_blocks", "clf"),
    traces=("down_blocks.#.#.channelwise.#.weight", "up_blocks.#.#.channelwise.#.weight"),
    hidden="c_cond",
    families=(
        Family(
            "Stable_Cascade_C",
            "Stable Cascade, stage C",
            LATENTS["SC_Prior"],
            dtypes=NO_FP16,
            when={"stable_cascade_stage": "c"},
            **_CASCADE,
        ),
        Family(
            "Stable_Cascade_B",
            "Stable Cascade, stage B",
            LATENTS["SC_B"],
            dtypes=FP16_FIRST,
            when={"stable_cascade_stage": "b"},
            **_CASCADE,
        ),
    ),
    source=DETECTION,
)

ARCHITECTURES = (UNET, DIFFUSERS_UNET, CASCADE)
