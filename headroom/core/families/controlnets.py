"""ControlNets, T2I adapters and control patches: what each is for.

Source: comfy/controlnet.py 0.30.0, load_controlnet_state_dict and load_t2i_adapter, and
comfy_extras/nodes_model_patch.py 0.30.0.
"""

from __future__ import annotations

from typing import Any

from .plain import Row
from .reading import Dim, Not, Signature

SOURCE = "comfy/controlnet.py 0.30.0, load_controlnet_state_dict"
PATCHES = "comfy_extras/nodes_model_patch.py 0.30.0"
BLOCKS = "controlnet_blocks.0.weight"
POS = "pos_embed_input.proj.weight"
XLABS = "double_blocks.0.img_attn.norm.key_norm.scale"
QWEN = "transformer_blocks.0.img_mlp.net.0.proj.weight"
SD35 = "transformer_blocks.0.adaLN_modulation.1.bias"
DIFFUSERS = "controlnet_cond_embedding.conv_in.weight"
CONTROL_LORA = "lora_controlnet"
#: Cross-attention of the first block that has one: SD 1.5 and 2 have it at full resolution, SDXL two levels below.
NATIVE_TEXT = "{control_model.,}input_blocks.{1,4}.1.transformer_blocks.0.attn2.to_k.weight"
DIFFUSERS_TEXT = "down_blocks.{0,1}.attentions.0.transformer_blocks.0.attn2.to_k.weight"
WIDTHS = {768: ("SD15", "Stable Diffusion 1.5"), 1024: ("SD20", "Stable Diffusion 2"), 2048: ("SDXL", "SDXL")}
ZERO = "{control_model.,}zero_convs.0.0.weight"


def _row(id_: str, name: str, keys: tuple[str, ...], fits: tuple[str, ...], **more: Any) -> Row:
    sign = Signature(keys, more.pop("lacks", ()), more.pop("sizes", ()))
    return Row(id_, name, sign, more.pop("source", SOURCE), fits=fits, **more)


def _by_width(id_: str, text: str, keys: tuple[str, ...], lacks: tuple[str, ...], **more: Any) -> tuple[Row, ...]:
    """One row per width of the text that the blocks attend to, and one for a file where it is not seen."""
    known = tuple(
        _row(f"{id_}-{family}", f"{name} ControlNet", keys, (family,), lacks=lacks, sizes=((text, 1, width),), **more)
        for width, (family, name) in WIDTHS.items()
    )
    # Small ControlNets for SDXL have no attention at all.
    families = tuple(family for family, _ in WIDTHS.values())
    return (*known, _row(id_, "ControlNet of a UNet", keys, families, lacks=(*lacks, text), **more))


_BODY = "body.0.block2.weight"

ROWS: tuple[Row, ...] = (
    _row("hunyuan-dit", "Hunyuan-DiT ControlNet", ("after_proj_list.18.bias",), ("HunyuanDiT",)),
    _row("control-lora", "Control-LoRA of a UNet", (CONTROL_LORA,), ("SDXL", "SD15")),
    *_by_width("diffusers", DIFFUSERS_TEXT, (DIFFUSERS,), (), style="diffusers", stacks=("down_blocks.",)),
    _row(
        "flux-xlabs",
        "Flux.1 ControlNet (XLabs)",
        (BLOCKS, XLABS),
        ("Flux", "FluxSchnell"),
        stacks=("double_blocks.", "single_blocks."),
    ),
    _row("sd3.5", "Stable Diffusion 3.5 ControlNet", (BLOCKS, POS, SD35), ("SD3",), stacks=("transformer_blocks.",)),
    _row(
        "sd3",
        "Stable Diffusion 3 ControlNet",
        (BLOCKS, POS),
        ("SD3",),
        lacks=(SD35,),
        style="diffusers",
        stacks=("transformer_blocks.",),
    ),
    _row(
        "qwen-instantx",
        "Qwen-Image ControlNet (InstantX)",
        (BLOCKS, QWEN),
        ("QwenImage",),
        lacks=(POS,),
        facts={"control_channels": Dim("controlnet_x_embedder.weight", 1, default=None)},
        stacks=("transformer_blocks.",),
    ),
    _row(
        "flux-instantx",
        "Flux.1 ControlNet (InstantX, Shakker)",
        (BLOCKS, "controlnet_x_embedder.weight"),
        ("Flux", "FluxSchnell"),
        lacks=(XLABS, POS, QWEN),
        facts={"union_modes": Dim("controlnet_mode_embedder.weight", 0, default=None)},
        style="diffusers",
        stacks=("transformer_blocks.", "single_transformer_blocks."),
    ),
    _row(
        "qwen-fun",
        "Qwen-Image ControlNet (Fun)",
        ("control_blocks.0.after_proj.weight", "control_img_in.weight"),
        ("QwenImage",),
        stacks=("control_blocks.",),
    ),
    _row(
        "flux-mistoline",
        "Flux.1 ControlNet (MistoLine)",
        ("controlnet_blocks.0.linear.weight",),
        ("Flux", "FluxSchnell"),
        stacks=("double_blocks.",),
    ),
    *_by_width("unet", NATIVE_TEXT, (ZERO,), (DIFFUSERS, CONTROL_LORA), stacks=("input_blocks.",)),
    _row("t2i-light", "T2I adapter, light", ("body.0.in_conv.weight",), ("SD15",)),
    _row(
        "t2i",
        "T2I adapter",
        ("{adapter.,}conv_in.weight", "{adapter.body.0.resnets.0.block2.weight," + _BODY + "}"),
        ("SD15", "SDXL"),
        lacks=("body.0.in_conv.weight",),
        facts={"channels": Dim("{adapter.,}conv_in.weight", 1)},
    ),
    # Stable Cascade's own encoder is the same network without projections.
    _row(
        "cascade",
        "Stable Cascade ControlNet",
        ("backbone.0.0.weight", "projections.0.0.weight"),
        ("Stable_Cascade_C",),
        lacks=("backbone.10.blocks.0.weight",),
    ),
    _row("cascade-large", "Stable Cascade ControlNet, large", ("backbone.10.blocks.0.weight",), ("Stable_Cascade_C",)),
    _row(
        "z-image-fun",
        "Z-Image control patch (Fun)",
        ("control_all_x_embedder.2-1.weight",),
        ("ZImage",),
        source=PATCHES,
        stacks=("control_layers.",),
    ),
    _row(
        "qwen-diffsynth",
        "Qwen-Image control patch (DiffSynth)",
        ("controlnet_blocks.0.y_rms.weight",),
        ("QwenImage",),
        source=PATCHES,
        stacks=("controlnet_blocks.",),
    ),
    # The control blocks of VACE alone, which the Wan wrapper adds to another model.
    _row(
        "wan-vace",
        "Wan VACE module",
        ("vace_patch_embedding.weight", "vace_blocks.0.after_proj.weight"),
        ("WAN21_T2V",),
        lacks=("{,model.diffusion_model.,model.}head.modulation",),
        source="WanVideoWrapper, its own loader; ComfyUI 0.30.0 does not know such a file",
        stacks=("vace_blocks.",),
    ),
    _row(
        "wan-uni3c",
        "Wan control patch (Uni3C)",
        ("controlnet_patch_embedding.weight",),
        ("WAN21_I2V", "WAN21_T2V"),
        source=PATCHES,
        stacks=("controlnet_blocks.",),
        sizes=(("controlnet_blocks.0.y_rms.weight", 0, Not(3072)),),
    ),
)
