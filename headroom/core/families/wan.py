"""Wan 2.1 and 2.2 and what is built on them.

Sources: comfy/model_detection.py 0.30.0 (detect_unet_config) and comfy/supported_models.py 0.30.0.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .common import DETECTION, FP16_FIRST, LATENTS
from .identity import Value
from .index import Header
from .reading import Choose, Dim, Not, Signature
from .rows import Architecture, Family, Memory, Stack

WAN21 = LATENTS["Wan21"]
BY_WIDTH = Memory(1.0, per="dim", over=2222)

#: Which names beside a text-to-video model's make it another one; the first that fits counts.
MODEL_TYPES = (
    ("vace", ("vace_patch_embedding.weight",)),
    ("camera", ("control_adapter.conv.weight", "img_emb.proj.0.bias")),
    ("camera_2.2", ("control_adapter.conv.weight",)),
    ("s2v", ("casual_audio_encoder.encoder.final_linear.weight",)),
    ("humo", ("audio_proj.audio_proj_glob_1.layer.bias",)),
    ("animate", ("face_adapter.fuser_blocks.0.k_norm.weight",)),
    ("scail2", ("patch_embedding_mask.weight",)),
    ("scail", ("patch_embedding_pose.weight",)),
    ("wandancer", ("patch_embedding_global.weight",)),
    ("i2v", ("img_emb.proj.0.bias",)),
)


def _wan(id_: str, name: str, model_type: str, undetermined: str = "the finetune", **more: Any) -> Family:
    memory, latent = more.pop("memory", BY_WIDTH), more.pop("latent", WAN21)
    when = {"model_type": model_type, **more}
    return Family(id_, name, latent, memory, FP16_FIRST, when=when, undetermined=undetermined)


#: What the extra input channels of a model without an image encoder are for: the mask and picture of 2.2's image to
#: video, the control video of 2.2's Fun.
TASKS = {16: "text to video", 36: "image to video", 52: "Fun control"}


def read_task(header: Header) -> Mapping[str, Value]:
    """The task as a word, for the name."""
    channels = header.length("patch_embedding.weight", 1)
    return {"task": TASKS.get(channels or 0, f"with {channels} input channels")}


FAMILIES = (
    _wan(
        "WAN22_T2V",
        "Wan 2.2 {size} text and image to video",
        "t2v",
        out_dim=48,
        latent=LATENTS["Wan22"],
    ),
    _wan("WAN21_CausalAR_T2V", "Wan 2.1 {size} causal, frame after frame", "t2v", out_dim=Not(48), causal_ar=True),
    _wan(
        "WAN21_T2V",
        "Wan 2.1/2.2 {size} {task}",
        "t2v",
        "Wan 2.1 from 2.2, high from low noise, and the finetune",
        out_dim=Not(48),
        causal_ar=Not(True),
    ),
    _wan(
        "WAN21_I2V",
        "Wan 2.1 {size} image to video",
        "i2v",
        "480p from 720p, and the finetune",
        in_dim=36,
    ),
    _wan("WAN21_FunControl2V", "Wan 2.1 Fun {size} control", "i2v", in_dim=48),
    _wan(
        "WAN21_Vace",
        "Wan 2.1 VACE {size}",
        "vace",
        "the finetune, and high from low noise where the base is Wan 2.2",
        memory=Memory(1.2, per="dim", over=2222),
    ),
    _wan("WAN21_Camera", "Wan 2.1 Fun {size} camera", "camera", in_dim=32),
    _wan("WAN22_Camera", "Wan 2.2 Fun {size} camera", "camera_2.2", "high from low noise", in_dim=36),
    _wan("WAN22_S2V", "Wan 2.2 {size} sound to video", "s2v"),
    _wan("WAN21_HuMo", "HuMo on Wan 2.1 {size}", "humo"),
    _wan("WAN22_Animate", "Wan 2.2 Animate {size}", "animate"),
    _wan("WAN21_FlowRVS", "Wan 2.1 {size} FlowRVS, masks from video", "flow_rvs"),
    _wan("WAN21_SCAIL", "Wan 2.1 SCAIL {size}", "scail"),
    _wan("WAN21_SCAIL2", "Wan 2.1 SCAIL 2 {size}", "scail2"),
    _wan("WAN22_WanDancer", "WanDancer {size}", "wandancer", in_dim=36, memory=Memory(1.8)),
)

WAN = Architecture(
    id="wan",
    name="Wan",
    sign=Signature(keys=("head.modulation",)),
    facts={
        "dim": Dim("head.modulation", -1),
        "out_dim": Dim("head.head.weight", 0, divide=4),
        "in_dim": Dim("patch_embedding.weight", 1),
        "ffn_dim": Dim("blocks.0.ffn.0.weight", 0),
        "vace_in_dim": Dim("vace_patch_embedding.weight", 1, default=None),
        "model_type": Choose(MODEL_TYPES, "t2v"),
    },
    stacks=(
        Stack("blocks.", usual=(40, 30, 48)),
        # The first control block has a layer in front of the others.
        Stack("vace_blocks.", "vace", same=False, usual=(8, 15), needed=False),
        Stack("face_adapter.fuser_blocks.", "side", usual=(8,), needed=False),
        Stack("audio_injector.injector.", "side", needed=False),
    ),
    reader=read_task,
    parts=("patch_embedding", "text_embedding", "time_embedding", "time_projection", "head"),
    traces=("blocks.#.cross_attn.norm_k.weight", "blocks.#.self_attn.norm_k.weight"),
    hidden="dim",
    size=("dim", {5120: "14B", 3072: "5B", 1536: "1.3B"}),
    config=("model_type", "causal_ar", "dim", "in_dim", "out_dim"),
    families=FAMILIES,
    source=DETECTION,
)

ARCHITECTURES = (WAN,)
