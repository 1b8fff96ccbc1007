"""The bundled workflows that plan: they run without any model, or before the sampler does."""

from __future__ import annotations

from workflow_parts import SDXL, Node, Workflow, note, text

FIT_NOTE = """**Will Wan 2.2 fit?**

No model file is needed: the examples at the end of each list stand for them. Choose your own files when you have them.

- **vram_gib** 0 plans for the card in this machine. Type in 12 or 16 to see what another card would do.
- **Block Swap Estimator**: for WanVideoWrapper. Link `blocks_to_swap` and `prefetch_blocks` to its block swap node.
  With ComfyUI's own loader, set nothing.
- **Offload Advisor**: both halves of Wan 2.2, the text encoder and the VAE. At 32 GB its RAM line matters most.
"""

WAN_RUN = {"width": 832, "height": 480, "frames": 81, "batch": 1, "cfg": 3.5}


def wan_swap(key: str, at: tuple[int, int], format_: str) -> Node:
    """One estimate of Wan 2.2 14B."""
    model = f"example: Wan 2.2 14B text to video, {format_}"
    values = {"model_file": model, **WAN_RUN, "loader": "WanVideoWrapper", "target": "fit the card"}
    return Node(key, "HeadroomBlockSwap", at, values, title=f"Block swap, {format_}", size=(420, 720))


WILL_WAN_FIT = Workflow(
    "Will_Wan_2.2_Fit",
    (
        note((-500, 0), FIT_NOTE, (420, 340)),
        wan_swap("fp8", (0, 0), "fp8"),
        wan_swap("q4", (500, 0), "GGUF Q4_K"),
        Node(
            "offload",
            "HeadroomOffload",
            (1000, 0),
            {
                "model_file": "example: Wan 2.2 14B text to video, fp8",
                **WAN_RUN,
                "second_model": "example: Wan 2.2 14B text to video, fp8",
                "text_encoder": "example: UMT5-XXL (Wan), fp8",
                "vae": "example: Wan 2.1 VAE, bf16",
            },
            size=(440, 860),
        ),
        Node("swap", "PreviewAny", (0, 920), links={"source": "fp8.blocks_to_swap"}, title="Blocks to swap, fp8"),
        Node("small", "PreviewAny", (500, 920), links={"source": "q4.blocks_to_swap"}, title="Blocks to swap, GGUF"),
        Node("line", "PreviewAny", (1000, 1040), links={"source": "offload.launch_line"}, title="For the start line"),
    ),
)

BUDGET_NOTE = """**A budget before the sampler**

- **VRAM Budget** says what the card has and whether sampling and decode fit at this size, before the sampler starts.
- Its latent goes on to the sampler, so that it is read first. It loads nothing itself.
- **headroom_gib** is what is left after the largest stage. It does not stop the run:
  cancel it where a stage does not fit.
"""

BUDGET_FIRST = Workflow(
    "Budget_Before_the_Sampler",
    (
        note((-60, -340), BUDGET_NOTE),
        Node("load", "CheckpointLoaderSimple", (-60, 0), {"ckpt_name": SDXL.name}, files=(SDXL,), size=(340, 110)),
        Node("size", "EmptyLatentImage", (-60, 160), {"width": 1024, "height": 1024, "batch_size": 1}, size=(340, 140)),
        text("good", (360, 240), "a lighthouse at dusk, photograph", "load.CLIP", "Positive prompt"),
        text("bad", (360, 450), "text, watermark", "load.CLIP", "Negative prompt"),
        Node(
            "budget",
            "HeadroomBudget",
            (360, -160),
            links={
                "anything": "size.LATENT",
                "model": "load.MODEL",
                "clip": "load.CLIP",
                "vae": "load.VAE",
                "latent": "size.LATENT",
            },
            size=(400, 340),
        ),
        Node(
            "sample",
            "KSampler",
            (840, 0),
            {"seed": 1, "steps": 25, "cfg": 6.5, "sampler_name": "dpmpp_2m", "scheduler": "karras", "denoise": 1.0},
            {
                "model": "load.MODEL",
                "positive": "good.CONDITIONING",
                "negative": "bad.CONDITIONING",
                "latent_image": "budget.anything",
            },
            size=(300, 280),
        ),
        Node(
            "decode",
            "HeadroomVAEDecode",
            (1200, 0),
            links={"samples": "sample.LATENT", "vae": "load.VAE"},
            size=(320, 230),
        ),
        Node(
            "save", "SaveImage", (1580, 0), {"filename_prefix": "Headroom"}, {"images": "decode.IMAGE"}, size=(320, 280)
        ),
    ),
)
