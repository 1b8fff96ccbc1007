"""The nodes, in the order of the menu."""

from .free_memory import FreeMemory
from .image_guard import ImageGuard
from .latent_guard import LatentGuard
from .model_guard import ModelGuard
from .vae_decode import VaeDecodeSafe
from .vae_encode import VaeEncodeSafe

NODES = (LatentGuard, ModelGuard, ImageGuard, VaeEncodeSafe, VaeDecodeSafe, FreeMemory)
