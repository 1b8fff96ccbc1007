"""Likely causes of NaN in an image, mask or track: launch flags first, then where to look next."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from .causes import Cause, rank
from .facts import Facts
from .image import MediaCheck

SAFE_DECODE = "HeadroomVAEDecode"
PLAIN_DECODES = frozenset({"VAEDecode", "VAEDecodeTiled"})


def likely(facts: Facts, check: MediaCheck, source: str) -> tuple[Cause, ...]:
    """The causes, likeliest first; never empty for something bad.

    Args:
        facts: those of the stage "decode".
        source: the node above, as "VAEDecode #8"; empty where unknown.
    """
    if check.finite:
        return ()
    return (*_flags(facts, check), _place(check, source))


def _flags(facts: Facts, check: MediaCheck) -> Sequence[Cause]:
    """Flags that make a VAE overflow. A mask comes from no VAE."""
    if check.medium == "mask":
        return ()
    nan = sum(bad.counts.nan for bad in check.bad)
    inf = sum(bad.counts.inf for bad in check.bad)
    # The host's dtype here is the diffusion model's, not that of the VAE, which an image does not tell.
    known = replace(facts, dtype=None, items=check.items, bad_items=len(check.bad_items), only_inf=inf > 0 and nan == 0)
    # "The latent was finite" is more than an image tells.
    return [cause for cause in rank(known) if cause.id != "unknown-decode"]


def _place(check: MediaCheck, source: str) -> Cause:
    params = {"source": source} if source else {}
    node = source.partition(" #")[0]
    if check.medium == "mask":
        above = source or "the node that made the mask"
        return Cause("mask-source", f"{above}, or what it was given. Put an Image Guard before it.", params)
    if check.medium == "audio":
        text = "a latent that was NaN already, or an overflow in the audio VAE. Put a Latent Guard before the decode."
        return Cause("audio-source", text, params)
    if node == SAFE_DECODE:
        text = f"a latent that was NaN already, which {source} was told to accept. Put a Latent Guard before it."
        return Cause("latent-accepted", text, params)
    if node in PLAIN_DECODES:
        text = (
            "an overflow in the VAE, or a latent that was NaN already. Put VAE Decode (Safe) in the place of "
            f"{source}: it tells which."
        )
        return Cause("decode-source", text, params)
    above = f"{source}, or the VAE decode before it" if source else "the VAE decode, or a node behind it"
    return Cause("image-source", f"{above}. Put VAE Decode (Safe) in the place of VAE Decode.", params)
