"""Out-of-memory texts as they appear in public reports; the sizes in them are the reporters'."""

from __future__ import annotations

import pytest

from headroom.core.oom import OomFigures, figures, is_oom_text

GIB, MIB = 2**30, 2**20


@pytest.mark.parametrize(
    ("text", "asked", "free"),
    [
        (
            "CUDA out of memory. Tried to allocate 3.46 GiB. GPU 0 has a total capacity of 15.47 GiB of which 1.50 GiB "
            "is free. Including non-PyTorch memory, this process has 13.00 GiB memory in use.",
            int(3.46 * GIB),
            int(1.5 * GIB),
        ),
        (
            "MPS backend out of memory (MPS allocated: 16.91 GB, other allocations: 1.14 GB, max allowed: 18.13 GB). "
            "Tried to allocate 256.00 MB on private pool.",
            256 * MIB,
            None,
        ),
        (
            "[enforce fail at alloc_cpu.cpp:127] err == 0. DefaultCPUAllocator: can't allocate memory: you tried to "
            "allocate 2621440000 bytes. Error code 12 (Cannot allocate memory)",
            2621440000,
            None,
        ),
        ("Allocation on device 0 would exceed allowed memory. (out of memory)", None, None),
        ("cuDNN error: CUDNN_STATUS_ALLOC_FAILED", None, None),
        ("Invalid buffer size: 14.65 GiB", int(14.65 * GIB), None),
        ("Native API failed. Native API returns: 39 (UR_RESULT_ERROR_OUT_OF_DEVICE_MEMORY)", None, None),
    ],
)
def test_the_text_is_recognised_and_its_sizes_are_read(text, asked, free):
    assert is_oom_text(text)
    assert figures(text) == OomFigures(asked, free)


@pytest.mark.parametrize(
    "text",
    [
        "CUDA error: an illegal memory access was encountered",
        "expected input[1, 16, 64, 64] to have 4 channels, but got 16 channels instead",
        "Input type (float) and bias type (c10::Half) should be the same",
        "",
    ],
)
def test_other_texts_are_not(text):
    assert not is_oom_text(text)
