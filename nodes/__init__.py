"""The nodes, in the order of the menu."""

from .block_swap import BlockSwapEstimator
from .free_memory import FreeMemory
from .image_guard import ImageGuard
from .latent_guard import LatentGuard
from .model_guard import ModelGuard
from .offload import OffloadAdvisor
from .vae_decode import VaeDecodeSafe
from .vae_encode import VaeEncodeSafe
from .vram_budget import VramBudget

NODES = (
    LatentGuard,
    ModelGuard,
    ImageGuard,
    VaeEncodeSafe,
    VaeDecodeSafe,
    FreeMemory,
    VramBudget,
    BlockSwapEstimator,
    OffloadAdvisor,
)
