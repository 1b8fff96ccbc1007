"""The library behind Headroom's nodes; importing it loads neither torch nor ComfyUI."""

__version__ = "0.1.0"
