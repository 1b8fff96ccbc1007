"""Text encoders in ComfyUI's and transformers' names, and in those of llama.cpp and of the Wan wrapper.

Source: comfy/sd.py 0.30.0, detect_te_model; ``family`` is the host's TEModel. Rows that the host does not know, or that
it converts first, say so by their style.
"""

from __future__ import annotations

from typing import Any

from .plain import Row
from .reading import Count, Dim, Not, OneOf, Signature

SOURCE = "comfy/sd.py 0.30.0, detect_te_model"
CONVERTED = "comfy/sd.py 0.30.0, load_text_encoder_state_dicts and comfy/utils.py, clip_text_transformers_convert"
CLIP_MLP = "text_model.encoder.layers.{}.mlp.fc1.weight"
T5_GATED = "encoder.block.23.layer.1.DenseReluDense.wi_1.weight"
T5_PLAIN = "encoder.block.23.layer.1.DenseReluDense.wi.weight"
T5_FIRST = "encoder.block.0.layer.0.SelfAttention.k.weight"
#: Only umt5 has a position bias of its own in every block.
OWN_BIAS = "encoder.block.1.layer.0.SelfAttention.relative_attention_bias.weight"
JINA = "model.encoder.layers.0.mixer.Wqkv.weight"
T5_GEMMA = "model.encoder.layers.0.pre_self_attn_layernorm.weight"
LAYER = "model.layers.{}."
GEMMA = "model.layers.0.post_feedforward_layernorm.weight"
Q_NORM = "model.layers.{}.self_attn.q_norm.weight"
K_BIAS = "model.layers.0.self_attn.k_proj.bias"
NORM = "model.layers.0.post_attention_layernorm.weight"
QWEN35 = "model.language_model.layers.0.linear_attn.A_log"
QWEN35_NORM = "model.language_model.layers.0.input_layernorm.weight"
DEEPSTACK = "model.visual.deepstack_merger_list.0.norm.weight"
DEEPSTACK_TOO = "visual.deepstack_merger_list.0.norm.weight"
LONG_QWEN = "model.layers.49.self_attn.q_proj.weight"
VISION = "vision_model.embeddings.patch_embedding.weight"
OPEN_CLIP = "transformer.resblocks.{}.mlp.c_fc.weight"


def _row(id_: str, name: str, keys: tuple[str, ...], stack: str = "model.layers.", **more: Any) -> Row:
    sign = Signature(keys, more.pop("lacks", ()), more.pop("sizes", ()))
    source, family = more.pop("source", SOURCE), more.pop("family", id_)
    hidden = more.pop("hidden", "")
    facts = {"layers": Count(stack), **({"hidden_size": hidden} if hidden else {})}
    return Row(
        id_,
        name,
        sign,
        source,
        family,
        facts=facts,
        stacks=(stack,),
        hidden="hidden_size" if hidden else "",
        **more,
    )


_CLIP_STACK = "text_model.encoder.layers."
_CLIP_WIDTH = Dim("text_model.encoder.layers.0.mlp.fc1.weight", 1)
_OPEN_STACK = "transformer.resblocks."
_OPEN_WIDTH = Dim("transformer.resblocks.0.mlp.c_fc.weight", 1)

CLIPS = (
    _row("CLIP_G", "CLIP-G", (CLIP_MLP.format(30),), _CLIP_STACK, hidden=_CLIP_WIDTH),
    _row("CLIP_H", "CLIP-H", (CLIP_MLP.format(22),), _CLIP_STACK, hidden=_CLIP_WIDTH, lacks=(CLIP_MLP.format(30),)),
    _row("CLIP_L", "CLIP-L", (CLIP_MLP.format(0),), _CLIP_STACK, hidden=_CLIP_WIDTH, lacks=(CLIP_MLP.format(22),)),
    *(
        _row(
            f"{id_}/open_clip",
            name,
            # Other models have such blocks too, Hunyuan3D's VAE for one.
            (OPEN_CLIP.format(last), "token_embedding.weight"),
            _OPEN_STACK,
            hidden=_OPEN_WIDTH,
            family=id_,
            lacks=("visual.transformer.resblocks.0.attn.in_proj_weight", *lacks),
            source=CONVERTED,
            style="open_clip",
        )
        for id_, name, last, lacks in (
            ("CLIP_G", "CLIP-G", 30, ()),
            ("CLIP_H", "CLIP-H", 22, (OPEN_CLIP.format(30),)),
            ("CLIP_L", "CLIP-L", 0, (OPEN_CLIP.format(22),)),
        )
    ),
    _row("JINA_CLIP_2", "Jina CLIP 2", (JINA,), "model.encoder.layers."),
)

_T5_STACK = "encoder.block."
_T5_WIDTH = Dim(T5_FIRST, 1)
_SMALL_T5 = (T5_GATED, T5_PLAIN)


def _t5(id_: str, name: str, keys: tuple[str, ...], **more: Any) -> Row:
    return _row(id_, name, keys, _T5_STACK, hidden=_T5_WIDTH, **more)


T5S = (
    _t5("umt5-xxl", "umt5-xxl", (T5_GATED, OWN_BIAS), family="T5_XXL", sizes=((T5_GATED, 0, 10240),)),
    _t5("T5_XXL", "T5-XXL", (T5_GATED,), lacks=(OWN_BIAS,), sizes=((T5_GATED, 0, 10240),)),
    _t5("T5_XL", "T5-XL", (T5_GATED,), sizes=((T5_GATED, 0, 5120),)),
    _t5("T5_XXL_OLD", "T5-XXL, first version (T5 1.0 11B)", (T5_PLAIN,), lacks=(T5_GATED,)),
    _t5("BYT5_SMALL_GLYPH", "ByT5 small, for glyphs", (T5_FIRST,), lacks=_SMALL_T5, sizes=((T5_FIRST, 0, 384),)),
    _t5(
        "umt5-base",
        "umt5-base",
        (T5_FIRST, OWN_BIAS),
        family="T5_BASE",
        lacks=_SMALL_T5,
        sizes=((T5_FIRST, 0, Not(384)),),
    ),
    _t5("T5_BASE", "T5-base", (T5_FIRST,), lacks=(*_SMALL_T5, OWN_BIAS), sizes=((T5_FIRST, 0, Not(384)),)),
    _row("T5_GEMMA", "T5Gemma", (T5_GEMMA,), "model.encoder.layers."),
    _row(
        "umt5-xxl/wrapper",
        "umt5-xxl, in the Wan wrapper's names",
        ("blocks.0.pos_embedding.embedding.weight", "blocks.0.ffn.gate.0.weight", "token_embedding.weight"),
        "blocks.",
        hidden=Dim("token_embedding.weight", 1),
        family=None,
        source="WanVideoWrapper, its own loader; ComfyUI 0.30.0 does not know these names",
        style="wan wrapper",
    ),
)

_WIDTH = Dim("model.layers.0.input_layernorm.weight", 0)


def _llm(id_: str, name: str, keys: tuple[str, ...], **more: Any) -> Row:
    return _row(id_, name, keys, hidden=_WIDTH, **more)


#: Told apart by how many layers have a norm on the queries.
_GEMMA_LAYERS = tuple(Q_NORM.format(number) for number in (59, 47, 41, 34))
_NO_V = "model.layers.5.self_attn.v_proj.weight"

GEMMAS = (
    _llm("GEMMA_4_31B", "Gemma 4 31B", (GEMMA, _GEMMA_LAYERS[0])),
    _llm("GEMMA_4_12B", "Gemma 4 12B", (GEMMA, _GEMMA_LAYERS[1]), lacks=(_GEMMA_LAYERS[0], _NO_V)),
    _llm("GEMMA_3_12B", "Gemma 3 12B", (GEMMA, _GEMMA_LAYERS[1], _NO_V), lacks=_GEMMA_LAYERS[:1]),
    _llm("GEMMA_4_E4B", "Gemma 4 E4B", (GEMMA, _GEMMA_LAYERS[2]), lacks=_GEMMA_LAYERS[:2]),
    _llm("GEMMA_4_E2B", "Gemma 4 E2B", (GEMMA, _GEMMA_LAYERS[3]), lacks=_GEMMA_LAYERS[:3]),
    _llm("GEMMA_3_4B_VISION", "Gemma 3 4B with vision", (GEMMA, Q_NORM.format(0), VISION), lacks=_GEMMA_LAYERS),
    _llm("GEMMA_3_4B", "Gemma 3 4B", (GEMMA, Q_NORM.format(0)), lacks=(*_GEMMA_LAYERS, VISION)),
    _llm("GEMMA_2_2B", "Gemma 2 2B", (GEMMA,), lacks=(*_GEMMA_LAYERS, Q_NORM.format(0))),
)

_GPT_OSS = ("layers.0.self_attn.sinks", "layers.0.mlp.experts.gate_up_proj.weight")
#: Of the rows above; what is left is told apart by widths.
_OTHER_LLM = (GEMMA, QWEN35, DEEPSTACK)


def _qwen35(id_: str, name: str, width: Any) -> Row:
    return _row(
        id_,
        name,
        (QWEN35, QWEN35_NORM),
        "model.language_model.layers.",
        hidden=Dim(QWEN35_NORM, 0),
        sizes=((QWEN35_NORM, 0, width),),
    )


def _by_norm(id_: str, name: str, width: Any, q_norm: bool = False, **more: Any) -> Row:
    keys = (NORM, *((Q_NORM.format(0),) if q_norm else ()), *more.pop("keys", ()))
    lacks = (*_OTHER_LLM, *more.pop("lacks", ()))
    sizes = ((NORM, 0, width), (K_BIAS, 0, Not(OneOf((256, 512)))), *more.pop("sizes", ()))
    return _llm(id_, name, keys, lacks=lacks, sizes=sizes, **more)


_LAST_MISTRAL = "model.layers.39.post_attention_layernorm.weight"
#: With a norm on the queries these widths are Qwen 3.
_QWEN3 = {1024: ("QWEN3_06B", "0.6B"), 2048: ("QWEN3_2B", "2B"), 2560: ("QWEN3_4B", "4B"), 4096: ("QWEN3_8B", "8B")}
_MISTRALS = (3072, 5120)
LLAMA_KIND = "a language model of the Llama kind"

LLMS = (
    _row("GPT_OSS_20B", "GPT-OSS 20B", _GPT_OSS, "layers."),
    _llm("QWEN25_3B", "Qwen2.5-VL 3B", (K_BIAS,), lacks=(GEMMA, _GPT_OSS[0]), sizes=((K_BIAS, 0, 256),)),
    _llm("QWEN25_7B", "Qwen2.5-VL 7B", (K_BIAS,), lacks=(GEMMA, _GPT_OSS[0]), sizes=((K_BIAS, 0, 512),)),
    _qwen35("QWEN35_08B", "Qwen3.5 0.8B", 1024),
    _qwen35("QWEN35_4B", "Qwen3.5 4B", 2560),
    _qwen35("QWEN35_9B", "Qwen3.5 9B", 4096),
    _qwen35("QWEN35_27B", "Qwen3.5 27B", 5120),
    _qwen35("QWEN35_2B", "Qwen3.5 2B", Not(OneOf((1024, 2560, 4096, 5120)))),
    *(
        _row(
            id_,
            name,
            (DEEPSTACK,),
            "model.language_model.layers.",
            hidden=Dim("model.visual.merger.linear_fc2.weight", 0),
            lacks=(QWEN35,),
            sizes=(("model.visual.merger.linear_fc2.weight", 0, width),),
        )
        for id_, name, width in (
            ("QWEN3VL_4B", "Qwen3-VL 4B", 2560),
            ("QWEN3VL_8B", "Qwen3-VL 8B", Not(2560)),
        )
    ),
    _llm("QWEN3VL_32B", "Qwen3-VL 32B, first 50 layers", (DEEPSTACK_TOO, LONG_QWEN), lacks=_OTHER_LLM),
    *(_by_norm(id_, f"Qwen 3 {size}", width, True) for width, (id_, size) in _QWEN3.items()),
    _by_norm("MISTRAL3_24B", "Mistral Small 3 24B", 5120, keys=(_LAST_MISTRAL,), lacks=(DEEPSTACK_TOO,)),
    _by_norm("MISTRAL3_24B_PRUNED_FLUX2", "Mistral Small 3 24B, cut for Flux.2", 5120, lacks=(_LAST_MISTRAL,)),
    _by_norm("MINISTRAL_3_3B", "Ministral 3 3B", 3072),
    _by_norm("LLAMA3_8", "Llama 3 8B", 4096, lacks=(Q_NORM.format(0),)),
    # What is left the host takes for Llama 3, whatever its width.
    _by_norm(
        "LLAMA3_8/other",
        LLAMA_KIND,
        Not(OneOf((4096, *_MISTRALS))),
        family="LLAMA3_8",
        lacks=(Q_NORM.format(0),),
    ),
    _by_norm("LLAMA3_8/normed", LLAMA_KIND, Not(OneOf((*_QWEN3, *_MISTRALS))), True, family="LLAMA3_8"),
)

#: In GGUF files the names are llama.cpp's; ComfyUI-GGUF turns them into those above.
_GGUF = "ComfyUI-GGUF, loader.py: the names of llama.cpp"
_GGUF_NORM, _GGUF_Q_NORM = "blk.0.ffn_norm.weight", "blk.0.attn_q_norm.weight"
_GGUF_BIAS, _GGUF_GATE = "blk.0.attn_k.bias", "enc.blk.0.ffn_gate.weight"
_GGUF_GEMMA = "blk.0.post_ffw_norm.weight"


def _gguf(family: str, name: str, keys: tuple[str, ...], stack: str = "blk.", **more: Any) -> Row:
    width = Dim("token_embd.weight", 1)
    return _row(
        f"{family}/gguf" if name != "umt5-xxl" else "umt5-xxl/gguf",
        name,
        keys,
        stack,
        family=family,
        hidden=width,
        source=_GGUF,
        style="llama.cpp",
        **more,
    )


GGUFS = (
    _gguf("T5_XXL", "umt5-xxl", (_GGUF_GATE, "enc.blk.1.attn_rel_b.weight"), "enc.blk."),
    _gguf("T5_XXL", "T5-XXL", (_GGUF_GATE,), "enc.blk.", lacks=("enc.blk.1.attn_rel_b.weight",)),
    _gguf("QWEN25_3B", "Qwen2.5-VL 3B", (_GGUF_NORM, _GGUF_BIAS), sizes=((_GGUF_BIAS, 0, 256),)),
    _gguf("QWEN25_7B", "Qwen2.5-VL 7B", (_GGUF_NORM, _GGUF_BIAS), sizes=((_GGUF_BIAS, 0, 512),)),
    *(
        _gguf(id_, f"Qwen 3 {size}", (_GGUF_NORM, _GGUF_Q_NORM), lacks=(_GGUF_GEMMA,), sizes=((_GGUF_NORM, 0, width),))
        for width, (id_, size) in _QWEN3.items()
    ),
    _gguf("GEMMA_3_12B", "Gemma 3 12B", (_GGUF_GEMMA, "blk.47.attn_q_norm.weight")),
    _gguf("GEMMA_3_4B", "Gemma 3 4B", (_GGUF_GEMMA, _GGUF_Q_NORM), lacks=("blk.47.attn_q_norm.weight",)),
    _gguf("GEMMA_2_2B", "Gemma 2 2B", (_GGUF_GEMMA,), lacks=(_GGUF_Q_NORM,)),
    *(
        _gguf(id_, name, (_GGUF_NORM,), lacks=(_GGUF_Q_NORM, _GGUF_BIAS, _GGUF_GEMMA), sizes=((_GGUF_NORM, 0, width),))
        for id_, name, width in (
            ("MISTRAL3_24B", "Mistral Small 3 24B", 5120),
            ("MINISTRAL_3_3B", "Ministral 3 3B", 3072),
            ("LLAMA3_8", "Llama 3 8B", 4096),
        )
    ),
)

ROWS: tuple[Row, ...] = (*CLIPS, *T5S, *GEMMAS, *LLMS, *GGUFS)
