"""More video models: SeedVR2, Kandinsky 5, MiniMax H3.

Sources: comfy/model_detection.py 0.30.0 (detect_unet_config) and comfy/supported_models.py 0.30.0.
"""

from __future__ import annotations

from .common import BF16_FIRST, DETECTION, LATENTS, NO_FP16
from .identity import Value
from .index import Header
from .reading import Choose, Dim, Not, Signature
from .rows import Architecture, Family, Memory, Stack


def _seedvr2(id_: str, sign: Signature) -> Architecture:
    return Architecture(
        id=id_,
        name="SeedVR2",
        sign=sign,
        facts={"vid_dim": Dim("vid_in.proj.weight", 0)},
        # Blocks up to the tenth have weights of their own for text and video, later ones share them.
        stacks=(Stack("blocks.", same=False, usual=(32, 36)),),
        # The host takes the file only with its two conditionings.
        parts=("positive_conditioning", "negative_conditioning", "vid_in", "txt_in", "emb_in", "vid_out"),
        traces=("blocks.#.ada.vid.attn_gate", "blocks.#.ada.all.attn_gate"),
        hidden="vid_dim",
        size=("vid_dim", {2560: "3B", 3072: "7B"}),
        families=(
            Family(
                "SeedVR2",
                "SeedVR2 {size}",
                LATENTS["SeedVR2"],
                Memory(2.0),
                BF16_FIRST,
                undetermined="sharp from standard",
            ),
        ),
        source=DETECTION,
    )


SEEDVR2_SEPARATE = _seedvr2(
    "seedvr2/separate",
    Signature(keys=("blocks.35.mlp.vid.proj_out.weight",), sizes=(("blocks.35.mlp.vid.proj_out.weight", 0, 3072),)),
)
SEEDVR2 = _seedvr2(
    "seedvr2",
    Signature(
        keys=("blocks.{35,31}.mlp.all.proj_in_gate.weight",),
        sizes=(("blocks.35.mlp.vid.proj_out.weight", 0, Not(3072)),),
    ),
)

_LITE_IMAGE = {"model_dim": 2560, "visual_embed_dim": 64}


def read_kandinsky(header: Header) -> dict[str, Value]:
    """Whether both widths are those of the image model."""
    found = (header.length("visual_embeddings.in_layer.bias", 0), header.length("visual_embeddings.in_layer.weight", 1))
    return {"image": found == tuple(_LITE_IMAGE.values())}


KANDINSKY5 = Architecture(
    id="kandinsky5",
    name="Kandinsky 5",
    sign=Signature(keys=("visual_transformer_blocks.0.cross_attention.key_norm.weight",)),
    facts={
        "model_dim": Dim("visual_embeddings.in_layer.bias", 0),
        "visual_embed_dim": Dim("visual_embeddings.in_layer.weight", 1),
        "ff_dim": Dim("visual_transformer_blocks.0.feed_forward.in_layer.weight", 0),
        "time_dim": Dim("time_embeddings.in_layer.bias", 0),
    },
    reader=read_kandinsky,
    stacks=(
        Stack("visual_transformer_blocks.", usual=(32, 50, 60)),
        Stack("text_transformer_blocks.", "side", usual=(2, 4)),
    ),
    parts=("time_embeddings", "text_embeddings", "pooled_text_embeddings", "visual_embeddings", "out_layer"),
    traces=("visual_transformer_blocks.#.cross_attention.key_norm.weight",),
    hidden="model_dim",
    size=("model_dim", {1792: "lite", 4096: "pro"}),
    families=(
        Family(
            "Kandinsky5Image",
            "Kandinsky 5 image lite",
            LATENTS["Flux"],
            Memory(1.25),
            NO_FP16,
            {"image": True},
            undetermined="text to image from editing",
        ),
        Family(
            "Kandinsky5",
            "Kandinsky 5 video {size}",
            LATENTS["HunyuanVideo"],
            Memory(1.25),
            NO_FP16,
            {"image": False},
            undetermined="text from image to video, and the length",
        ),
    ),
    source=DETECTION,
)

MINIMAX = Architecture(
    id="minimax_h3",
    name="MiniMax H3",
    sign=Signature(keys=("video_patch_proj.weight", "audio_patch_proj.weight")),
    facts={
        "hidden_size": Dim("video_patch_proj.weight", 0),
        "latents_dim": Dim("final_layer.video_out.weight", 0, divide=4),
        "audio_latents_dim": Dim("final_layer.audio_out.weight", 0),
        "curve": Choose(((True, ("adaln_t_table",)),), False),
    },
    stacks=(Stack("blocks.", usual=(50,)), Stack("token_refiner.blocks.", "side", usual=(2,))),
    parts=("condition_proj", "rope", "final_layer"),
    traces=("token_refiner.blocks.#.attn.qkv_proj.weight",),
    hidden="hidden_size",
    families=(Family("MiniMaxH3", "MiniMax H3, video with sound", LATENTS["MiniMaxH3AV"], Memory(0.114), NO_FP16),),
    source=DETECTION,
)

ARCHITECTURES = (SEEDVR2_SEPARATE, SEEDVR2, KANDINSKY5, MINIMAX)
