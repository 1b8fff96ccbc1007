"""VAEs: how each is recognised, and the shape of its latent.

Source: comfy/sd.py 0.30.0, VAE.__init__. ``family`` is the class of the host's ``first_stage_model``; several VAEs
share one, so the row's id is what tells them apart.
"""

from __future__ import annotations

from typing import Any

from .plain import LatentShape, Row
from .reading import Count, Dim, Not, OneOf, Signature

SOURCE = "comfy/sd.py 0.30.0, VAE.__init__"
CONV_IN = "decoder.conv_in.weight"
CONV_IN3 = "decoder.conv_in.conv.weight"
SEEDVR2 = "decoder.up_blocks.2.upsamplers.0.upscale_conv.weight"
MAGE = "student.dconv_encoder.proj_out.weight"
SVD = "decoder.mid.block_1.mix_factor"
QUANT = "{decoder.,}post_quant_conv.weight"
NORMED = "bn.running_mean"
COG = "decoder.mid_block.resnets.0.norm1.norm_layer.weight"
WAN = "decoder.middle.0.residual.0.gamma"
WAN22 = "decoder.upsamples.0.upsamples.0.residual.2.weight"
TINY = "decoder.22.bias"
SD_FINETUNES = "the finetune: SD 1.5's, SDXL's and the fp16-fix have the same shapes"

#: All four are missing only where a VAE has three resolutions; in ComfyUI's and in diffusers' names.
FOURTH = (
    "encoder.down.2.downsample.conv.weight",
    "decoder.up.3.upsample.conv.weight",
    "encoder.down_blocks.2.downsamplers.0.conv.weight",
    "decoder.up_blocks.2.upsamplers.0.conv.weight",
)
FOURTH_ANY = "{" + ",".join(FOURTH) + "}"


def _row(id_: str, name: str, family: str, shape: LatentShape, *keys: str, **more: Any) -> Row:
    sign = Signature(keys, more.pop("lacks", ()), more.pop("sizes", ()))
    return Row(id_, name, sign, SOURCE, family, shape, **more)


def _kl(id_: str, name: str, family: str, shape: LatentShape, *keys: str, lacks: tuple[str, ...], **more: Any) -> Row:
    sizes = ((CONV_IN, 1, Not(64)), (CONV_IN, None, 4))
    # What the decoder's memory grows with: its width at full size, which smaller finetunes have less of.
    more["facts"] = {"decoder_width": Dim(CONV_IN, 0, divide=4)}
    return _row(id_, name, family, shape, CONV_IN, *keys, lacks=(SVD, SEEDVR2, MAGE, *lacks), sizes=sizes, **more)


_CHANNELS = Dim(CONV_IN, 1)

IMAGES = (
    _row("svd", "Stable Video Diffusion VAE", "AutoencodingEngine", LatentShape(4, 2, 8), SVD),
    _row(
        "taesd",
        "TAESD, tiny VAE",
        "TAESD",
        LatentShape(Dim("taesd_decoder.1.weight", 1), 2, 8),
        "taesd_decoder.1.weight",
    ),
    _row("stage-a", "Stable Cascade, stage A", "StageA", LatentShape(4, 2, 4), "vquantizer.codebook.weight"),
    _row(
        "stage-c-encoder",
        "Stable Cascade, encoder of stage C",
        "StageC_coder",
        LatentShape(16, 2, 32),
        "backbone.1.0.block.0.1.num_batches_tracked",
    ),
    _row(
        "stage-c-previewer",
        "Stable Cascade, previewer of stage C",
        "StageC_coder",
        LatentShape(16, 2, 8),
        "blocks.11.num_batches_tracked",
    ),
    _row(
        "stage-c",
        "Stable Cascade, encoder and previewer",
        "StageC_coder",
        LatentShape(16, 2, 32),
        "encoder.backbone.1.0.block.0.1.num_batches_tracked",
    ),
    _row("mage", "Mage-VAE", "MageVAE", LatentShape(128, 2, 16), MAGE),
    _row(
        "hunyuan-image",
        "HunyuanImage 2.1 VAE",
        "AutoencodingEngine",
        LatentShape(64, 2, 32),
        CONV_IN,
        lacks=(SVD, SEEDVR2, MAGE),
        sizes=((CONV_IN, 1, 64),),
    ),
    _kl("flux2", "Flux.2 VAE", "AutoencoderKL", LatentShape(_CHANNELS, 2, 16, times=4), QUANT, NORMED, lacks=()),
    _kl(
        "kl",
        "SD VAE (SD 1.5, SDXL)",
        "AutoencoderKL",
        LatentShape(_CHANNELS, 2, 8),
        QUANT,
        FOURTH_ANY,
        lacks=(NORMED,),
        undetermined=SD_FINETUNES,
    ),
    _kl(
        "kl-x4",
        "VAE of the x4 upscaler",
        "AutoencoderKL",
        LatentShape(_CHANNELS, 2, 4),
        QUANT,
        lacks=(NORMED, *FOURTH),
    ),
    _kl(
        "kl-plain",
        "VAE of SD3 or Flux.1",
        "AutoencodingEngine",
        LatentShape(_CHANNELS, 2, 8),
        FOURTH_ANY,
        lacks=(NORMED, QUANT),
        undetermined="SD3's from Flux.1's and Z-Image's",
    ),
    _row(
        "pixels",
        "No VAE: the model works on pixels",
        "PixelspaceConversionVAE",
        LatentShape(3, 2, 1),
        "pixel_space_vae",
    ),
)

_LTX = "decoder.up_blocks.0.res_blocks.0.conv1.conv.weight"
_MOCHI = "{decoder.,}blocks.2.blocks.3.stack.5.weight"
_MOCHI_ENCODER = "{encoder.,}layers.4.layers.1.attn_block.attn.qkv.weight"
_TINY_CHANNELS = Dim("decoder.1.weight", 1)

VIDEOS = (
    _row("seedvr2", "SeedVR2 VAE", "VideoAutoencoderKLWrapper", LatentShape(16, 3, 8, 4), SEEDVR2),
    _row(
        "hunyuan-refiner",
        "HunyuanImage 2.1 refiner VAE",
        "AutoencodingEngine",
        LatentShape(32, 3, 16, 4),
        CONV_IN,
        lacks=(SVD, SEEDVR2, MAGE),
        sizes=((CONV_IN, 1, 32), (CONV_IN, None, 5)),
    ),
    _row("mochi", "Mochi VAE", "VideoVAE", LatentShape(12, 3, 8, 6), _MOCHI),
    _row(
        "mochi-encoder",
        "Mochi VAE, encoder alone",
        "VideoVAE",
        LatentShape(12, 3, 8, 6),
        _MOCHI_ENCODER,
        lacks=(_MOCHI,),
    ),
    _row("ltx", "LTX-Video VAE", "VideoVAE", LatentShape(128, 3, 32, 8), _LTX, undetermined="the version"),
    _row(
        "hunyuan-video-1.5",
        "HunyuanVideo 1.5 VAE",
        "AutoencodingEngine",
        LatentShape(32, 3, 16, 4),
        CONV_IN3,
        lacks=(_LTX,),
        sizes=((CONV_IN3, 1, 32),),
    ),
    _row(
        "cogvideox",
        "CogVideoX VAE",
        "AutoencoderKLCogVideoX",
        LatentShape(Dim("encoder.conv_out.conv.weight", 0, divide=2), 3, 8, 4),
        CONV_IN3,
        COG,
        lacks=(_LTX,),
        sizes=((CONV_IN3, 1, Not(32)),),
    ),
    _row(
        "hunyuan-video",
        "HunyuanVideo VAE",
        "AutoencoderKL",
        LatentShape(Dim(CONV_IN3, 1), 3, 8, 4),
        CONV_IN3,
        lacks=(_LTX, COG),
        sizes=((CONV_IN3, 1, Not(32)),),
    ),
    _row(
        "cosmos",
        "Cosmos 1 VAE",
        "CausalContinuousVideoTokenizer",
        LatentShape(16, 3, 8, 8),
        "decoder.unpatcher3d.wavelets",
    ),
    _row("wan-2.2", "Wan 2.2 VAE (of the 5B model)", "WanVAE", LatentShape(48, 3, 16, 4), WAN, WAN22),
    _row(
        "wan-2.1",
        "Wan 2.1 VAE",
        "WanVAE",
        LatentShape(16, 3, 8, 4),
        WAN,
        lacks=(WAN22,),
        facts={"decoder_width": Dim("decoder.head.0.gamma", 0)},
        undetermined="Wan's from Qwen-Image's",
    ),
    _row(
        "tiny-video-16",
        "tiny video VAE (Wan 2.2 5B, LTX-2)",
        "TAEHV",
        LatentShape(_TINY_CHANNELS, 3, 16, 4),
        TINY,
        sizes=(("decoder.1.weight", 1, OneOf((48, 128))),),
    ),
    _row(
        "tiny-video-hv15",
        "tiny video VAE (HunyuanVideo 1.5)",
        "TAEHV",
        LatentShape(_TINY_CHANNELS, 3, 16, 4),
        TINY,
        sizes=(("decoder.1.weight", 1, 32), (TINY, 0, 12)),
    ),
    _row(
        "tiny-video",
        "tiny video VAE (Wan 2.1, HunyuanVideo)",
        "TAEHV",
        LatentShape(_TINY_CHANNELS, 3, 8, 4),
        TINY,
        sizes=(("decoder.1.weight", 1, Not(OneOf((32, 48, 128)))),),
        undetermined="Wan's from HunyuanVideo's, but for the dtype",
    ),
    _row(
        "minimax",
        "MiniMax H3 video VAE",
        "MiniMaxH3VideoVAE",
        LatentShape(24, 3, 16, 4),
        "decoder.transformer_blocks.0.scale1",
        "encoder.down.5.block.0.conv1.weight",
    ),
)

_MMAUDIO = "vocoder.activation_post.downsample.lowpass.filter"
_OOBLECK = "decoder.layers.1.layers.0.beta"
_OOBLECK_STRIDE = "decoder.layers.2.layers.1.{weight_v,parametrizations.weight.original1}"

SOUNDS = (
    _row(
        "oobleck",
        "Stable Audio VAE",
        "AudioOobleckVAE",
        LatentShape(64, 1, 1, 2048),
        _OOBLECK,
        sizes=((_OOBLECK_STRIDE, -1, Not(12)),),
    ),
    _row(
        "oobleck-48k",
        "ACE-Step 1.5 VAE",
        "AudioOobleckVAE",
        LatentShape(64, 1, 1, 1920),
        _OOBLECK,
        sizes=((_OOBLECK_STRIDE, -1, 12),),
    ),
    _row("ace", "ACE-Step 1 VAE", "MusicDCAE", LatentShape(8, 2, 1, 4096), "vocoder.backbone.channel_layers.0.0.bias"),
    _row("mmaudio", "MMAudio VAE", "AudioAutoencoder", LatentShape(20, 1, 1, 512 * (44100 / 16000)), _MMAUDIO),
    _row(
        "ltx-audio",
        "LTX-2 audio VAE",
        "AudioVAE",
        LatentShape(Dim("{audio_vae.,autoencoder.,}decoder.conv_in.conv.weight", 1), 2, 1, 4096),
        "{vocoder.,}vocoder.resblocks.0.convs1.0.weight",
        lacks=(_MMAUDIO,),
    ),
    _row(
        "stable-audio-3",
        "Stable Audio 3 VAE",
        "SA3AudioVAE",
        LatentShape(256, 1, 1, 4096),
        "decoder.layers.3.transformers.0.pre_norm.alpha",
        facts={"layers": Count("decoder.layers.3.transformers.")},
    ),
    _row(
        "minimax-audio",
        "MiniMax H3 audio VAE",
        "MiniMaxH3AudioVAE",
        LatentShape(32, 2, 1, 800),
        "pre_block.attn.zero_k_bias",
    ),
)

SOLIDS = (
    _row("hunyuan3d", "Hunyuan3D VAE", "ShapeVAE", LatentShape(4, 1, 8), "geo_decoder.cross_attn_decoder.ln_1.bias"),
    _row(
        "triposplat",
        "TripoSplat decoder",
        "OctreeGaussianDecoder",
        LatentShape(16, 1, 8),
        "gs.base_offset_scale",
        "octree.out_proj.weight",
    ),
)

ROWS: tuple[Row, ...] = (*IMAGES, *VIDEOS, *SOUNDS, *SOLIDS)
