"""Workflows and reports for the UI tests, and how they look into the page."""

from __future__ import annotations

import time
from typing import Any

from uikit import Frontend, graph

from headroom.core.report import Cells, Level, Report, Row, Table, Text

GUARD = "HeadroomLatentGuard"
ATTEMPTS = Table(
    ("Attempt", "Time, s", "Peak, GiB"),
    (
        Row(("bf16, full frame", "0.8", "15.6"), "out of memory: asked 3.1, had 1.9"),
        Row(("others evicted, again", "3.9", "15.7"), "out of memory: asked 3.1, had 2.7"),
        Row(("512 px tiles, overlap 64", "42.2", "11.9"), "finished", done=True),
    ),
    numbered=True,
)
BAD_ITEMS = (
    Cells(4, (1, 3)),
    Table(
        ("Item", "NaN", "Inf", "Finite range"),
        (Row(("1", "100.0 %", "0", "none")), Row(("3", "12.5 %", "8", "−65,504 to 65,120"))),
    ),
    Text("fp16 overflow in SDXL at 1024×1024. Try `--bf16-unet`.", lead="Likely"),
    Text("4 ch, 128×128, fp16, cuda:0, from KSampler #12", muted=True),
)
HTML = "<img src=x onerror=injected=1>"
FILE = "`output/headroom/latent_of_a_very_long_name_2026-03-09_14-02-31.latent`"

#: node id -> what it is sent; node 1 is sent nothing.
SAMPLES: dict[str, tuple[Level, str, str, tuple[Any, ...]]] = {
    "2": ("ok", "Clean", "0.4 ms", (Text("1 item, 16 ch, 21 frames, 60×104, fp16, cuda:0", muted=True),)),
    "3": ("error", "Items 1 and 3 of 4 are NaN; kept 0 and 2", "", BAD_ITEMS),
    "4": ("info", "Decoded in tiles: approximate", "46.9 s", (ATTEMPTS,)),
    "5": ("warn", "Decoded on the CPU", "3 min", (ATTEMPTS, Cells(32, (0, 5, 31)), ATTEMPTS, Text(FILE))),
    "6": ("info", HTML, HTML, (Text(f"`{HTML}`", lead=HTML), Table((HTML,), (Row((HTML,)),)))),
}


def sample(node: str) -> dict[str, Any]:
    level, title, figure, blocks = SAMPLES[node]
    return Report(level, title, figure, blocks, made_at=time.time()).as_json()


def guards(count: int = 6, size: tuple[float, float] = (300, 120)) -> dict[str, Any]:
    """That many Latent Guards, three in a row, linked to nothing."""
    return graph(
        [
            {"id": number + 1, "type": GUARD, "pos": [340 * (number % 3), 400 * (number // 3)], "size": list(size)}
            for number in range(count)
        ]
    )


def chain(latent: str = "", mode: str = "stop the run") -> dict[str, Any]:
    """A latent -> Latent Guard -> the host's VAE Decode -> preview; needs no model file."""
    source = {"id": 1, "type": "EmptyChromaRadianceLatentImage", "widgets_values": [64, 64, 1]}
    if latent:
        source = {"id": 1, "type": "LoadLatent", "widgets_values": [latent]}
    samples, vae = {"name": "samples", "type": "LATENT"}, {"name": "vae", "type": "VAE"}
    nodes = [
        {**source, "outputs": [{"name": "LATENT", "type": "LATENT", "links": [1]}]},
        {"id": 2, "type": GUARD, "inputs": [{**samples, "link": 1}], "widgets_values": [mode]},
        {"id": 3, "type": "VAELoader", "widgets_values": ["pixel_space"]},
        {"id": 4, "type": "VAEDecode", "inputs": [{**samples, "link": 2}, {**vae, "link": 3}]},
        {"id": 5, "type": "PreviewImage", "inputs": [{"name": "images", "type": "IMAGE", "link": 4}]},
    ]
    nodes[1]["outputs"] = [{"name": "LATENT", "type": "LATENT", "links": [2]}]
    nodes[2]["outputs"] = [{"name": "VAE", "type": "VAE", "links": [3]}]
    nodes[3]["outputs"] = [{"name": "IMAGE", "type": "IMAGE", "links": [4]}]
    for number, node in enumerate(nodes):
        node |= {"pos": [330 * number, 0], "size": [300, 120]}
    links = [[1, 1, 0, 2, 0, "LATENT"], [2, 2, 0, 4, 0, "LATENT"], [3, 3, 0, 4, 1, "VAE"], [4, 4, 0, 5, 0, "IMAGE"]]
    return graph(nodes, links)


def decode_short_of_memory(seconds: float) -> dict[str, Any]:
    """A decode on a VAE that runs out of memory above 16x16 and takes so long per attempt."""
    samples, vae = {"name": "samples", "type": "LATENT"}, {"name": "vae", "type": "VAE"}
    nodes = [
        {"type": "LoadLatent", "widgets_values": ["image_48.latent"]},
        {"type": "VAELoader", "widgets_values": ["tiny_kl.safetensors"]},
        {"type": "TestFaultyVAE", "inputs": [{**vae, "link": 2}], "widgets_values": [256, "", -1, seconds]},
        {
            "type": "HeadroomVAEDecode",
            "inputs": [{**samples, "link": 1}, {**vae, "link": 3}],
            "widgets_values": ["auto", 64],
        },
        {"type": "PreviewImage", "inputs": [{"name": "images", "type": "IMAGE", "link": 4}]},
    ]
    kinds = ["LATENT", "VAE", "VAE", "IMAGE"]
    for number, node in enumerate(nodes, 1):
        node |= {"id": number, "pos": [330 * number, 0], "size": [300, 120]}
    for node, kind, link in zip(nodes, kinds, (1, 2, 3, 4)):
        node["outputs"] = [{"name": kind, "type": kind, "links": [link]}]
    links = [[1, 1, 0, 4, 0, "LATENT"], [2, 2, 0, 3, 0, "VAE"], [3, 3, 0, 4, 1, "VAE"], [4, 4, 0, 5, 0, "IMAGE"]]
    return graph(nodes, links)


def element_of(ui: Frontend, node: str, script: str) -> Any:
    """What a script says of a node's report element."""
    find = "app.rootGraph.getNodeById(node).widgets.find((widget) => widget.name === 'headroom_report')"
    return ui.evaluate(f"(node) => (({script})({find}.element, app.rootGraph.getNodeById(node)))", node)


def undo(ui: Frontend) -> None:
    """Moves a node and takes it back: the frontend makes every node anew."""
    ui.evaluate(
        """async () => {
          const tracker = app.extensionManager.workflow.activeWorkflow.changeTracker;
          const node = app.rootGraph.nodes[0];
          node.pos = [node.pos[0] - 40, node.pos[1]];
          (tracker.captureCanvasState ?? tracker.checkState).call(tracker); // older frontends
          await tracker.undo();
        }"""
    )
    ui.settle()
