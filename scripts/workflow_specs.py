"""The bundled workflows as data: nodes with their values and links. ``scripts/workflows`` builds them in the frontend.

Node names and inputs are those of ComfyUI 0.30.0; a test checks that they exist.
"""

from __future__ import annotations

from workflow_parts import (
    AE,
    CLIP_L,
    FLUX,
    INPAINT,
    SDXL,
    T5,
    UMT5,
    WAN_VAE,
    Node,
    Workflow,
    model_guard,
    note,
    text,
    wan_model,
)
from workflow_planning import BUDGET_FIRST, WILL_WAN_FIT

SDXL_NOTE = """**Guarded SDXL**

- **Model Guard** names the first sampling step that turns NaN, and starts the sampling once more in a wider dtype.
- **Latent Guard** stops a bad latent before it is decoded.
- **VAE Decode (Safe)** decodes again in a wider precision what comes out NaN (SDXL's VAE does in fp16), and in tiles
  what does not fit.
- **Image Guard** names black pictures and black tiles.

Each shows on itself what it found. Start ComfyUI with `--fp16-vae` to see the decode at work.
"""
FLUX_NOTE = """**Guarded Flux**

- The model is 22 GiB in bf16: on a smaller card ComfyUI streams it. What then runs out is the memory for the decode.
- **VAE Decode (Safe)** first moves other models out of the way, then takes the largest tile that fits; its report lists
  every attempt.
- **Model Guard** watches each step: Flux in fp16 can overflow on cards without bf16.
"""
WAN_NOTE = """**Guarded Wan 2.2 14B**

Two models, each with its own **Model Guard**: the report says which of them went bad, and at which step, long before a
black video is written.

A **Latent Guard** stands between the two samplers and names bad frames; another one after them.

**VAE Decode (Safe)** tiles a video in space and never in time for this VAE (that gives blinking). If nothing fits, the
latent is saved and the error says where. `allow_cpu` is off for video: it can take hours.
"""
INPAINT_NOTE = """**Inpainting with safe encode and decode**

Open the picture in the mask editor (right click on Load Image) and paint what is to be replaced.

- **VAE Encode (Safe)** takes the mask as VAE Encode (for Inpainting) does, and goes on in tiles or in a wider precision
  where that one fails.
- **VAE Decode (Safe)** does the same on the way back.
"""

SDXL_TEXT_TO_IMAGE = Workflow(
    "Guarded_SDXL_Text_to_Image",
    (
        note(
            (-60, -340),
            SDXL_NOTE,
        ),
        Node("load", "CheckpointLoaderSimple", (-60, 0), {"ckpt_name": SDXL.name}, files=(SDXL,), size=(340, 110)),
        text("good", (360, 120), "a lighthouse on a cliff at dusk, film photograph", "load.CLIP", "Positive prompt"),
        text("bad", (360, 330), "text, watermark", "load.CLIP", "Negative prompt"),
        Node(
            "empty", "EmptyLatentImage", (360, 540), {"width": 1024, "height": 1024, "batch_size": 1}, size=(360, 120)
        ),
        model_guard("watch", (360, -160), "load.MODEL"),
        Node(
            "sample",
            "KSampler",
            (800, 0),
            {"seed": 1, "steps": 25, "cfg": 7.0, "sampler_name": "dpmpp_2m", "scheduler": "karras", "denoise": 1.0},
            {
                "model": "watch.MODEL",
                "positive": "good.CONDITIONING",
                "negative": "bad.CONDITIONING",
                "latent_image": "empty.LATENT",
            },
            size=(300, 280),
        ),
        Node("check", "HeadroomLatentGuard", (1140, 0), links={"samples": "sample.LATENT"}, size=(320, 140)),
        Node(
            "decode",
            "HeadroomVAEDecode",
            (1500, 0),
            links={"samples": "check.LATENT", "vae": "load.VAE"},
            size=(320, 230),
        ),
        Node("look", "HeadroomImageGuard", (1860, 0), links={"media": "decode.IMAGE"}, size=(320, 240)),
        Node(
            "save", "SaveImage", (2220, 0), {"filename_prefix": "Headroom"}, {"images": "look.media"}, size=(320, 280)
        ),
    ),
)

FLUX_TEXT_TO_IMAGE = Workflow(
    "Guarded_Flux_Text_to_Image",
    (
        note(
            (-60, -340),
            FLUX_NOTE,
        ),
        Node(
            "load",
            "UNETLoader",
            (-60, 0),
            {"unet_name": FLUX.name, "weight_dtype": "default"},
            files=(FLUX,),
            size=(340, 90),
        ),
        Node(
            "clip",
            "DualCLIPLoader",
            (-60, 140),
            {"clip_name1": CLIP_L.name, "clip_name2": T5.name, "type": "flux"},
            files=(CLIP_L, T5),
            size=(340, 140),
        ),
        Node("vae", "VAELoader", (-60, 330), {"vae_name": AE.name}, files=(AE,), size=(340, 70)),
        text("good", (360, 120), "a lighthouse on a cliff at dusk, film photograph", "clip.CLIP", "Prompt"),
        Node(
            "guidance",
            "FluxGuidance",
            (360, 330),
            {"guidance": 3.5},
            {"conditioning": "good.CONDITIONING"},
            size=(320, 70),
        ),
        Node("zero", "ConditioningZeroOut", (360, 450), links={"conditioning": "good.CONDITIONING"}, size=(320, 40)),
        Node(
            "empty",
            "EmptySD3LatentImage",
            (360, 540),
            {"width": 1024, "height": 1024, "batch_size": 1},
            size=(360, 120),
        ),
        model_guard("watch", (360, -160), "load.MODEL"),
        Node(
            "sample",
            "KSampler",
            (800, 0),
            {"seed": 1, "steps": 20, "cfg": 1.0, "sampler_name": "euler", "scheduler": "simple", "denoise": 1.0},
            {
                "model": "watch.MODEL",
                "positive": "guidance.CONDITIONING",
                "negative": "zero.CONDITIONING",
                "latent_image": "empty.LATENT",
            },
            size=(300, 280),
        ),
        Node("check", "HeadroomLatentGuard", (1140, 0), links={"samples": "sample.LATENT"}, size=(320, 140)),
        Node(
            "decode",
            "HeadroomVAEDecode",
            (1500, 0),
            links={"samples": "check.LATENT", "vae": "vae.VAE"},
            size=(320, 230),
        ),
        Node(
            "save", "SaveImage", (1860, 0), {"filename_prefix": "Headroom"}, {"images": "decode.IMAGE"}, size=(320, 280)
        ),
    ),
)


def _wan_sampler(key: str, at: tuple[int, int], model: str, latent: str, first: bool) -> Node:
    """Half of the schedule: high noise leaves its noise in, low noise adds none."""
    values = {
        "add_noise": "enable" if first else "disable",
        "noise_seed": 1 if first else 0,
        "steps": 20,
        "cfg": 3.5,
        "sampler_name": "euler",
        "scheduler": "simple",
        "start_at_step": 0 if first else 10,
        "end_at_step": 10 if first else 10000,
        "return_with_leftover_noise": "enable" if first else "disable",
    }
    links = {"model": model, "positive": "good.CONDITIONING", "negative": "bad.CONDITIONING", "latent_image": latent}
    return Node(key, "KSamplerAdvanced", at, values, links, f"{'High' if first else 'Low'} noise", size=(300, 340))


WAN_TEXT_TO_VIDEO = Workflow(
    "Guarded_Wan_2.2_14B_Text_to_Video",
    (
        note(
            (-60, -400),
            WAN_NOTE,
            (420, 320),
        ),
        *(
            Node(
                f"load_{noise}",
                "UNETLoader",
                (-60, top),
                {"unet_name": wan_model(noise).name, "weight_dtype": "default"},
                files=(wan_model(noise),),
                size=(360, 90),
            )
            for noise, top in (("high", 0), ("low", 330))
        ),
        Node("clip", "CLIPLoader", (-60, 660), {"clip_name": UMT5.name, "type": "wan"}, files=(UMT5,), size=(360, 110)),
        Node("vae", "VAELoader", (-60, 820), {"vae_name": WAN_VAE.name}, files=(WAN_VAE,), size=(360, 70)),
        *(
            Node(
                f"shift_{noise}",
                "ModelSamplingSD3",
                (340, top),
                {"shift": 8.0},
                {"model": f"load_{noise}.MODEL"},
                size=(300, 70),
            )
            for noise, top in (("high", 0), ("low", 330))
        ),
        *(
            model_guard(f"watch_{noise}", (680, top), f"shift_{noise}.MODEL")
            for noise, top in (("high", 0), ("low", 330))
        ),
        text("good", (340, 660), "a lighthouse on a cliff at dusk, waves, slow camera", "clip.CLIP", "Positive prompt"),
        text("bad", (340, 860), "static, blurred, text", "clip.CLIP", "Negative prompt"),
        Node(
            "empty",
            "EmptyHunyuanLatentVideo",
            (780, 660),
            {"width": 832, "height": 480, "length": 81, "batch_size": 1},
            size=(300, 150),
        ),
        _wan_sampler("high", (1120, 0), "watch_high.MODEL", "empty.LATENT", first=True),
        Node("between", "HeadroomLatentGuard", (1120, 400), links={"samples": "high.LATENT"}, size=(320, 140)),
        _wan_sampler("low", (1480, 0), "watch_low.MODEL", "between.LATENT", first=False),
        Node("check", "HeadroomLatentGuard", (1480, 400), links={"samples": "low.LATENT"}, size=(320, 140)),
        Node(
            "decode",
            "HeadroomVAEDecode",
            (1840, 0),
            links={"samples": "check.LATENT", "vae": "vae.VAE"},
            size=(320, 230),
        ),
        Node("video", "CreateVideo", (2200, 0), {"fps": 16.0}, {"images": "decode.IMAGE"}, size=(300, 80)),
        Node(
            "save",
            "SaveVideo",
            (2200, 140),
            {"filename_prefix": "video/Headroom"},
            {"video": "video.VIDEO"},
            size=(320, 280),
        ),
    ),
)

INPAINTING = Workflow(
    "Guarded_Inpainting",
    (
        note(
            (-60, -340),
            INPAINT_NOTE,
        ),
        Node(
            "load", "CheckpointLoaderSimple", (-60, 0), {"ckpt_name": INPAINT.name}, files=(INPAINT,), size=(340, 110)
        ),
        Node("image", "LoadImage", (-60, 160), {"image": "example.png"}, size=(340, 340)),
        text("good", (360, 120), "a bowl of fruit", "load.CLIP", "Positive prompt"),
        text("bad", (360, 330), "text, watermark", "load.CLIP", "Negative prompt"),
        model_guard("watch", (360, -160), "load.MODEL"),
        Node(
            "encode",
            "HeadroomVAEEncode",
            (360, 540),
            links={"pixels": "image.IMAGE", "vae": "load.VAE", "mask": "image.MASK"},
            size=(320, 400),
        ),
        Node(
            "sample",
            "KSampler",
            (800, 0),
            {"seed": 1, "steps": 20, "cfg": 8.0, "sampler_name": "uni_pc_bh2", "scheduler": "normal", "denoise": 1.0},
            {
                "model": "watch.MODEL",
                "positive": "good.CONDITIONING",
                "negative": "bad.CONDITIONING",
                "latent_image": "encode.LATENT",
            },
            size=(300, 280),
        ),
        Node("check", "HeadroomLatentGuard", (1140, 0), links={"samples": "sample.LATENT"}, size=(320, 140)),
        Node(
            "decode",
            "HeadroomVAEDecode",
            (1500, 0),
            links={"samples": "check.LATENT", "vae": "load.VAE"},
            size=(320, 230),
        ),
        Node(
            "save", "SaveImage", (1860, 0), {"filename_prefix": "Headroom"}, {"images": "decode.IMAGE"}, size=(320, 280)
        ),
    ),
)

WORKFLOWS = (SDXL_TEXT_TO_IMAGE, FLUX_TEXT_TO_IMAGE, WAN_TEXT_TO_VIDEO, INPAINTING, WILL_WAN_FIT, BUDGET_FIRST)
