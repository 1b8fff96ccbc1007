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
        (
            # AUTOMATIC1111/stable-diffusion-webui #10152, the words of torch before 2.2.
            "CUDA out of memory. Tried to allocate 1.50 GiB (GPU 0; 8.00 GiB total capacity; 5.62 GiB already "
            "allocated; 0 bytes free; 5.74 GiB reserved in total by PyTorch)",
            int(1.5 * GIB),
            0,
        ),
        (
            # The allocator that ComfyUI starts by itself (cudaMallocAsync), ComfyUI #9121.
            "Allocation on device 0 would exceed allowed memory. (out of memory)\nCurrently allocated     : 13.66 GiB"
            "\nRequested               : 25.31 MiB\nDevice limit            : 15.99 GiB\nFree (according to CUDA): 0 "
            "bytes\nPyTorch limit (set by user-supplied memory fraction)\n                        : 17179869184.00 GiB",
            int(25.31 * MIB),
            0,
        ),
        (
            "DefaultCPUAllocator: not enough memory: you tried to allocate 94371840 bytes.",
            94371840,
            None,
        ),
        (
            "Could not allocate tensor with 167772160 bytes. There is not enough GPU video memory available!",
            167772160,
            None,
        ),
        ("[Errno 12] Cannot allocate memory", None, None),
        ("Allocation on device", None, None),
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
