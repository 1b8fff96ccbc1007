"""Well-known models without their files: to plan a run before a download of 30 GB, and in workflows without one.

``headers.json`` holds the tensors of the host's own classes, without their dtypes; a format gives them their bytes.
"""

from .formats import FORMATS
from .lookup import close_names, matching, short_name
from .table import PRESETS, Preset, preset_component, preset_named

__all__ = [
    "FORMATS",
    "PRESETS",
    "Preset",
    "close_names",
    "matching",
    "preset_component",
    "preset_named",
    "short_name",
]
