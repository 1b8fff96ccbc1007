"""Which model a file is, from its header: tables of data, and a small engine that reads them.

``identify`` is the one function; ``FAMILIES`` has the host's diffusion classes by name.

To add a diffusion family: a ``Family`` in the table of its architecture, or an ``Architecture`` of its own, and a file
in tests/data/families with constructor arguments of the host's class. The tests then compare it with the host.
"""

from __future__ import annotations

from .identify import identify
from .identity import Identity, Latent, Part, StackFound
from .table import ARCHITECTURES, FAMILIES

__all__ = ["ARCHITECTURES", "FAMILIES", "Identity", "Latent", "Part", "StackFound", "identify"]
