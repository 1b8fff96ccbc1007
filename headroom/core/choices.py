"""The words of the nodes' options. They are part of saved workflows and never change.

Apart from everything else, so that a node's schema, which ComfyUI asks for at its start, loads nothing more.
"""

from __future__ import annotations

# What a guard does about NaN and Inf; the first four also of what comes in bad into a decode or an encode.
STOP = "stop the run"
BLOCK = "block this branch"
DROP = "drop bad items"
REPLACE = "replace values"
REPORT = "report only"
DECODE_ANYWAY = "decode anyway"
ENCODE_ANYWAY = "encode anyway"
LATENT_MODES = (STOP, BLOCK, DROP, REPLACE, REPORT)
IMAGE_MODES = (STOP, BLOCK, REPLACE, REPORT)
BAD_LATENT_RULES = (STOP, REPLACE, DECODE_ANYWAY)
BAD_IMAGE_RULES = (STOP, REPLACE, ENCODE_ANYWAY)

# What the Image Guard does about what is finite and rarely meant.
NOTICE = "notice"
IGNORE = "ignore"
ODDITY_RULES = (NOTICE, STOP, IGNORE)

# The Model Guard.
RESTART = "restart in a wider dtype"
OFF = "off"
MODEL_MODES = (STOP, RESTART, OFF)

# The ladder of decode and encode.
AUTO = "auto"
STARTS = (AUTO, "full frame", "tiled")
PRECISIONS = (AUTO, "at least bf16", "fp32")
IMAGES_ONLY = "images only"
CPU_RULES = (IMAGES_ONLY, "always", "never")

# Masks in VAE Encode (Safe).
GREY_OUT = "inpaint (grey out)"
NOISE_MASK_ONLY = "noise mask only"
MASK_MODES = (GREY_OUT, NOISE_MASK_ONLY)

# Free Memory.
NOT_CONNECTED = "models not connected here"
ALL = "all models"
CACHE = "torch cache only"
OUTPUTS = "host cache too"
FREE_CHOICES = (NOT_CONNECTED, ALL, CACHE, OUTPUTS)
PASSED = "anything"
"""The input whose value goes through Free Memory."""

# The planning nodes.
NO_FILE = "(a connected model)"
NONE = "none"
OWN_LOADER = "ComfyUI"
LOADERS = (
    OWN_LOADER,
    "WanVideoWrapper",
    "WanVideoWrapper until March 2025",
    "HunyuanVideoWrapper, older Flux wrappers",
    "musubi-tuner, sd-scripts",
)
FIT_CARD = "fit the card"
USE_AT_MOST = "use at most (GiB)"
LEAVE_FREE = "leave free (GiB)"
TARGETS = (FIT_CARD, USE_AT_MOST, LEAVE_FREE)
