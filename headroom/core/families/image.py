"""Image models that are one architecture each: SD3, AuraFlow, PixArt, HiDream, Qwen-Image and others.

Sources: comfy/model_detection.py 0.30.0 (detect_unet_config) and comfy/supported_models.py 0.30.0.
"""

from __future__ import annotations

from .common import BF16_FIRST, DETECTION, FP16_FIRST, LATENTS, NO_FP16, SUPPORTED
from .flux import KEY_NORM
from .identity import Value
from .index import Header
from .reading import Dim, Signature, has
from .rows import Architecture, Family, Memory, Stack

SD3 = Architecture(
    id="mmdit",
    name="Stable Diffusion 3",
    sign=Signature(keys=("joint_blocks.0.context_block.attn.qkv.weight",)),
    facts={
        "in_channels": Dim("x_embedder.proj.weight", 1),
        "hidden_size": Dim("x_embedder.proj.weight", 0),
        "patch_size": Dim("x_embedder.proj.weight", 2),
        "adm_in_channels": Dim("y_embedder.mlp.0.weight", 1, default=None),
    },
    # The last block has no text half; 3.5 medium has a second attention in the first 13.
    stacks=(Stack("joint_blocks.", same=False, usual=(24, 38)),),
    parts=("x_embedder", "t_embedder", "context_embedder", "final_layer"),
    traces=("joint_blocks.#.context_block.attn.qkv.weight", "joint_blocks.#.x_block.attn.qkv.weight"),
    hidden="hidden_size",
    size=("hidden_size", {1536: "3 or 3.5 medium", 2432: "3.5 large"}),
    families=(
        Family(
            "SD3",
            "Stable Diffusion {size}",
            LATENTS["SD3"],
            Memory(1.6),
            FP16_FIRST,
            when={"in_channels": 16},
            undetermined="the finetune",
        ),
    ),
    source=DETECTION,
)

AURA = Architecture(
    id="aura",
    name="AuraFlow",
    sign=Signature(keys=("double_layers.0.attn.w1q.weight",)),
    facts={
        "max_seq": Dim("positional_encoding", 1),
        "cond_seq_dim": Dim("cond_seq_linear.weight", 1),
        "dim": Dim("cond_seq_linear.weight", 0),
    },
    stacks=(Stack("double_layers.", usual=(4,)), Stack("single_layers.", usual=(32,))),
    parts=("register_tokens", "t_embedder", "init_x_linear", "final_linear", "modF"),
    traces=("double_layers.#.attn.w1q.weight", "single_layers.#.modCX.#.weight"),
    hidden="dim",
    families=(
        Family(
            "AuraFlow",
            "AuraFlow",
            LATENTS["SDXL"],
            Memory(2.0),
            FP16_FIRST,
            when={"cond_seq_dim": 2048},
            undetermined="the version and the finetune",
        ),
    ),
    source=DETECTION,
)

PIXART = Architecture(
    id="pixart",
    name="PixArt",
    # ACE-Step has a layer of that name too.
    sign=Signature(keys=("t_block.1.weight",), lacks=("genre_embedder.weight",)),
    facts={
        "hidden_size": Dim("x_embedder.proj.weight", 0),
        "model_max_length": Dim("y_embedder.y_embedding", 0, default=None),
        "aspect": has("ar_embedder.mlp.0.weight"),
    },
    stacks=(Stack("blocks.", usual=(28, 14)),),
    parts=("x_embedder", "t_embedder", "y_embedder", "final_layer"),
    traces=("blocks.#.cross_attn.kv_linear.weight",),
    hidden="hidden_size",
    families=(
        Family("PixArtAlpha", "PixArt-alpha", LATENTS["SD15"], Memory(0.5), FP16_FIRST, {"aspect": True}),
        Family(
            "PixArtSigma",
            "PixArt-sigma",
            LATENTS["SDXL"],
            Memory(0.5),
            FP16_FIRST,
            {"aspect": False},
            undetermined="the resolution; sigma from the 512 pixel alpha",
        ),
    ),
    source=DETECTION,
)

HIDREAM = Architecture(
    id="hidream",
    name="HiDream I1",
    sign=Signature(keys=("caption_projection.0.linear.weight",)),
    facts={"hidden_size": Dim("caption_projection.0.linear.weight", 0)},
    stacks=(
        Stack("double_stream_blocks.", usual=(16,)),
        Stack("single_stream_blocks.", usual=(32,)),
    ),
    parts=("t_embedder", "p_embedder", "x_embedder", "final_layer"),
    traces=("double_stream_blocks.#.block.ff_t.w1.weight", "single_stream_blocks.#.block.attn1.to_q.bias"),
    hidden="hidden_size",
    families=(
        Family(
            "HiDream",
            "HiDream I1 or E1",
            LATENTS["Flux"],
            Memory(2.0),
            NO_FP16,
            undetermined="full from dev and fast, and I1 from E1",
        ),
    ),
    source=DETECTION,
)

HIDREAM_O1 = Architecture(
    id="hidream_o1",
    name="HiDream O1",
    sign=Signature(keys=("t_embedder1.mlp.0.weight", "x_embedder.proj1.weight")),
    facts={"hidden_size": Dim("t_embedder1.mlp.0.weight", 0)},
    stacks=(Stack("language_model.layers.", usual=(36,)), Stack("visual.blocks.", "side", usual=(27,))),
    parts=("visual", "language_model", "final_layer2"),
    hidden="hidden_size",
    families=(
        Family(
            "HiDreamO1",
            "HiDream O1",
            LATENTS["HiDreamO1Pixel"],
            Memory(0.033),
            NO_FP16,
            fp16_overflow=f"{SUPPORTED}: the language model overflows in fp16",
            undetermined="full from dev",
        ),
    ),
    source=DETECTION,
)

LENS = Architecture(
    id="lens",
    name="Lens",
    sign=Signature(
        keys=("transformer_blocks.0.attn.norm_added_q.weight", "transformer_blocks.0.img_mlp.w1.weight"),
    ),
    facts={
        "in_channels": Dim("img_in.weight", 1),
        "inner_dim": Dim("img_in.weight", 0),
        "enc_hidden_dim": Dim("txt_norm.{0.weight,weight}", 0),
    },
    stacks=(Stack("transformer_blocks.", usual=(48,)),),
    parts=("time_text_embed", "txt_in", "norm_out", "proj_out"),
    traces=("transformer_blocks.#.img_mlp.w1.weight",),
    hidden="inner_dim",
    families=(
        Family(
            "Lens",
            "Lens",
            LATENTS["Flux2"],
            Memory(4.0),
            NO_FP16,
            fp16_overflow=f"{SUPPORTED}: fp16 causes NaNs",
        ),
    ),
    source=DETECTION,
)

_MAGE = (("txt_norm.weight", 0, 2560), ("proj_out.weight", 0, 128))

MAGE = Architecture(
    id="mage_flow",
    name="Mage-Flow",
    sign=Signature(
        keys=("txt_norm.weight", "proj_out.weight"),
        lacks=("transformer_blocks.0.img_mlp.w1.weight", KEY_NORM),
        sizes=_MAGE,
    ),
    facts={"in_channels": Dim("img_in.weight", 1), "inner_dim": Dim("img_in.weight", 0)},
    stacks=(Stack("transformer_blocks.", usual=(12,)),),
    parts=("time_text_embed", "txt_in", "norm_out"),
    hidden="inner_dim",
    families=(Family("MageFlow", "Mage-Flow", LATENTS["Flux2"], Memory(6.5), NO_FP16),),
    source=DETECTION,
)


def read_qwen(header: Header) -> dict[str, Value]:
    """Whether the model makes pictures in layers."""
    layered = header.has("time_text_embed.addition_t_embedding.weight")
    return {"layered": layered, "task": "Layered" if layered else ""}


QWEN = Architecture(
    id="qwen_image",
    name="Qwen-Image",
    sign=Signature(
        keys=("txt_norm.weight",),
        lacks=("transformer_blocks.0.img_mlp.w1.weight", "controlnet_blocks.0.weight", KEY_NORM),
        unless=MAGE.sign,
    ),
    facts={
        "in_channels": Dim("img_in.weight", 1),
        "inner_dim": Dim("img_in.weight", 0),
        "edit_2511": has("__index_timestep_zero__"),
    },
    reader=read_qwen,
    stacks=(Stack("transformer_blocks.", usual=(60,)),),
    parts=("time_text_embed", "txt_in", "norm_out", "proj_out"),
    traces=("transformer_blocks.#.img_mod.#.weight", "transformer_blocks.#.txt_mod.#.weight"),
    remains="Qwen-Image, Mage-Flow or Lens",
    hidden="inner_dim",
    families=(
        Family(
            "QwenImage",
            "Qwen-Image {task}",
            LATENTS["Wan21"],
            Memory(1.8),
            NO_FP16,
            fp16_overflow="ComfyUI #10668, #10751, #10800, PR#12522",
            undetermined="text to image from editing, and the finetune",
        ),
    ),
    source=DETECTION,
)

KREA2 = Architecture(
    id="krea2",
    name="Krea 2",
    sign=Signature(keys=("txtfusion.projector.weight",)),
    facts={
        "features": Dim("first.weight", 0),
        "channels": Dim("first.weight", 1, divide=4),
        "txtlayers": Dim("txtfusion.projector.weight", 1),
    },
    stacks=(Stack("blocks.", usual=(28,)), Stack("txtfusion.refiner_blocks.", "side", usual=(2,))),
    parts=("first", "last", "tmlp", "tproj", "txtmlp"),
    traces=("txtfusion.layerwise_blocks.#.attn.wq.weight",),
    hidden="features",
    families=(Family("Krea2", "Krea 2", LATENTS["Wan21"], Memory(2.2), BF16_FIRST, undetermined="the finetune"),),
    source=DETECTION,
)

ARCHITECTURES = (SD3, AURA, PIXART, HIDREAM, HIDREAM_O1, LENS, MAGE, QWEN, KREA2)
