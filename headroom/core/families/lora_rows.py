"""What each family's LoRAs look like: parts of layer names, and how wide some layers are.

Names are those of ``Layers.names``: without the trainer's beginning, ``_`` for a dot and ``#`` for a number.
Source: the layers of the host's models and the names that comfy/lora.py 0.30.0 takes for them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass
class Layers:
    """The layers that a LoRA changes; filled while its names are read."""

    names: set[str] = field(default_factory=set)
    widths: dict[str, int] = field(default_factory=dict)
    """Layer -> length of its input."""
    outs: dict[str, int] = field(default_factory=dict)
    """Layer -> length of its output."""
    last: dict[str, int] = field(default_factory=dict)
    """Stem before the first number -> the largest number seen."""

    def any(self, parts: tuple[str, ...]) -> bool:
        """Whether some layer has one of these in its name."""
        return any(part in name for name in self.names for part in parts)


@dataclass(frozen=True)
class LoraRow:
    """One target."""

    id: str
    name: str
    fits: tuple[str, ...]
    """The host's class names."""
    parts: tuple[str, ...]
    """One of these is in some layer's name."""
    lacks: tuple[str, ...] = ()
    """None of these is in any layer's name."""
    width: tuple[tuple[str, ...], tuple[int, ...]] | None = None
    """(parts of layers' names, what their input may measure): at least one is there, and all that are agree."""
    out: tuple[tuple[str, ...], tuple[int, ...]] | None = None
    """The same for outputs."""
    beyond: tuple[tuple[str, int], ...] = ()
    """(stem, number): some block of one of these stems has at least this number."""
    within: tuple[tuple[str, int], ...] = ()
    """(stem, number): no block of any of these stems has a larger number."""

    def matches(self, layers: Layers) -> bool:
        """Whether a LoRA's layers are this target's."""
        return (
            layers.any(self.parts)
            and not layers.any(self.lacks)
            and _measure(self.width, layers.widths)
            and _measure(self.out, layers.outs)
            and (not self.beyond or any(layers.last.get(stem, -1) >= number for stem, number in self.beyond))
            and all(layers.last.get(stem, -1) <= number for stem, number in self.within)
        )


def _measure(expected: tuple[tuple[str, ...], tuple[int, ...]] | None, found: dict[str, int]) -> bool:
    if expected is None:
        return True
    parts, allowed = expected
    sizes = {size for name, size in found.items() if any(part in name for part in parts)}
    return bool(sizes) and sizes <= set(allowed)


UNET = ("down_blocks_#_", "mid_block_", "up_blocks_#_", "input_blocks_#_", "middle_block_#_", "output_blocks_#_")
TO_TEXT = ("attn2_to_k", "attn2_to_v", "attn2_processor_to_k", "attn2_processor_to_v")
#: Layers that every trainer touches.
DOUBLE = ("double_blocks_#_img_attn_qkv", "double_blocks_#_img_attn_proj", "double_blocks_#_img_mlp")
SINGLE = ("single_blocks_#_linear1", "single_blocks_#_linear2")
FLUX_DIFFUSERS = ("single_transformer_blocks_#_", "transformer_blocks_#_attn_add_k_proj")
FLUX = (*DOUBLE, *SINGLE, *FLUX_DIFFUSERS)
FLUX_IN = ("img_attn_qkv", "single_blocks_#_linear1", "blocks_#_attn_to_q", "blocks_#_attn_add_q_proj")
FLUX_MODULATION = ("img_mod_lin", "single_blocks_#_modulation", "blocks_#_norm1_linear", "blocks_#_norm_linear")
NOT_FLUX = ("img_mlp_net", "img_mod_#", "joint_transformer_blocks", "distilled_guidance_layer", "img_mlp_fc1")

_WAN = ("blocks_#_self_attn_q", "blocks_#_cross_attn_k", "blocks_#_ffn_#")
_NOT_WAN = ("self_attn_q_proj", "cross_attn_k_proj", "mlp_layer1", "cross_attn_kv_linear", "cross_attn_q_linear")
_WAN_IN = ("self_attn_q", "self_attn_k", "self_attn_v")
WAN_14B = ("WAN21_T2V", "WAN21_I2V", "WAN21_FunControl2V", "WAN21_Vace", "WAN21_Camera", "WAN22_Camera")
WAN_14B = (*WAN_14B, "WAN22_S2V", "WAN21_HuMo", "WAN22_Animate", "WAN21_SCAIL", "WAN21_SCAIL2", "WAN22_WanDancer")
WAN_SMALL = ("WAN21_T2V", "WAN21_Vace", "WAN21_CausalAR_T2V", "WAN21_FlowRVS")
_ATTN1 = ("transformer_blocks_#_attn1_to_q", "transformer_blocks_#_attn1_to_k", "transformer_blocks_#_attn1_to_v")
_BLOCK_ATTN1 = ("transformer_blocks_#_attn1", "transformer_blocks_#_attn2", "transformer_blocks_#_ff_")
_JOINT = ("transformer_blocks_#_attn_add_k_proj", "transformer_blocks_#_attn_to_q", "transformer_blocks_#_attn_to_k")
_JOINT_IN = ("transformer_blocks_#_attn_to_q", "transformer_blocks_#_attn_to_k", "transformer_blocks_#_attn_add_k")
_LAYERS = ("layers_#_attention_", "layers_#_feed_forward_", "layers_#_adaLN_modulation")
_LAYERS_IN = ("attention_qkv", "attention_to_q", "attention_to_k", "feed_forward_w1")


def _unet(id_: str, name: str, fits: tuple[str, ...], width: int) -> LoraRow:
    return LoraRow(id_, name, fits, UNET, width=(TO_TEXT, (width,)))


def _wan(id_: str, name: str, fits: tuple[str, ...], width: int, **more: Any) -> LoraRow:
    lacks = (*_NOT_WAN, *more.pop("lacks", ()))
    return LoraRow(id_, name, fits, more.pop("parts", _WAN), lacks=lacks, width=(_WAN_IN, (width,)))


HUNYUAN = ("HunyuanVideo", "HunyuanVideoI2V", "HunyuanVideoSkyreelsI2V")
FLUX1 = ("Flux", "FluxSchnell", "FluxInpaint", "LongCatImage")
WAN_I2V = ("WAN21_I2V", "WAN21_FunControl2V", "WAN21_Camera", "WAN22_Animate", "WAN21_SCAIL", "WAN21_SCAIL2")
_QWEN = ("transformer_blocks_#_img_mod_", "transformer_blocks_#_img_mlp_net", "transformer_blocks_#_txt_mlp_net")
_COG = ("CogVideoX_T2V", "CogVideoX_I2V", "CogVideoX_Inpaint")

UNETS = (
    # A number right after a number: only Stable Cascade has that.
    LoraRow(
        "cascade", "Stable Cascade", ("Stable_Cascade_C", "Stable_Cascade_B"), ("down_blocks_#_#_", "up_blocks_#_#_")
    ),
    _unet("sd15", "Stable Diffusion 1.5", ("SD15", "SD15_instructpix2pix"), 768),
    _unet("sd2", "Stable Diffusion 2", ("SD20", "SD21UnclipL", "SD21UnclipH"), 1024),
    _unet("sdxl", "SDXL", ("SDXL", "SDXL_instructpix2pix", "SSD1B", "Segmind_Vega", "KOALA_700M", "KOALA_1B"), 2048),
    _unet("sdxl-refiner", "the SDXL refiner", ("SDXLRefiner",), 1280),
    LoraRow("unet", "Stable Diffusion, which one is not seen", ("SD15", "SD20", "SDXL"), UNET),
)

#: Models with double and single blocks share most names; widths and numbers of blocks tell them apart.
DOUBLES = (
    LoraRow("joyimage", "JoyImage", ("JoyImage",), ("double_blocks_#_attn_img_attn_",)),
    LoraRow("chroma", "Chroma", ("Chroma", "ChromaRadiance"), ("distilled_guidance_layer",)),
    LoraRow("hunyuan-image", "HunyuanImage 2.1", ("HunyuanImage21",), DOUBLE, width=(FLUX_IN, (3584,))),
    LoraRow(
        "hunyuan-image-refiner",
        "the HunyuanImage 2.1 refiner",
        ("HunyuanImage21Refiner",),
        DOUBLE,
        width=(FLUX_IN, (3328,)),
    ),
    LoraRow(
        "hunyuan-video-1.5",
        "HunyuanVideo 1.5",
        ("HunyuanVideo15", "HunyuanVideo15_SR_Distilled"),
        DOUBLE,
        width=(FLUX_IN, (2048,)),
    ),
    LoraRow("hunyuan-video", "HunyuanVideo", HUNYUAN, ("img_mlp_fc1", "individual_token_refiner")),
    # Flux.1 has 19 double and 38 single blocks of the same sizes, HunyuanVideo one and two more.
    LoraRow(
        "hunyuan-video/kohya",
        "HunyuanVideo",
        HUNYUAN,
        (*DOUBLE, *SINGLE),
        width=(FLUX_IN, (3072,)),
        out=(("single_blocks_#_linear1", "img_attn_qkv"), (21504, 9216)),
        beyond=(("double_blocks", 19), ("single_blocks", 38)),
    ),
    LoraRow("flux2", "Flux.2", ("Flux2",), ("attn_to_qkv_mlp_proj", "double_stream_modulation")),
    LoraRow("flux2/wide", "Flux.2", ("Flux2",), FLUX, lacks=NOT_FLUX, width=(FLUX_IN, (4096, 6144))),
    LoraRow("flux2/small", "Flux.2", ("Flux2",), SINGLE, out=(("single_blocks_#_linear1",), (27648,))),
)

JOINTS = (
    LoraRow("lens", "Lens", ("Lens",), ("transformer_blocks_#_img_mlp_w1",)),
    LoraRow("mage", "Mage-Flow or Qwen-Image", ("MageFlow", "QwenImage"), _QWEN, within=(("transformer_blocks", 11),)),
    LoraRow("qwen", "Qwen-Image", ("QwenImage",), _QWEN),
    LoraRow(
        "qwen/attention",
        "Qwen-Image",
        ("QwenImage",),
        _JOINT,
        lacks=("single_transformer_blocks", "cross_attn", "attn1"),
        width=(_JOINT_IN, (3072,)),
        beyond=(("transformer_blocks", 19),),
    ),
    LoraRow(
        "sd3",
        "Stable Diffusion 3",
        ("SD3",),
        ("joint_blocks_#_", *_JOINT),
        lacks=("single_transformer_blocks", "joint_transformer_blocks", "cross_attn"),
        width=((*_JOINT_IN, "attn_qkv", "attn_proj"), (1536, 2432)),
    ),
    LoraRow("flux", "Flux.1", FLUX1, FLUX_MODULATION, lacks=NOT_FLUX, width=(FLUX_IN, (3072,))),
    LoraRow(
        "flux/attention",
        "Flux.1 or Chroma",
        (*FLUX1, "Chroma", "ChromaRadiance"),
        FLUX,
        lacks=(*NOT_FLUX, *FLUX_MODULATION),
        width=(FLUX_IN, (3072,)),
    ),
    LoraRow("flux/part", "Flux.1 or Chroma", (*FLUX1, "Chroma", "ChromaRadiance"), FLUX, lacks=NOT_FLUX),
)

VIDEOS = (
    _wan("wan-i2v", "Wan 2.1 14B image to video", WAN_I2V, 5120, parts=("cross_attn_k_img",)),
    _wan("wan-14b", "Wan 2.1/2.2 14B", WAN_14B, 5120),
    _wan("wan-5b", "Wan 2.2 5B", ("WAN22_T2V",), 3072),
    _wan("wan-1.3b", "Wan 2.1 1.3B", WAN_SMALL, 1536),
    LoraRow("wan", "Wan, which size is not seen", ("WAN21_T2V", "WAN21_I2V", "WAN22_T2V"), _WAN, lacks=_NOT_WAN),
    LoraRow(
        "anima",
        "Anima or Cosmos Predict 2",
        ("Anima", "CosmosT2IPredict2", "CosmosI2VPredict2"),
        ("blocks_#_self_attn_q_proj", "blocks_#_mlp_layer1", "llm_adapter_blocks"),
    ),
    LoraRow("cosmos", "Cosmos 1", ("CosmosT2V", "CosmosI2V"), ("_blocks_#_block_attn_to_",)),
    LoraRow("ltx-av", "LTX-2", ("LTXAV",), ("audio_attn", "audio_to_video_attn", "video_to_audio_attn", "audio_ff")),
    LoraRow("ltx-2b", "LTX-Video 2B", ("LTXV",), _BLOCK_ATTN1, width=(_ATTN1, (2048,))),
    LoraRow("ltx-13b", "LTX-Video 13B or LTX-2", ("LTXV", "LTXAV"), _BLOCK_ATTN1, width=(_ATTN1, (4096,))),
    LoraRow("pixart", "PixArt", ("PixArtAlpha", "PixArtSigma"), _BLOCK_ATTN1, width=(_ATTN1, (1152,))),
    LoraRow("cogvideox", "CogVideoX", _COG, _BLOCK_ATTN1, width=(_ATTN1, (1920, 3072))),
    LoraRow("cogvideox/comfy", "CogVideoX", _COG, ("blocks_#_attn_out", "blocks_#_ff_proj")),
    LoraRow("mochi", "Mochi", ("GenmoMochi",), ("blocks_#_attn_qkv_x", "blocks_#_attn_proj_x")),
    LoraRow("kandinsky", "Kandinsky 5", ("Kandinsky5", "Kandinsky5Image"), ("visual_transformer_blocks_#_",)),
)

IMAGES = (
    LoraRow("z-image", "Z-Image", ("ZImage", "ZImagePixelSpace"), _LAYERS, width=(_LAYERS_IN, (3840,))),
    LoraRow("lumina2", "Lumina 2", ("Lumina2",), _LAYERS, width=(_LAYERS_IN, (2304,))),
    LoraRow("ideogram", "Ideogram 4", ("Ideogram4",), _LAYERS, width=(_LAYERS_IN, (4608,))),
    LoraRow("pixart/comfy", "PixArt", ("PixArtAlpha", "PixArtSigma"), ("cross_attn_kv_linear",)),
    LoraRow("hidream", "HiDream I1", ("HiDream",), ("double_stream_blocks_#_block", "single_stream_blocks_#_block")),
    LoraRow("hidream-o1", "HiDream O1", ("HiDreamO1",), ("language_model_layers_#_",)),
    LoraRow("aura", "AuraFlow", ("AuraFlow",), ("joint_transformer_blocks_#_", "double_layers_#_", "single_layers_#_")),
    LoraRow("krea2", "Krea 2", ("Krea2",), ("blocks_#_attn_wq", "blocks_#_attn_to_gate", "txtfusion_", "text_fusion_")),
    LoraRow("ernie", "Ernie-Image", ("ErnieImage",), ("layers_#_self_attention_", "layers_#_mlp_linear_fc2")),
    LoraRow("hunyuan-dit", "Hunyuan-DiT", ("HunyuanDiT", "HunyuanDiT1"), ("blocks_#_attn1_Wqkv", "blocks_#_attn2_kv_")),
    LoraRow("boogu", "Boogu-Image", ("Boogu",), ("double_stream_layers_#_", "single_stream_layers_#_")),
    LoraRow("omnigen2", "OmniGen 2", ("Omnigen2",), ("layers_#_attn_to_q", "ref_image_refiner_")),
)

SOUNDS = (
    LoraRow(
        "ace15",
        "ACE-Step 1.5",
        ("ACEStep15",),
        ("layers_#_cross_attn_q_proj", "decoder_layers_#_", "encoder_lyric_encoder_layers"),
    ),
    LoraRow("ace", "ACE-Step 1", ("ACEStep",), ("transformer_blocks_#_cross_attn_", "lyric_encoder_", "speaker_embed")),
)

ROWS: tuple[LoraRow, ...] = (*UNETS, *DOUBLES, *JOINTS, *VIDEOS, *IMAGES, *SOUNDS)
