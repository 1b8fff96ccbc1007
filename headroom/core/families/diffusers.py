"""The same models in diffusers' names, as far as the host converts them.

Source: comfy/model_detection.py 0.30.0 (convert_diffusers_mmdit, tried where no other row fits) and the maps in
comfy/utils.py 0.30.0. The facts are those of the row in ComfyUI's names.
"""

from __future__ import annotations

from . import flux, image, image_more
from .identity import Value
from .index import Header
from .reading import Dim, Signature, has
from .rows import Architecture, Stack

CONVERTED = "comfy/model_detection.py 0.30.0, convert_diffusers_mmdit"
_LTX_TIME = "adaln_single.emb.timestep_embedder.linear_1.bias"
_FLUX2_MODULATION = "double_stream_modulation_img.linear.weight"
_DISTILLED = "distilled_guidance_layer.norms.0.weight"
_POOLED = "time_text_embed.text_embedder.linear_1.weight"

AURA = Architecture(
    id="aura/diffusers",
    name="AuraFlow",
    sign=Signature(keys=("joint_transformer_blocks.0.attn.add_k_proj.weight",)),
    facts={
        "max_seq": Dim("pos_embed.pos_embed", 1),
        "cond_seq_dim": Dim("context_embedder.weight", 1),
        "dim": Dim("context_embedder.weight", 0),
    },
    stacks=(
        Stack("joint_transformer_blocks.", usual=(4,)),
        Stack("single_transformer_blocks.", usual=(32,)),
    ),
    parts=("register_tokens", "time_step_proj", "pos_embed", "proj_out", "norm_out"),
    traces=("joint_transformer_blocks.#.attn.add_k_proj.weight",),
    hidden="dim",
    families=image.AURA.families,
    source=CONVERTED,
    style="diffusers",
)

PIXART = Architecture(
    id="pixart/diffusers",
    name="PixArt",
    sign=Signature(keys=(_LTX_TIME, "pos_embed.proj.bias")),
    facts={
        "hidden_size": Dim("pos_embed.proj.weight", 0),
        "model_max_length": Dim("caption_projection.y_embedding", 0, default=None),
        "aspect": has("adaln_single.emb.aspect_ratio_embedder.linear_1.weight"),
    },
    stacks=(Stack("transformer_blocks.", usual=(28, 14)),),
    parts=("adaln_single", "caption_projection", "proj_out", "scale_shift_table"),
    hidden="hidden_size",
    families=image.PIXART.families,
    source=CONVERTED,
    style="diffusers",
)

_Z_IMAGE_FACTS = {
    "dim": Dim("cap_embedder.1.weight", 0),
    "cap_feat_dim": Dim("cap_embedder.1.weight", 1),
    "pixel": has("dec_net.cond_embed.weight"),
}

Z_IMAGE = Architecture(
    id="zimage/diffusers",
    name="Z-Image",
    sign=Signature(
        keys=("noise_refiner.0.attention.norm_k.weight", "cap_embedder.1.weight"),
        sizes=(("cap_embedder.1.weight", 0, 3840),),
    ),
    facts=_Z_IMAGE_FACTS,
    stacks=image_more.Z_IMAGE.stacks,
    parts=("t_embedder",),
    traces=("noise_refiner.#.attention.norm_k.weight", "layers.#.attention.norm_k.weight"),
    hidden="dim",
    families=image_more.Z_IMAGE.families,
    source=CONVERTED,
    style="diffusers",
)


def read_flux(header: Header) -> dict[str, Value]:
    """As ``flux.read_flux``, in diffusers' names."""
    channels = header.length("x_embedder.weight", 1)
    guided = header.has("time_text_embed.guidance_embedder.linear_1.weight")
    return {
        "longcat": not header.has(_POOLED) and header.length("context_embedder.weight", 1) == 3584,
        "task": flux.task_of(guided, None if channels is None else channels // 4, ovis=False),
    }


FLUX = Architecture(
    id="flux/diffusers",
    name="Flux.1",
    sign=Signature(
        keys=("x_embedder.weight", "transformer_blocks.0.attn.norm_k.weight"),
        lacks=(_FLUX2_MODULATION, "controlnet_x_embedder.weight", _DISTILLED),
    ),
    facts={
        "in_channels": Dim("x_embedder.weight", 1, divide=4),
        "hidden_size": Dim("{context_embedder,x_embedder}.weight", 0),
        "context_in_dim": Dim("context_embedder.weight", 1, default=4096),
        "vec_in_dim": Dim(_POOLED, 1, default=None),
        "guidance_embed": has("time_text_embed.guidance_embedder.linear_1.weight"),
    },
    reader=read_flux,
    stacks=(
        Stack("transformer_blocks.", usual=(19, 8, 10, 6)),
        Stack("single_transformer_blocks.", usual=(38, 20, 27)),
    ),
    # The host reads the width from this bias.
    parts=("x_embedder.bias", "context_embedder", "norm_out", "proj_out"),
    traces=("single_transformer_blocks.#.proj_mlp.weight",),
    hidden="hidden_size",
    families=flux.FLUX1.families,
    source=CONVERTED,
    style="diffusers",
)

SD3 = Architecture(
    id="mmdit/diffusers",
    name="Stable Diffusion 3",
    sign=Signature(
        keys=("transformer_blocks.0.attn.add_q_proj.weight", "pos_embed.proj.weight"),
        lacks=("controlnet_blocks.0.weight",),
    ),
    facts={
        "in_channels": Dim("pos_embed.proj.weight", 1),
        "hidden_size": Dim("pos_embed.proj.weight", 0),
        "patch_size": Dim("pos_embed.proj.weight", 2),
        "adm_in_channels": Dim(_POOLED, 1, default=None),
    },
    stacks=(Stack("transformer_blocks.", same=False, usual=(24, 38)),),
    parts=("time_text_embed", "context_embedder", "norm_out", "proj_out"),
    hidden="hidden_size",
    size=image.SD3.size,
    families=image.SD3.families,
    source=CONVERTED,
    style="diffusers",
)


def _not_converted(id_: str, name: str, keys: tuple[str, ...]) -> Architecture:
    """Kin of Flux.1 whose names the host takes for Flux.1's, so that it fails on them or loses half of them."""
    return Architecture(
        id=f"{id_}/diffusers",
        name=f"{name} in diffusers' names",
        sign=Signature(keys=("x_embedder.weight", "transformer_blocks.0.attn.norm_k.weight", *keys)),
        facts={"hidden_size": Dim("x_embedder.weight", 0), "context_in_dim": Dim("context_embedder.weight", 1)},
        stacks=(Stack("transformer_blocks."), Stack("single_transformer_blocks.")),
        parts=("context_embedder", "proj_out"),
        hidden="hidden_size",
        families=(),
        source=CONVERTED,
        style="diffusers",
    )


FLUX2 = _not_converted("flux2", "Flux.2", (_FLUX2_MODULATION,))
CHROMA = _not_converted("chroma", "Chroma", (_DISTILLED,))

ARCHITECTURES = (AURA, PIXART, Z_IMAGE, FLUX, FLUX2, CHROMA, SD3)
