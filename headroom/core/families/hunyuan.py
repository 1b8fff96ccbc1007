"""HunyuanVideo and HunyuanImage, Hunyuan-DiT, Hunyuan3D.

Sources: comfy/model_detection.py 0.30.0 (detect_unet_config) and comfy/supported_models.py 0.30.0.
"""

from __future__ import annotations

from .common import DETECTION, FP16_FIRST, LATENTS, NO_FP16
from .reading import Dim, Not, OneOf, Shape, Signature, has
from .rows import Architecture, Family, Memory, Stack

VIDEO, VIDEO15 = LATENTS["HunyuanVideo"], LATENTS["HunyuanVideo15"]

#: Without pooled text it is an image model or version 1.5, which the vision input then tells.
_NO_VISION = {"vision_in_dim": Not(1152)}
_VIDEO1 = {**_NO_VISION, "pooled_text": True}

HUNYUAN_VIDEO = Architecture(
    id="hunyuan_video",
    name="HunyuanVideo",
    sign=Signature(keys=("txt_in.individual_token_refiner.blocks.0.norm1.weight",)),
    facts={
        "in_channels": Dim("img_in.proj.weight", 1),
        "hidden_size": Dim("img_in.proj.weight", 0),
        "patch_size": Shape("img_in.proj.weight", 2),
        "final_rows": Dim("final_layer.linear.weight", 0),
        "context_in_dim": Dim("txt_in.input_embedder.weight", 1),
        "pooled_text": has("vector_in"),
        "guidance_embed": has("guidance_in"),
        "meanflow": has("time_r_in"),
        "byt5": has("byt5_in.fc1.weight"),
        "vision_in_dim": Dim("vision_in.proj.0.weight", 0, default=None),
    },
    stacks=(
        Stack("double_blocks.", usual=(20, 54)),
        Stack("single_blocks.", usual=(40, 0), needed=False),
        Stack("txt_in.individual_token_refiner.blocks.", "side", usual=(2,)),
    ),
    parts=("img_in", "time_in", "txt_in.input_embedder", "final_layer"),
    traces=("txt_in.individual_token_refiner.blocks.#.norm1.weight",),
    hidden="hidden_size",
    families=(
        Family(
            "HunyuanVideo15_SR_Distilled",
            "HunyuanVideo 1.5 super resolution",
            VIDEO15,
            Memory(4.0),
            FP16_FIRST,
            when={"vision_in_dim": 1152, "in_channels": 98},
            undetermined="720p from 1080p",
        ),
        Family(
            "HunyuanVideo15",
            "HunyuanVideo 1.5",
            VIDEO15,
            Memory(4.0),
            FP16_FIRST,
            when={"vision_in_dim": 1152, "in_channels": Not(98)},
            undetermined="text from image to video, 480p from 720p, and distilled from full",
        ),
        Family(
            "HunyuanImage21Refiner",
            "HunyuanImage 2.1 refiner",
            LATENTS["HunyuanImage21Refiner"],
            Memory(1.8),
            NO_FP16,
            when={**_NO_VISION, "pooled_text": False, "patch_size": (1, 1, 1)},
        ),
        Family(
            "HunyuanImage21",
            "HunyuanImage 2.1",
            LATENTS["HunyuanImage21"],
            Memory(8.7),
            NO_FP16,
            when={**_NO_VISION, "pooled_text": False, "patch_size": Not((1, 1, 1))},
        ),
        Family(
            "HunyuanVideoSkyreelsI2V",
            "SkyReels image to video (HunyuanVideo)",
            VIDEO,
            Memory(1.8),
            NO_FP16,
            when={**_VIDEO1, "in_channels": 32},
        ),
        Family(
            "HunyuanVideoI2V",
            "HunyuanVideo image to video",
            VIDEO,
            Memory(1.8),
            NO_FP16,
            when={**_VIDEO1, "in_channels": 33},
            undetermined="version 1 from 2",
        ),
        Family(
            "HunyuanVideo",
            "HunyuanVideo",
            VIDEO,
            Memory(1.8),
            NO_FP16,
            when={**_VIDEO1, "in_channels": Not(OneOf((32, 33)))},
            undetermined="the finetune, and full from distilled",
        ),
    ),
    source=DETECTION,
)

HYDIT = Architecture(
    id="hydit",
    name="Hunyuan-DiT",
    sign=Signature(keys=("mlp_t5.0.weight",)),
    facts={
        "hidden_size": Dim("x_embedder.proj.weight", 0),
        # 3968 where the size and the style of the picture are given too, as in versions 1.0 and 1.1.
        "extra_width": Dim("extra_embedder.0.weight", 1),
    },
    # Blocks of the second half have a skip connection.
    stacks=(Stack("blocks.", same=False, usual=(40, 32)),),
    parts=("pooler", "x_embedder", "t_embedder", "extra_embedder", "final_layer"),
    traces=("blocks.#.attn1.Wqkv.weight",),
    hidden="hidden_size",
    families=(
        Family(
            "HunyuanDiT", "Hunyuan-DiT 1.2", LATENTS["SDXL"], Memory(1.3), FP16_FIRST, when={"extra_width": Not(3968)}
        ),
        Family(
            "HunyuanDiT1",
            "Hunyuan-DiT 1.1",
            LATENTS["SDXL"],
            Memory(1.3),
            FP16_FIRST,
            when={"extra_width": 3968},
            undetermined="version 1.0 from 1.1",
        ),
    ),
    source=DETECTION,
)

HUNYUAN3D = Architecture(
    id="hunyuan3d2",
    name="Hunyuan3D 2",
    sign=Signature(keys=("latent_in.weight",)),
    facts={
        "in_channels": Dim("latent_in.weight", 1),
        "hidden_size": Dim("latent_in.weight", 0),
        "context_in_dim": Dim("cond_in.weight", 1),
        "guidance_embed": has("guidance_in.in_layer.weight"),
    },
    reader=lambda header: {"depth": header.count("double_blocks.")},
    stacks=(Stack("double_blocks.", usual=(16, 8)), Stack("single_blocks.", usual=(32, 16))),
    parts=("cond_in", "time_in", "final_layer"),
    hidden="hidden_size",
    families=(
        Family(
            "Hunyuan3Dv2mini",
            "Hunyuan3D 2 mini",
            LATENTS["Hunyuan3Dv2mini"],
            Memory(3.5),
            FP16_FIRST,
            when={"depth": 8},
            undetermined="turbo and fast from standard",
        ),
        Family(
            "Hunyuan3Dv2",
            "Hunyuan3D 2",
            LATENTS["Hunyuan3Dv2"],
            Memory(3.5),
            FP16_FIRST,
            when={"depth": Not(8)},
            undetermined="turbo, fast and multi-view from standard",
        ),
    ),
    source=DETECTION,
)

HUNYUAN3D21 = Architecture(
    id="hunyuan3d2_1",
    name="Hunyuan3D 2.1",
    sign=Signature(keys=("t_embedder.mlp.2.weight", "blocks.0.attn1.k_norm.weight"), lacks=("mlp_t5.0.weight",)),
    facts={"in_channels": Dim("x_embedder.weight", 1), "hidden_size": Dim("x_embedder.weight", 0)},
    # The second half has skip connections, the last six blocks have experts.
    stacks=(Stack("blocks.", same=False, usual=(21,)),),
    parts=("x_embedder", "t_embedder", "final_layer"),
    traces=("blocks.#.moe.gate.weight",),
    hidden="hidden_size",
    families=(Family("Hunyuan3Dv2_1", "Hunyuan3D 2.1", LATENTS["Hunyuan3Dv2_1"], Memory(3.5), FP16_FIRST),),
    source=DETECTION,
)

ARCHITECTURES = (HUNYUAN_VIDEO, HYDIT, HUNYUAN3D, HUNYUAN3D21)
