"""LoRAs and their kin: for which family, how many ranks, in whose names.

Which layers a LoRA names, and how wide they are, tells what it is for; ``lora_rows`` says how. Sources: comfy/lora.py
0.30.0 (model_lora_keys_unet, model_lora_keys_clip) and comfy/weight_adapter 0.30.0 for the names.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from itertools import islice

from ..tensorinfo import TensorInfo
from .identity import Identity
from .index import Index
from .lora_rows import ROWS, Layers

#: Ends of names: the half that reads a layer's input, whose first length is the rank, and the half that writes.
DOWN = (
    *(".lora_down.weight", ".lora_A.weight", ".lora_A.default.weight", ".lora.down.weight", "_lora.down.weight"),
    *(".lora_linear_layer.down.weight", ".lora_A"),
)
UP = (
    *(".lora_up.weight", ".lora_B.weight", ".lora_B.default.weight", ".lora.up.weight", "_lora.up.weight"),
    *(".lora_linear_layer.up.weight", ".lora_B"),
)
#: LoHa, LoKr, OFT, BOFT, GLoRA and whole differences.
OTHER = (
    *(".hada_w1_a", ".hada_w1_b", ".hada_w2_a", ".hada_w2_b", ".hada_t1", ".hada_t2"),
    *(".lokr_w1", ".lokr_w2", ".lokr_w1_a", ".lokr_w1_b", ".lokr_w2_a", ".lokr_w2_b", ".lokr_t2", ".oft_blocks"),
    *(".a1.weight", ".a2.weight", ".b1.weight", ".b2.weight", ".diff", ".diff_b", ".set_weight"),
)
BESIDE = (".alpha", ".dora_scale", ".lora_mid.weight", ".rescale", ".reshape_weight", ".w_norm", ".b_norm")
WEIGHTS = (*DOWN, *UP, *OTHER)
ENDS = (*WEIGHTS, *BESIDE)
#: From this share of a file's names on it is an adapter; a model with some layers patched is none.
SHARE = 0.5
#: Names that are looked at before all are.
SAMPLE = 40

#: Beginnings of names, which trainers add, and whose they are. The first that fits counts.
STYLES = (
    ("lora_unet_", "kohya"),
    ("lora_te", "kohya"),
    ("lora_prior_unet_", "kohya"),
    ("lora_transformer_", "onetrainer"),
    ("lycoris_", "lycoris"),
    ("unet.base_model.model.", "peft"),
    ("base_model.model.", "peft"),
    ("transformer.", "diffusers"),
    ("unet.", "diffusers"),
    ("text_encoder", "diffusers"),
    ("model.diffusion_model.", "comfy"),
    ("diffusion_model.", "comfy"),
)
TEXT_ENCODER = ("lora_te", "lora_prior_te", "text_encoder")
_NUMBER = re.compile(r"(?<=_)[0-9]+(?=_|$)")
_FIRST_NUMBER = re.compile(r"^(.*?)_([0-9]{1,6})(?:_|$)")


def identify_lora(index: Index) -> Identity | None:
    """What a LoRA is for; None where the file is none."""
    if not index.tensors or not any(name.endswith(ENDS) for name in islice(index.tensors, SAMPLE)):
        return None
    if sum(name.endswith(ENDS) for name in index.tensors) < SHARE * len(index.tensors):
        return None
    if "lora_controlnet" in index.tensors:
        return None
    layers, text_layers, style = read_layers(index)
    row = next((row for row in ROWS if row.matches(layers)), None)
    name = row.name if row else "a text encoder" if text_layers and not layers.names else "an unknown model"
    ranks = Counter(tensor.shape[0] for tensor in halves(index, DOWN) if tensor.shape)
    return Identity(
        kind="lora",
        status="known" if row or not layers.names else "unknown",
        name=f"LoRA for {name}",
        row=row.id if row else "",
        family=None,
        style=style,
        sizes={
            "rank": max(ranks, key=lambda rank: (ranks[rank], rank)) if ranks else None,
            "rank_min": min(ranks, default=None),
            "rank_max": max(ranks, default=None),
            "layers": len(layers.names),
            "text_encoder_layers": text_layers,
            "kind": adapter_kind(index),
        },
        fits=row.fits if row else (),
    )


def halves(index: Index, ends: tuple[str, ...]) -> Iterator[TensorInfo]:
    """The tensors whose names end so."""
    return (tensor for name, tensor in index.tensors.items() if name.endswith(ends))


def adapter_kind(index: Index) -> str:
    """LoRA, LoHa, LoKr, OFT, GLoRA or a difference; DoRA where a LoRA has magnitudes too."""
    ends = Counter(_end(name) for name in index.tensors)
    kinds = (("hada", "LoHa"), ("lokr", "LoKr"), ("oft", "OFT"), ("a1.", "GLoRA"), ("diff", "difference"))
    if not any(end in DOWN for end in ends):
        return next((kind for part, kind in kinds if any(part in end for end in ends)), "LoRA")
    return "DoRA" if ".dora_scale" in ends else "LoRA"


def _end(name: str) -> str:
    return next((end for end in ENDS if name.endswith(end)), "")


def read_layers(index: Index) -> tuple[Layers, int, str]:
    """The layers of the diffusion model, the number of layers of text encoders, and the trainer's style."""
    layers = Layers()
    text: set[str] = set()
    styles: Counter[str] = Counter()
    for name, tensor in index.tensors.items():
        end = next((end for end in WEIGHTS if name.endswith(end)), None)
        if end is None:
            continue
        path = name[: -len(end)]
        if path.startswith(TEXT_ENCODER):
            text.add(path)
            continue
        start, style = next(((s, style) for s, style in STYLES if path.startswith(s)), ("", "plain"))
        styles[style] += 1
        _add_layer(layers, path[len(start) :].replace(".", "_"), end, tensor)
    return layers, len(text), max(styles, key=lambda style: styles[style], default="kohya" if text else "plain")


def _add_layer(layers: Layers, path: str, end: str, tensor: TensorInfo) -> None:
    layer = _NUMBER.sub("#", path)
    layers.names.add(layer)
    first = _FIRST_NUMBER.match(path)
    if first is not None:
        stem, number = first.group(1), int(first.group(2))
        layers.last[stem] = max(layers.last.get(stem, number), number)
    if end in DOWN and len(tensor.shape) > 1:
        layers.widths.setdefault(layer, tensor.shape[1])
    elif end in UP and tensor.shape:
        layers.outs.setdefault(layer, tensor.shape[0])
