"""Models that make sound, solids or readings of a picture: Stable Audio, ACE-Step, TripoSplat, detectors, depth.

Sources: comfy/model_detection.py 0.30.0 (detect_unet_config) and comfy/supported_models.py 0.30.0.
"""

from __future__ import annotations

from .common import DETECTION, FP16_FIRST, LATENTS, NO_FP16
from .reading import Dim, OneOf, Signature, has
from .rows import Architecture, Family, Memory, Stack

STABLE_AUDIO = Architecture(
    id="stable_audio",
    name="Stable Audio",
    sign=Signature(keys=("transformer.rotary_pos_emb.inv_freq",)),
    facts={
        "embed_dim": Dim("to_timestep_embed.0.weight", 0),
        "io_channels": Dim("postprocess_conv.weight", 0),
        "global_cond_dim": Dim("to_global_embed.0.weight", 1),
        "global_cond_shared_embed": has("transformer.global_cond_embedder.0.weight"),
    },
    stacks=(Stack("transformer.layers.", usual=(24, 16)),),
    parts=("to_timestep_embed", "to_cond_embed", "to_global_embed", "preprocess_conv", "postprocess_conv"),
    traces=("transformer.layers.#.self_attn.to_qkv.weight",),
    hidden="embed_dim",
    families=(
        Family(
            "StableAudio3",
            "Stable Audio 3",
            LATENTS["StableAudio3"],
            Memory(7.0),
            FP16_FIRST,
            {"global_cond_shared_embed": True},
        ),
        Family(
            "StableAudio",
            "Stable Audio Open",
            LATENTS["StableAudio1"],
            Memory(2.0),
            FP16_FIRST,
            {"global_cond_shared_embed": False},
        ),
    ),
    source=DETECTION,
)

ACE = Architecture(
    id="ace",
    name="ACE-Step",
    sign=Signature(keys=("genre_embedder.weight",)),
    facts={"inner_dim": Dim("genre_embedder.weight", 0)},
    stacks=(Stack("transformer_blocks.", usual=(24,)), Stack("lyric_encoder.encoders.", "side", usual=(6,))),
    parts=("timestep_embedder", "t_block", "speaker_embedder", "lyric_embs", "lyric_proj", "proj_in", "final_layer"),
    traces=("lyric_encoder.encoders.#.self_attn.linear_q.weight",),
    hidden="inner_dim",
    families=(Family("ACEStep", "ACE-Step 1", LATENTS["ACEAudio"], Memory(0.5), NO_FP16, undetermined="the finetune"),),
    source=DETECTION,
)

ACE15 = Architecture(
    id="ace15",
    name="ACE-Step 1.5",
    sign=Signature(keys=("encoder.lyric_encoder.layers.0.input_layernorm.weight",)),
    facts={
        "hidden_size": Dim("decoder.layers.0.self_attn_norm.weight", 0),
        "encoder_hidden_size": Dim("encoder.lyric_encoder.layers.0.input_layernorm.weight", 0),
    },
    stacks=(
        Stack("decoder.layers.", usual=(24, 32)),
        Stack("encoder.lyric_encoder.layers.", "side", usual=(8,)),
        Stack("encoder.timbre_encoder.layers.", "side", usual=(4,)),
    ),
    parts=("null_condition_emb", "tokenizer", "detokenizer"),
    hidden="hidden_size",
    families=(
        Family(
            "ACEStep15",
            "ACE-Step 1.5",
            LATENTS["ACEAudio15"],
            Memory(4.7),
            NO_FP16,
            undetermined="base from turbo, and the finetune",
        ),
    ),
    source=DETECTION,
)

TRIPOSPLAT = Architecture(
    id="triposplat",
    name="TripoSplat",
    sign=Signature(keys=("cam_out_layer.weight", "repo_layers.0.final_map.weight")),
    facts={"model_channels": Dim("input_layer.weight", 0)},
    stacks=(
        Stack("blocks.", usual=(24,)),
        Stack("noise_refiner.", "side", usual=(2,)),
        Stack("context_refiner.", "side", usual=(2,)),
    ),
    parts=("t_embedder", "cond_embedder", "out_layer"),
    hidden="model_channels",
    families=(Family("TripoSplat", "TripoSplat", LATENTS["TripoSplat"], Memory(0.6), FP16_FIRST),),
    source=DETECTION,
)

RT_DETR = Architecture(
    id="rt_detr",
    name="RT-DETR v4",
    sign=Signature(keys=("encoder.pan_blocks.1.cv4.conv.weight",)),
    facts={"enc_h": Dim("encoder.pan_blocks.1.cv4.conv.weight", 0)},
    stacks=(Stack("decoder.decoder.layers.", usual=(6,)),),
    parts=("backbone", "encoder", "decoder"),
    hidden="enc_h",
    families=(
        Family("RT_DETR_v4", "RT-DETR v4, object detector", LATENTS["LatentFormat"], Memory(2.0), ("fp16", "fp32")),
    ),
    source=DETECTION,
)

_DA3_PATCH = "backbone.embeddings.patch_embeddings.projection.weight"

DEPTH_ANYTHING = Architecture(
    id="depth_anything_3",
    name="Depth Anything 3",
    # The host knows four widths of the backbone.
    sign=Signature(keys=(_DA3_PATCH,), sizes=((_DA3_PATCH, 0, OneOf((384, 768, 1024, 1536))),)),
    facts={"embed_dim": Dim(_DA3_PATCH, 0), "head_dim_in": Dim("head.projects.0.weight", 1)},
    stacks=(Stack("backbone.encoder.layer.", same=False, usual=(12, 24, 40)),),
    parts=("backbone", "head"),
    hidden="embed_dim",
    size=("embed_dim", {384: "small", 768: "base", 1024: "large", 1536: "giant"}),
    families=(Family("DepthAnything3", "Depth Anything 3 {size}", LATENTS["LatentFormat"], Memory(2.0), FP16_FIRST),),
    source=DETECTION,
)

SAM = Architecture(
    id="sam3",
    name="Segment Anything 3",
    sign=Signature(
        keys=(
            "detector.backbone.vision_backbone.trunk.blocks.0.attn.qkv.weight",
            "detector.transformer.decoder.query_embed.weight",
        ),
    ),
    facts={
        "hidden_size": Dim("detector.transformer.decoder.query_embed.weight", 1),
        "propagation": has("detector.backbone.vision_backbone.propagation_convs.0.conv_1x1.weight"),
    },
    stacks=(Stack("detector.backbone.vision_backbone.trunk.blocks.", usual=(32,)),),
    parts=("detector", "tracker"),
    hidden="hidden_size",
    families=(
        Family(
            "SAM3",
            "Segment Anything 3",
            LATENTS["LatentFormat"],
            Memory(2.0),
            FP16_FIRST,
            {"propagation": False},
        ),
        Family(
            "SAM31",
            "Segment Anything 3.1",
            LATENTS["LatentFormat"],
            Memory(2.0),
            FP16_FIRST,
            {"propagation": True},
        ),
    ),
    source=DETECTION,
)

ARCHITECTURES = (STABLE_AUDIO, ACE, ACE15, TRIPOSPLAT, RT_DETR, DEPTH_ANYTHING, SAM)
