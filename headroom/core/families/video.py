"""Video models beside Wan and Hunyuan: LTX, Mochi, Cosmos, CogVideoX.

Sources: comfy/model_detection.py 0.30.0 (detect_unet_config) and comfy/supported_models.py 0.30.0.
"""

from __future__ import annotations

from typing import Any

from .common import BF16_FIRST, DETECTION, LATENTS, NO_FP16
from .identity import Value
from .index import Header
from .reading import AtLeast, Dim, Not, OneOf, Signature, has
from .rows import Architecture, Family, Memory, Stack

_LTX_TIME = "adaln_single.emb.timestep_embedder.linear_1.bias"

LTX = Architecture(
    id="ltx",
    name="LTX",
    # PixArt in diffusers' names has the first name too, and a convolution at its input.
    sign=Signature(keys=(_LTX_TIME,), lacks=("pos_embed.proj.bias", "video_patch_proj.weight")),
    facts={
        "cross_attention_dim": Dim("transformer_blocks.0.attn2.to_k.weight", 1),
        "inner_dim": Dim("transformer_blocks.0.attn2.to_k.weight", 0),
        "audio": has("audio_adaln_single.linear.weight"),
    },
    stacks=(Stack("transformer_blocks.", usual=(28, 48)),),
    parts=("patchify_proj", "adaln_single", "scale_shift_table", "proj_out"),
    traces=("transformer_blocks.#.attn1.k_norm.weight", "transformer_blocks.#.attn1.q_norm.weight"),
    hidden="inner_dim",
    size=("inner_dim", {2048: "2B", 4096: "13B"}),
    config=("cross_attention_dim",),
    families=(
        Family(
            "LTXV",
            "LTX-Video {size}",
            LATENTS["LTXV"],
            Memory(5.5, per="cross_attention_dim", over=2048),
            NO_FP16,
            when={"audio": False},
            undetermined="the version, and full from distilled",
        ),
        Family(
            "LTXAV",
            "LTX-2, video with sound",
            LATENTS["LTXAV"],
            Memory(0.077),
            NO_FP16,
            when={"audio": True},
            undetermined="the version, and full from distilled",
        ),
    ),
    source=DETECTION,
)

MOCHI = Architecture(
    id="mochi",
    name="Mochi",
    sign=Signature(keys=("t5_yproj.weight",)),
    facts={
        "in_channels": Dim("x_embedder.proj.weight", 1),
        "hidden_size": Dim("x_embedder.proj.weight", 0),
        "hidden_size_y": Dim("t5_yproj.weight", 0),
    },
    # The last block has no text half. The host builds 48 whatever the file has.
    stacks=(Stack("blocks.", same=False, usual=(48,)),),
    parts=("pos_frequencies", "x_embedder", "t_embedder", "t5_y_embedder", "final_layer"),
    traces=("blocks.#.attn.qkv_x.weight", "blocks.#.mod_x.weight"),
    hidden="hidden_size",
    families=(Family("GenmoMochi", "Mochi 1", LATENTS["Mochi"], Memory(2.0), NO_FP16),),
    source=DETECTION,
)

_COSMOS = LATENTS["Cosmos1CV8x8x8"]
_PREDICT2 = Memory(0.95, per="model_channels", over=2048)

COSMOS = Architecture(
    id="cosmos",
    name="Cosmos 1",
    sign=Signature(keys=("blocks.block0.blocks.0.block.attn.to_q.0.weight",)),
    facts={
        # A patch is 2x2, and one more channel is the padding mask.
        "in_channels": Dim("x_embedder.proj.1.weight", 1, divide=4, minus=4),
        "model_channels": Dim("blocks.block0.blocks.0.block.attn.to_q.0.weight", 0),
    },
    stacks=(Stack("blocks.block", usual=(28, 36)),),
    parts=("x_embedder", "t_embedder", "affline_norm", "final_layer"),
    hidden="model_channels",
    size=("model_channels", {4096: "7B", 5120: "14B"}),
    families=(
        Family("CosmosT2V", "Cosmos 1 {size} text to world", _COSMOS, Memory(1.6), BF16_FIRST, {"in_channels": 16}),
        Family("CosmosI2V", "Cosmos 1 {size} video to world", _COSMOS, Memory(1.6), BF16_FIRST, {"in_channels": 17}),
    ),
    source=DETECTION,
)

_ADAPTER = "llm_adapter.blocks.0.cross_attn.q_proj.weight"

PREDICT2 = Architecture(
    id="cosmos_predict2",
    name="Cosmos Predict 2",
    sign=Signature(keys=("blocks.0.mlp.layer1.weight",)),
    facts={
        "in_channels": Dim("x_embedder.proj.1.weight", 1, divide=4, minus=4),
        "model_channels": Dim("x_embedder.proj.1.weight", 0),
        "llm_adapter": has(_ADAPTER),
    },
    stacks=(Stack("blocks.", usual=(28, 36)), Stack("llm_adapter.blocks.", "side", needed=False)),
    parts=("x_embedder", "t_embedder", "t_embedding_norm", "final_layer"),
    traces=("blocks.#.self_attn.q_proj.weight", "blocks.#.mlp.layer1.weight"),
    hidden="model_channels",
    size=("model_channels", {2048: "2B", 5120: "14B"}),
    families=(
        Family(
            "CosmosT2IPredict2",
            "Cosmos Predict 2 {size} text to image",
            LATENTS["Wan21"],
            _PREDICT2,
            BF16_FIRST,
            {"llm_adapter": False, "in_channels": 16},
        ),
        Family(
            "CosmosI2VPredict2",
            "Cosmos Predict 2 {size} video to world",
            LATENTS["Wan21"],
            _PREDICT2,
            BF16_FIRST,
            {"llm_adapter": False, "in_channels": 17},
            undetermined="the resolution and frame rate it was made for",
        ),
        Family(
            "Anima",
            "Anima {size}",
            LATENTS["Wan21"],
            Memory(0.95, per="model_channels", over=2048, fp16=1.4),
            BF16_FIRST,
            {"llm_adapter": True},
            undetermined="the finetune",
        ),
    ),
    source=DETECTION,
)


def _cog(id_: str, name: str, **when: Any) -> Family:
    return Family(
        id_,
        name,
        LATENTS["CogVideoX"],
        Memory(2.0),
        BF16_FIRST,
        when,
        other_latents=(("num_attention_heads", AtLeast(48), LATENTS["CogVideoX1_5"]),),
        undetermined="the finetune",
    )


def read_cogvideox(header: Header) -> dict[str, Value]:
    """Input channels, which stand in a convolution (1.0) or in a layer over patches of 2x2x2 (1.5)."""
    shape = header.shape("patch_embed.proj.weight")
    if shape is None or len(shape) not in {2, 4}:
        return {"in_channels": None}
    return {
        "in_channels": shape[1] if len(shape) == 4 else shape[1] // 8,
        "patch_size_t": 2 if len(shape) == 2 else None,
    }


COGVIDEOX = Architecture(
    id="cogvideox",
    name="CogVideoX",
    sign=Signature(keys=("blocks.0.norm1.linear.weight",)),
    facts={
        "inner_dim": Dim("blocks.0.norm1.linear.weight", 0, divide=6),
        "num_attention_heads": Dim("blocks.0.norm1.linear.weight", 0, divide=6 * 64),
        "ofs_embed_dim": Dim("ofs_embedding_linear_1.weight", 1, default=None),
    },
    reader=read_cogvideox,
    stacks=(Stack("blocks.", usual=(30, 42)),),
    parts=("patch_embed", "time_embedding_linear_1", "norm_final", "norm_out", "proj_out"),
    traces=("blocks.#.norm1.linear.weight", "blocks.#.norm2.linear.weight"),
    hidden="inner_dim",
    size=("num_attention_heads", {30: "2B", 48: "5B"}),
    families=(
        _cog("CogVideoX_Inpaint", "CogVideoX Fun {size} inpainting", in_channels=48),
        _cog("CogVideoX_I2V", "CogVideoX {size} image to video", in_channels=32),
        _cog("CogVideoX_T2V", "CogVideoX {size} text to video", in_channels=Not(OneOf((32, 48)))),
    ),
    source=DETECTION,
)

ARCHITECTURES = (LTX, MOCHI, COSMOS, PREDICT2, COGVIDEOX)
