"""More image models: Lumina 2 and Z-Image, PixelDiT, OmniGen 2, Ideogram 4, Ernie and others.

Sources: comfy/model_detection.py 0.30.0 (detect_unet_config) and comfy/supported_models.py 0.30.0.
"""

from __future__ import annotations

from typing import Any

from .common import DETECTION, LATENTS, NO_FP16
from .reading import Dim, Not, Signature, has
from .rows import Architecture, Family, Memory, Stack

NEW_TORCH = "fp16 only with torch 2.7 or newer"
Z_IMAGE_FP16 = "fp16 too, where the values of one norm are small and torch is 2.7 or newer; the header cannot tell"
Z_IMAGE_NAN = "Tongyi-MAI/Z-Image #14, #15"


def _lumina(id_: str, name: str, more: tuple[Family, ...], sizes: Any, parts: tuple[str, ...]) -> Architecture:
    return Architecture(
        id=id_,
        name=name,
        sign=Signature(
            keys=("cap_embedder.1.weight", "noise_refiner.0.attention.k_norm.weight"),
            lacks=("lq_proj.latent_proj.0.weight", "core.pixel_embedder.proj.weight"),
            sizes=(("cap_embedder.1.weight", 0, sizes),),
        ),
        facts={
            "dim": Dim("cap_embedder.1.weight", 0),
            "cap_feat_dim": Dim("cap_embedder.1.weight", 1),
            "pixel": has("dec_net.cond_embed.weight"),
            "omni": has("siglip_embedder.0.weight"),
        },
        stacks=(
            Stack("layers.", usual=(30, 26)),
            Stack("noise_refiner.", "side", usual=(2,)),
            Stack("context_refiner.", "side", usual=(2,)),
        ),
        parts=("x_embedder", "t_embedder", *parts),
        traces=("layers.#.attention.k_norm.weight", "noise_refiner.#.attention.k_norm.weight"),
        remains="Z-Image or Lumina 2",
        hidden="dim",
        families=more,
        source=DETECTION,
    )


Z_IMAGE = _lumina(
    "zimage",
    "Z-Image",
    (
        Family(
            "ZImagePixelSpace",
            "Z-Image in pixel space",
            LATENTS["ZImagePixelSpace"],
            Memory(0.03),
            NO_FP16,
            {"pixel": True},
            dtypes_note=Z_IMAGE_FP16,
            fp16_overflow=Z_IMAGE_NAN,
        ),
        Family(
            "ZImage",
            "Z-Image",
            LATENTS["Flux"],
            Memory(2.8),
            NO_FP16,
            {"pixel": False},
            dtypes_note=Z_IMAGE_FP16,
            fp16_overflow=Z_IMAGE_NAN,
            undetermined="base from turbo, and the finetune",
        ),
    ),
    3840,
    (),
)
LUMINA2 = _lumina(
    "lumina2",
    "Lumina 2",
    (
        Family(
            "Lumina2",
            "Lumina Image 2",
            LATENTS["Flux"],
            Memory(1.4),
            NO_FP16,
            undetermined="the finetune, such as NetaYume and NewBie",
        ),
    ),
    Not(3840),
    ("final_layer",),
)

PID = Architecture(
    id="pid",
    name="PiD",
    sign=Signature(keys=("lq_proj.latent_proj.0.weight",)),
    facts={
        # The host takes the pixel model's names with and without "core.".
        "hidden_size": Dim("{core.,}s_embedder.proj.weight", 0),
        "latent_channels": Dim("lq_proj.latent_proj.0.weight", 1),
        "lq_hidden_dim": Dim("lq_proj.latent_proj.0.weight", 0),
    },
    stacks=tuple(
        Stack(f"{core}{stem}", usual=usual, needed=False)
        for core in ("", "core.")
        for stem, usual in (("patch_blocks.", (14,)), ("pixel_blocks.", (2,)))
    ),
    parts=("lq_proj.gate_modules",),
    traces=("lq_proj.gate_modules.#.content_proj.weight",),
    hidden="hidden_size",
    families=(Family("PiD", "PiD, pixel diffusion decoder", LATENTS["PixelDiTPixel"], Memory(0.04), NO_FP16),),
    source=DETECTION,
)
PIXELDIT = Architecture(
    id="pixeldit",
    name="PixelDiT",
    sign=Signature(keys=("core.pixel_embedder.proj.weight",), lacks=("lq_proj.latent_proj.0.weight",)),
    facts={"hidden_size": Dim("core.s_embedder.proj.weight", 0)},
    stacks=(Stack("core.patch_blocks.", usual=(14,)), Stack("core.pixel_blocks.", usual=(2,))),
    parts=("core.s_embedder", "core.t_embedder", "core.y_embedder", "core.final_layer"),
    traces=("core.pixel_blocks.#.attn.qkv.weight",),
    hidden="hidden_size",
    families=(Family("PixelDiTT2I", "PixelDiT text to image", LATENTS["PixelDiTPixel"], Memory(0.04), NO_FP16),),
    source=DETECTION,
)

_BOOGU_KEY = "double_stream_layers.0.img_instruct_attn.processor.img_to_q.weight"
_OMNI_SIDE = (
    Stack("noise_refiner.", "side", usual=(2,)),
    Stack("ref_image_refiner.", "side", usual=(2,)),
    Stack("context_refiner.", "side", usual=(2,)),
)
_OMNI_PARTS = ("x_embedder", "ref_image_patch_embedder", "image_index_embedding", "time_caption_embed", "norm_out")

OMNIGEN2 = Architecture(
    id="omnigen2",
    name="OmniGen 2",
    sign=Signature(keys=("time_caption_embed.timestep_embedder.linear_1.bias",), lacks=(_BOOGU_KEY,)),
    facts={
        "hidden_size": Dim("x_embedder.weight", 0),
        "text_feat_dim": Dim("time_caption_embed.caption_embedder.0.weight", 0),
    },
    stacks=(Stack("layers.", usual=(32,)), *_OMNI_SIDE),
    parts=_OMNI_PARTS,
    hidden="hidden_size",
    families=(
        Family("Omnigen2", "OmniGen 2", LATENTS["Flux"], Memory(1.95), ("fp16", *NO_FP16), dtypes_note=NEW_TORCH),
    ),
    source=DETECTION,
)
BOOGU = Architecture(
    id="boogu",
    name="Boogu-Image",
    sign=Signature(keys=(_BOOGU_KEY,)),
    facts={
        "hidden_size": Dim("x_embedder.weight", 0),
        "instruction_feat_dim": Dim("time_caption_embed.caption_embedder.0.weight", 0),
    },
    stacks=(Stack("double_stream_layers.", usual=(8,)), Stack("single_stream_layers.", usual=(32,)), *_OMNI_SIDE),
    parts=_OMNI_PARTS,
    traces=("double_stream_layers.#.img_instruct_attn.processor.img_to_q.weight",),
    hidden="hidden_size",
    families=(
        Family("Boogu", "Boogu-Image", LATENTS["Flux"], Memory(2.15), ("fp16", *NO_FP16), dtypes_note=NEW_TORCH),
    ),
    source=DETECTION,
)

IDEOGRAM4 = Architecture(
    id="ideogram4",
    name="Ideogram 4",
    sign=Signature(keys=("embed_image_indicator.weight",)),
    facts={"in_channels": Dim("input_proj.weight", 1), "hidden_size": Dim("input_proj.weight", 0)},
    stacks=(Stack("layers.", usual=(34,)),),
    parts=("llm_cond_norm", "llm_cond_proj", "t_embedding", "adaln_proj", "final_layer"),
    hidden="hidden_size",
    families=(Family("Ideogram4", "Ideogram 4", LATENTS["Flux2"], Memory(11.6), NO_FP16),),
    source=DETECTION,
)

JOYIMAGE = Architecture(
    id="joyimage",
    name="JoyImage",
    sign=Signature(
        keys=(
            "double_blocks.0.attn.img_attn_qkv.weight",
            "double_blocks.0.attn.img_attn_q_norm.weight",
            "condition_embedder.time_embedder.linear_1.weight",
        ),
        sizes=(("img_in.weight", None, 5),),
    ),
    facts={"in_channels": Dim("img_in.weight", 1), "hidden_size": Dim("img_in.weight", 0)},
    stacks=(Stack("double_blocks.", usual=(40,)),),
    parts=("condition_embedder", "proj_out"),
    traces=("double_blocks.#.attn.img_attn_q_norm.weight",),
    hidden="hidden_size",
    families=(Family("JoyImage", "JoyImage", LATENTS["Wan21"], Memory(1.8), NO_FP16),),
    source=DETECTION,
)

ERNIE = Architecture(
    id="ernie",
    name="Ernie-Image",
    sign=Signature(keys=("layers.0.mlp.linear_fc2.weight",)),
    facts={"hidden_size": Dim("layers.0.mlp.linear_fc2.weight", 0)},
    stacks=(Stack("layers.", usual=(36,)),),
    parts=("x_embedder", "text_proj", "time_embedding", "final_linear"),
    traces=("layers.#.mlp.linear_fc2.weight",),
    hidden="hidden_size",
    families=(
        Family("ErnieImage", "Ernie-Image", LATENTS["Flux2"], Memory(10.0), NO_FP16, undetermined="base from turbo"),
    ),
    source=DETECTION,
)

ARCHITECTURES = (Z_IMAGE, LUMINA2, PID, PIXELDIT, OMNIGEN2, BOOGU, IDEOGRAM4, JOYIMAGE, ERNIE)
