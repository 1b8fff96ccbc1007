"""Headers of whole model files as ComfyUI's own classes have them, written as sparse files of full length.

The classes are built on the meta device from tests/data/families, so that names and shapes are the host's and no
weight is made.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from struct import pack
from typing import Any

import pytest
from core.families.conftest import CASES, DATA, DTYPES, built, names_of
from fakes.model_files import ARRAY, INT32, TEXT, array, gguf, tensor, text, value, write_sparse

Tensors = dict[str, tuple[str, tuple[int, ...]]]
#: Elements and bytes of a block, and the number, of GGUF's types.
GGUF_TYPES = {"F32": (1, 4, 0), "F16": (1, 2, 1), "Q4_K": (256, 144, 12), "Q8_0": (32, 34, 8), "Q6_K": (256, 210, 14)}


def load_host() -> None:
    """Imports ComfyUI; its parser reads sys.argv at import, so it is given ``--cpu`` and nothing of pytest's."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["main.py", "--cpu"])
        import comfy.options

        comfy.options.enable_args_parsing()
        import comfy.model_detection


def diffusion(cls: str, case: str = "", dtype: str = "F16") -> Tensors:
    """The header of a diffusion model: a class of the host and the id of a case in its file, the first by default."""
    load_host()
    found = next(one for one in CASES if one.cls == cls and case in ("", one.id))
    return as_tensors(built(found).names, dtype)


def text_encoder(case: str, dtype: str = "F16") -> Tensors:
    """The header of a text encoder, by its id in text_encoders.json."""
    load_host()
    import importlib

    import comfy.ops
    import comfy.sd
    import torch

    rows = json.loads((DATA / "text_encoders.json").read_text("utf-8"))["text_encoders"]
    row = next(one for one in rows if one["id"] == case)
    module, name = row["class"].split(":")
    config = row["config"]
    if isinstance(config, str):
        config = json.loads((Path(comfy.sd.__file__).parent / config).read_text("utf-8"))
    cls = getattr(importlib.import_module(module), name)
    made = cls(config, dtype=torch.float16, device=torch.device("meta"), operations=comfy.ops.manual_cast)
    names = dict(made.state_dict())
    for start, becomes in row.get("rename", []):
        names = {becomes + key[len(start) :] if key.startswith(start) else key: t for key, t in names.items()}
    return as_tensors(names, dtype)


def vae(case: str, dtype: str = "F16") -> Tensors:
    """The header of a VAE, by its id in vaes.json."""
    load_host()
    rows = json.loads((DATA / "vaes.json").read_text("utf-8"))["vaes"]
    return as_tensors(names_of(next(one for one in rows if one["id"] == case)), dtype)


def as_tensors(names: Mapping[str, Any], dtype: str) -> Tensors:
    """Names and meta tensors as name -> (dtype, shape), with the half precision of the class as ``dtype``."""
    half = {"F16", "BF16"}
    given = {name: (DTYPES[str(one.dtype)], tuple(one.shape)) for name, one in names.items()}
    return {name: (dtype if stored in half else stored, shape) for name, (stored, shape) in given.items()}


def prefixed(tensors: Tensors, start: str) -> Tensors:
    """The same with a beginning in front of every name: a part of a checkpoint."""
    return {start + name: each for name, each in tensors.items()}


def is_matrix(name: str, shape: Iterable[int]) -> bool:
    """What quantised files quantise: the matrices of numbered blocks."""
    return len(tuple(shape)) == 2 and name.endswith(".weight") and any(part.isdigit() for part in name.split("."))


def fp8_scaled(tensors: Tensors) -> Tensors:
    """As the ``fp8_scaled`` files of Comfy-Org: matrices in fp8, each with a scale, and a mark."""
    found: Tensors = {"scaled_fp8": ("F8_E4M3", (0,))}
    for name, (dtype, shape) in tensors.items():
        quantised = is_matrix(name, shape)
        found[name] = ("F8_E4M3" if quantised else dtype, shape)
        if quantised:
            found[name.removesuffix("weight") + "scale_weight"] = ("F32", ())
    return found


def write_gguf(path: Path, tensors: Tensors, architecture: str, matrices: str = "Q4_K") -> Path:
    """A sound GGUF file of full length, its data a hole: matrices in one type, the rest in F32."""
    values = [value("general.architecture", TEXT, text(architecture))]
    entries, end = [], 0
    for name, (_, shape) in tensors.items():
        type_ = matrices if is_matrix(name, shape) and shape[-1] % GGUF_TYPES[matrices][0] == 0 else "F32"
        elements, size, number = GGUF_TYPES[type_]
        if len(shape) > 4:
            # GGUF has four dimensions: ComfyUI-GGUF's converter flattens and notes the shape.
            values.append(value(f"comfy.gguf.orig_shape.{name}", ARRAY, array(INT32, [pack("<i", n) for n in shape])))
            shape = (shape[0], math.prod(shape[1:]))
        end += -end % 32
        entries.append(tensor(name, list(reversed(shape)), number, end))
        end += math.prod(shape) // elements * size
    start = gguf(values, entries)
    with path.open("wb") as file:
        file.write(start)
        file.truncate(len(start) + end)
    return path


def write_folder(folder: Path) -> Path:
    """A models folder as a user of Wan 2.2 has it, three quantisations of both models, and an SDXL checkpoint."""
    unets = folder / "diffusion_models"
    for name in (unets, folder / "text_encoders", folder / "vae", folder / "loras", folder / "checkpoints"):
        name.mkdir(parents=True)
    wan = diffusion("WAN21_T2V", "14b")
    for noise in ("high", "low"):
        write_sparse(unets / f"wan2.2_t2v_{noise}_noise_14B_fp16.safetensors", wan)
        write_sparse(unets / f"wan2.2_t2v_{noise}_noise_14B_fp8_scaled.safetensors", fp8_scaled(wan))
        write_gguf(unets / f"Wan2.2-T2V-A14B-{noise.title()}Noise-Q4_K_M.gguf", wan, "wan")
    write_sparse(unets / "wan2.1_t2v_1.3B_fp16.safetensors", diffusion("WAN21_T2V", "1.3b"))
    encoder = fp8_scaled(text_encoder("umt5-xxl"))
    write_sparse(folder / "text_encoders" / "umt5_xxl_fp8_e4m3fn_scaled.safetensors", encoder)
    write_sparse(folder / "vae" / "wan_2.1_vae.safetensors", vae("wan-2.1"))
    lora = {
        f"diffusion_model.blocks.{block}.self_attn.{part}.lora_{half}.weight": ("BF16", shape)
        for block in range(40)
        for part in "qkvo"
        for half, shape in (("A", (32, 5120)), ("B", (5120, 32)))
    }
    write_sparse(folder / "loras" / "a lora.safetensors", lora)
    checkpoint = {
        **prefixed(diffusion("SDXL"), "model.diffusion_model."),
        **prefixed(vae("kl"), "first_stage_model."),
        **prefixed(text_encoder("CLIP_L"), "conditioner.embedders.0.transformer."),
        **prefixed(text_encoder("CLIP_G"), "conditioner.embedders.1.model."),
    }
    write_sparse(folder / "checkpoints" / "sd_xl_base_1.0.safetensors", checkpoint)
    return folder
