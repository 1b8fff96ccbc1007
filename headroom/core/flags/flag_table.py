"""Every launch flag of ComfyUI by version: what it takes, which others it excludes, since when and until when.

Read off the real parsers of the versions in ``READ`` (comfy/cli_args.py); tests/core/flags/test_flag_table.py compares
each of them again. ``since`` and ``until`` name a version that was read: between two of them it may have come earlier.
A flag whose kind changed has a row for each.
"""

from __future__ import annotations

from dataclasses import dataclass

READ = ("0.16.3", "0.18.2", "0.24.1", "0.27.0", "0.30.0")

SWITCH, TEXT, INT, FLOAT, FOLDER, LEVELS = "switch", "str", "int", "float", "directory", "levels"
PREVIEWS = ("none", "auto", "latent2rgb", "taesd")
HASHES = ("md5", "sha1", "sha256", "sha512")
FAST = ("fp16_accumulation", "fp8_matrix_mult", "cublas_ops", "autotune")
LOG_LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL")
#: What the ``levels`` of ``--verbose`` since 0.30.0 may be.
ALL_LEVELS = ("DEBUG", "DETAIL", *LOG_LEVELS[1:])


@dataclass(frozen=True)
class Row:
    """One flag in the versions from ``since`` to ``until``."""

    flag: str
    kind: str = SWITCH
    nargs: str = ""
    """``?``, ``*`` or ``+`` as in argparse; empty for exactly one value, and for a switch, which takes none."""
    choices: tuple[str, ...] = ()
    group: str = ""
    """argparse refuses two flags of one group."""
    since: str = READ[0]
    until: str = READ[-1]
    most: int = 0
    """More values than this are refused after parsing; 0 for no limit."""


#: Flags seen in a ComfyUI newer than the last one read (commit 0329457 of 2026-09): known by name only.
LATER = frozenset({"--disable-fast-disk"})

#: Where a flag has no effect: under dynamic VRAM, without it, or where everything runs on the CPU.
#: comfy/model_management.py, comfy/ops.py and main.py of 0.30.0; --lowvram since 0.18.2, where text_encoder_device
#: looks at dynamic VRAM (at 0.16.3 it moves the text encoder all the same).
NO_EFFECT = {
    "--lowvram": "dynamic",
    "--vram-headroom": "static",
    "--fast-disk": "static",
    "--disable-nvml-pressure": "static",
    "--reserve-vram": "cpu",
    "--async-offload": "cpu",
    "--disable-async-offload": "cpu",
}

ROWS: tuple[Row, ...] = (
    Row("--listen", TEXT, nargs="?"),
    Row("--port", INT),
    Row("--tls-keyfile", TEXT),
    Row("--tls-certfile", TEXT),
    Row("--enable-cors-header", TEXT, nargs="?"),
    Row("--max-upload-size", FLOAT),
    Row("--base-directory", TEXT),
    Row("--extra-model-paths-config", TEXT, nargs="+"),
    Row("--output-directory", TEXT),
    Row("--temp-directory", TEXT),
    Row("--input-directory", TEXT),
    Row("--auto-launch"),
    Row("--disable-auto-launch"),
    Row("--cuda-device", INT, until="0.18.2"),
    Row("--cuda-device", TEXT, since="0.24.1"),
    Row("--default-device", INT),
    Row("--cuda-malloc", group="cuda-malloc"),
    Row("--disable-cuda-malloc", group="cuda-malloc"),
    Row("--force-fp32", group="precision"),
    Row("--force-fp16", group="precision"),
    Row("--fp32-unet", group="unet"),
    Row("--fp64-unet", group="unet"),
    Row("--bf16-unet", group="unet"),
    Row("--fp16-unet", group="unet"),
    Row("--fp8_e4m3fn-unet", group="unet"),
    Row("--fp8_e5m2-unet", group="unet"),
    Row("--fp8_e8m0fnu-unet", group="unet"),
    Row("--fp16-vae", group="vae"),
    Row("--fp32-vae", group="vae"),
    Row("--bf16-vae", group="vae"),
    Row("--cpu-vae"),
    Row("--fp8_e4m3fn-text-enc", group="text-enc"),
    Row("--fp8_e5m2-text-enc", group="text-enc"),
    Row("--fp16-text-enc", group="text-enc"),
    Row("--fp32-text-enc", group="text-enc"),
    Row("--bf16-text-enc", group="text-enc"),
    Row("--fp16-intermediates", since="0.18.2"),
    Row("--force-channels-last"),
    Row("--directml", INT, nargs="?"),
    Row("--oneapi-device-selector", TEXT),
    Row("--supports-fp8-compute"),
    Row("--enable-triton-backend", since="0.24.1"),
    Row("--disable-triton-backend", since="0.27.0"),
    Row("--preview-method", TEXT, choices=PREVIEWS),
    Row("--preview-size", INT),
    Row("--cache-ram", FLOAT, nargs="?", group="cache", until="0.18.2"),
    Row("--cache-ram", FLOAT, nargs="*", group="cache", since="0.24.1", most=2),
    Row("--cache-classic", group="cache"),
    Row("--cache-lru", INT, group="cache"),
    Row("--cache-none", group="cache"),
    Row("--high-ram", group="cache", since="0.27.0"),
    Row("--use-split-cross-attention", group="attention"),
    Row("--use-quad-cross-attention", group="attention"),
    Row("--use-pytorch-cross-attention", group="attention"),
    Row("--use-sage-attention", group="attention"),
    Row("--use-flash-attention", group="attention"),
    Row("--disable-xformers"),
    Row("--force-upcast-attention", group="upcast"),
    Row("--dont-upcast-attention", group="upcast"),
    Row("--enable-manager"),
    Row("--disable-manager-ui", group="manager"),
    Row("--enable-manager-legacy-ui", group="manager"),
    Row("--gpu-only", group="vram"),
    Row("--highvram", group="vram"),
    Row("--lowvram", group="vram"),
    Row("--novram", group="vram"),
    Row("--cpu", group="vram"),
    Row("--reserve-vram", FLOAT),
    Row("--vram-headroom", FLOAT, since="0.27.0"),
    Row("--disable-nvml-pressure", since="0.30.0"),
    Row("--async-offload", INT, nargs="?"),
    Row("--disable-async-offload"),
    Row("--disable-dynamic-vram"),
    Row("--enable-dynamic-vram", since="0.18.2"),
    Row("--fast-disk", since="0.24.1"),
    Row("--force-non-blocking"),
    Row("--default-hashing-function", TEXT, choices=HASHES),
    Row("--disable-smart-memory"),
    Row("--deterministic"),
    Row("--fast", TEXT, nargs="*", choices=FAST),
    Row("--debug-hang", since="0.27.0"),
    Row("--disable-pinned-memory"),
    Row("--mmap-torch-files"),
    Row("--disable-mmap"),
    Row("--dont-print-server"),
    Row("--quick-test-for-ci"),
    Row("--windows-standalone-build"),
    Row("--disable-metadata"),
    Row("--disable-all-custom-nodes"),
    Row("--whitelist-custom-nodes", TEXT, nargs="+"),
    Row("--disable-api-nodes"),
    Row("--multi-user"),
    Row("--verbose", TEXT, nargs="?", choices=LOG_LEVELS, until="0.27.0"),
    Row("--verbose", LEVELS, nargs="*", since="0.30.0"),
    Row("--log-stdout"),
    Row("--front-end-version", TEXT),
    Row("--front-end-root", FOLDER),
    Row("--user-directory", FOLDER),
    Row("--models-directory", FOLDER, since="0.27.0"),
    Row("--enable-compress-response-body"),
    Row("--comfy-api-base", TEXT),
    Row("--database-url", TEXT),
    Row("--enable-assets", since="0.18.2"),
    Row("--enable-asset-hashing", since="0.27.0"),
    Row("--feature-flag", TEXT, since="0.24.1"),
    Row("--list-feature-flags", since="0.24.1"),
    Row("--disable-ipex-optimize", until="0.18.2"),
    Row("--normalvram", group="vram", until="0.18.2"),
    Row("--disable-assets-autoscan", until="0.16.3"),
)
