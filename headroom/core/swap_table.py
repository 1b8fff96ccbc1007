"""How tools swap blocks: which end of the stack leaves the card, how many can, and what is copied in a step."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from .families.identity import Identity

WAN = frozenset(
    {
        "WAN21_T2V",
        "WAN21_I2V",
        "WAN21_FunControl2V",
        "WAN21_Vace",
        "WAN21_Camera",
        "WAN21_CausalAR_T2V",
        "WAN21_FlowRVS",
        "WAN21_HuMo",
        "WAN21_SCAIL",
        "WAN21_SCAIL2",
        "WAN22_T2V",
        "WAN22_Animate",
        "WAN22_Camera",
        "WAN22_S2V",
        "WAN22_WanDancer",
    }
)
HUNYUAN_VIDEO = frozenset({"HunyuanVideo", "HunyuanVideoI2V", "HunyuanVideoSkyreelsI2V"})
FLUX = frozenset({"Flux", "FluxInpaint", "FluxSchnell"})
#: A page each in musubi-tuner's docs/, and the models in sd-scripts' library/ that have enable_block_swap.
TRAINED = (
    WAN
    | HUNYUAN_VIDEO
    | FLUX
    | {"HunyuanVideo15", "HunyuanVideo15_SR_Distilled", "HunyuanImage21", "Flux2", "Chroma", "QwenImage", "ZImage"}
    | {"Lumina2", "SD3", "Anima", "Kandinsky5", "Kandinsky5Image", "LTXAV", "HiDreamO1", "Ideogram4", "Krea2"}
)


@dataclass(frozen=True)
class Convention:
    """One tool's meaning of ``blocks_to_swap``. In all of them a larger number means less VRAM."""

    id: str
    name: str
    end: Literal["last", "first"]
    """Which blocks leave the card."""
    loads: frozenset[str]
    """The families that it can load at all."""
    loads_words: str
    """The same for people: ``Wan models``."""
    more: int = 0
    """Blocks that leave beyond the number given: 1 in tools whose loop counts one too far."""
    stays: int = 0
    """Blocks that the tool never lets go."""
    copies_back: bool = True
    """A block is moved back to RAM after its turn, so that it crosses the link twice per pass."""
    prefetch: bool = False
    """Blocks can be fetched ahead; each one that is takes room of its own."""
    source: str = ""

    def refusal(self, model: Identity) -> str:
        """Why it cannot load a model, in a sentence; empty where it can, and for a model that is not known."""
        if model.family is None or model.family in self.loads:
            return ""
        return f"{self.name} loads {self.loads_words}, and this is {model.name}."

    def leaving(self, asked: int, total: int) -> int:
        """Blocks that leave the card when ``asked`` is set."""
        return min(asked + self.more, self.most(total)) if asked > 0 else 0

    def setting(self, leaving: int, total: int) -> int:
        """What to set so that at least ``leaving`` blocks leave; 0 is always no swap at all."""
        leaving = min(leaving, self.most(total))
        return max(1, leaving - self.more) if leaving > 0 else 0

    def most(self, total: int) -> int:
        """Blocks that can leave at most."""
        return max(0, total - self.stays)


CONVENTIONS = (
    Convention(
        "wan-wrapper",
        "WanVideoWrapper",
        "last",
        WAN,
        "Wan models alone",
        prefetch=True,
        source="ComfyUI-WanVideoWrapper, README",
    ),
    Convention(
        "wan-wrapper-2025-03",
        "WanVideoWrapper until March 2025",
        "first",
        WAN,
        "Wan models alone",
        source="ComfyUI-WanVideoWrapper 721cd65, nodes.py (passes one less to a loop that counts one more)",
    ),
    Convention(
        "hunyuan-wrapper",
        "HunyuanVideoWrapper, older Flux wrappers",
        "first",
        HUNYUAN_VIDEO | FLUX,
        "HunyuanVideo and Flux.1",
        more=1,
        source="their loops keep the blocks above the number (b > blocks_to_swap), so N+1 leave",
    ),
    Convention(
        "musubi-tuner",
        "musubi-tuner, sd-scripts",
        "last",
        TRAINED,
        "the transformers that these trainers swap, such as Wan, HunyuanVideo, Flux, Qwen-Image, Z-Image and SD3",
        stays=1,
        source="musubi-tuner docs, PR#862: 39 of 40 for Wan 14B, 29 of 30 for 1.3B",
    ),
)
WAN_WRAPPER = CONVENTIONS[0]


def convention(id_or_name: str) -> Convention:
    """The convention with this id or name.

    Raises:
        KeyError: there is none.
    """
    found = next((row for row in CONVENTIONS if id_or_name in (row.id, row.name)), None)
    if found is None:
        raise KeyError(id_or_name)
    return found
