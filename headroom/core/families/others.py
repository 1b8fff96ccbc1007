"""Image encoders, style models and upscalers.

Sources: comfy/clip_vision.py 0.30.0 (load_clipvision_from_sd), comfy/sd.py 0.30.0 (load_style_model), spandrel 0.4.2
(its architectures' detection), which ComfyUI loads upscalers with.
"""

from __future__ import annotations

from typing import Any

from .plain import Row
from .reading import Not, Signature

VISION_SOURCE = "comfy/clip_vision.py 0.30.0, load_clipvision_from_sd"
STYLE_SOURCE = "comfy/sd.py 0.30.0, load_style_model"
SPANDREL = "spandrel 0.4.2"

LAYER = "vision_model.encoder.layers.{}.layer_norm1.weight"
POSITION = "vision_model.embeddings.position_embedding.weight"
PATCH = "vision_model.embeddings.patch_embedding.weight"
DINO2 = "encoder.layer.{}.layer_scale2.lambda1"
LLAVA = "multi_modal_projector.linear_1.bias"
OPEN_CLIP = "visual.transformer.resblocks.{}.attn.in_proj_weight"
_SIGLIP = (LAYER.format(0), 0, 1152)
_NOT_SIGLIP = (LAYER.format(0), 0, Not(1152))


def _vision(id_: str, name: str, keys: tuple[str, ...], stack: str, *sizes: Any, **more: Any) -> Row:
    sign = Signature(keys, more.pop("lacks", ()), sizes)
    return Row(id_, name, sign, VISION_SOURCE, stacks=(stack,), **more)


_STACK = "vision_model.encoder.layers."
_LARGE = (LAYER.format(22),)
_BELOW_H = (LAYER.format(30),)

VISION: tuple[Row, ...] = (
    _vision("clip-g", "CLIP vision bigG", (LAYER.format(47),), _STACK),
    _vision("clip-h", "CLIP vision H", (LAYER.format(30),), _STACK, lacks=(LAYER.format(47),)),
    _vision("siglip2", "SigLIP 2", _LARGE, _STACK, _SIGLIP, (PATCH, None, 2), lacks=_BELOW_H),
    _vision(
        "siglip-384", "SigLIP 384", _LARGE, _STACK, _SIGLIP, (PATCH, None, Not(2)), (POSITION, 0, 729), lacks=_BELOW_H
    ),
    _vision(
        "siglip-512", "SigLIP 512", _LARGE, _STACK, _SIGLIP, (PATCH, None, Not(2)), (POSITION, 0, 1024), lacks=_BELOW_H
    ),
    _vision(
        "clip-l-336-llava",
        "CLIP vision L 336, of LLaVA",
        (*_LARGE, LLAVA),
        _STACK,
        _NOT_SIGLIP,
        (POSITION, 0, 577),
        lacks=_BELOW_H,
    ),
    _vision(
        "clip-l-336",
        "CLIP vision L 336",
        _LARGE,
        _STACK,
        _NOT_SIGLIP,
        (POSITION, 0, 577),
        lacks=(*_BELOW_H, LLAVA),
    ),
    _vision("clip-l", "CLIP vision L", _LARGE, _STACK, _NOT_SIGLIP, (POSITION, 0, Not(577)), lacks=_BELOW_H),
    _vision("dinov2-giant", "DINOv2 giant", (DINO2.format(39),), "encoder.layer."),
    _vision("dinov2-large", "DINOv2 large", (DINO2.format(23),), "encoder.layer.", lacks=(DINO2.format(39),)),
    _vision("dinov3-h", "DINOv3 H+", ("layer.0.mlp.gate_proj.weight", "layer.31.norm1.weight"), "layer."),
    *(
        _vision(
            f"{id_}/open_clip",
            name,
            (OPEN_CLIP.format(last),),
            "visual.transformer.resblocks.",
            lacks=lacks,
            style="open_clip",
        )
        for id_, name, last, lacks in (
            ("clip-g", "CLIP vision bigG", 47, ()),
            ("clip-h", "CLIP vision H", 30, (OPEN_CLIP.format(47),)),
            ("clip-l", "CLIP vision L", 22, (OPEN_CLIP.format(30),)),
        )
    ),
)

STYLE: tuple[Row, ...] = (
    Row("redux", "Flux.1 Redux", Signature(("redux_down.weight",)), STYLE_SOURCE, fits=("Flux", "FluxSchnell")),
    Row("t2i-style", "T2I style adapter", Signature(("style_embedding",)), STYLE_SOURCE, fits=("SD15",)),
)


def _upscaler(id_: str, name: str, keys: tuple[str, ...], **more: Any) -> Row:
    sign = Signature(keys, more.pop("lacks", ()), more.pop("sizes", ()))
    return Row(id_, name, sign, SPANDREL, family=id_, **more)


_BLOCK = "layers.0.residual_group.blocks.0."
_INDEX, _CAB, _PATCH_EMBED = _BLOCK + "attn.relative_position_index", _BLOCK + "conv_block.cab.0.weight", "patch_embed."
_FIRST = "conv_first.{weight,1.weight}"

UPSCALERS: tuple[Row, ...] = (
    _upscaler(
        "ESRGAN",
        "ESRGAN",
        ("{model.1.sub.0.RDB1.conv1.0,body.0.rdb1.conv1,RRDB_trunk.0.RDB1.conv1}.weight",),
        stacks=("body.", "RRDB_trunk.", "model.1.sub."),
    ),
    _upscaler(
        "Compact",
        "Real-ESRGAN Compact",
        ("body.0.weight", "body.1.weight"),
        sizes=(("body.0.weight", None, 4),),
    ),
    _upscaler("HAT", "HAT", ("relative_position_index_SA", _CAB), stacks=("layers.",)),
    _upscaler("DAT", "DAT", ("before_RG.1.weight", "layers.0.blocks.0.attn.qkv.weight"), stacks=("layers.",)),
    _upscaler(
        "SwinIR",
        "SwinIR",
        (_FIRST, _INDEX),
        lacks=(_PATCH_EMBED + "proj.weight", _CAB),
        stacks=("layers.",),
    ),
    _upscaler("Swin2SR", "Swin2SR", (_FIRST, _INDEX, _PATCH_EMBED + "proj.weight"), stacks=("layers.",)),
    _upscaler("SPAN", "SPAN", ("conv_1.sk.weight", "block_1.c1_r.sk.weight")),
    _upscaler(
        "PLKSR",
        "PLKSR or RealPLKSR",
        ("feats.0.weight", "feats.1.lk.{conv,convs.0,mn_conv}.weight"),
        stacks=("feats.",),
    ),
    _upscaler("OmniSR", "OmniSR", ("input.weight", "residual_layer.0.residual_layer.0.layer.0.fn.0.weight")),
)
