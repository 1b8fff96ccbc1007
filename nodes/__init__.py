"""The nodes, in the order of the menu."""

from .latent_guard import LatentGuard
from .vae_decode import VaeDecodeSafe

NODES = (LatentGuard, VaeDecodeSafe)
