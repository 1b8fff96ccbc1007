"""Published sizes of weights, to the last digit that was printed, from the headers of the host's own classes."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from headroom.core.families import identify
from headroom.core.tensorinfo import TensorInfo

DATA = Path(__file__).resolve().parent.parent.parent / "data"
ROWS = json.loads((DATA / "measured.json").read_text("utf-8"))["weights"]
VAES = json.loads((DATA / "families" / "vaes.json").read_text("utf-8"))["vaes"]
ENCODERS = json.loads((DATA / "families" / "text_encoders.json").read_text("utf-8"))["text_encoders"]

#: Parameters that belong to no layer; ComfyUI leaves them out of the size in its log.
TABLES = ("modulation", "scale_shift_table")


def counted(tensors: Mapping[str, TensorInfo], counts: str) -> int:
    """Bytes of a file whose header is in half precision, with some of it stored as a row says."""
    stem = ""
    if counts.startswith("blocks"):
        main = identify(tensors).stack("main")
        assert main is not None
        stem = main.stem
    total = 0.0
    for name, tensor in tensors.items():
        if "tables left out" in counts and name.endswith(TABLES):
            continue
        scale = 2 if "fp32" in counts else 1
        matrix = len(tensor.shape) == 2 if "blocks" in counts else len(tensor.shape) >= 2
        if "all in fp8" in counts or ("matrices in fp8" in counts and matrix and name != "shared.weight"):
            scale = 0.5
        total += tensor.size_bytes * scale if name.startswith(stem) else 0
    return int(total)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["what"])
def test_a_published_size_is_ours(
    row: Mapping[str, Any],
    all_cases: Any,
    build: Callable[[Any], Any],
    vae_names: Any,
    encoder_names: Any,
    to_header: Any,
):
    if "case" in row:
        headers = [build(next(case for case in all_cases if f"{case.cls}/{case.id}" == row["case"])).tensors]
    elif "vae_case" in row:
        headers = [to_header(vae_names(next(case for case in VAES if case["id"] == row["vae_case"])))]
    else:
        headers = [to_header(encoder_names(case)) for case in ENCODERS if case["id"] in row["encoder_cases"]]
    ours = sum(counted(tensors, row["counts"]) for tensors in headers)
    assert row["ours_bytes"] == ours
    decimals = len(str(row["measured_mib"]).partition(".")[2])
    assert ours / 2**20 == pytest.approx(row["measured_mib"], abs=0.5001 * 10**-decimals)
