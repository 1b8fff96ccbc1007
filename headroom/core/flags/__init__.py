"""Launch flags against what is loaded and against the machine. ``advise`` is all that others need."""

from .advice import Advice, Change
from .engine import advise

__all__ = ["Advice", "Change", "advise"]
